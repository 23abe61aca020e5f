"""Derive the bars and marks of a track from its lifeline: phases become bars, and events become marks.

The module is pure. Times are microseconds since 1970, UTC.
"""

from bisect import bisect_left
from collections.abc import Iterable
from functools import cache
from typing import Any, NamedTuple

import msgspec
import orjson

from timeline.kinds import Kind, Mark, Phase
from timeline.payloads.windows import Within


class Span(NamedTuple):
    """A time in which a track was in one phase."""

    start: int
    end: int
    phase: Phase
    open_end: bool  # whether the phase is not known to be over
    start_within: Within | None  # None if an older version of Causeline stored the lifeline
    end_within: Within | None
    actor: str = ""  # who made the change that began it; "" if nothing says it


class Event(NamedTuple):
    """A change of a track that is drawn as a mark."""

    time: int
    mark: str
    text: str
    resource_version: str | None
    within: Within | None
    actor: str = ""  # who made the change; "" if nothing says it


Reading = tuple[list[Span], list[Event], Any]  # what `spans_and_events` returns
Rows = list[Any]  # what `outline.lifeline` returns; its rows may be tuples, and facts of the type of the kind


def lifeline_of(kind: Kind, stored: bytes) -> Rows:
    """Return the lifeline that this JSON holds. Its facts are of the type of the kind, unless an older version of
    Causeline, which stored less in each row, wrote it."""
    try:
        rows: Rows = _decoder(kind.facts_type).decode(stored)
    except msgspec.ValidationError:
        rows = orjson.loads(stored)
    return rows


def thinned(kind: Kind, stored: bytes, pixel: int) -> Rows:
    """Return a lifeline as `lifeline_of` does, with one change in each `pixel` microseconds, besides its ends.

    That is the last of several: what they changed together is drawn there, and what they changed to and fro is not
    drawn. The facts of the others are not decoded.
    """
    try:
        rows: Rows = _ROUGH.decode(stored)
    except msgspec.ValidationError:
        return lifeline_of(kind, stored)
    if not rows:
        return rows
    times, last, facts_of = [row[0] for row in rows], len(rows) - 1, _facts_decoder(kind.facts_type).decode
    end = last - 1 if rows[last][2] == "deleted" else last  # what it was like before it was deleted is drawn, too
    kept: Rows = []
    begin = at = 0
    while True:
        facts = next((row[-1] for row in reversed(rows[begin : at + 1]) if row[-1] != _UNCHANGED), None)
        kept.append((*rows[at][:-1], None if facts is None else facts_of(facts)))
        if at == last:
            return kept
        begin = at + 1
        at = begin if begin > end else min(end, max(begin, bisect_left(times, times[at] + pixel, begin) - 1))


@cache
def _decoder(facts_type: type[Any]) -> msgspec.json.Decoder[Any]:
    row = tuple[int, str | None, str, str, tuple[int, int | None], str, facts_type | None]  # type: ignore[valid-type]
    return msgspec.json.Decoder(list[row])


@cache
def _facts_decoder(facts_type: type[Any]) -> msgspec.json.Decoder[Any]:
    return msgspec.json.Decoder(facts_type)


_ROUGH = msgspec.json.Decoder(list[tuple[int, str | None, str, str, tuple[int, int | None], str, msgspec.Raw]])
_UNCHANGED = msgspec.Raw(b"null")


def spans_and_events(kind: Kind, lifeline: Rows, until: int | None, last: int) -> Reading:
    """Return the phases of a track, its events, and its last facts.

    `lifeline` is what `outline.lifeline` or `lifeline_of` returns. A track without an end (`until` is None) is drawn
    until `last`, with an open end.
    """
    spans: list[Span] = []
    events: list[Event] = []
    facts_type, phase_of = kind.facts_type, kind.phase
    before: Any = None
    within: Within | None = None
    begun: tuple[int, Phase, Within | None, str] | None = None  # the phase that has not ended yet
    for row in lifeline:
        facts, change = row[-1], row[2]
        if facts is None and before is not None and change != "deleted":
            continue  # the facts are those of the moment before
        time, revision = row[0], row[1]
        width = len(row)
        within = tuple(row[4]) if width > 5 else None  # older versions stored less
        actor: str = row[5] if width > 6 else ""
        if facts is None:
            facts = facts_type() if before is None else before
        elif type(facts) is not facts_type:
            facts = msgspec.convert(facts, facts_type)
        if change == "deleted":
            events.append(Event(time, "deleted", "deleted", revision, within, actor))
        else:
            phase = phase_of(facts)
            if begun is None:
                begun = time, phase, within, actor
            elif begun[1] != phase:
                spans.append(Span(begun[0], time, begun[1], False, begun[2], within, begun[3]))
                begun = time, phase, within, actor
            if before is not None:
                for mark in marks(kind, before, facts):
                    events.append(Event(time, mark.mark, mark.text, revision, within, actor))
        before = facts
    if begun is not None:
        end = max(last, begun[0]) if until is None else until
        time, change = lifeline[-1][0], lifeline[-1][2]
        ended = within if change == "deleted" else None if until is None else (until - time, 0)
        spans.append(Span(begun[0], end, begun[1], until is None, begun[2], ended, begun[3]))
    return spans, events, before


def marks(kind: Kind, before: Any, after: Any) -> Iterable[Mark]:
    yield from kind.marks(before, after)
    if after.deleting and not before.deleting:
        yield Mark("deleting", "deletion asked for")
    if before.finalizers != after.finalizers and (gone := set(before.finalizers) - set(after.finalizers)):
        yield Mark("finalizer", f"finalizer removed: {', '.join(sorted(gone))}")
