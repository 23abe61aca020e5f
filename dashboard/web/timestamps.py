"""Parse times as people and alerts write them."""

import re
from collections.abc import Mapping
from decimal import Decimal

from timeline.core import times
from timeline.core.numbers import whole_number

HOW = (
    "Write it as RFC 3339, such as 2026-11-21T07:52:00.841Z, or as a count since 1970: "
    "seconds, milliseconds or microseconds."
)
LAST = times.LATEST
_ZONE = re.compile(r" (?=\d\d:?\d\d$)")  # before it, where a + became a space in a link
_COUNT = re.compile(r"(\d{1,19})(?:\.(\d{1,9}))?")
_SCIENTIFIC = re.compile(r"\d(?:\.\d{1,18})?[eE][+ ]?(\d{1,2})")  # as Go's templates print a large number
_GO = re.compile(  # as Go's templates print a time: 2026-11-21 07:52:00.841 +0000 UTC, perhaps with m=+0.5 behind it
    r"(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d)(\.\d{1,9})? ?([+\- ])(\d\d)(\d\d)(?: [A-Z+\-0-9]{1,5})?(?: m=[+\- ]?[\d.]+)?"
)


def span(asked: Mapping[str, str]) -> tuple[int, int] | None:
    """Return the range of time, in microseconds since 1970, that the address of a timeline asks for; None for the whole
    source, as the page shows it without a valid range."""
    start, end = whole_number(asked.get("start", "")), whole_number(asked.get("end", ""))
    return (start, end) if start is not None and end is not None and start < end <= LAST else None


def parsed(text: str) -> int:
    """Return microseconds since 1970; a time without a zone is UTC. Raises ValueError with the accepted forms."""
    text = text.strip()
    if (found := _SCIENTIFIC.fullmatch(text)) and int(found[1]) < 20:
        text = format(Decimal(text.replace(" ", "+")).normalize(), "f")
        text = text[: text.find(".") + 7] if "." in text else text
    found = _COUNT.fullmatch(text)
    try:
        return times.within(_counted(*found.groups())) if found else _written(text)
    except times.Beyond:
        raise ValueError(f"{text} lies beyond the years 1970 to 9999. {HOW}") from None


def _counted(whole: str, fraction: str | None) -> int:
    """Return microseconds for a count since 1970, whose number of digits gives its unit."""
    if len(whole) > 17:
        return int(whole) // 1000  # nanoseconds
    shift = 6 if len(whole) <= 11 else 3 if len(whole) <= 14 else 0
    return int(whole + f"{fraction or ''}{'0' * shift}"[:shift])


def _written(text: str) -> int:
    """Return microseconds for a text that is no count. Raise times.Beyond, and ValueError for what is no time."""
    written = text
    if found := _GO.fullmatch(text):
        day, fraction, sign, hours, minutes = found.groups()
        written = f"{day}{(fraction or '')[:7]}{'-' if sign == '-' else '+'}{hours}:{minutes}"
    elif text.count(":") > 2:
        written = _ZONE.sub("+", text)
    try:
        return times.in_utc(written)
    except times.Beyond:
        raise
    except times.NoTime:
        raise ValueError(f"{text[:60]} is not a valid time. {HOW}") from None
