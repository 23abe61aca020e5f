"""Summarise a settled world for drawing: lifelines, and the numbers of changes and lanes over time.

The module is pure. Times are microseconds since 1970, UTC.
"""

import itertools
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import msgspec

from timeline.history.lifelines import Track
from timeline.history.world.world import World
from timeline.kinds import NOISE
from timeline.layout.places import Lane
from timeline.payloads.measuring import StepsPayload

SLICES = 240  # the number of equal slices of time in the histogram of a source
ACTORS = 1000  # the most actors that a source lists
STEPS = 20_000  # the most steps of revisions in a report; with more, it has none, and cannot measure by revisions


class Census:
    """Count lanes by namespace and family."""

    def __init__(self) -> None:
        self._counts: Counter[tuple[str, str]] = Counter()

    def add(self, lane: Lane) -> None:
        self._counts[lane.tracks[0].ref.namespace, lane.tracks[0].family] += 1

    def rows(self) -> list[tuple[str, str, int]]:
        """Return (namespace, family, number of lanes), sorted."""
        return [(*key, count) for key, count in sorted(self._counts.items())]


def census(lanes: Iterable[Lane]) -> list[tuple[str, str, int]]:
    """Return the census of these lanes."""
    counted = Census()
    for lane in lanes:
        counted.add(lane)
    return counted.rows()


def span(tracks: list[Track]) -> tuple[int, int | None]:
    """Return when the first of these tracks began and when the last one ended; the end is None while one of the objects
    exists."""
    ends = [track.until for track in tracks]
    return min(track.first.time for track in tracks), None if None in ends else max(end for end in ends if end)


def lifeline(track: Track, plain: Callable[[Any], Any] = msgspec.to_builtins) -> list[list[Any]]:
    """Return a track as a list of [time, revision, change, action, within, writer, facts], one for each moment, for
    JSON.

    The revision is text or None. `within` is `Moment.within`, and `writer` is who made the change, or "". Rows that
    older versions of Causeline stored lack the writer, or both.
    `plain` converts facts to what JSON can hold. Facts are None if what is drawn of them is the same as in the moment
    before.
    """
    rows = []
    held: object = None
    shown: object = None
    drawn = track.kind.drawn
    for each in track.moments:
        revision = each.entry.resource_version
        facts = None
        if each.facts is not held:
            held, before, shown = each.facts, shown, drawn(each.facts)
            if shown != before:
                facts = plain(shown)
        change, action = each.entry.change.value, each.entry.action
        rows.append([each.time, revision and str(revision), change, action, [*each.within], each.entry.writer, facts])
    return rows


def creator(track: Track) -> str:
    """Return who created an object; "" if that was not observed."""
    return track.created.entry.writer if track.created else ""


def other_writers(tracks: Sequence[Track]) -> list[str]:
    """Return the names of those who changed one of these tracks, sorted, without the creator of the first track.

    The name "" stands for changes without a known maker.
    """
    names = frozenset[str]().union(*(track.writers() for track in tracks))
    return sorted(names - {creator(tracks[0]) or None})


def actors(world: World) -> list[tuple[str, int]]:
    """Return who made most changes of a world, with the number of changes, the most first.

    "" stands for changes without a known maker. Noise such as Events does not count.
    """
    counts = Counter(
        moment.entry.writer for track in world.tracks() if track.family not in NOISE for moment in track.moments
    )
    return sorted(counts.items(), key=lambda actor: (-actor[1], actor[0]))[:ACTORS]


class Tide(NamedTuple):
    """How many lanes there were in each slice of time of the histogram, by which queries choose and count the lanes of
    a window quickly."""

    reach: list[int]  # the highest place of the lanes that had begun by the end of the slice
    begun: list[int]  # how many lanes had begun by the end of the slice
    living: list[int]  # how many lanes had an object that existed in the slice
    since: int  # the beginning of the range that the slices cover
    until: int  # the end of that range


class Tides:
    """Count the lanes in each of the `SLICES` slices of time of a world."""

    def __init__(self, world: World) -> None:
        self._first, self._last = world.first, world.last
        self._width = max(1, (world.last - world.first) / SLICES)
        self._highest, self._begun, self._ended = [0] * SLICES, [0] * SLICES, [0] * (SLICES + 1)

    def add(self, lane: Lane) -> None:
        first, last = span(lane.tracks)
        index = max(0, min(SLICES - 1, int((first - self._first) / self._width)))
        self._highest[index] = max(self._highest[index], lane.place)
        self._begun[index] += 1
        if last is not None:
            self._ended[max(0, min(SLICES, int((last - self._first) / self._width) + 1))] += 1

    def tide(self) -> Tide:
        begun = list(itertools.accumulate(self._begun))
        living = [up - down for up, down in zip(begun, itertools.accumulate(self._ended), strict=False)]
        return Tide(list(itertools.accumulate(self._highest, max)), begun, living, self._first, self._last)


def tide(world: World, lanes: Iterable[Lane]) -> Tide:
    """Return the numbers of lanes for each of the `SLICES` slices of time of a world."""
    counted = Tides(world)
    for lane in lanes:
        counted.add(lane)
    return counted.tide()


def steps(commits: Iterable[tuple[int, int]]) -> StepsPayload:
    """Return the times at which the latest revision increased, and to which revision.

    `commits` are (drawn time, revision) of each change, in any order.
    """
    times: list[int] = []
    revisions: list[str] = []
    latest = 0
    for time, revision in sorted(commits):
        if revision <= latest:
            continue
        latest = revision
        if times and times[-1] == time:
            revisions[-1] = str(revision)
        else:
            times.append(time)
            revisions.append(str(revision))
    return {"time": times, "resource_version": revisions}


def histogram(world: World, between: tuple[int, int] | None = None) -> list[int]:
    """Return the number of changes in each of `SLICES` slices of time, of all of a world or between two times.

    Noise such as Events does not count.
    """
    return together(histograms(world, between).values())


def histograms(world: World, between: tuple[int, int] | None = None) -> dict[str, list[int]]:
    """Return what `histogram` returns for each namespace that has objects, "" for the cluster."""
    first, last = between or (world.first, world.last)
    width = max(1, (last - first) / SLICES)
    counts: dict[str, list[int]] = {}
    for track in world.tracks():
        of_namespace = counts.setdefault(track.ref.namespace, [0] * SLICES)
        if track.family not in NOISE:
            for each in track.moments:
                if first <= each.time <= last:  # changes before the world begins are known only from a list
                    of_namespace[min(SLICES - 1, int((each.time - first) / width))] += 1
    return counts


def together(counts: Iterable[list[int]]) -> list[int]:
    """Add up histograms."""
    return [sum(slices) for slices in zip(*counts, strict=True)] or [0] * SLICES
