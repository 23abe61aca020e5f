"""Figures that the benches measure, and how they are shown and compared.

A bench measures each figure a few times, each time next to a bare loop of `orjson.loads` in the same run. Milliseconds
say something about one machine only; how many of them pass beside a millisecond of the loop can be compared.
"""

import os
import statistics
import time
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple, TypeVar

import orjson

from bench.larger import lines_of

SAMPLE = Path(__file__).resolve().parent.parent / "dashboard" / "samples" / "volcano-restart.jsonl.zst"
FILE = "CAUSELINE_BENCH_FIGURES"  # the variable that names a file of figures, in JSON lines
_LOOP_LINES = 10_000
Measured = TypeVar("Measured")


class Figure(NamedTuple):
    """What was measured of one thing."""

    what: str
    values: tuple[float, ...]  # one of each run
    unit: str = ""  # "" for a ratio
    asked: float | None = None  # what is to be reached; None if nothing is asked
    at_most: bool = False  # whether less is better
    loops: tuple[float, ...] = ()  # seconds of the bare loop beside each run, for a figure that depends on the machine

    @property
    def median(self) -> float:
        return statistics.median(self.values)

    @property
    def compared(self) -> float:
        """The median of what can be compared with another machine's; greater is better."""
        pairs = zip(self.values, self.loops or [1] * len(self.values), strict=True)
        middle = statistics.median(value / loop for value, loop in pairs)
        return 1 / middle if self.at_most else middle

    @property
    def reached(self) -> bool:
        """Whether the median reaches what is asked."""
        return self.asked is None or (self.median <= self.asked if self.at_most else self.median >= self.asked)

    @property
    def words(self) -> str:
        """What is shown in a row of the table: the median, the least and the most, and what is asked."""
        unit = f" {self.unit}" if self.unit else ""
        spread = f" ({_short(min(self.values))}–{_short(max(self.values))})" if len(self.values) > 1 else ""
        asked = "" if self.asked is None else f"{'≤' if self.at_most else '≥'} {_short(self.asked)}{unit}"
        return (
            f"{self.what:<66} {_short(self.median) + unit + spread:<30} {asked:<14} {'' if self.reached else 'missed'}"
        )


def _short(value: float) -> str:
    return f"{value:.0f}" if value >= 100 else f"{value:.3g}"


def show(figures: Iterable[Figure]) -> None:
    """Print each figure as soon as it is measured, and append it to the file that `python -m bench` asks for."""
    for figure in figures:
        print(figure.words, flush=True)
        if path := os.environ.get(FILE):
            with Path(path).open("ab") as file:
                file.write(orjson.dumps(figure._asdict(), option=orjson.OPT_APPEND_NEWLINE))


def percentile(values: Sequence[float], part: float) -> float:
    """Return the value below which this part (0 to 1) of the values lies."""
    return sorted(values)[min(len(values) - 1, int(len(values) * part))]


@cache
def _lines() -> list[bytes]:
    lines = list(lines_of(SAMPLE))
    return (lines * (_LOOP_LINES // len(lines) + 1))[:_LOOP_LINES]


def loop() -> float:
    """Return the seconds that the bare loop takes now for 10 000 lines of the sample, the least of three times."""
    lines, load = _lines(), orjson.loads

    def once() -> float:
        start = time.perf_counter()
        for line in lines:
            load(line)
        return time.perf_counter() - start

    return min(once() for _ in range(3))


def beside(measure: Callable[[], Measured], runs: int) -> list[tuple[Measured, float]]:
    """Measure several times, each time next to the bare loop; return what was measured, and the loop's seconds."""
    return [(measure(), loop()) for _ in range(runs)]
