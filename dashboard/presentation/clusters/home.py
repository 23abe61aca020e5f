"""Prepare recordings for the home page."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import groupby

from dashboard.presentation.clusters.fleet import Counted
from timeline.core.durations import duration
from timeline.core.entries import microseconds
from timeline.payloads.documents import mostly_skipped
from timeline.queries.sources.home import RecordingCard

_BARS = 80  # bars of the histogram
_WIDTH, _HEIGHT = 240, 30
_FILES = 3  # files that are named because most of them was skipped
_CAP = 9  # room above the bars for ticks, in pixels


@dataclass(frozen=True)
class Recording:
    id: int
    name: str
    span: str  # "21 Nov 2026 07:55:31 – 07:57:01 UTC"
    length: str  # "1 min 29 s"
    entries: str  # "3,958"
    skipped: int
    mostly_skipped: list[str]  # a sentence for each file that was mostly skipped; the first ones
    counted: Counted
    bars: str  # an SVG path
    ticks: list[tuple[str, str]]  # severity, SVG path
    ended: str  # why the cluster that fed it sends no more; "" for an uploaded recording
    may_change: bool  # whether the signed-in user may rename and delete it


def recording(shown: RecordingCard, counted: Counted, *, may_change: bool = False) -> Recording:
    row = shown.source
    span, length = "nothing drawn yet", ""
    if row.first and row.last:
        span = _span(row.first, row.last)
        length = duration(microseconds(row.last) - microseconds(row.first))
    return Recording(
        id=row.id,
        name=row.name,
        span=span,
        length=length,
        entries=f"{row.entries:,}",
        skipped=row.skipped,
        mostly_skipped=mostly_skipped(row.mostly_skipped)[:_FILES],
        counted=counted,
        bars=_bars(shown.histogram) if length else "",
        ticks=[
            (severity, _ticks([part for _, part in at])) for severity, at in groupby(shown.ticks, lambda tick: tick[0])
        ],
        ended=shown.ended,
        may_change=may_change,
    )


def _day(moment: datetime) -> str:
    return f"{moment.astimezone(UTC).day} {moment.astimezone(UTC):%b}"


def _span(first: datetime, last: datetime) -> str:
    first, last = first.astimezone(UTC), last.astimezone(UTC)
    until = "" if first.date() == last.date() else f"{_day(last)} "
    return f"{_day(first)} {first.year} {first:%H:%M:%S} – {until}{last:%H:%M:%S} UTC"


def _bars(histogram: Sequence[int]) -> str:
    """Return the histogram as an SVG path. The square root keeps small columns visible beside large ones."""
    each = max(1, len(histogram) // _BARS)
    sums = [sum(histogram[place : place + each]) for place in range(0, len(histogram), each)]
    width, most = _WIDTH / max(1, len(sums)), max(sums, default=0)
    drawn = []
    for place, count in enumerate(sums):
        if count:
            height = max(1.5, (_HEIGHT - _CAP) * (count / most) ** 0.5)
            drawn.append(f"M{place * width:.1f} {_HEIGHT}v-{height:.1f}h{width * 0.7:.1f}v{height:.1f}z")
    return "".join(drawn)


def _ticks(parts: Sequence[float]) -> str:
    """Return an SVG path with a stroke at each of these parts of the width (0 to 1)."""
    return "".join(f"M{part * (_WIDTH - 2.5):.1f} 0h2.5v7h-2.5z" for part in parts)
