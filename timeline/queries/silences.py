"""This module reads and writes what takes incidents out of the lists: silences and baselines."""

import re
from collections.abc import Iterable
from datetime import datetime, timedelta

from django.db.models import Q
from django.utils import timezone

from timeline.core.entries import microseconds
from timeline.models import BaselineIncident, Incident, Silence, Source
from timeline.payloads.documents import timestamp
from timeline.payloads.findings import SilencedPayload, SilencePayload

LONGEST = timedelta(days=366)
_DAY = timedelta(hours=24)
_LISTED = 200


def active(source: Source | None = None) -> list[Silence]:
    """Return the silences that hold now, of all sources or for one, those that expire first."""
    rows = Silence.objects.filter(expires__gt=timezone.now())
    if source is not None:
        everywhere = Q(cluster=None, source=None)
        of_cluster = Q(cluster=source.cluster_id) if source.cluster_id else Q(pk=None)
        rows = rows.filter(everywhere | Q(source=source) | of_cluster)
    return list(rows.order_by("expires", "pk")[:_LISTED])


def condition(silences: Iterable[Silence], source: Source) -> Q:
    """Return the condition for incidents of a source that a silence matches, or that are in its baseline."""
    known = BaselineIncident.objects.filter(source=source, ended="").values("identity")
    matching = Q(identity__in=known)
    for each in silences:
        matching |= _matchers(each)
    return matching


def _matchers(silence: Silence) -> Q:
    matching = Q()
    if silence.rule:
        matching &= Q(rule=silence.rule)
    if silence.namespace:
        matching &= Q(namespace=silence.namespace)
    if silence.owner:
        matching &= Q(name__regex=_pattern(silence.owner))
    if silence.actor:
        matching &= Q(actors__contains=[silence.actor])
    return matching


def _pattern(glob: str) -> str:
    """Return a regular expression for a name in which * stands for any characters, and ? for one."""
    return "^" + re.escape(glob).replace(r"\*", ".*").replace(r"\?", ".") + "$"


def why(row: Incident, silences: Iterable[Silence], known: dict[str, BaselineIncident]) -> SilencedPayload | None:
    """Return what takes an incident out of the lists: the silence that holds longest, else the baseline; or None."""
    of_it = [each for each in silences if _matches(each, row)]
    if of_it:
        longest = max(of_it, key=lambda each: each.expires)
        return {"by": longest.by, "reason": longest.reason, "until": _time(longest.expires), "silence": longest.pk}
    if before := known.get(row.identity):
        reason = f"It was known when the baseline was set at {before.at:%Y-%m-%d %H:%M} UTC, and has not got worse."
        return {"by": before.by, "reason": reason, "until": None, "silence": None}
    return None


def _matches(silence: Silence, row: Incident) -> bool:
    return (
        silence.rule in ("", row.rule)
        and silence.namespace in ("", row.namespace)
        and (not silence.owner or re.search(_pattern(silence.owner), row.name) is not None)
        and (not silence.actor or silence.actor in row.actors)
    )


def baseline(source: Source) -> dict[str, BaselineIncident]:
    """Return the incidents that are in the baseline of a source and have not got worse, by identity."""
    return {each.identity: each for each in BaselineIncident.objects.filter(source=source, ended="")}


def set_baseline(source_id: int, by: str) -> int:
    """Take every incident of a source that is known now out of its lists; return how many these are.

    Raises Source.DoesNotExist.
    """
    source = Source.objects.get(pk=source_id, ready=True)
    now, end = timezone.now(), source.last or timezone.now()
    rows = [
        BaselineIncident(
            source=source, identity=identity, rank=rank, hourly=_hourly(times, end), by=by, at=now, ended=""
        )
        for identity, rank, times in Incident.objects.filter(source=source).values_list("identity", "rank", "times")
    ]
    BaselineIncident.objects.filter(source=source).delete()
    BaselineIncident.objects.bulk_create(rows, batch_size=1000)
    return len(rows)


def clear_baseline(source_id: int) -> int:
    """Remove the baseline of a source; return how many incidents were in it."""
    count, _ = BaselineIncident.objects.filter(source=source_id).delete()
    return count


def _hourly(times: list[int], end: datetime) -> float:
    """Return how many of these occurrences began in an hour, in the 24 hours before the end."""
    since = microseconds(end - _DAY)
    return sum(since <= time <= microseconds(end) for time in times) / 24


def create(
    *,
    source: Source | None,
    rule: str,
    namespace: str,
    owner: str,
    actor: str,
    reason: str,
    by: str,
    expires: datetime,
) -> SilencePayload:
    """Store a silence. That of a connected cluster holds for all its sources.

    Raises ValueError if it matches everything, has expired, or expires in more than a year.
    """
    if not (rule or namespace or owner or actor):
        raise ValueError("A silence needs a rule, a namespace, an owner or an actor: it would match everything.")
    if not timedelta() < expires - timezone.now() <= LONGEST:
        raise ValueError("A silence ends in the future, and within a year.")
    of_cluster = source is not None and source.cluster_id is not None
    row = Silence.objects.create(
        cluster=source.cluster if source and of_cluster else None,
        source=None if of_cluster else source,
        rule=rule,
        namespace=namespace,
        owner=owner,
        actor=actor,
        reason=reason,
        by=by,
        expires=expires,
    )
    return payload(row)


def expire(number: int) -> bool:
    """End a silence now; return whether it held."""
    return bool(Silence.objects.filter(pk=number, expires__gt=timezone.now()).update(expires=timezone.now()))


def payload(row: Silence) -> SilencePayload:
    return {
        "id": row.pk,
        "cluster": row.cluster_id,
        "source": row.source_id,
        "rule": row.rule,
        "namespace": row.namespace,
        "owner": row.owner,
        "actor": row.actor,
        "reason": row.reason,
        "by": row.by,
        "created": _time(row.created),
        "expires": _time(row.expires),
    }


def _time(at: datetime) -> str:
    return timestamp(microseconds(at))
