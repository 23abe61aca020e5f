"""Delete what is away from incidents in closed tables of live sources, and keep what is near them.

Near an incident is what happened in its windows: so many minutes before and after each time that it happened. Between
two windows, the last change of each object stays in each table, and tells how it was when the next window begins. What
was deleted becomes a freed span (see `timeline.storage.keeping.freed`).

Each table is thinned once, in a transaction of its own. The worker of the source writes to another table meanwhile.
"""

from bisect import bisect_left
from collections import Counter
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import NamedTuple

from django.db import connection, transaction

from timeline.core.entries import FOREVER, Change, Entry, LogLine, Mark, MarkType, Observation, Request, moment
from timeline.history.freed import Freed, Span
from timeline.models import Source
from timeline.storage.entries import chunks, repacking, tables
from timeline.storage.keeping import freed, holds

_LAST = 2**62  # after every revision


class Incidents(NamedTuple):
    """What of a source is near incidents and stays, while everything else is freed."""

    windows: list[Span]  # in order, and apart from each other; their ends belong to them
    before: datetime  # what happened later is not thinned yet

    @property
    def ranges(self) -> str:
        """Return the windows as PostgreSQL reads a tstzmultirange."""
        return f"{{{','.join(f'[{moment(each.since)},{moment(each.until)}]' for each in self.windows)}}}"


def incidents_of(source: Source, before: datetime, margin: timedelta, since: datetime) -> Incidents:
    """Return what is near the incidents of a source that happened since a time: what happened up to `margin` before and
    after each of them."""
    more = margin // timedelta(microseconds=1)
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT (each->>'first')::bigint, (each->>'last')::bigint FROM timeline_finding,"
            " jsonb_array_elements(occurrences) AS each WHERE source_id = %s AND NOT withdrawn AND last >= %s",
            [source.pk, since],
        )
        together = Freed()
        for first, last in cursor.fetchall():
            together.add(first - more, last + more)
    return Incidents(together.spans, before)


def thin(source: Source, near: Incidents) -> int:
    """Thin the closed tables of a source that are old enough and were not thinned yet; return how many.

    Does nothing if a legal hold keeps the source. Raises OperationalError if a lock was not free in time; then the
    other tables wait for a later call.
    """
    count = 0
    for table in waiting(source, near.before):
        with transaction.atomic():
            if holds.held([source.pk]) or not repacking.taken(table):
                continue
            plan = planned(source, table, near.windows)
            observed = chunks.keyed(source.pk, table.first, table.end)
            kept = (each for each, stays in zip(observed, plan.stays, strict=True) if stays)
            repacking.write(source, table, kept, repacking.THINNED)
            freed.add(source, plan.freed)
            count += 1
    return count


def waiting(source: Source, before: datetime) -> list[tables.Table]:
    """Return the closed tables of a source that have only entries from before a time, and were not thinned yet."""
    return [each for each in tables.closed_tables(source) if each.last < before and each.comment != repacking.THINNED]


class Plan(NamedTuple):
    """What thinning a table deletes."""

    stays: bytearray  # of each observation in the table, in order: 1 if it stays
    freed: list[Span]

    @property
    def going(self) -> int:
        """Return how many observations are deleted."""
        return self.stays.count(0)


def planned(source: Source, table: tables.Table, windows: Sequence[Span]) -> Plan:
    """Return what thinning a table deletes: what is in no window, but for the last change of each object, and the last
    report of each watch, between two windows."""
    stays = bytearray()
    ends = [each.until for each in windows]
    last: dict[tuple[int, object], tuple[int, int, int]] = {}  # by span and object: its time, its revision, its place
    extents: dict[int, Span] = {}  # of the observations in no window, by the number of windows before them
    sizes: Counter[int] = Counter()  # how many observations these are
    for key, each, _ in chunks.keyed(source.pk, table.first, table.end):
        place = len(stays)
        stays.append(1)
        if isinstance(each, Mark) and each.what is not MarkType.BOOKMARK:
            continue
        begins, over = _time(each)
        span = bisect_left(ends, begins)
        if span < len(windows) and windows[span].since <= over:
            continue
        stays[place] = 0
        sizes[span] += 1
        known = extents.get(span, Span(begins, over))
        extents[span] = Span(min(begins, known.since), max(over, known.until))
        if (what := _what(key, each)) is not None:
            revision = each.resource_version if isinstance(each, Entry) else None
            at = (begins, _LAST if revision is None else revision, place)
            last[span, what] = max(at, last.get((span, what), at))
    for *_, place in last.values():
        stays[place] = 1
    sizes.subtract(span for span, _ in last)
    return Plan(stays, [Span(since - 1, until + 1) for at, (since, until) in sorted(extents.items()) if sizes[at]])


def _time(each: Observation) -> tuple[int, int]:
    """Return between which times an observation may have happened, in microseconds since 1970."""
    if isinstance(each, Mark | LogLine):
        return each.time, each.time
    if isinstance(each, Request):
        return each.received, each.received if each.staged == FOREVER else max(each.received, each.staged)
    begins = each.arrived if each.change is Change.OBSERVED and each.arrived else each.undated or each.near
    over = each.arrived or (begins if each.staged == FOREVER else each.staged)
    return begins, max(begins, over)


def _what(key: int, each: Observation) -> object:
    """Return the object or the watch whose last observation is kept, if this is one of its observations; else None."""
    if isinstance(each, Entry):
        return key
    return (each.group, each.kind, each.namespace) if isinstance(each, Mark) else None
