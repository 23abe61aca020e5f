"""This pure module decodes an audit event (`audit.k8s.io/v1` Event) and parses its timestamps."""

import re

import msgspec

from collectors.normalise import is_present
from timeline.kinds import Metadata, seconds


class _User(msgspec.Struct, gc=False):
    username: str = ""


class ObjectReference(msgspec.Struct, gc=False):
    resource: str = ""
    apiGroup: str = ""
    apiVersion: str = ""
    namespace: str = ""
    name: str = ""
    uid: str = ""
    subresource: str = ""


class _Code(msgspec.Struct, gc=False):
    code: int | None = None


class AuditEvent(msgspec.Struct, gc=False):
    """The part of `audit.k8s.io/v1` Event that matters; bodies stay raw until a fact needs them."""

    level: str = ""
    auditID: str = ""
    stage: str = ""
    verb: str = ""
    requestURI: str = ""
    user: _User = msgspec.field(default_factory=_User)
    userAgent: str = ""
    objectRef: ObjectReference | None = None
    responseStatus: _Code | None = None
    requestObject: msgspec.Raw = msgspec.field(default_factory=msgspec.Raw)
    responseObject: msgspec.Raw = msgspec.field(default_factory=msgspec.Raw)
    requestReceivedTimestamp: str = ""
    stageTimestamp: str = ""
    timestamp: msgspec.Raw = msgspec.field(default_factory=msgspec.Raw)  # v1alpha1 and v1beta1, whole seconds
    metadata: msgspec.Raw = msgspec.field(default_factory=msgspec.Raw)  # of the same


_text = msgspec.json.Decoder(str)
_stamp = msgspec.json.Decoder(Metadata)
_seconds: dict[str, int] = {}
_fraction = re.compile(r"\.(\d{1,6})")


def date(event: AuditEvent) -> None:
    """Give an event of Kubernetes before 1.9 its two times, in whole seconds: of the request, and of the stage, which
    is the event's own creation. Raises ValueError where they are not told."""
    if not event.requestReceivedTimestamp and is_present(event.timestamp):
        event.requestReceivedTimestamp = _text.decode(event.timestamp)
    if (
        not event.stageTimestamp
        and is_present(event.metadata)
        and (stage := _stamp.decode(event.metadata).creationTimestamp)
    ):
        event.stageTimestamp = stage.removesuffix("Z") + ".999999Z"
    if not event.requestReceivedTimestamp or not (event.stageTimestamp or is_present(event.timestamp)):
        raise ValueError("the event has no requestReceivedTimestamp or no stageTimestamp")


def instant(text: str) -> int:
    """A time as the API server writes it into its log (RFC 3339, microseconds), since 1970. Raises ValueError."""
    fraction = text[20:26]
    if len(text) != 27 or text[26] != "Z" or not fraction.isdecimal():
        return seconds(text)
    whole = _seconds.get(text[:20])
    if whole is None:
        if text[19] != ".":
            return seconds(text)
        if len(_seconds) > 100_000:
            _seconds.clear()
        whole = _seconds[text[:20]] = seconds(text[:19] + "Z")
    return whole + int(fraction)


def latest(text: str) -> int:
    """The last microsecond that a time may stand for: whoever ships a log may have cut its fraction off."""
    if len(text) >= 27:
        return instant(text)
    fraction = _fraction.search(text)
    return instant(text) + int("9" * (6 - len(fraction[1] if fraction else "")) or "0")
