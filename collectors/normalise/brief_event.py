"""Decode of an audit event only what a write outside of the part that is asked for still tells. It does no I/O."""

import msgspec

from collectors.normalise import is_present
from collectors.normalise.audit_event import ObjectReference, instant, latest
from timeline.core.bounds import FAULTS
from timeline.core.entries import WRITES, revision
from timeline.history.ledger.left_out import WIDEST, Born, LeftOut
from timeline.history.ledger.spaces import shared
from timeline.kinds import of_resource, seconds


class _Outcome(msgspec.Struct, gc=False):
    code: int | None = None


class _Metadata(msgspec.Struct, gc=False):
    uid: str = ""
    resourceVersion: str = ""
    creationTimestamp: str | None = None
    deletionTimestamp: str | None = None


class _Object(msgspec.Struct, gc=False):
    metadata: _Metadata | None = None


class _BriefEvent(msgspec.Struct, gc=False):
    stage: str = ""
    requestURI: str = ""
    verb: str = ""
    objectRef: ObjectReference | None = None
    responseStatus: _Outcome | None = None
    requestObject: msgspec.Raw = msgspec.Raw()
    responseObject: _Object | None = None
    requestReceivedTimestamp: str = ""
    stageTimestamp: str = ""


_object = msgspec.json.Decoder(_Object)
_event = msgspec.json.Decoder(_BriefEvent)
_POD = "", "Pod"
_UPDATES = ("create", "update", "patch")


def leaves_out(line: bytes, left_out: LeftOut) -> bool:
    """Return whether a line of an audit log is about something that the part leaves out, and needs not be decoded whole
    because `left_out` now has what it tells."""
    try:
        event = _event.decode(line)
        ref = event.objectRef
        if ref is None or not ref.namespace or left_out.part.reads_resource(ref.namespace, ref.resource):
            return False
        if not _tells(event, ref, left_out):
            return False
    except FAULTS:
        return False
    left_out.lines += 1
    return True


def _tells(event: _BriefEvent, ref: ObjectReference, left_out: LeftOut) -> bool:
    """Add what an event tells to `left_out`; return False if only the whole event shows what that is."""
    if event.verb not in WRITES or event.stage != "ResponseComplete" or "dryRun=" in event.requestURI:
        return True
    code = event.responseStatus.code if event.responseStatus else None
    if code is None or not 200 <= code < 300:
        return True
    if event.verb not in _UPDATES or not event.requestReceivedTimestamp or not event.stageTimestamp:
        return False
    received, staged = instant(event.requestReceivedTimestamp), latest(event.stageTimestamp)
    if (ref.resource, ref.subresource, ref.apiGroup) == ("pods", "binding", "") and ref.name:
        left_out.bare.setdefault(_POD, set()).add((received, max(received, staged)))
        bound = _object.decode(event.requestObject).metadata if is_present(event.requestObject) else None
        if bound and bound.uid:
            left_out.meet(bound.uid, Born(_POD, 0, received))
        return True
    metadata = event.responseObject.metadata if event.responseObject else None
    if metadata is None or metadata.deletionTimestamp or ref.subresource not in ("", "status"):
        return False
    own = revision(metadata.resourceVersion)
    if own is None or not 0 < own < WIDEST or (event.verb == "update" and not ref.resourceVersion):
        return False
    known = of_resource(ref.apiGroup, ref.resource)
    if known is None:
        return False  # its object names the kind, also for lines of the part that do not
    kind = known.group, known.kind
    if not shared(*kind):
        left_out.write(left_out.others, own, received, max(received, staged))
        return True
    created = seconds(metadata.creationTimestamp or "")
    replaced = 0
    if event.verb == "update" and is_present(event.requestObject):
        named = revision(ref.resourceVersion) or 0
        replaced = named if named != own and named < WIDEST else 0
    left_out.write(left_out.shared, own, received, max(received, staged))
    left_out.note(kind, replaced)
    if event.verb == "create" or code == 201:
        left_out.made.add(metadata.uid)
    elif metadata.uid:
        left_out.meet(metadata.uid, Born(kind, created, received))
    return True
