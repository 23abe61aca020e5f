"""Read the list of incidents page by page."""

from collections import Counter, defaultdict
from collections.abc import Collection
from dataclasses import dataclass
from typing import NamedTuple

from django.db.models import Count, Q, QuerySet, Sum
from django.utils import timezone

from timeline.core.actors import KIND as ACTOR
from timeline.core.entries import microseconds
from timeline.history.lifelines import Name
from timeline.judge import rulebook
from timeline.judging.incidents.subjects import distinct_title, short_name
from timeline.judging.rulebook import VERSION
from timeline.models import FINDING_RANK, BaselineIncident, Finding, Incident, Silence, Source, Symptom
from timeline.payloads.findings import (
    AcknowledgementPayload,
    AnchorPayload,
    FindingOrder,
    FindingPayload,
    IncidentRowPayload,
    IncidentsPayload,
    IncidentState,
    SymptomRowPayload,
    VerdictName,
)
from timeline.payloads.incidents import ranges
from timeline.payloads.incidents.making import SHOWN
from timeline.payloads.incidents.titles import Harm, harms_of, title
from timeline.queries.filters import LEAST, IncidentFilter
from timeline.queries.incidents.filters import GRAVEST, HARMLESS, RECENT, known, matching
from timeline.queries.incidents.pages import Pages
from timeline.queries.people import silences as silencing
from timeline.queries.people.acknowledgements import acknowledged_in
from timeline.queries.people.baselines import baselines
from timeline.queries.sources.extents import SEVERITIES, extent

PAGE = 50
FINDINGS_SHOWN = 50  # of an incident, on its page
AT_ONCE = 10_000  # incidents that are acknowledged at once
_PAGES = Pages(GRAVEST, ("identity", "source_id"))
_TOTALS = {
    "incidents": Count("identity"),
    "all_symptoms": Sum("symptoms", default=0),
    "all_findings": Sum("findings", default=0),
}


def watched(source: Source) -> bool:
    """Return whether a cluster feeds the source now; `cluster` has to be loaded."""
    return source.cluster is not None and source.cluster.source_id == source.pk


def incidents(
    source_id: int | None,
    wanted: IncidentFilter | None = None,
    *,
    order: FindingOrder | None = None,
    cursor: str = "",
    limit: int = PAGE,
) -> IncidentsPayload:
    """Return a page of the incidents of a source, or of all, that match a filter.

    Wherever incidents are counted, those that somebody has acknowledged count, and silenced ones do not.

    Without an order, those of a connected cluster or of all sources come newest first, and those of a recording in the
    order of time.

    Raises Source.DoesNotExist, and WrongOrder for a cursor of another list, or of a list in another order.
    """
    source = None if source_id is None else _source(source_id)
    order = order or ("time" if source and source.cluster_id is None else "newest")
    wanted = wanted or IncidentFilter()
    silences = silencing.active(source)
    listed, others = _listed(source_id, wanted, silences)
    noted = others.acknowledged
    page = listed.filter(_PAGES.after(cursor, order)) if cursor else listed
    rows = list(page.order_by(*_PAGES.ordering(order))[: limit + 1])
    more = len(rows) > limit
    last = rows[limit - 1] if more else None
    totals = listed.aggregate(**_TOTALS)
    return {
        "incidents": payloads(rows[:limit], silences),
        "order": order,
        "next": _PAGES.cursor_of(last, order) if last else None,
        "total": totals["incidents"],
        "symptoms": totals["all_symptoms"],
        "findings": totals["all_findings"],
        "harmless": others.harmless,
        "silenced": others.silenced,
        "acknowledged": noted["incidents"],
        "acknowledged_symptoms": noted["all_symptoms"],
        "acknowledged_findings": noted["all_findings"],
    }


class _Others(NamedTuple):
    """The incidents that match a filter which does not ask for them."""

    harmless: int
    silenced: int
    acknowledged: dict[str, int]  # by the names of `_TOTALS`


def listed_identities(source_id: int | None, wanted: IncidentFilter) -> dict[int, list[str]]:
    """Return all incidents that match and nobody has acknowledged, by source; the newest ones if they are very many."""
    silences = silencing.active(None if source_id is None else _source(source_id))
    listed, _ = _listed(source_id, wanted.but(acknowledged=False), silences)
    found: dict[int, list[str]] = {}
    for source, identity in listed.order_by("-last").values_list("source", "identity")[:AT_ONCE]:
        found.setdefault(source, []).append(identity)
    return found


def _listed(
    source_id: int | None,
    wanted: IncidentFilter,
    silences: list[Silence],
) -> tuple[QuerySet[Incident], _Others]:
    """Return what the list shows, and what further ones match."""
    found = matching(source_id, wanted)
    quiet = silencing.condition(silences)
    silenced = 0 if wanted.silenced else found.filter(quiet).count()
    found = found if wanted.silenced else found.exclude(quiet)
    with_harmless = wanted.harmless or wanted.severity == "info"
    harmless = 0 if with_harmless else found.filter(HARMLESS).count()
    found = found if with_harmless else found.exclude(HARMLESS)
    noted = dict.fromkeys(_TOTALS, 0) if wanted.acknowledged else found.filter(known()).aggregate(**_TOTALS)
    return (found if wanted.acknowledged else found.exclude(known())), _Others(harmless, silenced, noted)


def gravest(source_id: int, wanted: IncidentFilter) -> str | None:
    """Return the incident that a timeline shows first: the gravest that is listed; None without any."""
    listed, _ = _listed(source_id, wanted, silencing.active(_source(source_id)))
    return listed.order_by(*GRAVEST, "identity").values_list("identity", flat=True).first()


def _source(source_id: int) -> Source:
    return Source.objects.select_related("cluster").only("cluster__source").get(pk=source_id)


def incident(source_id: int, identity: str) -> IncidentRowPayload:
    """Return the incident to which an address leads, as `current` finds it. Raises Source.DoesNotExist and
    Incident.DoesNotExist."""
    source = _source(source_id)
    row = Incident.objects.get(source=source, identity=current(source_id, identity))
    return payloads([row], silencing.active(source))[0]


def current(source_id: int, named: str) -> str:
    """Return the identity of the incident to which an address leads: of the one whose identity is this or alone begins
    with it, or else of the one that has such a symptom, which was an incident of its own before. Return what was given
    if that names no incident, or several."""
    if len(named) < LEAST:
        return named
    own = Incident.objects.filter(source=source_id, identity__startswith=named).values_list("identity", flat=True)[:2]
    if own:
        return own[0] if len(own) == 1 else named
    of_it = Symptom.objects.filter(source=source_id, identity__startswith=named)
    found = of_it.order_by("rank", "first", "incident").values_list("identity", "incident")
    return found[0][1] if len({identity for identity, _ in found}) == 1 else named


def incidents_with(source_id: int, identities: Collection[str]) -> list[IncidentRowPayload]:
    """Return the incidents of a source with these identities, as far as they exist. Raises Source.DoesNotExist."""
    if not identities:
        return []
    rows = Incident.objects.filter(source=source_id, identity__in=identities).order_by("first", "identity")
    source = _source(source_id)
    return payloads(list(rows), silencing.active(source), {source_id: source})


def incident_of(source_id: int, finding: str) -> tuple[str, str] | None:
    """Return identity and title of the first incident that a finding belongs to; None if it belongs to none."""
    named = Finding.objects.filter(source=source_id, identity=finding, withdrawn=False).values("incident")
    return Incident.objects.filter(source=source_id, identity__in=named).values_list("identity", "title").first()


def others_of_cause(source_id: int, finding: str) -> list[tuple[str, int]]:
    """Return how many other objects the incident of a finding harmed, by kind: those that its other symptoms are
    about."""
    found = Finding.objects.filter(source=source_id, identity=finding, withdrawn=False).first()
    if found is None or not found.anchor:
        return []
    of_it = Symptom.objects.filter(source=source_id, incident=found.incident).exclude(kind=ACTOR)
    names = set(of_it.values_list("group", "kind", "namespace", "name")) - {tuple(found.anchor)}
    return sorted(Counter(kind for _, kind, _, _ in names).items())


def findings_of_incident(source_id: int, incident: IncidentRowPayload) -> list[FindingPayload]:
    """Return the first findings of an incident: the one with which it is shown, and then errors first."""
    found = Finding.objects.filter(Finding.of_incidents([incident["id"]]), source=source_id, withdrawn=False)
    shown, others = Q(identity=incident["worst"]), found.order_by(FINDING_RANK, "first", "identity")
    documents = (each.values_list("document", flat=True) for each in (found.filter(shown), others.exclude(shown)))
    return [document for of_it in documents for document in of_it[:FINDINGS_SHOWN]][:FINDINGS_SHOWN]


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
    symptoms = symptoms_of(rows)
    spaces = _namespaces_by_title(numbers, {row.title for row in rows})
    return [
        _payload(
            row,
            spaces[row.source_id, row.title],
            symptoms[row.source_id, row.identity],
            sources[row.source_id],
            silences,
            verdict=verdicts.get((row.source_id, row.worst), "inconclusive"),
            noted=noted.get((row.source_id, row.identity)),
            in_baseline=in_baseline.get((row.source_id, row.identity)),
        )
        for row in rows
    ]


def _namespaces_by_title(sources: Collection[int], titles: Collection[str]) -> dict[tuple[int, str], set[str]]:
    """Return by source and title the namespaces of the incidents with that title."""
    found = defaultdict[tuple[int, str], set[str]](set)
    rows = Incident.objects.filter(source__in=sources, title__in=titles)
    for source, shared, namespace in rows.values_list("source", "title", "namespace").distinct():
        found[source, shared].add(namespace)
    return found


def symptoms_of(rows: Collection[Incident], most: int = SHOWN) -> dict[tuple[int, str], list[Symptom]]:
    """Return the symptoms of incidents, the gravest first, by source and identity; of each at most as many as a list
    has, or `most`."""
    found: dict[tuple[int, str], list[Symptom]] = {(row.source_id, row.identity): [] for row in rows}
    sources, identities = {source for source, _ in found}, {identity for _, identity in found}
    listed = Symptom.objects.filter(source__in=sources, incident__in=identities, place__lt=most)
    for each in listed.order_by("place", "identity"):
        if (key := (each.source_id, each.incident)) in found:
            found[key].append(each)
    return {(row.source_id, row.identity): found[row.source_id, row.identity] or [_alone(row)] for row in rows}


def _alone(row: Incident) -> Symptom:
    """Return an incident as its own only symptom: an older version of Causeline has written it."""
    fields = {field.name for field in Symptom._meta.concrete_fields if field.column}
    values = {field.attname: getattr(row, field.attname) for field in Incident._meta.concrete_fields if field.column}
    own = {name: value for name, value in values.items() if name.removesuffix("_id") in fields}
    return Symptom(**own, incident=row.identity, count=row.occurrences, place=0)


def _payload(
    row: Incident,
    namespaces: Collection[str],
    symptoms: list[Symptom],
    source: Source,
    silences: list[Silence],
    *,
    verdict: VerdictName,
    noted: AcknowledgementPayload | None,
    in_baseline: BaselineIncident | None,
) -> IncidentRowPayload:
    live = watched(source)
    quiet = [silencing.longest(each, source, silences) for each in symptoms]
    whole = len(symptoms) >= row.symptoms
    # A silence counts for the rest of the incident what it leaves; of a silenced incident all is shown.
    heard = [each for each, silence in zip(symptoms, quiet, strict=True) if not silence]
    shown = heard[0] if heard and any(quiet) else row
    return {
        "id": row.identity,
        "name": short_name(row.identity),
        "source": row.source_id,
        "rule": shown.rule,
        "rules": row.rules or [row.rule],
        "title": distinct_title(row.title, row.namespace, namespaces) if shown is row else _title(row.root, heard),
        "severity": SEVERITIES[shown.rank],
        "verdict": verdict,
        "status": "confirmed" if row.status == "confirmed" else "suspected",
        "state": _state(row, live=live),
        "anchor": _anchor(shown),
        "anchored_in": row.anchored_in or [row.namespace],
        "subjects": row.subjects,
        "names": row.names,
        "findings": row.findings,
        "occurrences": row.occurrences,
        "start": microseconds(row.first),
        "end": microseconds(row.last),
        "times": row.times,
        "ranges": ranges.of_incident(
            row.times, microseconds(row.last), microseconds(symptoms[0].first if symptoms else row.first)
        ),
        "effect": shown.effect,  # type: ignore[typeddict-item]
        "effect_text": shown.effect_text,
        "root": row.root,
        "symptoms": [
            _symptom(each, live=live, silenced=silence is not None)
            for each, silence in zip(symptoms, quiet, strict=True)
        ],
        "symptoms_total": row.symptoms,
        "cause": row.cause,
        "caused": row.caused,
        "actors": row.actors,
        "advice": row.advice,
        "roots": row.roots,
        "worst": shown.worst,
        "acknowledged": noted,
        "silenced": silencing.why(symptoms if whole else (), source, silences, in_baseline),
        "url": f"/sources/{row.source_id}/incidents/{row.identity}/",
    }


def _title(root: str, heard: list[Symptom]) -> str:
    """Return the title that an incident has without its silenced symptoms. `heard` are the others."""
    harms = [
        Harm(
            each.rule,
            Name(each.group, each.kind, each.namespace, each.name),
            each.title,
            SEVERITIES[each.rank],
            each.effect,
            each.count,
        )
        for each in heard
    ]
    return title(root, harms, harms_of(rulebook()))


def _state(row: Incident | Symptom, *, live: bool) -> IncidentState:
    return "ongoing" if row.open or (live and row.last >= timezone.now() - RECENT) else "over"


def _anchor(row: Incident | Symptom) -> AnchorPayload:
    return {"group": row.group, "kind": row.kind, "namespace": row.namespace, "name": row.name}


def _symptom(row: Symptom, *, live: bool, silenced: bool) -> SymptomRowPayload:
    return {
        "id": row.identity,
        "rule": row.rule,
        "title": row.title,
        "severity": SEVERITIES[row.rank],
        "status": "confirmed" if row.status == "confirmed" else "suspected",
        "state": _state(row, live=live),
        "anchor": _anchor(row),
        "subjects": row.subjects,
        "names": row.names,
        "findings": row.findings,
        "occurrences": row.occurrences,
        "start": microseconds(row.first),
        "end": microseconds(row.last),
        "effect": row.effect,  # type: ignore[typeddict-item]
        "effect_text": row.effect_text,
        "actors": row.actors,
        "worst": row.worst,
        "silenced": silenced,
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
