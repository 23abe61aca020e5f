"""Describe one change of an object: when it was made, who wrote it, and what became different. It makes no queries
and no HTML."""

from collections.abc import Iterable
from typing import Any

from dashboard.presentation import wording
from dashboard.presentation.differences import (
    TOO_LARGE,
    UNNAMED,
    compared,
    cut,
    difference,
    limited,
    lines_of,
    nothing,
)
from timeline.core.entries import FOREVER, Change, Clock
from timeline.layout import bodies
from timeline.layout.bodies import Work
from timeline.layout.lanes import lane_key
from timeline.payloads import revisions
from timeline.payloads.objects import ListedRevisionPayload, ShownChangePayload
from timeline.payloads.views import CopyPayload
from timeline.queries.objects.revisions import ChangeInPlace, Revision

_FOLDED = 60  # a difference with more lines than these is folded
_WRITERS = 5  # the most possible writers that a sentence names
_WIDTH = 2000  # the most characters of a line that a page shows


def in_words(each: Revision, withheld: bool, managed: bool, work: bodies.Work) -> dict[str, Any]:
    """Return a change as the page of its object shows it.

    `withheld` says that the import stored no objects, `managed` whether the difference includes managedFields, and
    `work` what comparing may still cost.
    """
    entry = each.entry
    try:
        lines, too_large = lines_of(each, work, managed), False
    except bodies.TooLarge:
        lines, too_large = [], True
    payload = revisions.revision_payload(each.sequence, each.time, entry)
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
        "lines": [_line(line) for line in lines[: bodies.SHOWN]],
        "total": len(lines),
        "too_large": too_large,
        "cut": any(len(line.text) > _WIDTH for line in lines[: bodies.SHOWN]),
        "before": each.compared,
        "folded": len(lines) > _FOLDED,
        "added": sum(line.kind == "+" for line in lines),
        "removed": sum(line.kind == "-" for line in lines),
        "nothing": "" if lines else TOO_LARGE if too_large else nothing(each, withheld),
        "compared": compared(each) if lines else "",
        "unnamed": UNNAMED[each.attribution],
        "writers": _one_of(each),
    }


def listed(
    source_id: int, track_id: int, each: Revision, withheld: bool, work: Work | None, *, bodies: bool = False
) -> ListedRevisionPayload:
    """Return a change as it is in the list of an object's changes, with its body on request, and with its difference if
    `work` says what that may cost."""
    return {
        **revisions.revision_payload(each.sequence, each.time, each.entry, bodies=bodies),
        "attribution": each.attribution,
        "writers": [revisions.writer_payload(write) for write in each.writes],
        "difference": difference(each, withheld, work) if work else None,
        "url": f"/sources/{source_id}/objects/{track_id}/?at={each.time}#r{each.sequence}",
    }


def beside(found: ChangeInPlace, withheld: bool) -> ShownChangePayload:
    """Return a change as a timeline shows it beside its lanes. The first state of an object is shown whole."""
    each, life = found.revision, found.life
    compared = [each.compared, each.sequence if each.entry.body else None]
    about = life["object"]
    entry = each.entry
    return {
        **revisions.revision_payload(each.sequence, each.time, entry),
        "attribution": each.attribution,
        "writers": [revisions.writer_payload(write) for write in each.writes],
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
        **difference(each, withheld, bodies.Work()),
        "url": f"{life['url']}?at={each.time}#r{each.sequence}",
        "revision_url": f"{life['url']}{each.sequence}/" if entry.body else "",
        "texts": [f"{life['url']}{sequence}.json" for sequence in compared if sequence is not None],
    }


def copy_beside(copied: ChangeInPlace, stood: ChangeInPlace, withheld: bool) -> CopyPayload:
    """Return the difference between the copy of an object on which somebody acted, and what stood at that time."""
    before, after, about = copied.revision.entry, stood.revision.entry, copied.life["object"]
    known = before.body and after.body
    try:
        lines, too_large = bodies.change(before.body, after.body, bodies.Work()) if known else [], False
    except bodies.TooLarge:
        lines, too_large = [], True
    why = TOO_LARGE if too_large else "Nothing but the revision and managedFields differs." if known else ""
    missing = stood if before.body else copied
    return {
        "track": copied.life["track"] or 0,
        "kind": about["kind"],
        "name": about["name"],
        "copied": str(before.resource_version),
        "stood": str(after.resource_version),
        "lines": limited(lines),
        "lines_total": len(lines),
        "too_large": too_large,
        "nothing": "" if lines else why or nothing(missing.revision, withheld),
        "texts": [f"{each.life['url']}{each.revision.sequence}.json" for each in (copied, stood)] if known else [],
        "url": f"{copied.life['url']}?at={copied.revision.time}#r{copied.revision.sequence}",
    }


def _after(each: Revision) -> int | None:
    """Return for how many µs after its drawn time a change may have been committed; None if no clock bounds it."""
    return None if each.entry.staged == FOREVER else max(0, each.entry.staged - each.time)


def _unknown_writer(each: Revision) -> str:
    """Say why it is not known who wrote a change; "" if it is known."""
    entry = each.entry
    if entry.actor or entry.user_agent:
        return ""
    if each.writes:
        return _one_of(each)
    if entry.clock is Clock.AUDIT:
        return "The line of the audit log names neither a user nor a user agent."
    if entry.change is Change.DELETED:
        return "A watch does not show who deleted an object. An audit log does."
    return "A watch or a list shows no user, and the object's managedFields name no single latest writer."


def _one_of(each: Revision) -> str:
    """Say which writes of a log may have made a change; "" if it is known who made it, or if no log shows that."""
    if not each.writes:
        return ""
    payloads = [revisions.writer_payload(write) for write in each.writes[:_WRITERS]]
    said = [
        f"{write['controller'] or write['actor'] or 'unknown'} "
        f"({wording.instant(write['earliest'], write['earliest'], write['latest'])})"
        for write in payloads
    ]
    more = len(each.writes) - len(said)
    if more:
        said.append(f"{more} more")
    if len(each.writes) == 1:
        return f"The audit log shows a write that may have made it, or changed nothing: {said[0]}."
    return f"The audit log shows {len(each.writes)} writes that may have made it: {', '.join(said)}."


def difference_rows(lines: Iterable[tuple[Any, str]]) -> list[dict[str, str]]:
    """Return the lines of a difference as templates show them."""
    return [_line(bodies.Line(kind, text)) for kind, text in lines]


def _line(line: bodies.Line) -> dict[str, str]:
    style = {"+": "added", "-": "removed", " ": "same", "@": "place"}[line.kind]
    return {"style": style, "sign": "" if line.kind == "@" else f"{line.kind} ", "text": cut(line.text, _WIDTH)}
