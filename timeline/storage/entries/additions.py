"""Keep what was read from audit logs until the worker of a live source adds it to the source.

Only that worker may write to the source, since it has the source's world in memory. It commits each part together with
the part's removal, so nothing is added twice or lost, whatever dies when.
"""

from collections.abc import Iterable, Iterator
from itertools import islice

from django.db.models import F, Q, QuerySet

from timeline.core.entries import Observation
from timeline.history.codec import Known, line_of, observation_of
from timeline.history.packing import ENTRIES, Packer, unpack
from timeline.models import Addition, Cluster, Source, Upload
from timeline.storage import notify

PART = 2_000  # observations that are committed together
_ENDED = "The source to which it was to be added has ended. Add it to the one that the cluster has now."
State = Upload.State


def write(source: Source, upload: Upload, observed: Iterable[Observation]) -> int:
    """Store observations as parts of an upload that wait; return how many parts these are."""
    number, left = 0, iter(observed)
    while part := list(islice(left, PART)):
        Addition.objects.create(source=source, upload=upload, number=number, lines=packed(part))
        number += 1
    return number


def packed(observed: Iterable[Observation]) -> bytes:
    """Return observations in the form in which they wait; `unpacked` reads them."""
    return Packer(ENTRIES).pack(b"\n".join(map(line_of, observed)))


def unpacked(lines: bytes) -> Iterator[Observation]:
    known: Known = {}
    return (observation_of(line, known) for line in unpack(lines).split(b"\n") if line)


def first_part(source: Source) -> Addition | None:
    """Return the part that is to be added next; None if none waits."""
    return Addition.objects.filter(source=source).order_by("upload", "number").first()


def observations(part: Addition) -> Iterator[Observation]:
    return unpacked(bytes(part.lines))


def remove(part: Addition) -> None:
    """Remove a part. Call this in the transaction in which its observations are added."""
    Addition.objects.filter(source=part.source_id, upload=part.upload_id, number=part.number).delete()


def count(part: Addition, new: int, left_out: int) -> None:
    """Note on the upload of a part how many of its changes were new, and how many were left out as too old."""
    of_upload = Upload.objects.filter(pk=part.upload_id, state=State.ADDING)
    of_upload.update(entries=F("entries") + new, skipped=F("skipped") + left_out)
    end_added(of_upload)
    notify.notify(upload=part.upload_id)


def end_added(uploads: QuerySet[Upload]) -> None:
    """Mark the uploads as done that have no waiting parts any more, and those as failed whose source has ended."""
    for upload in uploads.filter(state=State.ADDING):
        if not Addition.objects.filter(source=upload.source_id, upload=upload).exists():
            uploads.filter(pk=upload.pk, state=State.ADDING).update(state=State.DONE)
    current = Cluster.objects.filter(source__isnull=False).values("source")
    over = uploads.filter(state=State.ADDING).filter(Q(source=None) | ~Q(source__in=current))
    for upload in over:
        refuse(upload, _ENDED)


def refuse(upload: Upload, error: str) -> None:
    """Mark an upload as failed, and remove its parts that wait."""
    Addition.objects.filter(upload=upload).delete()
    Upload.objects.filter(pk=upload.pk, state=State.ADDING).update(state=State.FAILED, error=error)
    notify.notify(upload=upload.pk)
