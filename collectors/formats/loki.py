"""Grafana Loki: the answer to a query, what is pushed to it, logcli's jsonl, and what Grafana lets one download.

- {"data": {"result": [{"stream": {…}, "values": [["<nanoseconds>", "<line>"], …]}]}}, the same as {"streams": [{…}]}
- {"labels": {…}, "line": "<line>", "timestamp": …} on lines (`logcli --output=jsonl`) or in an array

A line may itself be a record of a log shipper. logcli's own way to print is read by prefixed.py.
"""

from collectors.formats.wrapped import Shape, wrapped

FORMAT = wrapped(
    "Kubernetes audit log from Loki",
    Shape(("data", "result", "*", "values", "*"), ("data", "result", "*", "stream")),
    Shape(("streams", "*", "values", "*"), ("streams", "*", "stream")),
    Shape((), ("line",)),
    Shape(("*",), ("*", "line")),
)
