"""This module reads what commits of a live source changed: just enough for a page to draw the moving edge at once.

Of a life only the tail is sent: its bars from `since` on, and further marks. What a page has of earlier times stays. A
bar without an end goes on. A first bar without a start began before the tail: the page has it already.
"""

from collections import OrderedDict
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from django.db import connection

from timeline.core.entries import microseconds
from timeline.kinds import kind_of
from timeline.layout.lanes import lane_key
from timeline.layout.phases import spans_and_events
from timeline.models import Delta, Occurrence, Source, unpacked
from timeline.payloads.live import DeltaPayload, TailPayload
from timeline.payloads.windows import Within
from timeline.queries.occurrences import payloads
from timeline.queries.sources import extent

ROWS = 24  # of a lifeline that are looked at, the last ones
REMEMBERED = 10_000  # lives whose tails are known to have been sent
_FINDINGS = 50  # sent at once; more of them are fetched with the list
_TRACKS = 500  # sent at once; with more, it is cheaper to fetch the window anew

Bar = tuple[int | None, int | None, str, str, Within | None, Within | None]
Mark = tuple[int, str, str, str | None, Within | None]


class Missed(Exception):
    """The commits behind the cursor are deleted, or changed so much that loading the window anew is cheaper."""


class _Tail(NamedTuple):
    since: int | None  # None: its bars stay as they are
    bars: list[Bar]
    marks: list[Mark]


class Deltas:
    """This class reads the commits of one source after a cursor, each once."""

    def __init__(self, source_id: int, cursor: int) -> None:
        self._source = source_id
        self.cursor = cursor
        self._sent: OrderedDict[int, _Tail] = OrderedDict()

    def read(self) -> DeltaPayload | None:
        """Return what was committed since the last call, or None. Raises Missed and Source.DoesNotExist."""
        source = Source.objects.only("sequence", "first", "last").get(pk=self._source)
        if source.sequence == self.cursor:
            return None
        rows = list(
            Delta.objects.filter(source=source, sequence__gt=self.cursor)
            .order_by("sequence")
            .values_list("sequence", "at", "changed")
        )
        whole = bool(rows) and rows[0][0] == self.cursor + 1
        self.cursor = rows[-1][0] if rows else source.sequence
        changes = [changed for _, _, changed in rows]
        tracks = {track for changed in changes for track in changed.get("tracks", ())}
        if not whole or len(tracks) > _TRACKS:
            self._sent.clear()
            raise Missed
        found: dict[str, bool] = {}  # whether it holds; the last word counts
        for changed in changes:
            found |= dict.fromkeys(changed.get("findings", ()), True)
            found |= dict.fromkeys(changed.get("gone", ()), False)
        holding = [key for key, holds in found.items() if holds]
        occurrences = list(Occurrence.objects.filter(source=source, key__in=holding).order_by("rank", "first", "key"))
        first, last = extent(source)
        return {
            "type": "delta",
            "sequence": self.cursor,
            "at": microseconds(rows[-1][1]),
            "behind": _ago(rows[0][1]) + max((int(changed.get("lag", 0)) for changed in changes), default=0),
            "first": first,
            "last": last,
            "tracks": list(self._tails(tracks, last)),
            "findings": payloads(source.pk, occurrences[:_FINDINGS]),
            "gone": [key for key, holds in found.items() if not holds],
        }

    def _tails(self, tracks: Iterable[int], last: int) -> Iterator[TailPayload]:
        query = """
            SELECT id, number, upper(life), "group", kind, namespace, name, family, lifeline FROM timeline_track
            WHERE source_id = %s AND id = ANY(%s) ORDER BY place, number"""
        with connection.cursor() as cursor:
            cursor.execute(query, [self._source, list(tracks)])
            rows = cursor.fetchall()
        for track, number, until, group, kind, namespace, name, family, packed in rows:
            lifeline = unpacked(packed)
            tail = _tail(group, kind, lifeline, until and microseconds(until), last)
            news = _news(self._sent.pop(track, None), tail)
            self._sent[track] = tail
            if news is None:
                continue
            first = lifeline[0]
            born = first[0] if first[2] == "created" and news.since is not None and first[0] >= news.since else None
            yield {
                "track": track,
                "lane": lane_key(group, kind, namespace, name),
                "family": family,
                "number": number,
                "since": news.since,
                "born": born,
                "bars": news.bars,
                "marks": news.marks,
            }
        while len(self._sent) > REMEMBERED:
            self._sent.popitem(last=False)


def missed(source_id: int, cursor: int) -> DeltaPayload | None:
    """Return what was committed behind a cursor. Raises Missed and Source.DoesNotExist."""
    return Deltas(source_id, cursor).read()


def _ago(at: Any) -> int:
    with connection.cursor() as cursor:
        cursor.execute("SELECT greatest(0, extract(epoch FROM clock_timestamp() - %s) * 1000000)::bigint", [at])
        return int(cursor.fetchone()[0])


def _tail(group: str, kind: str, lifeline: list[list[Any]], until: int | None, last: int) -> _Tail:
    """Return the tail of a life, or all of a short one."""
    cut = max(0, len(lifeline) - ROWS)
    rows = lifeline[cut:]
    if cut and rows[0][-1] is None:
        held = next((row[-1] for row in reversed(lifeline[:cut]) if row[-1] is not None), None)
        rows = [[*rows[0][:-1], held], *rows[1:]]
    spans, events, _ = spans_and_events(kind_of(group, kind), rows, until, last)
    bars: list[Bar] = [
        (
            None if cut and index == 0 else span.start,
            None if span.open_end else span.end,
            span.phase.text,
            span.phase.tone,
            span.start_within,
            None if span.open_end else span.end_within,
        )
        for index, span in enumerate(spans)
    ]
    return _Tail(rows[0][0] if cut else 0, bars, [(each.time, *each[1:]) for each in events])


def _news(sent: _Tail | None, now: _Tail) -> _Tail | None:
    """Return what of a tail was not sent before; None where nothing is new."""
    if sent is None or now.since is None:
        return now
    marks = [mark for mark in now.marks if mark not in sent.marks]
    changed = [bar for bar in {*sent.bars, *now.bars} if (bar in sent.bars) != (bar in now.bars)]
    starts = [bar[0] or 0 for bar in changed if bar[1] is None or bar[1] >= now.since]
    if not starts:
        return _Tail(None, [], marks) if marks else None
    since = min(starts)
    if since <= now.since:
        return _Tail(now.since, now.bars, marks)
    return _Tail(since, [bar for bar in now.bars if bar[0] is not None and bar[0] >= since], marks)
