"""Read Deployments, and find the Lease on which the replicas of a workload elect their leader."""

from collections.abc import Iterable
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple, Protocol

import msgspec

from timeline.core.entries import Facts
from timeline.core.numbers import whole_number
from timeline.kinds import Kind, Reference, Shape, Telling


class Lock(NamedTuple):
    """The Lease on which the replicas of a workload elect their leader.

    `schedulers` are the scheduler names that the leader serves; empty if it is not a scheduler.
    """

    namespace: str
    name: str
    schedulers: tuple[str, ...]


class _Container(msgspec.Struct, gc=False):
    image: str | None = None
    command: tuple[str, ...] | None = None
    args: tuple[str, ...] | None = None


class _PodSpec(msgspec.Struct, gc=False):
    containers: tuple[_Container, ...] | None = None


class _Template(msgspec.Struct, gc=False):
    spec: _PodSpec | None = None


class WorkloadSpec(msgspec.Struct, gc=False):
    replicas: int | None = None
    template: _Template | None = None


class _Status(msgspec.Struct, gc=False):
    desiredNumberScheduled: int | None = None


class WorkloadShape(Shape):
    spec: WorkloadSpec = msgspec.field(default_factory=WorkloadSpec)
    status: _Status = msgspec.field(default_factory=_Status)


class Workload(Protocol):
    """An object whose spec has a template of Pods."""

    @property
    def spec(self) -> WorkloadSpec: ...


class WorkloadFacts(Facts, frozen=True, omit_defaults=True, gc=False):
    """What is kept of a Deployment, StatefulSet or DaemonSet."""

    replicas: int = -1  # how many Pods it wants; -1 if no body of it was logged
    locks: tuple[Lock, ...] = ()  # from the arguments of its containers


def facts(workload: WorkloadShape) -> WorkloadFacts:
    replicas = workload.spec.replicas
    return WorkloadFacts(*workload.metadata.common, replicas=1 if replicas is None else replicas, locks=locks(workload))


def locks(workload: Workload) -> tuple[Lock, ...]:
    """Return the locks of the containers whose arguments show on which Lease they elect a leader."""
    pods = workload.spec.template and workload.spec.template.spec
    found = [_lock(each.image or "", each.command or (), each.args or ()) for each in (pods and pods.containers) or ()]
    return tuple(lock for lock in found if lock)


def references(workload: WorkloadFacts) -> Iterable[Reference]:
    return [Reference("coordination.k8s.io", "Lease", lock.name, "lock", lock.namespace) for lock in workload.locks]


class _Program(NamedTuple):
    """The values that a program uses where its arguments do not set them."""

    lock: tuple[str, str] = ("", "")  # namespace, name
    scheduler: str = ""


# Sources: volcano-sh/volcano cmd/*/main.go, which sets the lock's name before it parses the flags
# (volcano-sh/volcano#3818), and kubernetes/kubernetes pkg/scheduler/apis/config/v1/defaults.go.
_PROGRAMS = {
    "vc-scheduler": _Program(("volcano-system", "volcano"), "volcano"),
    "vc-controller-manager": _Program(("volcano-system", "vc-controller-manager"), "volcano"),
    "kube-scheduler": _Program(("kube-system", "kube-scheduler")),
}
_NAMESPACE = (
    "--lock-object-namespace",
    "--leader-elect-resource-namespace",
)  # the deprecated flag wins if both are given
_NAME = ("--leader-elect-resource-name", "--lock-object-name")


@lru_cache(1_000)
def _lock(image: str, command: tuple[str, ...], args: tuple[str, ...]) -> Lock | None:
    """Return the lock of one container; None if it elects no leader, or if its arguments do not show on which Lease."""
    words = [word for text in (*command, *args) for word in text.split()]  # `sh -c "…"` has all in one argument
    flags = _flags(words)
    program = next((found for word in (*words, image) if (found := _PROGRAMS.get(_base(word)))), _Program())
    if program is _PROGRAMS["vc-scheduler"] and _named_after_its_scheduler(image):
        return None
    if "--config" in flags and program is _PROGRAMS["kube-scheduler"]:
        program = _Program()  # the file may set another Lease
    namespace = _last(flags, _NAMESPACE) or program.lock[0]
    name = _last(flags, _NAME) or program.lock[1]
    schedulers = tuple(sorted(set(flags.get("--scheduler-name", [program.scheduler])) - {""}))
    unknown = any(
        "$(" in text for text in (namespace, name, *schedulers)
    )  # a variable of the container, whose value is not known
    if flags.get("--leader-elect", [""])[-1].lower() in {"false", "0", "f"} or not namespace or not name or unknown:
        return None
    return Lock(namespace, name, schedulers)


def _flags(words: list[str]) -> dict[str, list[str]]:
    """Return the values of each flag, given as `--flag=value` or `--flag value`; "" for a flag without a value."""
    found: dict[str, list[str]] = {}
    for word, following in pairwise([*words, "--"]):
        if word.startswith("--"):
            flag, equals, value = word.partition("=")
            alone = not equals and not following.startswith("-")
            found.setdefault(flag, []).append((following if alone else value).strip("\"'"))
    return found


def _last(flags: dict[str, list[str]], names: tuple[str, ...]) -> str:
    return next((flags[name][-1] for name in names if flags.get(name, [""])[-1]), "")


def _base(word: str) -> str:
    """Return the last part of a path or of an image without its tag: vc-scheduler for both /vc-scheduler and
    registry:5000/volcanosh/vc-scheduler:v1.10.0."""
    return word.rpartition("/")[2].partition("@")[0].partition(":")[0]


def _named_after_its_scheduler(image: str) -> bool:
    """Return whether an image is Volcano 1.9 or older, which names the lock after the scheduler."""
    version = image.rpartition(":")[2].removeprefix("v").split(".")
    minor = whole_number(version[1]) if version[0] == "1" and len(version) > 1 else None
    return minor is not None and minor < 10


_TELLING = Telling(conditions=(("ReplicaFailure", "True"), ("Progressing", "False"), ("Available", "False")))

KIND = Kind(
    "apps",
    "Deployment",
    "deploy",
    "Workloads",
    WorkloadShape,
    WorkloadFacts,
    facts,
    references=references,
    telling=_TELLING,
    subresources=("status", "scale"),
)
