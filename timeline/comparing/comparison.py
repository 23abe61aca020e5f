"""Compare runs of the same work, and make the comparison document. This is the entrance to this wing. It does no
I/O."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Literal

from timeline.comparing import counts, delays, fields, ordering, shared
from timeline.comparing.alignment import Aligned, Node, align, since_root
from timeline.comparing.differences import difference
from timeline.comparing.lives import Life, Run, Tree
from timeline.comparing.roles import root_role
from timeline.kinds import qualified
from timeline.payloads.comparison import (
    ComparisonPayload,
    DifferencePayload,
    OwnerComparisonPayload,
    RunPayload,
    StepPayload,
)
from timeline.payloads.documents import object_payload, timestamp

OWNERS = 100  # the most owners that a document lists
_DIFFERENCES = 200  # the most differences of one owner that it lists
_STEPS = 60  # the most steps of one owner that it lists
_TYPES = ("outcome", "missing", "extra", "order", "finding", "delay", "actor", "spec")
_PARTS = (
    counts.outcomes,
    counts.numbers,
    ordering.reordered,
    counts.findings,
    delays.slower,
    fields.writers,
    fields.specs,
)


def compare_owners(good: Sequence[Run], bad: Run) -> ComparisonPayload:
    """Compare runs that are one owner each, whatever its name."""
    return _document(good, bad, [_owner([run.trees[0] for run in good], bad.trees[0], good, bad)])


def compare_recordings(good: Sequence[Run], bad: Run) -> ComparisonPayload:
    """Compare all owners of whole recordings. Owners correspond if namespace, kind and name agree, without the
    generated part of the name; several such owners correspond in their order: the first to the first, and so on."""
    by_role = [_by_role(run) for run in good]
    here = _by_role(bad)
    found = []
    for key in sorted({*here, *(key for each in by_role for key in each)}):
        there = [(run, each[key]) for run, each in zip(good, by_role, strict=True) if key in each]
        tree = here[key] if key in here else there[0][1]
        if key in here and there:
            found.append(_owner([tree for _, tree in there], here[key], [run for run, _ in there], bad))
        elif all(_kind(tree) in run.kinds for run in (*good, bad)):
            if key in here:
                found.append(_added(tree, good))
            elif len(there) == len(good):
                found.append(_absent([each for _, each in there], bad))
    common = shared.taken_out(found)
    return _document(good, bad, found, common)


def _kind(tree: Tree) -> tuple[str, str]:
    return tree.root.ref.group, tree.root.ref.kind


def _by_role(run: Run) -> Mapping[tuple[str, str, str, str, int], Tree]:
    """Return the trees by the role of their roots and their number in the order of creation."""
    found: dict[tuple[str, str, str, str], list[Tree]] = defaultdict(list)
    for tree in sorted(run.trees, key=lambda each: (each.root.first, each.root.ref.name, each.root.key)):
        found[root_role(tree.root.ref)].append(tree)
    return {(*role, number): tree for role, trees in found.items() for number, tree in enumerate(trees)}


def _owner(trees: Sequence[Tree], bad: Tree, good_runs: Sequence[Run], run: Run) -> OwnerComparisonPayload:
    aligned = align(trees, bad, [each.kinds for each in good_runs], run.kinds)
    differences = [each for part in _PARTS for each in part(aligned)]
    return {
        "role": _named(bad.root),
        "good": [object_payload(tree.root.ref) for tree in trees],
        "bad": object_payload(bad.root.ref),
        "differences": differences[:_DIFFERENCES],
        "more_differences": max(0, len(differences) - _DIFFERENCES),
        "steps": list(islice(_steps(aligned, differences), _STEPS)),
    }


def _absent(trees: Sequence[Tree], bad: Run) -> OwnerComparisonPayload:
    """Return the comparison of an owner that all good runs have and the bad run does not."""
    root, sure = trees[0].root, bad.kinds[_kind(trees[0])]
    runs = "the good run" if len(trees) == 1 else "each good run"
    text = f"{_named(root)} was not {'created' if sure else 'seen'} in this run; it was in {runs}."
    return _only("missing", root, text, trees, None, sure=sure, runs=len(trees))


def _added(tree: Tree, good: Sequence[Run]) -> OwnerComparisonPayload:
    """Return the comparison of an owner that only the bad run has."""
    sure = all(run.kinds[_kind(tree)] for run in good)
    text = f"{_named(tree.root)} is only in this run, and not in {'the' if len(good) == 1 else 'any'} good run."
    return _only("extra", tree.root, text, [], tree, sure=sure, runs=len(good))


def _only(
    type: Literal["missing", "extra"],
    root: Life,
    text: str,
    good: Sequence[Tree],
    bad: Tree | None,
    *,
    sure: bool,
    runs: int,
) -> OwnerComparisonPayload:
    kind = qualified(root.ref.group, root.ref.kind)
    return {
        "role": _named(root),
        "good": [object_payload(tree.root.ref) for tree in good],
        "bad": object_payload(bad.root.ref) if bad else None,
        "differences": [difference(type, kind, "owner", text, good_runs=runs, of_runs=runs, sure=sure, lives=[root])],
        "more_differences": 0,
        "steps": [],
    }


def _named(root: Life) -> str:
    where = f" in {root.ref.namespace}" if root.ref.namespace else ""
    return f"{qualified(root.ref.group, root.ref.kind)} {root.ref.name}{where}"


def _steps(aligned: Aligned, differences: Sequence[DifferencePayload]) -> Iterator[StepPayload]:
    """Yield the steps of all runs, in the order of the good runs, each with the time since the owner's first step."""
    differing = {name for each in differences if each["type"] == "order" for name in (each["subject"], *each["good"])}
    nodes = {*aligned.bad_nodes, *(node for each in aligned.good_nodes for node in each)}
    for node in sorted(nodes, key=lambda node: (_offset(aligned, node), node.sort_key)):
        name = aligned.named(node)
        seen = [(tree, each[node]) for tree, each in zip(aligned.good, aligned.good_nodes, strict=True) if node in each]
        here = aligned.bad_nodes.get(node)
        good = [since_root(tree, step) for tree, step in seen]
        known = [bounds for bounds in good if bounds is not None]
        yield {
            "role": aligned.label(node.role),
            "step": name,
            "good": _seconds((min(least for least, _ in known), max(most for _, most in known))) if known else None,
            "bad": _seconds(since_root(aligned.bad, here)) if here else None,
            "good_runs": len(seen),
            "of_runs": len(aligned.good),
            "seen": here is not None,
            "differs": name in differing or (len(seen) == len(aligned.good) and here is None),
        }


def _offset(aligned: Aligned, node: Node) -> int:
    """Return about when a step comes after the first step of its root, in microseconds: in the good runs, or else in
    the bad run."""
    good = [
        each[node].place[0] - tree.root.first[0]
        for tree, each in zip(aligned.good, aligned.good_nodes, strict=True)
        if node in each
    ]
    return min(good) if good else aligned.bad_nodes[node].place[0] - aligned.bad.root.first[0]


def _seconds(bounds: tuple[int, int] | None) -> list[float] | None:
    return None if bounds is None else [bounds[0] / 1e6, bounds[1] / 1e6]


def _document(
    good: Sequence[Run],
    bad: Run,
    owners: Sequence[OwnerComparisonPayload],
    common: Sequence[DifferencePayload] = (),
) -> ComparisonPayload:
    differing = [each for each in owners if each["differences"]]
    differing.sort(key=lambda each: (_weight(each), each["role"]))
    return {
        "schema": "causeline.comparison/v1",
        "good": [_run(run) for run in good],
        "bad": _run(bad),
        "common": list(common),
        "owners": differing[:OWNERS] if len(owners) > 1 else list(owners),
        "more_owners": max(0, len(differing) - OWNERS),
        "alike": len(owners) - len(differing),
        "differences": len(common) + sum(len(each["differences"]) + each["more_differences"] for each in differing),
        "notes": list(_notes(good, bad)),
    }


def _weight(owner: OwnerComparisonPayload) -> tuple[int, int]:
    """Return a sort key that puts the owner with the gravest differences, and then with the most, first."""
    gravest = min(_TYPES.index(each["type"]) for each in owner["differences"])
    return gravest, -len(owner["differences"]) - owner["more_differences"]


def _run(run: Run) -> RunPayload:
    return {
        "label": run.label,
        "objects": sum(len(tree.lives) for tree in run.trees),
        "first": timestamp(run.first) if run.first else None,
        "last": timestamp(run.last) if run.last else None,
        "url": run.url,
    }


def _notes(good: Sequence[Run], bad: Run) -> Iterator[str]:
    """Yield what could not be compared, and why."""
    runs = [*good, bad]
    every = set().union(*(run.kinds for run in runs))
    for run in runs:
        if unseen := sorted(qualified(*kind) for kind in every - run.kinds.keys()):
            yield f"{run.label} does not show {', '.join(unseen)} and their owners: their numbers are not compared."
        if any(tree.cut for tree in run.trees):
            yield f"{run.label} has more objects than are compared: numbers of objects are not compared."
    if len(good) == 1:
        yield "With one good run, nothing shows what varies from run to run. Further good runs leave out what does."
