"""This module defines the view of a timeline: its filter, its grouping, and what is opened, closed or pinned."""

from dataclasses import dataclass, replace
from typing import Literal

from django.db.models import F, Func, JSONField, Q, QuerySet
from django.db.models.expressions import RawSQL
from django.db.models.fields.json import KeyTextTransform

from timeline.judging.findings import Severity
from timeline.kinds import NOISE
from timeline.models import Finding, Occurrence, Source, Track
from timeline.queries.sources import SEVERITIES

Grouping = Literal["owner", "kind", "namespace"]


@dataclass(frozen=True)
class View:
    """This is the filter and the arrangement of a timeline. The default shows everything but noise, by owner."""

    families: tuple[str, ...] = ()
    namespace: str = ""
    name: str = ""  # a part of the names of the objects to show
    rule: str = ""  # show only objects that findings of this rule name
    severity: Severity | None = None
    about: int | None = None  # a track: show only findings that name its object, or an object that belongs to it
    scope: int | None = None  # Track.root: show only findings that name this root owner or what it owns
    incident: str = ""  # show only the findings of this incident
    noise: bool = False  # whether to show noise such as Events
    active: bool = False  # whether to show only objects that change in the range
    grouping: Grouping = "owner"
    focus: int | None = None  # the track number of the root owner whose group comes first
    alone: bool = False  # whether to show only the group in focus and the lanes that its findings name
    finding: str = ""  # the key of the selected row of the list of findings, whose arrows are always drawn
    opened: tuple[str, ...] = ()  # the keys of opened strips
    closed: tuple[str, ...] = ()  # the keys of closed groups
    pins: tuple[str, ...] = ()  # the keys of pinned lanes

    @property
    def searching(self) -> bool:
        """Return whether the view asks for certain objects, so that their lanes are shown instead of strips."""
        return bool(self.name or self.rule or self.severity)

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
        if self.about is not None:
            wanted &= Q(tracks__overlap=_concerned(source_id, self.about))
        if self.scope is not None:
            wanted &= _rows_of(source_id, naming(source_id, self.scope))
        if self.incident:
            wanted &= _rows_of(source_id, Q(incident=self.incident))
        return Occurrence.objects.filter(wanted)

    @property
    def unfiltered(self) -> bool:
        """Return whether every finding matches the filter."""
        filtered = self.families, self.namespace, self.name, self.rule, self.severity, self.incident
        return not any(filtered) and self.about is None and self.scope is None

    def counted(self, source: Source) -> int | None:
        """Return the number of rows that match the filter, if the source has counted them; else None."""
        if not replace(self, rule="", severity=None).unfiltered:
            return None
        rank = slice(None) if self.severity is None else slice(at := SEVERITIES.index(self.severity), at + 1)
        return sum(
            sum(counts[rank]) for rule, counts in source.row_counts.items() if not self.rule or rule == self.rule
        )

    def shown_families(self, source: Source) -> list[str]:
        there = sorted({family for _, family, _ in source.census})
        if self.families:
            wanted = {*self.families, *(NOISE if self.noise else ())}
            return [family for family in there if family in wanted]
        return [family for family in there if self.noise or family not in NOISE]


def naming(source_id: int, root: int) -> Q:
    """Return the condition for findings that name a root owner, or an object that it owns."""
    query = """
        SELECT identity FROM timeline_finding, unnest(tracks) AS named WHERE source_id = %s
        AND named IN (SELECT id FROM timeline_track WHERE source_id = %s AND root = %s)"""
    return Q(identity__in=RawSQL(query, [source_id, source_id, root]))


def _rows_of(source_id: int, condition: Q) -> Q:
    """Return the condition for the rows of the list of findings that belong to findings with a condition."""
    found = Finding.objects.filter(condition, source=source_id, withdrawn=False)
    each = Func(F("occurrences"), function="jsonb_array_elements", output_field=JSONField())
    return Q(key__in=found.annotate(each=each).values(group=KeyTextTransform("group", "each")))


def _concerned(source_id: int, track_id: int) -> list[int]:
    """Return the tracks of an object's name and of its children, and, if it is a root owner, all tracks of its
    group."""
    tracks = Track.objects.filter(source=source_id)
    lane = tracks.filter(id=track_id).values_list("lane", flat=True)
    lives = list(tracks.filter(lane__in=list(lane)).values_list("id", flat=True))
    others = tracks.filter(Q(root__in=lives) | Q(owner__in=lives, root__in=tracks.filter(id__in=lives).values("root")))
    return [*lives, *others.values_list("id", flat=True)[:_CONCERNED]]


_CONCERNED = 20_000  # the most tracks of children or of a group


def like(text: str) -> str:
    """Return the SQL pattern for LIKE that matches everything that contains a text."""
    escaped = text.replace("\\", "\\\\").replace("%", r"\%").replace("_", r"\_")
    return f"%{escaped}%"
