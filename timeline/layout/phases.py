"""This module derives the bars and marks of a track from its lifeline: phases become bars, and events become marks.

The module is pure. Times are microseconds since 1970, UTC.
"""

from collections.abc import Iterable
from typing import Any, NamedTuple

import msgspec

from timeline.kinds import Kind, Mark, Phase
from timeline.payloads.windows import Within


class Span(NamedTuple):
    """This is a time in which a track was in one phase."""

    start: int
    end: int
    phase: Phase
    open_end: bool  # whether the phase is not known to be over
    start_within: Within | None  # None if an older version of Causeline stored the lifeline
    end_within: Within | None
    actor: str = ""  # who made the change that began it; "" if nothing says it


class Event(NamedTuple):
    """This is a change of a track that is drawn as a mark."""

    time: int
    mark: str
    text: str
    resource_version: str | None
    within: Within | None
    actor: str = ""  # who made the change; "" if nothing says it


Reading = tuple[list[Span], list[Event], Any]  # what `spans_and_events` returns


def spans_and_events(kind: Kind, lifeline: list[list[Any]], until: int | None, last: int) -> Reading:
    """Return the phases of a track, its events, and its last facts.

    `lifeline` is what `outline.lifeline` returns. A track without an end (`until` is None) is drawn until `last`, with
    an open end.
    """
    spans: list[Span] = []
    events: list[Event] = []
    before: Any = None
    for time, revision, change, _, *more, stored in lifeline:  # older versions stored less
        within: Within | None = (more[0][0], more[0][1]) if more else None
        actor: str = more[1] if len(more) > 1 else ""
        if stored is None and before is not None and change != "deleted":
            continue  # the facts are those of the moment before
        facts = before if stored is None else msgspec.convert(stored, kind.facts_type)
        facts = facts if facts is not None else kind.facts_type()
        phase = kind.phase(facts)
        if change == "deleted":
            events.append(Event(time, "deleted", "deleted", revision, within, actor))
        else:
            if spans and spans[-1].phase != phase:
                spans[-1] = spans[-1]._replace(end=time, open_end=False, end_within=within)
            if not spans or spans[-1].phase != phase:
                spans.append(Span(time, time, phase, True, within, None, actor))
            if before is not None:
                events += [
                    Event(time, mark.mark, mark.text, revision, within, actor) for mark in marks(kind, before, facts)
                ]
        before = facts
    if spans:
        end = max(last, spans[-1].start) if until is None else until
        time, _, change, *_ = lifeline[-1]
        ended = within if change == "deleted" else None if until is None else (until - time, 0)
        spans[-1] = spans[-1]._replace(end=end, open_end=until is None, end_within=ended)
    return spans, events, before


def marks(kind: Kind, before: Any, after: Any) -> Iterable[Mark]:
    yield from kind.marks(before, after)
    if after.deleting and not before.deleting:
        yield Mark("deleting", "deletion asked for")
    gone = set(before.finalizers) - set(after.finalizers)
    if gone:
        yield Mark("finalizer", f"finalizer removed: {', '.join(sorted(gone))}")
