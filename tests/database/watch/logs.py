"""This module has the objects that the watches of a cluster have shown, and lines of audit logs about them."""

import json

from tests import ENGINE
from tests.inputs.live import observations
from timeline.core.entries import Change, Clock, Entry, ObjectRef, Request, moment
from timeline.models import Source
from timeline.storage.entries import chunks

WATCH = ENGINE / "jobs-watch"
SHOWN = observations(WATCH)
POD = next(
    each for each in SHOWN if isinstance(each, Entry) and each.ref.kind == "Pod" and each.change is Change.CREATED
)


def logged(source: Source) -> list[Entry | Request]:
    """Return what is stored of audit logs."""
    known = (each for each in chunks.observations(source.pk) if isinstance(each, Entry | Request))
    return [each for each in known if isinstance(each, Request) or each.clock is Clock.AUDIT]


def line(ref: ObjectRef, at: int, verb: str = "update") -> bytes:
    """Return a line of an audit log of level Metadata about an object, at a time in microseconds since 1970."""
    written = f"{moment(at):%Y-%m-%dT%H:%M:%S.%fZ}"
    event = {
        "kind": "Event", "apiVersion": "audit.k8s.io/v1", "level": "Metadata", "auditID": f"{ref.name} {at}",
        "stage": "ResponseComplete", "verb": verb, "requestURI": "/", "user": {"username": "someone"},
        "sourceIPs": ["192.0.2.7"], "userAgent": "kubectl/v1.36.0",
        "objectRef": {
            "resource": f"{ref.kind.lower()}s", "namespace": ref.namespace, "name": ref.name, "uid": ref.uid,
            "apiGroup": ref.group, "apiVersion": "v1", "resourceVersion": "1",
        },
        "responseStatus": {"code": 200}, "requestReceivedTimestamp": written, "stageTimestamp": written,
    }  # fmt: skip
    return json.dumps(event).encode()
