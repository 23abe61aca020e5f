"""Make the incidents of the findings document `causeline.findings/v3`: each is what one cause did, each time it did it.

What is an incident in version 2, the findings of one rule about one anchor, is a symptom here. It does no I/O.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from timeline.core.actors import KIND as ACTOR
from timeline.core.durations import duration
from timeline.judging.findings import Finding, Link, Root
from timeline.judging.incidents.partition import Episode, episodes, pieces_of
from timeline.judging.rulebook import Rule
from timeline.payloads import documents
from timeline.payloads.findings import CausedIncidentPayload, EpisodePayload
from timeline.payloads.incidents import making
from timeline.payloads.incidents.members import Members, Part
from timeline.payloads.incidents.occurrences import rank

# Rules that state what others follow from. A title names the harm that these others state, where there is any.
_CAUSES = frozenset(
    {
        "stale-view",
        "stale-write",
        "view-went-back",
        "write-after-lease-lost",
        "lease-shared-config",
        "missing-reference",
    }
)


_ONE = re.compile(r"\b1 (\w+)s\b")


class Caused(NamedTuple):
    """One incident: the symptoms of one cause, and its episodes in the order of time."""

    id: str
    episodes: tuple[Episode, ...]
    symptoms: tuple[Members, ...]  # the gravest first

    @property
    def gravest(self) -> Members:
        return self.symptoms[0]

    @property
    def first(self) -> int:
        return min(each.times[0][0] for each in self.symptoms)

    @property
    def last(self) -> int:
        return max(each.last for each in self.symptoms)


def caused(findings: Iterable[Finding], rules: Iterable[Rule]) -> list[Caused]:
    """Return the incidents of findings, which `timeline.judge` judged: the gravest first, then in order of time."""
    findings = list(findings)
    by_identity: dict[str, list[Episode]] = defaultdict(list)
    for each in episodes(piece for finding in findings for piece in pieces_of(finding)):
        by_identity[each.identity].append(each)
    parts = {each.id: each for each in making.parts_of(findings)}
    rules = tuple(rules)
    found = [_incident(identity, own, parts, rules) for identity, own in by_identity.items()]
    return sorted(found, key=lambda each: (_gravity(each.gravest), each.first, each.id))


def _incident(identity: str, own: Sequence[Episode], parts: Mapping[str, Part], rules: Sequence[Rule]) -> Caused:
    numbers: dict[str, list[int]] = defaultdict(list)
    for piece in (piece for episode in own for piece in episode.pieces):
        numbers[piece.finding].append(piece.number)
    members = making.members_of((_within(parts[finding], sorted(of_it)) for finding, of_it in numbers.items()), rules)
    return Caused(identity, tuple(own), tuple(sorted(members, key=_order)))


def _within(part: Part, numbers: Sequence[int]) -> Part:
    """Return what a finding contributes with some of its occurrences."""
    if len(numbers) == len(part.times):
        return part
    return part._replace(times=[part.times[number] for number in numbers], excess=len(numbers))


def _gravity(each: Members) -> tuple[int, int]:
    return rank(each.gravest.severity), -each.gravest_effect


def _order(each: Members) -> tuple[object, ...]:
    return *_gravity(each), -each.excess, each.times[0][0], each.id


def title(each: Caused, rules: Iterable[Rule]) -> str:
    """Return the title: that of its only symptom, or else its root with the gravest harm that it did."""
    if len(each.symptoms) == 1:
        return each.gravest.title
    root = _root(each)
    if not root:
        others = len(each.symptoms) - 1
        return f"{each.gravest.title}, and {others} more {'symptom' if others == 1 else 'symptoms'} of the same cause"
    worst = [symptom for symptom in each.symptoms if _gravity(symptom) == _gravity(each.gravest)]
    harmed = next((symptom for symptom in worst if symptom.rule not in _CAUSES), each.gravest).rule
    alike = [symptom for symptom in each.symptoms if symptom.rule == harmed]
    harm = next(rule.harm for rule in rules if rule.id == harmed)
    words = harm.format(count=sum(one.excess for one in alike), anchors=_anchors(alike))
    words = _ONE.sub(r"1 \1", words)
    return f"{root}: {words}"


def _anchors(symptoms: Sequence[Members]) -> str:
    names = sorted({each.anchor for each in symptoms})
    if len(names) == 1:
        return names[0].name if names[0].kind == ACTOR else f"{names[0].kind} {names[0].name}"
    kinds = {each.kind for each in names}
    return f"{len(names)} {kinds.pop()}s" if len(kinds) == 1 else f"{len(names)} objects"


def _root(each: Caused) -> str:
    """Return what an incident begins with, as the beginning of a sentence; "" if nothing proves that."""
    links = [episode.root for episode in each.episodes if episode.root]
    if not links:
        return ""
    times = f", {len(links)} times" if len(links) > 1 else ""
    longest = max(link.until - link.since for link in links)
    lasted = times or f" for {duration(longest)}"
    match links[0]:
        case Link(root=Root.LOST_LEASE, names=(_, name)):
            return f"The old holder of Lease {name} went on writing after it had lost it{lasted}"
        case Link(root=Root.CONFIGURATION, names=(_, name)):
            return f"Workloads with different schedulers elect on Lease {name}"
        case Link(root=Root.OLD_COPIES, names=(component, _, kind)):
            return f"{component} acted on old copies of {kind}s{lasted}"
        case Link(names=(_, kind, _, name)):
            return f"{kind} {name} was missing{lasted}"
    raise ValueError(f"there is no such root: {links[0]}")


def payload(each: Caused, rules: Iterable[Rule]) -> CausedIncidentPayload:
    """Return an incident as it is in the findings document `causeline.findings/v3`."""
    symptoms = [making.payload(making.incident_of(symptom)) for symptom in each.symptoms]
    findings = list(dict.fromkeys(finding for symptom in each.symptoms for finding in symptom.findings))
    actors = list(dict.fromkeys(actor for symptom in symptoms for actor in symptom["actors"]))
    return {
        "id": each.id,
        "title": title(each, rules),
        "severity": symptoms[0]["severity"],
        "status": "confirmed" if any(one["status"] == "confirmed" for one in symptoms) else "suspected",
        "state": "ongoing" if any(one["state"] == "ongoing" for one in symptoms) else "over",
        "root": _root(each),
        "first_time": documents.timestamp(each.first),
        "last_time": documents.timestamp(each.last),
        "effect": symptoms[0]["effect"],
        "effect_text": symptoms[0]["effect_text"],
        "actors": actors,
        "advice": list(dict.fromkeys(line for one in symptoms for line in one["advice"])),
        "episodes": [_episode(one) for one in each.episodes],
        "symptoms": symptoms,
        "findings": findings,
    }


def _episode(each: Episode) -> EpisodePayload:
    return {
        "first_time": documents.timestamp(min(piece.first for piece in each.pieces)),
        "last_time": documents.timestamp(max(piece.last for piece in each.pieces)),
        "findings": list(dict.fromkeys(piece.finding for piece in each.pieces)),
    }
