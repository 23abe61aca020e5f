"""This module reads and writes the times of log stores, which are more exact than a datetime."""

import re
from datetime import UTC, datetime

_TIME = re.compile(r"(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d:\d\d)(?:\.(\d{1,9})\d*)?(Z|[+-]\d\d:?\d\d)?")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def nanoseconds(text: str) -> int:
    """Return nanoseconds since 1970 of an RFC 3339 time; without a zone it is UTC. Raise ValueError."""
    found = _TIME.fullmatch(text)
    if found is None:
        raise ValueError(f"not a time: {text[:40]}")
    day, clock, fraction, zone = found.groups()
    whole = datetime.fromisoformat(f"{day}T{clock}{zone if zone and zone != 'Z' else '+00:00'}")
    seconds = (whole - _EPOCH) // (datetime.resolution * 1_000_000)
    return seconds * 1_000_000_000 + int((fraction or "0").ljust(9, "0"))


def instant(since_1970: int) -> str:
    """Return nanoseconds since 1970 as an RFC 3339 time in UTC with nine decimals."""
    seconds, fraction = divmod(since_1970, 1_000_000_000)
    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%dT%H:%M:%S}.{fraction:09d}Z"
