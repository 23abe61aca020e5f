"""Mark the times in a text, so that a script can show them in the reader's zone.

The text itself stays in UTC, for readers without scripts. Templates load the module as a builtin library.
"""

import re
from datetime import UTC, datetime, timedelta

from django import template
from django.utils.html import conditional_escape, format_html
from django.utils.safestring import SafeString, mark_safe

register = template.Library()

_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_BETWEEN = (" – ", "–", " to ", " and ")  # the two times of a range
_TIME = re.compile(
    rf"""(?<![\w:.\-+])
    (?:(?P<iso>\d{{4}}-\d\d-\d\d)[ ]|(?P<day>\d{{1,2}})[ ](?P<month>{"|".join(_MONTHS)})(?:[ ](?P<year>\d{{4}}))?[ ])?
    (?P<clock>\d\d:\d\d(?::\d\d(?:\.\d{{1,6}})?)?)
    (?:[ ]UTC\b|(?![\w:+]))""",
    re.VERBOSE,
)


@register.filter
def times(text: object) -> SafeString:
    """Return a text, escaped, with each time in it that says that it is in UTC as a `<time>` element.

    "from 2026-11-21 07:52:00.841 to 07:52:07 UTC" has two of them. Other times in it, as in a note that a person wrote,
    may be in any zone.
    """
    return _marked(str(text), None, all_of_them=False)


@register.filter
def utc(text: object, day: str = "") -> SafeString:
    """Return a text, escaped, with each time in it as a `<time>` element. All of them have to be in UTC.

    A time without a day, such as the second one of a range, is on the day of the time before it or on the next one.
    `day` is that of the first time, if the text does not name it, as the beginning of an ISO 8601 time.
    """
    return _marked(str(text), datetime.fromisoformat(f"{day[:10]}T00:00:00Z") if day else None, all_of_them=True)


def _marked(words: str, before: datetime | None, *, all_of_them: bool) -> SafeString:
    parts: list[str] = []
    end = 0
    found = list(_TIME.finditer(words))
    for at, each in enumerate(found):
        following = found[at + 1 : at + 2]
        begins = any(words[each.end() : other.start()] in _BETWEEN and _in_utc(other) for other in following)
        time = _time(each, before) if all_of_them or _in_utc(each) or begins else None
        if time is None:
            continue
        parts.append(conditional_escape(words[end : each.start()]))
        parts.append(format_html('<time datetime="{}" data-utc>{}</time>', _iso(time, each["clock"]), each[0]))
        before, end = time, each.end()
    return mark_safe("".join([*parts, conditional_escape(words[end:])]))  # each part is escaped


def _in_utc(found: re.Match[str]) -> bool:
    return found[0].endswith(" UTC")


def _time(found: re.Match[str], before: datetime | None) -> datetime | None:
    """Return the time that a text names; None if it is none, or names no day and no time is before it."""
    try:
        clock = datetime.strptime(found["clock"][:5], "%H:%M").time()  # noqa: DTZ007  # only the clock is used
        rest = float(found["clock"][6:] or 0)
        if found["iso"]:
            date = datetime.fromisoformat(found["iso"]).date()
        elif found["day"] and (found["year"] or before):
            year = int(found["year"]) if found["year"] else before.year if before else 0
            date = datetime(year, _MONTHS.index(found["month"]) + 1, int(found["day"]), tzinfo=UTC).date()
        elif before:
            date = before.date()
        else:
            return None
        time = datetime.combine(date, clock, UTC) + timedelta(seconds=rest)
        if before and time < before and not found["iso"] and not found["year"]:
            return time.replace(year=time.year + 1) if found["day"] else time + timedelta(days=1)
        return time
    except (ValueError, OverflowError):
        return None


def _iso(time: datetime, clock: str) -> str:
    """Return a time as ISO 8601, as exact as the clock that states it."""
    return f"{time:%Y-%m-%d}T{clock}Z"
