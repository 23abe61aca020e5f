"""Read an AdmissionReview: what an API server asks an admission webhook about a write. It does no I/O.

https://kubernetes.io/docs/reference/access-authn-authz/extensible-admission-controllers/ describes it. A review is sent
before the write is committed, and an admitted write may still fail: another webhook refuses it, the object was changed
meanwhile, or etcd is not reached. So a review proves only two things: `stored`, the object as it was in etcd before,
and `attempt`, that somebody asked for the write. That a webhook answered no is certain; that a write was committed is
shown by a watch or an audit log alone.
"""

from typing import Any

import msgspec

from collectors.normalise import is_present
from collectors.normalise.audit_event import AuditEvent, User, client_of
from collectors.normalise.objects import observed_object
from timeline.core.bounds import check_names
from timeline.core.entries import FOREVER, Change, Entry, ObjectRef, Place, Request
from timeline.kinds import Metadata, of_resource, seconds

_VERBS = {"CREATE": "create", "UPDATE": "write", "DELETE": "delete"}  # CONNECT, as for exec, writes no object
_UPDATES = {"UpdateOptions": "update", "PatchOptions": "patch"}  # kind of the options -> verb of an UPDATE
WHOLE = frozenset({"", "status", "ephemeralcontainers", "resize", "finalize", "approval"})  # bodies are the object
_REFUSED = 403  # a webhook may answer any code, also 409, which would look like a conflict of revisions


class _Group(msgspec.Struct, gc=False):
    """A GroupVersionKind or a GroupVersionResource (meta/v1)."""

    group: str = ""
    version: str = ""
    kind: str = ""
    resource: str = ""


class _Options(msgspec.Struct, gc=False):
    kind: str = ""
    fieldManager: str = ""


class AdmissionRequest(msgspec.Struct, gc=False):
    """The fields of a request that are used; the objects stay undecoded until they are needed."""

    uid: str = ""
    kind: _Group = msgspec.field(default_factory=_Group)
    resource: _Group = msgspec.field(default_factory=_Group)
    subResource: str = ""
    name: str = ""
    namespace: str = ""
    operation: str = ""
    userInfo: User = msgspec.field(default_factory=User)
    object: msgspec.Raw = msgspec.field(default_factory=msgspec.Raw)
    oldObject: msgspec.Raw = msgspec.field(default_factory=msgspec.Raw)
    dryRun: bool | None = None
    options: _Options | None = None


class AdmissionResponse(msgspec.Struct, gc=False):
    uid: str = ""
    allowed: bool = False


class AdmissionReview(msgspec.Struct, gc=False):
    apiVersion: str = ""
    kind: str = ""
    request: AdmissionRequest | None = None
    response: AdmissionResponse | None = None


class _Manager(msgspec.Struct, gc=False):
    time: str | None = None


class _Metadata(Metadata, gc=False):
    managedFields: tuple[_Manager, ...] | None = None


class _Object(msgspec.Struct, gc=False):
    metadata: _Metadata = msgspec.field(default_factory=_Metadata)


_review = msgspec.json.Decoder(AdmissionReview)
_object = msgspec.json.Decoder(_Object)


def review_of(data: bytes) -> AdmissionReview:
    """Return an AdmissionReview in JSON, of `admission.k8s.io` v1 or v1beta1.

    Raise ValueError (msgspec.ValidationError is one) with a reason if it is none, or has neither a request nor a
    response.
    """
    review = _review.decode(data)
    if review.kind != "AdmissionReview" or not review.apiVersion.startswith("admission.k8s.io/"):
        raise ValueError("it is no AdmissionReview of admission.k8s.io")
    if not review.request and not review.response:
        raise ValueError("it is an AdmissionReview without a request and without a response")
    return review


def stored(request: AdmissionRequest, place: Place | None, *, bodies: bool) -> Entry | None:
    """Return the object as it was stored before the request, with its revision, as an entry that was OBSERVED.

    None if the request creates the object, is about a part of it that is no object, such as its scale, or is about no
    object. Raise ValueError with a reason if the object cannot be used.
    """
    if request.operation not in _VERBS or request.subResource not in WHOLE or not is_present(request.oldObject):
        return None
    version = f"{request.kind.group}/{request.kind.version}".removeprefix("/")
    old = bytes(request.oldObject)
    return observed_object(
        old, Change.OBSERVED, place, bodies=bodies, api_version=version, kind=request.kind.kind
    ).entry


def attempt(
    request: AdmissionRequest,
    place: Place | None,
    *,
    response: AdmissionResponse | None = None,
    received: int = 0,
    staged: int = FOREVER,
) -> Request | None:
    """Return the write that was asked for: its code is 0, since nothing says whether it was committed, and 403 if the
    webhook refused it.

    `received` and `staged` are when the webhook received and answered it (µs since 1970). A review has no time of its
    own: without `received` the latest time in its objects counts. None for a dry run, and for what writes no object or
    none with a name. Raise ValueError with a reason if nothing states a time, or if a field cannot be used.
    """
    verb = _VERBS.get(request.operation)
    if verb is None or request.dryRun:
        return None
    bodies = [_object.decode(body).metadata for body in (request.object, request.oldObject) if is_present(body)]
    name = request.name or next((each.name for each in bodies if each.name), "")
    if not name:
        return None
    received = received or max(map(_latest, bodies), default=0)
    if not received:
        raise ValueError("it is an AdmissionReview, which has no time of its own, and its objects state none")
    options = request.options or _Options()
    if verb == "write":
        verb = _UPDATES.get(options.kind, verb)
    return Request(
        _reference(request, name, bodies),
        verb,
        _REFUSED if response and not response.allowed else 0,
        received,
        staged,
        "Forbidden" if response and not response.allowed else "",
        action=request.subResource,
        applied=verb == "patch" and bool(options.fieldManager),
        actor=request.userInfo.username,
        client=client_of(AuditEvent(user=request.userInfo)),
        identity=request.uid,
        place=place,
    )


def _reference(request: AdmissionRequest, name: str, bodies: list[Any]) -> ObjectRef:
    """Return the object that the request is about; of a subresource such as scale, the review names another kind."""
    group, resource = request.resource.group, request.resource.resource
    known = of_resource(group, resource)
    whole = request.subResource in WHOLE
    kind = known.kind if known else request.kind.kind if whole and request.kind.kind else resource
    # Of a Namespace, a review names the object itself as its namespace.
    namespace = "" if (group, resource) == ("", "namespaces") else request.namespace
    uid = next((each.uid for each in reversed(bodies) if whole and each.uid), "")
    names = group, request.resource.version, kind, namespace, name, uid
    check_names(*names)
    return ObjectRef(*names)


def _latest(metadata: _Metadata) -> int:
    """Return the latest time that the metadata state, in µs since 1970; 0 if they state none.

    The API server writes such a time while it handles the write, so the request was not answered before it.
    """
    times = (metadata.creationTimestamp, *(each.time for each in metadata.managedFields or ()))
    return max((seconds(each) for each in times if each), default=0)
