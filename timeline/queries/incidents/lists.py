"""Read the list of incidents page by page."""

from collections.abc import Collection
from dataclasses import dataclass

from django.db.models import Count, QuerySet, Sum
from django.utils import timezone

from timeline.core.entries import microseconds
from timeline.judging.rulebook import VERSION
from timeline.models import FINDING_RANK, Finding, Incident, Silence, Source
from timeline.payloads.findings import (
    AcknowledgementPayload,
    FindingOrder,
    FindingPayload,
    IncidentRowPayload,
    IncidentsPayload,
    SilencedPayload,
    VerdictName,
)
from timeline.queries.filters import IncidentFilter
from timeline.queries.incidents.filters import RECENT, happening, known, matching
from timeline.queries.incidents.pages import after, cursor_of, ordering
from timeline.queries.people import silences as silencing
from timeline.queries.people.acknowledgements import acknowledged_in
from timeline.queries.people.baselines import baselines
from timeline.queries.sources.extents import SEVERITIES, extent

PAGE = 50
FINDINGS_SHOWN = 50  # of an incident, on its page
AT_ONCE = 10_000  # incidents that are acknowledged at once
_KEY = ("identity", "source")
_TOTALS = {"incidents": Count("identity"), "findings": Sum("findings", default=0)}


def watched(source: Source) -> bool:
    """Return whether a cluster feeds the source now; `cluster` has to be loaded."""
    return source.cluster is not None and source.cluster.source_id == source.pk


def incidents(
    source_id: int | None,
    wanted: IncidentFilter | None = None,
    *,
    start: int | None = None,
    end: int | None = None,
    order: FindingOrder | None = None,
    cursor: str = "",
    limit: int = PAGE,
) -> IncidentsPayload:
    """Return a page of the incidents of a source, or of all, that match a filter, from `start` to `end` in microseconds
    since 1970.

    Wherever incidents are counted, those that somebody has acknowledged count, and silenced ones do not.

    Without an order, those of a connected cluster or of all sources come newest first, and those of a recording in the
    order of time.

    Raises Source.DoesNotExist, and WrongOrder for a cursor of another list, or of a list in another order.
    """
    source = None if source_id is None else _source(source_id)
    order = order or ("time" if source and source.cluster_id is None else "newest")
    wanted = wanted or IncidentFilter()
    silences = silencing.active(source)
    listed, silenced, noted = _listed(source_id, wanted, silences, start, end)
    page = listed.filter(after(cursor, order, *_KEY)) if cursor else listed
    rows = list(page.order_by(*ordering(order, *_KEY))[: limit + 1])
    more = len(rows) > limit
    last = rows[limit - 1] if more else None
    totals = listed.aggregate(**_TOTALS)
    return {
        "incidents": payloads(rows[:limit], silences),
        "order": order,
        "next": cursor_of(last, order, last.identity, last.source_id) if last else None,
        "total": totals["incidents"],
        "findings": totals["findings"],
        "silenced": silenced,
        "acknowledged": noted["incidents"],
        "acknowledged_findings": noted["findings"],
    }


def listed_identities(source_id: int | None, wanted: IncidentFilter) -> dict[int, list[str]]:
    """Return all incidents that match and nobody has acknowledged, by source; the newest ones if they are very many."""
    silences = silencing.active(None if source_id is None else _source(source_id))
    listed, *_ = _listed(source_id, wanted.but(acknowledged=False), silences)
    found: dict[int, list[str]] = {}
    for source, identity in listed.order_by("-last").values_list("source", "identity")[:AT_ONCE]:
        found.setdefault(source, []).append(identity)
    return found


def _listed(
    source_id: int | None,
    wanted: IncidentFilter,
    silences: list[Silence],
    start: int | None = None,
    end: int | None = None,
) -> tuple[QuerySet[Incident], int, dict[str, int]]:
    """Return what the list shows, how many further ones match but are silenced, and the totals of further ones that
    match but are acknowledged."""
    found = matching(source_id, wanted)
    if source_id is not None:
        found = found.filter(happening(source_id, start, end))
    quiet = silencing.condition(silences)
    silenced = 0 if wanted.silenced else found.filter(quiet).count()
    found = found if wanted.silenced else found.exclude(quiet)
    noted = {"incidents": 0, "findings": 0} if wanted.acknowledged else found.filter(known()).aggregate(**_TOTALS)
    return (found if wanted.acknowledged else found.exclude(known())), silenced, noted


def most_prominent(source_id: int, wanted: IncidentFilter) -> str | None:
    """Return the incident that a timeline shows first, as `layout.opening.prominence` orders them; None without any."""
    listed, *_ = _listed(source_id, wanted, silencing.active(_source(source_id)))
    return listed.order_by("rank", "-findings", "first", "identity").values_list("identity", flat=True).first()


def _source(source_id: int) -> Source:
    return Source.objects.select_related("cluster").only("cluster__source").get(pk=source_id)


def incident(source_id: int, identity: str) -> IncidentRowPayload:
    """Return one incident. Raises Source.DoesNotExist and Incident.DoesNotExist."""
    source = _source(source_id)
    row = Incident.objects.get(source=source, identity=identity)
    return payloads([row], silencing.active(source))[0]


def incidents_with(source_id: int, identities: Collection[str]) -> list[IncidentRowPayload]:
    """Return the incidents of a source with these identities, as far as they exist. Raises Source.DoesNotExist."""
    if not identities:
        return []
    rows = Incident.objects.filter(source=source_id, identity__in=identities).order_by("first", "identity")
    source = _source(source_id)
    return payloads(list(rows), silencing.active(source), {source_id: source})


def incident_of(source_id: int, finding: str) -> tuple[str, str] | None:
    """Return identity and title of the incident that a finding belongs to; None if it belongs to none."""
    named = Finding.objects.filter(source=source_id, identity=finding, withdrawn=False).values("incident")
    return Incident.objects.filter(source=source_id, identity__in=named).values_list("identity", "title").first()


def findings_of_incident(source_id: int, identity: str) -> list[FindingPayload]:
    """Return the first findings of an incident, the gravest first."""
    found = Finding.objects.filter(source=source_id, incident=identity, withdrawn=False)
    return list(found.order_by(FINDING_RANK, "first", "identity").values_list("document", flat=True)[:FINDINGS_SHOWN])


def payloads(
    rows: list[Incident], silences: list[Silence], sources: dict[int, Source] | None = None
) -> list[IncidentRowPayload]:
    """Return incidents as the list has them. `sources` are their sources by number, where they are read already."""
    numbers = {row.source_id for row in rows}
    identities = {row.identity for row in rows}
    if sources is None:
        sources = Source.everything.filter(pk__in=numbers).select_related("cluster").only("cluster__source").in_bulk()
    noted = acknowledged_in(numbers, identities)
    in_baseline = baselines(numbers, identities)
    worst = Finding.objects.filter(source__in=numbers, identity__in={row.worst for row in rows})
    verdicts = {
        (source, identity): verdict
        for source, identity, verdict in worst.values_list("source", "identity", "document__verdict")
    }
    return [
        _payload(
            row,
            live=watched(sources[row.source_id]),
            verdict=verdicts.get((row.source_id, row.worst), "inconclusive"),
            noted=noted.get((row.source_id, row.identity)),
            silenced=silencing.why(
                row, sources[row.source_id], silences, in_baseline.get((row.source_id, row.identity))
            ),
        )
        for row in rows
    ]


def _payload(
    row: Incident,
    *,
    live: bool,
    verdict: VerdictName,
    noted: AcknowledgementPayload | None,
    silenced: SilencedPayload | None,
) -> IncidentRowPayload:
    ongoing = row.open or (live and row.last >= timezone.now() - RECENT)
    return {
        "id": row.identity,
        "source": row.source_id,
        "rule": row.rule,
        "title": row.title,
        "severity": SEVERITIES[row.rank],
        "verdict": verdict,
        "status": "confirmed" if row.status == "confirmed" else "suspected",
        "state": "ongoing" if ongoing else "over",
        "anchor": {"group": row.group, "kind": row.kind, "namespace": row.namespace, "name": row.name},
        "subjects": row.subjects,
        "names": row.names,
        "findings": row.findings,
        "occurrences": row.occurrences,
        "start": microseconds(row.first),
        "end": microseconds(row.last),
        "times": row.times,
        "effect": row.effect,  # type: ignore[typeddict-item]
        "effect_text": row.effect_text,
        "cause": row.cause,
        "caused": row.caused,
        "actors": row.actors,
        "advice": row.advice,
        "roots": row.roots,
        "worst": row.worst,
        "acknowledged": noted,
        "silenced": silenced,
        "url": f"/sources/{row.source_id}/incidents/{row.identity}/",
    }


@dataclass(frozen=True)
class Origin:
    """What a list of incidents shows of a source."""

    name: str
    live: bool
    first: int  # microseconds since 1970, as the next
    last: int


def origins(sources: Collection[int]) -> dict[int, Origin]:
    """Return these sources by id."""
    fields = ("name", "first", "last", "cluster__source")
    rows = Source.objects.filter(pk__in=sources).select_related("cluster").only(*fields)
    return {row.pk: Origin(row.name, watched(row), *extent(row)) for row in rows}


def judged_before() -> int:
    """Return how many sources an older version of the rules has judged, whose incidents may be missing."""
    return Source.objects.filter(ready=True, judged__lt=VERSION).count()
