"""Turn a whole object, from a list, a watch or a file, into an entry. It does no I/O."""

import re
from typing import NamedTuple

import msgspec

from collectors.normalise import decoder, is_present, outcome, owner
from collectors.normalise.deletion import has_namespace_finalizers
from timeline.core.bounds import check_names
from timeline.core.entries import (
    FOREVER,
    Change,
    Clock,
    Entry,
    Facts,
    ObjectRef,
    Place,
    revision,
)
from timeline.core.intent import has_intent
from timeline.core.values import check_object
from timeline.kinds import Metadata, kind_of, seconds


class Signature(NamedTuple):
    """What the managedFields of an object say about its latest write."""

    written: int  # in whole seconds, as µs since 1970
    writers: tuple[tuple[str, str, int, int], ...]  # of that second: manager, subresource, and size and hash of fields


class ObservedObject(NamedTuple):
    """An object as it was observed, with what it says about its own past."""

    entry: Entry
    managers: bytes  # its managedFields as JSON; b"" if it has none
    signature: Signature | None  # None if it has no managedFields
    pristine: bool  # whether nothing in it shows a change after its creation
    ended: bool  # whether nothing holds it although its deletion was requested, so that this state is its last


class _Manager(msgspec.Struct, gc=False):
    manager: str = ""
    time: str | None = None
    subresource: str = ""
    fieldsV1: msgspec.Raw = msgspec.field(default_factory=msgspec.Raw)


class _Managed(msgspec.Struct, gc=False):
    managedFields: msgspec.Raw = msgspec.field(default_factory=msgspec.Raw)


class _Head(msgspec.Struct, gc=False):
    """The fields that every object has, before its kind is known."""

    apiVersion: str | None = None
    kind: str | None = None
    metadata: _Managed = msgspec.field(default_factory=_Managed)


class _Series(msgspec.Struct, gc=False):
    lastObservedTime: str | None = None


class _EventTimes(msgspec.Struct, gc=False):
    """The timestamps of an Event of core/v1 or of events.k8s.io/v1."""

    series: _Series | None = None
    lastTimestamp: str | None = None
    deprecatedLastTimestamp: str | None = None
    eventTime: str | None = None
    firstTimestamp: str | None = None
    deprecatedFirstTimestamp: str | None = None


class _Failure(msgspec.Struct, gc=False):
    code: int | None = None
    reason: str | None = None


_head = msgspec.json.Decoder(_Head)
_managers = msgspec.json.Decoder(tuple[_Manager, ...])
_event_times = msgspec.json.Decoder(_EventTimes)
_failure = msgspec.json.Decoder(_Failure)
_REASON = re.compile("[A-Za-z]{1,40}")
_NO_OBJECTS = {
    ("meta.k8s.io", "Table"): "it is a Table, cells instead of objects; record with -o json or -o yaml",
    ("meta.k8s.io", "PartialObjectMetadata"): "it is metadata alone, without its kind; record the objects",
    ("", "Config"): "it is a kubeconfig, which holds credentials; it was not kept",
}


def observed_object(
    raw: bytes, change: Change, place: Place | None, *, bodies: bool, api_version: str = "", kind: str = ""
) -> ObservedObject:
    """Return one object in JSON as an entry.

    Its body is the object as it is: with `bodies`, or if rules compare what somebody wants of it. `api_version` and
    `kind` are used if the object has none: the items of typed lists have those of the list. Raise ValueError
    (msgspec.ValidationError is one) with a reason if the object cannot be used.
    """
    check_object(raw)
    head = _head.decode(raw)
    api_version, kind = head.apiVersion or api_version, head.kind or kind
    if not api_version or not kind:
        raise ValueError("it is no Kubernetes object: it has no apiVersion or no kind")
    group, _, version = api_version.rpartition("/")
    if kind == "Status" and not group:
        raise ValueError(f"it is not an object but an error of the API server: {failure(raw)}")
    if reason := _NO_OBJECTS.get((group, kind)):
        raise ValueError(reason)
    known = kind_of(group, kind)
    shape = decoder(known).decode(raw)
    metadata: Metadata = shape.metadata
    facts = known.facts(shape)
    managed_fields = bytes(head.metadata.managedFields) if is_present(head.metadata.managedFields) else b""
    managers = _managers.decode(managed_fields) if managed_fields else ()
    written = max((seconds(each.time) for each in managers if each.time), default=0)
    signature = _signature(managers, written) if managers else None
    return ObservedObject(
        Entry(
            ref=_reference(group, version, kind, metadata),
            change=change,
            resource_version=revision(metadata.resourceVersion),
            clock=Clock.OBJECT,
            received=_received(raw, kind, written, facts),
            staged=FOREVER,
            facts=facts,
            owner=owner(metadata),
            user_agent=signed_by(signature) if change is not Change.DELETED else "",
            place=place,
            body=_body(raw, head, api_version, kind)
            if bodies or _has_intent(group, kind, change, managers, written)
            else b"",
        ),
        managers=managed_fields if managers else b"",
        signature=signature,
        # An update leaves its manager or its time; only a binding, and what the creator adds within the second, do not.
        ended=outcome(Change.MODIFIED, metadata, kind == "Namespace" and has_namespace_finalizers(raw))[0]
        is Change.DELETED,
        pristine=not facts.deleting and facts.generation <= 1 and len(managers) <= 1 and written <= facts.created,
    )


def failure(raw: bytes) -> str:
    """Return the reason and code of a Status, without its message, which may quote anything.

    Raise ValueError if it cannot be decoded.
    """
    status = _failure.decode(raw)
    reason = status.reason or ""
    return f"{reason if _REASON.fullmatch(reason) else 'no reason'}, code {status.code or 0}"


def _reference(group: str, version: str, kind: str, metadata: Metadata) -> ObjectRef:
    names = group, version, kind, metadata.namespace or "", metadata.name or "", metadata.uid or ""
    check_names(*names)
    if not metadata.name:
        raise ValueError("the object has no name")
    return ObjectRef(*names)


def _received(raw: bytes, kind: str, written: int, facts: Facts) -> int:
    """Return the latest time in an object that is certainly before the change, in µs since 1970.

    Raise ValueError if the object has no time at all.
    """
    latest_time = max(written, facts.created, facts.asked)
    if kind == "Event":
        times = _event_times.decode(raw)
        last = times.lastTimestamp or times.deprecatedLastTimestamp or times.eventTime
        happened = (times.series and times.series.lastObservedTime) or last
        if happened := happened or times.firstTimestamp or times.deprecatedFirstTimestamp:
            latest_time = seconds(happened)
    if not latest_time:
        raise ValueError("it has no creationTimestamp, so it was never in a cluster, or was stripped")
    return latest_time


def _signature(managers: tuple[_Manager, ...], written: int) -> Signature:
    latest = (each for each in managers if each.time and seconds(each.time) == written)
    fields = ((each, bytes(each.fieldsV1)) for each in latest)
    return Signature(written, tuple((each.manager, each.subresource, len(own), hash(own)) for each, own in fields))


def signed_by(now: Signature | None, before: Signature | None = None) -> str:
    """Return the field manager of the latest write, which comes from the writer's user agent; "" if two may be it, or
    if the write did not record it. `before` is the signature of the object before this write, if it is known.

    A binding leaves the managedFields as they are. Who removes a field, such as a finalizer, leaves only that it is
    missing from the entry of its last writer; an entry that became shorter therefore does not name who wrote.
    """
    if now is None:
        return ""
    new = now.writers
    if before and before.written >= now.written:
        known = {(manager, part): (size, fields) for manager, part, size, fields in before.writers}
        new = tuple(
            each
            for each in new
            if before.written == now.written and each[2:] != (own := known.get(each[:2], (0, 0))) and each[2] >= own[0]
        )
    found = {manager for manager, *_ in new}
    return new[0][0] if len(found) == 1 else ""


def _has_intent(group: str, kind: str, change: Change, managers: tuple[_Manager, ...], written: int) -> bool:
    """Return whether rules compare what is wanted of an object. They do not if it was deleted, or modified by writes of
    a subresource alone, such as its status."""
    if change is Change.DELETED or not has_intent(group, kind):
        return False
    latest = (each for each in managers if each.time and seconds(each.time) == written)
    return change is not Change.MODIFIED or any(each.subresource in ("", "scale") for each in latest)


def _body(raw: bytes, head: _Head, api_version: str, kind: str) -> bytes:
    """Return the object with its apiVersion and kind, which the items of a typed list lack."""
    if not head.apiVersion or not head.kind:
        names = b'{"apiVersion":%s,"kind":%s,' % (msgspec.json.encode(api_version), msgspec.json.encode(kind))
        raw = names + raw.lstrip()[1:]
    return raw
