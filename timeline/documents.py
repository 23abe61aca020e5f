"""Pure: findings as they leave Causeline: in the form of the findings document, and as rows of a list."""

from collections.abc import Iterable
from typing import Any

from timeline.coverage import coverage, judgeable
from timeline.entries import FOREVER, ObjectRef, moment
from timeline.lifelines import public_uid
from timeline.payloads import DocumentPayload, FindingGroupPayload, FindingPayload, ObjectPayload, ProofPayload
from timeline.rulebook import Finding, Occurrence, Proof, Rule, digest
from timeline.verdicts import bounds
from timeline.world import World

_SEVERITIES = ("error", "warning", "info")


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
        "latest": None if at.stamp.staged == FOREVER else timestamp(at.stamp.staged),
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
        "count": len(found.occurrences) if found.count is None else found.count,
        "summary": found.summary,
        "why": worst.why,
        "proof": [proof_payload(proof) for each in found.occurrences for proof in each.proof],
        "advice": list(found.advice),
    }


def document(
    world: World,
    findings: Iterable[Finding],
    *,
    name: str,
    entries: int,
    skipped: Iterable[tuple[str, int, str]],
    rules: Iterable[Rule],
) -> DocumentPayload:
    """The findings document; `skipped` are (file, line, reason)."""
    rows = coverage(world)
    return {
        "schema": "causeline.findings/v1",
        "source": {
            "name": name,
            "entries": entries,
            "skipped": [{"file": file, "line": line, "reason": reason} for file, line, reason in sorted(skipped)],
            "coverage": [
                {
                    "group": row.group,
                    "resource": row.resource,
                    "level": row.level,
                    "complete": row.complete,
                    "from_list": row.from_list,
                    "holes": row.holes,
                }
                for row in rows
            ],
            "rules": [
                {"rule": each.rule, "verdict": each.verdict, "why": each.why, "remedy": each.remedy}
                for each in judgeable(rows, rules)
            ],
            "first": timestamp(world.first) if world.first else None,
            "last": timestamp(world.last) if world.last else None,
        },
        "findings": [finding(found) for found in findings],
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
        "bounds": bounds(ends[0], ends[1]) if len(each.proof) > 1 else None,
        "proof": proof,
    }


def finding_groups(
    findings: Iterable[tuple[FindingPayload, list[dict[str, Any]], int]], start: int, end: int
) -> list[FindingGroupPayload]:
    """From (document, occurrences, root of the subject): one row an occurrence, errors first, then in order of time."""
    members: dict[str, list[tuple[dict[str, Any], FindingPayload, int]]] = {}
    for document, occurrences, root in findings:
        for each in occurrences:
            members.setdefault(each["group"], []).append((each, document, root))
    groups = [_finding_group(key, alike, start, end) for key, alike in members.items()]
    return sorted(groups, key=lambda group: (_SEVERITIES.index(group["severity"]), group["start"], group["key"]))


def _finding_group(
    key: str, alike: list[tuple[dict[str, Any], FindingPayload, int]], start: int, end: int
) -> FindingGroupPayload:
    alike.sort(key=lambda member: (member[1]["subject"]["name"], member[1]["id"]))
    each, document, root = alike[0]
    several = len(alike) > 1 or len(document["proof"]) > len(each["proof"])
    subjects = (
        f"{len(alike)} {each['plural']}"
        if len(alike) > 1
        else f"{document['subject']['kind']} {document['subject']['name']}"
    )
    names = listed([member["subject"]["name"] for _, member, _ in alike])
    return {
        "key": key,
        "summary": each["headline"].replace("{subjects}", subjects) if several else document["summary"],
        "severity": document["severity"],
        "verdict": document["verdict"],
        "status": document["status"],
        "rule": document["rule"],
        "namespace": document["subject"]["namespace"],
        "effect": each["effect"],
        "effect_text": each["effect_text"].replace("{names}", names),
        "why": each["why"],
        "proof": each["proof"],
        "advice": document["advice"],
        "start": each["first"],
        "end": each["last"],
        "in_window": each["last"] >= start and each["first"] <= end,
        "focus": root,
        "findings": [member for _, member, _ in alike],
    }


def listed(names: list[str]) -> str:
    """ring-steady-0, -1, -2: what the names share is said once; more than six are counted."""
    shared = ""
    for letters in zip(*names, strict=False):
        if len(set(letters)) > 1:
            break
        shared += letters[0]
    shared = shared[: shared.rfind("-")] if "-" in shared else ""
    shown = names[:1] + [name[len(shared) :] if shared else name for name in names[1:6]]
    more = f" and {len(names) - 6} more" if len(names) > 6 else ""
    return ", ".join(shown) + more
