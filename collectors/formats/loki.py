"""Read what Grafana Loki answers, receives and exports.

It reads the answer to a query, the body of a push request, logcli's jsonl, and the downloads of Grafana:

- {"data": {"result": [{"stream": {…}, "values": [["<nanoseconds>", "<line>"], …]}]}}, the same as {"streams": [{…}]}
- {"labels": {…}, "line": "<line>", "timestamp": …} on lines (`logcli --output=jsonl`) or in an array

A line may itself be a record of a log shipper. logcli's default output is read by prefixed.py.
"""

from collectors.formats.wrapped import Shape, wrapped

FORMAT = wrapped(
    "Kubernetes audit log from Loki",
    Shape(("data", "result", "*", "values", "*"), ("data", "result", "*", "stream")),
    Shape(("streams", "*", "values", "*"), ("streams", "*", "stream")),
    Shape((), ("line",)),
    Shape(("*",), ("*", "line")),
)
