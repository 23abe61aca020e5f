"""These tests name who made a change: the program before its account, and nothing twice."""

import pytest

from timeline.core.actors import is_called, named, short
from timeline.core.entries import WRITER

JOB_CONTROLLER = "system:serviceaccount:kube-system:job-controller"
KCM = "kube-controller-manager/v1.29.2 (linux/amd64) kubernetes/4b8e8b5"


@pytest.mark.parametrize(
    ("account", "agent", "name", "shown"),
    [
        ("admin", "vc-cm-head/v0.0.0 (linux/amd64)", "vc-cm-head (admin)", "vc-cm-head (admin)"),
        ("admin", "kubectl/v1.29.2 (linux/amd64) kubernetes/4b8e8b5", "kubectl (admin)", "kubectl (admin)"),
        ("admin", "Go-http-client/2.0", "admin", "admin"),
        ("admin", "", "admin", "admin"),
        ("", "kubelet/v1.31 (linux/amd64)", "kubelet", "kubelet"),
        ("", "Go-http-client/2.0", "Go-http-client", "Go-http-client"),
        (None, None, "", ""),
        (JOB_CONTROLLER, f"{KCM}/{JOB_CONTROLLER}", f"job-controller ({JOB_CONTROLLER})", "job-controller"),
        (JOB_CONTROLLER, "", JOB_CONTROLLER, "kube-system/job-controller"),
        (
            "system:kube-controller-manager",
            f"{KCM}/job-controller",
            "job-controller (system:kube-controller-manager)",
            "job-controller (system:kube-controller-manager)",
        ),
        ("system:kube-scheduler", "kube-scheduler/v1", "kube-scheduler (system:kube-scheduler)", "kube-scheduler"),
        (
            "system:kube-scheduler",
            "kube-scheduler/v1 (linux/amd64) kubernetes/4b8e8b5/leader-election",
            "leader-election of kube-scheduler (system:kube-scheduler)",
            "leader-election of kube-scheduler (system:kube-scheduler)",
        ),
        (
            "system:serviceaccount:ops:deployer",
            "argocd/v2",
            "argocd (system:serviceaccount:ops:deployer)",
            "argocd (ops/deployer)",
        ),
        ("system:node:n1", "kubelet/v1.31", "kubelet (system:node:n1)", "kubelet on n1"),
        ("a\0b", "x/1", "x (a\ufffdb)", "x (a\ufffdb)"),
    ],
)
def test_a_program_is_named_before_its_account(account: str | None, agent: str | None, name: str, shown: str) -> None:
    assert named(account, agent) == name
    assert short(name) == shown


def test_names_that_clients_choose_are_bounded() -> None:
    assert len(named("a" * 1000, "b" * 1000)) == 2 * WRITER + 3


def test_somebody_is_called_by_the_whole_name_or_by_the_account() -> None:
    name = named("admin", "kubectl/v1")
    assert is_called(name, "kubectl (admin)") and is_called(name, "admin") and is_called("admin", "admin")
    assert not is_called(name, "kubectl") and not is_called(name, "min")


def test_somebody_is_also_called_as_lists_write_it() -> None:
    for account, agent in (
        ("system:serviceaccount:ops:deployer", "argocd/v2"),
        ("system:serviceaccount:ops:deployer", ""),
        ("system:node:node-3", "kubelet/v1"),
        ("team/bob", "kubectl/v1"),
        ("admin", "vc-scheduler/v0 kubernetes/0 leader-election"),
    ):
        name = named(account, agent)
        assert is_called(name, short(name)) and is_called(name, short(account))
    assert not is_called(named("system:serviceaccount:ops:deployer", "argocd/v2"), "argocd (ops/other)")
