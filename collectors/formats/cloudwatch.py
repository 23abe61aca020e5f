"""Read the audit log of Amazon EKS as CloudWatch Logs returns it.

It reads these shapes:

- `aws logs filter-log-events` and `get-log-events`: {"events": [{"message": "<event>", …}]}
- a subscription that is delivered by Firehose: {"logEvents": [{"message": "<event>", …}]}, again and again
- the events alone: {"timestamp": …, "message": "<event>", "ingestionTime": …}, on lines or in an array
- Logs Insights: {"results": [[{"field": "@message", "value": "<event>"}, …]]}, or [{"@message": …}] from its console

Lines that begin with a time (`aws logs tail`, an export to S3) are read by prefixed.py, CSV by table.py. CloudWatch
cuts entries off at 256 KB; these are reported as skipped.
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
