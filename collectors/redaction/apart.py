"""Redact single fields of an object in JSON, without a walk through the rest of it. It does no I/O.

The names of some fields matter for their values, but what is around them does not: the environment of a container is
redacted in the same way in each Pod. Such a value is cut out, redacted by itself and put back, and what was done to it
is remembered. The caller checks that nothing in the rest has to be redacted.
"""

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import NamedTuple

import msgspec
import orjson

from collectors.redaction import policy
from collectors.redaction.budget import OutOfTime, is_over
from collectors.redaction.objects import clean_fields
from collectors.redaction.roles import is_telling
from collectors.redaction.text import without_known_forms

_MANAGED = b"managedFields"  # names of fields in it mean something else
_MANAGED_NAME, _MANAGED_FIELD = b'"%b"' % _MANAGED, b'"%b":' % _MANAGED
_CLOSING = {b"{": b"}", b"[": b"]"}
# One of each sort of fields that `clean_fields` tells apart.
_PARENTS = ("", "data", "labels", "hard", "annotations", "tls")
_SWITCH = re.compile(rb"true|false|null")
_MOST_BRACKETS = 200  # closing brackets in a value that is cut out
_CACHED = 512  # results
_LONGEST = 8192  # bytes of a value that is cut out
_sorted = orjson.OPT_SORT_KEYS
_value = msgspec.json.Decoder(msgspec.Raw)


class Apart(NamedTuple):
    """An object in JSON, some of whose fields were redacted by themselves."""

    redacted: bytes  # the whole, with these fields redacted
    rest: bytes  # the same without these fields


def redact_fields(raw: bytes, names: Iterable[bytes]) -> Apart | None:
    """Redact the fields of these names, which are as in JSON. Return None if what is around them may matter."""
    if b"\\u" in raw or any(b"\\" in name or is_telling(name.decode()) for name in names):
        return None
    if raw.count(_MANAGED_NAME) != raw.count(_MANAGED_FIELD):
        return None  # white space follows this name, or it is a text: where these fields are is not certain
    redacted, rest, at = list[bytes](), list[bytes](), 0
    for start, name in sorted(_fields(raw, (*names, _MANAGED))):
        if start < at:
            continue  # it is in a value that was cut out
        begins = start + len(name) + 3
        end = _end_of_value(raw, begins)
        if end is None:
            return None
        if name == _MANAGED:
            redacted.append(raw[at:end])
            rest.append(raw[at:end])
        else:
            value = raw[begins:end]
            clean = _redacted(name, value) if len(value) <= _LONGEST else None
            if clean is None:
                return None
            redacted += raw[at:begins], clean
            rest += raw[at:start], b'"":0'
        at = end
    return Apart(b"".join((*redacted, raw[at:])), b"".join((*rest, raw[at:])))


def _fields(raw: bytes, names: Iterable[bytes]) -> Iterator[tuple[int, bytes]]:
    """Yield where fields of these names begin. A quote that is escaped begins none."""
    for name in names:
        field = b'"%b":' % name
        at = raw.find(field)
        while at >= 0:
            if raw[at - 1 : at] != b"\\":
                yield at, name
            at = raw.find(field, at + 1)


def _end_of_value(raw: bytes, start: int) -> int | None:
    """Return where an object, a list, true, false or null ends that begins there; None for any other value."""
    opening = raw[start : start + 1]
    if opening not in _CLOSING:
        switch = _SWITCH.match(raw, start)
        return switch.end() if switch else None
    closing, end = _CLOSING[opening], start
    for _ in range(_MOST_BRACKETS):
        end = raw.find(closing, end) + 1
        if not end:
            return None
        value = raw[start:end]
        if value.count(opening) == value.count(closing):
            try:  # a bracket may be in a string; only the whole value can be decoded, and none of its beginnings
                _value.decode(value)
            except (ValueError, RecursionError):
                continue
            return end
    return None


@lru_cache(_CACHED)
def _redacted(quoted: bytes, raw: bytes) -> bytes | None:
    """Return the redacted value of a field; None if that depends on what holds the field.

    Raise OutOfTime if the time of the object is over, so that what was replaced for that is not remembered.
    """
    name = quoted.decode()
    if without_known_forms(name) != name:
        return None
    results = set[bytes]()
    try:
        for parent in _PARENTS:
            field = {name: orjson.loads(raw)}
            clean_fields(field, parent)
            results.add(orjson.dumps(field[name], option=_sorted))
    except (ValueError, RecursionError, orjson.JSONEncodeError):
        return None
    if is_over():
        raise OutOfTime
    return bytes(memoryview(results.pop())) if len(results) == 1 else None


policy.on_policy_change(_redacted.cache_clear)
