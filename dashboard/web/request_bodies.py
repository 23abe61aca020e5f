"""Limit the bodies of requests before they are stored. A long body needs a signed-in user.

Django writes a body to the disk before it looks at the request at all. This module refuses a body
before that if it is too long, if the disk has no space for it, or if it is long and nobody is signed in. If the disk
fills up meanwhile, only that request fails.
"""

import re
import shutil
from collections.abc import Mapping
from importlib import import_module
from io import BytesIO
from tempfile import SpooledTemporaryFile
from typing import IO, Any
from urllib.parse import parse_qs

import orjson
from asgiref.sync import sync_to_async
from django.conf import settings
from django.core.exceptions import RequestAborted
from django.core.handlers.asgi import ASGIHandler, ASGIRequest
from django.db import connections
from django.http import HttpResponseBase

from collectors.uploads.receiving import PIECE_BYTES, SPARE_BYTES
from dashboard.access.signing_in import rights
from dashboard.access.tokens import tokens
from dashboard.web.intake import drain

_PIECE = re.compile(r"/api/uploads/\d+/files/\d+")
_DRAINED = 256 * 1024**2  # bytes that are read and discarded, so that the client reads the answer
_RECEIVER = re.compile(r"/api/receivers/\w+")
_NOTIFICATION = 16 * 1024**2  # bytes of a notification of alerts, which is parsed in memory
_SMALL = 4 * 1024**2  # bytes that every client may send, and that stay in memory


class BodyRefused(Exception):
    """The body of a request is refused. The error holds the answer to send."""

    def __init__(self, status: int, title: str, detail: str) -> None:
        self.status = status
        self.body = orjson.dumps({"title": title, "detail": detail, "status": status})
        super().__init__(detail)


class Handler(ASGIHandler):
    """Django's handler with limits on bodies."""

    async def handle(self, scope: dict[str, Any], receive: Any, send: Any) -> None:
        limit = _limit(scope)
        announced = _announced(scope)
        try:
            if announced > limit:
                raise _too_large(limit)
            if limit > _SMALL and announced > _SMALL:
                await sync_to_async(_admit)(scope, announced)
            await super().handle(scope, _Bounded(receive, limit), send)
        except BodyRefused as refused:
            await drain(scope, receive, _DRAINED, None)
            headers = [(b"content-type", b"application/problem+json"), (b"connection", b"close")]
            await send({"type": "http.response.start", "status": refused.status, "headers": headers})
            await send({"type": "http.response.body", "body": refused.body})

    async def read_body(self, receive: Any) -> SpooledTemporaryFile[bytes]:
        """Return the body as a temporary file that disappears when it is closed."""
        body = SpooledTemporaryFile(_SMALL, "w+b", dir=str(settings.UPLOAD_DIR))  # noqa: SIM115 (Django closes it)
        try:
            more = True
            while more:
                message = await receive()
                if message["type"] == "http.disconnect":
                    raise RequestAborted
                body.write(message.get("body", b""))
                more = message.get("more_body", False)
        except OSError as error:
            body.close()
            detail = f"{error.strerror or error}. Nothing of it was stored."
            raise BodyRefused(507, "The file could not be kept", detail) from None
        except BaseException:
            body.close()
            raise
        body.seek(0)
        return body

    def create_request(
        self, scope: Mapping[str, Any], body_file: IO[bytes]
    ) -> tuple[ASGIRequest, None] | tuple[None, HttpResponseBase]:
        """Return the request with the length of its body, also for a chunked body, which does not announce it."""
        if not any(name == b"content-length" for name, _ in scope["headers"]):
            length = body_file.seek(0, 2)
            body_file.seek(0)
            scope = {**scope, "headers": [*scope["headers"], (b"content-length", str(length).encode())]}
        return super().create_request(scope, body_file)


class _Bounded:
    """Receive a body up to a limit."""

    def __init__(self, receive: Any, limit: int) -> None:
        self._receive = receive
        self._limit = limit
        self._taken = 0

    async def __call__(self) -> Any:
        message = await self._receive()
        self._taken += len(message.get("body", b""))
        if self._taken > self._limit:
            raise _too_large(self._limit)
        return message


def _limit(scope: Mapping[str, Any]) -> int:
    """Return how many bytes a body may have. Files may be long; other bodies are parsed in memory."""
    method, path = scope["method"], scope["path"]
    if method == "PUT" and _PIECE.fullmatch(path):
        return PIECE_BYTES
    if method == "POST" and path == "/api/uploads" and "name" in _asked(scope):
        return max(settings.UPLOAD_LIMIT_BYTES, PIECE_BYTES)
    if method == "POST" and _RECEIVER.fullmatch(path):
        return _NOTIFICATION
    return settings.DATA_UPLOAD_MAX_MEMORY_SIZE or 0


def _asked(scope: Mapping[str, Any]) -> dict[str, list[str]]:
    return parse_qs(scope["query_string"].decode("latin-1"), keep_blank_values=True)


def _announced(scope: dict[str, Any]) -> int:
    """Return the announced length in bytes; for a chunked body without one, the limit."""
    headers = dict(scope["headers"])
    if b"transfer-encoding" in headers:
        return _SMALL + 1
    length = headers.get(b"content-length", b"0")
    return int(length) if length.isdigit() else 0


def _admit(scope: dict[str, Any], announced: int) -> None:
    """Raise Refused for a long body if the client is not signed in, or if there is no space for it."""
    if _RECEIVER.fullmatch(scope["path"]):
        if not _sends_alerts(scope):
            raise BodyRefused(401, "Not allowed", "Send an access token of the scope alerts as Authorization: Bearer.")
    elif rights.sign_in_required() and not _is_signed_in(scope):
        raise BodyRefused(401, "You are signed out", rights.how_to_sign_in())
    settings.UPLOAD_DIR.mkdir(mode=0o700, parents=True, exist_ok=True)
    if announced + SPARE_BYTES > shutil.disk_usage(settings.UPLOAD_DIR).free:
        raise BodyRefused(507, "The file could not be kept", "No space left on device. Nothing of it was stored.")


def _is_signed_in(scope: dict[str, Any]) -> bool:
    request = ASGIRequest(scope, BytesIO())
    sessions = import_module(settings.SESSION_ENGINE)
    request.session = sessions.SessionStore(request.COOKIES.get(settings.SESSION_COOKIE_NAME))
    try:
        return rights.admitted(rights.user_of(request))
    finally:
        connections.close_all()


def _sends_alerts(scope: dict[str, Any]) -> bool:
    try:
        return tokens.holder(ASGIRequest(scope, BytesIO()), "alerts") is not None
    finally:
        connections.close_all()


def _too_large(limit: int) -> BodyRefused:
    if limit == _NOTIFICATION:
        detail = f"A notification may have {limit} bytes at most. Let the sender group fewer alerts."
        return BodyRefused(413, "The request is too large", detail)
    if limit <= (settings.DATA_UPLOAD_MAX_MEMORY_SIZE or 0):
        return BodyRefused(413, "The request is too large", f"JSON and forms may have {limit} bytes at most.")
    detail = f"It is larger than {limit} bytes. CAUSELINE_UPLOAD_LIMIT_BYTES raises the limit of a recording."
    return BodyRefused(413, "The file is too large", detail)
