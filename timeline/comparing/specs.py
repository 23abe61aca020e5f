"""Read what was asked for in an object, as values by path, so that objects of two runs can be compared. It does no I/O.

What Kubernetes makes up for each object (UIDs, generated names, cluster IPs, the node) is left out, or replaced by a
word in braces: {name}, {owner}, {namespace}, {uid}. Of Secrets nothing is read, and of the data of ConfigMaps only a
hash.
"""

import hashlib
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any

import msgspec

from timeline.comparing.lives import OBSERVED, Spec
from timeline.core.entries import Facts, ObjectRef, Owner
from timeline.core.values import decoded
from timeline.history.lifelines import public_uid

_LONG = 200  # characters of a value that are kept
_READ = 2000  # characters of a value, and of a path, that are looked at
_FIELDS = 2000  # values of one object that are compared
_MORE = "values that were not compared"
_UNREAD = {"Secret", "Event", "Lease", *OBSERVED}  # these hold credentials, or what was observed
_DATA = {"data", "binaryData"}
_NO_SPEC = {"apiVersion", "kind", "metadata", "status"}
_MADE_UP = {  # fields that Kubernetes sets anew for each object
    "spec.nodeName", "spec.clusterIP", "spec.clusterIPs[0]", "spec.clusterIPs[1]", "spec.healthCheckNodePort",
    "spec.volumeName", "spec.finalizers[0]",
}  # fmt: skip
_PORT = re.compile(r"spec\.ports\[.*\]\.nodePort")
_LABELS = {"pod-template-hash", "controller-revision-hash", "pod-template-generation", "controller-uid"}
_LABELS |= {f"batch.kubernetes.io/{name}" for name in ("controller-uid", "job-tracking")}
_TOKEN = re.compile(r"kube-api-access-[a-z0-9]{5}")
_MOUNTED = "kube-api-access-*"
_UID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
_OWN_FACTS = {  # facts that say nothing of a spec
    "created", "deleting", "asked", "at_once", "generation", "finalizers", "other_owners", "labels", "state", "over",
}  # fmt: skip


def spec_of(ref: ObjectRef, owner: Owner | None, bodies: Iterable[bytes], created: Facts | None) -> Spec:
    """Return what was asked for in an object.

    `bodies` are its first and its last state as JSON, as far as they were kept. Without them, `created` counts: the
    facts at its creation, when they hold nothing yet but what was asked for; None if its creation was not observed.
    """
    if ref.kind in _UNREAD:
        return Spec(False, {})
    values: dict[str, set[str]] = defaultdict(set)
    words = _Words(ref, owner)
    whole = False
    for body in sorted({*bodies}):
        content = decoded(body)
        if isinstance(content, dict):
            whole = True
            asked = _asked(content)
            for path, value in islice(asked, _FIELDS):
                if path not in _MADE_UP and not _PORT.fullmatch(path):
                    values[_TOKEN.sub(_MOUNTED, path)].add(words.replaced(value))
            if more := sum(1 for _ in asked):
                values[_MORE].add(str(more))
    if not whole and created is not None:
        plain = msgspec.to_builtins(created, str_keys=True)
        fields = plain if isinstance(plain, dict) else {}
        for path, value in _flat({name: fields[name] for name in fields if name not in _OWN_FACTS}, ""):
            values[path].add(words.replaced(value))
    return Spec(whole, {path: frozenset(each) for path, each in values.items()})


class _Words:
    """Replace the names and UIDs of an object in values by words that are the same in all runs."""

    def __init__(self, ref: ObjectRef, owner: Owner | None) -> None:
        self._words = {ref.namespace: "{namespace}", owner.name if owner else "": "{owner}", ref.name: "{name}"}
        known = sorted(filter(None, self._words), key=len, reverse=True)
        self._known = re.compile(rf"(?<![a-zA-Z0-9])(?:{'|'.join(map(re.escape, known))})(?![a-zA-Z0-9])")
        self._uid = public_uid(ref)

    def replaced(self, value: str) -> str:
        text = _TOKEN.sub(_MOUNTED, _UID.sub("{uid}", value[:_READ]))
        text = self._known.sub(lambda found: self._words[found[0]], text)
        return text if len(text) <= _LONG else f"{text[: _LONG - 1]}…"


def _asked(content: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield (path, value) of everything that was asked for in an object."""
    metadata = content.get("metadata")
    if isinstance(metadata, dict):
        for part in ("labels", "annotations"):
            fields = metadata.get(part)
            if isinstance(fields, dict):
                yield from _flat({name: fields[name] for name in fields if name not in _LABELS}, f"metadata.{part}")
    for name, value in content.items():
        if name in _DATA and isinstance(value, dict):
            for key, each in value.items():
                yield f"{name}[{key}]", f"hash {hashlib.sha256(str(each).encode()).hexdigest()[:8]}"
        elif name not in _NO_SPEC:
            yield from _flat(value, name)


def _flat(value: Any, path: str) -> Iterator[tuple[str, str]]:
    """Yield (path, value) of each leaf. Items of lists are known by their name where they have one."""
    match value:
        case dict():
            for name, each in value.items():
                key = f"[{name}]" if "." in name or "/" in name else f".{name}" if path else name
                yield from _flat(each, f"{path}{key}"[:_READ])
        case list() | tuple():
            for number, each in enumerate(value):
                named = each.get("name") if isinstance(each, dict) else None
                yield from _flat(each, f"{path}[{named if isinstance(named, str) else number}]")
        case str():
            yield path, value
        case _:
            yield path, msgspec.json.encode(value).decode()
