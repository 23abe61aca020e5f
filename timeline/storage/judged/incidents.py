"""Incidents in PostgreSQL: each is derived from the stored findings that name it, whenever one of these changes."""

from bisect import bisect_left
from collections.abc import Collection, Iterable, Mapping
from datetime import datetime, timedelta
from typing import Any

from django.db import connection
from psycopg import sql

from timeline import models
from timeline.core.entries import microseconds, moment
from timeline.judge import rulebook
from timeline.payloads.incidents import making as incidents
from timeline.payloads.incidents.members import Members
from timeline.payloads.incidents.occurrences import rank
from timeline.storage import notify
from timeline.storage.copying import as_text, upsert
from timeline.storage.judged import stored

OVER = timedelta(hours=1)  # an acknowledged incident that comes back after so long is not acknowledged any more
_ROOTS = 1000  # the latest root owners by which an incident is found
_SEVERITIES = ("error", "warning", "info")
_COLUMNS = (
    "source_id", "identity", "rule", "rank", "status", "group", "kind", "namespace", "name", "title", "subjects",
    "names", "findings", "occurrences", "first", "last", "open", "times", "effect", "effect_text", "cause", "caused",
    "actors", "advice", "roots", "worst", "words", "namespaces",
)  # fmt: skip


def write(source: models.Source, identities: Collection[str] | None = None) -> tuple[list[str], list[str]]:
    """Write incidents anew from the stored findings: these, or all of the source.

    Return the identities of those that changed, and of those that are gone.
    """
    before = models.Incident.objects.filter(source=source)
    if identities is not None:
        before = before.filter(identity__in=identities)
    return store(source, read(source, identities), {each.identity: each for each in before})


def read(source: models.Source, identities: Collection[str] | None = None) -> list[Members]:
    """Return the stored findings of these incidents, or of all of the source."""
    of_these = {} if identities is None else {"incident__in": list(identities)}
    findings = models.Finding.objects.filter(source=source, withdrawn=False, **of_these).exclude(incident="")
    return incidents.members_of(map(incidents.part, stored.read(findings)), rulebook())


def store(
    source: models.Source, found: Collection[Members], before: Mapping[str, models.Incident]
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
    _acknowledge_new(source, [each for each in found if each.id not in before])
    _notice(source, changed)
    if changed or gone:
        about = [each.namespaces for each in found if each.id in changed]
        about += [row.namespaces for row in before.values() if row.identity in changed or row.identity in gone]
        notify.notify(source=source.pk, incidents=len(changed) + len(gone), namespaces=_union(about))
    return sorted(changed), gone


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


def _end_acknowledgements(source: models.Source, found: Iterable[Members], rows: Mapping[str, models.Incident]) -> None:
    """End the acknowledgement of each incident that has got graver, or that came back after it had been over."""
    by_id = {each.id: each for each in found}
    of_these = models.Acknowledgement.objects.filter(source=source, identity__in=by_id, rank__isnull=False, ended="")
    for noted in of_these:
        now = by_id[noted.identity]
        before = rows.get(noted.identity) or _before(source, noted.identity)
        severity = now.gravest.severity
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
    """Give the next source of a cluster the acknowledgements and the baseline that hold when the one before ends."""
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


def _end_baseline(source: models.Source, found: Iterable[Members]) -> None:
    """Take each incident that has got worse than it was in the baseline of its source out of the baseline."""
    by_id = {each.id: each for each in found}
    for known in models.BaselineIncident.objects.filter(source=source, identity__in=by_id, ended=""):
        now = by_id[known.identity]
        last_hour = now.times[-1][0] - OVER // timedelta(microseconds=1)
        severity = now.gravest.severity
        often = len(now.times) - _first_after(now, max(last_hour, microseconds(known.at)))
        if rank(severity) < known.rank:
            known.ended = f"Its severity rose from {_SEVERITIES[known.rank]} to {severity}."
        elif often > max(1, 2 * known.hourly):
            known.ended = f"It happened {often} times in an hour, more than twice as often as before the baseline."
        else:
            continue
        known.save(update_fields=["ended"])


def _came_back(now: Members, before: models.Incident) -> datetime | None:
    """Return when an incident happened again after it had been over for an hour; None if it did not."""
    later = now.times[_first_after(now, microseconds(before.last + OVER) - 1) :][:1]
    return moment(later[0][0]) if later else None


def _first_after(now: Members, time: int) -> int:
    """Return the index of the first occurrence that began after a time."""
    return bisect_left(now.times, (time + 1,))


def _acknowledge_new(source: models.Source, new: Iterable[Members]) -> None:
    """Acknowledge each new incident whose findings are all acknowledged: they were before there were incidents."""
    by_id = {each.id: each for each in new}
    members = {finding for each in by_id.values() for finding in each.findings}
    notes = {
        noted.identity: noted
        for noted in models.Acknowledgement.objects.filter(source=source, identity__in=members, rank=None)
    }
    for each in by_id.values() if notes else ():
        if all(finding in notes for finding in each.findings):
            last = max((notes[finding] for finding in each.findings), key=lambda noted: noted.at)
            values = {"by": last.by, "note": last.note, "rank": rank(each.gravest.severity)}
            models.Acknowledgement.objects.get_or_create(source=source, identity=each.id, defaults=values)


def _row(source: models.Source, each: Members) -> tuple[Any, ...]:
    gravest, actors, title, names = each.gravest, each.actors, each.title, each.names
    return (
        source.pk,
        each.id,
        each.rule,
        rank(gravest.severity),
        each.status,
        *map(as_text, each.anchor),
        as_text(title),
        each.subjects,
        list(map(as_text, names)),
        len(each),
        len(each.times),
        moment(each.times[0][0]),
        moment(each.last),
        each.open,
        [first for first, _ in each.times[-incidents.TIMES :]],
        gravest.effect,
        as_text(gravest.effect_text),
        as_text(each.cause),
        each.caused,
        list(map(as_text, actors)),
        list(map(as_text, gravest.advice)),
        each.roots[-_ROOTS:],
        gravest.id,
        as_text(incidents.words(title, each.anchor.name, names, actors)),
        None if each.namespaces is None else list(map(as_text, each.namespaces)),
    )
