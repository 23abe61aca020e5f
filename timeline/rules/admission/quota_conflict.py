"""Creations refused because others changed the same ResourceQuota meanwhile.

## What it sees

The API server counts each creation in the ResourceQuota of its Namespace. When many objects are created at once, these
writes collide, and the API server refuses a creation with 409 Conflict, naming the ResourceQuota instead of the object.

## Why it matters

Clients take a conflict for one about the object that they create, and most do not try a creation again. A pipeline
fails although the quota is not used up.

## Proof

The refused creations, in which the API server names the ResourceQuota as the object that was changed meanwhile.

## Looks alike but is benign

- A quota that is used up: the API server answers 403 `exceeded quota`.
- A creation that the same client repeated with success within a second: this is only an info.
- Updates of the ResourceQuota itself that collide: its controller repeats them.

## What to do

Let the client try a creation again after a conflict, or create fewer objects at once.
"""

from collections.abc import Iterator

from timeline.core.entries import Level, Request
from timeline.history.lifelines import Track, name_of
from timeline.history.world.world import World
from timeline.judging.advice import kubectl
from timeline.judging.coverage.lines import line, need
from timeline.judging.findings import Effect, Finding, Occurrence, longest, occurrence
from timeline.judging.refusals import outages as divided
from timeline.judging.rulebook import rule, setting
from timeline.judging.verdicts import Verdict

APART = setting("quota-conflict", "apart", 60, "s", "Refused creations further apart than this count separately.")
SHORT = setting("quota-conflict", "short", 1, "s", "A creation that succeeds within this time is only an info.")


@rule(
    "quota-conflict",
    judges=("ResourceQuota",),
    needs=(
        need(line("ResourceQuota", verbs="create update status", level=Level.METADATA)),
        need(line(verbs="conflict", level=Level.METADATA)),
        need(line("ResourceQuota", verbs="state"), misses="which of several ResourceQuotas of one name it was"),
        need(line(verbs="create", level=Level.METADATA), misses="creations that succeeded at the next try"),
    ),
    incident="{anchor} refused creations because it was changed meanwhile",
    harm="creations refused because of a conflict",
)
def judge(quota: Track, world: World) -> Iterator[Finding]:
    refused = [each for each in world.refused_by(quota.name) if each.verb == "create"]
    found = [_occurrence(quota, outage, world) for outage in divided.outages(refused, APART.microseconds)]
    if not found:
        return
    ref = quota.ref
    yield Finding(
        rule="quota-conflict",
        subject=ref,
        verdict=Verdict.EXACT,
        summary=f"{divided.writes(refused)} because ResourceQuota {ref.name} was changed meanwhile",
        occurrences=tuple(found),
        measured=longest(found),
        advice=(
            f"Look: {kubectl(ref.namespace, 'get all')}: were the refused objects created since? The proof has who "
            "sent the requests.",
            "Clean: apply the manifests of what is missing again: `kubectl apply -f FILE`.",
            "Prevent: let the client repeat a creation that was refused with 409, or create fewer objects at once.",
            f"Verify: {kubectl(ref.namespace, 'describe resourcequota {}', ref.name)} counts all objects.",
        ),
    )


def _occurrence(quota: Track, outage: list[Request], world: World) -> Occurrence:
    refused = divided.writes(outage)
    lost = [each for each in outage if not _repeated(each, world)]
    words = f"{divided.writes(lost)} and not repeated with success" if lost else refused
    return occurrence(
        *divided.shown(outage, "creation refused"),
        headline=f"{refused} because {{subjects}} was changed meanwhile",
        plural="ResourceQuotas",
        why="Exact: the API server names the ResourceQuota in each refusal.",
        effect=(Effect.POSSIBLE if lost else Effect.NONE, words),
        last=outage[-1].received,
        acts=divided.acts(outage),
        links=(divided.link(quota.name, outage),),
        interval=divided.lasted(outage),
    )


def _repeated(request: Request, world: World) -> bool:
    """Return whether an object of this name was created soon after its creation was refused."""
    end = request.staged + SHORT.microseconds
    lives = world.incarnations(name_of(request.ref), end) if request.ref.name else ()
    return any(each.created and request.received <= each.created.time <= end for each in lives)
