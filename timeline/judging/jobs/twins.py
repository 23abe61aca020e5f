"""Find controllers that created two children of one role, and deleted one of the two again. It does no I/O.

What a custom resource asks for is not known, so numbers do not show a child too many. But a controller that creates a
second child of one role shortly after the first one, and deletes one of the two again while its owner stays as it was,
did not want both.
"""

import re
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterator
from itertools import pairwise
from operator import itemgetter
from typing import NamedTuple

from timeline.core.actors import Actor, actor_of
from timeline.core.entries import Change, Clock
from timeline.core.order import At
from timeline.history.lifelines import Moment, Track
from timeline.history.world.world import World
from timeline.judging.endpoints.readiness import surely_unchanged
from timeline.kinds import qualified

_GENERATED = re.compile(r"(.+[-.])[bcdfghjklmnpqrstvwxz2456789]{5}")  # a name that the API server has completed


_FEW = 3  # if more objects of one role come within the time, they are no twins, but made over and over


class Twin(NamedTuple):
    """A child that a controller created although it had created one of that role shortly before, and the deletion of
    one of them by the same controller."""

    role: str
    first: tuple[Track, Moment]
    second: tuple[Track, Moment]
    deleted: tuple[Track, Moment]
    actor: Actor


def twins(owner: Track, world: World, close: int, within: int) -> Iterator[Twin]:
    """Yield the twins among the children of an owner.

    The second creation comes at most `close` microseconds after the first one, and the deletion at most `within`
    microseconds after the second creation.
    """
    kind = owner.ref.kind
    if kind != "DaemonSet" and qualified(owner.ref.group, kind) == kind:
        return  # their controllers work with more children than they ask for
    by_role: dict[tuple[str, str, str], list[Track]] = defaultdict(list)
    for child in world.children(owner):
        if role := _role(child, owner):
            by_role[child.ref.group, child.ref.kind, role].append(child)
    for (group, kind, role), children in sorted(by_role.items()):
        if len(children) > 1:
            end = max(each.last.time for each in children)
            if world.complete(group, kind, children[0].first.time, end, children[0].ref.namespace):
                yield from _of_role(role, owner, children, close, within, world)


def _role(child: Track, owner: Track) -> str:
    """Return what a child is for its owner: the Pod of one revision on one node, or what all generated names have in
    common; "" if that is not known."""
    if owner.ref.kind == "DaemonSet" and owner.ref.group == "apps":
        node, revision = child.value("node"), child.value("revision")
        return f"{revision} on {node}" if node and revision else ""
    found = _GENERATED.fullmatch(child.ref.name)
    return found[1] if found else ""


def _of_role(role: str, owner: Track, children: list[Track], close: int, within: int, world: World) -> Iterator[Twin]:
    """Yield the twins among children of one role, which are in the order in which they began."""
    starts, ends = sorted(each.first.at for each in children), sorted(filter(None, map(_over, children)))
    made = sorted(((each, each.created) for each in children if each.created), key=lambda pair: pair[1].at)
    times = [each.time for _, each in made]
    deleted = sorted((asked.at, at, asked) for at, child in enumerate(children) if (asked := _asked(child)))
    for (first, one), (second, other) in pairwise(made):
        actor = _sender(other)
        few = bisect_right(times, other.time + within) - bisect_right(times, other.time - within) <= _FEW
        if actor is None or actor != _sender(one) or not few or other.time - one.time > close or _gone(first, other.at):
            continue
        before = bisect_left(starts, other.at) - bisect_left(ends, other.at)
        since, end = (other.at, len(children)), ((other.time + within + 1, 0), 0)
        soon = deleted[bisect_left(deleted, since) : bisect_left(deleted, end)]
        for _, at, asked in sorted(soon, key=itemgetter(1)):
            if _sender(asked) != actor:
                continue
            left = bisect_right(starts, asked.at) - bisect_right(ends, asked.at)
            if left == before and _stays(owner, one, asked, world) and not _replaced(starts, asked, within):
                yield Twin(role, (first, one), (second, other), (children[at], asked), actor)
                break


def _over(child: Track) -> At | None:
    """Return the place at which a child ended, finished, or was asked to end; None if it did not."""
    return next((each.at for each in child.moments if _ends(each)), None)


def _ends(moment: Moment) -> bool:
    facts = moment.facts
    return moment.change is Change.DELETED or (
        facts is not None and (facts.deleting or bool(getattr(facts, "terminal", False)))
    )


def _gone(child: Track, at: At) -> bool:
    over = _over(child)
    return over is not None and over <= at


def _asked(child: Track) -> Moment | None:
    """Return the request to delete a child that had not finished; None if it was not observed."""
    over = next((each for each in child.moments if _ends(each)), None)
    asked = over is not None and (over.change is Change.DELETED or over.facts.deleting)
    return over if asked else None


def _sender(moment: Moment) -> Actor | None:
    return actor_of(moment.entry) if moment.clock is Clock.AUDIT else None


def _stays(owner: Track, since: Moment, until: Moment, world: World) -> bool:
    """Return whether an owner had one generation from before a moment until another one, and no write of it is
    missing."""
    start = max(0, owner.count_until(since.at) - 1)
    states = [each.facts for each in owner.moments[start : owner.count_until(until.at)]]
    known = all(each is not None and each.generation for each in states)
    if not states or not known or states[-1].deleting or len({each.generation for each in states}) > 1:
        return False
    ended = owner.until is not None and owner.until <= until.time
    return not ended and surely_unchanged(owner, owner.moments[start].time, until.time, world)


def _replaced(starts: list[At], deleted: Moment, within: int) -> bool:
    """Return whether another child of the role was created after one had been deleted."""
    at = bisect_right(starts, deleted.at)
    return at < len(starts) and starts[at][0] - deleted.time <= within
