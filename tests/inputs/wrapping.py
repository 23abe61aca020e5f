"""This module wraps audit events as log stores and log shippers do, in the forms that their documentation shows."""

import csv
import io
import json
from collections.abc import Callable
from typing import Any

import orjson
import yaml

Lines = list[str]  # audit events as lines of JSON


def _json(value: Any, **layout: Any) -> str:
    return json.dumps(value, separators=(",", ":"), **layout) if layout else orjson.dumps(value).decode()


def _json_lines(values: list[Any]) -> str:
    return "".join(_json(value) + "\n" for value in values)


def _yaml(values: list[Any]) -> str:
    return str(yaml.dump_all(values, Dumper=yaml.CSafeDumper, explicit_start=True))


def _events(lines: Lines) -> list[Any]:
    return [orjson.loads(line) for line in lines]


def _event_list(lines: Lines) -> dict[str, Any]:
    return {"kind": "EventList", "apiVersion": "audit.k8s.io/v1", "metadata": {}, "items": _events(lines)}


def _hit(source: dict[str, Any]) -> dict[str, Any]:
    return {"_index": "logs", "_id": "x", "_score": 0, "_source": {"@timestamp": "2026-11-21T07:52:00.123Z", **source}}


def _hits(sources: list[dict[str, Any]]) -> dict[str, Any]:
    total = {"value": len(sources), "relation": "eq"}
    return {"took": 3, "timed_out": False, "hits": {"total": total, "hits": [_hit(source) for source in sources]}}


def _record(line: str) -> dict[str, Any]:
    properties = {"log": line + "\n", "stream": "stdout", "pod": "kube-apiserver-1"}
    return {"time": "2026-11-21T07:52:00Z", "category": "kube-audit", "properties": properties}


def _log_event(line: str) -> dict[str, Any]:
    return {"logStreamName": "kube-apiserver-audit-1", "timestamp": 1795247520123, "message": line, "ingestionTime": 2}


def _firehose(lines: Lines) -> str:
    record = {"messageType": "DATA_MESSAGE", "logGroup": "/aws/eks/c/cluster", "logStream": "kube-apiserver-audit-1"}
    return "".join(_json({**record, "logEvents": [{"id": "1", "timestamp": 1, "message": line}]}) for line in lines)


def _insights(lines: Lines) -> dict[str, Any]:
    fields = [[("@timestamp", "2026-11-21 07:52:00.123"), ("@message", line), ("@ptr", "x")] for line in lines]
    return {"results": [[{"field": name, "value": value} for name, value in row] for row in fields]}


def _loki(lines: Lines) -> dict[str, Any]:
    streams = [{"stream": {"app": "audit"}, "values": [["1795247520123000000", line]]} for line in lines]
    return {"status": "success", "data": {"resultType": "streams", "result": streams, "stats": {}}}


def _azure_table(lines: Lines) -> dict[str, Any]:
    columns = [{"name": "TimeGenerated", "type": "datetime"}, {"name": "log_s", "type": "string"}]
    rows = [["2026-11-21T07:52:00Z", line] for line in lines]
    return {"tables": [{"name": "PrimaryResult", "columns": columns, "rows": rows}]}


def _csv(header: list[str], rows: list[list[str]]) -> str:
    table = io.StringIO()
    csv.writer(table).writerows([header, *rows])
    return table.getvalue()


def _before(prefix: str) -> Callable[[Lines], str]:
    return lambda lines: "".join(f"{prefix} {line}\n" for line in lines)


PLAIN = "Kubernetes audit log"
LIST = "Kubernetes audit log, as a list of events"
CLOUDWATCH = "Kubernetes audit log from CloudWatch (EKS)"
AKS = "Kubernetes audit log from Azure (AKS)"
LOKI = "Kubernetes audit log from Loki"
ELASTIC = "Kubernetes audit log from Elasticsearch"
SHIPPED = "Kubernetes audit log in the records of a log shipper"
PREFIXED = "Kubernetes audit log with something in front of each line"
YAML = "Kubernetes audit log in YAML"
TABLE = "Kubernetes audit log in a table (CSV)"

WRAPPERS: dict[str, tuple[str, Callable[[Lines], str]]] = {
    "lines": (PLAIN, lambda lines: "".join(line + "\n" for line in lines)),
    "a webhook's body": (LIST, lambda lines: _json(_event_list(lines))),
    "a webhook's body, pretty-printed": (LIST, lambda lines: _json(_event_list(lines), indent=2)),
    "webhook bodies on lines": (LIST, lambda lines: _json_lines([_event_list([line]) for line in lines])),
    "an array": (LIST, lambda lines: _json(_events(lines))),
    "pretty-printed events": (LIST, lambda lines: "".join(_json(e, indent=4) + "\n" for e in _events(lines))),
    "events in YAML": (YAML, lambda lines: _yaml(_events(lines))),
    "aws logs filter-log-events": (CLOUDWATCH, lambda lines: _json({"events": [*map(_log_event, lines)]}, indent=4)),
    "CloudWatch events on lines": (CLOUDWATCH, lambda lines: _json_lines([*map(_log_event, lines)])),
    "a CloudWatch subscription": (CLOUDWATCH, _firehose),
    "Logs Insights": (CLOUDWATCH, lambda lines: _json(_insights(lines))),
    "Logs Insights' console": (CLOUDWATCH, lambda lines: _json([{"@message": e, "@ptr": "x"} for e in _events(lines)])),
    "Logs Insights' CSV": (TABLE, lambda lines: _csv(["@timestamp", "@message"], [["2026", line] for line in lines])),
    "aws logs tail": (PREFIXED, _before("2026-11-21T07:52:00.123000+00:00 kube-apiserver-audit-1")),
    "an export to S3": (PREFIXED, _before("2026-11-21T07:52:00.123Z")),
    "a container's log": (PREFIXED, _before("2026-11-21T07:52:00.123456789Z stdout F")),
    "logcli": (PREFIXED, _before('2026-11-21T07:52:00Z {app="audit"}')),
    "an event hub": (AKS, lambda lines: _json({"records": [*map(_record, lines)]})),
    "a storage account": (AKS, lambda lines: _json_lines([*map(_record, lines)])),
    "AzureDiagnostics": (AKS, lambda lines: _json([{"Category": "kube-audit", "log_s": e} for e in lines], indent=2)),
    "Log Analytics": (AKS, lambda lines: _json(_azure_table(lines))),
    "Log Analytics' CSV": (TABLE, lambda lines: _csv(["log_s", "Category"], [[line, "kube-audit"] for line in lines])),
    "Loki": (LOKI, lambda lines: _json(_loki(lines))),
    "logcli -o jsonl": (LOKI, lambda lines: _json_lines([{"labels": {}, "line": e, "timestamp": "1"} for e in lines])),
    "Grafana": (
        LOKI,
        lambda lines: _json([{"line": line, "timestamp": "1", "fields": {}} for line in lines], indent=2),
    ),
    "Elasticsearch": (ELASTIC, lambda lines: _json(_hits([{"message": line} for line in lines]))),
    "Elasticsearch, parsed": (
        ELASTIC,
        lambda lines: _json(_hits([{"kubernetes": {"audit": e}} for e in _events(lines)])),
    ),
    "an index dump": (ELASTIC, lambda lines: _json_lines([_hit(e) for e in _events(lines)])),
    "Filebeat": (SHIPPED, lambda lines: _json_lines([{"message": line, "log": {"offset": 5}} for line in lines])),
    "Fluent Bit": (SHIPPED, lambda lines: _json_lines([{"log": line + "\n", "stream": "stdout"} for line in lines])),
    "Vector around Fluent Bit": (SHIPPED, lambda lines: _json_lines([{"message": _json({"log": e})} for e in lines])),
    "a parsing shipper": (SHIPPED, lambda lines: _json_lines([{"date": 1.5, "audit": e} for e in _events(lines)])),
    "Splunk": (SHIPPED, lambda lines: _json({"preview": False, "results": [{"_raw": line} for line in lines]})),
}
"""By name: the format that it is read as, and how it is made."""
