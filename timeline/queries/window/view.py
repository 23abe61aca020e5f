"""Define the view of a timeline: its filter, its grouping, and what is opened, closed or pinned."""

import re
from functools import reduce
from operator import or_
from typing import Any, Literal

from django.contrib.postgres.expressions import ArraySubquery
from django.db.models import F, Func, JSONField, Q, QuerySet, TextField, Value
from django.db.models.expressions import RawSQL
from django.db.models.fields.json import KeyTextTransform
from django.db.models.functions import Concat
from django.db.models.lookups import Contains

from timeline.core.actors import written_out
from timeline.kinds import NOISE
from timeline.models import Finding, Incident, Occurrence, Source, Track
from timeline.queries.filters import NOT_KNOWN, Key, Listed, Number, ObjectFilter
from timeline.queries.objects.candidates import kinds_of
from timeline.queries.objects.owned import owned
from timeline.queries.sources.extents import SEVERITIES

Grouping = Literal["owner", "kind", "namespace", "actor"]


class FindingFilter(ObjectFilter):
    """What the list of findings is narrowed by."""

    about: Number | None = None  # Track.id: only findings that name this object, or what belongs to it
    scope: Number | None = None  # Track.root: only findings that name this root owner, or an object that it owns
    incident: Key = ""  # only the findings of this incident

    def occurrences(self, source_id: int) -> QuerySet[Occurrence]:
        """Return the rows of the list of findings that match."""
        wanted = Q(source_id=source_id)
        if self.kinds:
            wanted &= Q(families__overlap=list(self.kinds))
        if self.namespace:
            wanted &= Q(namespace=self.namespace)
        if self.name:
            wanted &= Q(words__contains=self.name.lower())
        if self.rule:
            wanted &= Q(rule=self.rule)
        if self.severity:
            wanted &= Q(rank=SEVERITIES.index(self.severity))
        if self.narrowed:
            each = Func(F("occurrences"), function="jsonb_array_elements", output_field=JSONField())
            rows = self.members(source_id).annotate(each=each).values(group=KeyTextTransform("group", "each"))
            wanted &= Q(key__in=rows)
        return Occurrence.objects.filter(wanted)

    @property
    def unfiltered(self) -> bool:
        """Return whether every finding matches."""
        return not self.parameters()

    def counted(self, source: Source) -> int | None:
        """Return the number of rows that match, if the source has counted them; else None."""
        if not self.but(rule="", severity="").unfiltered:
            return None
        rank = slice(at := SEVERITIES.index(self.severity), at + 1) if self.severity else slice(None)
        return sum(
            sum(counts[rank]) for rule, counts in source.row_counts.items() if not self.rule or rule == self.rule
        )

    @property
    def narrowed(self) -> bool:
        """Return whether a row may have findings that do not match, because the view is limited to a scope, an object,
        an incident, an actor, or objects of a kind, node or image."""
        named = self.incident or self.actor or self.kind or self.node or self.image
        return self.scope is not None or self.about is not None or bool(named)

    def members(self, source_id: int) -> QuerySet[Finding]:
        """Return the findings in the scope, about the object and of the incident, however they are filtered otherwise.
        Lists of incidents, rows of findings, counts and reports all take their scope from here."""
        found = Finding.objects.filter(source=source_id, withdrawn=False)
        if self.scope is not None:
            found = found.filter(_naming(source_id, RawSQL(_GROUP, [source_id, self.scope])))
        if self.about is not None:
            row = Track.objects.defer("lifeline").filter(source=source_id, id=self.about).first()
            found = found.filter(_naming(source_id, owned(row))) if row else found.none()
        if self.kind or self.node or self.image:
            found = found.filter(_naming(source_id, meant(self, source_id, "id")))
        if self.actor:
            written = Incident.objects.filter(written_by(self.actor), source=source_id)
            found = found.filter(
                Q(incident__in=written.values("identity"))
                | Q(incidents__overlap=ArraySubquery(written.values("identity")))
            )
        return found.filter(Finding.of_incidents([self.incident])) if self.incident else found


class View(ObjectFilter):
    """The filter and the arrangement of a timeline. The default shows everything but noise, by owner.

    Grouped by actor, lanes are under the actor that created their first object.
    """

    group: Grouping = "owner"
    noise: bool = False  # whether to show noise, such as Events and node leases
    active: bool = False  # only objects that change between start and end
    focus: Number | None = None  # Track.root: the root owner whose group comes first
    scope: Number | None = None  # Track.root: only this root owner, what it owns, and what their findings name
    finding: Key = ""  # the selected row of the list of findings, whose arrows are always drawn
    incident: Key = ""  # only what the findings of this incident name; what it begins with comes first
    open: Listed = ()  # keys of strips
    closed: Listed = ()  # keys of groups
    pins: Listed = ()  # keys of lanes
    fold: bool = False  # leave out lanes that do not change between start and end, and what every namespace has
    since: Number | None = None  # µs: what was there or has changed since then is not left out, if it is before start
    keep: Listed = ()  # keys of lanes that are never left out so
    unfold: Listed = ()  # keys of groups in which nothing is left out; "*" for all

    @property
    def top(self) -> int | None:
        """Return the root owner whose group comes first."""
        return self.focus if self.scope is None else self.scope

    @property
    def searching(self) -> bool:
        """Return whether the view asks for certain objects, so that their lanes are shown instead of strips."""
        named = self.name or self.kind or self.node or self.image
        return bool(named or self.rule or self.severity or self.actor or self.incident)

    def findings(self) -> FindingFilter:
        """Return the filter of the findings in the view."""
        return FindingFilter(**self.narrowing(), scope=self.scope, incident=self.incident)

    def shown_families(self, source: Source) -> list[str]:
        """Return the families that are shown: those that are asked for, or those of the source."""
        if self.kinds:
            return sorted({*self.kinds, *(NOISE if self.noise else ())})
        there = sorted({family for _, family, _ in source.census})
        return [family for family in there if self.noise or family not in NOISE]


def meant(wanted: ObjectFilter, source_id: int, column: Literal["id", "lane"]) -> RawSQL:
    """Return the tracks of a source, or their lanes, with the kind, node and image of a filter, if these are given.

    The nodes and images of Pods are among the texts by which the search finds them (see `Kind.clues`).
    """
    conditions: list[tuple[str, list[Any]]] = [("source_id = %s", [source_id])]
    if wanted.kind:
        conditions.append(("lower(kind) = ANY(%s)", [[kind for word in wanted.kind for kind in kinds_of(word)]]))
    if wanted.node:
        node = r"[^\n]*".join(map(re.escape, wanted.node.split("*")))
        values = [rf"(^|\n)on {node}(\n|$)", f"^{node}$"]
        conditions.append(("(clues ~* %s OR (kind = 'Node' AND name ~* %s))", values))
    if wanted.image:
        conditions.append(("clues ~* %s", [rf"(^|\n)image [^ \n]*{re.escape(wanted.image)}"]))
    query = f"SELECT DISTINCT {column} FROM timeline_track WHERE {' AND '.join(sql for sql, _ in conditions)}"
    return RawSQL(query, [value for _, values in conditions for value in values])


_GROUP = "SELECT id FROM timeline_track WHERE source_id = %s AND root = %s"


def written_by(actor: str) -> Q:
    """Return the condition for incidents whose proofs an actor wrote, or, for NOT_KNOWN, those that name nobody."""
    if actor == NOT_KNOWN:
        return Q(actors=[])
    end = Value("\n", output_field=TextField())
    lines = Concat(Func("actors", end, function="array_to_string", output_field=TextField()), end)
    called = {actor, written_out(actor)}
    return reduce(or_, (Q(actors__contains=[each]) | Q(Contains(lines, f" ({each})\n")) for each in called))


def _naming(source_id: int, tracks: RawSQL) -> Q:
    """Return the condition for findings that name one of these tracks."""
    query = f"""
        WITH concerned (id) AS MATERIALIZED ({tracks.sql}), naming AS MATERIALIZED (
            SELECT DISTINCT found.identity FROM concerned CROSS JOIN LATERAL (
                SELECT identity FROM timeline_finding WHERE source_id = %s AND tracks @> ARRAY[concerned.id]
            ) AS found
        ) SELECT identity FROM naming"""
    return Q(identity__in=RawSQL(query, [*tracks.params, source_id]))


def like(text: str) -> str:
    """Return the SQL pattern for LIKE that matches everything that contains a text."""
    escaped = text.replace("\\", "\\\\").replace("%", r"\%").replace("_", r"\_")
    return f"%{escaped}%"
