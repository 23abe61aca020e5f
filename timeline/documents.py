"""Pure: findings as they leave Causeline, in the form of the findings document."""

from typing import Any

from timeline.entries import ObjectRef, moment
from timeline.order import delay_bounds
from timeline.payloads import FindingPayload, ObjectPayload, ProofPayload
from timeline.rulebook import Finding, Occurrence, Proof, digest
from timeline.world import World, public_uid


def timestamp(microseconds: int) -> str:
    """ISO 8601, UTC, with all six digits."""
    return moment(microseconds).isoformat(timespec="microseconds").replace("+00:00", "Z")


def object_payload(ref: ObjectRef) -> ObjectPayload:
    return {
        "group": ref.group,
        "version": ref.version,
        "kind": ref.kind,
        "namespace": ref.namespace,
        "name": ref.name,
        "uid": public_uid(ref),
    }


def proof_payload(proof: Proof) -> ProofPayload:
    at = proof.moment
    revision = at.stamp.resource_version
    return {
        "role": proof.role,
        "resource_version": None if revision is None else str(revision),
        "time": timestamp(at.time),
        "earliest": timestamp(at.stamp.received),
        "latest": timestamp(at.stamp.staged),
        "actor": at.actor or None,
        "user_agent": at.user_agent or None,
        "audit_id": at.identity or None,
        "file": at.place.file if at.place else None,
        "line": at.place.line if at.place else None,
    }


def finding(found: Finding) -> FindingPayload:
    first, last, worst = found.occurrences[0], found.occurrences[-1], found.worst
    return {
        "id": found.id,
        "rule": found.rule,
        "severity": found.severity,
        "verdict": found.verdict.value,
        "status": found.status.value,
        "subject": object_payload(found.subject),
        "other": object_payload(found.other) if found.other else None,
        "effect": worst.effect.value,
        "effect_text": worst.effect_text.replace("{names}", found.subject.name),
        "affects": [object_payload(ref) for ref in found.affects],
        "first_time": timestamp(first.first),
        "last_time": timestamp(last.last),
        "delay_seconds": None if found.delay is None else found.delay / 1e6,
        "delay_bounds": list(found.bounds) if found.bounds else None,
        "count": len(found.occurrences),
        "summary": found.summary,
        "why": worst.why,
        "proof": [proof_payload(proof) for each in found.occurrences for proof in each.proof],
        "advice": list(found.advice),
    }


def occurrence(found: Finding, each: Occurrence, world: World, ids: dict[tuple[int, str], int]) -> dict[str, Any]:
    """What a timeline draws of an occurrence. `group` is the same for all whom it befell alike."""
    proof = [
        {**proof_payload(one), "at": one.moment.time, "track": ids.get((world.number_of(one.ref), one.ref.uid))}
        for one in each.proof
    ]
    ends = each.proof[0].moment, each.proof[-1].moment
    return {
        "group": digest(found.rule, found.other, found.subject.namespace, f"{each.first} {each.last} {found.severity}"),
        "first": each.first,
        "last": each.last,
        "headline": each.headline,
        "plural": each.plural,
        "why": each.why,
        "effect": each.effect.value,
        "effect_text": each.effect_text,
        "arrow": each.arrow,
        "hole": each.hole,
        "bounds": delay_bounds(ends[0].stamp, ends[1].stamp) if len(each.proof) > 1 else None,
        "proof": proof,
    }
