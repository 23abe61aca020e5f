"""Restore the audit event from a LogEntry of Google's Cloud Logging, as far as the entry has it. It does no I/O.

The entry has no stage and one time, `timestamp`, which is used as the receipt of the request. The commit was certainly
before `receiveTimestamp`, when the entry arrived in Cloud Logging some seconds later. Without resourceVersions, only
changes that far apart have a certain order. The type is AuditLog:
https://cloud.google.com/logging/docs/reference/audit/auditlog/rest/Shared.Types/AuditLog
"""

import re

import msgspec

from timeline.core.entries import moment
from timeline.core.order import SECOND
from timeline.core.times import instant
from timeline.kinds import seconds

_REQUEST_TIMEOUT = 60_000_000  # µs; --request-timeout of the API server, for an entry without receiveTimestamp
_VERSION = re.compile(r"v\d+((alpha|beta)\d+)?")
_SHORT_GROUPS = {"core": "", "apps": "apps", "batch": "batch", "autoscaling": "autoscaling", "policy": "policy"}
_HTTP = {3: 400, 4: 504, 5: 404, 6: 409, 7: 403, 8: 429, 10: 409, 14: 503, 16: 401}  # gRPC code -> HTTP status
_REASONS = {5: "NotFound", 6: "AlreadyExists", 7: "Forbidden", 10: "Conflict"}  # gRPC code -> reason of a refusal


class _Authentication(msgspec.Struct, gc=False):
    principalEmail: str = ""


class _Client(msgspec.Struct, gc=False):
    callerSuppliedUserAgent: str = ""
    callerIp: str = ""


class _Status(msgspec.Struct, gc=False):
    code: int = 0
    message: str = ""


class _Payload(msgspec.Struct, gc=False):
    methodName: str = ""
    resourceName: str = ""
    serviceName: str = "k8s.io"
    authenticationInfo: _Authentication = msgspec.field(default_factory=_Authentication)
    requestMetadata: _Client = msgspec.field(default_factory=_Client)
    status: _Status = msgspec.field(default_factory=_Status)
    request: msgspec.Raw = msgspec.field(default_factory=lambda: msgspec.Raw(b"null"))
    response: msgspec.Raw = msgspec.field(default_factory=lambda: msgspec.Raw(b"null"))


class _Manager(msgspec.Struct, gc=False):
    operation: str = ""
    time: str = ""


class _Metadata(msgspec.Struct, gc=False):
    creationTimestamp: str = ""
    generation: int = 1
    managedFields: list[_Manager] = []


class _Object(msgspec.Struct, gc=False):
    metadata: _Metadata = msgspec.field(default_factory=_Metadata)


class _LogEntry(msgspec.Struct, gc=False):
    insertId: str = ""
    timestamp: str = ""
    receiveTimestamp: str = ""
    labels: dict[str, str] = {}
    protoPayload: _Payload | None = None


_entry = msgspec.json.Decoder(_LogEntry)
_object = msgspec.json.Decoder(_Object)


def event_in(record: bytes) -> bytes | None:
    """Return the audit event as JSON; None for an entry of another service.

    Raise ValueError (msgspec.ValidationError is one) if the record is not a LogEntry.
    """
    entry = _entry.decode(record)
    payload = entry.protoPayload
    if payload is None or payload.serviceName != "k8s.io":
        return None
    verb = payload.methodName.rpartition(".")[2]
    has_response, requested = (bytes(body) != b"null" for body in (payload.response, payload.request))
    dry_run = "?dryRun=All" if entry.labels.get("command.gke.io/dryRun") else ""
    failure = payload.status.code and _HTTP.get(payload.status.code, 500)
    created = verb == "create" or (
        verb == "patch" and has_response and _applied_first(payload.response, entry.timestamp)
    )
    return msgspec.json.encode(
        {
            "level": "RequestResponse" if has_response else "Request" if requested else "Metadata",
            "auditID": entry.insertId,
            "stage": "ResponseComplete",
            "requestURI": f"/{payload.resourceName}{dry_run}",
            "verb": verb,
            "user": {"username": payload.authenticationInfo.principalEmail},
            "userAgent": payload.requestMetadata.callerSuppliedUserAgent,
            "sourceIPs": [payload.requestMetadata.callerIp],
            "objectRef": _reference(payload.methodName, payload.resourceName),
            "responseStatus": {
                "code": failure or (201 if created else 200),
                "reason": _REASONS.get(payload.status.code, ""),
                "message": payload.status.message,
            },
            "annotations": entry.labels,
            "requestObject": payload.request,
            "responseObject": payload.response,
            "requestReceivedTimestamp": entry.timestamp,
            "stageTimestamp": entry.receiveTimestamp or moment(instant(entry.timestamp) + _REQUEST_TIMEOUT),
        }
    )


def _applied_first(response: msgspec.Raw, timestamp: str) -> bool:
    """Return whether an apply created its object, which the entry does not say.

    It did if the apply is the only writer of the object, and the object was created at the time of the request.
    """
    try:
        metadata = _object.decode(response).metadata
        delay = seconds(metadata.creationTimestamp) - instant(timestamp)
    except ValueError:
        return False
    writers = [(each.operation, each.time) for each in metadata.managedFields]
    only_writer = writers == [("Apply", metadata.creationTimestamp)] and metadata.generation <= 1
    return only_writer and -SECOND < delay < 2 * SECOND


def _reference(method: str, name: str) -> dict[str, str] | None:
    """Return the objectRef of a request by its method and the name of its resource; None if it has no resource.

    An example is (io.k8s.core.v1.pods.status.patch, core/v1/namespaces/n/pods/p/status).
    """
    parts = method.split(".")[:-1]
    versions = [place for place, word in enumerate(parts) if _VERSION.fullmatch(word)]
    if not versions or versions[-1] == len(parts) - 1:
        return None  # a request for no resource, such as io.k8s.get
    version, (resource, *subresource) = parts[versions[-1]], parts[versions[-1] + 1 :]
    path = name.split("/")
    if len(path) > 2 and _VERSION.fullmatch(path[1]):
        group = "" if path[0] == "core" else path[0]
        version, path = path[1], path[2:]
    else:
        group = ".".join(reversed(parts[: versions[-1]]))
        group = _SHORT_GROUPS.get(group.removesuffix(".k8s.io"), group)
    namespace = ""
    if resource != "namespaces" and "namespaces" in path[:-1]:
        place = path.index("namespaces")
        namespace, path = path[place + 1], path[place + 2 :]
    kind_names = path[path.index(resource) + 1 :] if resource in path else []
    return {
        "apiGroup": group,
        "apiVersion": version,
        "resource": resource,
        "subresource": "/".join(subresource),
        "namespace": namespace,
        "name": kind_names[0] if kind_names else "",
    }
