"""What changed before: which changes somebody meant, what belongs together, and what ranks first. All of it is pure."""

import json
from datetime import datetime
from typing import Any

import pytest

from dashboard.presentation.changes_before import rows
from tests.inputs.applied import KUBECTL, MANAGER, NOON, OWNER, Log, deployment, rollout
from timeline.core.entries import microseconds
from timeline.core.intent import intent_of
from timeline.history.lifelines import Name
from timeline.history.world.world import World
from timeline.judging.incidents.changes import ChangeSet, Distance, before, known_changes, surroundings
from timeline.judging.incidents.intents import IntentChange
from timeline.payloads.changes import changes, sentence, write_sentence


def web() -> Log:
    """Return a log that begins with the creation of a Deployment."""
    log = Log()
    log.write("Deployment", "web", 0, "create", **deployment())
    return log


def of(world: World) -> list[IntentChange]:
    return [each.change for each in known_changes(world)]


def reported(world: World) -> list[str]:
    return [write_sentence(each) for each in of(world)]


def sets(world: World, at: float, around: str = "") -> list[ChangeSet]:
    time = NOON + round(at * 1e6)
    found = surroundings(world, world.incarnations(Name("apps", "Deployment", "shop", around))) if around else None
    return before(known_changes(world), time, 30, found)


@pytest.mark.parametrize(
    ("changed", "words", "grade"),
    [
        (deployment("shop:2"), "image of web shop:1 → shop:2", 0),
        (deployment(command=["sh", "-c", "serve"]), "command of web added", 0),
        (deployment(env=[{"name": "DEBUG", "value": "1"}]), "environment of web added", 0),
        (deployment(resources={"limits": {"cpu": "1"}}), 'resources of web {"limits":{"cpu":"1"}} added', 1),
        (deployment(replicas=5), "replicas 2 → 5", 1),
        (deployment(volumeMounts=[{"name": "data"}]), "Pod template added", 0),
        (deployment() | {"metadata": {"finalizers": ["example.com/hold"]}}, "finalizers example.com/hold added", 2),
    ],
)
def test_a_change_of_what_is_wanted_is_named(changed: dict[str, Any], words: str, grade: int) -> None:
    log = web()
    log.write("Deployment", "web", 60, **changed)
    created, change = of(log.world())
    assert write_sentence(created) == "Deployment web was created"
    assert write_sentence(change) == f"Deployment web: {words}"
    assert change.grade == grade
    assert (change.actor, change.user_agent, change.revision, change.alone) == ("alice", KUBECTL, "101", True)
    assert change.earliest == change.latest == change.time == NOON + 60_000_000


KUBELET: dict[str, Any] = {"by": "system:node:n1", "agent": "kubelet/v1.33.1"}
CONTROLLERS: dict[str, Any] = {"by": "system:kube-controller-manager", "agent": MANAGER}


def test_heartbeats_leases_events_and_status_are_never_meant() -> None:
    log = web()
    log.write("Node", "n1", 0, "create", **KUBELET, spec={})
    for second in range(1, 30):
        log.write("Lease", "leader", second, spec={"renewTime": f"2026-11-21T12:00:{second:02}.000000Z"})
        log.write("Event", "e", second, count=second)
        observed = {"observedGeneration": second}
        log.write("Deployment", "web", second, **CONTROLLERS, subresource="status", status=observed, **deployment())
        heartbeat = {"conditions": [{"type": "Ready", "status": "True", "lastHeartbeatTime": str(second)}]}
        log.write("Node", "n1", second, **KUBELET, subresource="status", spec={}, status=heartbeat)
    assert reported(log.world()) == ["Node n1 was created", "Deployment web was created"]


def test_a_condition_that_goes_bad_counts_and_one_that_recovers_does_not() -> None:
    log = Log()
    for at, state in enumerate(["False", "True", "Unknown", "True"]):
        status = {"conditions": [{"type": "Ready", "status": state}]}
        log.write("Node", "n1", at * 60, "update" if at else "create", **KUBELET, spec={}, status=status)
    taint = {"key": "node.kubernetes.io/unreachable", "effect": "NoExecute"}
    log.write("Node", "n1", 300, **CONTROLLERS, spec={"taints": [taint]})
    assert reported(log.world()) == [
        "Node n1 was created",
        "Node n1: condition Ready became Unknown",
        "Node n1: taints node.kubernetes.io/unreachable:NoExecute added",
    ]


def test_data_is_never_shown() -> None:
    log = Log()
    log.write("ConfigMap", "settings", 0, "create", data={"mode": "blue"})
    log.write("ConfigMap", "settings", 60, data={"mode": "green"})
    world = log.world()
    assert reported(world) == ["ConfigMap settings was created", "ConfigMap settings: data changed"]
    shown = str(of(world)) + str(changes(sets(world, 90), NOON + 90_000_000, 30))
    assert "blue" not in shown and "green" not in shown


def test_a_write_without_its_content_is_said_to_be_unknown_and_blurs_the_author_of_what_follows() -> None:
    log = web()
    log.write("Deployment", "web", 60, "patch", by="bob", body=False, **deployment("shop:2"))
    log.write("Deployment", "web", 120, **deployment("shop:2"))
    _, unknown, change = of(log.world())
    assert write_sentence(unknown) == "Deployment web was written; what changed was not recorded"
    assert (unknown.actor, unknown.alone) == ("bob", True)
    assert write_sentence(change) == "Deployment web: image of web shop:1 → shop:2"
    assert (change.actor, change.alone) == ("alice", False)
    assert (change.earliest, change.latest) == (NOON + 60_000_000, NOON + 120_000_000)  # bob may have made it


def test_a_status_write_that_shows_a_change_did_not_make_it() -> None:
    """Another API server, whose log is not there, has answered the write that scaled the Deployment."""
    log = web()
    log.write("Deployment", "web", 60, **CONTROLLERS, subresource="status", **deployment(replicas=5))
    _, change = of(log.world())
    assert write_sentence(change) == "Deployment web: replicas 2 → 5"
    assert (change.actor, change.user_agent, change.alone) == ("", "", False)
    assert (change.earliest, change.latest) == (NOON, NOON + 60_000_000)


def test_one_apply_is_one_change_and_a_rollout_is_one_change_with_its_steps() -> None:
    found = sets(rollout().world(), 90, around="web")
    assert [sentence(each) for each in found] == [
        "Deployment web: image of web shop:1 → shop:2, and 1 more object",
        "Deployment web was created, and 1 more object",
    ]
    assert [write_sentence(each.change) for each in found[0].steps] == [
        "ReplicaSet web-2 was created, replicas 1",
        "ReplicaSet web-1: replicas 2 → 1",
        "ReplicaSet web-2: replicas 1 → 2",
    ]
    assert [each.change.ref.name for each in found[1].steps] == ["web-1"]


def test_a_rollout_that_began_before_the_minutes_is_said_to_have_begun_before() -> None:
    world = rollout().world()
    late = [each for each in known_changes(world) if each.change.time > NOON + 65_000_000]
    (found,) = before(late, NOON + 90_000_000)
    assert sentence(found) == "Rollout of Deployment web, which began before"
    assert len(found.steps) == 2


def test_who_deletes_what_a_controller_owns_counts_only_by_hand() -> None:
    log = Log()
    for name, agent in (("web-a", MANAGER), ("web-b", KUBECTL)):
        log.write("Pod", name, 0, "create", by="system:x", agent=MANAGER, owner=OWNER, spec={})
        log.write("Pod", name, 60, "delete", by="someone", agent=agent, owner=OWNER, spec={})
    assert reported(log.world()) == ["Pod web-b was deleted"]


def test_what_is_nearer_and_graver_and_later_ranks_first() -> None:
    log = web()
    log.write("Deployment", "other", 0, "create", by="bob", **deployment())
    log.write("ValidatingWebhookConfiguration", "gate", 0, "create", by="carol", webhooks=[])
    log.write("Service", "web", 0, "create", by="dora", spec={"selector": {"app": "web"}})
    log.write("Deployment", "web", 100, **deployment("shop:2"))
    log.write("Deployment", "other", 110, by="bob", **deployment("shop:3"))
    log.write("ValidatingWebhookConfiguration", "gate", 120, by="carol", webhooks=[{"name": "a"}])
    log.write("Deployment", "web", 130, by="erin", **deployment("shop:2", replicas=3))
    found = sets(log.world(), 140, around="web")
    assert [(sentence(each), each.distance) for each in found][:4] == [
        ("Deployment web: image of web shop:1 → shop:2", Distance.OBJECT),
        ("Deployment web: replicas 2 → 3", Distance.OBJECT),
        ("Deployment other: image of web shop:1 → shop:3", Distance.NAMESPACE),
        ("ValidatingWebhookConfiguration gate: field webhooks changed", Distance.CLUSTER),
    ]
    assert [each.score for each in found] == sorted((each.score for each in found), reverse=True)
    assert {each.distance for each in sets(log.world(), 140)} == {Distance.ANY}
    assert not sets(log.world(), 2000, around="web")  # all of it is more than 30 minutes ago


def test_the_distance_in_time_is_that_of_the_change_whose_time_is_shown() -> None:
    log = Log()
    log.write("Deployment", "other", 40, "create", **deployment())
    log.write("Deployment", "web", 41, "create", **deployment())
    world, at = log.world(), NOON + 60_000_000
    found = changes(sets(world, 60, around="web"), at, 30)
    assert [each["text"] for each in found["changes"]] == ["Deployment web was created, and 1 more object"]
    for row, each in zip(rows(found), found["changes"], strict=True):
        assert row.iso == each["writes"][0]["time"]
        assert each["before"] == at - microseconds(datetime.fromisoformat(each["writes"][0]["time"]))
        assert (row.when, row.near) == ("19 s before", "same object")
        assert each["start"] < each["writes"][0]["time"]


@pytest.mark.parametrize(
    "body",
    [b"[]", b"{}", b"nothing", b'{"metadata":[],"spec":7,"status":"x"}', b"[" * 100_000,
     b'{"spec":{"containers":[1,{"image":{"a":[]},"name":7,"resources":"x"}],"taints":[3],"selector":[]}}',
     b'{"metadata":{"finalizers":[{}],"ownerReferences":[5,{}]},"status":{"conditions":[1,{"type":{},"status":[]}]}}'],
)  # fmt: skip
def test_objects_of_any_shape_are_read(body: bytes) -> None:
    intent = intent_of("apps", "Deployment", body)
    assert intent is None or all(len(value) <= 200 for _, value in intent)


def test_many_and_long_values_stay_small() -> None:
    containers = [{"name": f"c{number}", "image": "x" * 5000} for number in range(1000)]
    intent = intent_of("apps", "Deployment", json.dumps({"spec": {"containers": containers}}).encode())
    assert intent
    assert len(intent) == 61 and all(len(value) <= 120 for _, value in intent)
