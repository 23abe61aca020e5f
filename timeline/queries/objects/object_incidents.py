"""Read the incidents of an object's page: those that name the object or what it owns."""

from django.db.models import BooleanField, Case, Count, Min, Q, Sum, When

from timeline.models import Finding, Source, Track
from timeline.payloads.objects import ObjectIncidentsPayload, Relation
from timeline.queries.filters import SourceIncidentFilter
from timeline.queries.incidents.filters import GRAVEST, HARMLESS, going_on, matching, of, with_incidents
from timeline.queries.incidents.lists import payloads
from timeline.queries.objects.owned import lives, owned
from timeline.queries.people import silences as silencing

SHOWN = 10


def incidents_of(source: Source, row: Track) -> ObjectIncidentsPayload:
    """Return the incidents that name the object of a track, in any incarnation, or what it owns."""
    silences = silencing.active(source)
    quiet = silencing.condition(silences)
    # Which incidents these are takes longest to find where there are many findings, so it is asked only once.
    identities = list(matching(source.pk, SourceIncidentFilter(track=row.id)).values_list("identity", flat=True))
    found = of(source.pk).filter(identity__in=identities)
    heard = found.exclude(quiet)
    listed = heard.exclude(HARMLESS)
    totals = listed.aggregate(
        total=Count("identity"),
        symptoms=Sum("symptoms", default=0),
        findings=Sum("findings", default=0),
        ongoing=Count("identity", filter=going_on()),
    )
    goes_on = Case(When(going_on(), then=True), default=False, output_field=BooleanField())
    order = (goes_on.desc(), "rank", "-last") if source.cluster_id else GRAVEST
    rows = list(listed.order_by(*order, "identity")[:SHOWN])
    relations = _relations(row, [each.identity for each in rows])
    return {
        "incidents": [
            {**each, "relation": relations.get(each["id"], "names what it owns")} for each in payloads(rows, silences)
        ],
        "total": totals["total"],
        "symptoms": totals["symptoms"],
        "findings": totals["findings"],
        "ongoing": totals["ongoing"],
        "harmless": heard.filter(HARMLESS).count(),
        "silenced": found.filter(quiet).count(),
    }


def _relations(row: Track, identities: list[str]) -> dict[str, Relation]:
    """Return what each of these incidents has to do with the object of a track."""
    if not identities:
        return {}
    own = lives(row)
    found = Finding.objects.filter(Finding.of_incidents(identities), source=row.source_id, withdrawn=False)
    relations: tuple[tuple[Relation, Q], ...] = (
        ("about it", Q(subject__in=own)),
        ("about what it owns", Q(subject__in=owned(row))),
        ("names it", Q(tracks__overlap=own)),
    )
    place = Case(*(When(condition, then=at) for at, (_, condition) in enumerate(relations)), default=len(relations))
    nearest = with_incidents(found).values("of_incident").annotate(place=Min(place)).values_list("of_incident", "place")
    words: list[Relation] = [*(word for word, _ in relations), "names what it owns"]
    return {incident: words[at] for incident, at in nearest}
