"""These tests check that label and field selectors select what an API server selects."""

import json
from typing import Any

import pytest

from collectors.replay.commits import Commit
from collectors.replay.resources import Resource
from collectors.replay.selectors import Selection

PODS = Resource("", "v1", "Pod", "pods", True)
LABELS = {"app": "ring", "tier.example.com/of": "back", "empty": ""}
POD = {
    "metadata": {"name": "ring-0", "namespace": "a", "labels": LABELS},
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


MET = ["app=ring", "app==ring", "app = ring , empty=", "app!=other", "missing!=anything", "app", "!missing"]
MET += ["app in (ring, other)", "app notin (other),tier.example.com/of=back", "missing notin (a,b)"]
NOT_MET = ["app=other", "app!=ring", "missing", "!app", "app notin (ring)", "missing in (a)", "app=ring,missing=x"]
FIELDS = ["metadata.name=ring-0", "metadata.namespace==a,status.phase!=Succeeded", "spec.nodeName=node-7"]
FIELDS += ["spec.hostNetwork=true", "status.podIP="]


def test_labels_and_fields_are_met_as_an_api_server_says() -> None:
    assert [labels for labels in MET if not takes(labels)] == []
    assert [labels for labels in NOT_MET if takes(labels)] == []
    assert [fields for fields in FIELDS if not takes(fields=fields)] == []


def test_fields_of_events() -> None:
    assert takes(fields="involvedObject.name=ring-0,source=kubelet,reason!=Killing", body=EVENT, kind="Event")
    assert not takes(fields="involvedObject.name=ring-1", body=EVENT, kind="Event")


@pytest.mark.parametrize(
    ("labels", "fields"), [("app=ring tier=x", ""), ("a in", ""), (",", ""), ("", "spec.color=x"), ("", "phase")]
)
def test_what_is_no_selector_is_refused(labels: str, fields: str) -> None:
    with pytest.raises(ValueError, match="select"):
        takes(labels, fields)
