"""Read recordings of kwok: `kwokctl snapshot export --record`, and `kwokctl snapshot export` without.

They are YAML documents: the objects at the start, and then a ResourcePatch for each change that a watch delivered. kwok
removes the resourceVersions, and writes each time as its distance from the start of the recording, but not when that
was. So the recording is shown as if it had begun at a fixed time.
"""

import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

import msgspec
from msgspec.structs import replace

from collectors.formats import Format, yaml_documents
from collectors.formats.documents import Piece
from collectors.formats.strategic_merge import merged
from collectors.formats.stream import Recording, Skipped
from collectors.gate import reason_of
from collectors.normalise.objects import ObservedObject, Signature, observed_object, signed_by
from timeline.core.bounds import FAULTS
from timeline.core.entries import Change, Entry, Observation, Place, microseconds
from timeline.core.values import decoder
from timeline.kinds import resource_of

_BEGIN = datetime(2000, 1, 1, tzinfo=UTC)
_NOTICE = (
    "is a recording of kwok, which does not say when it was made; it is shown as if it had begun at"
    f" {_BEGIN:%Y-%m-%dT%H:%M:%SZ}"
)
_OFFSET = re.compile(rb"\$\(time-offset-nanosecond (-?\d{1,18})\)")
_SIGNS = re.compile(rb"\$\(time-offset-nanosecond -?\d|^apiVersion: action\.kwok\.x-k8s\.io/", re.MULTILINE)
_KIND, _GROUP = "ResourcePatch", "action.kwok.x-k8s.io/"
_METHODS = {"create": Change.CREATED, "patch": Change.MODIFIED, "delete": Change.DELETED}
_LONGEST = 10**18  # nanoseconds: 31 years
_OBJECT_BYTES = 3 * 1024**2  # of an object at most, as an API server takes it
_KEPT_BYTES = 1024**3  # of objects that are held in memory, to which patches are applied


class _Resource(msgspec.Struct, gc=False):
    resource: str
    version: str = ""
    group: str = ""


class _Target(msgspec.Struct, gc=False):
    name: str
    namespace: str = ""


class _Patch(msgspec.Struct, gc=False):
    """A ResourcePatch of `action.kwok.x-k8s.io/v1alpha1`."""

    resource: _Resource
    target: _Target
    durationNanosecond: int
    method: str
    template: dict[str, Any] | None = None


class _Metadata(msgspec.Struct, gc=False):
    name: str = ""
    namespace: str = ""


class _Head(msgspec.Struct, gc=False):
    apiVersion: str = ""
    kind: str = ""
    metadata: _Metadata = msgspec.field(default_factory=_Metadata)


class _Known(NamedTuple):
    """An object as the recording left it last."""

    data: bytes
    received: int  # of its last entry
    signature: Signature | None


_patch = decoder(_Patch)
_head = msgspec.json.Decoder(_Head)
_object = decoder(dict[str, Any])
_Key = tuple[str, str, str, str]  # group, resource, namespace, name


def sniff(head: bytes) -> bool:
    """Return whether a head has objects or changes as kwok records them."""
    return yaml_documents.is_yaml(head) and _SIGNS.search(head) is not None


def read(recording: Recording, bodies: bool) -> Iterator[Observation | Skipped]:
    """Yield the entries of the objects and changes, and what was skipped."""
    yield Skipped(recording.name, 0, _NOTICE)
    objects = _Objects(recording.name, bodies, recording.limits.content_bytes)
    for piece in yaml_documents.pieces(recording):
        if isinstance(piece, Skipped):
            yield piece
            continue
        try:
            yield objects.entry(piece)
        except FAULTS as error:
            yield Skipped(recording.name, piece.line, reason_of(error))


class _Objects:
    """Keep the objects of one recording, since a change names only what it changed."""

    def __init__(self, file: str, bodies: bool, most: int) -> None:
        self._file = file
        self._bodies = bodies
        self._known: dict[_Key, _Known] = {}
        self._bytes = 0
        self._left = most  # bytes of objects that may still be made

    def entry(self, piece: Piece) -> Entry:
        """Return the entry of a document. Raise ValueError with a reason if it cannot be used."""
        data = self._checked(_OFFSET.sub(_time, piece.data))
        head = _head.decode(data)
        place = Place(self._file, piece.line)
        if head.kind != _KIND or not head.apiVersion.startswith(_GROUP):
            observed = observed_object(data, Change.OBSERVED, place, bodies=self._bodies)
            group = observed.entry.ref.group
            key = group, resource_of(head.kind), head.metadata.namespace, head.metadata.name
            return self._keep(key, data, observed, 0)
        patch = _patch.decode(data)
        change = _METHODS.get(patch.method)
        if change is None:
            raise ValueError(f"its method is none of {', '.join(_METHODS)}")
        if not 0 <= patch.durationNanosecond < _LONGEST:
            raise ValueError("it does not say when the change arrived")
        key = patch.resource.group, patch.resource.resource, patch.target.namespace, patch.target.name
        arrived = microseconds(_BEGIN) + patch.durationNanosecond // 1000
        if change is Change.CREATED:
            data = self._checked(msgspec.json.encode(patch.template))
        else:
            if key not in self._known:
                raise ValueError("the recording does not show the object before this change")
            data = self._known[key].data
            if patch.template:
                data = self._checked(msgspec.json.encode(merged(_object.decode(data), patch.template)))
        observed = observed_object(data, change, place, bodies=self._bodies)
        return self._keep(key, data, observed, arrived)

    def _checked(self, data: bytes) -> bytes:
        """Return an object or a change; small changes of a large object could make far more than was read."""
        if len(data) > _OBJECT_BYTES:
            raise ValueError(f"it has more than {_OBJECT_BYTES} bytes, which no API server takes")
        self._left -= len(data)
        if self._left < 0:
            raise ValueError("the objects are larger than CAUSELINE_CONTENT_LIMIT_BYTES allows")
        return data

    def _keep(self, key: _Key, data: bytes, observed: ObservedObject, arrived: int) -> Entry:
        """Keep an object, and return its entry; each change of an object was committed after the one before."""
        entry, before = observed.entry, self._known.pop(key, None)
        if before:
            self._bytes -= len(before.data)
            entry = replace(entry, received=max(entry.received, before.received + 1))
            if entry.change is Change.MODIFIED:
                entry = replace(entry, user_agent=signed_by(observed.signature, before.signature))
        if entry.change is not Change.DELETED:
            self._bytes += len(data)
            if self._bytes > _KEPT_BYTES:
                raise ValueError(f"the objects of the recording take more than {_KEPT_BYTES} bytes")
            self._known[key] = _Known(data, entry.received, observed.signature)
        return replace(entry, arrived=max(arrived, entry.received) if arrived else 0)


def _time(found: re.Match[bytes]) -> bytes:
    """Return the time that an offset from the start stands for."""
    return f"{_BEGIN + timedelta(microseconds=int(found[1]) // 1000):%Y-%m-%dT%H:%M:%S.%fZ}".encode()


FORMAT = Format("recording of kwok", sniff, read)
