"""Answer collectors, which watch a cluster from inside and send what they observe, before Django sees their requests.

A collector carries an access token of the scope `collect` that is limited to its cluster. It asks for the right to send
(`lease`), for what is known of the cluster (`state`), and sends numbered batches (`batches`).
"""

import logging
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from io import BytesIO
from typing import IO, Any
from urllib.parse import parse_qsl

import msgspec
from asgiref.sync import sync_to_async
from django.conf import settings
from django.core.handlers.asgi import ASGIRequest

from collectors import readers
from collectors.watch.server import connections
from collectors.watch.server.credentials import BY_COLLECTOR
from collectors.watch.storing import batches
from collectors.watch.storing.feeds import BATCH_BYTES
from dashboard.access.tokens import tokens
from dashboard.metrics.requests import note_route
from dashboard.web.intake import Answered, Intake, Receive, Send, body_of, database, pieces_of, refuse, respond
from dashboard.web.webhooks import address_of
from timeline.core.numbers import whole_number
from timeline.models import Cluster
from timeline.storage.entries import collected

logger = logging.getLogger(__name__)
PACKED_BYTES = 16 * 1024**2  # of a batch as it is sent
_PATH = re.compile(r"/api/collect/([^/]{1,300})/(lease|state|batches)")  # the number or the name of the cluster
_METHODS = {"lease": "POST", "state": "GET", "batches": "POST"}
_LEASE_BYTES = 16 * 1024
_NO_TOKEN = "An access token of the scope collect is needed that is limited to this cluster; it may have expired."


class _Lease(msgspec.Struct):
    """The body of a request for the right to send."""

    holder: str
    epoch: int | None = None
    version: str = ""
    buffered: int = 0
    behind: float = 0.0
    namespaces: tuple[str, ...] = ()
    leaving: bool = False


_lease = msgspec.json.Decoder(_Lease)


class Collecting:
    """Answer collectors, as an ASGI application that lets another one answer everything else."""

    def __init__(self, application: Callable[..., Any]) -> None:
        self._application = application
        self._intake = Intake(1)  # batches of one cluster, which come in their order

    async def __call__(self, scope: dict[str, Any], receive: Receive, send: Send) -> None:
        found = _PATH.fullmatch(scope["path"])
        if not found:
            await self._application(scope, receive, send)
            return
        what = found[2]
        note_route(scope, f"api/collect/{{cluster}}/{what}")
        try:
            if scope["method"] != _METHODS[what]:
                raise Answered(405, f"Use {_METHODS[what]} here.")
            cluster = await sync_to_async(_cluster, thread_sensitive=False)(scope, found[1])
            if what == "lease":
                body = await body_of(scope, receive, _LEASE_BYTES)
                await respond(send, 200, await sync_to_async(_begin, thread_sensitive=False)(cluster, body))
            elif what == "state":
                await self._state(scope, send, cluster)
            else:
                await respond(send, 200, await self._batch(scope, receive, cluster))
        except Answered as answer:
            await refuse(scope, receive, send, answer)

    async def _state(self, scope: dict[str, Any], send: Send, cluster: int) -> None:
        query = dict(parse_qsl(scope.get("query_string", b"").decode("ascii", "replace")))
        epoch, after = _number(query.get("epoch", "")), _number(query.get("after", ""))
        found = await sync_to_async(_state, thread_sensitive=False)(cluster, epoch, after)
        if found is None:
            await respond(send, 202, {"detail": "A worker is asked for it. Ask again in a moment."})
            return
        head = [(b"content-type", b"application/zstd"), (b"content-length", b"%d" % len(found))]
        await send({"type": "http.response.start", "status": 200, "headers": head})
        await send({"type": "http.response.body", "body": found})

    async def _batch(self, scope: dict[str, Any], receive: Receive, cluster: int) -> dict[str, int]:
        headers = dict(scope["headers"])
        epoch = _number(headers.get(b"causeline-epoch", b"").decode("latin-1"))
        number = _number(headers.get(b"causeline-number", b"").decode("latin-1"))
        restored = headers.get(b"causeline-restored", b"").decode("utf-8", "replace")
        async with self._intake.turn(cluster, scope, receive, PACKED_BYTES) as body:
            return await sync_to_async(_accept, thread_sensitive=False)(cluster, epoch, number, body, restored)


@contextmanager
def _storing() -> Iterator[None]:
    """Use the database in this context alone. Raise Answered for what it, or the inbox of the cluster, refuses."""
    try:
        with database("a collector has to wait"):
            yield
    except collected.Held as error:
        raise Answered(423, str(error), retry=True) from None
    except collected.Stale as error:
        raise Answered(410, str(error)) from None
    except collected.OutOfOrder as error:
        raise _OutOfOrder(str(error), error.accepted) from None
    except collected.Full as error:
        raise Answered(429, str(error), retry=True) from None


class _OutOfOrder(Answered):
    def __init__(self, detail: str, accepted: int) -> None:
        super().__init__(409, detail)
        self.more = {"accepted": accepted}


def _number(text: str) -> int:
    if (number := whole_number(text)) is None:
        raise Answered(400, "Name the epoch and the number of the batch as whole numbers.")
    return number


def _cluster(scope: dict[str, Any], named: str) -> int:
    """Return the cluster of the token that the request carries. Raise Answered unless it is the one that is named, and
    a collector watches it."""
    with _storing():
        token = tokens.holder(ASGIRequest(scope, BytesIO()), "collect")
        tokens.record_sender(token, "what a collector observes", address_of(scope))
        row = Cluster.objects.filter(pk=token.cluster_id).first() if token and token.cluster_id else None
        if row is None or named not in (str(row.pk), row.name):
            raise Answered(401, _NO_TOKEN)
        if row.reference.get("how") != BY_COLLECTOR:
            raise Answered(404, "This cluster is watched by Causeline itself, not by a collector.")
        return row.pk


def _begin(cluster: int, body: bytes) -> dict[str, int]:
    try:
        asked = _lease.decode(body)
        namespaces = connections.namespaces(asked.namespaces)
    except (ValueError, RecursionError) as error:
        raise Answered(400, f"The body is not as a collector writes it ({type(error).__name__}).") from None
    except connections.ClusterRefused as error:
        raise Answered(400, str(error)) from None
    holder = asked.holder.replace("\0", "")[:200]
    buffered, behind = max(0, min(asked.buffered, 2**62)), max(0.0, min(asked.behind, 1e9))
    with _storing():
        if asked.leaving and asked.epoch is not None:
            collected.give_up(cluster, asked.epoch)
            return {"epoch": asked.epoch, "accepted": 0}
        report = collected.Report(holder, asked.version.replace("\0", "")[:100], buffered, behind, namespaces)
        return collected.begin_or_renew(cluster, asked.epoch, report)._asdict()


def _state(cluster: int, epoch: int, after: int) -> bytes | None:
    with _storing():
        return collected.state_after(cluster, epoch, after)


def _accept(cluster: int, epoch: int, number: int, body: IO[bytes], restored: str) -> dict[str, int]:
    """Check and store a batch; return the number of the last one that was accepted, once it is committed."""
    aside = ""
    try:
        lines = readers.call(batches.checked, pieces_of(body), BATCH_BYTES, settings.LIMITS)
    except (batches.Malformed, readers.Died) as error:  # it could only be sent again: what was in it is a gap
        lines, aside = b"", str(error)
        logger.warning("batch %s of cluster %s is put aside: %s", number, cluster, error)
    batch = collected.Received(number, lines, restored, aside)
    with _storing():
        return {"accepted": collected.accept(cluster, epoch, batch, settings.COLLECT_INBOX_BYTES)}
