"""These tests read the advice of an incident: its cause is ended first, and nothing is said twice or without end."""

import pytest

from timeline.history.lifelines import Name
from timeline.judging.advice import lines_of
from timeline.judging.findings import Link, Root
from timeline.payloads.incidents.advice import Symptom, advice

LEASE = ("kube-system", "kube-controller-manager")
LOST = Link(Root.LOST_LEASE, "k", LEASE, 0, 9)
OLD = Link(Root.OLD_COPIES, "k", ("job-controller", "batch", "Job"), 0, 9)
MISSING = Link(Root.MISSING, "k", ("", "PersistentVolumeClaim", "n", "data"), 0, 9)
SHARED = Link(Root.CONFIGURATION, "k", ("n", "volcano"), 0, 9)


def late_writes() -> Symptom:
    lines = [
        "Look: does the process of the old holder still run?",
        "Stop: `kubectl -n kube-system delete pod kcm-a` ends the old holder, if it still runs.",
        "Clean: look at Pod web.",
        "Prevent: find out what stopped the old holder.",
        "Verify: only the holder of the Lease writes.",
    ]
    return Symptom("write-after-lease-lost", lines, Name("coordination.k8s.io", "Lease", *LEASE))


def excess(name: str) -> Symptom:
    lines = [
        f"Look: what did it do? `kubectl -n n describe pod {name}-x`",
        f"Clean: delete it: `kubectl -n n delete pod {name}-x`.",
        "Prevent: upgrade Kubernetes.",
        "Make the work idempotent.",
        f"Verify: `kubectl -n n get pods -l job-name={name}` shows no more than it allows.",
    ]
    return Symptom("job-excess-pods", lines, Name("batch", "Job", "n", name))


def test_the_cause_comes_first_and_stops_and_prevents_what_it_did() -> None:
    found = lines_of(advice(LOST, [excess("sum"), late_writes()]))
    assert list(found) == ["Look", "Stop", "Clean", "Prevent", "Verify"]
    assert found["Look"][0] == "does the process of the old holder still run?"
    assert found["Stop"] == ["`kubectl -n kube-system delete pod kcm-a` ends the old holder, if it still runs."]
    assert found["Clean"] == ["look at Pod web.", "delete it: `kubectl -n n delete pod sum-x`."]
    assert found["Prevent"] == ["find out what stopped the old holder."]
    assert found["Verify"][1:] == ["`kubectl -n n get pods -l job-name=sum` shows no more than it allows."]


@pytest.mark.parametrize(
    ("root", "step", "words"),
    [
        (LOST, "Stop", "end the process of the old holder of Lease kube-controller-manager"),
        (LOST, "Look", "`kubectl -n kube-system get lease kube-controller-manager -o yaml`"),
        (OLD, "Stop", "restart the process of job-controller if it goes on"),
        (OLD, "Prevent", "compare its watch with that of other clients"),
        (SHARED, "Stop", "give each scheduler that elects on Lease volcano a Lease of its own"),
        (MISSING, "Clean", "create PersistentVolumeClaim data"),
    ],
)
def test_a_cause_that_no_finding_states_has_advice_of_its_own(root: Link, step: str, words: str) -> None:
    found = lines_of(advice(root, [excess("sum")]))
    assert words in found[step][0]
    assert found["Prevent"][0] != "upgrade Kubernetes."
    assert ("upgrade Kubernetes." in found["Prevent"]) is (root is OLD)  # it mends no other of these


def test_what_loops_for_want_of_an_object_is_stopped_too() -> None:
    lines = ["Stop: `vcctl job suspend --namespace n --name train`.", "Prevent: upgrade Volcano.", "Verify: count."]
    runaway = Symptom("runaway-creation", lines, Name("batch.volcano.sh", "Job", "n", "train"))
    found = lines_of(advice(MISSING, [runaway]))
    assert found["Stop"] == ["`vcctl job suspend --namespace n --name train`."]
    assert found["Prevent"] == ["create PersistentVolumeClaim data before what needs it."]


def test_without_a_proven_cause_all_advice_of_the_symptoms_stands() -> None:
    found = lines_of(advice(None, [excess("sum")]))
    assert found["Prevent"] == ["upgrade Kubernetes.", "Make the work idempotent."]


def test_of_many_symptoms_the_first_is_spelt_out_and_the_rest_are_counted() -> None:
    found = lines_of(advice(OLD, [excess(f"job-{number}") for number in range(40)]))
    assert found["Clean"] == [
        "delete it: `kubectl -n n delete pod job-0-x`.",
        "the same for 39 more Jobs (job-excess-pods).",
    ]
    assert sum(map(len, found.values())) <= 12


def test_a_command_is_given_once_in_a_step_whatever_is_said_about_it() -> None:
    other = Symptom(
        "stale-view", ["Clean: remove `kubectl -n n delete pod sum-x`.", "Verify: look."], Name("", "", "", "")
    )
    found = lines_of(advice(None, [excess("sum"), other]))
    assert found["Clean"] == ["delete it: `kubectl -n n delete pod sum-x`."]
