"""Read Volcano's Jobs."""

import re
from collections.abc import Iterable

import msgspec

from timeline.core.entries import Facts
from timeline.kinds import Kind, Mark, Phase, Reference, Shape, Telling


class _Claim(msgspec.Struct, gc=False):
    """The claim template of a volume. Only its presence matters, so no field of it is decoded."""


class _Volume(msgspec.Struct, gc=False):
    volumeClaimName: str | None = None
    volumeClaim: _Claim | None = None


class _Spec(msgspec.Struct, gc=False):
    volumes: tuple[_Volume, ...] | None = None


class _State(msgspec.Struct, gc=False):
    phase: str | None = None


class _Status(msgspec.Struct, gc=False):
    state: _State | None = None
    version: int | None = None
    retryCount: int | None = None
    controlledResources: dict[str, str] | None = None


class VolcanoJobShape(Shape):
    spec: _Spec = msgspec.field(default_factory=_Spec)
    status: _Status = msgspec.field(default_factory=_Status)


class VolcanoJobFacts(Facts, frozen=True, omit_defaults=True, gc=False):
    """What is kept of a Volcano Job."""

    phase: str = ""
    version: int = 0  # the attempt; its Pods carry it as volcano.sh/job-version
    retries: int = 0
    claims: tuple[str, ...] = ()  # the claims that its volumes name, including names that the controller wrote there
    held: tuple[str, ...] = ()  # other claims that its status names
    makes: int = 0  # the number of volumes for which the controller creates a claim

    @property
    def terminal(self) -> bool:
        return self.phase in {"Completed", "Failed", "Aborted", "Terminated"}


_generated = re.compile(r"(.+)-pvc-[0-9a-z]{12}")


def makes_claim(job: str, claim: str) -> bool:
    """Return whether the name of a claim has the form that the controller generates for this Job."""
    found = _generated.fullmatch(claim)
    return found is not None and found[1] == job


def _facts(job: VolcanoJobShape) -> VolcanoJobFacts:
    volumes = job.spec.volumes or ()
    name = job.metadata.name or ""
    claims = tuple(dict.fromkeys(each.volumeClaimName for each in volumes if each.volumeClaimName))
    held = (claim for key, claim in (job.status.controlledResources or {}).items() if key.startswith("volume-pvc-"))
    return VolcanoJobFacts(
        *job.metadata.common,
        phase=(job.status.state.phase if job.status.state else None) or "",
        version=job.status.version or 0,
        retries=job.status.retryCount or 0,
        claims=claims,
        held=tuple(sorted(set(held) - set(claims))),
        makes=sum(
            each.volumeClaim is not None and (not each.volumeClaimName or makes_claim(name, each.volumeClaimName))
            for each in volumes
        ),
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


def _references(job: VolcanoJobFacts) -> Iterable[Reference]:
    for claim in job.claims + job.held:
        yield Reference("", "PersistentVolumeClaim", claim, "claim")


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
    _references,
    subtitle=lambda job: f"attempt {job.retries + 1}",
    telling=Telling(
        numbers=(
            ("needed", "status.minAvailable"),
            ("pending", "status.pending"),
            ("running", "status.running"),
            ("succeeded", "status.succeeded"),
            ("failed", "status.failed"),
            ("terminating", "status.terminating"),
            ("retries", "status.retryCount"),
        )
    ),
    aliases=("vj", "vcjob"),
)
