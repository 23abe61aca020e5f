"""Read what new batches of a live source changed: just enough for a page to update its right edge.

Only the tail of a track is sent: its bars from `since` on, and additional marks. The page keeps what it has of earlier
times. A bar without an end goes on. If the first bar has no start, it began before the tail, and the page has it.
"""

from collections import OrderedDict
from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Any, NamedTuple, TypedDict

import orjson
from django.db import connection

from timeline.core.entries import microseconds
from timeline.kinds import kind_of
from timeline.layout.lanes import lane_key
from timeline.layout.phases import spans_and_events
from timeline.models import Delta, Occurrence, Source, unpacked
from timeline.payloads.findings import FindingGroupPayload, IncidentRowPayload
from timeline.payloads.live import DeltaPayload, TailPayload
from timeline.payloads.windows import Within
from timeline.queries.incidents.lists import incidents_with
from timeline.queries.incidents.occurrences import payloads
from timeline.queries.sources.extents import extent
from timeline.storage.permitted.limits import Permitted, present

ROWS = 24  # the number of last rows of a lifeline that make its tail
REMEMBERED = 10_000  # the most tracks whose sent tails are kept in memory
_FINDINGS = 50  # the most findings in one message; the page fetches more with the list
_INCIDENTS = 200  # the most incidents in one message; with more, loading everything again is cheaper
_TRACKS = 500  # the most tracks in one message; with more, it is cheaper to load the window again

Bar = tuple[int | None, int | None, str, str, Within | None, Within | None, str]
Mark = tuple[int, str, str, str | None, Within | None, str]


class Missed(Exception):
    """The batches after the cursor are deleted, or changed so much that loading the window again is cheaper."""


class _Tail(NamedTuple):
    since: int | None  # the time from which `bars` replace older ones; None if the bars have not changed
    bars: list[Bar]
    marks: list[Mark]


class _Changed(TypedDict):
    """The part of `DeltaPayload` that says what has changed."""

    tracks: list[TailPayload]
    findings: list[FindingGroupPayload]
    gone: list[str]
    incidents: list[IncidentRowPayload]
    incidents_gone: list[str]


class Deltas:
    """Read what the batches of one source after a cursor changed, without what was returned before."""

    def __init__(self, source_id: int, cursor: int) -> None:
        self._source = source_id
        self.cursor = cursor
        self._sent: OrderedDict[int, _Tail] = OrderedDict()

    def skip(self, seen: Permitted) -> bool:
        """Move the cursor past what was committed since the last call if the reader may see nothing of it; return
        whether that is so. It reads without limits: one query, where `read` needs a transaction with several."""
        if seen.sees_whole(self._source):
            return False
        names = seen.namespaces.get(self._source, frozenset())
        query = """
            SELECT sequence, changed->>'after', changed->'namespaces' FROM timeline_delta
            WHERE source_id = %s AND sequence > %s ORDER BY sequence"""
        with connection.cursor() as cursor:
            cursor.execute(query, [self._source, self.cursor])
            rows = cursor.fetchall()
        if not rows or rows[0][1] != str(self.cursor):
            return False
        if any(about is None or not names.isdisjoint(orjson.loads(about)) for _, _, about in rows):
            return False
        self.cursor = rows[-1][0]
        return True

    def read(self) -> DeltaPayload | None:
        """Return what was committed since the last call, or None if nothing was that the present reader may see, and
        move the cursor.

        Raises Missed and Source.DoesNotExist.
        """
        source = Source.objects.only("sequence", "first", "last").get(pk=self._source)
        if source.sequence <= self.cursor:  # less if the database has lost commits; later ones have greater numbers
            return None
        rows = list(
            Delta.objects.filter(source=source, sequence__gt=self.cursor)
            .order_by("sequence")
            .values_list("sequence", "at", "changed")
        )
        whole = bool(rows) and rows[0][2].get("after", rows[0][0] - 1) == self.cursor
        reached = rows[-1][0] if rows else source.sequence
        changes = [changed for _, _, changed in rows]
        first, last = extent(source)
        try:
            if not whole:
                raise Missed
            found = self._changed(changes, last)
        except Exception as error:
            self._sent.clear()  # what was remembered now is not sent
            if isinstance(error, Missed):
                self.cursor = reached
            raise
        self.cursor = reached  # only now: after an error, the same batches are read again
        if not self._everything and not any(found.values()):
            return None
        return {
            "type": "delta",
            "sequence": self.cursor,
            "at": microseconds(rows[-1][1]),
            "behind": _ago(rows[0][1]) + max((int(changed.get("lag", 0)) for changed in changes), default=0),
            "first": first,
            "last": last,
            **found,
        }

    @property
    def _everything(self) -> bool:
        return present().sees_whole(self._source)

    def _changed(self, changes: list[dict[str, Any]], last: int) -> _Changed:
        """Return what the present reader may see of what these batches changed. Raises Missed if that is too much, or
        if it is not known."""
        tracks = {track for changed in changes for track in changed.get("tracks", ())}
        touched = {identity for changed in changes for identity in changed.get("incidents", ())}
        if len(touched) > _INCIDENTS or (self._everything and len(tracks) > _TRACKS):
            raise Missed
        tails = self._rows(tracks)
        if len(tails) > _TRACKS:
            raise Missed
        holds: dict[str, bool] = {}  # by key of a row: whether it holds after the last batch
        for changed in changes:
            holds |= dict.fromkeys(changed.get("findings", ()), True)
            holds |= dict.fromkeys(changed.get("gone", ()), False)
        listed = [key for key, still in holds.items() if still]
        occurrences = list(
            Occurrence.objects.filter(source=self._source, key__in=listed).order_by("rank", "first", "key")
        )
        incidents = incidents_with(self._source, touched)
        gone = [key for key, still in holds.items() if not still]
        lost = sorted(touched - {each["id"] for each in incidents})
        if not self._everything:
            gone += set(listed) - {each.key for each in occurrences}
            gone, lost = _shown_before(changes, self._source, gone), _shown_before(changes, self._source, lost)
        return {
            "tracks": list(self._tails(tails, last)),
            "findings": payloads(self._source, occurrences[:_FINDINGS]) if occurrences else [],
            "gone": gone,
            "incidents": incidents,
            "incidents_gone": lost,
        }

    def _rows(self, tracks: Iterable[int]) -> list[tuple[Any, ...]]:
        query = """
            SELECT id, number, upper(life), "group", kind, namespace, name, family, lifeline FROM timeline_track
            WHERE source_id = %s AND id = ANY(%s) ORDER BY place, number LIMIT %s"""
        with connection.cursor() as cursor:
            cursor.execute(query, [self._source, list(tracks), _TRACKS + 1])
            rows: list[tuple[Any, ...]] = cursor.fetchall()
        return rows

    def _tails(self, rows: Iterable[tuple[Any, ...]], last: int) -> Iterator[TailPayload]:
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


def _shown_before(changes: list[dict[str, Any]], source: int, keys: Iterable[str]) -> list[str]:
    """Return which of these rows of the list of findings, or of these incidents, involved a namespace that the present
    reader may see, before these batches changed them. The others were never shown.

    Raises Missed if that is not known, because an older version has written a batch.
    """
    wanted = set(keys)
    names = present().namespaces.get(source, frozenset())
    before: dict[str, set[str]] = {}
    for changed in changes:
        if "involved" not in changed and not wanted.isdisjoint(
            chain.from_iterable(changed.get(part, ()) for part in ("findings", "gone", "incidents"))
        ):
            raise Missed
        for key, involved in changed.get("involved", {}).items():
            before.setdefault(key, set()).update(involved)
    return sorted(key for key in wanted if not names.isdisjoint(before.get(key, ())))


def missed(source_id: int, cursor: int) -> DeltaPayload | None:
    """Return what was committed after a cursor, or None if nothing was.

    Raises Missed, also if the database has lost the commit of the cursor, and Source.DoesNotExist.
    """
    if Source.objects.values_list("sequence", flat=True).get(pk=source_id) < cursor:
        raise Missed
    return Deltas(source_id, cursor).read()


def _ago(at: Any) -> int:
    """Return how many microseconds ago a time was, by the database's clock."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT greatest(0, extract(epoch FROM clock_timestamp() - %s) * 1000000)::bigint", [at])
        return int(cursor.fetchone()[0])


def _tail(group: str, kind: str, lifeline: list[list[Any]], until: int | None, last: int) -> _Tail:
    """Return the tail of a track, which is all of it if its lifeline is short."""
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
            span.actor,
        )
        for index, span in enumerate(spans)
    ]
    return _Tail(rows[0][0] if cut else 0, bars, [(each.time, *each[1:]) for each in events])


def _news(sent: _Tail | None, now: _Tail) -> _Tail | None:
    """Return the part of a tail that was not sent before; None if nothing is new."""
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
