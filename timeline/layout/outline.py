"""Pure: a settled world as it is drawn: what stands under which root owner, the order of creation, how much when."""

import itertools
from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import msgspec

from timeline.history.lifelines import Key, Name, Track
from timeline.history.world import World
from timeline.kinds import NOISE
from timeline.payloads.measuring import StepsPayload

SLICES = 240  # of a source's histogram
CROWD = 20  # lanes of one owner and kind; more stand as one strip until it is opened
STEPS = 20_000  # changes of a source whose revisions a report holds
GROUP = 24  # bits of a place: under each root there is room for eight million lives


class Creation(NamedTuple):
    """The order of creation. Groups go by the name of their root, as lanes go by names: a re-created owner goes on with
    its group."""

    roots: dict[Key, Track]  # of every track
    numbers: dict[Key, int]  # of every track within its root's group, from 1
    ranks: dict[Key, int]  # of every root among all, from 1

    def root(self, track: Track) -> Track:
        return self.roots[track.key]

    def number(self, track: Track) -> int:
        return self.numbers[track.key]


def creation(world: World) -> Creation:
    roots = {track.key: root(world, track) for track in world.tracks()}
    groups: dict[Key, list[Track]] = {}
    for track in world.tracks():
        groups.setdefault(roots[track.key].key, []).append(track)
    numbers = {}
    for members in groups.values():
        members.sort(key=lambda track: (track.family in NOISE, began(track)))
        numbers.update({track.key: number for number, track in enumerate(members, 1)})
    ordered = sorted({each.key: each for each in roots.values()}.values(), key=began)
    return Creation(roots, numbers, {each.key: rank for rank, each in enumerate(ordered, 1)})


class Strip(NamedTuple):
    """Lanes of one owner and kind that stand as one."""

    place: int
    owner: Track
    lanes: list["Lane"]


class Lane(NamedTuple):
    """The lives of one name under one root owner, in the order in which they began."""

    place: int  # among all lanes of the source, in the order of creation
    strip: int  # the place of its strip, or 0
    tracks: list[Track]


def place(rank: int, number: int = 0) -> int:
    """Of the lane that begins with this number in the group of this rank; without a number, of the group's heading."""
    return (rank << GROUP) + 2 * number + bool(number)


def lanes(world: World, order: Creation) -> tuple[list[Lane], list[Strip]]:
    """All lanes and strips, each in the order of their places."""
    rows: dict[tuple[Key, Name], list[Track]] = {}
    for track in sorted(world.tracks(), key=lambda track: order.numbers[track.key]):
        rows.setdefault((order.roots[track.key].key, track.name), []).append(track)
    crowds: dict[tuple[Key, str, str], list[Lane]] = {}
    found = []
    for (head, _), tracks in rows.items():
        name = tracks[0].name
        lane = Lane(place(order.ranks[head], order.numbers[tracks[0].key]), 0, tracks)
        owner = world.owner_of(tracks[0])
        if owner is None:
            found.append(lane)
        else:
            crowds.setdefault((owner.key, name.group, name.kind), []).append(lane)
    strips = []
    for (key, _, _), members in crowds.items():
        owner = world.track(key)
        if len(members) > CROWD and owner:
            members.sort()
            strip = Strip(members[0].place - 1, owner, [each._replace(strip=members[0].place - 1) for each in members])
            strips.append(strip)
            found += strip.lanes
        else:
            found += members
    return sorted(found, key=_place), sorted(strips, key=_place)


def _place(row: Lane | Strip) -> int:
    return row.place


def census(rows: list[Lane]) -> list[tuple[str, str, int]]:
    """(namespace, family, lanes) of all that there are."""
    counts = Counter((row.tracks[0].ref.namespace, row.tracks[0].family) for row in rows)
    return [(*key, count) for key, count in sorted(counts.items())]


def span(tracks: list[Track]) -> tuple[int, int | None]:
    """From when until when any of them lived, microseconds; None while one does."""
    ends = [track.until for track in tracks]
    return min(track.first.time for track in tracks), None if None in ends else max(end for end in ends if end)


def root(world: World, track: Track) -> Track:
    """The first life of the name that its chain of owners ends at."""
    return world.incarnations(world.root(track).name)[0]


def began(track: Track) -> tuple[int, int, Name, str]:
    """By what lives are put in the order of creation."""
    return track.first.time, track.first.entry.resource_version or 0, *track.key


def lifeline(track: Track, plain: Callable[[Any], Any] = msgspec.to_builtins) -> list[list[Any]]:
    """[[time, revision, change, action, within, facts or null where they stand still], …] in JSON's types; times in
    microseconds. `within` is `Moment.within`; rows that were stored before it was told lack it. `plain` makes JSON's
    types of facts."""
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
    """How many lanes there were, slice by slice of the histogram."""

    reach: list[int]  # the place behind which nothing had begun by the slice's end
    begun: list[int]  # lanes that had begun by then
    living: list[int]  # lanes of which something lived in it
    since: int = 0  # what the slices cover, microseconds; 0 where that is all of the source
    until: int = 0


def tide(world: World, rows: list[Lane]) -> Tide:
    width = max(1, (world.last - world.first) / SLICES)
    highest, begun, ended = [0] * SLICES, [0] * SLICES, [0] * (SLICES + 1)
    for row in rows:
        first, last = span(row.tracks)
        index = max(0, min(SLICES - 1, int((first - world.first) / width)))
        highest[index] = max(highest[index], row.place)
        begun[index] += 1
        if last is not None:
            ended[max(0, min(SLICES, int((last - world.first) / width) + 1))] += 1
    begun = list(itertools.accumulate(begun))
    living = [up - down for up, down in zip(begun, itertools.accumulate(ended), strict=False)]
    return Tide(list(itertools.accumulate(highest, max)), begun, living, world.first, world.last)


def steps(commits: Iterable[tuple[int, int]]) -> StepsPayload:
    """Every time at which the latest revision rose, from (drawn time, revision) of each change."""
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
    """How many changes there were in equal slices of what the source covers; without the noise."""
    width = max(1, (world.last - world.first) / SLICES)
    counts = [0] * SLICES
    for track in world.tracks():
        if track.family not in NOISE:
            for each in track.moments:
                if each.time >= world.first:  # what stood before was not watched
                    counts[min(SLICES - 1, int((each.time - world.first) / width))] += 1
    return counts
