"""The HTTP API. Answers have the shapes of `timeline.payloads`; errors are problem documents (RFC 9457)."""

import shutil
from typing import Any

import orjson
from django.conf import settings
from django.http import HttpRequest, HttpResponse
from ninja import NinjaAPI
from ninja.errors import HttpError, ValidationError
from ninja.security import django_auth

from collectors import importing
from collectors.formats import NotARecording
from timeline import push, queries, store
from timeline.models import Source, Upload

api = NinjaAPI(title="Causeline", docs_url=None, auth=django_auth if settings.LOGIN_REQUIRED else None)
_CHUNK = 1024 * 1024


def _json(payload: Any, status: int = 200) -> HttpResponse:
    return HttpResponse(orjson.dumps(payload), status=status, content_type="application/json")


def _problem(status: int, title: str, detail: str) -> HttpResponse:
    body = {"title": title, "detail": detail, "status": status}
    return HttpResponse(orjson.dumps(body), status=status, content_type="application/problem+json")


@api.exception_handler(HttpError)
def _refused(request: HttpRequest, error: HttpError) -> HttpResponse:
    return _problem(error.status_code, "Not possible", str(error))


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
    source_id: int,
    start: int | None = None,
    end: int | None = None,
    offset: int = 0,
    limit: int = queries.LANES,
    kinds: str = "",
    namespace: str = "",
    group: queries.Grouping = "owner",
    focus: int | None = None,
) -> HttpResponse:
    if start is not None and end is not None and start > end:
        raise HttpError(422, "start lies after end")
    payload = queries.window(
        source_id,
        start,
        end,
        offset=max(0, offset),
        limit=max(1, min(limit, 200)),
        families=[family for family in kinds.split(",") if family],
        namespace=namespace,
        grouping=group,
        focus=focus,
    )
    return _json(payload)


@api.get("/sources/{source_id}/overview")
def overview(request: HttpRequest, source_id: int) -> HttpResponse:
    return _json(queries.overview(source_id))


@api.delete("/sources/{source_id}")
def delete_source(request: HttpRequest, source_id: int) -> HttpResponse:
    store.discard_source(Source.objects.get(pk=source_id, ready=True))
    return HttpResponse(status=204)


@api.post("/uploads")
def upload(request: HttpRequest, name: str) -> HttpResponse:
    """The body is the file. Its beginning is looked at before anything is kept."""
    size = int(request.headers.get("Content-Length") or 0)
    if size > settings.UPLOAD_LIMIT_BYTES:
        limit = settings.UPLOAD_LIMIT_BYTES // 1024**2
        raise HttpError(413, f"{name} is larger than {limit} MiB. CAUSELINE_UPLOAD_LIMIT_BYTES raises the limit.")
    row = Upload.objects.create(name=name[:253] or "recording", bytes_total=size)
    path = importing.path_of(row)
    try:
        settings.UPLOAD_DIR.mkdir(mode=0o700, parents=True, exist_ok=True)
        with path.open("wb") as file:
            shutil.copyfileobj(request, file, _CHUNK)  # type: ignore[misc]
        importing.check(path, row.name)
    except NotARecording as error:
        path.unlink(missing_ok=True)
        row.delete()
        return _problem(400, "Not a recording", str(error))
    except OSError as error:
        path.unlink(missing_ok=True)
        row.delete()
        return _problem(507, "The file could not be kept", f"{error.strerror or error}. Nothing of it was stored.")
    row.bytes_total = path.stat().st_size
    row.save(update_fields=["bytes_total"])
    importing.queue(row)
    push.notify(upload=row.pk)
    return _json(queries.upload_payload(row), status=201)


@api.get("/uploads/{upload_id}")
def show_upload(request: HttpRequest, upload_id: int) -> HttpResponse:
    return _json(queries.upload_payload(Upload.objects.get(pk=upload_id)))


@api.post("/uploads/{upload_id}/cancel")
def cancel_upload(request: HttpRequest, upload_id: int) -> HttpResponse:
    importing.cancel(Upload.objects.get(pk=upload_id))
    return show_upload(request, upload_id)
