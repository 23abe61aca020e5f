"""This module damages audit logs as real systems do: it removes lines, kinds, bodies and fields, and shifts clocks."""

import random
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from typing import Any

from timeline.judging.coverage.audit_policy import Attributes, Policy

Event = dict[str, Any]
Log = list[Event]
_TIMES = ("requestReceivedTimestamp", "stageTimestamp")
_FORM = "%Y-%m-%dT%H:%M:%S.%fZ"
_LEVELS = ("Metadata", "Request", "RequestResponse")
_GKE_IN_FULL = {"", "apps", "batch", "autoscaling", "policy", "networking.k8s.io", "storage.k8s.io"}


def resource(event: Event) -> str:
    """Return the resource as an audit policy names it, such as pods or pods/status."""
    ref = event["objectRef"]
    return "/".join(filter(None, (ref["resource"], ref.get("subresource"))))


def kind(event: Event) -> str:
    return str(event["objectRef"]["resource"])


def namespace(event: Event) -> str:
    return str(event["objectRef"].get("namespace", ""))


def client(event: Event) -> str:
    return f"{event['user']['username']} {event['userAgent']}"


def lost(log: Log, chance: random.Random, share: float) -> Log:
    return [event for event in log if chance.random() >= share]


def without_piece(log: Log, chance: random.Random, length: int) -> Log:
    """Remove consecutive lines, as if a file had been rotated away or a disk had been full for some minutes."""
    start = chance.randrange(max(1, len(log) - length))
    return log[:start] + log[start + length :]


def logged_at(level: str, event: Event) -> Event:
    """Return the event as a policy logs it whose highest level is `level`."""
    if _LEVELS.index(event["level"]) <= _LEVELS.index(level):
        return event
    drop = {"responseObject", "requestObject"} if level == "Metadata" else {"responseObject"}
    return {key: value for key, value in event.items() if key not in drop} | {"level": level}


def by_gke(log: Log) -> Log:
    """Return the log as the policy of a managed cluster writes it: without Events, with status writes of kubelets as
    requests only, and with foreign groups at level Metadata."""
    kept = []
    for event in log:
        group = event["objectRef"].get("apiGroup", "")
        if kind(event) == "events":
            continue
        if event["userAgent"].startswith("kubelet") and resource(event) in ("pods/status", "nodes/status"):
            event = logged_at("Request", event)
        elif kind(event) in ("configmaps", "secrets") or group not in _GKE_IN_FULL:
            event = logged_at("Metadata", event)
        kept.append(event)
    return kept


def stripped(log: Log, of: str) -> Log:
    """Remove a field from the events, or from the metadata in their bodies."""
    return [_without(event, of) for event in log]


def _without(event: Event, of: str) -> Event:
    event = {key: value for key, value in event.items() if key != of}
    if of in ("uid", "resourceVersion"):
        event["objectRef"] = {key: value for key, value in event["objectRef"].items() if key != of}
    for body in ("requestObject", "responseObject"):
        metadata = event.get(body, {}).get("metadata") if isinstance(event.get(body), dict) else None
        if isinstance(metadata, dict):
            kept = {key: value for key, value in metadata.items() if key != of}
            event[body] = {**event[body], "metadata": kept}
    return event


def rounded(log: Log, digits: int) -> Log:
    """Round the times to fewer digits, as log stores do."""
    return [event | {key: _cut(event[key], digits) for key in _TIMES} for event in log]


def _cut(time: str, digits: int) -> str:
    second, _, fraction = time.removesuffix("Z").partition(".")
    return f"{second}.{fraction[:digits]}Z" if digits else f"{second}Z"


def shifted(log: Iterable[Event], seconds: float) -> Log:
    """Shift the times, as if they came from a clock that is ahead."""
    return [event | {key: _later(event[key], seconds) for key in _TIMES} for event in log]


def _later(time: str, seconds: float) -> str:
    parsed = datetime.strptime(time, _FORM).replace(tzinfo=UTC)
    return (parsed + timedelta(seconds=seconds)).strftime(_FORM)


def over_servers(log: Log, chance: random.Random, servers: int = 3) -> list[Log]:
    """Return what each of several API servers logs. A client stays with one server, and sometimes connects to
    another."""
    files: list[Log] = [[] for _ in range(servers)]
    homes: dict[str, int] = {}
    for event in log:
        who = client(event)
        if who not in homes or chance.random() < 0.02:
            homes[who] = chance.randrange(servers)
        files[homes[who]].append(event)
    return [file for file in files if file]


def logged_by(policy: Policy, log: Iterable[Event]) -> Log:
    """Return what an API server with this policy writes, of which this log at level RequestResponse is all."""
    return [logged for event in log if (logged := _logged_by(policy, event))]


def _logged_by(policy: Policy, event: Event) -> Event | None:
    ref = event.get("objectRef", {})
    at_collection = event["verb"] in ("create", "deletecollection") and "subresource" not in ref
    asked = Attributes(
        event["verb"],
        ref.get("apiGroup", ""),
        ref.get("resource", ""),
        ref.get("subresource", ""),
        ref.get("namespace", ""),
        "" if at_collection else ref.get("name", ""),
        event["user"].get("username", ""),
        tuple(event["user"].get("groups", ())),
        event.get("requestURI", "").partition("?")[0],
    )
    number = policy.deciding(asked)
    line = policy.rules[number] if number is not None else None
    if line is None or line.level == "None" or policy.omits(line, event["stage"]):
        return None
    event = logged_at(line.level, event)
    if policy.omits_managed_fields(line):
        bodies = ("responseObject",) if event["verb"] == "patch" else ("requestObject", "responseObject")
        event = event | {body: _without_managed_fields(event[body]) for body in bodies if body in event}
    return event


def _without_managed_fields(body: Any) -> Any:
    if not isinstance(body, dict):
        return body
    if isinstance(body.get("items"), list):
        body = body | {"items": [_without_managed_fields(each) for each in body["items"]]}
    if not isinstance(body.get("metadata"), dict):
        return body
    return body | {"metadata": {key: value for key, value in body["metadata"].items() if key != "managedFields"}}
