"""Pure: a settled world as it is drawn: what stands under which root owner, the order of creation, how much when."""

from typing import Any, NamedTuple

import msgspec

from timeline.kinds import NOISE
from timeline.lifelines import Key, Name, Track
from timeline.world import World

SLICES = 240  # of a source's histogram


class Creation(NamedTuple):
    """The order of creation. Groups go by the name of their root, as lanes go by names: a re-created owner goes on with
    its group."""

    roots: dict[Key, Track]  # of every track
    numbers: dict[Key, int]  # of every track within its root's group, from 1
    ranks: dict[Key, int]  # of every root among all, from 1


def creation(world: World) -> Creation:
    roots = {track.key: world.incarnations(world.root(track).name)[0] for track in world.tracks()}
    groups: dict[Key, list[Track]] = {}
    for track in world.tracks():
        groups.setdefault(roots[track.key].key, []).append(track)
    numbers = {}
    for members in groups.values():
        members.sort(key=lambda track: (track.family in NOISE, _began(track)))
        numbers.update({track.key: number for number, track in enumerate(members, 1)})
    ordered = sorted({root.key: root for root in roots.values()}.values(), key=_began)
    return Creation(roots, numbers, {root.key: rank for rank, root in enumerate(ordered, 1)})


def _began(track: Track) -> tuple[int, int, Name, str]:
    return track.first.time, track.first.stamp.resource_version or 0, *track.key


def lifeline(track: Track) -> list[list[Any]]:
    """[[time, revision, change, action, facts or null where they stand still], …] in JSON's types; times in
    microseconds."""
    rows = []
    held: object = None
    for each in track.moments:
        revision = each.stamp.resource_version
        facts = None if each.facts is held else msgspec.to_builtins(each.facts)
        rows.append([each.time, revision and str(revision), each.change.value, each.action, facts])
        held = each.facts
    return rows


def histogram(world: World) -> list[int]:
    """How many changes there were in equal slices of what the source covers; without the noise."""
    width = max(1, (world.last - world.first) / SLICES)
    counts = [0] * SLICES
    for track in world.tracks():
        if track.family not in NOISE:
            for each in track.moments:
                counts[min(SLICES - 1, int((each.time - world.first) / width))] += 1
    return counts
