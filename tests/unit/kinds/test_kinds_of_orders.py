"""These tests check which facts are read of nodes, volumes, budgets, webhooks, definitions and Namespaces."""

from typing import Any

import pytest

from tests.unit.kinds.test_kinds import decoded_as
from timeline.core.entries import Facts
from timeline.kinds import Reference, kind_of
from timeline.kinds.nodes.node import NodeFacts


def read(group: str, kind: str, **fields: Any) -> Facts:
    return decoded_as(kind_of(group, kind), metadata={"name": "x"}, **fields)


def test_a_node_has_its_taints_as_kubectl_writes_them() -> None:
    taints = [{"key": "a", "value": "1", "effect": "NoSchedule"}, {"key": "b", "effect": "NoExecute"}]
    conditions = [{"type": "Ready", "status": "True"}]
    facts = read("", "Node", spec={"taints": taints, "unschedulable": True}, status={"conditions": conditions})
    assert facts == NodeFacts(taints=("a=1:NoSchedule", "b:NoExecute"), unschedulable=True, ready="True")
    assert [each.text for each in kind_of("", "Node").marks(NodeFacts(), facts)] == [
        "ready: True", "taint a=1:NoSchedule", "taint b:NoExecute",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("modes", "exclusive"),
    [(["ReadWriteOnce"], True), (["ReadWriteOnce", "ReadOnlyMany"], False), (["ReadWriteMany"], False), ([], False)],
)
def test_a_volume_is_of_one_node_if_no_mode_allows_several(modes: list[str], exclusive: bool) -> None:
    claim = {"namespace": "n", "name": "data"}
    facts = read("", "PersistentVolume", spec={"accessModes": modes, "claimRef": claim}, status={"phase": "Bound"})
    assert facts.exclusive is exclusive  # type: ignore[attr-defined]
    assert [*kind_of("", "PersistentVolume").references(facts)] == [
        Reference("", "PersistentVolumeClaim", "data", "claim", "n")
    ]


def test_a_namespace_says_which_finalizers_and_objects_are_left() -> None:
    conditions = [
        {"type": "NamespaceFinalizersRemaining", "status": "True",
         "message": "finalizers remaining: a/b in 2 resource instances, c in 1 resource instances"},
        {"type": "NamespaceContentRemaining", "status": "True",
         "message": "Some resources are remaining: widgets.lab.example.io has 2 resource instances"},
    ]  # fmt: skip
    facts: Any = read("", "Namespace", status={"phase": "Terminating", "conditions": conditions})
    assert (facts.finalizers_left, facts.resources_left) == (("a/b", "c"), ("widgets.lab.example.io",))


def test_a_webhook_is_known_by_its_service_and_a_hash_of_what_it_trusts() -> None:
    client = {"service": {"namespace": "n", "name": "guard", "path": "/v"}, "caBundle": "Q0E="}
    webhooks = [{"name": "guard.example.io", "clientConfig": client, "failurePolicy": "Ignore"}]
    group = "admissionregistration.k8s.io"
    facts: Any = read(group, "MutatingWebhookConfiguration", webhooks=webhooks)
    (webhook,) = facts.webhooks
    assert webhook[:5] == ("guard.example.io", "n", "guard", "/v", True) and "Q0E=" not in webhook.trusts
    later: Any = read(
        group, "MutatingWebhookConfiguration", webhooks=[{**webhooks[0], "clientConfig": {"caBundle": "Q0I="}}]
    )
    assert [*kind_of(group, "MutatingWebhookConfiguration").marks(facts, later)]


@pytest.mark.parametrize(
    ("group", "kind", "fields", "phase"),
    [
        ("policy", "PodDisruptionBudget", {"status": {"disruptionsAllowed": 0}}, "allows 0"),
        ("autoscaling", "HorizontalPodAutoscaler", {"status": {"desiredReplicas": 3}}, "wants 3"),
        ("storage.k8s.io", "CSINode", {"spec": {"drivers": [{"name": "d"}]}}, "d"),
        ("storage.k8s.io", "VolumeAttachment", {"status": {"attached": True}}, "Attached"),
        (
            "apiextensions.k8s.io", "CustomResourceDefinition",
            {"status": {"conditions": [{"type": "Established", "status": "True"}]}}, "Established",
        ),
        (
            "apiregistration.k8s.io", "APIService",
            {"status": {"conditions": [{"type": "Available", "status": "False"}]}}, "Not available",
        ),
    ],
)  # fmt: skip
def test_the_bar_shows_the_state(group: str, kind: str, fields: dict[str, Any], phase: str) -> None:
    assert kind_of(group, kind).phase(read(group, kind, **fields)).text == phase


@pytest.mark.parametrize(("group", "kind"), [("example.com", "Widget"), ("networking.k8s.io", "Ingress")])
def test_a_status_is_the_same_again_whatever_times_it_has(group: str, kind: str) -> None:
    def state(*phases: str, at: str) -> Any:
        conditions = [{"type": each, "status": "True", "lastTransitionTime": at} for each in phases]
        return read(group, kind, status={"conditions": conditions, "lastSync": at})

    one, other, again = state("Ready", at="1"), state("Failed", at="2"), state("Ready", at="3")
    assert one.state == again.state != other.state != ""
    assert (one.over, other.over) == (False, True)
    assert read(group, kind).state == "" == read(group, kind, status={}).state  # type: ignore[attr-defined]
