"""Count the incidents of sources, and find those that a list of sources names."""

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from django.db import connection
from django.db.models import BooleanField, Case, Count, Q, Sum, When

from timeline.models import Incident
from timeline.payloads.findings import IncidentRowPayload
from timeline.queries.incidents.filters import GRAVEST, HARMLESS, going_on, known, watched
from timeline.queries.incidents.lists import payloads
from timeline.queries.people import silences as silencing

_LATEST = 20  # of each source, from which the newest are taken


@dataclass(frozen=True)
class IncidentCounts:
    """How many incidents a source has, counted as in `queries.incidents.lists`: silenced ones only in `silenced`, and
    of the others those without harm only in `harmless`."""

    incidents: int = 0
    symptoms: int = 0
    findings: int = 0
    severities: tuple[int, int, int] = (0, 0, 0)  # errors, warnings, info
    ongoing: tuple[int, int, int] = (0, 0, 0)  # that go on and that nobody has acknowledged
    acknowledged: int = 0
    harmless: int = 0
    silenced: int = 0


def incident_counts(sources: Collection[int]) -> dict[int, IncidentCounts]:
    """Return the counts of these sources that have incidents."""
    listed = Q(quiet=False) & ~HARMLESS
    going = listed & Q(goes_on=True, noted=False)
    rows = (
        _flagged(sources)
        .values("source")
        .annotate(
            incidents=Count("identity", filter=listed),
            all_symptoms=Sum("symptoms", filter=listed, default=0),
            all_findings=Sum("findings", filter=listed, default=0),
            **{f"of_{rank}": Count("identity", filter=listed & Q(rank=rank)) for rank in range(3)},
            **{f"going_{rank}": Count("identity", filter=going & Q(rank=rank)) for rank in range(3)},
            acknowledged=Count("identity", filter=listed & Q(noted=True)),
            harmless=Count("identity", filter=Q(quiet=False) & HARMLESS),
            silenced=Count("identity", filter=Q(quiet=True)),
        )
        .order_by()
    )
    return {
        row["source"]: IncidentCounts(
            row["incidents"],
            row["all_symptoms"],
            row["all_findings"],
            (row["of_0"], row["of_1"], row["of_2"]),
            (row["going_0"], row["going_1"], row["going_2"]),
            row["acknowledged"],
            row["harmless"],
            row["silenced"],
        )
        for row in rows
    }


def worst_incidents(sources: Collection[int]) -> dict[int, IncidentRowPayload]:
    """Return the worst incident of each source: the gravest that nobody has acknowledged, or else the gravest.

    Of equally grave ones of a connected cluster it is one that goes on, and else the first in the order "gravest", with
    which a recording opens. Silenced ones and those without harm are left out.
    """
    rows = _flagged(sources).filter(quiet=False).exclude(HARMLESS).annotate(now=_flag(going_on() & watched()))
    by_rank, *by_harm = GRAVEST
    order = ("source", "noted", by_rank, "-now", *by_harm, "identity")
    keys = list(rows.order_by(*order).distinct("source").values_list("source", "identity"))
    return {each["source"]: each for each in payloads(_rows(keys), silencing.active())}


def newest_incidents(sources: Collection[int], limit: int, each: int) -> list[IncidentRowPayload]:
    """Return the newest incidents of these sources that did harm and are not silenced, at most `each` of one source."""
    query = f"""
        SELECT latest.identity
        FROM unnest(%s::bigint[]) AS wanted (source_id)
        CROSS JOIN LATERAL (
            SELECT identity FROM timeline_incident
            WHERE source_id = wanted.source_id AND NOT (rank = 2 AND effect = 'none')
            ORDER BY last DESC, rank, identity LIMIT {_LATEST}
        ) AS latest"""
    with connection.cursor() as cursor:
        cursor.execute(query, [list(sources)])
        latest = [identity for (identity,) in cursor]
    silences = silencing.active()
    rows = Incident.objects.filter(source__in=sources, identity__in=latest).exclude(silencing.condition(silences))
    chosen: list[tuple[int, str]] = []
    taken: dict[int, int] = {}
    ordered = rows.order_by("-last", "rank", "identity", "source").values_list("source", "identity")
    for source, identity in ordered:
        taken[source] = taken.get(source, 0) + 1
        if taken[source] <= each:
            chosen.append((source, identity))
    return payloads(_rows(chosen[:limit]), silences)


def _rows(keys: list[tuple[int, str]]) -> list[Incident]:
    """Return the incidents with these sources and identities, in this order."""
    found = Incident.objects.filter(source__in={key[0] for key in keys}, identity__in={key[1] for key in keys})
    by_key = {(row.source_id, row.identity): row for row in found}
    return [by_key[key] for key in keys if key in by_key]


def _flagged(sources: Collection[int]) -> Any:
    """Return the incidents of these sources, each with whether it is silenced, goes on, and is acknowledged."""
    return Incident.objects.filter(source__in=sources).annotate(
        quiet=_flag(silencing.condition(silencing.active())),
        goes_on=_flag(going_on()),
        noted=_flag(Q(known(sources))),
    )


def _flag(condition: Q) -> Case:
    return Case(When(condition, then=True), default=False, output_field=BooleanField())
