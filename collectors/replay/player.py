"""Plays a tape: adds its commits to the history when their time has come, and wakes the watches that wait for them."""

import asyncio
import contextlib
from bisect import bisect_right
from collections.abc import Sequence

from collectors.replay.clock import MAX, Clock
from collectors.replay.commits import Tape
from collectors.replay.history import History
from collectors.replay.loop import Laps, reel
from collectors.replay.resources import Resource

_STEP = 256  # commits that are played at once where only the reader sets the pace
_PATIENCE = 1.0  # seconds for which one slow reader holds back what others read


class Reader:
    """One open watch, as the player knows it."""

    def __init__(self, resource: Resource) -> None:
        self.resource = resource
        self.wake = asyncio.Event()  # there is something to send
        self.idle = asyncio.Event()  # all that was played is sent
        self.bookmark = False  # it is to be told the latest revision
        self.late = False  # it does not take what it is sent


class Player:
    """The position in a tape, and how fast it moves."""

    def __init__(
        self, tape: Tape, *, speed: float, playing: bool, at: int | None = None, now: int | None = None
    ) -> None:
        """`at`: the state as of which it begins. `now`: it is played in a loop, as if it began then. Microseconds."""
        self.tape = tape
        self.lap = 0
        self._laps = None if now is None else Laps(tape)
        self._reel = reel(tape) if now is None or not self._laps else self._laps.lap(0, now)
        self.history = History(tape if now is None else tape._replace(standing=[], commits=[]))
        self._lap_began = dict(self.history.revisions)
        self.clock = Clock(now or at or tape.begins, speed)
        self.playing = playing
        self.readers: set[Reader] = set()
        self.place = 0  # of the next commit
        self._steered = asyncio.Event()
        if at is not None and now is None:
            self._play(bisect_right(self.times, at))

    @property
    def times(self) -> Sequence[int]:
        return self._reel.times

    @property
    def ended(self) -> bool:
        return self.place == len(self.times)

    def steer(self, *, playing: bool | None = None, speed: float | None = None) -> None:
        if playing is not None:
            self.playing = playing
        self.clock.set(speed=speed)
        self._steered.set()

    def step(self, commits: int) -> None:
        """Play so many at once, whatever the time."""
        self._play(min(self.place + commits, len(self.times)))
        if self.place:
            self.clock.at(self.times[self.place - 1])
        if self.ended:
            self.told()
        self._steered.set()

    def revisions_at(self, place: int) -> dict[str, int]:
        """The latest of each space after so many commits. Raises ValueError where that cannot be gone back to."""
        if self._laps or place < 0 or place > self.place:
            raise ValueError(f"only what was played can be gone back to, {self.place} changes, and no loop")
        revisions = History(self.tape).revisions
        for commit in self.tape.commits[:place]:
            revisions[self.tape.spaces[commit.resource]] = commit.revision
        if any(revisions[space] < oldest for space, oldest in self.history.compacted.items()):
            raise ValueError("what was compacted cannot be gone back to")
        return revisions

    def go_back(self, place: int) -> None:
        """To what had been after so many commits; their revisions will be used again. Raises ValueError."""
        self.history.restore(self.revisions_at(place))
        place = self.place = self._reel.whole(place)
        self.clock.at(self.times[place - 1] if place else self.tape.begins)
        self._steered.set()

    def told(self) -> None:
        """Every watch gets a bookmark, now."""
        for reader in self.readers:
            reader.bookmark = True
            reader.wake.set()

    async def run(self) -> None:
        """Until it is cancelled."""
        while True:
            self._steered.clear()
            if self.ended and self._laps:
                self._turn(self._laps)
            awaited = self.clock.speed == MAX and not self.readers
            self.clock.set(running=self.playing and not awaited, free=self.ended and self.playing)
            if not self.playing or awaited or self.ended:
                await self._steered.wait()
                continue
            if self.clock.speed == MAX:
                until = self.place + _STEP
                self.clock.at(self.times[min(until, len(self.times)) - 1])
            else:
                until = bisect_right(self.times, self.clock.now())
                if until <= self.place:
                    await self._pause(self.clock.until(self.times[self.place]))
                    continue
            readers = self._play(min(until, len(self.times)))
            if self.ended:
                self.told()
            if self.clock.speed == MAX:
                await self._taken(readers)
            await asyncio.sleep(0)

    def enter(self, reader: Reader) -> None:
        self.readers.add(reader)
        self._steered.set()

    def leave(self, reader: Reader) -> None:
        self.readers.discard(reader)
        reader.idle.set()

    def _play(self, until: int) -> list[Reader]:
        """The readers that have something new to send."""
        until = self._reel.whole(until)
        touched = self.history.add(self._reel.take(self.place, until))
        self.place = until
        woken = [reader for reader in self.readers if reader.resource in touched]
        for reader in woken:
            reader.idle.clear()
            reader.wake.set()
        return woken

    def _turn(self, laps: Laps) -> None:
        """Begin the next lap; what was before the one that is over need not be known any more."""
        self.lap += 1
        self._reel, self.place = laps.lap(self.lap, self.clock.now()), 0
        self.history.compact(self._lap_began)
        self._lap_began = dict(self.history.revisions)

    async def _taken(self, readers: list[Reader]) -> None:
        """Wait until the readers have what was played; one that takes nothing is waited for but once."""
        for reader in readers:
            if reader.late and not reader.idle.is_set():
                continue
            try:
                async with asyncio.timeout(_PATIENCE):
                    await reader.idle.wait()
                reader.late = False
            except TimeoutError:
                reader.late = True

    async def _pause(self, seconds: float) -> None:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._steered.wait()
