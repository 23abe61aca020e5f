"""Give the lines of a log that name no UID to the object that had the name then. It does no I/O.

A log without bodies has the UID of an object only where an update names it, and not where it was created, patched or
deleted. Nor does it show whether a request for deletion ended the object.
"""

from bisect import bisect_right
from collections.abc import Sequence

from msgspec.structs import replace

from timeline.core.entries import FOREVER, Change, Entry
from timeline.core.steps import bounds, is_bare


def gathered(groups: Sequence[list[Entry]]) -> list[list[Entry]]:
    """Return the entries of one name, in groups by UID, after giving those without one to the object that they are
    surely about: the only one that is known of between two creations of the name.

    A request for deletion after which the object was written or deleted again did not end it.
    """
    bare = next((group for group in groups if not group[0].ref.uid), [])
    births = sorted(bounds(each) for group in groups for each in group if each.change is Change.CREATED)
    begun = [least for least, _ in births]
    owners: dict[int, set[int]] = {}  # by which creation was the last: the groups with entries since
    named = [group for group in groups if group[0].ref.uid] if bare else []
    for number, group in enumerate(named):
        for entry in group:
            owners.setdefault(bisect_right(begun, _known_by(entry)), set()).add(number)
    own = [list(group) for group in named]
    left = [] if named else list(bare)
    for entry in bare if named else ():
        place = bisect_right(begun, entry.received)
        apart = place == len(births) or entry.staged < births[place][0]
        if entry.change is not Change.CREATED:
            apart = apart and (not place or births[place - 1][1] < entry.received)
        of = owners.get(place, set())
        if apart and len(of) == 1 and is_bare(entry):
            (number,) = of
            own[number].append(replace(entry, ref=named[number][0].ref))
        else:
            left.append(entry)
    found = [*([left] if left else []), *own] if bare else list(groups)
    return [_ended_once(group, begun) for group in found]


def _known_by(entry: Entry) -> int:
    """Return a time at which the object of an entry surely existed, or had existed, in µs since 1970."""
    return entry.received if entry.staged == FOREVER else entry.staged


def _ended_once(group: list[Entry], begun: Sequence[int]) -> list[Entry]:
    """Return the entries of a group, in which requests for deletion that did not end the object only ask for that."""
    asked = [each for each in group if is_bare(each) and each.change is Change.DELETED]
    if not asked or len(group) == 1:
        return group
    latest: dict[int, int] = {}  # by which creation was the last: when the latest entry since was received
    for each in group:
        place = bisect_right(begun, each.received)
        latest[place] = max(latest.get(place, 0), each.received)
    again = {id(each) for each in asked if latest[bisect_right(begun, each.received)] > each.staged}
    return [
        replace(each, change=Change.MODIFIED, sets=(("deleting", True),)) if id(each) in again else each
        for each in group
    ]
