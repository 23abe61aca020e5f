"""Find steps that came in another order than in all good runs. It does no I/O."""

from collections import defaultdict
from collections.abc import Iterator
from itertools import combinations
from typing import NamedTuple

from timeline.comparing.alignment import Aligned, Node
from timeline.comparing.differences import difference
from timeline.comparing.lives import Step, between, precedes
from timeline.comparing.roles import Role
from timeline.core.durations import Length
from timeline.payloads.comparison import DifferencePayload

_MOST = 200  # the most steps whose order is compared


class Reversal(NamedTuple):
    """Two steps that came in the other order than in the good runs. `before` came first there."""

    before: Node
    after: Node
    held: int  # in how many good runs `before` surely came first
    of: int  # in how many good runs both steps were seen
    by: Length | None  # how long before `before` the step `after` came in the bad run


def reordered(aligned: Aligned) -> Iterator[DifferencePayload]:
    """Yield the differences of order. A step that changed places with several others is one difference."""
    left = list(_reversals(aligned))
    while left:
        touched: dict[Node, list[Reversal]] = defaultdict(list)
        for each in left:
            touched[each.before].append(each)
            touched[each.after].append(each)
        moved = min(touched, key=lambda node: (-len(touched[node]), node.sort_key))
        mine = sorted(touched[moved], key=lambda each: _other(each, moved).sort_key)
        yield _difference(aligned, moved, mine)
        left = [each for each in left if moved not in (each.before, each.after)]


def _reversals(aligned: Aligned) -> Iterator[Reversal]:
    nodes = sorted((node for node in aligned.bad_nodes if _in_good(aligned, node)), key=lambda node: node.sort_key)
    for one, other in combinations(nodes[:_MOST], 2):
        if one.role == other.role and (one.part == other.part or not _comparable(aligned, one.role)):
            continue
        bad = aligned.bad_nodes
        first = precedes(bad[one], bad[other])
        if first is None:
            continue
        after, before = (one, other) if first else (other, one)
        seen = [(each[before], each[after]) for each in aligned.good_nodes if before in each and after in each]
        orders = [precedes(*steps) for steps in seen]
        if False not in orders and 2 * orders.count(True) > len(orders):
            yield Reversal(before, after, orders.count(True), len(orders), _length(bad[after], bad[before]))


def _comparable(aligned: Aligned, role: Role) -> bool:
    """Return whether the order among the objects of one role can be compared: several good runs show what varies, and
    the bad run has as many objects as these, so that none is first or last only because there are more."""
    numbers = [len(each.get(role, ())) for each in aligned.good_roles]
    return len(numbers) > 1 and 1 < min(numbers) <= len(aligned.bad_roles[role]) <= max(numbers)


def _in_good(aligned: Aligned, node: Node) -> bool:
    return any(node in each for each in aligned.good_nodes)


def _length(first: Step, second: Step) -> Length | None:
    length = between(first, second)
    return length if length and length.most else None


def _other(reversal: Reversal, node: Node) -> Node:
    return reversal.after if reversal.before == node else reversal.before


def _difference(aligned: Aligned, moved: Node, mine: list[Reversal]) -> DifferencePayload:
    first, *rest = mine
    other = _other(first, moved)
    runs = f"In {first.held} of {first.of} good runs" if first.of > 1 else "In the good run"
    by = f", by {first.by}" if first.by else ""
    if first.held < first.of:
        by += f" (in {first.of - first.held} the order is not known)"
    if first.before == moved:
        text = f"{runs} {aligned.clause(moved)} before {aligned.clause(other)}; here it came after that{by}."
    else:
        text = f"{runs} {aligned.clause(moved)} after {aligned.clause(other)}; here it came before that{by}."
    if rest:
        text += f" It changed places with {len(rest)} more step{'s' if len(rest) > 1 else ''}."
    good = aligned.named(first.before), aligned.named(first.after)
    return difference(
        "order",
        aligned.label(moved.role),
        aligned.named(moved),
        text,
        good=good,
        bad=good[::-1],
        others=[aligned.named(_other(each, moved)) for each in rest],
        good_runs=first.held,
        of_runs=first.of,
        bad_seconds=first.by,
        lives=[aligned.bad_life(moved)],
    )
