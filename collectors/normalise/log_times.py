"""Read the notations in which programs write times, at the beginning of a text or as a whole field. It does no I/O.

A notation may leave out the zone, the year, or the whole date. Such a time is in UTC; without a year, it is in 1972,
and without a date, on the first day of 1972: what stands beside the log places it (see `timeline.history.logs`).
"""

import re
from datetime import datetime, timedelta, timezone
from functools import lru_cache
from typing import NamedTuple

from timeline.core import times
from timeline.core.entries import UNDATED_YEAR, Unknown

_YEARS = range(2000, 2200)
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
# Hours ahead of UTC; None for abbreviations that stand for several zones. Only what stands here is taken for a zone.
_ZONES: dict[str, int | None] = {
    **{"Z": 0, "UTC": 0, "GMT": 0, "WET": 0, "WEST": 1, "CET": 1, "CEST": 2, "EET": 2, "EEST": 3, "MSK": 3, "HKT": 8},
    **{"JST": 9, "KST": 9, "AEST": 10, "AEDT": 11, "NZST": 12, "NZDT": 13, "EDT": -4, "MDT": -6, "PDT": -7},
    **dict.fromkeys(("CST", "CDT", "EST", "MST", "PST", "IST", "BST", "SGT", "AST", "WIB", "SAST", "BRT"), None),
}
_NAMED_ZONE = "|".join(sorted(_ZONES, key=len, reverse=True))
_HALF = r"(?: ?(?P<half>[AP]M)\b)?"
_FRACTION = r"(?:[.,:](?P<fraction>\d{1,9}))?"
# After a zone in numbers, Go also writes its name, and the time since the program began: "+0000 UTC m=+0.002".
_ZONE = (
    rf"(?: ?(?P<zone>(?:{_NAMED_ZONE})\b|[+-]\d\d:?\d\d\b)(?: (?:{_NAMED_ZONE})\b)?(?: m=[+-][\d.]{{1,20}})?)?"
    r"(?=[\s\])|>]|:(?!\d)|$)"  # no other text goes on from a time, such as a cell of CSV
)
_CLOCK = r"(?P<hour>\d\d?):(?P<minute>\d\d):(?P<second>\d\d)" + _FRACTION + _HALF
_NAMED_DAY = r"(?:(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)[a-z]{0,6},? )?"
_YEAR_FIRST = r"(?P<year>\d{4})[-/.](?P<month>\d\d)[-/.](?P<day>\d\d)(?:[T _:]|, )"
_NAMED_MONTH = r"(?P<name>[A-Z][a-z]{2})[a-z]{0,6}"


def _notation(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern + _ZONE, re.ASCII)


_WITH_DIGITS = (
    _notation(_YEAR_FIRST + _CLOCK),  # 2026-11-22T12:00:00.5Z, 2026/11/22 12:00:00
    _notation(r"(?P<hour>\d\d?):(?P<minute>\d\d):(?P<second>\d\d)(?:[.,](?P<fraction>\d{1,9}))?" + _HALF),  # 12:00:00.5
    _notation(r"(?P<short>\d\d)/(?P<month>\d\d)/(?P<day>\d\d) " + _CLOCK),  # 26/11/22 12:00:00
    _notation(rf"(?P<day>\d\d?)[/ -]{_NAMED_MONTH}[/ -](?P<year>\d{{4}})[: T]{_CLOCK}"),  # 22/Nov/2026:12:00:00 +0000
    _notation(r"(?P<month>\d\d)-(?P<day>\d\d) " + _CLOCK),  # 11-22 12:00:00
    _notation(r"(?P<day>\d\d?)\.(?P<month>\d\d?)\.(?P<year>\d{4}),? " + _CLOCK),  # 22.11.2026 12:00:00
    _notation(r"(?P<one>\d\d?)/(?P<other>\d\d?)/(?P<year>\d{4}),? " + _CLOCK),  # 11/22/2026 12:00:00 PM
    _notation(  # 20261122 12:00:00, 20261122T120000Z
        r"(?P<year>\d{4})(?P<month>\d\d)(?P<day>\d\d)[T -]?(?P<hour>\d\d):?(?P<minute>\d\d):?(?P<second>\d\d)"
        + _FRACTION
    ),
    _notation(
        r"(?<![\d.])(?P<since>\d{10}(?:\.\d{1,9})?|\d\.\d{1,18}[eE]\+?(?:09|9)|\d{13}(?:\.\d{1,6})?|\d{16}|\d{19})"
    ),
    _notation(_YEAR_FIRST + r"(?P<hour>\d\d):(?P<minute>\d\d)"),  # 2026-11-22T12:00Z
    _notation(r"(?P<hour>\d\d?):(?P<minute>\d\d) ?(?P<half>[AP]M)\b"),  # 12:00PM
)
_WITH_LETTERS = (
    _notation(  # Sun Nov 22 12:00:00 2026, Nov 22 12:00:00, Nov 22, 2026 12:00:00 PM
        rf"{_NAMED_DAY}{_NAMED_MONTH} {{1,2}}(?P<day>\d\d?),? (?:(?P<year>\d{{4}}),? (?:at )?)?{_CLOCK}"
        rf"(?: (?P<early>{_NAMED_ZONE})\b)?(?: (?P<later>20\d\d)\b)?"
    ),
    _notation(_NAMED_DAY + _YEAR_FIRST + _CLOCK),  # Sun 2026-11-22 12:00:00 UTC
    _notation(
        rf"{_NAMED_DAY}(?P<day>\d\d?)[ -]{_NAMED_MONTH}[ -](?P<year>\d{{4}}) {_CLOCK}"
    ),  # Sun, 22 Nov 2026 12:00:00
)
_OF_KLOG = _notation(r"(?P<year>\d{4})?(?P<month>\d\d)(?P<day>\d\d) " + _CLOCK)  # 1122 12:00:00.250000


class Written(NamedTuple):
    """A time as a program wrote it."""

    time: int  # µs since 1970
    unknown: Unknown


def written_at(text: str, start: int = 0) -> tuple[Written, int] | None:
    """Return the time that stands at this place of a text, and where it ends; None if there is none."""
    first = text[start : start + 1]
    return _first(_WITH_DIGITS if first.isdigit() else _WITH_LETTERS if first.isupper() else (), text, start)


def written_by_klog(text: str, start: int) -> tuple[Written, int] | None:
    """Return the same for a time as klog and glog write it, such as "1122 12:00:00.250000"."""
    return _first((_OF_KLOG,), text, start)


def written(value: object) -> Written | None:
    """Return the time in a field: text in any notation, a number since 1970, or an object that holds one of these."""
    if isinstance(value, str):
        found = written_at(value) if len(value) <= 64 else None
        return found[0] if found and found[1] == len(value) else None
    if isinstance(value, int | float) and not isinstance(value, bool):
        return since_1970(value)
    match value:
        case {"$date": inner} if not isinstance(inner, dict):
            return written(inner)
        case {"seconds": int(seconds), "nanos": int(nanos)} | {"epochSecond": int(seconds), "nanoOfSecond": int(nanos)}:
            whole = since_1970(seconds)
            return whole and whole._replace(time=whole.time + min(max(0, nanos), 999_999_999) // 1000)
    return None


def since_1970(number: float) -> Written | None:
    """Return a time that a program gives as a number of seconds, milliseconds, microseconds or nanoseconds."""
    for unit, divisor in ((1_000_000, 1), (1_000, 1), (1, 1), (1, 1_000)):
        if 946_684_800e6 <= number * unit / divisor < 7_258_118_400e6:  # the years 2000 to 2200
            time = number * unit // divisor if isinstance(number, int) else round(number * unit / divisor)
            return Written(time, Unknown.NOTHING)
    return None


def _first(notations: tuple[re.Pattern[str], ...], text: str, start: int) -> tuple[Written, int] | None:
    for notation in notations:
        if (found := notation.match(text, start)) and (time := _resolved(found.groupdict())):
            return time, found.end()
    return None


def _resolved(parts: dict[str, str | None]) -> Written | None:
    """Return the time of the parts of a notation; None if there is no such time, or if it could be another as well."""
    if since := parts.get("since"):
        return since_1970(int(since) if since.isdecimal() else float(since))
    date, unknown = _date_of(parts)
    hour, half = int(parts["hour"] or 0), parts.get("half")
    if half:
        if not 1 <= hour <= 12:
            return None
        hour = hour % 12 + 12 * (half == "PM")
    zone = parts.get("zone") or parts.get("early") or ""
    try:
        seconds = _microseconds(*date, hour, int(parts["minute"] or 0), int(parts.get("second") or 0), zone)
    except ValueError:
        return None
    fraction = parts.get("fraction")
    if not unknown and (not zone or _ZONES.get(zone, 0) is None):
        unknown = Unknown.ZONE
    return Written(seconds + (int(f"{fraction[:6]:<06}") if fraction else 0), unknown)


def _date_of(parts: dict[str, str | None]) -> tuple[tuple[int, int, int], Unknown]:
    """Return the date of the parts of a notation, and whether it leaves out its year, or is left out itself. A date
    that there cannot be, or that may be another as well, has the year 0."""
    year, name, one, short = (parts.get(key) for key in ("year", "name", "one", "short"))
    if one:  # the first number may be the day or the month
        first, other = int(one), int(parts["other"] or 0)
        if first > 12:
            first, other = other, first
        elif other <= 12 and first != other and not parts["half"]:
            return (0, 0, 0), Unknown.NOTHING
        return (int(year or 0), first, other), Unknown.NOTHING
    if not (day := parts.get("day")):
        return (UNDATED_YEAR, 1, 1), Unknown.DATE
    month = int(parts.get("month") or 0)
    if name:
        month = _MONTHS.index(name.lower()) + 1 if name.lower() in _MONTHS else 0
    year = year or parts.get("later") or (f"20{short}" if short else None)
    if year is None:
        return (UNDATED_YEAR, month, int(day)), Unknown.YEAR
    return (int(year) if int(year) in _YEARS else 0, month, int(day)), Unknown.NOTHING


@lru_cache(1024)
def _microseconds(year: int, month: int, day: int, hour: int, minute: int, second: int, zone: str) -> int:
    """Return a time in whole seconds. Raise ValueError if there is no such time."""
    if zone[:1] in ("+", "-"):
        ahead = timedelta(hours=int(zone[1:3]), minutes=int(zone[-2:])) * (-1 if zone[0] == "-" else 1)
    else:
        ahead = timedelta(hours=_ZONES.get(zone) or 0)
    return times.of(datetime(year, month, day, hour, minute, second, tzinfo=timezone(ahead)))
