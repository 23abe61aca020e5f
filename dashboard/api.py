"""The HTTP API. Answers have the shapes of `timeline.payloads`; errors are problem documents (RFC 9457)."""

from contextlib import suppress
from typing import Annotated, Any

import orjson
from django.conf import settings
from django.db import OperationalError
from django.http import HttpRequest, HttpResponse
from ninja import NinjaAPI
from ninja.errors import AuthenticationError, HttpError, ValidationError
from ninja.utils import check_csrf
from pydantic import Field

from collectors import importing, tasks
from collectors.formats import NotARecording
from timeline import push, queries, store
from timeline.models import Source, Upload

_FORMS = {"application/x-www-form-urlencoded", "multipart/form-data"}
_LAST = 253_402_300_799_999_999  # the end of the year 9999
Time = Annotated[int, Field(ge=0, le=_LAST)]  # microseconds since 1970
Number = Annotated[int, Field(ge=0, le=2**63 - 1)]
Words = Annotated[str, Field(max_length=1000, pattern=r"^[^\x00]*$")]  # PostgreSQL knows no NUL character


def _allowed(request: HttpRequest) -> bool:
    """Signed in, where that is asked for; and what changes something comes from our own pages, login or not."""
    if settings.LOGIN_REQUIRED and not request.user.is_authenticated:
        return False
    if request.content_type in _FORMS:
        raise HttpError(415, "Send the file itself as the body, with Content-Type: application/octet-stream.")
    if check_csrf(request):
        raise HttpError(403, "The request does not come from a page of Causeline, or the page is old: load it again.")
    return True


api = NinjaAPI(title="Causeline", docs_url=None, auth=_allowed)


def _json(payload: Any, status: int = 200) -> HttpResponse:
    return HttpResponse(orjson.dumps(payload), status=status, content_type="application/json")


def _problem(status: int, title: str, detail: str) -> HttpResponse:
    body = {"title": title, "detail": detail, "status": status}
    return HttpResponse(orjson.dumps(body), status=status, content_type="application/problem+json")


@api.exception_handler(HttpError)
def _refused(request: HttpRequest, error: HttpError) -> HttpResponse:
    return _problem(error.status_code, "Not possible", str(error))


@api.exception_handler(AuthenticationError)
def _unknown(request: HttpRequest, error: AuthenticationError) -> HttpResponse:
    return _problem(401, "You are signed out", "Load the page again to sign in.")


@api.exception_handler(ValidationError)
def _not_understood(request: HttpRequest, error: ValidationError) -> HttpResponse:
    where = "; ".join(f"{each['loc'][-1]}: {each['msg']}" for each in error.errors)
    return _problem(422, "A parameter is not as it should be", where)


@api.exception_handler(Source.DoesNotExist)
def _no_source(request: HttpRequest, error: Source.DoesNotExist) -> HttpResponse:
    return _problem(404, "No such recording", "It was deleted, or the link is wrong.")


@api.exception_handler(Upload.DoesNotExist)
def _no_upload(request: HttpRequest, error: Upload.DoesNotExist) -> HttpResponse:
    return _problem(404, "No such upload", "It was deleted, or the link is wrong.")


@api.get("/sources/{source_id}/window")
def window(
    request: HttpRequest,
    source_id: Number,
    start: Time | None = None,
    end: Time | None = None,
    offset: Number = 0,
    limit: int = queries.LANES,
    kinds: Words = "",
    namespace: Words = "",
    group: queries.Grouping = "owner",
    focus: Number | None = None,
) -> HttpResponse:
    if start is not None and end is not None and start > end:
        raise HttpError(422, "start lies after end")
    payload = queries.window(
        source_id,
        start,
        end,
        offset=offset,
        limit=max(1, min(limit, 200)),
        families=[family for family in kinds.split(",") if family],
        namespace=namespace,
        grouping=group,
        focus=focus,
    )
    return _json(payload)


@api.get("/sources/{source_id}/overview")
def overview(request: HttpRequest, source_id: Number) -> HttpResponse:
    return _json(queries.overview(source_id))


@api.delete("/sources/{source_id}")
def delete_source(request: HttpRequest, source_id: Number) -> HttpResponse:
    try:
        store.discard_source(Source.objects.get(pk=source_id, ready=True), patience=10)
    except OperationalError:
        return _problem(409, "The recording is in use", "Something still reads or writes it. Try again in a moment.")
    return HttpResponse(status=204)


@api.post("/uploads")
def upload(request: HttpRequest, name: str) -> HttpResponse:
    """The body is the file. Once it has arrived it is looked at; a refused file is removed at once."""
    name = name.replace("\0", "\ufffd")[:253] or "recording"
    row = Upload.objects.create(name=name)
    try:
        importing.keep(row, request)
        importing.check(importing.path_of(row), name)
    except importing.TooLarge as error:
        return _not_kept(row, _problem(413, "The file is too large", str(error)))
    except NotARecording as error:
        return _not_kept(row, _problem(400, "Not a recording", str(error)))
    except OSError as error:
        why = f"{error.strerror or error}. Nothing of it was stored."
        return _not_kept(row, _problem(507, "The file could not be kept", why))
    tasks.queue(row)
    push.notify(upload=row.pk)
    return _json(queries.upload_payload(row), status=201)


def _not_kept(row: Upload, answer: HttpResponse) -> HttpResponse:
    with suppress(OSError):  # a disk that takes no file may not give one up either
        importing.path_of(row).unlink(missing_ok=True)
    row.delete()
    return answer


@api.get("/uploads/{upload_id}")
def show_upload(request: HttpRequest, upload_id: Number) -> HttpResponse:
    return _json(queries.upload_payload(Upload.objects.get(pk=upload_id)))


@api.post("/uploads/{upload_id}/cancel")
def cancel_upload(request: HttpRequest, upload_id: Number) -> HttpResponse:
    importing.cancel(Upload.objects.get(pk=upload_id))
    return show_upload(request, upload_id)
