"""Decide in SQL which lanes of a window are folded: lanes without a change in view, and furniture.

A lane whose last change is before the view certainly has none in it. A lane that changes only before and after the view
is not folded; it is drawn without colour.
"""

from typing import Any

from django.db import connection

from timeline.core.entries import moment
from timeline.layout.furniture import FURNITURE
from timeline.layout.lanes import Folded
from timeline.models import Source, Track
from timeline.queries.window.view import View

ALL = "*"  # in `View.unfold`: nothing is folded
MOST = 2000  # the most folded lanes that are counted
_KEPT = 20  # the most lanes that a reader keeps
_OCCURRENCES = 300  # the most rows of the list of findings whose objects are not folded
_COLUMNS = ('"group"', "kind", "namespace", "name")
_FURNITURE = " OR ".join(
    " AND ".join(
        f"{column} = '{value}'" for column, value in zip(_COLUMNS, each, strict=True) if value or column == '"group"'
    )
    for each in FURNITURE
)  # an empty API group is the core group; an empty namespace or name stands for any
NOTHING = Folded(0, 0)


class Folding:
    """What is folded in a view between two times (µs). The SQL uses the parameters of `Rows`, and `values`."""

    def __init__(self, source: Source, view: View, start: int, end: int, heading: str, unfolded: list[Any]) -> None:
        self.on = view.fold and not (view.searching or view.active or view.scope is not None)
        self.values: dict[str, Any] = {
            "named": _named(source, view, start, end) if self.on else [],
            "unfolded": unfolded,
        }
        self._heading = heading
        self._open = ALL in view.unfold

    @property
    def shown(self) -> str:
        """Return the condition for lanes that are not folded, which begins with AND; "" if none is."""
        if not self.on or self._open:
            return ""
        busy = f"strip <> 0 OR changed >= %(start)s AND NOT ({_FURNITURE}) OR lane = ANY(%(named)s)"
        return f" AND ({busy}{f' OR {self._heading} = ANY(%(unfolded)s)' if self.values['unfolded'] else ''})"

    @property
    def folded(self) -> str:
        """Return the condition for lanes that are folded, or were before a reader unfolded them."""
        return f" AND strip = 0 AND (changed < %(start)s OR {_FURNITURE}) AND lane <> ALL(%(named)s)"


def _named(source: Source, view: View, start: int, end: int) -> list[int]:
    """Return the lanes that findings between two times name, and the selected finding."""
    query = """
        SELECT DISTINCT lane FROM timeline_track WHERE source_id = %(source)s AND id = ANY(ARRAY(
            SELECT unnest(tracks) FROM (
                (SELECT tracks FROM timeline_occurrence WHERE source_id = %(source)s AND key = %(finding)s)
                UNION ALL
                (SELECT tracks FROM timeline_occurrence
                 WHERE source_id = %(source)s AND first <= %(end)s AND last >= %(start)s
                 ORDER BY rank, first, key LIMIT %(most)s)
            ) AS found
        ))"""
    values: dict[str, Any] = {
        "source": source.pk,
        "finding": view.finding,
        "start": moment(start),
        "end": moment(end),
        "most": _OCCURRENCES,
    }
    with connection.cursor() as cursor:
        cursor.execute(query, values)
        return [lane for (lane,) in cursor] + _kept(source, view)


def _kept(source: Source, view: View) -> list[int]:
    """Return the lanes that the reader keeps, because of their logs."""
    lanes: list[int] = []
    for key in view.keep[:_KEPT]:
        kind, namespace, name = [*key.split("/", 2), "", ""][:3]
        kind, _, group = kind.partition(".")
        named = Track.objects.filter(source=source, group=group, kind=kind, namespace=namespace, name=name)
        lanes += named.values_list("lane", flat=True).distinct()
    return lanes
