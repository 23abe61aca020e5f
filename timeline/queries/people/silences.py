"""Read silences, which take incidents out of the lists until they expire."""

import re
from collections.abc import Iterable
from datetime import datetime
from fnmatch import fnmatchcase

from django.db.models import Exists, OuterRef, Q
from django.utils import timezone

from timeline.core.actors import is_called
from timeline.core.entries import microseconds
from timeline.models import BaselineIncident, Silence, Source, Symptom
from timeline.payloads.documents import timestamp
from timeline.payloads.findings import SilencedPayload, SilencePayload
from timeline.queries.incidents.filters import of
from timeline.queries.window.view import written_by
from timeline.storage.people.silences import MOST, contains, draft
from timeline.storage.permitted.limits import present

_NAMED = 5  # incidents that a silence would match, which are named
_ENDED = 100  # silences that are listed after they have ended
_HEAVY = ("source__document", "source__histogram", "source__census", "source__tide", "source__skips", "cluster__secret")


def active(source: Source | None = None) -> list[Silence]:
    """Return the silences that hold now, of all sources or for one, those that expire first."""
    rows = Silence.objects.select_related("cluster", "source").defer(*_HEAVY).filter(expires__gt=timezone.now())
    rows = rows.filter(source__delete_after=None, cluster__delete_after=None)
    if source is not None:
        everywhere = Q(cluster=None, source=None)
        of_cluster = Q(cluster=source.cluster_id) if source.cluster_id else Q(pk=None)
        rows = rows.filter(everywhere | Q(source=source) | of_cluster)
    return list(rows.order_by("expires", "pk")[:MOST])


def condition(silences: Iterable[Silence]) -> Q:
    """Return the condition for incidents all of whose symptoms silences match, or that are in the baseline of their
    source."""
    in_baseline = BaselineIncident.objects.filter(source=OuterRef("source"), identity=OuterRef("identity"), ended="")
    matching = of_symptoms(silences)
    return Q(Exists(in_baseline)) | _wholly(matching) if matching else Q(Exists(in_baseline))


def of_symptoms(silences: Iterable[Silence]) -> Q:
    """Return the condition for symptoms that a silence matches; an empty one if there are no silences."""
    matching = Q()
    for each in silences:
        matching |= matchers(each)
    return matching


def _wholly(matching: Q) -> Q:
    """Return the condition for incidents without a symptom that does not match. The incident itself is looked at, too:
    an older version of Causeline has stored no symptoms."""
    others = Symptom.objects.filter(source=OuterRef("source"), incident=OuterRef("identity")).exclude(matching)
    return matching & ~Q(Exists(others))


def matchers(silence: Silence) -> Q:
    """Return the condition for symptoms that a silence matches."""
    matching = Q()
    if silence.cluster_id:
        matching &= Q(source__cluster=silence.cluster_id)
    if silence.source_id:
        matching &= Q(source=silence.source_id)
    if silence.rule:
        matching &= Q(rule=silence.rule)
    if silence.namespace:
        matching &= Q(namespace=silence.namespace)
    if silence.owner:
        matching &= Q(name__regex=_pattern(silence.owner))
    if silence.actor:
        matching &= written_by(silence.actor)
    return matching


def _pattern(glob: str) -> str:
    """Return a regular expression for a name in which * stands for any characters, and ? for one."""
    return "^" + re.escape(glob).replace(r"\*", ".*").replace(r"\?", ".") + "$"


def why(
    symptoms: Iterable[Symptom], source: Source, silences: Iterable[Silence], known: BaselineIncident | None
) -> SilencedPayload | None:
    """Return what takes an incident with these symptoms out of the lists: silences that match all of them, else the
    baseline; or None. Of the silences, the one is named after which a symptom is the first to be listed again."""
    of_it = [longest(each, source, silences) for each in symptoms]
    if of_it and all(of_it):
        first = min(filter(None, of_it), key=lambda each: each.expires)
        return {"by": first.by, "reason": _reason(first), "until": _time(first.expires), "silence": first.pk}
    if known:
        reason = f"It was known when the baseline was set at {known.at:%Y-%m-%d %H:%M} UTC, and has not got worse."
        return {"by": known.by, "reason": reason, "until": None, "silence": None}
    return None


def longest(symptom: Symptom, source: Source, silences: Iterable[Silence]) -> Silence | None:
    """Return the silence that matches a symptom and holds longest; None without any."""
    of_it = [each for each in silences if _matches(each, symptom, source)]
    return max(of_it, key=lambda each: each.expires) if of_it else None


def _matches(silence: Silence, row: Symptom, source: Source) -> bool:
    return (
        silence.cluster_id in (None, source.cluster_id)
        and silence.source_id in (None, source.pk)
        and silence.rule in ("", row.rule)
        and silence.namespace in ("", row.namespace)
        and (not silence.owner or fnmatchcase(row.name, silence.owner.replace("[", "[[]")))
        and (not silence.actor or any(is_called(each, silence.actor) for each in row.actors))
    )


def ended() -> list[Silence]:
    """Return the silences that have ended, those that ended last first."""
    rows = Silence.objects.select_related("cluster", "source").defer(*_HEAVY).filter(expires__lte=timezone.now())
    rows = rows.filter(source__delete_after=None, cluster__delete_after=None)
    return list(rows.order_by("-expires", "-pk")[:_ENDED])


def would_silence(*, source: Source | None, rule: str, namespace: str, owner: str, actor: str) -> tuple[int, list[str]]:
    """Return how many incidents a silence with these matchers would match now, and the titles of the newest."""
    found = of(None).filter(_wholly(matchers(draft(source, rule, namespace, owner, actor))))
    return found.count(), list(found.order_by("-last").values_list("title", flat=True)[:_NAMED])


def payload(row: Silence) -> SilencePayload:
    return {
        "id": row.pk,
        "cluster": row.cluster_id,
        "source": row.source_id,
        "rule": row.rule,
        "namespace": row.namespace,
        "owner": row.owner,
        "actor": row.actor,
        "reason": _reason(row),
        "by": row.by,
        "created": _time(row.created),
        "expires": _time(row.expires),
    }


def _reason(silence: Silence) -> str:
    """Return the reason of a silence. It may name anything that the silence matches."""
    return silence.reason if contains(present(), silence) else "You see only a part of what this silence is for."


def _time(at: datetime) -> str:
    return timestamp(microseconds(at))
