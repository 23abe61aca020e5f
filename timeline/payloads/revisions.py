"""Make the payload of one observed change of one object. It does no I/O."""

from timeline.core.entries import FOREVER, Entry
from timeline.core.values import decoded
from timeline.payloads.documents import timestamp
from timeline.payloads.objects import ChangePayload, PossibleWritePayload


def revision_payload(sequence: int, time: int, entry: Entry, *, bodies: bool = False) -> ChangePayload:
    return {
        "sequence": sequence,
        "uid": entry.ref.uid or None,
        "time": timestamp(time),
        "earliest": timestamp(entry.received),
        "latest": None if entry.staged == FOREVER else timestamp(entry.staged),
        "clock": entry.clock.value,
        "resource_version": None if entry.resource_version is None else str(entry.resource_version),
        "change": entry.change.value,
        "action": entry.action,
        "actor": entry.actor or None,
        "user_agent": entry.user_agent or None,
        "controller": controller(entry.actor, entry.user_agent) or None,
        "audit_id": entry.identity or None,
        "file": entry.place.file if entry.place else None,
        "line": entry.place.line if entry.place else None,
        "body": decoded(entry.body) if bodies and entry.body else None,
    }


def writer_payload(write: Entry) -> PossibleWritePayload:
    return {
        "controller": controller(write.actor, write.user_agent) or None,
        "actor": write.actor or None,
        "user_agent": write.user_agent or None,
        "earliest": timestamp(write.received),
        "latest": None if write.staged == FOREVER else timestamp(write.staged),
        "audit_id": write.identity or None,
        "file": write.place.file if write.place else None,
        "line": write.place.line if write.place else None,
    }


def controller(actor: str, user_agent: str) -> str:
    """Return the short name of the program that made a change, from its account or else from its user agent."""
    parts = actor.split(":")
    if parts[:2] == ["system", "serviceaccount"] and len(parts) == 4:
        return parts[3]
    if parts[:2] == ["system", "node"]:
        return f"kubelet on {parts[-1]}"
    return user_agent.partition("/")[0].partition(" ")[0]
