"""Pure: children that an owner created, whether anything uses them, and how quickly they came."""

import re

from timeline.history.lifelines import Track
from timeline.history.world import World

# What generateName appends, and other words made up of letters and digits
_RANDOM = re.compile(r"[bcdfghjklmnpqrstvwxz2456789]{5,}|(?=.*[a-z])(?=.*[0-9])[0-9a-z]{4,}")


def is_used(child: Track, owner: Track, world: World) -> bool:
    """Return whether the owner or a Pod ever named the child."""
    return any(each is owner or each.ref.kind == "Pod" for each in world.referrers(child.name))


def was_kept(child: Track, owner: Track, within: int) -> bool:
    """Return whether neither the child nor its owner was asked to end within a time after the child's creation, in
    microseconds."""
    asked = [end for end in (child.asked_to_end, owner.asked_to_end) if end is not None]
    return not asked or min(asked) > child.first.time + within


def came_quickly(children: list[Track], count: int, within: int) -> bool:
    """Return whether so many of the children, which are in order of creation, came within a time in microseconds."""
    pairs = zip(children, children[count - 1 :], strict=False)
    return any(last.first.time - first.first.time <= within for first, last in pairs)


def named_at_random(names: list[str]) -> bool:
    """Return whether each name was made up. A name that says what its object is for is used only once."""
    parts = zip(*(name.split("-") for name in names), strict=False)
    return any(sum(_RANDOM.fullmatch(part) is not None for part in set(each)) >= 0.8 * len(names) for each in parts)
