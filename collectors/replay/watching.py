"""One watch: what changed since a revision, and what changes, as it is played."""

import asyncio
import contextlib
import time
from collections.abc import Callable, Sequence

from msgspec.structs import replace

from collectors.replay.answers import bookmark, events, expired
from collectors.replay.commits import Commit
from collectors.replay.faults import Fault, Faults
from collectors.replay.history import Key, Log
from collectors.replay.http import Wire
from collectors.replay.player import Player, Reader
from collectors.replay.selectors import Selection

_BATCH = 256  # commits that are sent at once
Write = Callable[[Sequence[Commit]], bytes]


class Watch:
    """What one client asked for. Serve it once."""

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
        """`since`: the revision after which it begins; None for what stands. `initial`: first what stands.

        `seconds`: after which it ends by itself; `every`: seconds between bookmarks.
        """
        self._player, self._faults, self._log = player, faults, log
        self._namespace, self._selection = namespace, selection
        self._since, self._initial = since, initial
        self._bookmarks, self._ends_initial = bookmarks, ends_initial
        self._seconds, self._every = seconds, every
        self._write = write
        self._reader = Reader(log.resource)
        self._sent = 0  # events
        self._matching: set[Key] = set()  # what the client knows, where it selects
        self.place = 0

    async def serve(self, wire: Wire) -> None:
        reader, player = self._reader, self._player
        player.enter(reader)
        try:
            await self._serve(wire)
        finally:
            player.leave(reader)

    async def _serve(self, wire: Wire) -> None:
        reader, log = self._reader, self._log
        ends = time.monotonic() + self._seconds
        told = time.monotonic()
        await self._begin(wire)
        while True:
            reader.wake.clear()
            if self.place < log.dropped:
                history = self._player.history
                await wire.send(expired(self._since or 1, history.oldest(log.resource)).event())
                return await wire.end()
            while commits := log.since(self.place, _BATCH):
                self.place += len(commits)
                if not await self._send(wire, commits):
                    return None
            reader.idle.set()
            now = time.monotonic()
            due = told + self._every() - now
            if self._bookmarks and (due <= 0 or reader.bookmark):
                reader.bookmark, told = False, now
                await wire.send(bookmark(log.resource, self._player.history.revision(log.resource)))
                continue
            if now >= ends:
                return await wire.end()
            if self._faults.awaits(log.resource) and not await self._misbehave(wire, b""):
                return None
            wait = min(ends - now, due) if self._bookmarks else ends - now
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(max(0.0, wait)):
                    await reader.wake.wait()

    async def _begin(self, wire: Wire) -> None:
        log = self._log
        revision = self._player.history.revision(log.resource)
        state = log.state if self._since is None else log.at(self._since)
        self.place = log.end if self._since is None else log.place(self._since)
        if self._selection:
            self._matching = {key for key, commit in state.items() if self._takes(commit)}
        if self._initial:
            standing = [state[key] for key in sorted(state) if self._takes(state[key])]
            for at in range(0, len(standing), _BATCH):
                await wire.send(self._write([replace(each, change="ADDED") for each in standing[at : at + _BATCH]]))
            self._sent += len(standing)
        if self._ends_initial:
            await wire.send(bookmark(log.resource, revision, ends_initial=True))

    def _takes(self, commit: Commit) -> bool:
        return (not self._namespace or commit.namespace == self._namespace) and self._selection.takes(commit)

    def _chosen(self, commits: Sequence[Commit]) -> list[Commit]:
        """Those that the client asked for; what begins to be selected is added to it, what ceases to be is deleted."""
        if self._namespace:
            commits = [commit for commit in commits if commit.namespace == self._namespace]
        if not self._selection:
            return list(commits)
        chosen = []
        for commit in commits:
            known, takes = commit.key in self._matching, self._selection.takes(commit)
            if commit.change == "DELETED" or not takes:
                if known:
                    chosen.append(replace(commit, change="DELETED"))
                self._matching.discard(commit.key)
            else:
                chosen.append(commit if known else replace(commit, change="ADDED"))
                self._matching.add(commit.key)
        return chosen

    async def _send(self, wire: Wire, commits: Sequence[Commit]) -> bool:
        """Whether the watch goes on."""
        chosen = self._chosen(commits)
        if not self._faults.awaits(self._log.resource):
            if chosen:
                await wire.send(self._write(chosen))
            self._sent += len(chosen)
            return True
        for commit in chosen:
            line = self._write([self._faults.spoiled(commit, "watch", self._sent)])
            if not await self._misbehave(wire, line):
                return False
            await wire.send(line)
            self._sent += 1
        return True

    async def _misbehave(self, wire: Wire, line: bytes) -> bool:
        """Whether the watch goes on after what it was told to do wrong before this line, or while it waits."""
        fault = self._faults.strike(self._log.resource, self._sent)
        return fault is None or await self._struck(fault, wire, line)

    async def _struck(self, fault: Fault, wire: Wire, line: bytes) -> bool:
        half = line[: len(line) // 2] or b'{"type":"MODIFIED","object":{"kind":"'
        if fault.kind == "duplicate":
            if line:
                await wire.send(line)
            return True
        if fault.kind == "delay":
            await asyncio.sleep(fault.seconds)
            return True
        if fault.kind == "hang":
            self._player.leave(self._reader)
            await asyncio.Event().wait()
        if fault.kind == "gone-in-stream":
            history = self._player.history
            await wire.send(expired(self._since or 0, history.revision(self._log.resource)).event())
            await wire.end()
            return False
        await wire.send(half)
        if fault.kind == "reset":
            await asyncio.sleep(0.05)  # what was sent before arrives; a reset takes along what has not been read
            wire.reset()
        else:
            await wire.end()
        return False
