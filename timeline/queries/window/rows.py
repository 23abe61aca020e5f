"""Find the rows that a window shows, with SQL.

Lanes are found by an index scan in the order of their headings and places, which ends as soon as it has found enough,
so that a page takes the same time in a source of any size. Strips, opened strips, closed groups and the group in focus
have queries of their own. All are merged in the order of (turn, heading, place), where turn is 0 for the group in focus
and 1 for all others. None returns more rows than are requested.
"""

from collections import Counter
from typing import Any

from django.db import connection

from timeline.core.entries import moment
from timeline.kinds import NOISE
from timeline.layout import outline
from timeline.layout.lanes import Count, Folded, LaneRow
from timeline.models import Source, Track
from timeline.queries.filters import NOT_KNOWN
from timeline.queries.window.folding import ALL, MOST, NOTHING, Folding
from timeline.queries.window.view import View, like, meant
from timeline.storage.permitted.limits import present

LAST = 2**63 - 1  # a place after all others
SPARSE = 0.05  # if a smaller share of the lanes exists in the window, an index on time is used
# Both conditions mean the same, but the second one keeps the query planner from using an index on time.
_OVERLAPS = "span && tstzrange(%(start)s, %(end)s, '[]')"
_LIVED = "lower(span) <= %(end)s AND (upper(span) IS NULL OR upper(span) >= %(start)s)"
# PostgreSQL would underestimate how many lanes such conditions select, and read and sort all lanes to find these. Of an
# expression it expects that it is rarely null, so it finds enough lanes soon by following the index of their order.
_OFTEN = " AND CASE WHEN {} THEN TRUE END IS NOT NULL"
_LATE = 60_000_000  # µs for which a live source may still learn of objects that were created before
_HEADINGS = {"owner": "root", "kind": "family", "namespace": "namespace", "actor": "creator"}
COUNTED = 2000  # the most rows that are counted
_COLUMNS = 'place, {lane} AS lane, root, {strip} AS strip, {number} AS number, "group", kind, namespace, name, family'
_LANE = _COLUMNS.format(lane="lane", strip="strip", number="number") + ", 1 AS members, creator"
_OF_FINDING = """source_id = %(source)s AND span IS NOT NULL AND family = 'Cluster' AND lane IN (
    SELECT lane FROM timeline_track WHERE source_id = %(source)s AND id = ANY(ARRAY(
        SELECT unnest(tracks) FROM timeline_occurrence WHERE source_id = %(source)s AND key = %(finding)s)))"""
_STRIP = _COLUMNS.format(lane="0", strip="place", number="0") + ", members, '' AS creator"
_SHUT = """0 AS lane, {root} AS root, 0 AS strip, 0 AS number, '' AS "group", '' AS kind, {name} AS namespace,
    '' AS name, {name} AS family, 0 AS members, {name} AS creator"""


class Rows:
    """The rows of a view between two times (µs): lanes, strips, and the headings of closed groups."""

    def __init__(self, source: Source, view: View, start: int, end: int) -> None:
        self._source, self._view = source, view
        self._heading = _HEADINGS[view.group]
        # The lanes of a strip may have different creators.
        self._strips = not view.searching and view.group != "actor"
        self.by_owner = self._heading == "root"
        shown, families, portions = _families(source, view)
        self._values: dict[str, Any] = {
            "source": source.pk,
            "start": moment(start),
            "end": moment(end),
            "families": families,
            "namespace": view.namespace,
            "name": like(view.name),
            "actor": "" if view.actor == NOT_KNOWN else view.actor,
            "focus": view.top,
            "finding": view.finding,
            "opened": _numbers(key.rpartition("/")[2] for key in view.open),
            "closed": _numbers(view.closed) if view.group == "owner" else list(view.closed),
        }
        self._matching = f"source_id = %(source)s{shown}"
        if view.namespace:
            self._matching += " AND namespace = %(namespace)s"
        self._lanes = f"{self._matching} AND span IS NOT NULL"
        self._portions = portions
        if len(portions) == 1:
            self._lanes += portions[0]
        if view.name:
            self._lanes += " AND name ILIKE %(name)s"
        if view.actor:
            self._lanes += " AND (writers @> ARRAY[%(actor)s] OR (creator = %(actor)s AND creator <> ''))"
        if view.kind or view.node or view.image:
            self._lanes += " AND lane = ANY(%(meant)s)"
            found = meant(view, source.pk, "lane")
            with connection.cursor() as cursor:
                cursor.execute(found.sql, found.params)
                self._values["meant"] = [lane for (lane,) in cursor]
        named = bool(view.rule or view.severity or view.incident)
        if named:
            self._lanes += " AND lane = ANY(%(concerned)s)"
        elif view.scope is not None:
            self._lanes += " AND (root = %(focus)s OR lane = ANY(%(concerned)s))"
        if named or view.scope is not None:
            self._values["concerned"] = self._concerned(source, start, end)
        self._values["reach"], living = _tide(source, start, end)
        lived = f"{_OVERLAPS if living < SPARSE else _LIVED}{' AND changed >= %(start)s' if view.active else ''}"
        self._lived = " AND place <= %(reach)s" + (f" AND {lived}" if living < SPARSE else _OFTEN.format(lived))
        unfolded = [key for key in view.unfold if key != ALL]
        self._folding = Folding(
            source, view, start, end, self._heading, _numbers(unfolded) if self.by_owner else unfolded
        )
        self._values.update(self._folding.values)
        # The census counts the lanes of a recording. That of a live source is behind by seconds, and limited readers
        # see objects of namespaces that the census has without a namespace.
        filtered = view.searching or view.scope is not None or self._folding.on or self._heading in ("root", "creator")
        self._is_counted = not filtered and not source.sequence and present().sees_whole(source.pk)
        self.pinned = self._pinned(source) if view.pins else []
        if self.pinned:
            self._lived += " AND lane <> ALL(%(pinned)s)"
            self._values["pinned"] = [row.lane for row in self.pinned]

    def page(self, offset: int, limit: int) -> tuple[list[LaneRow], int, bool]:
        """Return at most `limit` rows from an offset on, the number of all rows, and whether there are more than were
        counted."""
        order = "place" if self.by_owner else f"{self._heading}, place"
        query = f"""
            SELECT * FROM ({self._union(order)}) AS rows
            ORDER BY turn, heading, place LIMIT %(limit)s OFFSET %(offset)s"""
        values = {**self._values, "limit": limit, "offset": offset, "most": offset + limit}
        with connection.cursor() as cursor:
            cursor.execute(query, values)
            rows = [self._row(*row) for row in cursor.fetchall()]
        if 0 < len(rows) < limit or not (rows or offset):
            return rows, offset + len(rows), False
        total = self._count(COUNTED + 1)
        return rows, max(min(total, COUNTED), offset + len(rows) if rows else 0), total > COUNTED

    def counts(self, headings: list[str]) -> dict[str, Count]:
        """Return the number of lanes under each heading that match the filter, at any time, and how many are folded."""
        if self._is_counted:
            return self._stored_counts(headings)
        wanted = _numbers(headings) if self.by_owner else headings
        query = f"""
            SELECT {self._heading}, count(*), {self._folded_counts()} FROM timeline_track
            WHERE {self._lanes} AND {self._heading} = ANY(%(wanted)s) GROUP BY 1"""
        with connection.cursor() as cursor:
            cursor.execute(query, {**self._values, "wanted": wanted})
            found = {str(heading): Count(lanes, Folded(*folded)) for heading, lanes, *folded in cursor}
        return dict.fromkeys(headings, Count(1)) | found  # hidden kinds are not counted, but a finding may show one

    def _stored_counts(self, headings: list[str]) -> dict[str, Count]:
        view, counts = self._view, Counter[str]()
        for namespace, family, lanes in self._source.census:
            shown = view.noise if family in NOISE else not view.kinds
            if (shown or family in view.kinds) and view.namespace in ("", namespace):
                counts[family if self._heading == "family" else namespace] += lanes
        return {heading: Count(counts[heading]) for heading in headings if counts[heading]}

    def folded(self) -> Folded:
        """Return how many lanes of all groups are folded, or were before a reader unfolded them."""
        if not self._folding.on:
            return NOTHING
        lived = f"{self._lived}{self._folding.folded}"
        lanes = f"SELECT lane, changed FROM timeline_track WHERE {self._lanes}{lived} LIMIT %(most)s"
        query = f"SELECT count(*) FILTER (WHERE changed < %(start)s), count(*) FROM ({lanes}) AS folded"
        with connection.cursor() as cursor:
            cursor.execute(query, {**self._values, "most": MOST})
            quiet, both = cursor.fetchone()
            return Folded(quiet, both - quiet)

    def _folded_counts(self) -> str:
        if not self._folding.on:
            return "0, 0"
        folded = f"TRUE{self._lived}{self._folding.folded}"
        return ", ".join(f"count(*) FILTER (WHERE {folded} AND changed {when} %(start)s)" for when in ("<", ">="))

    def _count(self, most: int) -> int:
        query = f"SELECT count(*) FROM (SELECT 1 FROM ({self._union('place')}) AS rows LIMIT %(most)s) AS counted"
        with connection.cursor() as cursor:
            cursor.execute(query, {**self._values, "most": most})
            return int(cursor.fetchone()[0])

    def _union(self, order: str) -> str:
        """Return the query that merges all others. It selects turn, heading, place and the columns of LaneRow, and of
        each query the first `most` rows in an order, which an index has."""
        view = self._view
        heading = "''" if self.by_owner else self._heading
        tail = f" ORDER BY {order} LIMIT %(most)s"
        lanes = f"SELECT {_LANE} FROM timeline_track WHERE {self._lanes}{self._lived}"
        strips = f"SELECT {_STRIP} FROM timeline_strip WHERE {self._matching}{self._lived}"
        strips = strips.replace(" AND lane <> ALL(%(pinned)s)", "")
        if view.scope is not None:
            strips += " AND root = %(focus)s"
        others = " AND root <> %(focus)s" if view.top is not None else ""
        if view.closed:
            others += f" AND {self._heading} <> ALL(%(closed)s)"
        single = f" AND strip = 0{self._folding.shown}" if self._strips else self._folding.shown
        parts = [(1, f"{lanes}{others}{single}{portion}{tail}") for portion in self._portions]
        if self._strips:
            parts.append((1, f"{strips}{others}{tail}"))
            if self._values["opened"]:
                parts.append((1, f"{lanes}{others} AND strip = ANY(%(opened)s){tail}"))
        if view.top is not None and self._shut:
            parts.append((0, self._closed("=")))
        elif view.top is not None:
            shown = f" AND (strip = 0 OR strip = ANY(%(opened)s)){self._folding.shown}" if self._strips else ""
            if view.closed and not self.by_owner:
                shown += f" AND {self._heading} <> ALL(%(closed)s)"
            parts.append((0, f"{lanes} AND root = %(focus)s{shown}{tail}"))
            if self._strips:
                parts.append((0, f"{strips} AND root = %(focus)s{tail}"))
        if view.closed:
            parts.append((1, self._closed("<>")))
        if view.finding and self.by_owner and not view.noise and view.findings().unfiltered:
            parts.append((0, f"SELECT {_LANE} FROM timeline_track WHERE {_OF_FINDING}{self._lived}{tail}"))
        return " UNION ALL ".join(
            f"(SELECT {turn} AS turn, {heading} AS heading, part.* FROM ({query}) AS part)" for turn, query in parts
        )

    @property
    def _shut(self) -> bool:
        """Return whether the group in focus is closed."""
        return self.by_owner and self._view.top in self._values["closed"]

    def _closed(self, focus: str) -> str:
        """Return the query for the closed groups that have objects in the window: one row for each.

        `focus` is the SQL operator that selects the group in focus ("=") or the others ("<>").
        """
        lived = f"EXISTS (SELECT 1 FROM timeline_track WHERE {self._lanes}{self._lived} AND {self._heading} = "
        if self.by_owner:
            columns = _SHUT.format(root="id", name="''")
            query = f"SELECT place >> 24 << 24 AS place, {columns} FROM timeline_track AS head"
            apart = f" AND id {focus} %(focus)s" if self._view.top is not None else ""
            return f"{query} WHERE source_id = %(source)s AND id = ANY(%(closed)s){apart} AND {lived}head.id)"
        columns = _SHUT.format(root="0", name="shut.value")
        return f"SELECT -1 AS place, {columns} FROM unnest(%(closed)s::text[]) AS shut(value) WHERE {lived}shut.value)"

    def _row(self, turn: int, heading: str, place: int, lane: int, root: int, strip: int, *texts: Any) -> LaneRow:
        number, group, kind, namespace, name, family, members, creator = texts
        key = {"root": str(root), "family": family, "namespace": namespace, "creator": creator}[self._heading]
        opened = not lane and strip in self._values["opened"]
        about = number, group, kind, namespace, name, family
        return LaneRow(lane, root, key, *about, strip, members, opened, creator=creator)

    def _concerned(self, source: Source, start: int, end: int) -> list[int]:
        """Return the lanes that are named by findings that match the filter. For a group alone, these are only findings
        between the two times (µs)."""
        wanted = self._view.findings()
        if self._view.incident:  # of all that it reached, the lanes are chosen by these
            wanted = wanted.but(kinds=(), namespace="", name="")
        matching = wanted.occurrences(source.pk)
        if self._view.scope is not None and not self._view.searching:
            matching = matching.filter(first__lte=moment(end), last__gte=moment(start))
        shown = matching.values_list("tracks", flat=True)
        tracks = {track for each in shown for track in each}
        with connection.cursor() as cursor:
            query = "SELECT DISTINCT lane FROM timeline_track WHERE source_id = %s AND id = ANY(%s)"
            cursor.execute(query, [source.pk, list(tracks)])
            return [lane for (lane,) in cursor]

    def _pinned(self, source: Source) -> list[LaneRow]:
        rows = []
        for key in dict.fromkeys(self._view.pins):
            kind, _, rest = key.partition("/")
            namespace, _, name = rest.partition("/")
            kind, _, group = kind.partition(".")
            named = Track.objects.filter(source=source, namespace=namespace, name=name, kind=kind, group=group)
            if lane := named.filter(span__isnull=False).order_by("place").first():
                heading = str(getattr(lane, self._heading))
                columns = (lane.number, group, kind, namespace, name, lane.family, lane.strip)
                rows.append(LaneRow(lane.lane, lane.root, heading, *columns, pinned=True, creator=lane.creator))
        return rows


def _families(source: Source, view: View) -> tuple[str, list[str] | str, list[str]]:
    """Return the condition for rows of the families that a view shows, the values of its parameter `families`, and the
    conditions for the portions of lanes that indexes have.

    Events are by far the most lanes, so the indexes of places, namespaces and creators leave them out. The families
    that there are in a source are read only for the index of their order, because limited readers wait for them.
    """
    if view.kinds or view.group == "kind":
        families = view.shown_families(source)
        shown, is_calm, is_noisy = " AND family = ANY(%(families)s)", families != ["Events"], "Events" in families
    elif view.noise:
        families, shown, is_calm, is_noisy = [], "", True, True
    else:
        families, shown, is_calm, is_noisy = list(NOISE), " AND family <> ALL(%(families)s)", True, False
    value: list[str] | str = families
    if (
        len(families) == 1
    ):  # an index has the lanes of one family in their order, as PostgreSQL knows only of an equation
        shown, value = " AND family = %(families)s", families[0]
    portions = {" AND family <> 'Events'": is_calm, " AND family = 'Events'": is_noisy}
    return shown, value, [portion for portion, is_shown in portions.items() if is_shown]


def _tide(source: Source, start: int, end: int) -> tuple[int, float]:
    """Return the highest place of the lanes that had begun by `end`, and about which share of these existed between
    `start` and `end`."""
    if not source.tide:
        return LAST, 1.0
    tide = outline.Tide(**source.tide)
    width = max(1, tide.until - tide.since)
    begin, over = ((time - tide.since) * outline.SLICES // width for time in (start, end))
    begin = max(0, min(outline.SLICES, begin) - 1)  # rounding may have moved either into the next slice
    over = max(0, min(outline.SLICES - 2, over) + 1)
    living = tide.living[begin] + tide.begun[over] - tide.begun[begin]
    known = end < tide.until - (_LATE if source.sequence else 0)
    return (tide.reach[over] if known else LAST), living / max(1, tide.begun[over])


def _numbers(words: Any) -> list[int]:
    return [int(word) for word in words if word.isdecimal() and len(word) < 19]
