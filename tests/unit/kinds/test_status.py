"""These tests check what is read of the status of objects of each kind."""

from typing import Any

import msgspec
import pytest

from timeline.kinds import Condition, Status, kind_of, status_of

SINCE, IN_US = "2026-11-21T07:52:13Z", 1795247533000000
HUGE = 10**30


def said(group: str, kind: str, **fields: Any) -> Status:
    return status_of(msgspec.json.encode({"kind": kind, **fields}), kind_of(group, kind).telling)


def condition(type_of_it: str, status: str, reason: str = "", message: str = "") -> dict[str, str]:
    said = {"type": type_of_it, "status": status, "reason": reason, "message": message}
    return {**said, "lastTransitionTime": SINCE}


def reported(status: Status) -> list[tuple[str, str, str]]:
    return [(each.type, each.status, each.reason) for each in status.conditions if each.telling]


def test_a_job_says_why_it_failed_and_how_many_of_its_pods_did() -> None:
    why = "Failed", "True", "BackoffLimitExceeded", "Job has reached the specified backoff limit"
    status = {"failed": 4, "succeeded": 1, "conditions": [condition("Suspended", "False"), condition(*why)]}
    job = said("batch", "Job", spec={"completions": 3}, status=status)
    assert job.conditions[0] == Condition(*why, IN_US, True)
    assert reported(job) == [why[:3]] and len(job.conditions) == 2
    assert job.numbers == (("wanted", 3), ("succeeded", 1), ("failed", 4))


def test_a_volcano_job_says_its_state_with_reason_and_message() -> None:
    state = {"phase": "Aborted", "reason": "AdmissionDenied", "message": "no quota", "lastTransitionTime": SINCE}
    history = [{"status": "Pending", "lastTransitionTime": SINCE}]
    status = {"state": state, "conditions": history, "minAvailable": 3, "retryCount": 2, "failed": 1}
    job = said("batch.volcano.sh", "Job", status=status)
    assert job.conditions == (Condition("Aborted", "", "AdmissionDenied", "no quota", IN_US, True),)
    assert job.numbers == (("needed", 3), ("failed", 1), ("retries", 2))


def test_a_deployment_that_does_not_get_on_says_so_before_all_else() -> None:
    conditions = [
        condition("Available", "False", "MinimumReplicasUnavailable"),
        condition("Progressing", "False", "ProgressDeadlineExceeded"),
        condition("ReplicaFailure", "True", "FailedCreate", "exceeded quota"),
    ]
    status = {"readyReplicas": 1, "unavailableReplicas": 2, "conditions": conditions}
    deployment = said("apps", "Deployment", spec={"replicas": 3}, status=status)
    assert [each[0] for each in reported(deployment)] == ["ReplicaFailure", "Progressing", "Available"]
    assert deployment.numbers == (("wanted", 3), ("ready", 1), ("unavailable", 2))
    healthy = said("apps", "Deployment", status={"conditions": [condition("Available", "True", "MinimumReplicas")]})
    assert reported(healthy) == [] and len(healthy.conditions) == 1


DAEMONS = {"desiredNumberScheduled": 5, "numberReady": 4, "numberUnavailable": 1}


@pytest.mark.parametrize(
    ("kind", "wanted", "status", "numbers"),
    [
        ("StatefulSet", 2, {"readyReplicas": 1}, (("wanted", 2), ("ready", 1))),
        ("ReplicaSet", 2, {}, (("wanted", 2),)),
        ("DaemonSet", None, DAEMONS, (("wanted", 5), ("ready", 4), ("unavailable", 1))),
    ],
)
def test_workloads_say_how_many_replicas_are_ready(
    kind: str, wanted: int | None, status: dict[str, int], numbers: Any
) -> None:
    assert said("apps", kind, spec={"replicas": wanted}, status=status).numbers == numbers


def test_a_pod_says_why_it_is_not_scheduled_and_that_it_was_evicted() -> None:
    why = condition("PodScheduled", "False", "Unschedulable", "0/3 nodes are available")
    pod = said("", "Pod", status={"phase": "Pending", "conditions": [why]})
    assert [each.type for each in pod.conditions] == ["Pending", "PodScheduled"]
    assert pod.conditions[1].message == "0/3 nodes are available" and pod.numbers == ()
    pod = said("", "Pod", status={"phase": "Failed", "reason": "Evicted", "message": "The node was low on memory."})
    assert pod.conditions == (Condition("Failed", "", "Evicted", "The node was low on memory.", 0, True),)


def test_containers_say_how_they_failed_last_and_why_they_wait() -> None:
    killed = {"exitCode": 137, "reason": "OOMKilled", "signal": 9, "finishedAt": SINCE}
    done = {"exitCode": 0, "reason": "Completed", "finishedAt": SINCE}
    waits = {"reason": "CrashLoopBackOff", "message": "back-off 5m0s restarting failed container"}
    containers = [
        {"name": "main", "restartCount": 7, "state": {"waiting": waits}, "lastState": {"terminated": killed}},
        {"name": "side", "restartCount": 1, "state": {"terminated": done}, "lastState": {"terminated": killed}},
        {"name": "calm", "state": {"running": {"startedAt": SINCE}}, "lastState": {}},
    ]
    before = [{"name": "init", "state": {"terminated": done}}]
    pod = said("", "Pod", status={"initContainerStatuses": before, "containerStatuses": containers})
    init, main, side, calm = pod.containers
    assert init.ended is not None and (init.ended.exit_code, init.restarts) == (0, 0)
    assert main.ended is not None and (main.waiting, main.restarts) == ("CrashLoopBackOff", 7)
    assert (main.ended.exit_code, main.ended.signal, main.ended.reason, main.ended.time) == (137, 9, "OOMKilled", IN_US)
    assert side.ended is not None and side.ended.exit_code == 137, "an end that failed counts more than a later success"
    assert calm.ended is None and calm.waiting == ""


def test_a_custom_resource_says_its_phase_and_the_conditions_that_give_a_reason() -> None:
    conditions = [condition("Synced", "True"), condition("Ready", "False", "NoTickets")]
    status = {"phase": "Stuck", "message": "no tickets", "conditions": conditions}
    custom = said("example.org", "Train", status=status)
    assert reported(custom) == [("Stuck", "", ""), ("Ready", "False", "NoTickets")] and len(custom.conditions) == 3


@pytest.mark.parametrize(
    "status",
    [
        None,
        "broken",
        {"conditions": "none", "phase": 7, "state": ["x"], "containerStatuses": {"name": "main"}},
        {"conditions": [1, {"type": 2}, {"status": "True"}], "containerStatuses": [{"restartCount": "x"}]},
        {"readyReplicas": HUGE, "retryCount": -HUGE, "containerStatuses": [{"name": "a", "restartCount": HUGE}]},
        {"state": {"phase": {"deep": True}}, "readyReplicas": "3", "conditions": [{"type": "A", "status": True}]},
    ],
)
def test_a_status_that_kubernetes_does_not_write_says_nothing(status: Any) -> None:
    for group, kind in (("", "Pod"), ("batch", "Job"), ("batch.volcano.sh", "Job"), ("example.org", "Train")):
        assert said(group, kind, status=status) == Status()
    assert status_of(b'"text"', kind_of("", "Pod").telling) == Status()


def test_what_is_read_of_a_status_has_an_end() -> None:
    many = said("", "Node", status={"conditions": [condition(f"C{at}", "True", "x", "y" * 9000) for at in range(500)]})
    assert len(many.conditions) == 20 and len(many.conditions[0].message) == 2001
    odd = said("", "Node", status={"conditions": [{"type": "Ready", "status": "False", "lastTransitionTime": "soon"}]})
    assert odd.conditions[0].since == 0
