"""Read and write the times of log stores, which are more exact than a datetime."""

import re

from timeline.core import times
from timeline.core.entries import moment

_TIME = re.compile(r"(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d:\d\d)(?:\.(\d{1,9}+)\d*+)?(Z|[+-]\d\d:?\d\d)?", re.ASCII)


def nanoseconds(text: str) -> int:
    """Return nanoseconds since 1970 of an RFC 3339 time; without a zone it is UTC. Raise ValueError."""
    found = _TIME.fullmatch(text)
    if found is None:
        raise ValueError(f"not a time: {text[:40]}")
    day, clock, fraction, zone = found.groups()
    return times.in_utc(f"{day}T{clock}{zone or ''}") * 1_000 + int((fraction or "0").ljust(9, "0"))


def instant(since_1970: int) -> str:
    """Return nanoseconds since 1970 as an RFC 3339 time in UTC with nine decimals."""
    seconds, fraction = divmod(since_1970, 1_000_000_000)
    return f"{moment(seconds * 1_000_000):%Y-%m-%dT%H:%M:%S}.{fraction:09d}Z"
