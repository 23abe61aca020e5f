"""Evaluate label and field selectors as the API server does. It does no I/O."""

import re
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import orjson

from collectors.replay.commits import Commit

Test = Callable[[dict[str, Any]], bool]
_REQUIREMENT = re.compile(
    r"\s*+(?:(?P<absent>!)\s*+(?P<not>[\w./-]++)|(?P<key>[\w./-]++)"
    r"(?:\s*+(?P<is>==|=|!=)\s*+(?P<value>[\w.-]*+)|\s++(?P<in>in|notin)\s*+\((?P<values>[^)]*+)\))?)\s*+(?:,|$)"
)
_FIELD = re.compile(r"\s*+(?P<path>[\w.]++)\s*+(?P<is>==|=|!=)(?P<value>(?:\\.|[^,\\])*+)(?:,|$)")
_ESCAPED = re.compile(r"\\(.)")
_FIELDS = {
    ("", "Pod"): "spec.nodeName spec.restartPolicy spec.schedulerName spec.serviceAccountName spec.hostNetwork"
    " status.phase status.podIP status.podIPs status.nominatedNodeName",
    ("", "Event"): "involvedObject.kind involvedObject.namespace involvedObject.name involvedObject.uid"
    " involvedObject.apiVersion involvedObject.resourceVersion involvedObject.fieldPath reason reportingComponent"
    " source type",
    ("", "Namespace"): "status.phase",
    ("", "Node"): "spec.unschedulable",
    ("", "Secret"): "type",
    ("", "ReplicationController"): "status.replicas",
    ("apps", "ReplicaSet"): "status.replicas",
    ("batch", "Job"): "status.successful",
    ("events.k8s.io", "Event"): "regarding.kind regarding.namespace regarding.name regarding.uid reason type",
}  # field selectors that an API server supports, besides name and namespace


class Selection:
    """Select objects of a kind. Raise ValueError for a selector that cannot be parsed."""

    def __init__(self, group: str, kind: str, labels: str, fields: str) -> None:
        self._labels = _label_tests(labels)
        self._fields = _field_tests(group, kind, fields)

    def __bool__(self) -> bool:
        return bool(self._labels or self._fields)

    def selects(self, commit: Commit) -> bool:
        """Return whether the object of a commit is selected."""
        if not self:
            return True
        document = orjson.loads(commit.body)
        labels = document["metadata"].get("labels") or {}
        return all(test(labels) for test in self._labels) and all(test(document) for test in self._fields)


@lru_cache(1000)
def _label_tests(text: str) -> tuple[Test, ...]:
    tests: list[Test] = []
    at = 0
    while at < len(text):
        found = _REQUIREMENT.match(text, at)
        if not found or found.end() == at:
            raise ValueError(f"unable to parse requirement: {text[at:]!r} in the label selector {text!r}")
        tests.append(_label_test(found))
        at = found.end()
    return tuple(tests)


def _label_test(found: re.Match[str]) -> Test:
    if found["absent"]:
        return lambda labels, key=found["not"]: key not in labels  # type: ignore[misc]
    key = found["key"]
    if found["in"]:
        values = frozenset(value.strip() for value in found["values"].split(","))
        if found["in"] == "in":
            return lambda labels: key in labels and labels[key] in values
        return lambda labels: labels.get(key) not in values
    if found["is"] is None:
        return lambda labels: key in labels
    value = found["value"]
    if found["is"] == "!=":
        return lambda labels: labels.get(key) != value
    return lambda labels: labels.get(key) == value


@lru_cache(1000)
def _field_tests(group: str, kind: str, text: str) -> tuple[Test, ...]:
    tests: list[Test] = []
    at = 0
    while at < len(text):
        found = _FIELD.match(text, at)
        if not found:
            raise ValueError(f"invalid field selector {text!r}: cannot parse {text[at:]!r}")
        path = found["path"]
        if path not in ("metadata.name", "metadata.namespace", *_FIELDS.get((group, kind), "").split()):
            raise ValueError(f'"{path}" is not a known field selector: only "metadata.name", "metadata.namespace"')
        tests.append(_field_test(path.split("."), _ESCAPED.sub(r"\1", found["value"]), found["is"] != "!="))
        at = found.end()
    return tuple(tests)


def _field_test(path: list[str], value: str, equal: bool) -> Test:
    return lambda document: (_field(document, path) == value) is equal


def _field(document: dict[str, Any], path: list[str]) -> str:
    """Return the value of a field as text; "" or its default if it is not set."""
    found: Any = document
    if path == ["status", "successful"]:
        path = ["status", "succeeded"]
    for name in path:
        found = found.get(name) if isinstance(found, dict) else None
    if path == ["source"] and isinstance(found, dict):
        found = found.get("component")
    if isinstance(found, bool):
        return "true" if found else "false"
    if found is None:
        return "0" if path[-1] in ("replicas", "succeeded") else "false" if path[-1] == "unschedulable" else ""
    return str(found)
