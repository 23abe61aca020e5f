"""Make incidents of findings, alike for the command line, the report and the database. It does no I/O.

An incident is what one cause did, each time it did it. It consists of symptoms: what one rule found about one anchor.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import cached_property
from heapq import merge
from itertools import islice
from typing import NamedTuple

from timeline.history.lifelines import Name
from timeline.judging.findings import Finding
from timeline.judging.incidents.partition import Apart, Episode, Piece, episodes, pieces_of
from timeline.judging.incidents.subjects import short_name
from timeline.judging.rulebook import Rule
from timeline.payloads import documents
from timeline.payloads.findings import (
    EpisodePayload,
    FindingGroupPayload,
    IncidentPayload,
    IncidentRowPayload,
    SymptomRowPayload,
    VerdictName,
)
from timeline.payloads.incidents import advice, ranges
from timeline.payloads.incidents import symptoms as of_symptoms
from timeline.payloads.incidents.occurrences import rank
from timeline.payloads.incidents.symptoms import Part, Symptom, anchor_payload, symptoms_of
from timeline.payloads.incidents.titles import Harm, harms_of, root_of, title

TIMES = 256  # of the latest occurrences that are kept to be drawn
SHOWN = 20  # symptoms that a row of a list has
Places = Mapping[str, Sequence[str]]  # by finding: of each occurrence, the identity of the incident it belongs to


class InView(NamedTuple):
    """An incident as a view shows it, which may leave out some of its findings."""

    incident: IncidentRowPayload  # all of it, but with no symptoms that are not in the view
    symptoms: int  # in the view, as the next three
    findings: int
    occurrences: int
    rows: list[FindingGroupPayload]  # the gravest of these occurrences
    beginning: Name | None = None  # the object that it begins with; None where that is not read


class Incident:
    """One incident: the symptoms of one cause, the gravest first."""

    def __init__(self, id: str, pieces: Iterable[Piece], symptoms: Iterable[Symptom], harms: Mapping[str, str]) -> None:
        """`harms` says by rule what a cause did by which such symptoms came (`Rule.harm`)."""
        self.id = id
        self._pieces = tuple(pieces)
        self.symptoms = sorted(symptoms, key=_order)
        self._harms = harms

    @cached_property
    def episodes(self) -> list[Episode]:
        """Each time that the cause acted, in the order of time."""
        return episodes(self._pieces)

    @property
    def gravest(self) -> Symptom:
        return self.symptoms[0]

    @property
    def worst(self) -> Part:
        """The gravest finding. Wherever an incident is shown with one occurrence, it is the gravest of this finding."""
        return self.gravest.gravest

    @cached_property
    def root(self) -> str:
        """What it begins with, as the beginning of a sentence; "" if nothing proves that."""
        if not any(each.links for each in self._pieces):
            return ""
        return root_of([each for each in self.episodes if each.root and each.identity == self.id])

    @cached_property
    def title(self) -> str:
        return title(self.root, [harm(each) for each in self.symptoms], self._harms)

    @property
    def rules(self) -> list[str]:
        return sorted({each.rule for each in self.symptoms})

    @property
    def anchored_in(self) -> list[str]:
        """The namespaces of the anchors of its symptoms."""
        return sorted({each.anchor.namespace for each in self.symptoms})

    @property
    def status(self) -> str:
        """`confirmed` if a symptom is."""
        return min(each.status for each in self.symptoms)

    @property
    def open(self) -> bool:
        """Whether an occurrence still went on at the end of what the source shows."""
        return any(each.open for each in self.symptoms)

    @property
    def first(self) -> int:
        return min(each.first for each in self.symptoms)

    @property
    def last(self) -> int:
        return max(each.last for each in self.symptoms)

    @property
    def subjects(self) -> int:
        return sum(each.subjects for each in self.symptoms)

    @property
    def names(self) -> list[str]:
        """The names of the first subjects of the gravest symptoms."""
        return list(islice(dict.fromkeys(name for each in self.symptoms for name in each.names), of_symptoms.NAMES))

    @cached_property
    def findings(self) -> list[str]:
        """The ids of its findings, those of the gravest symptom first."""
        return list(dict.fromkeys(finding for each in self.symptoms for finding in each.findings))

    @property
    def occurrences(self) -> int:
        return sum(len(each.times) for each in self.symptoms)

    @property
    def times(self) -> list[int]:
        """When the latest occurrences began, in order."""
        latest = merge(*(reversed([first for first, _ in each.times[-TIMES:]]) for each in self.symptoms), reverse=True)
        return list(islice(latest, TIMES))[::-1]

    @property
    def cause(self) -> str:
        """What is behind its gravest symptom with a proven cause; "" if there is none."""
        return next((each.cause_among(self._pieces) for each in self.symptoms if each.caused), "")

    @property
    def caused(self) -> str:
        """The id of the finding that this cause is of."""
        return next((each.caused for each in self.symptoms if each.caused), "")

    @property
    def actors(self) -> list[str]:
        """Who wrote what the proofs show, those of the gravest symptom first."""
        return list(dict.fromkeys(actor for each in self.symptoms for actor in each.actors))

    @property
    def advice(self) -> list[str]:
        """What to do, step by step: the steps that end the cause take the place of those of its symptoms."""
        roots = [each.root for each in self.episodes if each.root] if self.root else []
        given = [advice.Symptom(each.rule, each.gravest.advice, each.anchor) for each in self.symptoms]
        return advice.advice(next(iter(roots), None), given)

    @property
    def roots(self) -> list[int]:
        """The track numbers of the root owners of its subjects, in order."""
        return sorted({root for each in self.symptoms for root in each.roots})

    @property
    def namespaces(self) -> list[str] | None:
        """The namespaces of all that it involves, sorted; None where they are not known."""
        involved: set[str] = set()
        for each in self.symptoms:
            if (known := each.namespaces) is None:
                return None
            involved.update(known)
        return sorted(involved)

    @property
    def words(self) -> str:
        """The text in which words are searched."""
        texts = [[each.title, each.anchor.name, *each.names] for each in self.symptoms]
        return words(self.title, [text for each in texts for text in each], self.actors)


def places_of(pieces: Iterable[Piece], apart: Collection[Apart] = ()) -> dict[str, list[str]]:
    """Return to which incidents occurrences belong, as `Places` has it. `apart` names symptoms that a person has taken
    out of an incident."""
    found: dict[str, dict[int, str]] = defaultdict(dict)
    for each in episodes(pieces, apart):
        for piece in each.pieces:
            found[piece.finding][piece.number] = each.identity
    return {finding: [of_it[number] for number in sorted(of_it)] for finding, of_it in found.items()}


def places_of_findings(findings: Iterable[Finding], apart: Collection[Apart] = ()) -> dict[str, list[str]]:
    """Return to which incidents the occurrences of findings belong, which `timeline.judge` must have judged."""
    return places_of((piece for each in findings for piece in pieces_of(each)), apart)


def incidents_of(parts: Iterable[Part], rules: Iterable[Rule], places: Places) -> list[Incident]:
    """Return the incidents of findings: the gravest first, then in order of time. Withdrawn findings have none."""
    rules = tuple(rules)
    harms = harms_of(rules)
    pieces: dict[str, list[Piece]] = defaultdict(list)
    members: dict[str, list[Part]] = defaultdict(list)
    for each in parts:
        numbers: dict[str, list[int]] = defaultdict(list)
        for number, place in enumerate(places.get(each.id, ())):
            numbers[place].append(number)
        for place, of_it in numbers.items():
            pieces[place] += [each.pieces[number] for number in of_it]
            members[place].append(each.within(of_it))
    found = [Incident(id, pieces[id], symptoms_of(of_it, rules), harms) for id, of_it in members.items()]
    return sorted(found, key=gravity)


def gravity(each: Incident) -> tuple[object, ...]:
    """Return by what incidents are sorted: the gravest first, of equally grave ones those with more harm, then in order
    of time."""
    return rank(each.worst.severity), -sum(one.excess for one in each.symptoms), each.first, each.id


def harm(each: Symptom) -> Harm:
    """Return what the title of an incident needs to know of a symptom."""
    gravest = each.gravest
    return Harm(each.rule, each.anchor, each.title, gravest.severity, gravest.effect, each.excess)


def _order(each: Symptom) -> tuple[object, ...]:
    unexplained = each.caused != each.gravest.id
    return *harm(each).gravity, unexplained, -each.excess, each.first, each.id


def words(title: str, names: Sequence[str], actors: Sequence[str]) -> str:
    """Return the text of an incident in which words are searched."""
    return " ".join(dict.fromkeys([title, *names, *actors])).lower()


def row(each: Incident, verdict: VerdictName) -> IncidentRowPayload:
    """Return an incident as lists have it, for a report without a database; `verdict` is that of its gravest
    finding."""
    shown = payload(each)
    return {
        "id": each.id,
        "name": short_name(each.id),
        "source": 0,
        "rule": each.gravest.rule,
        "rules": each.rules,
        "title": each.title,
        "severity": shown["severity"],
        "verdict": verdict,
        "status": shown["status"],
        "state": shown["state"],
        "anchor": anchor_payload(each.gravest.anchor),
        "anchored_in": each.anchored_in,
        "subjects": each.subjects,
        "names": each.names,
        "findings": len(each.findings),
        "occurrences": each.occurrences,
        "start": each.first,
        "end": each.last,
        "times": each.times,
        "ranges": ranges.of_incident(each.times, each.last, each.gravest.first),
        "effect": shown["effect"],
        "effect_text": shown["effect_text"],
        "root": each.root,
        "symptoms": [_symptom_row(one) for one in each.symptoms[:SHOWN]],
        "symptoms_total": len(each.symptoms),
        "cause": each.cause,
        "caused": each.caused,
        "actors": shown["actors"],
        "advice": shown["advice"],
        "roots": [],
        "worst": each.worst.id,
        "acknowledged": None,
        "silenced": None,
        "url": "",
    }


def _symptom_row(each: Symptom) -> SymptomRowPayload:
    shown = of_symptoms.payload(each)
    return {
        "id": each.id,
        "rule": each.rule,
        "title": each.title,
        "severity": shown["severity"],
        "status": shown["status"],
        "state": shown["state"],
        "anchor": shown["anchor"],
        "subjects": each.subjects,
        "names": each.names,
        "findings": len(each),
        "occurrences": len(each.times),
        "start": each.first,
        "end": each.last,
        "effect": shown["effect"],
        "effect_text": shown["effect_text"],
        "actors": shown["actors"],
        "worst": each.gravest.id,
        "silenced": False,
    }


def payload(each: Incident) -> IncidentPayload:
    """Return an incident as it is in the findings document `causeline.findings/v3`."""
    symptoms = [of_symptoms.payload(symptom) for symptom in each.symptoms]
    return {
        "id": each.id,
        "title": each.title,
        "severity": symptoms[0]["severity"],
        "status": "confirmed" if each.status == "confirmed" else "suspected",
        "state": "ongoing" if each.open else "over",
        "root": each.root,
        "first_time": documents.timestamp(each.first),
        "last_time": documents.timestamp(each.last),
        "effect": symptoms[0]["effect"],
        "effect_text": symptoms[0]["effect_text"],
        "actors": each.actors,
        "advice": each.advice,
        "episodes": [_episode(one) for one in each.episodes],
        "symptoms": symptoms,
        "findings": each.findings,
    }


def _episode(each: Episode) -> EpisodePayload:
    return {
        "first_time": documents.timestamp(min(piece.first for piece in each.pieces)),
        "last_time": documents.timestamp(max(piece.last for piece in each.pieces)),
        "findings": list(dict.fromkeys(piece.finding for piece in each.pieces)),
    }
