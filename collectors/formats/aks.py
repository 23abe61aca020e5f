"""Read the audit log of Azure AKS, as diagnostic settings send it and as Log Analytics returns it.

It reads these shapes:

- an event hub: {"records": [{"category": "kube-audit", "properties": {"log": "<event>"}}]}; a storage account: one
  record a line; kube-audit-admin holds the same without reads
- table AzureDiagnostics: rows with log_s; tables AKSAudit, AKSAuditAdmin and ArcK8sAudit: a column for each field
- the query API: {"tables": [{"columns": […], "rows": [[…, "<event>", …]]}]}
"""

from typing import Any

import orjson

from collectors.formats.wrapped import Shape, event_in_json, wrapped

_COLUMNS = {
    "AuditId": "auditID",
    "Level": "level",
    "Stage": "stage",
    "RequestUri": "requestURI",
    "Verb": "verb",
    "User": "user",
    "UserAgent": "userAgent",
    "SourceIps": "sourceIPs",
    "ObjectRef": "objectRef",
    "ResponseStatus": "responseStatus",
    "RequestObject": "requestObject",
    "ResponseObject": "responseObject",
    "RequestReceivedTime": "requestReceivedTimestamp",
    "StageReceivedTime": "stageTimestamp",
}
_OBJECTS = {"User", "SourceIps", "ObjectRef", "ResponseStatus", "RequestObject", "ResponseObject"}


def _event_in(record: bytes) -> bytes | None:
    if b'"AuditId"' not in record:
        return event_in_json(record)
    row = orjson.loads(record)
    return orjson.dumps({_COLUMNS[name]: _value(name, row[name]) for name in _COLUMNS if row.get(name)})


def _value(column: str, value: Any) -> Any:
    """Return the value of a column as the event has it.

    Queries return objects as text. A body that was too big is replaced by a word, which gives None here.
    """
    if column in _OBJECTS and isinstance(value, str):
        return orjson.loads(value) if value.startswith(("{", "[")) else None
    return value


FORMAT = wrapped(
    "Kubernetes audit log from Azure (AKS)",
    Shape(("records", "*"), ("records", "*", "properties", "log")),
    Shape((), ("properties", "log")),
    Shape(("*",), ("*", "properties", "log")),
    Shape((), ("log_s",)),
    Shape(("*",), ("*", "log_s")),
    Shape((), ("AuditId",)),
    Shape(("*",), ("*", "AuditId")),
    Shape(("tables", "*", "rows", "*"), ("tables", "*", "columns")),
    event_in=_event_in,
)
