"""Find the children that an owner created, whether anything uses them, and how fast they were created. It does no
I/O."""

import re
from collections import defaultdict
from collections.abc import Iterable

from timeline.history.lifelines import Track
from timeline.history.world.world import World
from timeline.judging.verdicts import between

_NEVER_UNWANTED = {"Event", "Lease", "ControllerRevision", "EndpointSlice", "Endpoints"}

# Matches the suffix that generateName appends, and other random words of letters and digits.
_RANDOM = re.compile(r"[bcdfghjklmnpqrstvwxz2456789]{5,}|(?=.*[a-z])(?=.*[0-9])[0-9a-z]{4,}")


def requested_children(owner: Track) -> int | None:
    """Return the greatest number of children that the spec of an owner ever requested; None if its fields do not show
    that."""
    asked = max(getattr(moment.facts, "asks", getattr(moment.facts, "replicas", -1)) for moment in owner.moments)
    if asked < 0 or any(getattr(moment.facts, "many_names", False) for moment in owner.moments):
        return None
    return int(asked)


def unnamed_children(owner: Track, world: World) -> Iterable[list[Track]]:
    """Return the children that no revision of their owner names, as one list for each kind, in order of creation."""
    named = {name for moment in owner.moments for name in getattr(moment.facts, "names", ())}
    kinds: dict[tuple[str, str], list[Track]] = defaultdict(list)
    for child in world.children(owner):
        if child.created and child.ref.kind not in _NEVER_UNWANTED and child.ref.name not in named:
            kinds[child.ref.group, child.ref.kind].append(child)
    return kinds.values()


def by_generation(owner: Track, children: Iterable[Track]) -> Iterable[list[Track]]:
    """Return the children as one list for each `metadata.generation` of their owner under which they were created."""
    generations: dict[int, list[Track]] = defaultdict(list)
    for each in children:
        if facts := owner.facts_at(each.first.time):
            generations[facts.generation].append(each)
    return generations.values()


def is_used(child: Track, owner: Track, world: World) -> bool:
    """Return whether the owner or any Pod ever referred to the child."""
    return any(each is owner or each.ref.kind == "Pod" for each in world.referrers(child.name))


def was_kept(child: Track, owner: Track, within: int) -> bool:
    """Return whether no deletion of the child or its owner was requested within `within` microseconds after the child's
    creation."""
    asked = [end for end in (child.asked_to_end, owner.asked_to_end) if end is not None]
    return not asked or min(asked) > child.first.time + within


def came_quickly(children: list[Track], count: int, within: int) -> bool:
    """Return whether at least `count` children were created within `within` microseconds. `children` are in order of
    creation."""
    pairs = zip(children, children[count - 1 :], strict=False)
    return any(last.first.time - first.first.time <= within for first, last in pairs)


def named_at_random(names: list[str]) -> bool:
    """Return whether the names look generated: one of their parts between hyphens is random in nearly all of them."""
    parts = zip(*(name.split("-") for name in names), strict=False)
    return any(sum(_RANDOM.fullmatch(part) is not None for part in set(each)) >= 0.8 * len(names) for each in parts)


def pace(children: list[Track]) -> str:
    """Return text such as " in 3 s (2 a second)" that says how fast the children were created; "" if that is not
    known."""
    length = between(children[0].first, children[-1].first)
    if len(children) < 2 or not length.most:
        return ""
    if not length.close:
        return f" in {length}"
    per_second = (len(children) - 1) / (length.least + length.most) * 2e6
    often = f"{per_second:.2g} a second" if per_second >= 1 else f"{per_second * 60:.2g} a minute"
    return f" in {length} ({often})"
