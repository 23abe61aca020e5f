"""Assemble a window from its rows and from what is drawn on them. It does no I/O.

The dashboard (`timeline.queries.window.windows`) and the report (`excerpt`) choose rows and read tracks in different
ways, but both assemble their windows here, so they show the same.
"""

from collections.abc import Mapping
from typing import NamedTuple

from timeline.layout.drawing import Drawing
from timeline.layout.lanes import Count, Folded, LaneRow, RootOwner, folded_payload, group_payloads
from timeline.payloads.windows import Gaps, ScopePayload, WindowPayload

MARKS = 2500  # the number of bars and marks that a browser redraws within 100 ms


class LanePage(NamedTuple):
    """The rows of a window, and where they are among all rows that match its filter."""

    rows: list[LaneRow]  # the pinned rows come first
    pins: int  # how many rows are pinned
    offset: int  # index of the first row that is not pinned, among all that match
    total: int  # how many rows match, as far as they were counted
    more: bool  # whether more rows match than were counted
    counts: Mapping[str, Count]  # by heading
    roots: Mapping[int, RootOwner]  # the root owners of the rows, by `LaneRow.root`
    unnamed: str = "cluster"  # the label of a heading with an empty key
    folded: Folded | None = None  # of all groups; None if they were not counted, because more rows follow

    @property
    def drawn(self) -> list[LaneRow]:
        """Return the rows on which something is drawn: all but closed groups, which show only their heading."""
        return [row for row in self.rows if row.members]


class Range(NamedTuple):
    """The part of a source that a window shows. Times are microseconds since 1970, UTC."""

    source: int  # the id of the source
    sequence: int  # the number of the last batch that is shown of a live source; else 0
    span: tuple[int, int]  # the range of time that is drawn
    extent: tuple[int, int]  # the range of time that the whole source covers


def assemble(shown: Range, page: LanePage, drawing: Drawing, gaps: Gaps, scope: ScopePayload | None) -> WindowPayload:
    """Return the window that shows these rows with what was drawn on them."""
    return {
        "source": shown.source,
        "sequence": shown.sequence,
        "gaps": gaps,
        "start": shown.span[0],
        "end": shown.span[1],
        "first": shown.extent[0],
        "last": shown.extent[1],
        "offset": page.offset,
        "lanes_total": page.total,
        "lanes_more": page.more,
        "pins": page.pins,
        "groups": group_payloads(page.rows[page.pins :], page.pins, page.counts, page.roots, page.unnamed),
        "folded": page.folded and folded_payload(page.folded),
        "scope": scope,
        **drawing.columns(),
    }
