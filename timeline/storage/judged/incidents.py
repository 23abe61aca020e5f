"""Incidents in PostgreSQL: each is derived from the stored findings that name it, whenever one of these changes.

To which incidents a finding belongs is found out when it is judged. It is not found out again when retention deletes
other findings, so that what is left of an incident does not fall apart.
"""

from bisect import bisect_right
from collections.abc import Collection, Iterable, Iterator, Mapping
from datetime import datetime, timedelta
from typing import Any

from django.db import connection
from psycopg import sql

from timeline import models
from timeline.core.entries import microseconds, moment
from timeline.judge import rulebook
from timeline.judging.incidents.partition import Apart
from timeline.payloads.incidents import making, symptoms
from timeline.payloads.incidents.making import Incident
from timeline.payloads.incidents.occurrences import StoredFinding, rank
from timeline.payloads.incidents.symptoms import Symptom
from timeline.storage import notify
from timeline.storage.copying import as_text, upsert
from timeline.storage.judged import stored

OVER = timedelta(hours=1)  # an acknowledged incident that comes back after so long is not acknowledged any more
_ROOTS = 1000  # the latest root owners by which an incident is found
_SEVERITIES = ("error", "warning", "info")
_COLUMNS = (
    "source_id", "identity", "rule", "rules", "rank", "status", "group", "kind", "namespace", "name", "anchored_in",
    "title", "root", "symptoms", "subjects", "names", "findings", "occurrences", "excess", "first", "last", "open",
    "times", "effect", "effect_text", "cause", "caused",
    "actors", "advice", "roots", "worst", "words", "namespaces",
)  # fmt: skip
_SYMPTOM = (
    "source_id", "incident", "identity", "rule", "rank", "status", "group", "kind", "namespace", "name", "title",
    "subjects", "names", "findings", "occurrences", "count", "first", "last", "open", "effect", "effect_text",
    "actors", "worst", "place", "namespaces",
)  # fmt: skip


def write(source: models.Source, identities: Collection[str] | None = None) -> tuple[list[str], list[str]]:
    """Write incidents anew from the stored findings: these, or all of the source.

    Return the identities of those that changed, and of those that are gone.
    """
    before = models.Incident.objects.filter(source=source)
    if identities is not None:
        before = before.filter(identity__in=identities)
    return store(source, read(source, identities), {each.identity: each for each in before})


def read(source: models.Source, identities: Collection[str] | None = None) -> list[Incident]:
    """Return the incidents of a source with these identities, or all of them, computed from the stored findings."""
    findings = list(read_findings(source, identities))
    parts = [symptoms.part(each) for each in findings]
    places = {part.id: each.places for part, each in zip(parts, findings, strict=True)}
    found = making.incidents_of(parts, rulebook(), places)
    return found if identities is None else [each for each in found if each.id in identities]


def read_findings(
    source: models.Source, identities: Collection[str] | None = None, without: Collection[str] = ()
) -> Iterator[StoredFinding]:
    """Yield the stored findings of these incidents, or of all of the source, without those of some identities."""
    findings = models.Finding.objects.filter(source=source, withdrawn=False).exclude(incident="")
    if without:
        findings = findings.exclude(identity__in=list(without))
    return stored.read(findings if identities is None else findings.filter(models.Finding.of_incidents(identities)))


def apart(source: models.Source) -> set[Apart]:
    """Return the symptoms that people have taken out of incidents: pairs of identities of incident and symptom."""
    return set(models.SeparateSymptom.objects.filter(source=source).values_list("incident", "symptom"))


def with_separated(identities: Iterable[str], separated: Collection[Apart]) -> set[str]:
    """Return these incidents with all from which symptoms of theirs were taken out, and those that these are now: what
    connects the occurrences of one may lie in another."""
    found = set(identities)
    while more := {one for pair in separated if not found.isdisjoint(pair) for one in pair} - found:
        found |= more
    return found


def store(
    source: models.Source, found: Collection[Incident], before: Mapping[str, models.Incident]
) -> tuple[list[str], list[str]]:
    """Write the rows of incidents; `before` has the rows that they replace. Those that are not found are deleted.

    Return the identities of those that changed, and of those that are gone.
    """
    _end_acknowledgements(source, found, before)
    _end_baseline(source, found)
    gone = sorted(before.keys() - {each.id for each in found})
    models.Incident.objects.filter(source=source, identity__in=gone).delete()
    rows = [_row(source, each) for each in found]
    changed = upsert(sql.Identifier("timeline_incident"), _COLUMNS, ("source_id", "identity"), rows)
    changed = sorted({*changed, *_store_symptoms(source, found, gone)})
    new = [each for each in found if each.id not in before]
    _acknowledge_new(source, new)
    _take_into_baseline(source, new)
    _notice(source, changed)
    if changed or gone:
        about = [each.namespaces for each in found if each.id in changed]
        about += [row.namespaces for row in before.values() if row.identity in changed or row.identity in gone]
        notify.notify(source=source.pk, incidents=len(changed) + len(gone), namespaces=_union(about))
    return changed, gone


def announce(source_id: int, identities: Collection[str]) -> None:
    """Notify every process that something has changed which lists say of these incidents or findings."""
    if not identities:
        return
    about: list[list[str] | None] = []
    for model in (models.Incident, models.Finding):
        rows = model.objects.filter(source=source_id, identity__in=list(identities))
        about += rows.values_list("namespaces", flat=True)
    notify.notify(source=source_id, incidents=len(identities), namespaces=_union(about))


def _union(involved: Iterable[Collection[str] | None]) -> set[str]:
    """Return all namespaces that are involved, as far as they are known: only these have readers."""
    return {namespace for each in involved for namespace in each or ()}


def _notice(source: models.Source, identities: Collection[str]) -> None:
    """Have the routes asked about incidents. In order, so that two transactions never wait for each other; and with an
    update, which waits for a transaction that has just read the incident and removes the row."""
    if not identities:
        return
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO timeline_noticed_incident (source_id, identity, at)"
            " SELECT %s, identity, statement_timestamp() FROM unnest(%s::text[]) AS identity ORDER BY identity"
            " ON CONFLICT (source_id, identity) DO UPDATE SET at = excluded.at",
            [source.pk, list(identities)],
        )


def notice_again(since: datetime) -> int:
    """Have the routes asked about all incidents of connected clusters that still go on, or that happened since then.

    Return how many there are. It is called when a route is made or changed.
    """
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO timeline_noticed_incident (source_id, identity, at)"
            " SELECT incident.source_id, identity, statement_timestamp() FROM timeline_incident AS incident"
            " JOIN timeline_cluster AS cluster ON cluster.source_id = incident.source_id"
            " WHERE incident.open OR incident.last >= %s ORDER BY 1, 2"
            " ON CONFLICT (source_id, identity) DO UPDATE SET at = excluded.at",
            [since],
        )
        return int(cursor.rowcount)


def _end_acknowledgements(
    source: models.Source, found: Iterable[Incident], rows: Mapping[str, models.Incident]
) -> None:
    """End the acknowledgement of each incident that has got graver, or that came back after it had been over."""
    by_id = {each.id: each for each in found}
    of_these = models.Acknowledgement.objects.filter(source=source, identity__in=by_id, rank__isnull=False, ended="")
    for noted in of_these:
        now = by_id[noted.identity]
        before = rows.get(noted.identity) or _before(source, noted.identity)
        severity = now.worst.severity
        if noted.rank is not None and rank(severity) < noted.rank:
            noted.ended = f"Its severity rose from {_SEVERITIES[noted.rank]} to {severity}."
        elif before and not before.open and (again := _came_back(now, before)):
            noted.ended = f"It came back at {again:%Y-%m-%d %H:%M:%S} UTC, after it had been over for an hour."
        else:
            continue
        noted.save(update_fields=["ended"])


def _before(source: models.Source, identity: str) -> models.Incident | None:
    """Return what an incident was in the sources of this cluster that have ended; None if it was not in any."""
    ended = models.Incident.objects.filter(source__cluster=source.cluster_id, source__lt=source.pk, identity=identity)
    return ended.order_by("-source").first() if source.cluster_id else None


def carry_over(before: models.Source, source: models.Source) -> None:
    """Give the next source of a cluster the acknowledgements and the baseline that hold when the one before ends, and
    what people have said of symptoms."""
    for model in (models.Acknowledgement, models.BaselineIncident):
        names = [field.name for field in model._meta.concrete_fields if field.name not in ("pk", "source")]
        columns = sql.SQL(", ").join(sql.Identifier(name) for name in names)
        with connection.cursor() as cursor:
            cursor.execute(
                sql.SQL(
                    "INSERT INTO {0} (source_id, {1}) SELECT %s, {1} FROM {0} WHERE source_id = %s AND ended = ''"
                ).format(sql.Identifier(model._meta.db_table), columns),
                [source.pk, before.pk],
            )
    separated = models.SeparateSymptom.objects.filter(source=before).values("incident", "symptom", "by", "at")
    models.SeparateSymptom.objects.bulk_create(models.SeparateSymptom(source=source, **each) for each in separated)


def _end_baseline(source: models.Source, found: Iterable[Incident]) -> None:
    """Take each incident that has got worse than it was in the baseline of its source out of the baseline."""
    by_id = {each.id: each for each in found}
    for known in models.BaselineIncident.objects.filter(source=source, identity__in=by_id, ended=""):
        now = by_id[known.identity]
        last_hour = now.times[-1] - OVER // timedelta(microseconds=1)
        severity = now.worst.severity
        often = len(now.times) - _first_after(now, max(last_hour, microseconds(known.at)))
        if rank(severity) < known.rank:
            known.ended = f"Its severity rose from {_SEVERITIES[known.rank]} to {severity}."
        elif often > max(1, 2 * known.hourly):
            known.ended = f"It happened {often} times in an hour, more than twice as often as before the baseline."
        else:
            continue
        known.save(update_fields=["ended"])


def _came_back(now: Incident, before: models.Incident) -> datetime | None:
    """Return when an incident happened again after it had been over for an hour; None if it did not."""
    later = now.times[_first_after(now, microseconds(before.last + OVER) - 1) :][:1]
    return moment(later[0]) if later else None


def _first_after(now: Incident, time: int) -> int:
    """Return the index of the first of the latest occurrences that began after a time."""
    return bisect_right(now.times, time)


def _acknowledge_new(source: models.Source, new: Iterable[Incident]) -> None:
    """Acknowledge each new incident whose symptoms, or whose findings, are all acknowledged: they were listed before
    anything connected them."""
    by_id = {each.id: each for each in new}
    parts = {each.id: ({one.id for one in each.symptoms}, set(each.findings)) for each in by_id.values()}
    named = {identity for of_it in parts.values() for part in of_it for identity in part}
    notes = {
        noted.identity: noted
        for noted in models.Acknowledgement.objects.filter(source=source, identity__in=named, ended="")
    }
    for identity, each in by_id.items() if notes else ():
        for part in parts[identity]:
            if identity not in notes and part <= notes.keys():
                last = max((notes[one] for one in part), key=lambda noted: noted.at)
                values = {"by": last.by, "note": last.note, "rank": rank(each.worst.severity)}
                models.Acknowledgement.objects.get_or_create(source=source, identity=identity, defaults=values)
                break


def _take_into_baseline(source: models.Source, new: Iterable[Incident]) -> None:
    """Take each new incident into the baseline whose symptoms are all in it: they were incidents when it was set."""
    symptoms_of = {each.id: {one.id for one in each.symptoms} for each in new}
    named = {identity for of_it in symptoms_of.values() for identity in of_it}
    rows = models.BaselineIncident.objects.filter(source=source, identity__in=named, ended="")
    known = {row.identity: row for row in rows}
    for identity, of_it in symptoms_of.items() if known else ():
        if identity not in known and of_it <= known.keys():
            first = min((known[one] for one in of_it), key=lambda row: row.at)
            values = {
                "rank": min(known[one].rank for one in of_it),
                "hourly": sum(known[one].hourly for one in of_it),
                "by": first.by,
                "at": first.at,
            }
            models.BaselineIncident.objects.get_or_create(source=source, identity=identity, defaults=values)


def _store_symptoms(source: models.Source, found: Collection[Incident], gone: Collection[str]) -> set[str]:
    """Write the symptoms of these incidents, and delete those that they have no more. Return the identities of the
    incidents whose symptoms changed."""
    rows = {
        (each.id, symptom.id): _symptom_row(source, each.id, symptom, place)
        for each in found
        for place, symptom in enumerate(each.symptoms)
    }
    now = models.Symptom.objects.filter(source=source, incident__in=[*gone, *(each.id for each in found)])
    over = [key for key in now.values_list("incident", "identity") if key not in rows]
    for incident, identity in over:
        models.Symptom.objects.filter(source=source, incident=incident, identity=identity).delete()
    table, key = sql.Identifier("timeline_symptom"), ("source_id", "identity", "incident")
    changed = upsert(table, _SYMPTOM, key, rows.values())
    return {incident for incident, _ in over if incident not in gone} | set(changed)


def _symptom_row(source: models.Source, incident: str, each: Symptom, place: int) -> tuple[Any, ...]:
    gravest = each.gravest
    return (
        source.pk,
        incident,
        each.id,
        each.rule,
        rank(gravest.severity),
        each.status,
        *map(as_text, each.anchor),
        as_text(each.title),
        each.subjects,
        list(map(as_text, each.names)),
        len(each),
        len(each.times),
        each.excess,
        moment(each.first),
        moment(each.last),
        each.open,
        gravest.effect,
        as_text(gravest.effect_text),
        list(map(as_text, each.actors)),
        gravest.id,
        place,
        _namespaces(each.namespaces),
    )


def _namespaces(known: Collection[str] | None) -> list[str] | None:
    return None if known is None else list(map(as_text, known))


def _row(source: models.Source, each: Incident) -> tuple[Any, ...]:
    gravest, worst = each.gravest, each.worst
    return (
        source.pk,
        each.id,
        gravest.rule,
        each.rules,
        rank(worst.severity),
        each.status,
        *map(as_text, gravest.anchor),
        list(map(as_text, each.anchored_in)),
        as_text(each.title),
        as_text(each.root),
        len(each.symptoms),
        each.subjects,
        list(map(as_text, each.names)),
        len(each.findings),
        each.occurrences,
        sum(one.excess for one in each.symptoms),
        moment(each.first),
        moment(each.last),
        each.open,
        each.times,
        worst.effect,
        as_text(worst.effect_text),
        as_text(each.cause),
        each.caused,
        list(map(as_text, each.actors)),
        list(map(as_text, each.advice)),
        each.roots[-_ROOTS:],
        worst.id,
        as_text(each.words),
        _namespaces(each.namespaces),
    )
