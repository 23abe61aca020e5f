"""List, rename, export and delete recordings."""

from typing import Annotated

from django.db import OperationalError
from django.http import HttpRequest, HttpResponse, HttpResponseBase, StreamingHttpResponse
from django.utils.http import content_disposition_header
from ninja import Router
from pydantic import Field, StringConstraints

from dashboard.access import limits
from dashboard.access.roles import needs
from dashboard.access.signing_in import rights
from dashboard.access.trail import change_log
from dashboard.web.api.answers import Asked, Number, json_response, problem
from dashboard.web.downloads import Busy, Download, lines_of
from timeline.history.packing import packed
from timeline.models import Cluster, Source
from timeline.payloads.findings import DocumentPayload
from timeline.payloads.recordings import RecordingPayload, RecordingsPayload
from timeline.queries.sources import home
from timeline.storage import exports, notify
from timeline.storage.keeping import deletion
from timeline.storage.keeping.holds import Held

router = Router(tags=["sources"])
MOST = 100  # recordings in one answer
Limit = Annotated[int, Field(ge=1, le=MOST)]


_ZSTD = {"responses": {200: {"content": {"application/zstd": {"schema": {"type": "string", "format": "binary"}}}}}}


class Renamed(Asked):
    name: Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=253, pattern=r"^[^\x00]*$")]


@router.get("/sources", response=RecordingsPayload)
@needs.to_read("viewer", action="list", limited=True)
def list_sources(request: HttpRequest, cursor: Number | None = None, limit: Limit = MOST) -> HttpResponseBase:
    """Return recordings and live sources, newest first. Pass `next` of an answer as `cursor` for the page after it.

    With an access token that is limited, these are the sources that it reads.
    """
    readable = rights.readable(request)
    only = None if readable is None else list(readable.values_list("pk", flat=True))
    return json_response(request, home.recordings(cursor, limit, only))


@router.get("/sources/{source_id}", response=RecordingPayload)
@needs.to_read("viewer", action="see")
def show_source(request: HttpRequest, source_id: Number) -> HttpResponseBase:
    """Return one recording or live source."""
    return json_response(request, home.recording(source_id))


@router.get("/sources/{source_id}/document", response=DocumentPayload)
@needs.to_read("viewer", action="export")
def show_document(request: HttpRequest, source_id: Number) -> HttpResponseBase:
    """Return the findings document, as `causeline analyze --output json` writes it for the same files."""
    return json_response(request, exports.document(Source.objects.get(pk=source_id, ready=True)))


@router.get("/sources/{source_id}/recording", openapi_extra=_ZSTD)
@needs.to_read("viewer", action="export")
def download_recording(request: HttpRequest, source_id: Number) -> HttpResponseBase:
    """Return all entries in Causeline's own format, compressed with zstd. `import` and `analyze` read it."""
    source = Source.objects.get(pk=source_id, ready=True)
    try:
        download = Download(limits.piecewise(request, packed(lines_of(source))))
    except Busy:
        refused = problem(
            503,
            "Too many downloads at once",
            "Too many recordings are being sent at the moment. Try again in a minute.",
        )
        refused["Retry-After"] = "60"
        return refused
    answer = StreamingHttpResponse(download, content_type="application/zstd")
    answer["Content-Disposition"] = content_disposition_header(True, f"{source.name}.jsonl.zst") or "attachment"
    return answer


@router.patch("/sources/{source_id}", response=RecordingPayload)
@needs.to_change("editor", "whole", action="rename")
def rename_source(request: HttpRequest, source_id: Number, new: Renamed) -> HttpResponseBase:
    """Rename a recording. It needs the role editor on the recording, which whoever has uploaded it has."""
    if not Source.objects.filter(pk=source_id, ready=True).update(name=new.name):
        raise Source.DoesNotExist
    change_log.about(request, name=new.name)
    notify.notify(source=source_id)
    return json_response(request, home.recording(source_id))


@router.delete("/sources/{source_id}", response={204: None})
@needs.to_change("editor", "whole", action="delete")
def delete_source(request: HttpRequest, source_id: Number) -> HttpResponse:
    """Delete a recording with everything that was stored of it. It needs the role editor on the
    recording, which whoever has uploaded it has.

    It is hidden at once, and removed for good after a minute; until then, `restore` brings it back.
    """
    source = Source.objects.get(pk=source_id, ready=True)
    if Cluster.objects.filter(source=source_id).exists():
        return problem(409, "A cluster feeds it", "Disconnect the cluster first. Its source then becomes a recording.")
    try:
        deletion.delete_source(source_id)
    except OperationalError:
        return problem(409, "The recording is in use", "It is still being read or written. Try again in a moment.")
    except Held as error:
        return problem(409, "A legal hold keeps it", str(error))
    change_log.about(request, name=source.name)
    return HttpResponse(status=204)


@router.post("/sources/{source_id}/restore", response=RecordingPayload)
@needs.to_change("editor", "whole", action="undo")
def restore_source(request: HttpRequest, source_id: Number) -> HttpResponseBase:
    """Undo the deletion of a recording, within a minute. It needs the role editor on the recording."""
    source = Source.everything.exclude(delete_after=None).get(pk=source_id)
    if not deletion.restore_source(source_id):
        raise Source.DoesNotExist
    change_log.about(request, name=source.name)
    return json_response(request, home.recording(source_id))
