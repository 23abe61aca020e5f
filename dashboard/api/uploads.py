"""Recordings on their way in."""

from contextlib import suppress

from django.http import HttpRequest, HttpResponse, HttpResponseBase
from ninja import Router

from collectors import importing, tasks
from collectors.formats import NotARecording
from dashboard.api.answers import Number, json_response, problem
from timeline import push, queries
from timeline.models import Upload
from timeline.payloads import UploadPayload

router = Router(tags=["uploads"])


@router.post("/uploads", response={201: UploadPayload})
def upload(request: HttpRequest, name: str) -> HttpResponseBase:
    """The body is the file. Once it has arrived it is looked at; a refused file is removed at once."""
    name = name.replace("\0", "\ufffd")[:253] or "recording"
    row = Upload.objects.create(name=name)
    try:
        importing.keep(row, request)
        importing.check(importing.path_of(row), name)
    except importing.TooLarge as error:
        return _not_kept(row, problem(413, "The file is too large", str(error)))
    except NotARecording as error:
        return _not_kept(row, problem(400, "Not a recording", str(error)))
    except OSError as error:
        why = f"{error.strerror or error}. Nothing of it was stored."
        return _not_kept(row, problem(507, "The file could not be kept", why))
    tasks.queue(row)
    push.notify(upload=row.pk)
    return json_response(request, queries.upload_payload(row), status=201)


def _not_kept(row: Upload, answer: HttpResponse) -> HttpResponse:
    with suppress(OSError):  # a disk that takes no file may not give one up either
        importing.path_of(row).unlink(missing_ok=True)
    row.delete()
    return answer


@router.get("/uploads/{upload_id}", response=UploadPayload)
def show_upload(request: HttpRequest, upload_id: Number) -> HttpResponseBase:
    return json_response(request, queries.upload_payload(Upload.objects.get(pk=upload_id)))


@router.post("/uploads/{upload_id}/cancel", response=UploadPayload)
def cancel_upload(request: HttpRequest, upload_id: Number) -> HttpResponseBase:
    importing.cancel(Upload.objects.get(pk=upload_id))
    return show_upload(request, upload_id)
