"""Pure: an object in JSON without what must never be stored, as `objects.redact` has it, and quickly.

Of the changes of an object most repeat what the one before had. So an object is taken apart, and what rarely changes is
looked at once and remembered.
"""

from functools import lru_cache
from typing import Any

import msgspec
import orjson

from collectors.redaction import policy
from collectors.redaction.objects import NAMING, clean_fields, clean_managed, redact_here

_SHORT = 1024  # bytes of an object that is not worth being taken apart
_LONGEST = 16_384  # bytes of what is remembered, and how many
_MANY = 1024
_CHANGING = {"": ("metadata", "status"), "metadata": ("generation", "managedFields", "resourceVersion")}
_SORTED = orjson.OPT_SORT_KEYS
_fields = msgspec.json.Decoder(dict[str, msgspec.Raw])
_entries = msgspec.json.Decoder(list[msgspec.Raw])


def redact_json(raw: bytes, kind: str = "") -> bytes:
    """The object without the data of Secrets, environment values, copies of whole objects, and credentials; b"" where
    the policy is to keep no objects. Keys come back sorted, so that equal objects are equal bytes.

    Raises ValueError, and RecursionError where it is nested too deep to be written.
    """
    if policy.current().strict:
        return b""
    try:
        if kind != "Secret" and len(raw) > _SHORT and (fields := _apart(raw, "")) is not None:
            return orjson.dumps(fields, option=_SORTED)
        return orjson.dumps(redact_here(orjson.loads(raw), kind), option=_SORTED)
    except orjson.JSONEncodeError as error:
        if "Recursion" in str(error):
            raise RecursionError(str(error)) from None
        raise ValueError(f"the object cannot be kept: {error}") from None


def forget() -> None:
    """What was remembered was redacted by other patterns."""
    _remembered.cache_clear()
    _remembered_entry.cache_clear()
    _remembered_field.cache_clear()


def _apart(raw: bytes, under: str) -> dict[str, Any] | None:
    """The fields of an object, its own or those of its metadata; None where it can only be seen as a whole."""
    try:
        fields = _fields.decode(raw)
    except (ValueError, RecursionError):
        return None  # it is no object, or no JSON: that is told where it is read as a whole
    changing = {name: bytes(fields.pop(name)) for name in _CHANGING[under] if name in fields}
    lasting = msgspec.json.encode(fields)
    told = (_remembered if len(lasting) <= _LONGEST else _lasting)(lasting, under)
    if told is None:
        return None
    whole: dict[str, Any] = dict(told)
    for name, value in changing.items():
        if name == "metadata":
            if (inner := _apart(value, name)) is None:
                return None
            whole[name] = inner
        elif name == "managedFields":
            whole[name] = _managed(value)
        elif name == "status":
            whole[name] = _status(value)
        else:
            whole[name] = orjson.Fragment(value) if value.strip(b'"').isdigit() else _clean(name, orjson.loads(value))
    return whole


def _lasting(raw: bytes, under: str) -> dict[str, Any] | None:
    """None for a Secret."""
    fields: dict[str, Any] = orjson.loads(raw)
    if str(fields.get("kind")).startswith("Secret"):
        return None
    clean_fields(fields, under)
    return {name: _packed(value) if isinstance(value, dict | list) else value for name, value in fields.items()}


def _packed(value: Any) -> orjson.Fragment:
    """Copied: what orjson gives lies at the beginning of a larger piece of memory, which would be kept with it."""
    return orjson.Fragment(bytes(memoryview(orjson.dumps(value, option=_SORTED))))


_remembered = lru_cache(_MANY)(_lasting)


def _managed(raw: bytes) -> Any:
    """A write changes the entry of its own manager, and leaves those of the others."""
    try:
        entries = _entries.decode(raw)
    except (ValueError, RecursionError):
        return _clean("managedFields", orjson.loads(raw))
    return [(_remembered_entry if len(entry) <= _LONGEST else _entry)(bytes(entry)) for entry in entries]


def _status(raw: bytes) -> Any:
    """Of its fields most repeat what the write before had."""
    try:
        parts = _fields.decode(raw)
    except (ValueError, RecursionError):
        return _clean("status", orjson.loads(raw))
    if not NAMING.isdisjoint(parts) or "kind" in parts:  # they are looked at together
        return _clean("status", orjson.loads(raw))
    return dict(
        (_remembered_field if len(part) <= _LONGEST else _field)(name, bytes(part)) for name, part in parts.items()
    )


def _entry(raw: bytes) -> orjson.Fragment:
    entries = [orjson.loads(raw)]
    clean_managed(entries)
    return _packed(entries[0])


def _field(name: str, raw: bytes) -> tuple[str, orjson.Fragment]:
    """A field of the status, and its name, which may be changed as well."""
    body = {name: orjson.loads(raw)}
    clean_fields(body, "status")
    told, value = body.popitem()
    return told, _packed(value)


_remembered_entry = lru_cache(_MANY)(_entry)
_remembered_field = lru_cache(_MANY)(_field)


def _clean(name: str, value: Any) -> Any:
    """The value of a field."""
    body = {name: value}
    clean_fields(body, "")
    return body[name]


policy.before_others(forget)
