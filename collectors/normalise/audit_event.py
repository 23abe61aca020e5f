"""Decode an audit event (`audit.k8s.io/v1` Event) and parse its timestamps. It does no I/O."""

import re

import msgspec

from collectors.normalise import is_present
from timeline.core import times
from timeline.core.entries import Client
from timeline.core.values import check_values
from timeline.kinds import Metadata, address


class _Extra(msgspec.Struct, gc=False, rename=lambda name: f"authentication.kubernetes.io/{name.replace('_', '-')}"):
    """What a token that is bound to a Pod says of the client."""

    pod_name: list[str] = []
    pod_uid: list[str] = []
    node_name: list[str] = []


class User(msgspec.Struct, gc=False):
    username: str = ""
    extra: msgspec.Raw = msgspec.Raw()


class ObjectReference(msgspec.Struct, gc=False):
    """The `objectRef` of an audit event."""

    resource: str = ""
    apiGroup: str = ""
    apiVersion: str = ""
    namespace: str = ""
    name: str = ""
    uid: str = ""
    subresource: str = ""
    resourceVersion: str = ""


class _Outcome(msgspec.Struct, gc=False):
    code: int | None = None
    reason: str | None = None
    message: msgspec.Raw = msgspec.Raw()
    details: msgspec.Raw = msgspec.Raw()


class AuditEvent(msgspec.Struct, gc=False):
    """The fields of an audit event that are used; bodies stay undecoded until they are needed.

    The type is Event of `audit.k8s.io/v1`: https://kubernetes.io/docs/reference/config-api/apiserver-audit.v1/
    """

    level: str = ""
    auditID: str = ""
    stage: str = ""
    verb: str = ""
    requestURI: str = ""
    user: User = msgspec.field(default_factory=User)
    userAgent: str = ""
    sourceIPs: msgspec.Raw = msgspec.Raw()
    objectRef: ObjectReference | None = None
    responseStatus: _Outcome | None = None
    requestObject: msgspec.Raw = msgspec.Raw()
    responseObject: msgspec.Raw = msgspec.Raw()
    requestReceivedTimestamp: str = ""
    stageTimestamp: str = ""
    annotations: msgspec.Raw = msgspec.Raw()
    timestamp: msgspec.Raw = msgspec.Raw()  # v1alpha1 and v1beta1, whole seconds
    # V1alpha1 and v1beta1; creationTimestamp is when the stage was reached.
    metadata: msgspec.Raw = msgspec.Raw()


class _Cause(msgspec.Struct, gc=False):
    message: str | None = None


class _Details(msgspec.Struct, gc=False):
    name: str | None = None
    kind: str | None = None
    causes: list[_Cause] | None = None


_text = msgspec.json.Decoder(str)
_message = msgspec.json.Decoder(str | None)
_details = msgspec.json.Decoder(_Details | None)
_ABOUT_ITSELF = ("Conflict", "NotFound", "AlreadyExists")
_LONGEST_MESSAGE = 4096  # characters of a message before it is redacted, which cuts it further
_CAUSES = 3  # causes of a refusal that are read
_texts = msgspec.json.Decoder(list[str] | None)
_extra = msgspec.json.Decoder(_Extra | None)
_stamp = msgspec.json.Decoder(Metadata)
_VALUES = 10_000  # of each field of a client
_LONGEST = 256  # characters of each field of a client that are kept
_seconds: dict[str, int] = {}
_fraction = re.compile(r"\.(\d{1,6})")


def fill_timestamps(event: AuditEvent) -> None:
    """Set the two timestamps of an event of Kubernetes before 1.9 from its older fields, in whole seconds.

    These are the time of the request, and the time of the stage, which is the event's own creationTimestamp. Raise
    ValueError if the event has neither the new fields nor the old ones.
    """
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


def refusal_of(event: AuditEvent) -> str:
    """Return what the API server said when it refused a request, with the causes that it gave; "" if it said nothing,
    or only that the object itself exists, is gone or was changed meanwhile, as the reason says already.

    Raise ValueError if the event says too much.
    """
    status, ref = event.responseStatus, event.objectRef
    if status is None or ref is None or not (is_present(status.message) or is_present(status.details)):
        return ""
    check_values(bytes(status.details), _VALUES)
    details = (_details.decode(status.details) if is_present(status.details) else None) or _Details()
    if status.reason in _ABOUT_ITSELF and details.kind == ref.resource and details.name in (ref.name, None, ""):
        return ""
    said = (_message.decode(status.message) if is_present(status.message) else None) or ""
    for cause in (details.causes or ())[:_CAUSES]:
        if cause.message and cause.message not in said:
            said = f"{said}: {cause.message}" if said else cause.message
    return said[:_LONGEST_MESSAGE]


def client_of(event: AuditEvent) -> Client:
    """Return what the event says of the process that sent the request; an empty one if it says nothing.

    Raise ValueError if it says too much. Only the fields that Kubernetes itself writes are read:
    https://kubernetes.io/docs/reference/access-authn-authz/service-accounts-admin/
    """
    for each in (event.sourceIPs, event.user.extra):
        check_values(bytes(each), _VALUES)
    read = (_texts.decode(event.sourceIPs) if is_present(event.sourceIPs) else None) or []
    addresses = [canonical for each in read if (canonical := address(each))]
    extra = (_extra.decode(event.user.extra) if is_present(event.user.extra) else None) or _Extra()
    pod, uid, node = ((each[0] if each else "")[:_LONGEST] for each in (extra.pod_name, extra.pod_uid, extra.node_name))
    return Client(",".join(addresses)[:_LONGEST], pod, uid, node)


def instant(text: str) -> int:
    """Return an RFC 3339 time, as the API server writes it into its log, in µs since 1970.

    Raise ValueError if it is not such a time.
    """
    fraction = text[20:26]
    if len(text) != 27 or text[26] != "Z" or text[19] != "." or not (fraction.isascii() and fraction.isdecimal()):
        return _whole(text)
    whole = _seconds.get(text[:19])
    if whole is None:
        if len(_seconds) > 100_000:
            _seconds.clear()
        whole = _seconds[text[:19]] = _whole(f"{text[:19]}Z")
    return whole + int(fraction)


def _whole(text: str) -> int:
    try:
        return times.instant(text)
    except times.NoTime as error:
        raise ValueError(f"a field is not as Kubernetes writes it: {error}") from None


def latest(text: str) -> int:
    """Return the last µs that a time may mean, since log shippers may cut its fraction off."""
    if len(text) >= 27:
        return instant(text)
    fraction = _fraction.search(text)
    return instant(text) + int("9" * (6 - len(fraction[1] if fraction else "")) or "0")
