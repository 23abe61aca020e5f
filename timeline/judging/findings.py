"""Define what a rule reports: findings, their occurrences, and the events that prove them. It does no I/O."""

import hashlib
from collections.abc import Iterable
from enum import IntEnum, StrEnum
from typing import Literal

import msgspec
from msgspec.structs import replace

from timeline.core.actors import KIND
from timeline.core.durations import Length
from timeline.core.entries import ObjectRef
from timeline.history.lifelines import Moment, Name
from timeline.judging.verdicts import Verdict

Severity = Literal["error", "warning", "info"]


class Status(StrEnum):
    """Whether a finding is certain. Only findings of live clusters can be suspected (they may still turn out to be
    wrong) or withdrawn (they did)."""

    SUSPECTED = "suspected"
    CONFIRMED = "confirmed"
    WITHDRAWN = "withdrawn"


class Effect(StrEnum):
    """Whether a violation was observed to do harm. The severity of the finding follows from it."""

    NONE = "none"
    POSSIBLE = "possible"
    OBSERVED = "observed"

    @property
    def severity(self) -> Severity:
        return _SEVERITY[self]


_SEVERITY: dict[Effect, Severity] = {Effect.NONE: "info", Effect.POSSIBLE: "warning", Effect.OBSERVED: "error"}


class Part(StrEnum):
    """What an event is in a violation. Violations that share an act, or what came late or was removed, have one cause.
    What merely stood is shared by innocent ones, too, such as the `parallelism` that all excess Pods of a Job exceed.
    """

    ACT = "act"  # the write that went wrong
    LATE = "late"  # what came too late
    REMOVED = "removed"  # what was taken away
    STATE = "state"  # what stood meanwhile, such as a spec, or the last renewal of a Lease


class Proof(msgspec.Struct, frozen=True, gc=False):
    """One event that proves a finding: its role in the finding, the object, and the change of that object."""

    role: str
    ref: ObjectRef
    moment: Moment
    part: Part = Part.STATE


class Root(IntEnum):
    """What a cause begins with. Of several that are connected, the first in this order is the root."""

    LOST_LEASE = 0  # a process went on after it had lost a Lease
    CONFIGURATION = 1  # a setting that cannot work
    REFUSAL = 2  # something refused writes: a webhook, a quota, a budget, a kind that was not served
    OLD_COPIES = 3  # a controller acted on old copies of objects
    MISSING = 4  # an object that others need did not exist


class Link(msgspec.Struct, frozen=True, gc=False):
    """What connects an occurrence with all others that have a link of the same key: one cause is behind them.

    `names` are the names by which the cause is known again, such as those of the Lease, whenever it acts. `since` and
    `until` are the drawn times of what this link states, in microseconds since 1970.
    """

    root: Root
    key: str
    names: tuple[str, ...]
    since: int
    until: int


def joined(links: Iterable[Link]) -> tuple[Link, ...]:
    """Return one link for each key, which covers the times of all links of this key, in the order of the first ones."""
    found: dict[str, Link] = {}
    for each in links:
        known = found.get(each.key, each)
        since, until = min(known.since, each.since), max(known.until, each.until)
        found[each.key] = replace(known, since=since, until=until)
    return tuple(found.values())


class Occurrence(msgspec.Struct, frozen=True, kw_only=True):
    """One time that a violation happened. `first` and `last` are drawn times in microseconds since 1970. Rules create
    it with the function `occurrence`."""

    first: int
    last: int
    headline: str  # one sentence for all subjects that share it; {subjects} stands for "Pod a" or "3 running Pods"
    plural: str  # what several subjects are called: "running Pods"
    why: str  # why the order of the events is as sure as the verdict says
    effect: Effect
    effect_text: str  # {names} stands for the names of the subjects
    proof: tuple[Proof, ...]  # in commit order
    acts: tuple[Proof, ...] = ()  # further writes that went wrong, which the proof does not show one by one
    links: tuple[Link, ...] = ()  # what connects it with others, besides the events that they share
    arrow: str = ""  # the label of an arrow from the first proof to the last; "" draws none
    hole: str = ""  # the label of a hole between the two proofs, on the lane of the first; "" draws none
    interval: Length | None = None  # how long it lasted, or how late the last event came, as far as that is known
    open: bool = False  # whether it still went on at the end of what the source shows

    @property
    def length(self) -> int:
        """Return how long the occurrence is drawn, in microseconds."""
        return self.last - self.first

    @property
    def weight(self) -> tuple[int, int]:
        """Return a sort key: more harm weighs more, and of the same harm a longer occurrence."""
        return list(Effect).index(self.effect), self.length


def occurrence(
    *proof: Proof,
    headline: str,
    plural: str,
    why: str,
    effect: tuple[Effect, str],
    first: int | None = None,
    last: int | None = None,
    acts: tuple[Proof, ...] = (),
    links: tuple[Link, ...] = (),
    arrow: str = "",
    hole: str = "",
    interval: Length | None = None,
    open: bool = False,
) -> Occurrence:
    """Return the occurrence that these events prove.

    It lasts from the first event to the last, unless `first` or `last` (drawn times in microseconds) say otherwise. It
    never ends before it begins, although the clocks of two API servers may contradict the order of the revisions.
    `effect` is the harm and the text that describes it. `Occurrence` describes the other arguments.
    """
    begin = proof[0].moment.time if first is None else first
    end = proof[-1].moment.time if last is None else last
    return Occurrence(
        first=begin,
        last=max(begin, end),
        headline=headline,
        plural=plural,
        why=why,
        effect=effect[0],
        effect_text=effect[1],
        proof=proof,
        acts=acts,
        links=links,
        arrow=arrow,
        hole=hole,
        interval=interval,
        open=open,
    )


def longest(occurrences: Iterable[Occurrence]) -> Occurrence:
    """Return the longest of the occurrences; if several are equally long, the earliest of them."""
    return max(occurrences, key=lambda each: (each.length, -each.first))


def worst(occurrences: Iterable[Occurrence]) -> Occurrence:
    """Return the occurrence with the most harm; of several the longest, and of those the earliest."""
    return max(occurrences, key=lambda each: (*each.weight, -each.first))


class Cause(msgspec.Struct, frozen=True, gc=False):
    """What is behind a violation, as far as it is proven: which rule reports causes of this kind, one or two sentences,
    and the events that prove it, in commit order."""

    rule: str
    sentence: str
    proof: tuple[Proof, ...]


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """One violation of a rule by one subject, however often it happened."""

    rule: str  # the id of the rule
    subject: ObjectRef
    verdict: Verdict
    summary: str
    occurrences: tuple[Occurrence, ...]  # at least one, in order of time
    advice: tuple[str, ...]  # see `timeline.judging.advice`
    anchor: Name | None = None  # what its incident is about; None: the root owner of the subject (see `incidents`)
    other: ObjectRef | None = None  # the object that the subject waited for, lost, or collided with
    measured: Occurrence | None = None  # the occurrence whose length is the delay of the finding, if it has a delay
    affects: tuple[ObjectRef, ...] = ()  # other objects that the violation harms
    count: int | None = None  # how many objects there were too many; None: the number of occurrences counts
    cause: Cause | None = None  # what is behind it; None where nothing proves a cause (see `judging.incidents.causes`)
    status: Status = Status.CONFIRMED
    status_reason: str = ""  # one sentence that says why the finding is not confirmed

    @property
    def namespaces(self) -> list[str]:
        """Return the namespaces of all objects that it names or is proven by, "" for those of the cluster, sorted.

        A Namespace counts as part of itself. An anchor that is an actor is not counted: who sees an object may know who
        changed it.
        """
        proofs = [proof.ref for each in self.occurrences for proof in each.proof]
        caused = [proof.ref for proof in self.cause.proof] if self.cause else []
        named = [self.subject, *proofs, *self.affects, *caused]
        anchor = None if self.anchor and self.anchor.kind == KIND else self.anchor
        return sorted({namespace_of(each) for each in (*named, self.other, anchor) if each})

    @property
    def alone(self) -> str:
        """Return the name of its subject if its incident is about that, so that a row has no other subject; else ""."""
        subject = self.subject
        own = Name(subject.group, subject.kind, subject.namespace, subject.name)
        return subject.name if self.anchor == own else ""

    @property
    def delay(self) -> int | None:
        """Return the drawn delay in microseconds; None if the violation is no delay."""
        return self.measured.length if self.measured else None

    @property
    def interval(self) -> Length | None:
        """Return the bounds of the delay, as far as the clocks allow; None if the violation is no delay."""
        return self.measured.interval if self.measured else None

    @property
    def bounds(self) -> tuple[float, float] | None:
        """Return the bounds of the delay in seconds; None if nothing bounds it from above."""
        if self.interval is None or self.interval.most is None:
            return None
        return self.interval.least / 1e6, self.interval.most / 1e6

    @property
    def worst(self) -> Occurrence:
        """Return the occurrence with the most harm."""
        return worst(self.occurrences)

    @property
    def severity(self) -> Severity:
        return "info" if self.verdict is Verdict.INCONCLUSIVE else self.worst.effect.severity

    @property
    def id(self) -> str:
        """Return a stable key, which stays the same when the violation is observed again or happens again."""
        other = self.other
        elsewhere = other.namespace if other and other.namespace != self.subject.namespace else ""
        named = f"{other.kind}/{other.name}" if other else ""
        return digest(self.rule, self.subject, f"{elsewhere}/{named}" if elsewhere else named)


def namespace_of(ref: ObjectRef | Name) -> str:
    """Return the namespace by which readers may see an object: its own, or, for a Namespace, itself."""
    return ref.name if ref.kind == "Namespace" and not ref.group else ref.namespace


def digest(*parts: str | ObjectRef | None) -> str:
    """Return a short hash of texts and objects, which is the same in every process."""
    words = [
        "/".join((part.group, part.kind, part.namespace, part.name, part.uid))
        if isinstance(part, ObjectRef)
        else part or ""
        for part in parts
    ]
    return hashlib.sha256("\n".join(words).encode()).hexdigest()[:16]
