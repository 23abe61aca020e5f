"""Select incidents, of one source or of all, by the filters that a user sets."""

from collections.abc import Collection
from datetime import timedelta
from typing import Any

from django.contrib.postgres.fields import ArrayField
from django.db.models import Exists, Func, OuterRef, Q, QuerySet, TextField
from django.db.models.functions import Coalesce
from django.utils import timezone

from timeline.core.entries import moment
from timeline.judging.findings import Effect
from timeline.models import Acknowledgement, Cluster, Finding, Incident, Occurrence
from timeline.payloads.findings import IncidentChoices
from timeline.queries.filters import LEAST, NOT_KNOWN, Filter, IncidentFilter, SourceIncidentFilter
from timeline.queries.sources.extents import SEVERITIES
from timeline.queries.window.view import FindingFilter, written_by

# The columns of the order "gravest" (as `payloads.incidents.making.gravity`): of equally grave incidents, the one with
# more harm comes first.
GRAVEST = ("rank", "-excess", "first")
HARMLESS = Q(rank=SEVERITIES.index("info"), effect=Effect.NONE)  # incidents that do no harm
RECENT = timedelta(minutes=5)  # at the live edge, an incident goes on for so long after its last occurrence


class _Array(Func):
    """Make an array of expressions."""

    template = "ARRAY[%(expressions)s]"
    output_field = ArrayField(TextField())


_CHOICES = 200  # of each field of the filter


def of(source_id: int | None) -> QuerySet[Incident]:
    """Return the incidents of a source, or of all sources that are shown."""
    if source_id is None:
        return Incident.objects.filter(source__ready=True, source__delete_after=None)
    return Incident.objects.filter(source=source_id)


def matching(source_id: int | None, wanted: IncidentFilter) -> QuerySet[Incident]:
    """Return the incidents that match, whether they are silenced or acknowledged or not."""
    condition = Q()
    if wanted.severity:
        condition &= Q(rank=SEVERITIES.index(wanted.severity))
    if wanted.rule:
        condition &= Q(rules__contains=[wanted.rule])
    if wanted.namespace:
        condition &= Q(anchored_in__contains=[wanted.namespace])
    if wanted.actor:
        condition &= written_by(wanted.actor)
    if source_id is not None and isinstance(wanted, SourceIncidentFilter):
        condition &= _with_findings(source_id, wanted)
    condition &= _happening(source_id, wanted.start, wanted.end)
    for word in wanted.q.lower().split():
        condition &= _with_word(source_id, word)
    if wanted.state:
        condition &= going_on() if wanted.state == "ongoing" else ~going_on()
    return of(source_id).filter(condition)


def _with_word(source_id: int | None, word: str) -> Q:
    """Return the condition for incidents with a word in their titles, names or actors, or with this beginning of their
    identity; of one source also with the word in the summary of a finding."""
    condition = Q(words__contains=word)
    if len(word) >= LEAST:
        condition |= Q(identity__startswith=word)
    if source_id is None:
        return condition
    rows = Occurrence.objects.filter(source=source_id, words__contains=word)
    return condition | Q(identity__in=_incidents_of_rows(source_id, rows))


def like(wanted: Filter) -> Q:
    """Return the condition for occurrences with the severity, rule and namespace of a filter, as far as each is
    given."""
    condition = Q()
    if wanted.severity:
        condition &= Q(rank=SEVERITIES.index(wanted.severity))
    if wanted.rule:
        condition &= Q(rule=wanted.rule)
    if wanted.namespace:
        condition &= Q(namespace=wanted.namespace)
    return condition


def _with_findings(source_id: int, wanted: SourceIncidentFilter) -> Q:
    """Return the condition for incidents of a source with a finding that matches the filters by objects."""
    condition = Q()
    scoped = FindingFilter(
        scope=wanted.root, about=wanted.track, kind=wanted.kind, node=wanted.node, image=wanted.image
    )
    if scoped.narrowed:
        condition &= Q(identity__in=incidents_of(scoped.members(source_id)))
    if wanted.kinds or wanted.name:
        rows = FindingFilter(kinds=wanted.kinds, name=wanted.name).occurrences(source_id)
        condition &= Q(identity__in=_incidents_of_rows(source_id, rows))
    return condition


def with_incidents(findings: QuerySet[Finding]) -> Any:
    """Return findings once for each incident that they have an occurrence in, which is `of_incident`."""
    each = Func(Coalesce("incidents", _Array("incident")), function="unnest", output_field=TextField())
    return findings.annotate(of_incident=each)


def incidents_of(findings: QuerySet[Finding]) -> QuerySet[Finding, str]:
    """Return the identities of the incidents of findings."""
    found: QuerySet[Finding, str] = with_incidents(findings).values_list("of_incident", flat=True)
    return found


def _incidents_of_rows(source_id: int, rows: QuerySet[Occurrence]) -> QuerySet[Finding, str]:
    """Return the identities of the incidents whose findings are among these rows of the list of findings."""
    members = rows.annotate(each=Func("findings", function="unnest", output_field=TextField())).values("each")
    return incidents_of(Finding.objects.filter(source=source_id, withdrawn=False, identity__in=members))


def _happening(source_id: int | None, start: int | None, end: int | None) -> Q:
    """Return the condition for incidents of a source with an occurrence between two times (µs since 1970).

    An incident that happened before and after them, and not between them, is none of these. Only of all sources it is,
    because there the findings of each would have to be read.
    """
    condition = Q()
    if start is not None:
        condition &= Q(last__gte=moment(start))
    if end is not None:
        condition &= Q(first__lte=moment(end))
    if source_id is None or start is None or end is None:
        return condition
    rows = Occurrence.objects.filter(source=source_id, first__lte=moment(end), last__gte=moment(start))
    sure = Q(first__gte=moment(start)) | Q(last__lte=moment(end))  # the first or the last occurrence lies between them
    return condition & (sure | Q(identity__in=_incidents_of_rows(source_id, rows)))


def going_on() -> Q:
    """Return the condition for incidents that go on: see `IncidentRowPayload`."""
    return Q(open=True) | (Q(last__gte=timezone.now() - RECENT) & watched())


def watched() -> Q:
    """Return the condition for incidents of connected clusters."""
    return Q(source__in=Cluster.objects.exclude(source=None).values("source"))


def known(sources: Collection[int] | None = None) -> Exists:
    """Return the condition for incidents whose acknowledgement holds, of these sources if they are given."""
    of_it = Acknowledgement.objects.filter(source=OuterRef("source"), identity=OuterRef("identity"), ended="")
    # PostgreSQL may read all acknowledgements at once, and then has to know from which sources.
    return Exists(of_it if sources is None else of_it.filter(source__in=sources))


def choices(source_id: int | None) -> IncidentChoices:
    """Return what the fields of the filter can be set to."""
    rows = of(source_id)

    def values(field: str) -> list[str]:
        each = Func(field, function="unnest", output_field=TextField())
        found = rows.annotate(each=each).values_list("each", flat=True).distinct().order_by("each")
        return [text for text in found[: _CHOICES + 1] if text][:_CHOICES]

    return {
        "rules": values("rules"),
        "namespaces": values("anchored_in"),
        "actors": values("actors"),
        "nobody": rows.filter(written_by(NOT_KNOWN)).exists(),
    }
