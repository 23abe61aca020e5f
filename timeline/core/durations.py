"""Format lengths of time as text, with no more digits than are known. It does no I/O.

`dashboard/static/dashboard/js/state/durations.js` follows the same rules; both are tested against `tests/lengths.json`.
"""

from typing import NamedTuple

_MILLISECOND, _SECOND, _MINUTE, _HOUR = 1_000, 1_000_000, 60_000_000, 3_600_000_000
_CLOSE = 5  # a range is written as its middle ("≈ 50 ms") if it is at most a fifth as wide as its upper bound
# For each unit: its size in µs, its symbol, and the shortest length in µs that is written in it.
_UNITS = ((_SECOND, "s", 100 * _MILLISECOND), (_MILLISECOND, "ms", _MILLISECOND), (1, "µs", 0))


class Length(NamedTuple):
    """A length of time in microseconds. Only bounds of it may be known: it lies between `least` and `most`, both
    included. `most` is None where no upper bound is known."""

    least: int
    most: int | None

    def __str__(self) -> str:
        """Return text such as "53 ms" for an exact length, "≈ 50 ms" for a close one (see `close`), and otherwise
        "45–56 ms", "≤ 0.5 s" or "at least 1.2 s"."""
        least, most = self
        if most is None:
            return f"at least {_rounded(least)}" if least else "an unknown time"
        if duration(least) == duration(most) and least:
            return duration(least)
        if self.close:
            return f"≈ {_middle(least, most)}"
        return self.certain

    @property
    def close(self) -> bool:
        """Return whether the two bounds differ by at most a fifth of the upper bound."""
        return self.most is not None and self.most > 0 and (self.most - self.least) * _CLOSE <= self.most

    @property
    def arrow(self) -> str:
        """Return the label of an arrow that leads to an object which was created this much too late."""
        return "late" if self == (0, None) else f"{self} late"

    @property
    def certain(self) -> str:
        """Return the range of possible lengths as text, rounded outwards to two digits."""
        least, most = self
        if most is None:
            return str(self)
        step = _step(most)
        low, high = least // step * step, max(1, -(-most // step)) * step
        if low == 0:
            return f"≤ {_exact(high)}"
        if low == high:
            return _exact(high)
        if high >= _MINUTE:
            return f"{_exact(low)} – {_exact(high)}"
        size, unit = _unit(high)
        return f"{_digits(low, size)}–{_digits(high, size)} {unit}"

    def within(self, other: "Length") -> "Length":
        """Return the shortest range that covers both."""
        most = None if self.most is None or other.most is None else max(self.most, other.most)
        return Length(min(self.least, other.least), most)


def duration(microseconds: int) -> str:
    """Return an exact length, given in microseconds, as text: 53 ms, 4.2 s, 3 min 5 s, 2 h 10 min."""
    if microseconds < _MILLISECOND:
        return f"{microseconds} µs"
    if microseconds < 999_500:
        return f"{round_half_up(microseconds, _MILLISECOND) // _MILLISECOND} ms"
    if microseconds < 59_950_000:
        return _exact(round_half_up(microseconds, _SECOND // 10))
    return _exact(round_half_up(microseconds, _SECOND))


def round_half_up(value: int, step: int) -> int:
    """Return the multiple of `step` that is nearest to `value`; halves are rounded up, as JavaScript's Math.round
    does."""
    return (2 * value + step) // (2 * step) * step


def _exact(microseconds: int) -> str:
    """Return a length that is rounded already as text, with all of its digits; from an hour on without seconds."""
    if microseconds < _MINUTE:
        size, unit = _unit(microseconds)
        return f"{_digits(microseconds, size)} {unit}"
    minutes, seconds = divmod(microseconds // _SECOND, 60)
    if minutes < 60:
        return f"{minutes} min {seconds} s" if seconds else f"{minutes} min"
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if minutes else f"{hours} h"


def _unit(microseconds: int) -> tuple[int, str]:
    return next((size, unit) for size, unit, least in _UNITS if microseconds >= least)


def _digits(microseconds: int, size: int) -> str:
    whole, rest = divmod(microseconds, size)
    fraction = f"{rest:0{len(str(size)) - 1}}".rstrip("0") if rest else ""
    return f"{whole}.{fraction}" if fraction else str(whole)


def _step(most: int) -> int:
    """Return the multiple, in microseconds, to which lengths up to `most` are rounded: that of its second digit, or a
    whole second or minute for long ones."""
    if most >= _MINUTE:
        return _MINUTE if most >= _HOUR else _SECOND
    return int(10 ** max(0, len(str(most)) - 2))


def _rounded(least: int) -> str:
    """Return a length as text, rounded down to two digits."""
    return _exact(least // _step(least) * _step(least))


def _middle(least: int, most: int) -> str:
    """Return the middle of a range as text, without digits that are smaller than the width of the range."""
    middle, width = (least + most) // 2, most - least
    if middle >= _MINUTE - _SECOND // 2:
        step = next(step for step in (10 * _MINUTE, _MINUTE, 10 * _SECOND, 0) if step <= width)
        return _exact(round_half_up(middle, max(step, _MINUTE if middle >= _HOUR else _SECOND)))
    step = max(10 ** (len(str(width)) - 1), 10 ** max(0, len(str(middle)) - 3))
    return _exact(round_half_up(middle, step))
