"""This module plays a tape: it adds commits to the history when their time has come, and wakes the watches."""

import asyncio
import contextlib
from bisect import bisect_right
from collections.abc import Sequence

from collectors.replay.clock import MAX, Clock
from collectors.replay.commits import Tape
from collectors.replay.history import History
from collectors.replay.loop import Loop, schedule_of
from collectors.replay.resources import Resource

_BATCH = 256  # commits that are played at once where only the reader sets the pace
_SLOW_READER_SECONDS = 1.0  # seconds for which one slow reader holds back what others read


class Reader:
    """One open watch, as the player knows it."""

    def __init__(self, resource: Resource) -> None:
        self.resource = resource
        self.wake = asyncio.Event()  # there is something to send
        self.idle = asyncio.Event()  # all that was played is sent
        self.bookmark = False  # it is to be told the latest revision
        self.slow = False  # it does not take what it is sent


class Player:
    """The position in a tape, and how fast it moves."""

    def __init__(
        self, tape: Tape, *, speed: float, playing: bool, at: int | None = None, now: int | None = None
    ) -> None:
        """`at`: the state as of which it begins. `now`: it is played in a loop, as if it began then. Microseconds."""
        self.tape = tape
        self.lap = 0
        self._loop = None if now is None else Loop(tape)
        self._schedule = schedule_of(tape) if now is None or not self._loop else self._loop.lap(0, now)
        self.history = History(tape if now is None else tape._replace(existing=[], commits=[]))
        self._lap_began = dict(self.history.revisions)
        self.clock = Clock(now or at or tape.begins, speed)
        self.playing = playing
        self.readers: set[Reader] = set()
        self.position = 0  # of the next commit
        self._changed = asyncio.Event()
        if at is not None and now is None:
            self._play_until(bisect_right(self.times, at))

    @property
    def times(self) -> Sequence[int]:
        return self._schedule.times

    @property
    def ended(self) -> bool:
        return self.position == len(self.times)

    def configure(self, *, playing: bool | None = None, speed: float | None = None) -> None:
        if playing is not None:
            self.playing = playing
        self.clock.set(speed=speed)
        self._changed.set()

    def step(self, commits: int) -> None:
        """Play so many at once, whatever the time."""
        self._play_until(min(self.position + commits, len(self.times)))
        if self.position:
            self.clock.at(self.times[self.position - 1])
        if self.ended:
            self.send_bookmarks()
        self._changed.set()

    def revisions_at(self, position: int) -> dict[str, int]:
        """The latest of each space after so many commits. Raises ValueError where that cannot be gone back to."""
        if self._loop or position < 0 or position > self.position:
            raise ValueError(f"only what was played can be gone back to, {self.position} changes, and no loop")
        revisions = History(self.tape).revisions
        for commit in self.tape.commits[:position]:
            revisions[self.tape.spaces[commit.resource]] = commit.revision
        if any(revisions[space] < oldest for space, oldest in self.history.compacted.items()):
            raise ValueError("what was compacted cannot be gone back to")
        return revisions

    def go_back(self, position: int) -> None:
        """To what had been after so many commits; their revisions will be used again. Raises ValueError."""
        self.history.restore(self.revisions_at(position))
        position = self.position = self._schedule.whole(position)
        self.clock.at(self.times[position - 1] if position else self.tape.begins)
        self._changed.set()

    def send_bookmarks(self) -> None:
        """Every watch gets a bookmark, now."""
        for reader in self.readers:
            reader.bookmark = True
            reader.wake.set()

    async def run(self) -> None:
        """Until it is cancelled."""
        while True:
            self._changed.clear()
            if self.ended and self._loop:
                self._start_next_lap(self._loop)
            waits_for_reader = self.clock.speed == MAX and not self.readers
            self.clock.set(running=self.playing and not waits_for_reader, free=self.ended and self.playing)
            if not self.playing or waits_for_reader or self.ended:
                await self._changed.wait()
                continue
            if self.clock.speed == MAX:
                until = self.position + _BATCH
                self.clock.at(self.times[min(until, len(self.times)) - 1])
            else:
                until = bisect_right(self.times, self.clock.now())
                if until <= self.position:
                    await self._pause(self.clock.until(self.times[self.position]))
                    continue
            readers = self._play_until(min(until, len(self.times)))
            if self.ended:
                self.send_bookmarks()
            if self.clock.speed == MAX:
                await self._wait_for_readers(readers)
            await asyncio.sleep(0)

    def enter(self, reader: Reader) -> None:
        self.readers.add(reader)
        self._changed.set()

    def leave(self, reader: Reader) -> None:
        self.readers.discard(reader)
        reader.idle.set()

    def _play_until(self, until: int) -> list[Reader]:
        """The readers that have something new to send."""
        until = self._schedule.whole(until)
        touched = self.history.add(self._schedule.take(self.position, until))
        self.position = until
        readers = [reader for reader in self.readers if reader.resource in touched]
        for reader in readers:
            reader.idle.clear()
            reader.wake.set()
        return readers

    def _start_next_lap(self, loop: Loop) -> None:
        """Begin the next lap; what was before the one that is over need not be known any more."""
        self.lap += 1
        self._schedule, self.position = loop.lap(self.lap, self.clock.now()), 0
        self.history.compact(self._lap_began)
        self._lap_began = dict(self.history.revisions)

    async def _wait_for_readers(self, readers: list[Reader]) -> None:
        """Wait until the readers have what was played; one that takes nothing is waited for but once."""
        for reader in readers:
            if reader.slow and not reader.idle.is_set():
                continue
            try:
                async with asyncio.timeout(_SLOW_READER_SECONDS):
                    await reader.idle.wait()
                reader.slow = False
            except TimeoutError:
                reader.slow = True

    async def _pause(self, seconds: float) -> None:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._changed.wait()
