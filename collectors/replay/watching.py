"""Serve one watch: the changes since a resourceVersion, and those that follow while the tape is played."""

import asyncio
import contextlib
import time
from collections.abc import Callable, Sequence

from msgspec.structs import replace

from collectors.replay.answers import bookmark, events, expired
from collectors.replay.commits import Commit
from collectors.replay.faults import Fault, Faults
from collectors.replay.history import Key, Log
from collectors.replay.http import ResponseStream
from collectors.replay.player import Player, Reader
from collectors.replay.selectors import Selection

_BATCH = 256  # commits that are sent at once
Write = Callable[[Sequence[Commit]], bytes]


class Watch:
    """Serve the watch of one client, once."""

    def __init__(
        self,
        player: Player,
        faults: Faults,
        log: Log,
        *,
        namespace: str,
        selection: Selection,
        since: int | None,
        initial: bool,
        bookmarks: bool,
        ends_initial: bool,
        seconds: float,
        every: Callable[[], float],
        write: Write = events,
    ) -> None:
        """Prepare the watch.

        `since` is the resourceVersion after which it begins; None: with the current objects. `initial` sends these
        objects first. `seconds` are how long it lasts; `every` gives the seconds between bookmarks.
        """
        self._player, self._faults, self._log = player, faults, log
        self._namespace, self._selection = namespace, selection
        self._since, self._initial = since, initial
        self._bookmarks, self._ends_initial = bookmarks, ends_initial
        self._seconds, self._every = seconds, every
        self._write = write
        self._reader = Reader(log.resource)
        self._sent = 0  # number of events
        self._known_keys: set[Key] = set()  # objects that the client knows, if it uses selectors
        self.position = 0

    async def serve(self, response: ResponseStream) -> None:
        """Send the watch to its end."""
        reader, player = self._reader, self._player
        player.enter(reader)
        try:
            await self._serve(response)
        finally:
            player.leave(reader)

    async def _serve(self, response: ResponseStream) -> None:
        reader, log = self._reader, self._log
        ends = time.monotonic() + self._seconds
        last_bookmark = time.monotonic()
        await self._begin(response)
        while True:
            reader.wake.clear()
            if self.position < log.dropped:
                history = self._player.history
                await response.send(expired(self._since or 1, history.oldest(log.resource)).event())
                return await response.end()
            while commits := log.since(self.position, _BATCH):
                self.position += len(commits)
                if not await self._send(response, commits):
                    return None
            reader.idle.set()
            now = time.monotonic()
            due = last_bookmark + self._every() - now
            if self._bookmarks and (due <= 0 or reader.bookmark):
                reader.bookmark, last_bookmark = False, now
                await response.send(bookmark(log.resource, self._player.history.revision(log.resource)))
                continue
            if now >= ends:
                return await response.end()
            if self._faults.may_affect(log.resource) and not await self._misbehave(response, b""):
                return None
            wait = min(ends - now, due) if self._bookmarks else ends - now
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(max(0.0, wait)):
                    await reader.wake.wait()

    async def _begin(self, response: ResponseStream) -> None:
        """Find the position, and send the initial events if they are requested."""
        log = self._log
        revision = self._player.history.revision(log.resource)
        state = log.state if self._since is None else log.at(self._since)
        self.position = log.end if self._since is None else log.position(self._since)
        if self._selection:
            self._known_keys = {key for key, commit in state.items() if self._selects(commit)}
        if self._initial:
            existing = [state[key] for key in sorted(state) if self._selects(state[key])]
            for at in range(0, len(existing), _BATCH):
                await response.send(self._write([replace(each, change="ADDED") for each in existing[at : at + _BATCH]]))
            self._sent += len(existing)
        if self._ends_initial:
            await response.send(bookmark(log.resource, revision, ends_initial=True))

    def _selects(self, commit: Commit) -> bool:
        return (not self._namespace or commit.namespace == self._namespace) and self._selection.selects(commit)

    def _selected(self, commits: Sequence[Commit]) -> list[Commit]:
        """Return the commits that the client's selection includes.

        An object that begins to match is sent as ADDED, and one that ceases to match as DELETED, as an API server does.
        """
        if self._namespace:
            commits = [commit for commit in commits if commit.namespace == self._namespace]
        if not self._selection:
            return list(commits)
        selected = []
        for commit in commits:
            known, selects = commit.key in self._known_keys, self._selection.selects(commit)
            if commit.change == "DELETED" or not selects:
                if known:
                    selected.append(replace(commit, change="DELETED"))
                self._known_keys.discard(commit.key)
            else:
                selected.append(commit if known else replace(commit, change="ADDED"))
                self._known_keys.add(commit.key)
        return selected

    async def _send(self, response: ResponseStream, commits: Sequence[Commit]) -> bool:
        """Send commits with the faults that apply; return whether the watch continues."""
        selected = self._selected(commits)
        if not self._faults.may_affect(self._log.resource):
            if selected:
                await response.send(self._write(selected))
            self._sent += len(selected)
            return True
        for commit in selected:
            line = self._write([self._faults.damaged(commit, "watch", self._sent)])
            if not await self._misbehave(response, line):
                return False
            await response.send(line)
            self._sent += 1
        return True

    async def _misbehave(self, response: ResponseStream, line: bytes) -> bool:
        """Apply the fault before this line, or while the watch waits; return whether the watch continues."""
        fault = self._faults.take_in_stream(self._log.resource, self._sent)
        return fault is None or await self._apply_fault(fault, response, line)

    async def _apply_fault(self, fault: Fault, response: ResponseStream, line: bytes) -> bool:
        half_line = line[: len(line) // 2] or b'{"type":"MODIFIED","object":{"kind":"'
        if fault.kind == "duplicate":
            if line:
                await response.send(line)
            return True
        if fault.kind == "delay":
            await asyncio.sleep(fault.seconds)
            return True
        if fault.kind == "hang":
            self._player.leave(self._reader)
            await asyncio.Event().wait()
        if fault.kind == "gone-in-stream":
            history = self._player.history
            await response.send(expired(self._since or 0, history.revision(self._log.resource)).event())
            await response.end()
            return False
        await response.send(half_line)
        if fault.kind == "reset":
            await asyncio.sleep(0.05)  # let what was sent before arrive, since a reset discards unread data
            response.reset()
        else:
            await response.end()
        return False
