"""These pages show one object: its lifeline, its relations, and the difference that each change made."""

from typing import TYPE_CHECKING, Any

from django.http import Http404
from django.shortcuts import render
from django.views.decorators.http import require_safe

from dashboard.drawing.pictures import picture
from dashboard.presentation import wording
from timeline import queries
from timeline.core.entries import Change
from timeline.kinds import qualified
from timeline.layout import bodies
from timeline.models import Source, Track

if TYPE_CHECKING:
    from django.http import HttpRequest, HttpResponse

    from timeline.payloads.objects import LifePayload, TrackPayload
    from timeline.queries import Revision, SourceRow

_FOLDED = 60  # a difference with more lines than these is folded
_LINES = 3000  # the most lines of a difference that are shown


@require_safe
def show_object(request: "HttpRequest", source_id: int, track_id: int) -> "HttpResponse":
    source, track = _asked(source_id, track_id)
    managed = request.GET.get("managed") == "1"
    offset, at = (number(request, name) for name in ("offset", "at"))
    page = queries.revisions(source_id, track_id, offset or 0, at=at)
    following = page.offset + len(page.revisions)
    columns, start, end = queries.life_columns(track)
    withheld = queries.withheld(source_id)
    context = {
        "source": source,
        "track": track,
        "kind": qualified(track["object"]["group"], track["object"]["kind"]),
        "when": when(track["start"], track["end"]),
        "picture": picture(columns, start, end),
        "related": list(_related(track)),
        "managed": managed,
        "revisions": [{**_revision(each, managed, withheld), "asked": each.time == at} for each in page.revisions],
        "page": {
            "offset": page.offset,
            "first": page.offset + 1,
            "last": following,
            "total": page.total,
            "before": max(0, page.offset - queries.PAGE) if page.offset else None,
            "after": following if following < page.total else None,
        },
    }
    return render(request, "object.html", context)


@require_safe
def show_revision(request: "HttpRequest", source_id: int, track_id: int, sequence: int) -> "HttpResponse":
    source, track = _asked(source_id, track_id)
    entry = queries.revision(source_id, track_id, sequence)
    if entry is None or not entry.body:
        raise Http404("The recording has no body of the object at this change.")
    managed = request.GET.get("managed") == "1"
    context = {
        "source": source,
        "track": track,
        "sequence": sequence,
        "at": entry.received,
        "clock": wording.clock_of(entry.received),
        "revision": entry.resource_version,
        "managed": managed,
        "yaml": bodies.as_yaml(entry.body, managed_fields=managed),
    }
    return render(request, "revision.html", context)


def _asked(source_id: int, track_id: int) -> "tuple[SourceRow, TrackPayload]":
    source = queries.source(source_id)
    if source is None:
        raise Http404("No such recording.")
    try:
        return source, queries.track(source_id, track_id)
    except (Source.DoesNotExist, Track.DoesNotExist):
        raise Http404(f"The recording {source.name} has no such object.") from None


def number(request: "HttpRequest", name: str) -> int | None:
    """Return the whole number that a parameter of the address gives; None without one."""
    text = request.GET.get(name, "")
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 18 else None


def when(start: int | None, end: int | None) -> str:
    if start is None:
        return "never seen"
    return wording.span(start, end) if end else f"since {wording.span(start, start).partition(' – ')[0]}"


def _related(track: "TrackPayload") -> Any:
    """Yield each heading that has objects, with these objects."""
    groups: list[tuple[str, list[LifePayload], int]] = [
        (
            "Other incarnations of this name",
            [each for each in track["incarnations"] if each["track"] != track["track"]],
            0,
        ),
        ("Owner", [track["owner"]] if track["owner"] else [], 0),
        ("Children", track["children"], track["children_total"]),
        ("Needs", track["needs"], 0),
        ("Needed by", track["needed_by"], track["needed_by_total"]),
        ("Events about it", track["events"], track["events_total"]),
    ]
    for heading, lives, total in groups:
        if lives:
            members = [{**each, "when": when(each["start"], each["end"])} for each in lives]
            yield {"heading": heading, "lives": members, "total": max(total, len(lives))}


def _revision(each: "Revision", managed: bool, withheld: bool) -> dict[str, Any]:
    entry = each.entry
    lines = bodies.change(each.before, entry.body, managed_fields=managed) if each.before and entry.body else []
    payload = queries.revision_payload(each.sequence, each.time, entry)
    earliest, latest = payload["earliest"], payload["latest"]
    return {
        "sequence": each.sequence,
        "change": entry.change.value,
        "action": entry.action,
        "iso": payload["time"],
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


_UNNAMED = {
    "uid": "",
    "time": "The log line names no UID. It is a change of this object, because no other object had the name then.",
    "possible": "The log line names no UID. Another object had the name at about that time, and may be meant.",
}


def _compared(each: "Revision") -> str:
    """Say that changes in between did not include the object, so the difference may be theirs."""
    if not each.between:
        return ""
    changes = "1 change" if each.between == 1 else f"{each.between} changes"
    return f"Compared with the last state that was observed. {changes} in between did not include the object."


def _line(line: bodies.Line) -> dict[str, str]:
    style = {"+": "added", "-": "removed", " ": "same", "@": "place"}[line.kind]
    return {"style": style, "sign": "" if line.kind == "@" else f"{line.kind} ", "text": line.text}


def _nothing(each: "Revision", withheld: bool) -> str:
    """Say why the page shows no difference."""
    if not each.entry.body and each.entry.facts is not None and withheld:
        return "The object was not kept: Causeline redacted strictly (CAUSELINE_REDACT) when this was imported."
    if not each.entry.body:
        return "The observation does not include the object: what was changed is not known."
    if not each.before:
        first = each.entry.change in (Change.CREATED, Change.OBSERVED)
        return (
            "The first state that was seen."
            if first
            else "No earlier observation includes the object: there is nothing to compare with."
        )
    if each.between:
        return f"Nothing but the revision and managedFields differs. {_compared(each)}"
    return "Nothing but the revision and managedFields changed."
