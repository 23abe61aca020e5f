"""Place round times on the axis of a picture."""

from typing import NamedTuple

from dashboard.drawing.shapes import STEPS
from timeline.payloads.documents import timestamp

_PIXELS = 900  # the width for which the distance of ticks is chosen
_SECOND = 1_000_000
_DAY = 86_400 * _SECOND


class Tick(NamedTuple):
    """A time on the axis."""

    at: str  # per cent
    text: str
    between: bool  # whether a narrow picture leaves it out
    iso: str  # the same as ISO 8601


def clock(time: int, digits: int = 3) -> str:
    """Return a time such as 07:52:00.841."""
    whole = timestamp(time)[11:26]
    return whole[: 8 + (digits and digits + 1)]


def ticks(start: int, end: int) -> list[Tick]:
    """Return ticks at round times. Each text omits what the tick before it shows already."""
    least = (end - start) * 95 / _PIXELS
    step = next((each for each in STEPS if each >= least), STEPS[-1])
    digits = 0 if step >= _SECOND else 3 if step >= 1000 else 6
    found: list[Tick] = []
    for time in range(-(-start // step) * step, end + 1, step):
        before = time - step
        if step >= _DAY or (found and time // _DAY != before // _DAY):
            text = timestamp(time)[5:10]
        elif digits and found and time // (60 * _SECOND) == before // (60 * _SECOND):
            text = clock(time, digits)[8 if time // _SECOND == before // _SECOND else 5 :]
        else:
            text = clock(time, digits)
        share = 100 * (time - start) / (end - start)
        if 4 < share < 96:
            found.append(Tick(f"{share:.3f}%", text, len(found) % 3 != 1, timestamp(time)))
    return found
