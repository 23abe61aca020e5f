"""Bound the times of observations by the clock of this machine. It does no I/O.

Nothing is observed before it happens. What states a later time than the present has a clock that is wrong, or was
forged, so its time says nothing. It is kept with a mark, `misdated`, and placed between bounds that are surely right.
So it moves no clock: not the end of its source, not what is remembered, not the order of other changes.
"""

from collections.abc import Iterable, Iterator
from typing import NamedTuple, TypeVar

from msgspec.structs import replace

from timeline.core.entries import FOREVER, Entry, LogLine, Mark, Observation, Request, Unknown

T = TypeVar("T", bound=Observation)
AHEAD = 300_000_000  # µs by which the clocks of a recording may be ahead of this machine's
_HELD = 10_000  # observations of a recording that lie in the future and are held back at most


class Present(NamedTuple):
    """The present, in microseconds since 1970."""

    now: int
    latest: int  # the latest time that an observation may have, as clocks differ a little
    since: int  # a time that was surely before everything that is observed now

    def dated(self, each: T) -> T:
        """Return an observation with times that may be true."""
        if not self.is_ahead(each):
            return each
        if isinstance(each, Mark):
            time = min(each.time, self.now)
            return replace(each, time=time, since=min(each.since, time))
        if isinstance(each, LogLine):
            return replace(each, time=self.since, misdated=each.time)
        staged = each.staged if each.staged == FOREVER else min(each.staged, self.now)
        arrived = min(each.arrived, self.now) if isinstance(each, Entry) else 0
        if each.received <= self.latest:
            received, misdated = min(each.received, staged), each.misdated
        else:
            received, misdated = min(self.since, staged, arrived or staged), each.received
        if isinstance(each, Request):
            return replace(each, received=received, staged=staged, misdated=misdated)
        return replace(each, received=received, staged=staged, arrived=arrived, misdated=misdated)

    def is_ahead(self, each: Observation) -> bool:
        """Return whether an observation states a time that lies in the future."""
        latest = self.latest
        if isinstance(each, Entry):
            return each.received > latest or each.arrived > latest or latest < each.staged != FOREVER
        if isinstance(each, Request):
            return each.received > latest or latest < each.staged != FOREVER
        return each.time > latest


def of_recording(observed: Iterable[Observation], latest: int) -> Iterator[Observation]:
    """Yield what a recording shows, with times that may be true: what lies in the future comes last, and is placed
    within the time of the rest. `latest` is the latest time that an observation may have, in microseconds since 1970.

    If there is more of it than of the rest, then the clock of the recording differs as a whole, and nothing is changed.
    """
    present = Present(0, latest, 0)
    held: list[Observation] = []
    first = last = rest = 0
    observations = iter(observed)
    for each in observations:
        if present.is_ahead(each):
            held.append(each)
            if len(held) > max(_HELD, rest):
                yield from held
                yield from observations
                return
            continue
        if not isinstance(each, LogLine) or each.unknown is Unknown.NOTHING:
            time = each.received if isinstance(each, Entry | Request) else each.time
            first, last = min(first or time, time), max(last, time)
        rest += 1
        yield each
    if len(held) <= rest:
        present = Present(last, latest, first)
        held = [present.dated(each) for each in held]
    for each in held:  # nothing bounds the time of a change from above
        yield replace(each, staged=FOREVER) if isinstance(each, Entry) and each.misdated else each
