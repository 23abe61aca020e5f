"""Read the incidents that routes have to look at."""

from collections.abc import Collection, Iterable
from datetime import datetime
from typing import NamedTuple

from django.db import connection
from django.db.models import QuerySet
from django.utils import timezone

from timeline.models import Incident, Source, Symptom
from timeline.payloads.findings import IncidentRowPayload
from timeline.queries.incidents.filters import RECENT
from timeline.queries.incidents.lists import payloads, symptoms_of, watched
from timeline.queries.people import silences as silencing
from timeline.queries.people.acknowledgements import acknowledged_in
from timeline.queries.people.baselines import baselines

Key = tuple[int, str]  # Source.pk and Incident.identity
_NEEDED = ("rule", "rank", "namespace", "name", "open", "last", "symptoms")
_SYMPTOMS = 1000  # of an incident, the gravest ones, that are compared with what routes ask for


class IncidentNow(NamedTuple):
    """The fields of an incident that decide whether a route sends a message about it."""

    key: Key
    cluster: int | None
    live: bool  # a cluster feeds its source now
    imported: datetime  # when its source was made
    rule: str
    namespace: str
    owner: str  # the name of what it is about
    symptoms: tuple[tuple[str, str, str], ...]  # rule, namespace and owner of each that no silence takes out
    rank: int  # 0 error, 1 warning, 2 info, of these
    ongoing: bool  # whether one of these goes on
    last: datetime  # of these
    held: bool  # a silence or the baseline takes it out of the lists
    acknowledged: bool


def take_noticed(most: int) -> list[Key]:
    """Remove the notes that something has happened to incidents, the oldest first, and return the keys of the
    incidents.

    The incidents have to be read afterwards, in the same transaction: what is committed later makes a new note.
    """
    with connection.cursor() as cursor:
        cursor.execute(
            "DELETE FROM timeline_noticed_incident WHERE (source_id, identity) IN (SELECT source_id, identity"
            " FROM timeline_noticed_incident ORDER BY at LIMIT %s FOR UPDATE SKIP LOCKED)"
            " RETURNING source_id, identity",
            [most],
        )
        return [(source, identity) for source, identity in cursor.fetchall()]


def incidents_now(keys: Collection[Key]) -> dict[Key, IncidentNow]:
    """Return those of these incidents that exist, in sources that are shown."""
    rows = [row for row in _rows(keys).only("source", "identity", *_NEEDED) if (row.source_id, row.identity) in keys]
    numbers = {row.source_id for row in rows}
    fields = ("created", "cluster__source", "delete_after")
    sources = Source.objects.filter(pk__in=numbers, ready=True).select_related("cluster").only(*fields).in_bulk()
    identities = {row.identity for row in rows}
    symptoms = symptoms_of(rows, _SYMPTOMS)
    noted, known = acknowledged_in(numbers, identities), baselines(numbers, identities)
    silences = silencing.active()
    recent = timezone.now() - RECENT
    found = {}
    for row in rows:
        if not (source := sources.get(row.source_id)):
            continue
        key, live = (row.source_id, row.identity), watched(source)
        of_it = symptoms[key]
        heard = [each for each in of_it if not silencing.longest(each, source, silences)]
        gravest = heard[0] if heard else row
        counted = heard if len(heard) < len(of_it) and heard else [row]
        last = max(each.last for each in counted)
        found[key] = IncidentNow(
            key,
            source.cluster_id,
            live,
            source.created,
            gravest.rule,
            gravest.namespace,
            gravest.name,
            tuple(dict.fromkeys((each.rule, each.namespace, each.name) for each in heard)),
            gravest.rank,
            any(each.open for each in counted) or (live and last >= recent),
            last,
            silencing.why(of_it if len(of_it) >= row.symptoms else (), source, silences, known.get(key)) is not None,
            key in noted,
        )
    return found


def incidents_by_key(keys: Collection[Key]) -> dict[Key, IncidentRowPayload]:
    """Return those of these incidents that exist, as lists have them."""
    found = payloads([row for row in _rows(keys) if (row.source_id, row.identity) in keys], silencing.active())
    return {(each["source"], each["id"]): each for each in found}


def existing(keys: Collection[Key]) -> set[Key]:
    """Return those of these keys that are those of incidents."""
    return {key for key in _rows(keys).values_list("source", "identity") if key in keys}


def parts_of(keys: Collection[Key]) -> set[Key]:
    """Return the keys that the symptoms of these incidents had, or would have, as incidents of their own."""
    of_these = _symptoms(keys, "incident")
    found = of_these.values_list("source", "incident", "identity")
    return {(source, identity) for source, incident, identity in found if (source, incident) in keys} - {*keys}


def incidents_with(symptoms: Collection[Key]) -> dict[Key, str]:
    """Return, by source and identity of these symptoms, the incident that each belongs to; of several, the one in which
    it happened last."""
    found = _symptoms(symptoms, "identity").order_by("last", "incident")
    rows = found.values_list("source", "identity", "incident")
    return {(source, identity): incident for source, identity, incident in rows if (source, identity) in symptoms}


def successors(sources: Iterable[int]) -> dict[int, int]:
    """Return the sources that clusters feed now instead of these, because these have ended."""
    rows = Source.objects.filter(pk__in=sources, cluster__source__isnull=False).values_list("pk", "cluster__source")
    return {source: current for source, current in rows if current is not None and current != source}


def hidden(sources: Iterable[int]) -> set[int]:
    """Return those of these sources that somebody has deleted, and that can still be restored."""
    return set(Source.everything.filter(pk__in=sources, delete_after__isnull=False).values_list("pk", flat=True))


def names_of(sources: Iterable[int]) -> dict[int, tuple[str, bool]]:
    """Return the name of each source, and whether it is one of a cluster."""
    rows = Source.objects.filter(pk__in=sources).values_list("pk", "name", "cluster__name")
    return {source: (cluster or name, cluster is not None) for source, name, cluster in rows}


def _symptoms(keys: Collection[Key], field: str) -> QuerySet[Symptom]:
    identities = {f"{field}__in": {identity for _, identity in keys}}
    return Symptom.objects.filter(source__in={source for source, _ in keys}, **identities)


def _rows(keys: Collection[Key]) -> QuerySet[Incident]:
    return Incident.objects.filter(
        source__in={source for source, _ in keys}, identity__in={identity for _, identity in keys}
    )
