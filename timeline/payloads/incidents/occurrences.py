"""Build the occurrences of findings as they are stored and drawn, and the rows of the list of findings.

A finding is stored once, as its document and its occurrences (`StoredFinding`). The list of findings and the drawing of
a window are derived from these. This module is pure.
"""

from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Any, NamedTuple

from timeline.core.actors import named
from timeline.core.entries import ObjectRef
from timeline.history.lifelines import Name
from timeline.judging.findings import Finding, Occurrence, Part, digest
from timeline.judging.incidents.partition import Piece, pieces_of
from timeline.judging.incidents.subjects import identity
from timeline.payloads import documents
from timeline.payloads.documents import proof_payload, proofs
from timeline.payloads.findings import FindingGroupPayload, FindingPayload, IncidentRowPayload
from timeline.payloads.incidents.extents import with_extent
from timeline.payloads.incidents.ranges import ranges

_SEVERITIES = ("error", "warning", "info")


def occurrence(finding: Finding, each: Occurrence, number: Callable[[ObjectRef], int | None]) -> dict[str, Any]:
    """Return an occurrence as it is stored and drawn. `number` returns the track number of an object.

    The field `group` is the same for all subjects that the occurrence concerned alike. Times are microseconds since
    1970, UTC.
    """
    proof = [
        {**proof_payload(one, time), "at": time, "track": number(one.ref), "part": one.part.value}
        for one, time in proofs(each)
    ]
    when = f"{each.first} {each.last} {finding.severity} {finding.alone}".rstrip()
    return {
        "group": digest(finding.rule, finding.other, finding.subject.namespace, when),
        "first": each.first,
        "last": each.last,
        "headline": each.headline,
        "plural": each.plural,
        "why": each.why,
        "effect": each.effect.value,
        "effect_text": each.effect_text,
        "arrow": each.arrow,
        "hole": each.hole,
        "open": each.open,
        "bounds": [each.interval.least, each.interval.most] if each.interval else None,
        "proof": proof,
    }


def acting(occurrences: Iterable[dict[str, Any]]) -> list[str]:
    """Return who made what went wrong in stored occurrences, once for each write, as `timeline.core.actors.named` names
    them.

    Of each occurrence those count who wrote an act; where nobody is known for any act, those who wrote what came too
    late or removed what was needed; and else all who wrote what proves it.
    """
    return [name for each in occurrences for name in _acting(each["proof"])]


def _acting(proof: Iterable[dict[str, Any]]) -> list[str]:
    by_part: dict[bool | None, list[str]] = {}
    everybody = []
    for one in proof:
        if name := named(one["actor"], one["user_agent"]):
            everybody.append(name)
            by_part.setdefault(_WENT_WRONG.get(one.get("part", "")), []).append(name)
    return by_part.get(True) or by_part.get(False) or everybody


_WENT_WRONG = {Part.ACT: True, Part.LATE: False, Part.REMOVED: False}


class StoredFinding(NamedTuple):
    """A finding as it is stored. `subject` and `root` are track numbers, as `World.id_of` returns them."""

    subject: int
    root: int  # the root owner of the subject
    document: FindingPayload
    occurrences: list[dict[str, Any]]  # what `occurrence` returned for each
    places: Sequence[str] = ()  # of each occurrence, the identity of the incident that it belongs to
    anchor: Name | None = None  # what its symptom is about
    namespaces: Sequence[str] | None = None  # of all that it names; None if that is not known
    pieces: tuple[Piece, ...] = ()  # of each occurrence, what decides to which incident it belongs


def stored(
    finding: Finding,
    number: Callable[[ObjectRef], int | None],
    subject: int = 0,
    root: int = 0,
    places: Sequence[str] = (),
) -> StoredFinding:
    """Return a finding as it is stored. `number` returns the track number of an object."""
    return StoredFinding(
        subject,
        root,
        documents.finding(finding),
        [occurrence(finding, each, number) for each in finding.occurrences],
        places,
        finding.anchor,
        finding.namespaces,
        tuple(pieces_of(finding)) if finding.anchor else (),
    )


_Member = tuple[dict[str, Any], StoredFinding, str]  # an occurrence, its finding, and the incident that it belongs to


class OccurrenceRow(NamedTuple):
    """A row of the list of findings: one occurrence, together with all subjects that it concerned alike."""

    payload: FindingGroupPayload
    drawn: list[tuple[int, dict[str, Any]]]  # the track number of each subject, and its occurrence
    namespaces: list[str] | None  # of all of its findings; None if those of one are not known


def rows(findings: Iterable[StoredFinding], page: str = "", keys: Collection[str] | None = None) -> list[OccurrenceRow]:
    """Return the rows of these findings: errors first, then in order of time.

    `page` is the address of a finding's page without its id; "" for rows without addresses. With `keys`, only the rows
    with these keys are returned; pass all findings of such a row.
    """
    members: dict[str, list[_Member]] = {}
    for finding in findings:
        for at, each in enumerate(finding.occurrences):
            if keys is None or each["group"] in keys:
                place = finding.places[at] if finding.places else ""
                members.setdefault(each["group"], []).append((each, finding, place))
    found = [_row(key, alike, page) for key, alike in members.items()]
    return sorted(found, key=lambda row: gravest(row.payload))


def rank(severity: str) -> int:
    """Return 0 for an error, 1 for a warning, 2 for an info."""
    return _SEVERITIES.index(severity)


def gravest(row: FindingGroupPayload | IncidentRowPayload) -> tuple[int, int, str]:
    """Return by what rows are sorted in the order "gravest": by their severity, and then by time."""
    return rank(row["severity"]), row["start"], str(row.get("key") or row.get("id"))


def _row(key: str, alike: list[_Member], page: str) -> OccurrenceRow:
    alike.sort(key=lambda member: (member[1].document["subject"]["name"], member[1].document["id"]))
    each, first, _ = alike[0]
    document = first.document
    several = len(alike) > 1 or len(document["proof"]) > len(each["proof"])
    subjects = (
        f"{len(alike)} {each['plural']}"
        if len(alike) > 1
        else f"{document['subject']['kind']} {document['subject']['name']}"
    )
    names = listed([member.document["subject"]["name"] for _, member, _ in alike])
    payload: FindingGroupPayload = {
        "key": key,
        "summary": each["headline"].replace("{subjects}", subjects) if several else document["summary"],
        "severity": document["severity"],
        "verdict": document["verdict"],
        "status": document["status"],
        "rule": document["rule"],
        "namespace": document["subject"]["namespace"],
        "effect": each["effect"],
        "effect_text": each["effect_text"].replace("{names}", names),
        "cause": _cause([member for _, member, _ in alike]),
        "why": each["why"],
        "proof": each["proof"],
        "advice": document["advice"],
        "start": each["first"],
        "end": each["last"],
        "ranges": ranges(each["first"], each["last"], each["proof"]),
        "focus": first.root,
        "url": f"{page}{document['id']}/" if page else "",
        "acknowledged": None,
        "incidents": sorted({place for *_, place in alike}),
        "symptoms": sorted({identity(document["rule"], one.anchor) for _, one, _ in alike if one.anchor}),
        "findings": [member.document for _, member, _ in alike],
    }
    return OccurrenceRow(payload, [(member.subject, one) for one, member, _ in alike], _namespaces(alike))


def _namespaces(alike: list[_Member]) -> list[str] | None:
    involved: set[str] = set()
    for _, member, _ in alike:
        if member.namespaces is None:
            return None
        involved.update(member.namespaces)
    return sorted(involved)


def _cause(findings: list[StoredFinding]) -> str:
    """Return the first cause that is proven of these findings, and for how many; "" if there is none."""
    causes = {each.document["id"]: each.document["cause"] for each in findings if "cause" in each.document}
    if not causes:
        return ""
    first = next(iter(causes.values()))
    proven = [id for id, each in causes.items() if each["rule"] == first["rule"]]
    known = (piece for each in findings for piece in each.pieces)
    return with_extent(first["sentence"], proven, [each.document["id"] for each in findings], known)


def listed(names: list[str]) -> str:
    """Return at most six names as text, in which a common prefix is written only once: "ring-steady-0, -1, -2"."""
    shared = ""
    for letters in zip(*names, strict=False):
        if len(set(letters)) > 1:
            break
        shared += letters[0]
    shared = shared[: shared.rfind("-")] if "-" in shared else ""
    shown = names[:1] + [name[len(shared) :] if shared else name for name in names[1:6]]
    more = f" and {len(names) - 6} more" if len(names) > 6 else ""
    return ", ".join(shown) + more
