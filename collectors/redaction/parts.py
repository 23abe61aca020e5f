"""Redact an object in JSON when large parts of it are known from earlier objects, as they often are. It does no I/O.

From one change of an object to the next, its spec and most entries of its managedFields stay the same. These are cut
out without being parsed, and looked up with what redaction makes of them. Only the rest, and parts that are new, are
judged by their strings (`unchanged.py`), which says what redaction does to them wherever they stand. This pays off for
objects with environments, such as most Pods; where all strings are neutral, to judge the whole takes no longer.
"""

from typing import Any

import msgspec
import orjson

from collectors.redaction import policy
from collectors.redaction.unchanged import redact_by_strings

_SMALL = 512  # bytes of a field; a smaller one is not cut out
_STAY = {"metadata", "status"}  # fields that most changes change
_MEMORY = 6 << 20  # bytes of the parts that are remembered, with their results
_OVERHEAD = 350  # bytes that a part and its result take besides their length, about
_SORTED = orjson.OPT_SORT_KEYS
_fields = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode
_entries = msgspec.json.Decoder(list[msgspec.Raw]).decode
_encode = msgspec.json.Encoder().encode
_Part = tuple[str | None, bytes]  # a field of an object; with None for a name, an entry of its managedFields

_known: dict[_Part, orjson.Fragment | None] = {}  # part -> what redaction makes of it; None if that takes a walk
_taken = 0  # bytes


def forget() -> None:
    """Clear the memory, which was filled with other patterns."""
    global _taken
    _known.clear()
    _taken = 0


def redact_by_parts(raw: bytes) -> bytes | None:
    """Return an object in JSON with its credentials redacted and its keys sorted; None if that takes a walk through it.

    For bytes that are no JSON, return None. An object of the kind Secret that does not say so itself is for the
    caller to recognise.
    """
    try:
        if not raw.isascii():
            raw.decode()  # fields that are given twice are not decoded
        rest: dict[str, Any] = _fields(raw)
        large = [name for name, value in rest.items() if len(value) >= _SMALL and name not in _STAY]
        parts: list[_Part] = [(name, bytes(rest.pop(name))) for name in large]
        managed = None
        if b'"managedFields"' in raw and "metadata" in rest:
            rest["metadata"] = metadata = _fields(rest["metadata"])
            managed = metadata.pop("managedFields", None)
            if managed is not None:
                parts += [(None, bytes(entry)) for entry in _entries(managed)]
        whole, results = _redacted(_encode(rest) if parts else raw, parts)
        if whole is None:
            return None
        entries = []
        for (name, _), result in zip(parts, results, strict=True):
            if name is None:
                entries.append(result)
            else:
                whole[name] = result
        if managed is not None:
            whole["metadata"]["managedFields"] = entries
        return orjson.dumps(whole, option=_SORTED)
    except (ValueError, RecursionError, orjson.JSONEncodeError):
        return None


def _redacted(rest: bytes, parts: list[_Part]) -> tuple[dict[str, Any] | None, list[orjson.Fragment]]:
    """Return the rest of an object and its parts as redaction makes them; None if that takes a walk through it."""
    results: list[Any] = [_known.get(part, rest) for part in parts]
    if None in results:
        return None, []
    new = [(place, parts[place]) for place, result in enumerate(results) if result is rest]
    if not new:
        redacted = redact_by_strings(rest)
        return None if redacted is None else orjson.loads(redacted), results
    texts = [
        b'{"managedFields":[%b]}' % value if name is None else b"{%b:%b}" % (orjson.dumps(name), value)
        for _, (name, value) in new
    ]
    redacted = redact_by_strings(b'{"":[%b]}' % b",".join([rest, *texts]))
    if redacted is None:
        for (_, part), text in zip(new, texts, strict=True):
            if redact_by_strings(text) is None:
                _remember(part, None)
        return None, []
    whole, *values = orjson.loads(redacted)[""]
    for (place, part), fields in zip(new, values, strict=True):
        (value,) = fields.values()
        text = orjson.dumps([[[value]]], option=_SORTED)  # within as many lists as fail if the whole is too deep
        results[place] = fragment = orjson.Fragment(text[4:-4] if part[0] is None else text[3:-3])
        _remember(part, fragment)
    return whole, results


def _remember(part: _Part, result: orjson.Fragment | None) -> None:
    global _taken
    _taken += 2 * len(part[1]) + _OVERHEAD
    if _taken > _MEMORY:
        forget()
    _known[part] = result


policy.on_policy_change(forget)
