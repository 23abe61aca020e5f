from collections.abc import Iterable

import msgspec

from timeline.entries import Facts
from timeline.kinds import Kind, Mark, Phase, Shape


class _State(msgspec.Struct, gc=False):
    phase: str | None = None


class _Status(msgspec.Struct, gc=False):
    state: _State | None = None
    version: int | None = None
    retryCount: int | None = None


class VolcanoJobShape(Shape):
    status: _Status = msgspec.field(default_factory=_Status)


class VolcanoJobFacts(Facts, frozen=True, omit_defaults=True, gc=False):
    phase: str = ""
    version: int = 0  # the attempt; its pods carry it as volcano.sh/job-version
    retries: int = 0

    @property
    def terminal(self) -> bool:
        return self.phase in {"Completed", "Failed", "Aborted", "Terminated"}


def _facts(job: VolcanoJobShape) -> VolcanoJobFacts:
    return VolcanoJobFacts(
        **job.metadata.common,
        phase=(job.status.state.phase if job.status.state else None) or "",
        version=job.status.version or 0,
        retries=job.status.retryCount or 0,
    )


def _phase(job: VolcanoJobFacts) -> Phase:
    if job.terminal:
        return Phase(job.phase, "ended")
    if job.deleting:
        return Phase("Terminating", "ended")
    return Phase(job.phase or "New", "strong" if job.phase == "Running" else "pale")


def _marks(before: VolcanoJobFacts, after: VolcanoJobFacts) -> Iterable[Mark]:
    if before.phase != after.phase:
        yield Mark("status", f"phase {after.phase or 'empty'}")
    elif before.retries != after.retries:
        yield Mark("status", f"retry {after.retries}")


KIND = Kind(
    "batch.volcano.sh",
    "Job",
    "vcj",
    "Jobs",
    VolcanoJobShape,
    VolcanoJobFacts,
    _facts,
    _phase,
    _marks,
    subtitle=lambda job: f"attempt {job.retries + 1}",
)
