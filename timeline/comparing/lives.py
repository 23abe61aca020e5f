"""Define what is compared: steps, lives, trees and runs. Times are microseconds since 1970, UTC. It does no I/O."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal, NamedTuple

from msgspec.structs import replace

from timeline.core.actors import Sent, actor_of
from timeline.core.durations import Length
from timeline.core.entries import ObjectRef
from timeline.judging.findings import Severity
from timeline.kinds import Kind, Mark
from timeline.layout.phases import marks

Relation = Literal["owned", "needed", "needs it"]
GroupKind = tuple[str, str]

# How a step reads after the object that took it, in the order in which an object takes its steps.
WORDS = {
    "created": "created",
    "scheduled": "scheduled",
    "started": "started",
    "ready": "ready",
    "taken": "taken",
    "released": "released",
    "restarted": "restarted",
    "changed": "spec changed",
    "address": "given an address",
    "finished": "finished",
    "deleting": "asked to be deleted",
    "finalizer": "lost a finalizer",
    "deleted": "deleted",
}


OBSERVED = ("Endpoints", "EndpointSlice")  # kinds that hold what was observed, and nothing that was asked for


class Change(NamedTuple):
    """One change of an object, from a track of a world or from a stored lifeline."""

    change: str  # the value of an `entries.Change`
    action: str  # the subresource that was written
    time: int  # the drawn time
    earliest: int  # the earliest time of the commit
    latest: int | None  # the latest time of the commit; None where nothing bounds it
    revision: int | None
    space: str  # the counter of the revision
    facts: Any  # the state from then on
    actor: str = ""  # the program that made it, as `actor_name` names it; "" if that is not known


class Step(NamedTuple):
    """A change that a comparison looks at, such as the creation of a Pod or its first readiness."""

    what: str  # a key of WORDS, or "phase Running" of a kind that has phases of its own
    change: Change

    @property
    def place(self) -> tuple[int, int]:
        """Return the place in commit order, for sorting."""
        return self.change.time, self.change.revision or 0


class Spec(NamedTuple):
    """What was asked for in an object: for each path in it, the values that it had."""

    whole: bool  # whether the values come from the object itself, and not only from the facts that rules use
    values: Mapping[str, frozenset[str]]


class Life(NamedTuple):
    """One incarnation of an object."""

    key: str  # identifies it within its run
    ref: ObjectRef
    parent: str  # the key of its owner; "" for the root of a tree and for what is only related to it
    relation: Relation
    completion: int  # its completion index; -1 without one
    steps: tuple[Step, ...]  # the first of each kind, in commit order
    outcome: str  # its last phase
    writers: frozenset[tuple[str, str]]  # (what was done, the program that did it)
    spec: Spec | None  # None if it was not read, because the tree has many such objects
    first: tuple[int, int]  # the place of its first observation in commit order


class Found(NamedTuple):
    """A finding about an object of a tree."""

    id: str
    rule: str
    severity: Severity
    summary: str


class Tree(NamedTuple):
    """An owner with everything that it owns, and with what it needs or what needs it."""

    root: Life
    lives: Sequence[Life]  # the root as well
    findings: Sequence[Found] = ()
    cut: bool = False  # whether more objects belong to it than are compared


class Run(NamedTuple):
    """One run of the work that is compared: an owner of a source, or a whole source."""

    label: str
    trees: Sequence[Tree]
    kinds: Mapping[GroupKind, bool]  # the kinds observed with their owners, and whether none of their writes is missing
    first: int
    last: int
    url: str = ""


def life(
    key: str,
    ref: ObjectRef,
    parent: str,
    relation: Relation,
    kind: Kind,
    changes: Sequence[Change],
    spec: Spec | None,
) -> Life:
    """Return the life of an object from its changes: at least one, in commit order."""
    indexes = (getattr(each.facts, "index", -1) for each in changes)
    return Life(
        key,
        ref,
        parent,
        relation,
        next((index for index in indexes if index >= 0), -1),
        tuple(_steps(kind, changes)),
        _outcome(kind, changes),
        frozenset((_deed(each), each.actor) for each in changes if each.actor and each.change != "observed"),
        spec,
        (changes[0].time, changes[0].revision or 0),
    )


def _steps(kind: Kind, changes: Sequence[Change]) -> Iterable[Step]:
    """Yield the first step of each kind."""
    found: set[str] = set()
    before: Any = None
    for each in changes:
        for what in _taken(kind, before, each):
            if what and what not in found:
                found.add(what)
                yield Step(what, each)
        before = each.facts


def _taken(kind: Kind, before: Any, change: Change) -> Iterable[str]:
    if change.change in ("created", "deleted"):
        yield change.change
    if before is None or change.facts is None or before is change.facts or change.change == "deleted":
        return
    again = change.facts.generation > before.generation > 0 and change.facts.deleting == before.deleting
    if again and kind.kind not in OBSERVED:
        yield "changed"
    yield from map(_step, marks(kind, before, change.facts))


def _step(mark: Mark) -> str:
    """Return the step that a mark stands for; "" for marks of counters, which say how far something else has come."""
    if mark.mark != "status":
        return mark.mark
    if mark.text.startswith("address "):
        return "address" if mark.text != "address taken away" else ""
    return mark.text if mark.text.startswith("phase ") else ""


def _outcome(kind: Kind, changes: Sequence[Change]) -> str:
    """Return the last phase, without regard to a deletion; "" if no state was observed."""
    facts = next((each.facts for each in reversed(changes) if is_state(each.facts)), None)
    return kind.phase(replace(facts, deleting=False)).text if facts is not None else ""


def is_state(facts: Any) -> bool:
    """Return whether facts come from an observed object: every object has the time of its creation."""
    return facts is not None and facts.created > 0


def _deed(change: Change) -> str:
    if change.change in ("created", "deleted"):
        return change.change
    return f"{change.action} written" if change.action else "changed"


def precedes(one: Step, other: Step) -> bool | None:
    """Return whether one step was surely committed before the other; None if the order is not known."""
    a, b = one.change, other.change
    if a.revision is not None and b.revision is not None and a.space == b.space:
        return a.revision < b.revision if a.revision != b.revision else None
    if a.latest is not None and a.latest < b.earliest:
        return True
    if b.latest is not None and b.latest < a.earliest:
        return False
    return None


def between(one: Step, other: Step) -> Length | None:
    """Return how long after one step the other was committed; None if no clock bounds that, or if it came before."""
    a, b = one.change, other.change
    if b.latest is None or b.latest < a.earliest:
        return None
    least = 0 if a.latest is None else max(0, b.earliest - a.latest)
    return Length(least, b.latest - a.earliest)


def actor_name(sent: Sent) -> str:
    """Return the program that made a change, and its version where its user agent names one: "job-controller
    (kube-controller-manager/v1.36.0)"; "" if neither is known."""
    actor = actor_of(sent)
    product = sent.user_agent.partition(" ")[0]
    if actor is None or product.partition("/")[0] == actor.component:
        return product
    return f"{actor.component} ({product})" if product else actor.component


def may_be_one(name: str, other: str) -> bool:
    """Return whether two names of programs, as `actor_name` returns them, may be of one program in one version.

    A request does not always name all of it: "kubectl" may be "kubectl/v1.36.0", and "kube-controller-manager/v1.36.0"
    may be "job-controller (kube-controller-manager/v1.36.0)". Two versions, or two parts of one program, are two.
    """
    (names, version), (others, another) = _named(name), _named(other)
    return (names <= others or others <= names) and (not version or not another or version == another)


def _named(actor: str) -> tuple[frozenset[str], str]:
    """Return the program, and the part of it, that a name consists of, and the version; "" without one."""
    part, _, product = actor.removesuffix(")").partition(" (")
    program, _, version = (product or part).partition("/")
    words = (program, part) if product else (program,)
    return frozenset(each.casefold().removesuffix(".exe") for each in words), version
