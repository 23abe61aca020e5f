"""Read the incidents of a view, each with its rows of the list of findings, for reports."""

from collections.abc import Iterable
from typing import Any, NamedTuple

import orjson
from django.contrib.postgres.expressions import ArraySubquery
from django.db import connection
from django.db.models import Count, Func, Max, Min, OuterRef, Sum, TextField

from timeline.core.entries import moment
from timeline.history.lifelines import Name
from timeline.judging.incidents.subjects import identity
from timeline.models import FINDING_RANK, Finding, Incident, Occurrence, Source
from timeline.payloads.findings import IncidentRowPayload
from timeline.payloads.incidents.making import InView
from timeline.queries.incidents.filters import GRAVEST, incidents_of
from timeline.queries.incidents.lists import incidents_with
from timeline.queries.incidents.occurrences import payloads, worst_keys
from timeline.queries.window.view import FindingFilter

_TIES = 20  # findings that are read at least, since several may begin at one time
_BETWEEN = "\x1f"  # stands in no name
_SHARING = 100  # of this many findings, one row of the list may be shared before fewer rows are listed


class IncidentsInView(NamedTuple):
    """The incidents of a view, the gravest first, and how many there are in the view and in the source."""

    incidents: list[InView]
    incidents_total: int
    symptoms_total: int
    findings_total: int
    incidents_of_source: int
    symptoms_of_source: int
    findings_of_source: int


def incidents_in_view(
    source_id: int, view: FindingFilter, start: int, end: int, *, limit: int, rows: int, selected: str = ""
) -> IncidentsInView:
    """Return at most `limit` incidents with a finding in a view between two times (µs since 1970).

    Each has at most `rows` rows of the list of findings that are in the view, the one with which the incident is shown
    first, and the row with the key `selected` if it is among these. Of a source that does not exist, there are none.
    """
    source = Source(pk=source_id)
    of_source = Incident.objects.filter(source=source)
    whole = of_source.aggregate(
        count=Count("identity"),
        all_symptoms=Sum("symptoms", default=0),
        of=Sum("findings", default=0),
        first=Min("first"),
        last=Max("last"),
    )
    everything = not whole["count"] or moment(start) <= whole["first"] <= whole["last"] <= moment(end)
    if everything and view.unfiltered:
        found = _gravest(source, whole, limit, rows, selected)
    else:
        found = _matching(source, view, start, end, limit, rows, selected)
    found = _with_worst(source, view, start, end, found, selected)
    details = {each["id"]: each for each in incidents_with(source_id, [each.incident for each in found])}
    keys = {key for each in found for key in each.keys}
    by_key = {
        group["key"]: group
        for group in payloads(source_id, list(Occurrence.objects.filter(source=source, key__in=keys)))
    }
    return IncidentsInView(
        [
            InView(
                _shown(details[each.incident], each.symptoms),
                each.symptoms_total,
                each.findings,
                each.rows,
                [by_key[key] for key in each.keys if key in by_key and each.incident in by_key[key]["incidents"]],
            )
            for each in found
            if each.incident in details
        ],
        found[0].incidents_total if found else 0,
        found[0].all_symptoms if found else 0,
        found[0].findings_total if found else 0,
        whole["count"],
        whole["all_symptoms"],
        whole["of"],
    )


def _shown(incident: IncidentRowPayload, symptoms: set[str] | None) -> IncidentRowPayload:
    if symptoms is None:
        return incident
    return {**incident, "symptoms": [each for each in incident["symptoms"] if each["id"] in symptoms]}


class _Found(NamedTuple):
    """An incident in a view: how many of its symptoms, findings and rows are in it, and the keys of the first rows."""

    incident: str
    symptoms: set[str] | None  # the identities of those in the view; None for all
    symptoms_total: int
    findings: int
    rows: int
    incidents_total: int  # in the view, as the next two
    all_symptoms: int
    findings_total: int
    keys: list[str]


def _with_worst(
    source: Source, view: FindingFilter, start: int, end: int, found: list[_Found], selected: str
) -> list[_Found]:
    """Return the same with the row with which each incident is shown before its others, if it is in the view."""
    worst = worst_keys(source.pk, [each.incident for each in found])
    wanted = view.occurrences(source.pk).filter(first__lte=moment(end), last__gte=moment(start))
    in_view = set(wanted.filter(key__in=set(worst.values())).values_list("key", flat=True))
    result = []
    for each in found:
        if (key := worst.get(each.incident, "")) in in_view:
            others = [one for one in each.keys if one != key]
            if key not in each.keys and others:  # it takes the place of the least grave one
                others.remove(next((one for one in reversed(others) if one != selected), others[-1]))
            each = each._replace(keys=[key, *others])
        result.append(each)
    return result


def _gravest(source: Source, whole: dict[str, Any], limit: int, rows: int, selected: str) -> list[_Found]:
    """Return the gravest incidents of a whole source. The cost hardly depends on how many findings the source has."""
    of_source = Incident.objects.filter(source=source)
    listed = list(of_source.order_by(*GRAVEST, "identity")[:limit])
    keys: dict[str, list[str]] = {}
    for findings in (max(rows, _TIES), _SHARING * rows):  # more are read of those whose findings share their rows
        short = [each.identity for each in listed if len(keys.get(each.identity, ())) < min(rows, each.occurrences)]
        keys |= _first_rows(source, short, findings, rows) if short else {}
    shown = Occurrence.objects.filter(source=source, key=selected).values_list("findings", flat=True).first() or []
    for incident in incidents_of(Finding.objects.filter(source=source, identity__in=shown)):
        if selected not in (of_it := keys.get(incident, [])):
            of_it.append(selected)
    return [
        _Found(
            each.identity,
            None,
            each.symptoms,
            each.findings,
            each.occurrences,
            whole["count"],
            whole["all_symptoms"],
            whole["of"],
            keys.get(each.identity, []),
        )
        for each in listed
    ]


def _first_rows(source: Source, incidents: list[str], findings: int, rows: int) -> dict[str, list[str]]:
    """Return the keys of the gravest rows of each incident, at most `rows`, among those of its first findings."""
    of_incident = Finding.objects.filter(source=OuterRef("source"), incident=OuterRef("identity"), withdrawn=False)
    ordered = of_incident.order_by(FINDING_RANK, "first", "identity").values(groups=_Groups("occurrences", rows=rows))
    found = Incident.objects.filter(source=source, identity__in=incidents)
    candidates = {
        incident: {key for of_finding in groups for key in orjson.loads(of_finding)}
        for incident, groups in found.values_list("identity", ArraySubquery(ordered[:findings]))
    }
    for of_occurrences, groups in _of_several(source, incidents):
        for incident, key in zip(of_occurrences, groups, strict=False):
            candidates.setdefault(incident, set()).add(key)
    places = {
        key: place
        for place, key in enumerate(
            Occurrence.objects.filter(source=source, key__in=set().union(*candidates.values()))
            .order_by("rank", "first", "key")
            .values_list("key", flat=True)
        )
    }
    return {
        incident: sorted(keys & places.keys(), key=places.__getitem__)[:rows] for incident, keys in candidates.items()
    }


def _of_several(source: Source, incidents: list[str]) -> Iterable[tuple[list[str], list[str]]]:
    """Yield the incident and the row of each occurrence, for each finding that belongs to several incidents and also to
    one of these."""
    found = Finding.objects.filter(source=source, incidents__overlap=incidents, withdrawn=False)
    for places, groups in found.values_list("incidents", _Groups("occurrences")):
        yield places or [], orjson.loads(groups)


class _Groups(Func):
    """The keys of the first `rows` rows of a finding, or of all, as JSON in an expression of SQL."""

    template = "jsonb_path_query_array(%(expressions)s, '$[0 to %(last)s].group')::text"
    output_field = TextField()

    def __init__(self, occurrences: str, *, rows: int = 0) -> None:
        super().__init__(occurrences, last=rows - 1 if rows else "last")


def _matching(
    source: Source, view: FindingFilter, start: int, end: int, limit: int, rows: int, selected: str
) -> list[_Found]:
    """Return the gravest incidents with a finding in a view between two times."""
    wanted = view.occurrences(source.pk).filter(first__lte=moment(end), last__gte=moment(start))
    matching, values = wanted.values("key", "rank", "first", "findings").query.sql_with_params()
    scope, scoped = view.members(source.pk).values("identity").query.sql_with_params() if view.narrowed else ("", ())
    within = f" AND finding.identity IN ({scope})" if scope else ""
    query = f"""
        WITH matching AS ({matching}), members AS (
            SELECT placed.incident, finding.identity, matching.key, matching.rank, matching.first,
                   array_to_string(array_prepend(finding.rule, finding.anchor), %s) AS symptom
            FROM matching CROSS JOIN LATERAL unnest(matching.findings) AS named(identity)
            JOIN timeline_finding AS finding ON finding.source_id = %s AND finding.identity = named.identity
            CROSS JOIN LATERAL (
                SELECT finding.incident WHERE finding.incidents IS NULL UNION
                SELECT finding.incidents[place] FROM jsonb_array_elements(
                    CASE WHEN finding.incidents IS NOT NULL THEN finding.occurrences END
                ) WITH ORDINALITY AS one(each, place) WHERE each->>'group' = matching.key
            ) AS placed
            WHERE NOT finding.withdrawn AND finding.incident <> ''{within}
        ), parts AS (
            SELECT incident, key, rank, first,
                   row_number() OVER (PARTITION BY incident ORDER BY rank, first, key) AS place
            FROM members GROUP BY incident, key, rank, first
        ), listed AS MATERIALIZED (
            SELECT incident, array_agg(key ORDER BY place) AS keys FROM parts WHERE place <= %s OR key = %s
            GROUP BY incident
        ), counted AS (
            SELECT incident, count(DISTINCT identity) AS findings, count(DISTINCT key) AS rows, min(rank) AS rank,
                   min(first) AS first, array_agg(DISTINCT symptom) AS symptoms
            FROM members GROUP BY incident
        )
        SELECT incident, counted.symptoms, cardinality(counted.symptoms), counted.findings, counted.rows,
               count(*) OVER (), sum(cardinality(counted.symptoms)) OVER ()::bigint,
               sum(counted.findings) OVER ()::bigint, keys
        FROM counted JOIN listed USING (incident)
        LEFT JOIN timeline_incident AS of_it ON of_it.source_id = %s AND of_it.identity = incident
        ORDER BY counted.rank, of_it.excess DESC, counted.first, incident LIMIT %s"""
    with connection.cursor() as cursor:
        cursor.execute(query, [*values, _BETWEEN, source.pk, *scoped, rows, selected, source.pk, limit])
        return [_Found(incident, _identities(symptoms), *row) for incident, symptoms, *row in cursor]


def _identities(symptoms: list[str]) -> set[str]:
    """Return the identities of symptoms that are given as rule and anchor; an older version has stored no anchor."""
    named = (each.split(_BETWEEN) for each in symptoms)
    return {identity(rule, Name(*anchor)) for rule, *anchor in named if anchor}
