"""This module answers API servers that send who changed something, before Django sees their requests.

Both webhooks carry an access token of the scope `audit` that is limited to one cluster. Their bodies are larger, and
the answers of the admission webhook have to be quicker, than Django's handler allows.
"""

import asyncio
import logging
import time
import zlib
from collections.abc import Awaitable, Callable
from io import BytesIO
from typing import Any

import orjson
from asgiref.sync import sync_to_async
from django.conf import settings
from django.core.handlers.asgi import ASGIRequest
from django.db import Error, close_old_connections

from collectors.uploads import audit_batches
from dashboard.access import recording, tokens
from dashboard.metrics.requests import note_route
from dashboard.models import AccessToken
from dashboard.web import admission
from timeline.models import Way
from timeline.storage import inbox

logger = logging.getLogger(__name__)
Receive = Callable[[], Awaitable[Any]]
Send = Callable[[Any], Awaitable[None]]
AUDIT = "/api/audit/events"
ADMISSION = "/api/admission"
REVIEW_BYTES = 16 * 1024**2  # an API server takes 3 MiB at most, and a review may hold an object twice
AT_ONCE = 2  # audit batches that one web process reads at a time; more wait
WAITING = 8  # audit batches that wait for their turn; the senders of more are asked to try again
_TOKEN = "causeline.admission token"  # a key of the ASGI scope
_READ = "causeline.body is read"  # a key of the ASGI scope
RETRY_SECONDS = 5  # after which an API server is asked to send a batch again
_AFTER = "Something follows the gzip of the body."
_NO_TOKEN = (
    "An access token of the scope audit that is limited to one cluster is needed; it may have expired or been revoked."
)


def hide_token(scope: dict[str, Any]) -> None:
    """Move the token of an admission webhook out of the path of a request, before anything can log it."""
    path = scope.get("path", "")
    if path.startswith(f"{ADMISSION}/"):
        scope[_TOKEN] = path[len(ADMISSION) + 1 :]
        scope["path"], scope["raw_path"] = ADMISSION, ADMISSION.encode()


class Answered(Exception):
    """This exception ends a request with an answer."""

    def __init__(self, status: int, detail: str, *, retry: bool = False) -> None:
        super().__init__(detail)
        self.status, self.retry = status, retry


class Webhooks:
    """This is an ASGI application that answers the webhooks, and lets another one answer everything else."""

    def __init__(self, application: Callable[..., Awaitable[None]]) -> None:
        self._application = application
        self._turns = asyncio.Semaphore(AT_ONCE)
        self._tokens = admission.Tokens()
        self.writer: admission.Writer | None = None
        self._begun = 0  # audit batches that are read or wait for their turn

    async def __call__(self, scope: dict[str, Any], receive: Receive, send: Send) -> None:
        if scope["path"] not in (AUDIT, ADMISSION):
            await self._application(scope, receive, send)
            return
        note_route(scope, scope["path"][1:])
        began = time.perf_counter()
        try:
            if scope["method"] != "POST":
                raise Answered(405, "API servers send what happens with POST.")
            found = await (self._audit if scope["path"] == AUDIT else self._admission)(scope, receive)
            took = b"app;dur=%.2f" % (1000 * (time.perf_counter() - began))
            await respond(send, 200, found, [(b"server-timing", took)])
        except Answered as answer:
            more = [(b"retry-after", b"%d" % RETRY_SECONDS)] if answer.retry else []
            await drain(scope, receive)
            await respond(send, answer.status, {"detail": str(answer), "status": answer.status}, more)

    async def _admission(self, scope: dict[str, Any], receive: Receive) -> dict[str, Any]:
        """Return the answer to a review, which is kept in memory until it is stored. Raise Answered if it is none."""
        try:
            cluster = await self._tokens.cluster(scope.get(_TOKEN, ""))
        except Error:
            raise Answered(503, "The database cannot be reached.") from None
        if cluster is None:
            raise Answered(401, _NO_TOKEN)
        body = await body_of(scope, receive, REVIEW_BYTES)
        try:
            kept, found = admission.answer(body)
        except (ValueError, RecursionError):
            raise Answered(400, "The body is no AdmissionReview with a request.") from None
        if kept:
            if self.writer is None:
                self.writer = admission.Writer()
                self.writer.start()
            self.writer.put(cluster, body)
        return found

    async def _audit(self, scope: dict[str, Any], receive: Receive) -> dict[str, Any]:
        """Store a list of audit events; return the answer once it is committed. Raise Answered otherwise."""
        cluster = await _cluster(scope)
        if self._begun >= WAITING:
            raise Answered(429, "More audit events are being read than this server can keep up with.", retry=True)
        self._begun += 1
        try:
            body = await body_of(scope, receive, settings.AUDIT_BATCH_BYTES)
            async with self._turns:
                await sync_to_async(_take, thread_sensitive=False)(cluster, body)
            return {}
        except Answered as answer:
            if not answer.retry:
                await sync_to_async(_note, thread_sensitive=False)(cluster, str(answer))
            raise
        finally:
            self._begun -= 1


async def respond(send: Send, status: int, body: Any, headers: list[tuple[bytes, bytes]] | None = None) -> None:
    """Send an answer in JSON."""
    content = orjson.dumps(body)
    head = [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(content)), *(headers or ())]
    await send({"type": "http.response.start", "status": status, "headers": head})
    await send({"type": "http.response.body", "body": content})


async def body_of(scope: dict[str, Any], receive: Receive, limit: int) -> bytes:
    """Return the body of a request, decompressed if it came as gzip. Raise Answered if it is longer than the limit."""
    encoding = dict(scope["headers"]).get(b"content-encoding", b"identity").lower()
    if encoding not in (b"gzip", b"identity"):
        raise Answered(415, "The body has a Content-Encoding other than gzip.")
    unpacking = zlib.decompressobj(16 + zlib.MAX_WBITS) if encoding == b"gzip" else None
    body = bytearray()
    more = True
    while more:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise Answered(400, "The body was cut off.")
        piece, more = message.get("body", b""), message.get("more_body", False)
        if unpacking and piece and unpacking.eof:
            raise Answered(400, _AFTER)
        try:
            body += unpacking.decompress(piece, limit + 1 - len(body)) if unpacking else piece
        except zlib.error:
            raise Answered(400, "The body is not gzip, although its Content-Encoding says so.") from None
        if len(body) > limit:
            raise Answered(413, f"The body has more than {limit} bytes.")
        if unpacking and unpacking.unused_data:
            raise Answered(400, _AFTER)
    scope[_READ] = True
    if unpacking and not unpacking.eof:
        raise Answered(400, "The body is gzip that was cut off.")
    return bytes(body)


async def drain(scope: dict[str, Any], receive: Receive, most: int = 64 * 1024**2) -> None:
    """Read the rest of a request body and discard it.

    Many clients read the answer only after they have sent the whole body.
    """
    taken = 0
    more = _READ not in scope and (b"expect", b"100-continue") not in scope["headers"]
    while more and taken < most:
        message = await receive()
        taken += len(message.get("body", b""))
        more = message.get("more_body", False)


async def _cluster(scope: dict[str, Any]) -> int:
    """Return the cluster of the token that the request carries. Raise Answered without a good one."""
    try:
        token = await sync_to_async(_token_of, thread_sensitive=False)(scope)
    except Error:
        logger.warning("audit events have to wait: the database cannot be reached")
        raise Answered(503, "The database cannot be reached.", retry=True) from None
    return cluster_of(token)


def cluster_of(token: AccessToken | None) -> int:
    """Return the cluster to which a token is limited. Raise Answered if the token is not good, or not limited."""
    if token is None:
        raise Answered(401, _NO_TOKEN)
    if token.cluster_id is None:
        raise Answered(403, "The access token is not limited to one cluster, so nothing says whose events these are.")
    return token.cluster_id


def address_of(scope: dict[str, Any]) -> str:
    """Return the address that a request comes from, as `dashboard.asgi` has set it; "" if there is none."""
    return str((scope.get("client") or ("",))[0])


def _token_of(scope: dict[str, Any]) -> AccessToken | None:
    close_old_connections()
    try:
        token = tokens.holder(ASGIRequest(scope, BytesIO()), "audit")
        recording.of_sender(token, "audit events", address_of(scope))
        return token
    finally:
        close_old_connections()


def _take(cluster: int, body: bytes) -> None:
    close_old_connections()
    try:
        taken = audit_batches.take(cluster, body, settings.LIMITS, settings.AUDIT_INBOX_BYTES)
        if taken.problem:
            inbox.note(cluster, Way.AUDIT, f"{taken.unread} events of a batch could not be read. {taken.problem}.")
    except audit_batches.NotAList as error:
        raise Answered(400, str(error)) from None
    except inbox.Full as error:
        raise Answered(429, str(error), retry=True) from None
    except inbox.NotWatched as error:
        raise Answered(503, str(error), retry=True) from None
    except Error as error:
        logger.warning("audit events have to wait: they cannot be stored: %s", type(error).__name__)
        raise Answered(503, "The database cannot be reached.", retry=True) from None
    finally:
        close_old_connections()


def _note(cluster: int, problem: str) -> None:
    close_old_connections()
    try:
        inbox.note(cluster, Way.AUDIT, f"A batch was refused. {problem}")
    except Error:
        pass
    finally:
        close_old_connections()
