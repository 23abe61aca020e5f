"""Check permission, subscribe WebSockets to the hub and forward its messages."""

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from datetime import UTC, datetime
from typing import Any
from urllib.parse import parse_qs

import orjson
from asgiref.sync import sync_to_async
from channels.generic.websocket import AsyncWebsocketConsumer
from django.contrib.auth.models import AnonymousUser
from django.db import close_old_connections

from dashboard.access import limits
from dashboard.access.roles import grants, policy
from dashboard.access.roles.needs import Need
from dashboard.access.signing_in import rights
from dashboard.access.tokens import links, tokens
from dashboard.access.trail import recording
from dashboard.models import AccessToken
from dashboard.push.hub import Listener, Queue, hub
from timeline.core.numbers import whole_number
from timeline.models import Upload

logger = logging.getLogger(__name__)
UNAUTHORISED = 4401
FAILED = 1011
OTHER_RIGHTS = 4403  # the page connects again with the roles that it has now, and shows what these allow


class _Forwarding(AsyncWebsocketConsumer):
    """Forward a queue of the hub as text frames of JSON while the listener has the right to."""

    _session = ""  # as `listeners.withdrawn` knows it
    _forwarding: asyncio.Task[None] | None = None
    _closing: asyncio.Task[None] | None = None
    _renewing: asyncio.Task[None] | None = None
    _link: links.Opened | None = None  # the share link that the listener has
    _reader: Any = None  # who is signed in and has that link
    _token: AccessToken | None = None  # the access token that a program has sent
    _sight = limits.Sight()
    route: str  # of the socket
    need: Need | None = None  # what it needs to be opened; whoever has a share link needs nothing else

    async def admitted(self) -> bool:
        if (text := tokens.in_headers(self.scope)) is not None:
            self._token = await tokens.listening(text)
            return self._token is not None and await self._may_listen()
        return await rights.listener_admitted(self.scope) and await self._may_listen()

    @sync_to_async
    def _may_listen(self) -> bool:
        """Return whether the role of the listener reaches to this socket."""
        close_old_connections()
        user = rights.listening(self.scope) if self._token is None else tokens.reader_of(self._token)
        return policy.may_listen(user, self.need, self.scope["url_route"]["kwargs"].get("source_id"))

    async def opened(self, text: str) -> links.Opened | None:
        """Return what a share link allows to the listener, who need not be signed in."""
        signed_in = await rights.listener_admitted(self.scope)
        self._reader = rights.listening(self.scope) if signed_in else AnonymousUser()
        self._link = await _opened(text, self._reader)
        return self._link

    @asynccontextmanager
    async def watch_rights(self) -> AsyncIterator[None]:
        """Dismiss the listener when the rights of its session are withdrawn, when its roles change, or when its link is
        over."""
        async with AsyncExitStack() as watched:
            if self._token is not None:
                await watched.enter_async_context(hub.watch_rights(Listener(self._session, self._dismiss)))
            elif self._link is None or links.needs_session(self._link):
                sight = self._sight
                listener = Listener(self._session, self._dismiss, sight.reader, sight.held.fingerprint, self._renew)
                await watched.enter_async_context(hub.watch_rights(listener))
            if self._link is not None:
                if self._link.number is not None:
                    await watched.enter_async_context(
                        hub.watch_rights(Listener(links.key_of(self._link), self._dismiss))
                    )
                left = (self._link.until - datetime.now(UTC)).total_seconds()
                watched.callback(asyncio.get_running_loop().call_later(max(0, left), self._dismiss).cancel)
            yield

    async def connect(self) -> None:
        if not await self.admitted():
            await self.accept()  # a browser learns the code only of an open connection
            await self.close(code=UNAUTHORISED)
            return
        if self._token is not None:
            self._session = await sync_to_async(tokens.key_of)(self._token)
            self._sight = await limits.of_token(self._token)
        else:
            self._session = await rights.listener_of(self.scope)
            self._sight = await self._seen_now()
        await self.note()
        self._forwarding = asyncio.create_task(self._forward())

    async def note(self) -> None:
        """Record in the audit trail who listens."""
        await sync_to_async(_note)(dict(self.scope), self._who())

    def _who(self) -> Any:
        if self._token is not None:
            return rights.Reader(grants.NOTHING, tokens.actor_of(self._token))
        return rights.listening(self.scope) if self._link is None else links.reader_of(self._link, self._reader)

    async def disconnect(self, code: int) -> None:
        if self._forwarding:
            self._forwarding.cancel()

    async def receive(self, text_data: Any = None, bytes_data: Any = None) -> None:
        """Ignore what browsers send."""

    def queue(self) -> AbstractAsyncContextManager[Queue]:
        raise NotImplementedError

    async def shown(self, message: bytes, sight: limits.Sight) -> bytes | None:
        """Return what a listener who does not see everything gets of a message; None for nothing."""
        raise NotImplementedError

    def concerned(self, before: limits.Sight, now: limits.Sight) -> bool:
        """Return whether this socket has to be closed because the roles of its listener have changed."""
        return True

    def _dismiss(self, code: int = UNAUTHORISED) -> None:
        if self._forwarding:
            self._forwarding.cancel()
        self._closing = asyncio.create_task(self.close(code=code))

    def _renew(self) -> None:
        self._renewing = asyncio.create_task(self._limit_anew())

    async def _seen_now(self) -> limits.Sight:
        """Return what the listener sees: all that its share link opens, or what its roles allow now."""
        return limits.Sight() if self._link is not None else await limits.of_listener(self.scope)

    async def _limit_anew(self) -> None:
        before, self._sight = self._sight, await self._seen_now()
        if self.concerned(before, self._sight):
            self._dismiss(OTHER_RIGHTS)

    async def _forward(self) -> None:
        try:
            async with self.watch_rights(), self.queue() as queue:
                # The queue is filled from now on, and the page fetches only once it is accepted: no commit is lost.
                await self.accept()
                while True:
                    message: bytes | None = await queue.get()
                    if message and not self._sight.seen.everything:
                        message = await self.shown(message, self._sight)
                    if message and self._link is not None:
                        message = orjson.dumps(links.public(orjson.loads(message)))
                    if message:
                        await self.send(text_data=message.decode())
        except Exception as error:  # the browser connects again
            logger.warning("a socket ends: %r", error)
            await self.close(code=FAILED)


def _note(scope: dict[str, Any], reader: Any) -> None:
    close_old_connections()
    recording.of_socket(scope, reader)


@sync_to_async
def _opened(text: str, reader: Any) -> links.Opened | None:
    close_old_connections()
    return links.opened(text, reader)


class UploadsConsumer(_Forwarding):
    """Send every change of every upload that the listener sees."""

    route = "ws/uploads/"
    need = Need("viewer")

    def queue(self) -> AbstractAsyncContextManager[Queue]:
        return hub.subscribe("uploads")

    async def shown(self, message: bytes, sight: limits.Sight) -> bytes | None:
        parsed = orjson.loads(message)
        if parsed["type"] != "upload":
            return message
        owner = parsed["upload"]["owner"]
        if owner is not None and owner == sight.reader:  # uploads of programs have no owner, and neither have programs
            return message
        return message if await _once.shows(message, sight, parsed["upload"]["id"]) else None


class _Once:
    """Ask the database once about each message about an upload, for all listeners who see the same."""

    def __init__(self) -> None:
        self._message = b""
        self._asked: dict[str, asyncio.Future[bool]] = {}  # by the fingerprint of what listeners see

    async def shows(self, message: bytes, sight: limits.Sight, upload: int) -> bool:
        if message is not self._message:  # all listeners get the same object
            self._message, self._asked = message, {}
        if sight.fingerprint not in self._asked:
            self._asked[sight.fingerprint] = asyncio.ensure_future(sight.shows(Upload, upload))
        return await asyncio.shield(self._asked[sight.fingerprint])


_once = _Once()


class IncidentsConsumer(_Forwarding):
    """Send the numbers of the sources whose incidents, or what takes these out of the lists, have changed."""

    route = "ws/incidents/"
    need = Need("viewer")

    def queue(self) -> AbstractAsyncContextManager[Queue]:
        return hub.subscribe("incidents")

    async def shown(self, message: bytes, sight: limits.Sight) -> bytes | None:
        parsed = orjson.loads(message)
        if parsed["type"] != "incidents" or sight.seen.sees_whole(parsed["source"]):
            return message
        seen = sight.seen.namespaces
        of_these = seen.values() if parsed["source"] is None else [seen.get(parsed["source"], frozenset())]
        about = parsed.pop("namespaces", None)  # None for any, which is said by those who do not know better
        return orjson.dumps(parsed) if any(each and (about is None or each & {*about}) for each in of_these) else None


class SourceConsumer(_Forwarding):
    """Send the commits of one source after `cursor`, the last sequence that the browser knows.

    The page of a shared timeline opens it with its link.
    """

    route = "ws/sources/<int:source_id>/"
    need = Need("viewer")

    @property
    def _source(self) -> int:
        return int(self.scope["url_route"]["kwargs"]["source_id"])

    async def admitted(self) -> bool:
        if (text := links.in_address(self.scope)) is None:
            return await super().admitted()
        link = await self.opened(text)
        return link is not None and link.kind != links.INCIDENT and link.source == self._source

    async def shown(self, message: bytes, sight: limits.Sight) -> bytes | None:
        return message  # the feed is one of those who see the same

    def concerned(self, before: limits.Sight, now: limits.Sight) -> bool:
        source = self._source
        roles = [(each.held.on_source(source), each.held.namespaces.get(source)) for each in (before, now)]
        return roles[0] != roles[1] or before.seen.within(source) != now.seen.within(source)

    def queue(self) -> AbstractAsyncContextManager[Queue]:
        asked = parse_qs(self.scope["query_string"].decode(errors="replace")).get("cursor", [""])[0]
        return hub.follow(self._source, whole_number(asked), self._sight.seen)


class LinkConsumer(_Forwarding):
    """Send nothing, and close when the share link is over with which the page was opened."""

    route = "ws/links/"
    need = Need("anybody")

    async def admitted(self) -> bool:
        return await self.opened(links.in_address(self.scope) or "") is not None

    async def note(self) -> None:
        """Record nothing: the page itself was recorded."""

    def queue(self) -> AbstractAsyncContextManager[Queue]:
        return hub.subscribe("links")

    async def shown(self, message: bytes, sight: limits.Sight) -> bytes | None:
        return message
