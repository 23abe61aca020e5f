"""Decide how the timeline of a report opens: around which finding, and on which axis."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from itertools import pairwise
from typing import NamedTuple
from urllib.parse import urlencode

from timeline.core.entries import microseconds
from timeline.layout.opening import FirstView, first_view
from timeline.payloads.findings import FindingGroupPayload
from timeline.payloads.incidents.making import InView

WIDTH = 700  # px of the figure on a page of paper or an ordinary screen
CLOSE = 5  # px; marks that lie closer cover each other
WHY_ORDER = (
    "Events of the proof lie closer together than the marks on an axis of time are wide. The figure therefore shows "
    "the order of the changes, each with equal room."
)


class Opening(NamedTuple):
    """How the timeline of a report opens."""

    view: FirstView
    search: str  # the query of its address, beside the range
    why: str  # a sentence about its axis; "" for one that was asked for, or for that of time


def opening(incidents: Sequence[InView], asked: Mapping[str, str]) -> Opening:
    """Return how the timeline opens with these incidents, which come in order with their rows, the gravest first.

    `asked` has the parameters of the address that are given. Without one of their findings, the gravest one of the
    incident that is shown alone is chosen, or else of the first one.
    """
    alone = next((each for each in incidents if each.incident["id"] == asked.get("incident")), None)
    named = [row for each in incidents for row in each.rows if row["key"] == asked.get("finding")]
    ordered = [alone] if alone else incidents
    row = next(iter([*named, *(row for each in ordered for row in each.rows)]), None)
    chosen = {name: value for name, value in asked.items() if value and name != "finding"}
    why = WHY_ORDER if row and "axis" not in chosen and not alone and too_close(row) else ""
    if why:
        chosen["axis"] = "order"
    shown = alone.incident if alone and not named else None
    view = first_view(None, row, shown, axis="order" if chosen.get("axis") == "order" else "time")
    return Opening(view, urlencode({**chosen, **({"finding": view["finding"]} if row else {})}), why)


def too_close(row: FindingGroupPayload) -> bool:
    """Return whether two events of a proof would be drawn less than `CLOSE` px apart on an axis of time around it."""
    times = sorted({microseconds(datetime.fromisoformat(each["time"])) for each in row["proof"]})
    start, end = row["ranges"]["time"]
    return any((later - earlier) * WIDTH < CLOSE * (end - start) for earlier, later in pairwise(times))
