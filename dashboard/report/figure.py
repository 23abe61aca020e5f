"""Decide how the timeline of a report opens: around which finding, and on which axis."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from itertools import pairwise
from typing import NamedTuple
from urllib.parse import urlencode

from timeline.core.entries import microseconds
from timeline.payloads.findings import FindingGroupPayload, ProofPayload
from timeline.payloads.incidents.occurrences import rank

WIDTH = 700  # px of the figure on a page of paper or an ordinary screen
CLOSE = 5  # px; marks that lie closer cover each other
_LEAST = 20_000  # µs, and how much room there is around a finding: as in `rangeAround` of js/state/ranges.js
_ROOM = 1.9 + 1 + 5.8
WHY_ORDER = (
    "Events of the proof lie closer together than the marks on an axis of time are wide. The figure therefore shows "
    "the order of the changes, each with equal room."
)


class Opening(NamedTuple):
    """How the timeline of a report opens."""

    finding: str  # the key of the finding that it shows; "" without any
    search: str  # the query of its address
    why: str  # a sentence about its axis; "" for one that was asked for, or for that of time


def opening(rows: Sequence[FindingGroupPayload], asked: Mapping[str, str]) -> Opening:
    """Return how the timeline opens with these rows of the list of findings.

    `asked` has the parameters of the address that are given. Without a finding among these rows, the most severe one is
    chosen; of several, the one about most objects.
    """
    chosen = {name: value for name, value in asked.items() if value and name != "finding"}
    found = [row for row in rows if row["key"] == asked.get("finding")] or sorted(
        rows, key=lambda row: (rank(row["severity"]), -len(row["findings"]))
    )
    if not found:
        return Opening("", urlencode(chosen), "")
    row = found[0]
    chosen["finding"] = row["key"]
    if "axis" in chosen or not too_close(row):
        return Opening(row["key"], urlencode(chosen), "")
    start, end = _range(row)
    beside = (end - start) // 6
    around = {"start": str(start - beside), "end": str(end + beside)}
    return Opening(row["key"], urlencode({"axis": "order", **around, **chosen}), WHY_ORDER)


def too_close(row: FindingGroupPayload) -> bool:
    """Return whether two events of a proof would be drawn less than `CLOSE` px apart on an axis of time around it."""
    times = sorted({_time(each["time"]) for each in row["proof"]})
    start, end = _range(row)
    width = _ROOM * max(end - start, _LEAST)
    return any((later - earlier) * WIDTH < CLOSE * width for earlier, later in pairwise(times))


def _range(row: FindingGroupPayload) -> tuple[int, int]:
    """Return the times between which the events of an occurrence happened."""
    return min([row["start"], *_bounds(row, "earliest")]), max([row["end"], *_bounds(row, "latest")])


def _bounds(row: FindingGroupPayload, side: str) -> list[int]:
    """Return the bounds of the times of the first and the last event."""
    at = row["start"] if side == "earliest" else row["end"]
    return [_time(bound) for each in row["proof"] if _time(each["time"]) == at and (bound := _bound(each, side))]


def _bound(event: ProofPayload, side: str) -> str | None:
    return event["earliest"] if side == "earliest" else event["latest"]


def _time(iso: str) -> int:
    return microseconds(datetime.fromisoformat(iso))
