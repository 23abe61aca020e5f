"""Make symptoms of findings: all findings of one rule about one anchor. It does no I/O.

An incident consists of symptoms (see `timeline.payloads.incidents.making`). In the findings document
`causeline.findings/v2`, each symptom is an incident of its own.
"""

from bisect import bisect_left, insort
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from timeline.core.actors import KIND as ACTOR
from timeline.history.lifelines import Name
from timeline.judging.findings import Effect, Finding, Severity, Status
from timeline.judging.incidents import subjects as incidents
from timeline.judging.incidents.partition import Piece
from timeline.judging.rulebook import Rule
from timeline.payloads import documents
from timeline.payloads.findings import AnchorPayload, SymptomPayload
from timeline.payloads.incidents.extents import with_extent
from timeline.payloads.incidents.occurrences import StoredFinding, acting, rank, stored

NAMES = 6  # names of subjects that a symptom shows
_EFFECTS = list(Effect)


class Time(NamedTuple):
    """One occurrence of a finding. Times are microseconds since 1970, UTC."""

    group: str  # as of the stored occurrence: the key of its row
    first: int
    last: int
    open: bool  # whether it goes on
    effect: str

    @property
    def weight(self) -> tuple[int, int, int]:
        """Return a sort key: more harm weighs more, then a longer occurrence, then an earlier one."""
        return _EFFECTS.index(Effect(self.effect)), self.last - self.first, -self.first


class Part(NamedTuple):
    """What one finding contributes to its symptom, and to incidents. Times are microseconds since 1970, UTC."""

    id: str
    rule: str
    anchor: Name
    severity: Severity
    status: str
    kind: str  # of the subject
    name: str
    uid: str
    summary: str
    effect: str
    effect_text: str
    excess: int  # occurrences, or objects that were too many
    times: list[Time]  # of each occurrence
    actors: list[str]  # who wrote what the proof shows
    advice: list[str]
    root: int = 0  # the track number of the subject's root owner; 0 without a database
    cause: tuple[str, str] = ("", "")  # the rule and the sentence of what is behind it; "" where nothing proves a cause
    namespaces: tuple[str, ...] | None = None  # of all that it involves; None if an older version has stored it
    pieces: tuple[Piece, ...] = ()  # its occurrences, as far as these decide to which incidents it belongs

    @property
    def worst(self) -> Time:
        """Return its gravest occurrence."""
        return max(self.times, key=lambda each: each.weight)

    def within(self, numbers: Sequence[int]) -> "Part":
        """Return what the finding contributes with some of its occurrences, which are counted from 0."""
        if len(numbers) == len(self.times):
            return self
        return self._replace(times=[self.times[number] for number in numbers], excess=len(numbers))


class Symptom:
    """The findings of one symptom, and what they have in common.

    Everything that is counted is counted while findings are added and removed, so that a change of one finding need not
    look at the others. Lists are kept in order, so their ends are known.
    """

    def __init__(self, rule: str, anchor: Name, template: str) -> None:
        self.id = incidents.identity(rule, anchor)
        self.rule = rule
        self.anchor = anchor
        self.times: list[tuple[int, int]] = []  # first and last of each occurrence, in order of time
        self.roots: list[int] = []  # the track numbers of the root owners of its subjects, in order
        self._template = template
        self._parts: dict[str, Part] = {}
        self._gravest: list[tuple[Any, ...]] = []  # see `_gravity`
        self._caused: list[tuple[Any, ...]] = []  # the gravity of those with a proven cause
        self._ends: list[int] = []
        self._groups: Counter[str] = Counter()  # by the group of an occurrence, in how many findings it is
        self._subjects: Counter[tuple[str, str, str]] = Counter()
        self._kinds: Counter[str] = Counter()  # of the subjects
        self._begins: dict[str, list[int]] = {}  # when the findings of each name began
        self._names: list[tuple[int, str]] = []  # each name, in the order in which the first findings of each began
        self._statuses: Counter[str] = Counter()
        self._actors: Counter[str] = Counter()
        self._rooted: Counter[int] = Counter()  # by the root owner, how many findings are about its objects
        self._involved: Counter[str | None] = Counter()  # by namespace, None for not known, in how many findings it is
        self._excess = 0
        self._open = 0  # the number of occurrences that go on

    def __len__(self) -> int:
        return len(self._parts)

    def put(self, parts: Iterable[Part]) -> None:
        """Add findings, or replace those of the same id."""
        for each in sorted(parts, key=_begin):
            self.remove(each.id)
            self._parts[each.id] = each
            insort(self._gravest, _gravity(each))
            if any(each.cause):
                insort(self._caused, _gravity(each))
            subject = each.kind, each.name, each.uid
            self._kinds[each.kind] += subject not in self._subjects
            self._subjects[subject] += 1
            self._name(each, insort)
            for group, first, last, goes_on, _ in each.times:
                if group not in self._groups:
                    insort(self.times, (first, last))
                    insort(self._ends, last)
                self._groups[group] += 1
                self._open += goes_on
            self._statuses[each.status] += 1
            if each.root not in self._rooted:
                insort(self.roots, each.root)
            self._rooted[each.root] += 1
            self._actors.update(each.actors)
            self._involved.update((None,) if each.namespaces is None else each.namespaces)
            self._excess += each.excess

    def remove(self, finding: str) -> None:
        """Take a finding out of the symptom. Nothing happens if the symptom does not have it."""
        if (each := self._parts.pop(finding, None)) is None:
            return
        _take(self._gravest, _gravity(each))
        if any(each.cause):
            _take(self._caused, _gravity(each))
        if _fewer(self._subjects, (each.kind, each.name, each.uid)):
            _fewer(self._kinds, each.kind)
        self._name(each, _take)
        for group, first, last, goes_on, _ in each.times:
            if _fewer(self._groups, group):
                _take(self.times, (first, last))
                _take(self._ends, last)
            self._open -= goes_on
        _fewer(self._statuses, each.status)
        if _fewer(self._rooted, each.root):
            _take(self.roots, each.root)
        for actor in each.actors:
            _fewer(self._actors, actor)
        for namespace in (None,) if each.namespaces is None else each.namespaces:
            _fewer(self._involved, namespace)
        self._excess -= each.excess

    def _name(self, each: Part, change: Any) -> None:
        """Add the time of a finding to those of its name, or take it away, as `change` does with a list in order."""
        begins = self._begins.setdefault(each.name, [])
        before = begins[:1]
        change(begins, _begin(each))
        if begins[:1] != before:
            for first in before:
                _take(self._names, (first, each.name))
            for first in begins[:1]:
                insort(self._names, (first, each.name))
        if not begins:
            del self._begins[each.name]

    @property
    def gravest(self) -> Part:
        return self._parts[self._gravest[0][-1]]

    @property
    def excess(self) -> int:
        """How often it happened, or how many objects were too many."""
        return self._excess

    @property
    def findings(self) -> list[str]:
        """The ids of its findings, the gravest first."""
        return [key[-1] for key in self._gravest]

    @property
    def title(self) -> str:
        if len(self._parts) == 1:
            return self.gravest.summary
        subject, counts = f"{self.gravest.kind} {self.gravest.name}", (self._excess, len(self.times))
        return incidents.title(self._template, self.anchor, list(self._kinds), self.subjects, subject, *counts)

    @property
    def caused(self) -> str:
        """The id of the gravest finding with a proven cause; "" if there is none."""
        return self._caused[0][-1] if self._caused else ""

    @property
    def cause(self) -> str:
        """The cause of that finding, and for how many findings such a cause is proven; "" if there is none."""
        return self.cause_among(piece for each in self._parts.values() for piece in each.pieces)

    def cause_among(self, known: Iterable[Piece]) -> str:
        """Return the cause, with what joins the findings for which none is proven among these occurrences."""
        if not self.caused:
            return ""
        rule, sentence = self._parts[self.caused].cause
        proven = [id for id, each in self._parts.items() if each.cause[0] == rule]
        about = self.anchor.name if self.anchor.kind == ACTOR else f"{self.anchor.kind} {self.anchor.name}"
        return with_extent(sentence, proven, self._parts, known, f" of {self.rule} about {about}")

    @property
    def status(self) -> str:
        """`confirmed` if a finding is."""
        return min(self._statuses)

    @property
    def namespaces(self) -> list[str] | None:
        """The namespaces of all that it involves, sorted; None where they are not known."""
        return None if None in self._involved else sorted(map(str, self._involved))

    @property
    def subjects(self) -> int:
        return len(self._subjects)

    @property
    def names(self) -> list[str]:
        """The names of the first subjects."""
        return [name for _, name in self._names[:NAMES]]

    @property
    def first(self) -> int:
        return self.times[0][0]

    @property
    def last(self) -> int:
        return self._ends[-1]

    @property
    def open(self) -> bool:
        """Whether an occurrence still went on at the end of what the source shows."""
        return self._open > 0

    @property
    def actors(self) -> list[str]:
        """Who wrote what the proofs show, the most frequent one first."""
        return sorted(self._actors, key=lambda actor: (-self._actors[actor], actor))


def _begin(each: Part) -> int:
    return each.times[0].first


def _gravity(each: Part) -> tuple[Any, ...]:
    """Return a sort key: the gravest finding first; of equally grave ones one with a proven cause, then the one that
    lasted longest, then the first one. It ends with the finding's id."""
    worst, unexplained = each.worst, not any(each.cause)
    harm = rank(each.severity), -_EFFECTS.index(Effect(each.effect)), each.status
    return *harm, unexplained, worst.first - worst.last, _begin(each), each.id


def _take(values: list[Any], value: Any) -> None:
    """Remove a value from a list in order."""
    del values[bisect_left(values, value)]


def _fewer(counter: Counter[Any], key: Any) -> bool:
    """Count one less of a key; return whether none is left."""
    counter[key] -= 1
    if counter[key]:
        return False
    del counter[key]
    return True


def time_of(stored: Mapping[str, Any]) -> Time:
    """Return an occurrence of a stored finding."""
    return Time(stored["group"], stored["first"], stored["last"], stored.get("open", False), stored["effect"])


def part(found: StoredFinding) -> Part:
    """Return what a finding, which has an anchor, contributes."""
    assert found.anchor
    document = found.document
    subject = document["subject"]
    return Part(
        document["id"],
        document["rule"],
        found.anchor,
        document["severity"],
        document["status"],
        subject["kind"],
        subject["name"],
        subject["uid"],
        document["summary"],
        document["effect"],
        document["effect_text"],
        document["count"],
        list(map(time_of, found.occurrences)),
        acting(found.occurrences),
        document["advice"],
        found.root,
        (document["cause"]["rule"], document["cause"]["sentence"]) if "cause" in document else ("", ""),
        None if found.namespaces is None else tuple(found.namespaces),
        found.pieces,
    )


def parts_of(findings: Iterable[Finding]) -> Iterator[Part]:
    """Return what findings that are not stored contribute; they must have been judged by `timeline.judge`."""
    for found in findings:
        yield part(stored(found, lambda _: None))  # symptoms show no numbers of tracks


def symptoms_of(parts: Iterable[Part], rules: Iterable[Rule]) -> list[Symptom]:
    """Return the symptoms of findings: the gravest first, then in order of time. Withdrawn findings have none."""
    templates = {rule.id: rule.incident for rule in rules}
    found: dict[tuple[str, Name], list[Part]] = {}
    for each in parts:
        if each.status != Status.WITHDRAWN:
            found.setdefault((each.rule, each.anchor), []).append(each)
    symptoms = []
    for (rule, anchor), of_it in found.items():
        symptoms.append(Symptom(rule, anchor, templates[rule]))
        symptoms[-1].put(of_it)
    return sorted(symptoms, key=lambda each: (rank(each.gravest.severity), each.first, each.id))


def payload(each: Symptom) -> SymptomPayload:
    """Return a symptom as it is in the findings document."""
    gravest = each.gravest
    return {
        "id": each.id,
        "rule": each.rule,
        "title": each.title,
        "severity": gravest.severity,
        "status": "confirmed" if each.status == Status.CONFIRMED else "suspected",
        "state": "ongoing" if each.open else "over",
        "anchor": anchor_payload(each.anchor),
        "subjects": each.subjects,
        "names": each.names,
        "occurrences": len(each.times),
        "first_time": documents.timestamp(each.first),
        "last_time": documents.timestamp(each.last),
        "effect": Effect(gravest.effect).value,
        "effect_text": gravest.effect_text,
        "cause": each.cause,
        "actors": each.actors,
        "advice": gravest.advice,
        "findings": each.findings,
    }


def anchor_payload(anchor: Name) -> AnchorPayload:
    """Return what a symptom is about, by name."""
    return {"group": anchor.group, "kind": anchor.kind, "namespace": anchor.namespace, "name": anchor.name}
