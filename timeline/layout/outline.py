"""This module sums up a settled world for drawing: lifelines, and numbers of changes and lanes over time.

This module is pure. Times are microseconds since 1970, UTC.
"""

import itertools
from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import msgspec

from timeline.history.lifelines import Track
from timeline.history.world import World
from timeline.kinds import NOISE
from timeline.layout.places import Lane
from timeline.payloads.measuring import StepsPayload

SLICES = 240  # of a source's histogram
STEPS = 20_000  # changes; a report of more holds no revisions, and cannot measure by them


def census(lanes: list[Lane]) -> list[tuple[str, str, int]]:
    """Count the lanes of each namespace and family; return (namespace, family, lanes), sorted."""
    counts = Counter((lane.tracks[0].ref.namespace, lane.tracks[0].family) for lane in lanes)
    return [(*key, count) for key, count in sorted(counts.items())]


def span(tracks: list[Track]) -> tuple[int, int | None]:
    """Return when the first of some lives began and when the last one ended; None while one of them lasts."""
    ends = [track.until for track in tracks]
    return min(track.first.time for track in tracks), None if None in ends else max(end for end in ends if end)


def lifeline(track: Track, plain: Callable[[Any], Any] = msgspec.to_builtins) -> list[list[Any]]:
    """Return a life as a list of [time, revision, change, action, within, facts], one for each moment.

    All are of JSON's types, which `plain` makes of facts. The revision is text or null. `within` is `Moment.within`;
    rows that older versions stored lack it. Facts are null where they are those of the moment before.
    """
    rows = []
    held: object = None
    for each in track.moments:
        revision = each.entry.resource_version
        facts = None if each.facts is held else plain(each.facts)
        change, action = each.entry.change.value, each.entry.action
        rows.append([each.time, revision and str(revision), change, action, [*each.within], facts])
        held = each.facts
    return rows


class Tide(NamedTuple):
    """How many lanes there were in each slice of the histogram, so that a window finds its lanes without a search."""

    reach: list[int]  # the highest place of the lanes that had begun by the slice's end
    begun: list[int]  # lanes that had begun by then
    living: list[int]  # lanes of which something lived in the slice
    since: int = 0  # the range that the slices cover, microseconds; 0 in rows of older versions: the whole source
    until: int = 0


def tide(world: World, lanes: list[Lane]) -> Tide:
    """Count the lanes slice by slice."""
    width = max(1, (world.last - world.first) / SLICES)
    highest, begun, ended = [0] * SLICES, [0] * SLICES, [0] * (SLICES + 1)
    for lane in lanes:
        first, last = span(lane.tracks)
        index = max(0, min(SLICES - 1, int((first - world.first) / width)))
        highest[index] = max(highest[index], lane.place)
        begun[index] += 1
        if last is not None:
            ended[max(0, min(SLICES, int((last - world.first) / width) + 1))] += 1
    begun = list(itertools.accumulate(begun))
    living = [up - down for up, down in zip(begun, itertools.accumulate(ended), strict=False)]
    return Tide(list(itertools.accumulate(highest, max)), begun, living, world.first, world.last)


def steps(commits: Iterable[tuple[int, int]]) -> StepsPayload:
    """Return every time at which the latest revision rose, from the (drawn time, revision) of each change."""
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


def histogram(world: World) -> list[int]:
    """Count the changes in equal slices of the range that the source covers. Noise such as Events is left out."""
    width = max(1, (world.last - world.first) / SLICES)
    counts = [0] * SLICES
    for track in world.tracks():
        if track.family not in NOISE:
            for each in track.moments:
                if each.time >= world.first:  # earlier changes are known only from a list
                    counts[min(SLICES - 1, int((each.time - world.first) / width))] += 1
    return counts
