"""Read what happened in a range of time, of one source or several, as rows for Grafana's annotations."""

from collections.abc import Iterable, Sequence

from django.db.models import Q

from timeline.core.entries import moment
from timeline.models import Incident, Occurrence, Source, Symptom
from timeline.payloads.annotations import AnnotationPayload
from timeline.payloads.findings import FindingGroupPayload
from timeline.queries.filters import Filter
from timeline.queries.incidents import filters, occurrences
from timeline.queries.people import silences as silencing

_SOURCES = 100  # the most sources that are asked at once, the newest ones
_ROUNDS = 5  # how often more rows are read instead of silenced ones


def annotations(sources: Sequence[Source], start: int, end: int, wanted: Filter, limit: int) -> list[AnnotationPayload]:
    """Return the occurrences in a range of time (microseconds since 1970), the newest first, without silenced ones.

    The addresses begin with the path.
    """
    shown = {source.pk: source for source in _with_changes(sources, start, end)}
    condition = Q(source__in=list(shown), first__lte=moment(end), last__gte=moment(start))
    condition &= filters.like(wanted)
    query = Occurrence.objects.filter(condition).order_by("-last", "source", "key")
    found: list[AnnotationPayload] = []
    for at in range(_ROUNDS):
        rows = list(query[at * limit : (at + 1) * limit])
        found += _payloads(shown, rows)
        if len(found) >= limit or len(rows) < limit:
            break
    return found[:limit]


def _with_changes(sources: Sequence[Source], start: int, end: int) -> list[Source]:
    """Return the newest of the sources that have changes in a range of time."""
    near = [each for each in sources if each.first and each.last]
    near = [each for each in near if each.first <= moment(end) and each.last >= moment(start)]  # type: ignore[operator]
    return sorted(near, key=lambda each: each.created, reverse=True)[:_SOURCES]


def _payloads(sources: dict[int, Source], rows: list[Occurrence]) -> Iterable[AnnotationPayload]:
    groups: dict[tuple[int, str], FindingGroupPayload] = {}
    for number in {row.source_id for row in rows}:
        own = [row for row in rows if row.source_id == number]
        groups |= {(number, each["key"]): each for each in occurrences.payloads(number, own)}
    quiet = _silenced({(number, each) for (number, _), group in groups.items() for each in group["incidents"]})
    for row in rows:
        group = groups.get((row.source_id, row.key))
        named = group["incidents"] if group else ()
        listed = [each for each in named if not quiet & {(row.source_id, each, ""), (row.source_id, each, row.rule)}]
        if group and listed:
            yield _payload(sources[row.source_id], group, listed[0])


def _silenced(incidents: set[tuple[int, str]]) -> set[tuple[int, str, str]]:
    """Return what silences and baselines take out of the lists: source, incident, and the rule of a symptom, or "" for
    the whole incident."""
    numbers, identities = {number for number, _ in incidents}, {identity for _, identity in incidents}
    silences = silencing.active()
    whole = Incident.objects.filter(silencing.condition(silences), source__in=numbers, identity__in=identities)
    found = {(source, identity, "") for source, identity in whole.values_list("source", "identity")}
    if matching := silencing.of_symptoms(silences):
        parts = Symptom.objects.filter(matching, source__in=numbers, incident__in=identities)
        found |= set(parts.values_list("source", "incident", "rule"))
    return found


def _payload(source: Source, group: FindingGroupPayload, incident: str) -> AnnotationPayload:
    tags = ("causeline", group["severity"], group["rule"], group["namespace"], source.name)
    return {
        "time": group["start"] // 1000,
        "timeEnd": group["end"] // 1000,
        "title": group["summary"],
        "text": " ".join(filter(None, (group["effect_text"], group["cause"]))),
        "tags": ",".join(each.replace(",", " ") for each in tags if each),
        "severity": group["severity"],
        "rule": group["rule"],
        "namespace": group["namespace"],
        "source": source.name,
        "url": f"/sources/{source.pk}/incidents/{incident}/",
    }
