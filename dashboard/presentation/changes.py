"""This module words one change of an object: when, who wrote it, and the difference that it made. It makes no queries
and no HTML."""

from collections.abc import Iterable
from typing import Any

from dashboard.presentation import wording
from timeline import queries
from timeline.core.entries import FOREVER, Change, Clock
from timeline.layout import bodies
from timeline.layout.lanes import lane_key
from timeline.payloads.objects import ShownChangePayload
from timeline.payloads.views import CopyPayload
from timeline.queries import Revision

_FOLDED = 60  # a difference with more lines than these is folded
_LINES = 3000  # the most lines of a difference that a page shows
_LINES_BESIDE = 400  # the most lines that are shown beside a timeline
_WIDTH = 500  # the most characters of a line beside a timeline
_FIRST = (Change.CREATED, Change.OBSERVED)


def in_words(each: Revision, withheld: bool, managed: bool) -> dict[str, Any]:
    """Return a change as the page of its object shows it.

    `withheld` says that the import stored no objects, and `managed` whether the difference includes managedFields.
    """
    entry = each.entry
    lines = _difference(each, managed)
    payload = queries.revision_payload(each.sequence, each.time, entry)
    earliest, latest = payload["earliest"], payload["latest"]
    return {
        "sequence": each.sequence,
        "change": entry.change.value,
        "action": entry.action,
        "iso": payload["time"],
        "earliest": earliest,
        "time": wording.instant(payload["time"], earliest, latest),
        "interval": (
            f"committed within {wording.interval(earliest, latest)}"
            if latest
            else f"committed at {wording.instant(earliest, earliest, None)} or later, by the object's own clock"
        ),
        "revision": payload["resource_version"],
        "controller": payload["controller"],
        "actor": payload["actor"],
        "agent": payload["user_agent"],
        "place": f"{payload['file']}:{payload['line']}" if payload["line"] else payload["file"],
        "seen": each.seen,
        "has_body": bool(entry.body),
        "lines": [_line(line) for line in lines[:_LINES]],
        "folded": len(lines) > _FOLDED,
        "added": sum(line.kind == "+" for line in lines),
        "removed": sum(line.kind == "-" for line in lines),
        "nothing": "" if lines else _nothing(each, withheld),
        "compared": _compared(each) if lines else "",
        "unnamed": _UNNAMED[each.attribution],
    }


def beside(found: queries.ChangeInPlace, withheld: bool) -> ShownChangePayload:
    """Return a change as a timeline shows it beside its lanes. The first state of an object is shown whole."""
    each, life = found.revision, found.life
    about = life["object"]
    entry = each.entry
    whole = bool(entry.body) and not each.before and entry.change in _FIRST
    lines = [bodies.Line(" ", text) for text in bodies.as_yaml(entry.body).splitlines()] if whole else _difference(each)
    return {
        **queries.revision_payload(each.sequence, each.time, entry),
        "attribution": each.attribution,
        "track": life["track"] or 0,
        "object": about,
        "lane": lane_key(about["group"], about["kind"], about["namespace"], about["name"]),
        "short": life["short"],
        "family": life["family"],
        "at": each.time,
        "within": (max(0, each.time - entry.received), _after(each)),
        "number": found.number,
        "total": found.total,
        "earlier": found.earlier,
        "later": found.later,
        "unknown_writer": _unknown_writer(each),
        "whole": whole,
        "lines": [(line.kind, line.text[:_WIDTH]) for line in lines[:_LINES_BESIDE]],
        "lines_total": len(lines),
        "notes": list(filter(None, [_UNNAMED[each.attribution], _compared(each) if lines and not whole else ""])),
        "nothing": "" if lines else _nothing(each, withheld),
        "url": f"{life['url']}?at={each.time}#r{each.sequence}",
        "revision_url": f"{life['url']}{each.sequence}/" if entry.body else "",
    }


def copy_beside(copied: queries.ChangeInPlace, stood: queries.ChangeInPlace, withheld: bool) -> CopyPayload:
    """Return the difference between the copy of an object on which somebody acted, and what stood at that time."""
    before, after, about = copied.revision.entry, stood.revision.entry, copied.life["object"]
    known = before.body and after.body
    lines = bodies.change(before.body, after.body) if known else []
    why = "Nothing but the revision and managedFields differs." if known else ""
    missing = stood if before.body else copied
    return {
        "track": copied.life["track"] or 0,
        "kind": about["kind"],
        "name": about["name"],
        "copied": str(before.resource_version),
        "stood": str(after.resource_version),
        "lines": [(line.kind, line.text[:_WIDTH]) for line in lines[:_LINES_BESIDE]],
        "lines_total": len(lines),
        "nothing": "" if lines else why or _nothing(missing.revision, withheld),
        "url": f"{copied.life['url']}?at={copied.revision.time}#r{copied.revision.sequence}",
    }


def _after(each: Revision) -> int | None:
    """Return for how many µs after its drawn time a change may have been committed; None if no clock bounds it."""
    return None if each.entry.staged == FOREVER else max(0, each.entry.staged - each.time)


def _difference(each: Revision, managed: bool = False) -> list[bodies.Line]:
    if not each.before or not each.entry.body:
        return []
    return bodies.change(each.before, each.entry.body, managed_fields=managed)


def _unknown_writer(each: Revision) -> str:
    """Say why it is not known who wrote a change; "" if it is known."""
    entry = each.entry
    if entry.actor or entry.user_agent:
        return ""
    if entry.clock is Clock.AUDIT:
        return "The line of the audit log names neither a user nor a user agent."
    if entry.change is Change.DELETED:
        return "A watch does not show who deleted an object. An audit log does."
    return "A watch or a list shows no user, and the object's managedFields name no single latest writer."


_UNNAMED = {
    "uid": "",
    "time": "The log line names no UID. It is a change of this object, because no other object had the name then.",
    "possible": "The log line names no UID. Another object had the name at about that time, and may be meant.",
}


def _compared(each: Revision) -> str:
    """Say that changes in between did not include the object, so the difference may be theirs."""
    if not each.between:
        return ""
    changes = "1 change" if each.between == 1 else f"{each.between} changes"
    return f"Compared with the last state that was observed. {changes} in between did not include the object."


def difference_rows(lines: Iterable[tuple[Any, str]]) -> list[dict[str, str]]:
    """Return the lines of a difference as templates show them."""
    return [_line(bodies.Line(kind, text)) for kind, text in lines]


def _line(line: bodies.Line) -> dict[str, str]:
    style = {"+": "added", "-": "removed", " ": "same", "@": "place"}[line.kind]
    return {"style": style, "sign": "" if line.kind == "@" else f"{line.kind} ", "text": line.text}


def _nothing(each: Revision, withheld: bool) -> str:
    """Say why no difference is shown."""
    if not each.entry.body and each.entry.facts is not None and withheld:
        return "The object was not kept: Causeline redacted strictly (CAUSELINE_REDACT) when this was imported."
    if not each.entry.body:
        return "The observation does not include the object: what was changed is not known."
    if not each.before:
        return (
            "The first state that was seen."
            if each.entry.change in _FIRST
            else "No earlier observation includes the object: there is nothing to compare with."
        )
    if each.entry.change is Change.DELETED and not each.between:
        return "It was deleted in the state that was seen before."
    if each.between:
        return f"Nothing but the revision and managedFields differs. {_compared(each)}"
    return "Nothing but the revision and managedFields changed."
