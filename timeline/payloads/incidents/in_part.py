"""Reduce a finding to what readers may see who may see the namespace of its subject, but not all objects that it
names. It does no I/O.

Of the others nothing is left: no name, no time, no proof. Texts of rules may name any of these objects, so they are
replaced.
"""

from collections.abc import Callable
from typing import Any, TypedDict

from timeline.core.entries import ObjectRef
from timeline.judging.findings import Finding, Status, namespace_of
from timeline.payloads import documents
from timeline.payloads.findings import FindingPayload
from timeline.payloads.incidents import occurrences

OTHER = "an object you may not see"
_WHY = f"The order of the events was judged together with those of {OTHER}."


class PartPayload(TypedDict):
    """What takes the place of columns of a stored finding. Times are microseconds since 1970, UTC."""

    document: FindingPayload
    occurrences: list[dict[str, Any]]  # without those that are left without an event
    subject: int  # Track.id, as the next
    tracks: list[int]
    first: int
    last: int


def finding(found: Finding, title: str, number: Callable[[ObjectRef], int | None]) -> PartPayload | None:
    """Return what is left of a finding; None if no event of its proof is. `title` is that of its rule, and `number`
    returns the track number of an object."""
    here, subject = found.subject.namespace, found.subject
    whole = documents.finding(found)
    held: list[dict[str, Any]] = []
    tracks: dict[int, None] = {each: None for each in [number(subject)] if each}
    for each, stored in ((each, occurrences.occurrence(found, each, number)) for each in found.occurrences):
        proof = []
        for (one, _), payload in zip(documents.proofs(each), stored["proof"], strict=True):
            if namespace_of(one.ref) == here:
                proof.append({**payload, "role": f"{one.ref.kind} {one.ref.name} {one.moment.change.value}"})
                tracks |= {payload["track"]: None} if payload["track"] else {}
        if not proof:
            continue
        held.append(
            {
                **stored,
                "first": proof[0]["at"],
                "last": proof[-1]["at"],
                "headline": f"{title}: {{subjects}}, and {OTHER}",
                "plural": "objects",
                "why": _WHY,
                "effect_text": "",
                "arrow": "",
                "hole": "",
                "bounds": None,
                "proof": proof,
            }
        )
    if not held or not tracks:
        return None
    first, last = held[0]["first"], max(each["last"] for each in held)
    document: FindingPayload = {
        **whole,
        "status_reason": "" if found.status is Status.CONFIRMED else "It may still turn out to be explained.",
        "other": whole["other"] if found.other and namespace_of(found.other) == here else None,
        "effect_text": "",
        "affects": [documents.object_payload(each) for each in found.affects if namespace_of(each) == here],
        "first_time": documents.timestamp(first),
        "last_time": documents.timestamp(last),
        "delay_seconds": None,
        "delay_bounds": None,
        "count": len(held),
        "summary": f"{title}: {subject.kind} {subject.name}, and {OTHER}",
        "why": _WHY,
        "proof": [
            {name: value for name, value in proof.items() if name not in ("at", "track")}  # type: ignore[misc]
            for each in held
            for proof in each["proof"]
        ],
        "advice": [],
    }
    document.pop("cause", None)
    named = [each for each in tracks if each]
    return {
        "document": document,
        "occurrences": held,
        "subject": named[0],
        "tracks": sorted(named),
        "first": first,
        "last": last,
    }
