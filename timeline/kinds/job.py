from collections.abc import Iterable

import msgspec

from timeline.entries import Facts
from timeline.kinds import Kind, Mark, Phase, Shape


class _Condition(msgspec.Struct, gc=False):
    type: str = ""
    status: str = ""


class _Status(msgspec.Struct, gc=False):
    active: int | None = None
    succeeded: int | None = None
    failed: int | None = None
    conditions: tuple[_Condition, ...] | None = None


class JobShape(Shape):
    status: _Status = msgspec.field(default_factory=_Status)


class JobFacts(Facts, frozen=True, omit_defaults=True, gc=False):
    finished: str = ""  # Complete or Failed
    suspended: bool = False
    active: int = 0
    succeeded: int = 0
    failed: int = 0


def _facts(job: JobShape) -> JobFacts:
    true = {each.type for each in job.status.conditions or () if each.status == "True"}
    return JobFacts(
        **job.metadata.common,
        finished="Complete" if "Complete" in true else "Failed" if "Failed" in true else "",
        suspended="Suspended" in true,
        active=job.status.active or 0,
        succeeded=job.status.succeeded or 0,
        failed=job.status.failed or 0,
    )


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


KIND = Kind("batch", "Job", "job", "Jobs", JobShape, JobFacts, _facts, _phase, _marks)
