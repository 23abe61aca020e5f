"""This module reads the list of incidents page by page."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db.models import Case, Q, QuerySet, Sum, Value, When
from django.utils import timezone

from timeline.core.entries import microseconds, moment
from timeline.judging.findings import Severity
from timeline.models import Acknowledgement, Finding, Incident, Silence, Source
from timeline.payloads.findings import (
    AcknowledgementPayload,
    FindingOrder,
    FindingPayload,
    IncidentRowPayload,
    IncidentsPayload,
    IncidentState,
    SilencedPayload,
)
from timeline.queries import silences as silencing
from timeline.queries.acknowledgements import acknowledged
from timeline.queries.pages import after, cursor_of, ordering
from timeline.queries.sources import SEVERITIES

PAGE = 50
FINDINGS_SHOWN = 50  # of an incident, on its page
RECENT = timedelta(minutes=5)  # at the live edge, an incident goes on for so long after its last occurrence


@dataclass(frozen=True)
class IncidentFilter:
    """This filter selects incidents; the empty one selects all."""

    severity: Severity | None = None
    rule: str = ""
    namespace: str = ""
    state: IncidentState | None = None
    actor: str = ""  # one who wrote what a proof shows
    words: str = ""  # each is part of the title, of a name, or of an actor
    root: int | None = None  # Track.root: only incidents with a subject that it owns
    silenced: bool = False  # also those that a silence or the baseline takes out of the lists
    acknowledged: bool = True  # also those that somebody has acknowledged


def edge(source: Source) -> datetime | None:
    """Return the time after which an incident that happened last still goes on; None for a recording."""
    feeds = source.cluster is not None and source.cluster.source_id == source.pk
    return timezone.now() - RECENT if feeds else None


def incidents(
    source_id: int,
    wanted: IncidentFilter | None = None,
    *,
    start: int | None = None,
    end: int | None = None,
    order: FindingOrder | None = None,
    cursor: str = "",
    limit: int = PAGE,
) -> IncidentsPayload:
    """Return a page of the incidents that match a filter, from `start` to `end` in microseconds since 1970.

    Without an order, those of a connected cluster come newest first, and those of a recording in the order of time.

    Raises Source.DoesNotExist, and WrongOrder for a cursor of a list in another order.
    """
    source = Source.objects.select_related("cluster").only("cluster__source").get(pk=source_id)
    order = order or ("newest" if source.cluster_id else "time")
    wanted = wanted or IncidentFilter()
    matching = _matching(source, wanted)
    if start is not None:
        matching = matching.filter(last__gte=moment(start))
    if end is not None:
        matching = matching.filter(first__lte=moment(end))
    silences = silencing.active(source)
    quiet = silencing.condition(silences, source)
    silenced = 0 if wanted.silenced else matching.filter(quiet).count()
    matching = matching if wanted.silenced else matching.exclude(quiet)
    known = Q(identity__in=Acknowledgement.objects.filter(source=source, ended="").values("identity"))
    noted = 0 if wanted.acknowledged else matching.filter(known).count()
    matching = matching if wanted.acknowledged else matching.exclude(known)
    page = matching.filter(after(cursor, order, "identity")) if cursor else matching
    rows = list(page.order_by(*ordering(order, "identity"))[: limit + 1])
    more = len(rows) > limit
    total = matching.aggregate(Sum("findings", default=0))["findings__sum"]
    return {
        "incidents": _payloads(source, rows[:limit], silences),
        "order": order,
        "next": cursor_of(rows[limit - 1], order, rows[limit - 1].identity) if more else None,
        "total": matching.count(),
        "findings": total,
        "silenced": silenced,
        "acknowledged": noted,
    }


def incident(source_id: int, identity: str) -> IncidentRowPayload:
    """Return one incident. Raises Source.DoesNotExist and Incident.DoesNotExist."""
    source = Source.objects.select_related("cluster").only("cluster__source").get(pk=source_id)
    row = Incident.objects.get(source=source, identity=identity)
    return _payloads(source, [row], silencing.active(source))[0]


def findings_of_incident(source_id: int, identity: str) -> list[FindingPayload]:
    """Return the first findings of an incident, the gravest first."""
    rank = Case(*(When(severity=severity, then=Value(at)) for at, severity in enumerate(SEVERITIES)))
    found = Finding.objects.filter(source=source_id, incident=identity, withdrawn=False)
    return list(found.order_by(rank, "first", "identity").values_list("document", flat=True)[:FINDINGS_SHOWN])


def _matching(source: Source, wanted: IncidentFilter) -> QuerySet[Incident]:
    matching = Q(source=source)
    if wanted.severity:
        matching &= Q(rank=SEVERITIES.index(wanted.severity))
    if wanted.rule:
        matching &= Q(rule=wanted.rule)
    if wanted.namespace:
        matching &= Q(namespace=wanted.namespace)
    if wanted.actor:
        matching &= Q(actors__contains=[wanted.actor])
    if wanted.root is not None:
        matching &= Q(roots__contains=[wanted.root])
    for word in wanted.words.lower().split():
        matching &= Q(words__contains=word)
    if wanted.state:
        matching &= going_on(source) if wanted.state == "ongoing" else ~going_on(source)
    return Incident.objects.filter(matching)


def going_on(source: Source) -> Q:
    """Return the condition for incidents that go on: see `IncidentRowPayload`."""
    since = edge(source)
    return Q(open=True) | Q(last__gte=since) if since else Q(open=True)


def _payloads(source: Source, rows: list[Incident], silences: list[Silence]) -> list[IncidentRowPayload]:
    since, baseline = edge(source), silencing.baseline(source)
    known = acknowledged(source.pk, {row.identity for row in rows})
    return [_payload(row, since, known.get(row.identity), silencing.why(row, silences, baseline)) for row in rows]


def _payload(
    row: Incident,
    since: datetime | None,
    noted: AcknowledgementPayload | None,
    silenced: SilencedPayload | None,
) -> IncidentRowPayload:
    ongoing = row.open or (since is not None and row.last >= since)
    return {
        "id": row.identity,
        "source": row.source_id,
        "rule": row.rule,
        "title": row.title,
        "severity": SEVERITIES[row.rank],
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
        "actors": row.actors,
        "advice": row.advice,
        "roots": row.roots,
        "worst": row.worst,
        "acknowledged": noted,
        "silenced": silenced,
        "url": f"/sources/{row.source_id}/incidents/{row.identity}/",
    }
