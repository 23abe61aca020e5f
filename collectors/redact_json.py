"""Pure: an object in JSON without what must never be stored, as `redact` has it, and quickly.

Of the changes of an object most repeat what the one before had. So an object is taken apart, and what rarely changes is
looked at once and remembered.
"""

from functools import lru_cache
from typing import Any

import msgspec
import orjson

from collectors.redact import clean_fields, redact_here

_SHORT = 1024  # bytes of an object that is not worth being taken apart
_LONGEST = 16_384  # bytes of what is remembered, and how many
_MANY = 1024
_CHANGING = {"": ("metadata", "status"), "metadata": ("generation", "managedFields", "resourceVersion")}
_SORTED = orjson.OPT_SORT_KEYS
_fields = msgspec.json.Decoder(dict[str, msgspec.Raw])


def redact_json(raw: bytes, kind: str = "") -> bytes:
    """The object without Secret data, environment values, the last-applied annotation and credentials in free text.
    Keys come back sorted, so that equal objects are equal bytes.

    Raises ValueError, and RecursionError where it is nested too deep to be written.
    """
    try:
        if kind != "Secret" and len(raw) > _SHORT and (fields := _apart(raw, "")) is not None:
            return orjson.dumps(fields, option=_SORTED)
        return orjson.dumps(redact_here(orjson.loads(raw), kind), option=_SORTED)
    except orjson.JSONEncodeError as error:
        if "Recursion" in str(error):
            raise RecursionError(str(error)) from None
        raise ValueError(f"the object cannot be kept: {error}") from None


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
    """`redact` looks into none of the entries: they name fields."""
    told = orjson.loads(raw)
    entries = isinstance(told, list) and all(isinstance(each, dict) for each in told)
    return told if entries else _clean("managedFields", told)


def _clean(name: str, value: Any) -> Any:
    """The value of a field."""
    body = {name: value}
    clean_fields(body, "")
    return body[name]
