"""Read the Jobs of Kubernetes."""

from collections.abc import Iterable

import msgspec

from timeline.core.entries import Facts
from timeline.core.numbers import whole_number
from timeline.kinds import Kind, Mark, Phase, Shape, Telling


class _FailureRule(msgspec.Struct, gc=False):
    action: str = ""


class _FailurePolicy(msgspec.Struct, gc=False):
    rules: tuple[_FailureRule, ...] | None = None


class _Spec(msgspec.Struct, gc=False):
    parallelism: int | None = None
    completions: int | None = None
    completionMode: str | None = None
    suspend: bool | None = None
    managedBy: str | None = None
    podFailurePolicy: _FailurePolicy | None = None


class _Condition(msgspec.Struct, gc=False):
    type: str = ""
    status: str = ""


class _Uncounted(msgspec.Struct, gc=False):
    succeeded: tuple[str, ...] | None = None
    failed: tuple[str, ...] | None = None


class _Status(msgspec.Struct, gc=False):
    active: int | None = None
    succeeded: int | None = None
    failed: int | None = None
    conditions: tuple[_Condition, ...] | None = None
    uncountedTerminatedPods: _Uncounted | None = None
    completedIndexes: str | None = None
    failedIndexes: str | None = None


class JobShape(Shape):
    spec: _Spec = msgspec.field(default_factory=_Spec)
    status: _Status = msgspec.field(default_factory=_Status)


class JobFacts(Facts, frozen=True, omit_defaults=True, gc=False):
    """What is kept of a Job."""

    finished: str = ""  # Complete or Failed
    closing: bool = False  # its result is decided: running Pods are stopped, and not all of them are counted
    suspended: bool = False  # its condition Suspended is True
    suspend: bool = False  # spec.suspend: its user wants it suspended
    parallelism: int = -1  # how many Pods may be active at a time; -1 if it is not known
    completions: int = -1  # how many Pods have to succeed; -1 if any one success is enough
    indexed: bool = False
    foreign: bool = False  # spec.managedBy names a controller other than that of Kubernetes, which may count otherwise
    lenient: bool = False  # its podFailurePolicy ignores some failures; such Pods are never counted
    active: int = 0
    succeeded: int = 0
    failed: int = 0
    uncounted_succeeded: tuple[str, ...] = ()  # UIDs of Pods that are listed but not in the counter yet
    uncounted_failed: tuple[str, ...] = ()
    completed_indexes: str = ""  # "0-2,5"
    failed_indexes: str = ""

    @property
    def uncounted(self) -> set[str]:
        """Return the UIDs of the Pods that are listed but not in a counter yet."""
        return {*self.uncounted_succeeded, *self.uncounted_failed}

    @property
    def recorded(self) -> int:
        """Return how many Pods the Job has recorded so far by their UIDs, whether counted already or only listed.

        An Indexed Job counts successes by index, so these are left out. The number never decreases.
        """
        succeeded = 0 if self.indexed else self.succeeded + len(self.uncounted_succeeded)
        return succeeded + self.failed + len(self.uncounted_failed)

    def settled(self, index: int) -> bool:
        """Return whether a completion index has succeeded, or has finally failed."""
        ranges = ",".join(filter(None, (self.completed_indexes, self.failed_indexes)))
        for each in filter(None, ranges.split(",")):
            first, _, last = each.partition("-")
            least, most = whole_number(first), whole_number(last or first)
            if least is not None and most is not None and least <= index <= most:
                return True
        return False


def _facts(job: JobShape) -> JobFacts:
    true = {each.type for each in job.status.conditions or () if each.status == "True"}
    policy = job.spec.podFailurePolicy or _FailurePolicy()
    uncounted = job.status.uncountedTerminatedPods or _Uncounted()
    return JobFacts(
        *job.metadata.common,
        finished="Complete" if "Complete" in true else "Failed" if "Failed" in true else "",
        closing=bool(true & {"Complete", "Failed", "SuccessCriteriaMet", "FailureTarget"}),
        suspended="Suspended" in true,
        suspend=bool(job.spec.suspend),
        parallelism=-1 if job.spec.parallelism is None else job.spec.parallelism,
        completions=-1 if job.spec.completions is None else job.spec.completions,
        indexed=job.spec.completionMode == "Indexed",
        foreign=(job.spec.managedBy or _OWN) != _OWN,
        lenient=any(rule.action == "Ignore" for rule in policy.rules or ()),
        active=job.status.active or 0,
        succeeded=job.status.succeeded or 0,
        failed=job.status.failed or 0,
        uncounted_succeeded=uncounted.succeeded or (),
        uncounted_failed=uncounted.failed or (),
        completed_indexes=job.status.completedIndexes or "",
        failed_indexes=job.status.failedIndexes or "",
    )


_OWN = "kubernetes.io/job-controller"


def _phase(job: JobFacts) -> Phase:
    if job.finished:
        return Phase(job.finished, "ended")
    if job.deleting:
        return Phase("Terminating", "ended")
    if job.suspended:
        return Phase("Suspended", "muted")
    return Phase(f"{job.active} active", "strong") if job.active else Phase("New", "pale")


def _marks(before: JobFacts, after: JobFacts) -> Iterable[Mark]:
    if after.finished and not before.finished:
        yield Mark("finished", after.finished.lower())
    elif (before.succeeded, before.failed) != (after.succeeded, after.failed):
        yield Mark("status", f"{after.succeeded} succeeded, {after.failed} failed")


_TELLING = Telling(
    conditions=(
        ("Failed", "True"),
        ("FailureTarget", "True"),
        ("Suspended", "True"),
        ("Complete", "True"),
        ("SuccessCriteriaMet", "True"),
    ),
    numbers=(
        ("wanted", "spec.completions"),
        ("active", "status.active"),
        ("ready", "status.ready"),
        ("succeeded", "status.succeeded"),
        ("failed", "status.failed"),
    ),
)

KIND = Kind("batch", "Job", "job", "Jobs", JobShape, JobFacts, _facts, _phase, _marks, telling=_TELLING)
