"""This module reads the incidents of a view, each with its rows of the list of findings, for reports."""

from typing import NamedTuple

from django.db import connection
from django.db.models import Count, Sum

from timeline.core.entries import moment
from timeline.models import Incident, Occurrence, Source
from timeline.payloads.incidents import InView
from timeline.queries.incidents import incidents_with
from timeline.queries.occurrences import payloads
from timeline.queries.view import View


class IncidentsInView(NamedTuple):
    """These are the incidents of a view, the gravest first, and how many there are in the view and in the source."""

    incidents: list[InView]
    incidents_total: int
    findings_total: int
    incidents_of_source: int
    findings_of_source: int


def incidents_in_view(
    source_id: int, view: View, start: int, end: int, *, limit: int, rows: int, selected: str = ""
) -> IncidentsInView:
    """Return at most `limit` incidents with a finding in a view between two times (µs since 1970).

    Each has at most `rows` rows of the list of findings that are in the view, the gravest first, and the row with the
    key `selected` if it is among these. Raises Source.DoesNotExist.
    """
    source = Source.objects.only("pk").get(pk=source_id)
    wanted = view.occurrences(source_id).filter(first__lte=moment(end), last__gte=moment(start))
    matching, values = wanted.values("key", "rank", "first", "findings").query.sql_with_params()
    query = f"""
        WITH matching AS ({matching}), members AS (
            SELECT finding.incident, finding.identity, matching.key, matching.rank, matching.first
            FROM matching CROSS JOIN LATERAL unnest(matching.findings) AS named(identity)
            JOIN timeline_finding AS finding ON finding.source_id = %s AND finding.identity = named.identity
            WHERE NOT finding.withdrawn AND finding.incident <> ''
        ), parts AS (
            SELECT incident, key, rank, first,
                   row_number() OVER (PARTITION BY incident ORDER BY rank, first, key) AS place
            FROM members GROUP BY incident, key, rank, first
        ), listed AS MATERIALIZED (
            SELECT incident, array_agg(key ORDER BY place) AS keys FROM parts WHERE place <= %s OR key = %s
            GROUP BY incident
        ), counted AS (
            SELECT incident, count(DISTINCT identity) AS findings, count(DISTINCT key) AS rows, min(rank) AS rank,
                   min(first) AS first
            FROM members GROUP BY incident
        )
        SELECT incident, findings, rows, count(*) OVER (), sum(findings) OVER (), keys
        FROM counted JOIN listed USING (incident) ORDER BY rank, first, incident LIMIT %s"""
    with connection.cursor() as cursor:
        cursor.execute(query, [*values, source_id, rows, selected, limit])
        found = cursor.fetchall()
    whole = Incident.objects.filter(source=source).aggregate(count=Count("identity"), of=Sum("findings", default=0))
    details = {each["id"]: each for each in incidents_with(source_id, [row[0] for row in found])}
    keys = {key for *_, of_it in found for key in of_it}
    by_key = {
        group["key"]: group
        for group in payloads(source_id, list(Occurrence.objects.filter(source=source, key__in=keys)))
    }
    return IncidentsInView(
        [
            InView(details[identity], findings, total, [by_key[key] for key in of_it if key in by_key])
            for identity, findings, total, *_, of_it in found
            if identity in details
        ],
        int(found[0][3]) if found else 0,
        int(found[0][4]) if found else 0,
        whole["count"],
        whole["of"],
    )
