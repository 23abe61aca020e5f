"""Answer API servers that send who changed something, before Django sees their requests.

Both webhooks carry an access token of the scope `audit` that is limited to one cluster. Their bodies are larger, and
the answers of the admission webhook have to be quicker, than Django's handler allows.
"""

import logging
import time
from collections.abc import Awaitable, Callable
from io import BytesIO
from typing import IO, Any

from asgiref.sync import sync_to_async
from django.conf import settings
from django.core.handlers.asgi import ASGIRequest
from django.db import Error, close_old_connections

from collectors import readers
from collectors.formats import audit_webhook
from collectors.uploads import audit_batches
from dashboard.access.tokens import tokens
from dashboard.metrics.requests import note_route
from dashboard.models import AccessToken
from dashboard.web import admission
from dashboard.web.intake import (
    Answered,
    Intake,
    Receive,
    Send,
    body_of,
    database,
    is_packed,
    pieces_of,
    refuse,
    respond,
    too_long,
)
from timeline.models import Way
from timeline.storage.entries import inbox

logger = logging.getLogger(__name__)
AUDIT = "/api/audit/events"
ADMISSION = "/api/admission"
REVIEW_BYTES = 8 * 1024**2  # an API server takes 3 MiB at most, and a review may hold an object twice
OF_CLUSTER = 8  # audit batches of one cluster that arrive or wait for their turn
_TOKEN = "causeline.admission token"  # a key of the ASGI scope
_NO_TOKEN = (
    "An access token of the scope audit that is limited to one cluster is needed; it may have expired or been revoked."
)


def hide_token(scope: dict[str, Any]) -> None:
    """Move the token of an admission webhook out of the path of a request, before anything can log it."""
    path = scope.get("path", "")
    if path.startswith(f"{ADMISSION}/"):
        scope[_TOKEN] = path[len(ADMISSION) + 1 :]
        scope["path"], scope["raw_path"] = ADMISSION, ADMISSION.encode()


class Webhooks:
    """Answer the webhooks, as an ASGI application that lets another one answer everything else."""

    def __init__(self, application: Callable[..., Awaitable[None]]) -> None:
        self._application = application
        self._intake = Intake(OF_CLUSTER)
        self._tokens = admission.Tokens()
        self.writer: admission.Writer | None = None

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
            await refuse(scope, receive, send, answer)

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
        try:
            packed = is_packed(scope)
            async with self._intake.turn(cluster, scope, receive, settings.AUDIT_BATCH_BYTES) as body:
                await sync_to_async(_take, thread_sensitive=False)(cluster, body, packed)
            return {}
        except Answered as answer:
            if not answer.retry:
                await sync_to_async(_note, thread_sensitive=False)(cluster, str(answer))
            raise


async def _cluster(scope: dict[str, Any]) -> int:
    """Return the cluster of the token that the request carries. Raise Answered without a good one."""
    return cluster_of(await sync_to_async(_token_of, thread_sensitive=False)(scope))


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
    with database("audit events have to wait"):
        token = tokens.holder(ASGIRequest(scope, BytesIO()), "audit")
        tokens.record_sender(token, "audit events", address_of(scope))
        return token


def _take(cluster: int, body: IO[bytes], packed: bool) -> None:
    most = settings.AUDIT_BATCH_BYTES
    try:
        with database("audit events have to wait"):
            sent = audit_batches.Body(pieces_of(body), packed, most)
            taken = audit_batches.take(cluster, sent, settings.LIMITS, settings.AUDIT_INBOX_BYTES)
            if taken.problem:
                inbox.note(cluster, Way.AUDIT, f"{taken.unread} events of a batch could not be read. {taken.problem}.")
    except (audit_webhook.NotAList, readers.Died) as error:
        raise Answered(400, str(error)) from None
    except audit_webhook.TooLong:
        raise too_long(most) from None
    except inbox.Full as error:
        raise Answered(429, str(error), retry=True) from None
    except inbox.NotWatched as error:
        raise Answered(503, str(error), retry=True) from None


def _note(cluster: int, problem: str) -> None:
    close_old_connections()
    try:
        inbox.note(cluster, Way.AUDIT, f"A batch was refused. {problem}")
    except Error:
        pass
    finally:
        close_old_connections()
