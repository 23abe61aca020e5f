"""Incidents in PostgreSQL: each is derived from the stored findings that name it, whenever one of these changes."""

from collections.abc import Collection, Iterable
from datetime import datetime, timedelta
from typing import Any

from psycopg import sql

from timeline import models
from timeline.core.entries import microseconds, moment
from timeline.history.lifelines import Name
from timeline.judge import rulebook
from timeline.payloads import incidents
from timeline.payloads.occurrences import rank
from timeline.storage import notify
from timeline.storage.copying import as_text, upsert

OVER = timedelta(hours=1)  # an acknowledged incident that comes back after so long is not acknowledged any more
_ROOTS = 1000  # numbers of root owners by which an incident is found
_SEVERITIES = ("error", "warning", "info")
_COLUMNS = (
    "source_id", "identity", "rule", "rank", "status", "group", "kind", "namespace", "name", "title", "subjects",
    "names", "findings", "occurrences", "first", "last", "open", "times", "effect", "effect_text", "actors", "advice",
    "roots", "worst", "words",
)  # fmt: skip


def write(source: models.Source, identities: Collection[str] | None = None) -> tuple[list[str], list[str]]:
    """Write incidents anew from the stored findings: these, or all of the source.

    Return the identities of those that changed, and of those that are gone.
    """
    parts, roots = _parts(source, identities)
    found = incidents.incidents_of(parts, rulebook())
    rows = [_row(source, each, roots) for each in found]
    _end_acknowledgements(source, found)
    _end_baseline(source, found)
    stored = models.Incident.objects.filter(source=source)
    before = stored if identities is None else stored.filter(identity__in=identities)
    gone = list(before.exclude(identity__in=[each.id for each in found]).values_list("identity", flat=True))
    stored.filter(identity__in=gone).delete()
    known = set(before.values_list("identity", flat=True))
    changed = upsert(sql.Identifier("timeline_incident"), _COLUMNS, ("source_id", "identity"), rows)
    _acknowledge_new(source, [each for each in found if each.id not in known])
    if changed or gone:
        notify.notify(source=source.pk, incidents=len(changed) + len(gone))
    return sorted(changed), gone


def _end_acknowledgements(source: models.Source, found: Iterable[incidents.Incident]) -> None:
    """End the acknowledgement of each incident that has got graver, or that came back after it had been over."""
    by_id = {each.id: each for each in found}
    of_these = models.Acknowledgement.objects.filter(source=source, identity__in=by_id, rank__isnull=False, ended="")
    for noted in of_these:
        now = by_id[noted.identity]
        before = models.Incident.objects.filter(source=source, identity=noted.identity).first()
        if noted.rank is not None and rank(now.severity) < noted.rank:
            noted.ended = f"Its severity rose from {_SEVERITIES[noted.rank]} to {now.severity}."
        elif before and not before.open and (again := _came_back(now, before)):
            noted.ended = f"It came back at {again:%Y-%m-%d %H:%M:%S} UTC, after it had been over for an hour."
        else:
            continue
        noted.save(update_fields=["ended"])


def _end_baseline(source: models.Source, found: Iterable[incidents.Incident]) -> None:
    """Take each incident that has got worse than it was in the baseline of its source out of the baseline."""
    by_id = {each.id: each for each in found}
    for known in models.BaselineIncident.objects.filter(source=source, identity__in=by_id, ended=""):
        now = by_id[known.identity]
        last_hour = now.times[-1][0] - OVER // timedelta(microseconds=1)
        often = sum(first > last_hour and first > microseconds(known.at) for first, _ in now.times)
        if rank(now.severity) < known.rank:
            known.ended = f"Its severity rose from {_SEVERITIES[known.rank]} to {now.severity}."
        elif often > max(1, 2 * known.hourly):
            known.ended = f"It happened {often} times in an hour, more than twice as often as before the baseline."
        else:
            continue
        known.save(update_fields=["ended"])


def _came_back(now: incidents.Incident, before: models.Incident) -> datetime | None:
    """Return when an incident happened again after it had been over for an hour; None if it did not."""
    later = (moment(first) for first, _ in now.times)
    return next((first for first in later if first >= before.last + OVER), None)


def _acknowledge_new(source: models.Source, new: Iterable[incidents.Incident]) -> None:
    """Acknowledge each new incident all findings of which are acknowledged: they were before there were incidents."""
    by_id = {each.id: each for each in new}
    members = {finding for each in by_id.values() for finding in each.findings}
    notes = {
        noted.identity: noted
        for noted in models.Acknowledgement.objects.filter(source=source, identity__in=members, rank=None)
    }
    for each in by_id.values() if notes else ():
        if all(finding in notes for finding in each.findings):
            last = max((notes[finding] for finding in each.findings), key=lambda noted: noted.at)
            values = {"by": last.by, "note": last.note, "rank": rank(each.severity)}
            models.Acknowledgement.objects.get_or_create(source=source, identity=each.id, defaults=values)


def _parts(source: models.Source, identities: Collection[str] | None) -> tuple[list[incidents.Part], dict[str, int]]:
    """Return what the findings contribute, and the root of the subject of each, by the finding's identity."""
    of_these = {} if identities is None else {"incident__in": list(identities)}
    findings = models.Finding.objects.filter(source=source, withdrawn=False, **of_these).exclude(incident="")
    parts, roots = [], {}
    for anchor, root, document, occurrences in findings.values_list("anchor", "root", "document", "occurrences"):
        parts.append(incidents.part(Name(*anchor), document, occurrences))
        roots[document["id"]] = root
    return parts, roots


def _row(source: models.Source, each: incidents.Incident, roots: dict[str, int]) -> tuple[Any, ...]:
    times = [first for first, _ in each.times]
    words = " ".join([each.title, each.anchor.name, *each.names, *each.actors]).lower()
    return (
        source.pk,
        each.id,
        each.rule,
        rank(each.severity),
        each.status,
        *map(as_text, each.anchor),
        as_text(each.title),
        each.subjects,
        list(map(as_text, each.names)),
        len(each.findings),
        len(times),
        moment(each.first),
        moment(each.last),
        each.open,
        times[-incidents.TIMES :],
        each.effect,
        as_text(each.effect_text),
        list(map(as_text, each.actors)),
        list(map(as_text, each.advice)),
        sorted({roots[identity] for identity in each.findings})[:_ROOTS],
        each.findings[0],
        as_text(words),
    )
