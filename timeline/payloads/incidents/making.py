"""Make incidents of findings, alike for the command line, the report and the database. It does no I/O."""

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from timeline.core.entries import writer
from timeline.history.lifelines import Name
from timeline.judging.findings import Effect, Finding, Severity, Status
from timeline.judging.rulebook import Rule
from timeline.payloads import documents
from timeline.payloads.findings import FindingGroupPayload, IncidentPayload, IncidentRowPayload, VerdictName
from timeline.payloads.incidents.members import Members, Part
from timeline.payloads.incidents.occurrences import StoredFinding, rank, stored

TIMES = 256  # of the latest occurrences that are kept to be drawn


class InView(NamedTuple):
    """An incident as a view shows it, which may leave out some of its findings."""

    incident: IncidentRowPayload  # all of it
    findings: int  # of these, in the view
    occurrences: int  # in the view
    rows: list[FindingGroupPayload]  # the gravest of these occurrences


class Incident(NamedTuple):
    """One incident: what the findings of one rule about one anchor have in common."""

    id: str
    rule: str
    anchor: Name
    title: str
    severity: Severity
    status: str  # confirmed if a finding is
    subjects: int
    names: list[str]  # of the first subjects
    findings: list[str]  # the ids, the gravest first
    times: list[tuple[int, int]]  # first and last of each occurrence, in order of time
    open: bool  # whether an occurrence still went on at the end of what the source shows
    effect: str
    effect_text: str
    cause: str  # what is behind it, and for how many of its findings; "" where nothing proves a cause
    caused: str  # the id of the finding that this cause is of
    actors: list[str]  # the most frequent one first
    advice: list[str]

    @property
    def first(self) -> int:
        return self.times[0][0]

    @property
    def last(self) -> int:
        return max(last for _, last in self.times)


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
        [(each["group"], each["first"], each["last"], each.get("open", False)) for each in found.occurrences],
        [name for proof in document["proof"] if (name := writer(proof["actor"], proof["user_agent"]))],
        document["advice"],
        found.root,
        (document["cause"]["rule"], document["cause"]["sentence"]) if "cause" in document else ("", ""),
        None if found.namespaces is None else tuple(found.namespaces),
    )


def parts_of(findings: Iterable[Finding]) -> Iterator[Part]:
    """Return what findings that are not stored contribute; they must have been judged by `timeline.judge`."""
    for found in findings:
        yield part(stored(found, lambda _: None))  # incidents show no numbers of tracks


def incidents_of(parts: Iterable[Part], rules: Iterable[Rule]) -> list[Incident]:
    """Return the incidents of findings: the gravest first, then in order of time. Withdrawn findings have none."""
    found = [incident_of(each) for each in members_of(parts, rules)]
    return sorted(found, key=lambda each: (rank(each.severity), each.first, each.id))


def members_of(parts: Iterable[Part], rules: Iterable[Rule]) -> list[Members]:
    """Return the findings of each incident. Withdrawn findings belong to none."""
    templates = {rule.id: rule.incident for rule in rules}
    found: dict[tuple[str, Name], list[Part]] = {}
    for each in parts:
        if each.status != Status.WITHDRAWN:
            found.setdefault((each.rule, each.anchor), []).append(each)
    members = []
    for (rule, anchor), of_it in found.items():
        members.append(Members(rule, anchor, templates[rule]))
        members[-1].put(of_it)
    return members


def incident_of(each: Members) -> Incident:
    """Return an incident as it is now."""
    gravest = each.gravest
    return Incident(
        each.id,
        each.rule,
        each.anchor,
        each.title,
        gravest.severity,
        each.status,
        each.subjects,
        each.names,
        each.findings,
        each.times,
        each.open,
        gravest.effect,
        gravest.effect_text,
        each.cause,
        each.caused,
        each.actors,
        gravest.advice,
    )


def words(title: str, anchor: str, names: Sequence[str], actors: Sequence[str]) -> str:
    """Return the text of an incident in which words are searched."""
    return " ".join([title, anchor, *names, *actors]).lower()


def row(each: Incident, verdict: VerdictName) -> IncidentRowPayload:
    """Return an incident as lists have it, for a report without a database; `verdict` is that of its gravest
    finding."""
    shown = payload(each)
    return {
        "id": shown["id"],
        "source": 0,
        "rule": shown["rule"],
        "title": shown["title"],
        "severity": shown["severity"],
        "verdict": verdict,
        "status": shown["status"],
        "state": shown["state"],
        "anchor": shown["anchor"],
        "subjects": shown["subjects"],
        "names": shown["names"],
        "findings": len(each.findings),
        "occurrences": shown["occurrences"],
        "start": each.first,
        "end": each.last,
        "times": [first for first, _ in each.times][-TIMES:],
        "effect": shown["effect"],
        "effect_text": shown["effect_text"],
        "cause": each.cause,
        "caused": each.caused,
        "actors": shown["actors"],
        "advice": shown["advice"],
        "roots": [],
        "worst": each.findings[0],
        "acknowledged": None,
        "silenced": None,
        "url": "",
    }


def payload(each: Incident) -> IncidentPayload:
    """Return an incident as it is in the findings document `causeline.findings/v2`."""
    return {
        "id": each.id,
        "rule": each.rule,
        "title": each.title,
        "severity": each.severity,
        "status": "confirmed" if each.status == Status.CONFIRMED else "suspected",
        "state": "ongoing" if each.open else "over",
        "anchor": {
            "group": each.anchor.group,
            "kind": each.anchor.kind,
            "namespace": each.anchor.namespace,
            "name": each.anchor.name,
        },
        "subjects": each.subjects,
        "names": each.names,
        "occurrences": len(each.times),
        "first_time": documents.timestamp(each.first),
        "last_time": documents.timestamp(each.last),
        "effect": Effect(each.effect).value,
        "effect_text": each.effect_text,
        "cause": each.cause,
        "actors": each.actors,
        "advice": each.advice,
        "findings": each.findings,
    }
