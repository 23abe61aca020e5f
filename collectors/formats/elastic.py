"""Read the answer to a search of Elasticsearch or OpenSearch, and dumps of an index with one hit a line.

The shapes are {"hits": {"hits": [{"_source": {…}}]}}, or {"_source": {…}} on lines or in an array. The event is the
source itself, an object in it (the kubernetes integration writes kubernetes.audit), or text (message, log,
event.original).
"""

from collectors.formats.wrapped import Shape, wrapped

FORMAT = wrapped(
    "Kubernetes audit log from Elasticsearch",
    Shape(("hits", "hits", "*"), ("hits", "hits", "*", "_source")),
    Shape(("response", "hits", "hits", "*"), ("response", "hits", "hits", "*", "_source")),
    Shape(("responses", "*", "hits", "hits", "*"), ("responses", "*", "hits", "hits", "*", "_source")),
    Shape((), ("_source",)),
    Shape(("*",), ("*", "_source")),
)
