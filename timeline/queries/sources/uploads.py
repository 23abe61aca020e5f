"""Read uploads and their files."""

from typing import cast

from django.db.models import Count, Q, Sum

from timeline.core.entries import microseconds
from timeline.models import Incident, Upload
from timeline.payloads.recordings import ReceivingPayload, UploadFilePayload, UploadPayload, UploadState
from timeline.queries.sources.extents import source


def upload_payload(upload: Upload) -> UploadPayload:
    row = source(upload.source_id) if upload.source_id else None
    found = Incident.objects.filter(source=row.id if row else 0).aggregate(
        incidents=Count("identity"), findings=Sum("findings", default=0)
    )
    files = upload.files.aggregate(all=Count("pk"), inside=Count("pk", filter=Q(name__contains="/")))
    return {
        "id": upload.pk,
        "source": upload.source_id,
        "cluster": upload.cluster_id,
        "cluster_name": upload.cluster.name if upload.cluster else "",
        "owner": upload.owner_id,
        "name": upload.name,
        "state": cast("UploadState", upload.state),
        "seen": microseconds(upload.seen),
        "files": files["all"],
        "folder": files["inside"] > 0,
        "bytes_total": upload.bytes_total,
        "bytes_read": upload.bytes_read,
        "entries": upload.entries,
        "skipped": upload.skipped,
        "skipped_examples": upload.skipped_examples,
        "incidents": found["incidents"],
        "findings": found["findings"],
        "error": upload.error,
        "url": f"/sources/{upload.source_id}/" if upload.state == Upload.State.DONE and row else "",
    }


def receiving_payload(upload: Upload, received: list[int]) -> ReceivingPayload:
    """Return an upload with its files; `received` has the number of bytes that have arrived of each."""
    parts: list[UploadFilePayload] = [
        {"name": file.name, "size": file.size, "received": arrived, "refused": file.refused}
        for file, arrived in zip(upload.files.order_by("number"), received, strict=True)
    ]
    return {**upload_payload(upload), "parts": parts}


def open_uploads() -> list[UploadPayload]:
    """Return the uploads whose bytes have begun to arrive and that have not ended, the newest first."""
    states = [Upload.State.WAITING, Upload.State.IMPORTING, Upload.State.ADDING]
    rows = Upload.objects.filter(Q(state__in=states) | Q(state=Upload.State.RECEIVING, bytes_read__gt=0))
    return [upload_payload(row) for row in rows.order_by("-pk")[:50]]
