"""Play a tape: add commits to the history when their time has come, and wake the watches."""

import asyncio
import contextlib
from bisect import bisect_right
from collections.abc import Sequence

from collectors.replay.clock import MAX, Clock
from collectors.replay.commits import Tape
from collectors.replay.history import History
from collectors.replay.loop import Loop, schedule_of
from collectors.replay.resources import Resource

_BATCH = 256  # commits that are played at once at the speed MAX
_SLOW_READER_SECONDS = 1.0  # seconds for which one slow reader delays the others


class Reader:
    """One open watch from the player's point of view."""

    def __init__(self, resource: Resource) -> None:
        self.resource = resource
        self.wake = asyncio.Event()  # set when there is something to send
        self.idle = asyncio.Event()  # set when everything that was played is sent
        self.bookmark = False  # whether a bookmark shall be sent to it
        self.slow = False  # whether it did not keep up the last time


class Player:
    """Hold the position in a tape, and move it."""

    def __init__(
        self, tape: Tape, *, speed: float, playing: bool, at: int | None = None, now: int | None = None
    ) -> None:
        """Begin with the state at the time `at`, or play in a loop as if the recording began at `now`; both in µs."""
        self.tape = tape
        self.lap = 0
        self._loop = None if now is None else Loop(tape)
        self._schedule = schedule_of(tape) if now is None or not self._loop else self._loop.lap(0, now)
        self.history = History(tape if now is None else tape._replace(existing=[], commits=[]))
        self._lap_began = dict(self.history.revisions)
        self.clock = Clock(now or at or tape.begins, speed)
        self.playing = playing
        self.readers: set[Reader] = set()
        self.position = 0  # the position of the next commit
        self._changed = asyncio.Event()
        if at is not None and now is None:
            self._play_until(bisect_right(self.times, at))

    @property
    def times(self) -> Sequence[int]:
        """Return the times of the commits of this lap, in µs."""
        return self._schedule.times

    @property
    def ended(self) -> bool:
        """Return whether all commits of this lap were played."""
        return self.position == len(self.times)

    def configure(self, *, playing: bool | None = None, speed: float | None = None) -> None:
        """Start or stop playing, and change the speed; None keeps a setting."""
        if playing is not None:
            self.playing = playing
        self.clock.set(speed=speed)
        self._changed.set()

    def step(self, commits: int) -> None:
        """Play so many commits immediately."""
        self._play_until(min(self.position + commits, len(self.times)))
        if self.position:
            self.clock.at(self.times[self.position - 1])
        if self.ended:
            self.send_bookmarks()
        self._changed.set()

    def revisions_at(self, position: int) -> dict[str, int]:
        """Return the latest resourceVersion of each space after so many commits.

        Raise ValueError if the replay cannot return to that state.
        """
        if self._loop or position < 0 or position > self.position:
            raise ValueError(
                f"a replay can only return to one of the {self.position} commits that were played, and not in a loop"
            )
        revisions = History(self.tape).revisions
        for commit in self.tape.commits[:position]:
            revisions[self.tape.spaces[commit.resource]] = commit.revision
        if any(revisions[space] < oldest for space, oldest in self.history.compacted.items()):
            raise ValueError("a replay cannot return to a state that was compacted")
        return revisions

    def go_back(self, position: int) -> None:
        """Return to the state after so many commits; their resourceVersions will be used again. Raise ValueError."""
        self.history.restore(self.revisions_at(position))
        position = self.position = self._schedule.whole(position)
        self.clock.at(self.times[position - 1] if position else self.tape.begins)
        self._changed.set()

    def send_bookmarks(self) -> None:
        """Let every watch send a bookmark now."""
        for reader in self.readers:
            reader.bookmark = True
            reader.wake.set()

    async def run(self) -> None:
        """Play until the task is cancelled."""
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
        """Add a reader."""
        self.readers.add(reader)
        self._changed.set()

    def leave(self, reader: Reader) -> None:
        """Remove a reader."""
        self.readers.discard(reader)
        reader.idle.set()

    def _play_until(self, until: int) -> list[Reader]:
        """Play up to a position, and return the readers that have something new to send."""
        until = self._schedule.whole(until)
        touched = self.history.add(self._schedule.take(self.position, until))
        self.position = until
        readers = [reader for reader in self.readers if reader.resource in touched]
        for reader in readers:
            reader.idle.clear()
            reader.wake.set()
        return readers

    def _start_next_lap(self, loop: Loop) -> None:
        """Begin the next lap, and forget what was before the lap that has ended."""
        self.lap += 1
        self._schedule, self.position = loop.lap(self.lap, self.clock.now()), 0
        self.history.compact(self._lap_began)
        self._lap_began = dict(self.history.revisions)

    async def _wait_for_readers(self, readers: list[Reader]) -> None:
        """Wait until the readers have sent what was played; wait only once for a reader that does not keep up."""
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
        """Wait so many seconds, or until something changes."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._changed.wait()
