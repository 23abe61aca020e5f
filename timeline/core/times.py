"""Read the times that come from outside. No other module does, so every time has the same bounds. It does no I/O.

Times are whole microseconds since 1970, UTC. They lie in the years 1970 to 9999: what PostgreSQL, Python and browsers
can all hold. 0 stands for a time that is not set.
"""

from datetime import UTC, datetime
from typing import Annotated

import msgspec

from timeline.core.entries import microseconds
from timeline.core.numbers import whole_number

LATEST = microseconds(datetime.max.replace(tzinfo=UTC))  # the end of the year 9999
EXAMPLE = "2026-11-21T07:52:00Z"
_Zoned = Annotated[datetime, msgspec.Meta(tz=True)]
_DIGITS = 20  # as many as 64 bits need


class NoTime(ValueError):
    """What came from outside is no time, or lies beyond the years 1970 to 9999.

    The message is the end of a sentence that begins with where it stands. It does not quote the text.
    """


class Beyond(NoTime):
    """A time lies beyond the years 1970 to 9999."""


def within(time: int) -> int:
    """Return a time in microseconds since 1970. Raise Beyond if it lies beyond the bounds."""
    if 0 <= time <= LATEST:
        return time
    raise Beyond("its time lies beyond the years 1970 to 9999")


def instant(text: str) -> int:
    """Return a time of RFC 3339 with its zone, in microseconds since 1970; more than six decimals are rounded.

    Raise NoTime.
    """
    try:
        return within(microseconds(msgspec.convert(text, _Zoned)))
    except msgspec.ValidationError:
        raise NoTime(f"it is no time such as {EXAMPLE}") from None


def in_utc(text: str) -> int:
    """Return the same of a time in any form of ISO 8601, which is in UTC if it has no zone. Raise NoTime."""
    try:
        moment = datetime.fromisoformat(text)
    except (ValueError, TypeError):
        raise NoTime(f"it is no time such as {EXAMPLE}") from None
    return of(moment)


def of(moment: datetime) -> int:
    """Return a datetime, which is in UTC if it has no zone, in microseconds since 1970. Raise NoTime."""
    return within(microseconds(moment if moment.tzinfo else moment.replace(tzinfo=UTC)))


def counted_in_nanoseconds(number: object) -> int:
    """Return a number of nanoseconds since 1970, or its text in decimal digits, in microseconds. Raise NoTime."""
    if isinstance(number, str):
        number = whole_number(number, _DIGITS)
    if not isinstance(number, int) or isinstance(number, bool):
        raise NoTime("it is no number of nanoseconds since 1970")
    return within(number // 1_000)
