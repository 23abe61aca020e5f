"""Read what a recording says about how an object is: its phase, its conditions, who wrote it last."""

from typing import Any

import msgspec

from timeline.core.entries import Change
from timeline.kinds import Status, kind_of, status_of
from timeline.models import Track
from timeline.payloads.documents import timestamp
from timeline.payloads.objects import ConditionPayload, PhasePayload, StatusPayload, WriterPayload
from timeline.payloads.revisions import revision_payload
from timeline.queries.objects.pods import pods
from timeline.queries.objects.revisions import Latest, latest
from timeline.queries.objects.warning_events import warning_events


def status(row: Track) -> StatusPayload:
    """Return what was observed of how the object of a track is, and what it owns."""
    kind = kind_of(row.group, row.kind)
    last = latest(row)
    said = status_of(last.body, kind.telling) if last and last.body else Status()
    conditions: list[ConditionPayload] = [
        {
            "type": each.type,
            "status": each.status,
            "reason": each.reason,
            "message": each.message,
            "since": timestamp(each.since) if each.since else None,
            "telling": each.telling,
        }
        for each in said.conditions
    ]
    return {
        "phase": _phase(row),
        "conditions": conditions,
        "numbers": list(said.numbers),
        "observed": timestamp(last.observed) if last and last.body else None,
        "written": _writer(last) if last else None,
        "pods": pods(row),
        "warnings": warning_events(row),
    }


def _phase(row: Track) -> PhasePayload | None:
    """Return the last phase, and the first of the changes from which on it did not change."""
    kind = kind_of(row.group, row.kind)
    if not kind.has_phases:
        return None
    text, began, observed = "", None, False
    for at, each in enumerate(row.lifeline):
        stored = each[-1]
        if stored is None:
            continue
        facts = msgspec.convert(stored, kind.facts_type)
        if kind.phase(facts).text != text:
            text, began, observed = kind.phase(facts).text, each, bool(at) or each[2] == Change.CREATED
    if began is None:
        return None
    earliest, latest = _bounds(began)
    return {
        "text": text,
        "time": timestamp(began[0]),
        "earliest": timestamp(earliest),
        "latest": None if latest is None else timestamp(latest),
        "observed": observed,
    }


def _bounds(moment: list[Any]) -> tuple[int, int | None]:
    """Return the earliest and the latest time at which a change of a lifeline can have been committed."""
    if len(moment) < 6:  # an older version of Causeline stored it
        return moment[0], None
    before, after = moment[4]
    return moment[0] - before, None if after is None else moment[0] + after


def _writer(last: Latest) -> WriterPayload:
    shown = revision_payload(last.sequence, last.time, last.entry)
    return {
        "actor": shown["actor"],
        "user_agent": shown["user_agent"],
        "controller": shown["controller"],
        "change": shown["change"],
        "action": shown["action"],
        "resource_version": shown["resource_version"],
        "time": shown["time"],
        "earliest": shown["earliest"],
        "latest": shown["latest"],
    }
