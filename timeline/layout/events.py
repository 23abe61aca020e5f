"""List the changes of tracks in commit order, each with what the timeline draws of it. It does no I/O.

Times are microseconds since 1970, UTC.
"""

import heapq
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import msgspec

from timeline.core.entries import ObjectRef
from timeline.kinds import Kind, kind_of
from timeline.layout.phases import marks
from timeline.payloads.documents import timestamp
from timeline.payloads.events import EventPayload, EventsPayload

Place = tuple[int, int, int, int]  # of an event among all: its drawn time, revision, track, and place in the lifeline


class Life(NamedTuple):
    """A track whose changes are listed."""

    track: int
    ref: ObjectRef
    lifeline: Sequence[Sequence[Any]]  # as `outline.lifeline` returns it
    page: str = ""  # the address of its page; "" without a server


class _Event(NamedTuple):
    place: Place
    life: Life
    row: Sequence[Any]
    text: str


def events(
    lives: Iterable[Life], start: int, end: int, *, every: bool, after: str, limit: int, complete: bool
) -> EventsPayload:
    """Return a page of the changes from `start` to `end`; with `every`, also those that are not drawn.

    `after` is the cursor of the page before, or "". `complete` says whether `lives` are all tracks that match.
    """
    since = tuple(map(int, after.split("."))) if after else ()
    total = undrawn = objects = 0

    def following() -> Iterator[_Event]:
        nonlocal total, undrawn, objects
        for life in lives:
            objects += 1
            for each in _of_life(life, start, end):
                if not each.text and not every:
                    undrawn += 1
                    continue
                total += 1
                if each.place > since:
                    yield each

    found = heapq.nsmallest(limit + 1, following(), key=lambda each: each.place)
    more = len(found) > limit
    return {
        "events": [_payload(each) for each in found[:limit]],
        "next": ".".join(map(str, found[limit - 1].place)) if more else None,
        "total": total,
        "undrawn": undrawn,
        "objects": objects,
        "complete": complete,
    }


def _of_life(life: Life, start: int, end: int) -> Iterator[_Event]:
    kind = kind_of(life.ref.group, life.ref.kind)
    before: Any = None
    for index, row in enumerate(life.lifeline):
        time, revision, change, stored = row[0], row[1], row[2], row[-1]
        if time > end:
            return
        facts = before if stored is None else msgspec.convert(stored, kind.facts_type)
        facts = kind.facts_type() if facts is None else facts
        if time >= start:
            text = drawn_text(kind, before, facts, change)
            yield _Event((time, int(revision or 0), life.track, index), life, row, text)
        before = facts


def drawn_text(kind: Kind, before: Any, facts: Any, change: str) -> str:
    """Return what is drawn of a change: that it began or ended the object, its new phase, and its marks. `before` are
    the facts before it, or None for the first one."""
    if change == "deleted":
        return "deleted"
    if facts is before:
        return ""
    phase = kind.phase(facts).text
    if before is None:
        first = "created" if change == "created" else "first seen"
        return f"{first}; {phase}" if phase else first
    parts = [mark.text for mark in marks(kind, before, facts)]
    was = kind.phase(before).text
    return "; ".join([*([f"{was or 'no phase'} → {phase}"] if phase != was else []), *parts])


def _payload(each: _Event) -> EventPayload:
    time, revision, change, action, *more, _ = each.row  # older versions stored less
    within = more[0] if more else None
    ref = each.life.ref
    return {
        "time": timestamp(time),
        "earliest": timestamp(time - within[0]) if within else None,
        "latest": timestamp(time + within[1]) if within and within[1] is not None else None,
        "resource_version": revision,
        "change": change,
        "action": action,
        "text": each.text,
        "group": ref.group,
        "kind": ref.kind,
        "namespace": ref.namespace,
        "name": ref.name,
        "track": each.life.track,
        "writer": more[1] if len(more) > 1 else "",
        "url": f"{each.life.page}?at={time}#revisions" if each.life.page else "",
    }
