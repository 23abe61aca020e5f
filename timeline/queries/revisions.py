"""The changes of one object in commit order."""

from collections.abc import Iterable, Sequence
from itertools import islice
from typing import NamedTuple

import msgspec

from timeline import chunks
from timeline.chunks import Stored
from timeline.documents import timestamp
from timeline.entries import FOREVER, Change, Clock, Entry, microseconds
from timeline.lifelines import ANONYMOUS
from timeline.models import Track
from timeline.object_payloads import RevisionPayload

PAGE = 25
_ENDS = {"created": -1, "deleted": 1}  # a life is created once and deleted once, whatever the clocks say
_BEFORE = 100  # changes before a page that are looked through for a body


class Revision(NamedTuple):
    """One change, and the object before it, where an observation of it told that."""

    sequence: int
    time: int  # drawn
    entry: Entry
    before: bytes
    seen: int  # how many observations told it


class Page(NamedTuple):
    revisions: list[Revision]
    offset: int  # of the first one, among all
    total: int


class _Change(NamedTuple):
    time: int  # drawn
    seen: list[Stored]  # what was observed of it


def revisions(source_id: int, track_id: int, offset: int = 0, limit: int = PAGE, at: int | None = None) -> Page:
    """A page of changes; the one that holds a drawn time, where that is asked for. Raises Track.DoesNotExist."""
    row = Track.objects.get(source=source_id, id=track_id)
    changes = _in_order(_of(row, chunks.entries(source_id, [key_of(track_id)], bodies=False)), _drawn(row))
    if at is not None:
        place = sum(each.time <= at for each in changes)
        offset = max(0, place - 1) // limit * limit
    offset = min(offset, max(0, len(changes) - 1))
    shown = changes[offset : offset + limit]
    bodies = _bodies(source_id, track_id, [*changes[max(0, offset - _BEFORE) : offset], *shown])
    before = next((told for each in reversed(changes[:offset]) if (told := _body(each, bodies))), b"")
    found = []
    for time, seen in shown:
        best = max(seen, key=lambda each: (each.sequence in bodies, each.entry.clock is Clock.AUDIT))
        body = bodies.get(best.sequence, b"")
        found.append(Revision(best.sequence, time, msgspec.structs.replace(best.entry, body=body), before, len(seen)))
        before = body or before
    return Page(found, offset, len(changes))


def revision(source_id: int, track_id: int, sequence: int) -> Entry | None:
    """The change that was read at this place, with its body; None where the object has none of that number."""
    found = chunks.entries(source_id, [key_of(track_id)], after=sequence - 1)
    return next((each.entry for each in islice(found, 1) if each.sequence == sequence), None)


def key_of(track_id: int) -> int:
    """What the entries of a life carry; those lives of a name that tell no UID share one (see `World.id_of`)."""
    return track_id & (2**40 - 1)


def payload(sequence: int, time: int, entry: Entry, *, bodies: bool = False) -> RevisionPayload:
    return {
        "sequence": sequence,
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
        "body": msgspec.json.decode(entry.body) if bodies and entry.body else None,
    }


def controller(actor: str, user_agent: str) -> str:
    """The short name of the program that wrote: of its account, else of how it calls itself."""
    parts = actor.split(":")
    if parts[:2] == ["system", "serviceaccount"] and len(parts) == 4:
        return parts[3]
    if parts[:2] == ["system", "node"]:
        return f"kubelet on {parts[-1]}"
    return user_agent.partition("/")[0].partition(" ")[0]


def _of(row: Track, entries: Iterable[Stored]) -> list[Stored]:
    if not row.uid.startswith(ANONYMOUS):
        return list(entries)
    start, end = microseconds(row.life.lower), row.life.upper and microseconds(row.life.upper)
    return [each for each in entries if start <= each.entry.received and (end is None or each.entry.received <= end)]


def _drawn(row: Track) -> dict[str, int]:
    """At what times the timeline draws its changes, by their revisions; "" stands for a deletion that tells none."""
    return {revision or "": time for time, revision, change, *_ in row.lifeline if revision or change == "deleted"}


def _in_order(entries: list[Stored], drawn: dict[str, int]) -> list[_Change]:
    """In commit order; several observations of one revision are one change. What the timeline folds lies between."""
    times: dict[int, int] = {}
    numbered = sorted((each for each in entries if each.entry.resource_version is not None), key=_revision)
    latest = 0
    for each in numbered:
        latest = times[each.sequence] = drawn.get(str(_revision(each)), max(latest, each.entry.received))
    for each in reversed(numbered):  # a clock that is ahead moves nothing past what follows it
        latest = times[each.sequence] = min(latest, times[each.sequence])

    def time(each: Stored) -> int:
        known = drawn.get("") if each.entry.change is Change.DELETED else None
        return times.get(each.sequence, known or each.entry.received)

    def place(each: Stored) -> tuple[int, int, int, int, int]:
        return _ENDS.get(each.entry.change, 0), time(each), _revision(each), each.entry.staged, each.sequence

    changes: list[_Change] = []
    for each in sorted(entries, key=place):
        own = each.entry.resource_version
        if changes and own is not None and changes[-1].seen[0].entry.resource_version == own:
            changes[-1].seen.append(each)
        else:
            changes.append(_Change(max(time(each), changes[-1].time if changes else 0), [each]))
    return changes


def _revision(each: Stored) -> int:
    return each.entry.resource_version or 0


def _bodies(source_id: int, track_id: int, changes: Sequence[_Change]) -> dict[int, bytes]:
    """The bodies that these changes tell, by the place of their entry in the sequence."""
    wanted = {each.sequence for change in changes for each in change.seen}
    if not wanted:
        return {}
    found = {}
    for each in chunks.entries(source_id, [key_of(track_id)], after=min(wanted) - 1):
        if each.sequence > max(wanted):
            break
        if each.sequence in wanted and each.entry.body:
            found[each.sequence] = each.entry.body
    return found


def _body(change: _Change, bodies: dict[int, bytes]) -> bytes:
    return next((bodies[each.sequence] for each in change.seen if each.sequence in bodies), b"")
