"""Define the view of a timeline: its filter, its grouping, and what is opened, closed or pinned."""

from dataclasses import dataclass, replace
from typing import Literal

from django.db.models import F, Func, JSONField, Q, QuerySet
from django.db.models.expressions import RawSQL
from django.db.models.fields.json import KeyTextTransform

from timeline.judging.findings import Severity
from timeline.kinds import NOISE
from timeline.models import Finding, Incident, Occurrence, Source, Track
from timeline.queries.objects.owned import owned
from timeline.queries.sources.extents import SEVERITIES

Grouping = Literal["owner", "kind", "namespace", "actor"]
NOT_KNOWN = "?"  # filters by this actor select changes without a known maker


@dataclass(frozen=True)
class View:
    """The filter and the arrangement of a timeline. The default shows everything but noise, by owner.

    Grouped by actor, lanes are under the actor that created their first object.
    """

    families: tuple[str, ...] = ()
    namespace: str = ""
    name: str = ""  # a part of the names of the objects to show
    rule: str = ""  # show only objects that findings of this rule name
    severity: Severity | None = None
    actor: str = ""  # show only objects that this actor changed, and findings whose proof it wrote; or NOT_KNOWN
    about: int | None = None  # Track.id: show only findings that name this object or what it owns
    scope: int | None = None  # Track.root: show only this root owner, what it owns, and the findings that name these
    incident: str = ""  # show only the findings of this incident
    noise: bool = False  # whether to show noise such as Events
    active: bool = False  # whether to show only objects that change in the range
    grouping: Grouping = "owner"
    focus: int | None = None  # the track number of the root owner whose group comes first
    finding: str = ""  # the key of the selected row of the list of findings, whose arrows are always drawn
    opened: tuple[str, ...] = ()  # the keys of opened strips
    closed: tuple[str, ...] = ()  # the keys of closed groups
    pins: tuple[str, ...] = ()  # the keys of pinned lanes
    fold: bool = False  # whether lanes without a change in the range, and furniture, are folded (see `folding`)
    kept: tuple[str, ...] = ()  # the keys of lanes that are not folded
    unfolded: tuple[str, ...] = ()  # the keys of groups in which nothing is folded; "*" for all groups

    @property
    def searching(self) -> bool:
        """Return whether the view asks for certain objects, so that their lanes are shown instead of strips."""
        return bool(self.name or self.rule or self.severity or self.actor)

    def occurrences(self, source_id: int) -> QuerySet[Occurrence]:
        """Return the rows of the list of findings that match the filter."""
        wanted = Q(source_id=source_id)
        if self.families:
            wanted &= Q(families__overlap=list(self.families))
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
        """Return whether every finding matches the filter."""
        filtered = self.families, self.namespace, self.name, self.rule, self.severity
        return not any(filtered) and not self.narrowed

    def counted(self, source: Source) -> int | None:
        """Return the number of rows that match the filter, if the source has counted them; else None."""
        if not replace(self, rule="", severity=None).unfiltered:
            return None
        rank = slice(None) if self.severity is None else slice(at := SEVERITIES.index(self.severity), at + 1)
        return sum(
            sum(counts[rank]) for rule, counts in source.row_counts.items() if not self.rule or rule == self.rule
        )

    @property
    def narrowed(self) -> bool:
        """Return whether the view shows only some findings of a row: those in its scope, of one incident, or of
        incidents with one actor."""
        return self.scope is not None or self.about is not None or bool(self.incident or self.actor)

    def members(self, source_id: int) -> QuerySet[Finding]:
        """Return the findings in the scope of the view, about its object and of its incident, however they are
        filtered otherwise. Lists of incidents, rows of findings, counts and reports all take their scope from here."""
        found = Finding.objects.filter(source=source_id, withdrawn=False)
        if self.scope is not None:
            found = found.filter(_naming(source_id, RawSQL(_GROUP, [source_id, self.scope])))
        if self.about is not None:
            row = Track.objects.defer("lifeline").filter(source=source_id, id=self.about).first()
            found = found.filter(_naming(source_id, owned(row))) if row else found.none()
        if self.actor:
            written = Incident.objects.filter(written_by(self.actor), source=source_id)
            found = found.filter(incident__in=written.values("identity"))
        return found.filter(incident=self.incident) if self.incident else found

    def shown_families(self, source: Source) -> list[str]:
        """Return the families that are shown: those that are asked for, or those of the source."""
        if self.families:
            return sorted({*self.families, *(NOISE if self.noise else ())})
        there = sorted({family for _, family, _ in source.census})
        return [family for family in there if self.noise or family not in NOISE]


_GROUP = "SELECT id FROM timeline_track WHERE source_id = %s AND root = %s"


def written_by(actor: str) -> Q:
    """Return the condition for incidents whose proofs an actor wrote, or, for NOT_KNOWN, those that name nobody."""
    return Q(actors=[]) if actor == NOT_KNOWN else Q(actors__contains=[actor])


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
