"""Read the audit log of Google GKE as Cloud Logging returns it, with a `protoPayload` as the event.

The entries are on lines (a sink to a bucket), in an array (`gcloud logging read --format json`), or in {"entries": […]}
(the API).
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
