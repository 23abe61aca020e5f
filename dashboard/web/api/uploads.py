"""Receive recordings: whole, or in pieces that can continue after a broken connection."""

import re
from typing import Annotated

from django.http import HttpRequest, HttpResponse, HttpResponseBase
from ninja import Router
from ninja.errors import HttpError
from pydantic import Field, ValidationError

from collectors import tasks
from collectors.formats import NotARecording
from collectors.uploads import importing, receiving
from dashboard.access.roles import needs, policy
from dashboard.access.trail import change_log
from dashboard.web.api.answers import Asked, Number, json_response, only_its_owner, problem
from timeline.models import Cluster, Upload, UploadFile
from timeline.payloads.recordings import PiecePayload, ReceivingPayload, UploadPayload, UploadsPayload
from timeline.queries.sources import uploads
from timeline.storage import notify

router = Router(tags=["uploads"])
_RANGE = re.compile(r"bytes (\d{1,18})-\d{1,18}/(\d{1,18}|\*)")
_REFUSALS = (receiving.TooLarge, receiving.Ended, receiving.Incomplete, receiving.Misplaced, NotARecording, OSError)


class NewFile(Asked):
    name: str  # its path inside the chosen folder
    size: Annotated[int, Field(ge=0, le=2**53)]  # bytes


class NewUpload(Asked):
    """The announcement of an upload: one or several files that become one recording, or audit logs that are added to
    what is watched of a cluster."""

    name: str
    cluster: Annotated[int, Field(ge=0, le=2**63 - 1)] | None = None
    files: Annotated[list[NewFile], Field(max_length=10 * receiving.FILES)]


_BODY = {
    "requestBody": {
        "required": True,
        "content": {
            "application/json": {"schema": NewUpload.model_json_schema(ref_template="#/components/schemas/{model}")},
            "application/octet-stream": {"schema": {"type": "string", "format": "binary"}},
        },
    }
}


@router.post("/uploads", response={201: ReceivingPayload}, openapi_extra=_BODY)
@needs.to_change("responder", action="upload", scope="respond")
def upload(request: HttpRequest, name: str | None = None, cluster: Number | None = None) -> HttpResponseBase:
    """Start an upload: JSON announces files whose pieces follow; with `?name=` any other body is the whole file.

    With `cluster`, the number of a connected cluster, audit logs are added to what is watched of it.
    """
    if request.content_type == "application/json" and name is None:
        if cluster is not None:
            raise HttpError(422, "cluster: It is a field of the announcement, and no parameter of its address.")
        return _announced(request)
    if name is None:
        raise HttpError(422, "name: Field required. It is the file's name; or announce the files in a body of JSON.")
    target = _target(request, cluster)
    row = None
    try:
        size = int(request.META.get("CONTENT_LENGTH") or 0)
        row = receiving.begin(name, [receiving.Announced(name or "recording", size)], request.user.pk, target)
        receiving.keep(row, request)
        tasks.queue(row)
    except _REFUSALS as error:
        if row:
            receiving.discard(row)
            row.delete()
        return _refused(error)
    change_log.about(request, upload=row.pk, name=row.name, cluster=row.cluster_id)
    notify.notify(upload=row.pk)
    return json_response(request, uploads.receiving_payload(row, receiving.received_of(row)), status=201)


def _announced(request: HttpRequest) -> HttpResponseBase:
    try:
        new = NewUpload.model_validate_json(request.read())
    except ValidationError as error:
        where = "; ".join(f"{'.'.join(map(str, each['loc']))}: {each['msg']}" for each in error.errors())
        return problem(422, "The announcement is not valid", where)
    target = _target(request, new.cluster)
    try:
        announced = [receiving.Announced(file.name, file.size) for file in new.files]
        row = receiving.begin(new.name, announced, request.user.pk, target)
    except _REFUSALS as error:
        return _refused(error)
    change_log.about(request, upload=row.pk, name=row.name, cluster=row.cluster_id)
    return json_response(request, uploads.receiving_payload(row, receiving.received_of(row)), status=201)


@router.get("/uploads", response=UploadsPayload)
@needs.to_read("viewer", action="list")
def list_uploads(request: HttpRequest) -> HttpResponseBase:
    """Return the uploads that have not ended, newest first."""
    return json_response(request, {"uploads": uploads.open_uploads()})


@router.get("/uploads/{upload_id}", response=ReceivingPayload)
@needs.to_read("viewer", action=None)
def show_upload(request: HttpRequest, upload_id: Number) -> HttpResponseBase:
    """Return one upload, with how much of each file has arrived."""
    row = Upload.objects.get(pk=upload_id)
    return json_response(request, uploads.receiving_payload(row, receiving.received_of(row)))


@router.put(
    "/uploads/{upload_id}/files/{number}",
    response=PiecePayload,
    openapi_extra={
        "requestBody": {"content": {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}}},
        "parameters": [{"name": "Upload-Offset", "in": "header", "schema": {"type": "integer", "minimum": 0}}],
    },
)
@needs.to_change("responder", action="upload", record="once", scope="respond")
def put_piece(request: HttpRequest, upload_id: Number, number: Number) -> HttpResponseBase:
    """Append the body to what has arrived of a file. `Upload-Offset` or `Content-Range` says where it begins.

    An answer 409 says in `received` where it should have begun.
    """
    file = UploadFile.objects.select_related("upload").filter(upload=upload_id, number=number).first()
    if file is None:
        raise Upload.DoesNotExist
    only_its_owner(request, file.upload.owner_id)
    piece = request.read(receiving.PIECE_BYTES + 1)
    if len(piece) > receiving.PIECE_BYTES:
        raise HttpError(413, f"A piece can have {receiving.PIECE_BYTES} bytes; send more of them.")
    try:
        received = receiving.put(file, _offset(request), piece)
    except _REFUSALS as error:
        return _refused(error)
    return json_response(request, {"received": received})


@router.post("/uploads/{upload_id}/finish", response=UploadPayload)
@needs.to_change("responder", action="upload", scope="respond")
def finish_upload(request: HttpRequest, upload_id: Number) -> HttpResponseBase:
    """Say that everything has arrived, so that a worker imports it. A second call changes nothing."""
    row = Upload.objects.get(pk=upload_id)
    only_its_owner(request, row.owner_id)
    try:
        receiving.complete(row)
        tasks.queue(row)
        notify.notify(upload=row.pk)
    except receiving.Ended as error:
        if row.state in {Upload.State.FAILED, Upload.State.CANCELLED}:
            return _refused(error)
    except _REFUSALS as error:
        return _refused(error)
    return json_response(request, uploads.upload_payload(row))


@router.post("/uploads/{upload_id}/cancel", response=UploadPayload)
@needs.to_change("responder", action="upload", scope="respond")
def cancel_upload(request: HttpRequest, upload_id: Number) -> HttpResponseBase:
    """Cancel an upload, and delete what has arrived of it."""
    row = Upload.objects.get(pk=upload_id)
    only_its_owner(request, row.owner_id)
    importing.cancel(row)
    return json_response(request, uploads.upload_payload(Upload.objects.get(pk=upload_id)))


def _target(request: HttpRequest, cluster: int | None) -> Cluster | None:
    """Return the cluster to which an upload is to be added. Raise HttpError if the user may not add to it."""
    if cluster is None:
        return None
    row = Cluster.objects.filter(pk=cluster).first()
    if row is None:
        raise HttpError(404, "No such cluster is connected.")
    policy.demand(request.user, policy.EDITOR, cluster=row.pk)
    return row


def _offset(request: HttpRequest) -> int:
    if given := request.headers.get("Upload-Offset"):
        if given.isdecimal() and len(given) < 19:
            return int(given)
        raise HttpError(422, f"Upload-Offset is {given!r}; write a number of bytes.")
    if given := request.headers.get("Content-Range"):
        if match := _RANGE.fullmatch(given):
            return int(match[1])
        raise HttpError(422, f"Content-Range is {given!r}; write it as bytes 0-1023/4096.")
    return 0


def _refused(error: Exception) -> HttpResponse:
    """Return the problem document for data that was refused."""
    match error:
        case receiving.TooLarge():
            return problem(413, "The file is too large", str(error))
        case NotARecording():
            return problem(400, "Not a recording", str(error))
        case receiving.Misplaced():
            return problem(409, "The piece does not follow on", str(error), received=error.received)
        case receiving.Incomplete():
            return problem(409, "The upload is not complete", str(error))
        case OSError():
            return problem(507, "The file could not be kept", f"{error.strerror or error}. Nothing of it was stored.")
    return problem(409, "The upload accepts no more data", str(error))
