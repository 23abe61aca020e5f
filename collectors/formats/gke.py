"""Google GKE: the audit log as Cloud Logging gives it back, `protoPayload` in place of the audit event.

One entry a line (a sink to a bucket), an array (`gcloud logging read --format json`), or {"entries": […]} of the API.
"""

from collectors.formats.wrapped import Shape, wrapped
from collectors.normalise.gke import event_in

FORMAT = wrapped(
    "Kubernetes audit log from Cloud Logging (GKE)",
    Shape((), ("protoPayload", "methodName")),
    Shape(("*",), ("*", "protoPayload", "methodName")),
    Shape(("entries", "*"), ("entries", "*", "protoPayload", "methodName")),
    event_in=event_in,
)
