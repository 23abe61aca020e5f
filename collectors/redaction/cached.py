"""Redact an object in JSON as `objects.redact` does, but quickly. It does no I/O.

Objects in which nothing is to be redacted are recognised first (`unchanged.py`). Most changes of another object repeat
what the previous one had, so it is split into parts, and the results for parts that rarely change are cached.
"""

from collections.abc import Callable
from typing import Any, Generic, TypeVar

import msgspec
import orjson

from collectors.redaction import policy
from collectors.redaction.budget import Budget, OutOfTime, is_over
from collectors.redaction.objects import clean_fields, clean_managed, redact_in_place
from collectors.redaction.roles import CONTEXTS, is_flag, naming
from collectors.redaction.unchanged import is_unchanged

_SMALL_BYTES = 1024  # bytes; a smaller object is redacted whole
_LARGE_BYTES = 16_384  # bytes; a larger object is always split
_CACHED_BYTES = 262_144  # bytes of a part that is cached at most
_MEMORY = 4 << 20  # bytes of the parts in each cache; their results take as much
_OVERHEAD = 400  # bytes that a part and its result take besides their length, about
_VOLATILE = {"": ("metadata", "status"), "metadata": ("generation", "managedFields", "resourceVersion")}
_SORTED = orjson.OPT_SORT_KEYS
T = TypeVar("T")
_fields = msgspec.json.Decoder(dict[str, msgspec.Raw])
_entries = msgspec.json.Decoder(list[msgspec.Raw])


def redact_json(raw: bytes, kind: str = "") -> bytes:
    """Return the object without the data of Secrets, environment values, copies of whole objects, and credentials.

    The keys are sorted, so that equal objects are equal bytes. Return b"" if the policy is to keep no objects. Raise
    ValueError if it is not JSON, and RecursionError if it is nested too deeply to be written.
    """
    if policy.current().strict:
        return b""
    with Budget(len(raw)):
        try:
            if kind != "Secret":
                if len(raw) <= _LARGE_BYTES and _is_unchanged(raw):
                    return orjson.dumps(orjson.loads(raw), option=_SORTED)
                if len(raw) > _SMALL_BYTES and (fields := _redact_parts(raw, "")) is not None:
                    return orjson.dumps(fields, option=_SORTED)
            return orjson.dumps(redact_in_place(orjson.loads(raw), kind), option=_SORTED)
        except orjson.JSONEncodeError as error:
            if "Recursion" in str(error):
                raise RecursionError(str(error)) from None
            raise ValueError(f"the object cannot be kept: {error}") from None


def _is_unchanged(raw: bytes) -> bool:
    try:
        return is_unchanged(raw)
    except OutOfTime:
        return False


def forget() -> None:
    """Clear the caches. This is needed when the patterns of redaction change, because the results depend on them."""
    for results in (_stable, _managers, _status_fields):
        results.clear()


def _redact_parts(raw: bytes, under: str) -> dict[str, Any] | None:
    """Return the redacted fields of an object, or of its metadata; None if it must be redacted as a whole."""
    try:
        fields = _fields.decode(raw)
    except (ValueError, RecursionError):
        return None  # it is not a JSON object; reading it as a whole reports that
    volatile = {name: bytes(fields.pop(name)) for name in _VOLATILE[under] if name in fields}
    stable = msgspec.json.encode(fields)
    redacted = _stable.of(stable, under)
    if redacted is None:
        return None
    result: dict[str, Any] = dict(redacted)
    for name, value in volatile.items():
        if name == "metadata":
            if (inner := _redact_parts(value, name)) is None:
                return None
            result[name] = inner
        elif name == "managedFields":
            result[name] = _redact_managed_fields(value)
        elif name == "status":
            result[name] = _redact_status(value)
        else:
            result[name] = (
                orjson.Fragment(value) if value.strip(b'"').isdigit() else _redact_field(name, orjson.loads(value))
            )
    return result


def _redact_stable(raw: bytes, under: str) -> dict[str, Any] | None:
    """Redact the fields that rarely change; return None for a Secret."""
    fields: dict[str, Any] = orjson.loads(raw)
    if str(fields.get("kind")).startswith("Secret"):
        return None
    clean_fields(fields, under)
    return {name: _fragment(value) if isinstance(value, dict | list) else value for name, value in fields.items()}


def _fragment(value: Any) -> orjson.Fragment:
    """Return the value as JSON in bytes of its own.

    The bytes from orjson are part of a larger buffer, which would stay in memory with them.
    """
    return orjson.Fragment(bytes(memoryview(orjson.dumps(value, option=_SORTED))))


def _redact_managed_fields(raw: bytes) -> Any:
    """Redact managedFields. A write changes the entry of its own manager only, so each entry is cached."""
    try:
        entries = _entries.decode(raw)
    except (ValueError, RecursionError):
        return _redact_field("managedFields", orjson.loads(raw))
    return [_managers.of(bytes(entry)) for entry in entries]


def _redact_status(raw: bytes) -> Any:
    """Redact a status. Most writes repeat most of its fields, so each field is cached."""
    try:
        parts = _fields.decode(raw)
    except (ValueError, RecursionError):
        return _redact_field("status", orjson.loads(raw))
    together = any(naming(name) is not None or is_flag(name) or name in CONTEXTS for name in parts)
    if together or "kind" in parts:  # these fields are judged together
        return _redact_field("status", orjson.loads(raw))
    return dict(_status_fields.of(bytes(part), name) for name, part in parts.items())


def _redact_manager(raw: bytes, _: str) -> orjson.Fragment:
    entries = [orjson.loads(raw)]
    clean_managed(entries)
    return _fragment(entries[0])


def _redact_status_field(raw: bytes, name: str) -> tuple[str, orjson.Fragment]:
    """Return a field of the status with its name, which redaction may change as well."""
    body = {name: orjson.loads(raw)}
    clean_fields(body, "status")
    redacted, value = body.popitem()
    return redacted, _fragment(value)


def _redact_field(name: str, value: Any) -> Any:
    body = {name: value}
    clean_fields(body, "")
    return body[name]


class _Results(Generic[T]):
    """Remember what was made of parts in JSON, and forget everything when that takes too much memory."""

    def __init__(self, redact: Callable[[bytes, str], T]) -> None:
        """`redact` is called with a part and with the field that holds it."""
        self._redact = redact
        self.clear()

    def clear(self) -> None:
        self._known: dict[tuple[bytes, str], T] = {}
        self._taken = 0  # bytes

    def of(self, raw: bytes, under: str = "") -> T:
        """Return the redacted part."""
        if len(raw) > _CACHED_BYTES:
            return self._redact(raw, under)
        if self._taken > _MEMORY:
            self.clear()
        known = self._known  # another thread may clear it meanwhile
        if (raw, under) not in known:
            redacted = self._redact(raw, under)
            if is_over():
                return redacted  # in another object, more of it may be kept
            self._taken += len(raw) + len(under) + _OVERHEAD
            known[raw, under] = redacted
        return known[raw, under]


_stable = _Results(_redact_stable)
_managers = _Results(_redact_manager)
_status_fields = _Results(_redact_status_field)
policy.on_policy_change(forget)
