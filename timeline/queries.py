"""Reads for screens. A window reads tracks, not entries, and its answer is bounded whatever the source's size."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal, cast

import orjson
from django.db import connection
from django.db.models import Q

from timeline import documents, lanes
from timeline.entries import microseconds, moment
from timeline.kinds import NOISE
from timeline.models import Finding, Source, Upload
from timeline.payloads import (
    FindingPayload,
    GroupPayload,
    OverviewPayload,
    ReceivingPayload,
    UploadFilePayload,
    UploadPayload,
    UploadState,
    WindowPayload,
)

Grouping = Literal["owner", "kind", "namespace"]
LANES = 40
PIXELS = 1200  # of a wide screen: what lies closer together is drawn as one
MARKS = 2500  # bars and marks that a browser redraws within 100 ms


@dataclass(frozen=True)
class SourceRow:
    id: int
    name: str
    created: datetime
    entries: int
    skipped: int
    first: datetime | None
    last: datetime | None
    errors: int  # rows of its list of findings: several subjects of one occurrence count once
    warnings: int
    infos: int


def recent_sources(limit: int = 100) -> list[SourceRow]:
    return _sources("TRUE ORDER BY source.created DESC, source.id DESC LIMIT %s", [limit])


def source(source_id: int) -> SourceRow | None:
    return next(iter(_sources("source.id = %s", [source_id])), None)


def _sources(which: str, values: list[int]) -> list[SourceRow]:
    query = f"""
        SELECT id, name, created, entries, skipped, first, last, errors, warnings, infos
        FROM timeline_source source
        CROSS JOIN LATERAL (
            SELECT count(*) FILTER (WHERE severity = 'error') AS errors,
                   count(*) FILTER (WHERE severity = 'warning') AS warnings,
                   count(*) FILTER (WHERE severity = 'info') AS infos
            FROM (
                SELECT DISTINCT severity, occurrence ->> 'group'
                FROM timeline_finding, jsonb_array_elements(occurrences) AS occurrence
                WHERE source_id = source.id
            ) AS told
        ) AS found
        WHERE ready AND {which}"""
    with connection.cursor() as cursor:
        cursor.execute(query, values)
        return [SourceRow(*row) for row in cursor]


def upload_payload(upload: Upload) -> UploadPayload:
    row = source(upload.source_id) if upload.source_id else None
    return {
        "id": upload.pk,
        "source": upload.source_id,
        "name": upload.name,
        "state": cast("UploadState", upload.state),
        "seen": microseconds(upload.seen),
        "files": upload.files.count(),
        "bytes_total": upload.bytes_total,
        "bytes_read": upload.bytes_read,
        "entries": upload.entries,
        "skipped": upload.skipped,
        "skipped_examples": upload.skipped_examples,
        "findings": row.errors + row.warnings + row.infos if row else 0,
        "error": upload.error,
        "url": f"/sources/{upload.source_id}/" if upload.state == Upload.State.DONE and upload.source_id else "",
    }


def receiving_payload(upload: Upload, received: list[int]) -> ReceivingPayload:
    """An upload with its files, of each of which so many bytes have arrived."""
    parts: list[UploadFilePayload] = [
        {"name": file.name, "size": file.size, "received": arrived, "refused": file.refused}
        for file, arrived in zip(upload.files.order_by("number"), received, strict=True)
    ]
    return {**upload_payload(upload), "parts": parts}


def open_uploads() -> list[UploadPayload]:
    """Uploads of which something has arrived and that have not ended, the newest first."""
    states = [Upload.State.WAITING, Upload.State.IMPORTING]
    rows = Upload.objects.filter(Q(state__in=states) | Q(state=Upload.State.RECEIVING, bytes_read__gt=0))
    return [upload_payload(row) for row in rows.order_by("-pk")[:50]]


def overview(source_id: int) -> OverviewPayload:
    shown = Source.objects.get(pk=source_id)
    first, last = _extent(shown)
    groups = documents.finding_groups([found[1:] for found in _findings(source_id)], first, last)
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT family, count(DISTINCT lane) FROM timeline_track WHERE source_id = %s GROUP BY 1 ORDER BY 2 DESC",
            [source_id],
        )
        families = [(family, count) for family, count in cursor]
        cursor.execute(
            "SELECT namespace, count(DISTINCT lane) FROM timeline_track"
            " WHERE source_id = %s AND namespace <> '' AND NOT family = ANY(%s) GROUP BY 1 ORDER BY 1",
            [source_id, list(NOISE)],
        )
        namespaces = [(namespace, count) for namespace, count in cursor]
    return {
        "first": first,
        "last": last,
        "counts": shown.histogram,
        "ticks": [group["start"] for group in groups],
        "severities": [group["severity"] for group in groups],
        "families": families,
        "namespaces": namespaces,
    }


def window(
    source_id: int,
    start: int | None = None,
    end: int | None = None,
    *,
    offset: int = 0,
    limit: int = LANES,
    families: Iterable[str] = (),
    namespace: str = "",
    grouping: Grouping = "owner",
    focus: int | None = None,
) -> WindowPayload:
    """What a screen shows of [start, end] (microseconds; the whole source if left out), padded by its width.

    `focus` is the key of a root owner whose group is to come first. Raises Source.DoesNotExist.
    """
    shown = Source.objects.get(pk=source_id)
    first, last = _extent(shown)
    start = first if start is None else start
    end = max(start, last if end is None else end)  # one that is left out may lie before the other
    width = max(end - start, 1)
    lower = max(first, start - width)
    padded = lower, max(lower, min(last, end + width))  # beside the recording it is empty
    choice = _Choice(source_id, tuple(families), namespace, grouping, -1 if focus is None else focus)
    rows, total = choice.lane_rows(start, end, offset, limit)
    groups = choice.groups(rows)
    tracks = choice.tracks(rows, *padded)
    drawing = _drawing(rows, tracks, padded, last, width)
    findings = _findings(source_id)
    drawing.add_findings([(subject, occurrences) for subject, _, occurrences, _ in findings])
    return {
        "source": source_id,
        "start": padded[0],
        "end": padded[1],
        "first": first,
        "last": last,
        "offset": offset,
        "lanes_total": total,
        "groups": groups,
        "findings": documents.finding_groups([found[1:] for found in findings], start, end),
        **drawing.columns(),
    }


def _drawing(
    rows: list[lanes.LaneRow], tracks: list[tuple[Any, ...]], span: tuple[int, int], last: int, width: int
) -> lanes.Drawing:
    """Drawn as finely as a screen shows it; more coarsely where that would be too much for a browser."""
    pixel = max(1, width // PIXELS)
    while True:
        drawing = lanes.Drawing(rows, span, last, pixel)
        for track in tracks:
            drawing.add_track(*track)
        if drawing.size <= MARKS or pixel > width:
            return drawing
        pixel *= 2


class _Choice:
    """Which lanes a window is about: the grouping gives each its heading; under it they stand in creation order."""

    def __init__(
        self, source_id: int, families: tuple[str, ...], namespace: str, grouping: Grouping, focus: int
    ) -> None:
        self._heading = {"owner": "root::text", "kind": "family", "namespace": "namespace"}[grouping]
        self._grouping = grouping
        self._where = "source_id = %(source)s AND " + (
            "family = ANY(%(families)s)" if families else "NOT family = ANY(%(noise)s)"
        )
        if namespace:
            self._where += " AND namespace = %(namespace)s"
        self._values: dict[str, Any] = {
            "source": source_id,
            "families": list(families),
            "noise": list(NOISE),
            "namespace": namespace,
            "focus": focus,
        }

    def lane_rows(self, start: int, end: int, offset: int, limit: int) -> tuple[list[lanes.LaneRow], int]:
        query = f"""
            SELECT lane, {self._heading} AS heading, min(lane_number), count(*) OVER ()
            FROM timeline_track
            WHERE {self._where} AND life && tstzrange(%(start)s, %(end)s, '[]')
            GROUP BY lane, heading
            ORDER BY bool_or(root = %(focus)s) DESC,
                     {"min(root_rank)" if self._grouping == "owner" else "heading, min(root_rank)"},
                     min(lane_number), lane
            LIMIT %(limit)s OFFSET %(offset)s"""
        values = {**self._values, "start": moment(start), "end": moment(end), "limit": limit, "offset": offset}
        with connection.cursor() as cursor:
            cursor.execute(query, values)
            rows = cursor.fetchall()
        if not rows and offset:  # past the end: the total is still wanted
            return [], self.lane_rows(start, end, 0, 1)[1]
        return [lanes.LaneRow(lane, heading, number) for lane, heading, number, _ in rows], rows[0][3] if rows else 0

    def groups(self, rows: list[lanes.LaneRow]) -> list[GroupPayload]:
        headings = list(dict.fromkeys(row.heading for row in rows))
        query = f"""
            SELECT {self._heading} AS heading, count(DISTINCT lane),
                   (array_agg(root))[1], (array_agg(root_rank))[1]
            FROM timeline_track WHERE {self._where} AND {self._heading} = ANY(%(headings)s) GROUP BY heading"""
        with connection.cursor() as cursor:
            cursor.execute(query, {**self._values, "headings": headings})
            counts = {heading: (count, root) for heading, count, root, _ in cursor}
            roots: dict[int, tuple[Any, ...]] = {}
            if self._grouping == "owner":
                cursor.execute(
                    'SELECT DISTINCT ON (key) key, "group", kind, namespace, name, id FROM timeline_track'
                    " WHERE source_id = %(source)s AND key = ANY(%(keys)s) ORDER BY key, number",
                    {**self._values, "keys": [root for _, root in counts.values()]},
                )
                roots = {row[0]: row[1:] for row in cursor}
        return [lanes.group_payload(heading, *counts[heading], roots) for heading in headings]

    def tracks(self, rows: list[lanes.LaneRow], start: int, end: int) -> list[tuple[Any, ...]]:
        query = f"""
            SELECT id, lane, {self._heading}, "group", kind, namespace, name, family, number, upper(life), lifeline
            FROM timeline_track
            WHERE {self._where} AND lane = ANY(%(lanes)s) AND life && tstzrange(%(start)s, %(end)s, '[]')
            ORDER BY lower(life), number"""
        values = {**self._values, "lanes": [row.lane for row in rows], "start": moment(start), "end": moment(end)}
        with connection.cursor() as cursor:
            cursor.execute(query, values)
            return [(*row[:-2], row[-2] and microseconds(row[-2]), orjson.loads(row[-1])) for row in cursor]


def _findings(source_id: int) -> list[tuple[int, FindingPayload, list[dict[str, Any]], int]]:
    """(subject's track, document, occurrences, key of the subject's root) of every finding of a source."""
    rows = Finding.objects.filter(source_id=source_id).select_related("subject").defer("subject__lifeline")
    rows = rows.order_by("first", "identity")
    return [(row.subject_id, row.document, row.occurrences, row.subject.root) for row in rows]


def _extent(shown: Source) -> tuple[int, int]:
    if shown.first is None or shown.last is None:
        return 0, 1
    return microseconds(shown.first), microseconds(shown.last)
