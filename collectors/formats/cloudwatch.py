"""Amazon EKS: the audit log as CloudWatch Logs gives it back.

- `aws logs filter-log-events` and `get-log-events`: {"events": [{"message": "<event>", …}]}
- a subscription, as it comes by way of Firehose: {"logEvents": [{"message": "<event>", …}]}, again and again
- the events alone: {"timestamp": …, "message": "<event>", "ingestionTime": …}, on lines or in an array
- Logs Insights: {"results": [[{"field": "@message", "value": "<event>"}, …]]}, or [{"@message": …}] from its console

Lines with a time in front (`aws logs tail`, an export to S3) are read by prefixed.py, CSV by table.py. CloudWatch cuts
entries off at 256 KB: they are told as skipped.
"""

from collectors.formats.wrapped import Shape, wrapped

FORMAT = wrapped(
    "Kubernetes audit log from CloudWatch (EKS)",
    Shape(("events", "*"), ("events", "*", "message")),
    Shape(("logEvents", "*"), ("logEvents", "*", "message")),
    Shape(("results", "*"), ("results", "*", "*", "field")),
    Shape((), ("ingestionTime",)),
    Shape(("*",), ("*", "ingestionTime")),
    Shape((), ("@message",)),
    Shape(("*",), ("*", "@message")),
)
