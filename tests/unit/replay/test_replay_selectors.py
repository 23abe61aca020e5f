"""These tests check that label and field selectors select what an API server selects."""

import json
from typing import Any

import pytest

from collectors.replay.commits import Commit
from collectors.replay.resources import Resource
from collectors.replay.selectors import Selection
from collectors.replay.tables.columns import _age_text

PODS = Resource("", "v1", "Pod", "pods", True)
POD = {
    "metadata": {
        "name": "ring-0",
        "namespace": "a",
        "labels": {"app": "ring", "tier.example.com/of": "back", "empty": ""},
    },
    "spec": {"nodeName": "node-7", "hostNetwork": True},
    "status": {"phase": "Running"},
}
EVENT = {
    "metadata": {"name": "e", "namespace": "a"},
    "involvedObject": {"kind": "Pod", "name": "ring-0"},
    "source": {"component": "kubelet"},
    "reason": "Started",
}


def takes(labels: str = "", fields: str = "", body: dict[str, Any] = POD, kind: str = "Pod") -> bool:
    commit = Commit(PODS, "a", "ring-0", "u", "ADDED", 5, 0, json.dumps(body).encode())
    return Selection("", kind, labels, fields).selects(commit)


@pytest.mark.parametrize(
    "labels",
    [
        "app=ring",
        "app==ring",
        "app = ring , empty=",
        "app!=other",
        "missing!=anything",
        "app",
        "!missing",
        "app in (ring, other)",
        "app notin (other),tier.example.com/of=back",
        "missing notin (a,b)",
    ],
)
def test_labels_that_are_met(labels: str) -> None:
    assert takes(labels)


@pytest.mark.parametrize(
    "labels", ["app=other", "app!=ring", "missing", "!app", "app notin (ring)", "missing in (a)", "app=ring,missing=x"]
)
def test_labels_that_are_not_met(labels: str) -> None:
    assert not takes(labels)


@pytest.mark.parametrize(
    "fields",
    [
        "metadata.name=ring-0",
        "metadata.namespace==a,status.phase!=Succeeded",
        "spec.nodeName=node-7",
        "spec.hostNetwork=true",
        "status.podIP=",
    ],
)
def test_fields_that_are_met(fields: str) -> None:
    assert takes(fields=fields)


def test_fields_of_events() -> None:
    assert takes(fields="involvedObject.name=ring-0,source=kubelet,reason!=Killing", body=EVENT, kind="Event")
    assert not takes(fields="involvedObject.name=ring-1", body=EVENT, kind="Event")


@pytest.mark.parametrize(
    ("labels", "fields"), [("app=ring tier=x", ""), ("a in", ""), (",", ""), ("", "spec.color=x"), ("", "phase")]
)
def test_what_is_no_selector_is_refused(labels: str, fields: str) -> None:
    with pytest.raises(ValueError, match="select"):
        takes(labels, fields)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0, "0s"), (119, "119s"), (187, "3m7s"), (600, "10m"), (3 * 3600, "3h"), (5 * 3600 + 60, "5h1m"), (90_000, "25h")],
)
def test_ages_are_told_as_kubectl_tells_them(seconds: int, text: str) -> None:
    born = 1_795_250_000
    assert _age_text("2026-11-21T08:33:20Z", (born + seconds) * 1_000_000) == text
    assert _age_text(None, 0) == "<unknown>"
