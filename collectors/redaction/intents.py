"""Read from an object in JSON what somebody wants of it, as `intent_of` does from its redacted form. It does no I/O.

Most writes of an object repeat all of that and change only what is not read: its revision, managedFields, the times of
its conditions. So only the parts that are read are redacted, and what they say is remembered.
"""

from hashlib import blake2b

import msgspec

from collectors.redaction.cached import redact_json
from collectors.redaction.policy import on_policy_change, patterns
from timeline.core.entries import Intent
from timeline.core.intent import LONGEST_INTENT, condition, intent_of

_REMEMBERED = 1000  # objects whose answers are remembered


class _Metadata(msgspec.Struct, gc=False, omit_defaults=True):
    """The metadata that `intent_of` reads."""

    finalizers: msgspec.Raw = msgspec.Raw()
    ownerReferences: msgspec.Raw = msgspec.Raw()
    labels: msgspec.Raw = msgspec.Raw()
    annotations: msgspec.Raw = msgspec.Raw()


class _Condition(msgspec.Struct, gc=False):
    type: str = ""
    status: str = ""


class _Status(msgspec.Struct, gc=False):
    conditions: tuple[_Condition, ...] = ()


_fields = msgspec.json.Decoder(dict[str, msgspec.Raw])
_metadata = msgspec.json.Decoder(_Metadata)
_status = msgspec.json.Decoder(_Status)
_encode = msgspec.json.Encoder().encode
_known: dict[tuple[str, str, bytes], Intent | None] = {}  # what objects without conditions say, by kind and hash


def wanted_of(group: str, kind: str, raw: bytes) -> Intent | None:
    """Return what somebody wants of an object that is not redacted, as `intent_of` returns it for the redacted one."""
    wanted = _wanted_of_parts(group, kind, raw)
    return intent_of(group, kind, redact_json(raw, kind)) if wanted is None else wanted


def _wanted_of_parts(group: str, kind: str, raw: bytes) -> Intent | None:
    """Return the same, read from parts of the object; None if it has to be read as a whole.

    What is redacted in a field depends on its name and on all fields of a Secret. Escapes may hide that word.
    """
    if patterns() or kind == "Secret" or b'"Secret' in raw or b"\\u" in raw:
        return None
    try:
        fields = _fields.decode(raw)
        status = _status.decode(fields.pop("status", b"{}"))
        parts = _encode(fields | {"metadata": _metadata.decode(fields.get("metadata", b"{}"))})
    except (ValueError, RecursionError):
        return None
    key = group, kind, blake2b(parts, digest_size=16).digest()
    if key not in _known:
        if len(_known) >= _REMEMBERED:  # other threads add to it, too
            _known.clear()
        _known[key] = intent_of(group, kind, redact_json(parts, kind))
    wanted = _known.get(key)
    conditions = dict(filter(None, (condition(each.type, each.status) for each in status.conditions)))
    if wanted is None or len(wanted) + len(conditions) > LONGEST_INTENT:
        return None
    return tuple(sorted((*wanted, *conditions.items()))) if conditions else wanted


on_policy_change(_known.clear)
