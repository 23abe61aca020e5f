"""Children created over and over, which nobody asked for and nobody uses.

## What it sees

A Volcano job whose controller creates claims (`<job>-pvc-<12 letters or digits>`) that are neither in its
`spec.volumes[].volumeClaimName` nor in `status.controlledResources`. Of any other owner: at least 20 children of one
kind, created within 60 s, or 100 within an hour, while its `metadata.generation` does not change, that neither its spec
nor its status names or asks for, and that no Pod uses. Or as many Pods of a ReplicaSet, beyond its `spec.replicas`,
that nobody has deleted. There is one finding for each owner, and its count grows with the children.

## Why it matters

The controller creates a child, fails at a later step, and starts again without remembering the child. Each retry leaks
another child: of storage, of a quota, of addresses. Volcano goes through a job's volumes, and writes the names of the
claims that it created back only when it has found all claims that the volumes name. A volume that names a missing claim
makes it leak one claim with each retry (volcano-sh/volcano#4100: without end in 1.11.0, ten a second; up to 16 in older
versions).

## Proof

The creations of the children, which name the owner by its UID. A Volcano job never uses more created claims than it has
volumes without a named claim, so all further claims have leaked, even if lines of the log are missing. The claims of
the last attempt have leaked if the job is seen without them 5 s later, or if its Event PVCError says that the attempt
failed. One leaked claim that surely still exists is a warning, two are an error. For other owners the log must be
complete, and the names must be random: a child whose name says what it is for may belong to something outside of the
cluster, and is only an info. Pods, Jobs and custom resources are only an info, too, because they do work of their own.

## Looks alike but is benign

- Claims whose names are written back a few ms after their creation.
- Claims and children of an owner that is being deleted, and children that are deleted again at once.
- Whatever a spec asks for, in any number: `replicas`, `parallelism`, `workers`, a list of names, nested counts.
- ReplicaSets of a rollout, Jobs of a CronJob, claims of a StatefulSet and of ephemeral volumes,
  EndpointSlices, Events, Leases, ControllerRevisions.
- Pods of a workload, but for those of a ReplicaSet that stay. Pods that a node refused: refused-by-node reports these.
- Children that Pods use.
- An owner whose body was never logged, because nobody knows what it asks for. The claims of such a Volcano job are
  reported as info if there are at least 20 within 60 s.

## What to do

Stop the controller from trying again, delete the leaked objects that are not in use, remove the cause (for a Volcano
job: the missing claim, the order of its volumes, Volcano before 1.11.1), and check that the count does not grow any
more. The finding gives the commands.
"""

from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

from timeline.history.lifelines import Track
from timeline.history.world.world import World
from timeline.judging.cleanup import MOST, deletion_advice
from timeline.judging.coverage.lines import line, need
from timeline.judging.findings import Effect, Finding, Part, Proof, occurrence
from timeline.judging.jobs.children import (
    by_generation,
    came_quickly,
    is_used,
    named_at_random,
    pace,
    requested_children,
    unnamed_children,
    was_kept,
)
from timeline.judging.jobs.volcano_claims import claims_of, leaked_claims, surely_exists
from timeline.judging.references.missing import links_of
from timeline.judging.rulebook import rule, setting
from timeline.judging.verdicts import Verdict
from timeline.kinds import qualified
from timeline.kinds.pod import refusal_of

COUNT = setting("runaway-creation", "count", 20, "", "How many unwanted children of one kind are a runaway.")
WITHIN = setting("runaway-creation", "within", 60, "s", "In how long a time so many of them come.")
SLOW_COUNT = setting("runaway-creation", "slow-count", 100, "", "How many of them are a runaway if they come slowly.")
SLOW_WITHIN = setting("runaway-creation", "slow-within", 3600, "s", "In how long a time so many of them come slowly.")
SETTLE = setting("runaway-creation", "settle", 5, "s", "How long a controller may take to name what it made.")

_VOLCANO = "Job.batch.volcano.sh"
_USED_BY_PODS = {"PersistentVolumeClaim", "ConfigMap", "Secret", "ServiceAccount"}
_WORKLOADS = {"Pod", "Job", "CronJob", "Deployment", "StatefulSet", "DaemonSet"}


class Runaway(NamedTuple):
    """The children that an owner created, and that it neither names nor uses."""

    leaked: list[Track]  # in order of creation
    verdict: Verdict
    effect: Effect
    why: str


@rule(
    "runaway-creation",
    judges=(),
    needs=(
        need(line("PersistentVolumeClaim", "Pod", "ReplicaSet", verbs="state", others=True)),
        need(
            line("PersistentVolumeClaim", "Pod", "ReplicaSet", verbs="create", others=True),
            misses="what was created meanwhile",
        ),
        need(line("ConfigMap", verbs="create"), misses="ConfigMaps"),
    ),
    dense="claims of Volcano that are known to have stayed only by the absence of a deletion",
    also=(line("Event", verbs="create"),),
    incident="{subjects} made {count} objects too many",
    harm="{count} objects too many of {anchors}",
)
def judge(owner: Track, world: World) -> Iterator[Finding]:
    kind = qualified(owner.ref.group, owner.ref.kind)
    if kind == _VOLCANO:
        logged = any(moment.entry.facts is not None for moment in owner.moments)
        found = _leaked_claims(owner, world) if logged else _unexplained_claims(owner, world)
    elif kind == "Deployment" or kind != owner.ref.kind:  # other owners want thousands of Pods, and nothing else
        found = _unwanted(owner, world)
    elif kind == "ReplicaSet":
        found = _surplus(owner, world)
    else:
        return
    if found:
        yield _finding(owner, found, world)


def _leaked_claims(job: Track, world: World) -> Runaway | None:
    """Return the claims that Volcano created for a Job and leaked; None if there are none."""
    claims = leaked_claims(job, SETTLE.microseconds, world)
    if not claims:
        return None
    made = "1 was made" if claims.made == 1 else f"{claims.made} were made"
    reason = f"the job's volumes call for {claims.volumes} of these claims, and {made}"
    sure = _verdict(claims.leaked)
    if len(claims.leaked) > 1:
        leaked = sorted(claims.leaked + claims.suspected, key=lambda each: each.first.at)
        sure = _verdict(leaked)
        return Runaway(leaked, sure, Effect.OBSERVED, f"{sure.capitalize()}: {reason}.")
    if claims.leaked and surely_exists(claims.leaked[0], SETTLE.microseconds, world):
        return Runaway(claims.leaked, sure, Effect.POSSIBLE, f"{sure.capitalize()}: {reason}; the attempt failed.")
    if claims.leaked:
        doubt = f"Inconclusive: {reason}. Of one claim alone a line may be lost that tells that it was deleted again."
        return Runaway(claims.leaked, Verdict.INCONCLUSIVE, Effect.POSSIBLE, doubt)
    if claims.suspected:
        doubt = f"Inconclusive: {reason}. No line says that their names were written back, nor that the attempt failed."
        return Runaway(claims.suspected, Verdict.INCONCLUSIVE, Effect.POSSIBLE, doubt)
    return None


def _unexplained_claims(job: Track, world: World) -> Runaway | None:
    """Return the unused claims of a Job whose body was never logged, if there are more than volumes can explain; else
    None."""
    claims = [each for each in claims_of(job, world) if each.created and was_kept(each, job, SETTLE.microseconds)]
    unused = [each for each in claims if not is_used(each, job, world)]
    if not _enough(unused):
        return None
    doubt = f"Inconclusive: {len(claims)} of these claims were made, and what the job's volumes ask for was not logged."
    return Runaway(unused, Verdict.INCONCLUSIVE, Effect.POSSIBLE, doubt)


def _unwanted(owner: Track, world: World) -> Runaway | None:
    """Return the children that an owner neither names nor requests in spec or status, and that no Pod uses; None if
    they are not enough for a finding."""
    asked = requested_children(owner)
    if asked is None:
        return None
    enough = max(COUNT.value, asked + 1)
    found = [_runaway(owner, children, world) for children in unnamed_children(owner, world) if len(children) >= enough]
    runaways = [each for each in found if each and len(each.leaked) >= enough]
    return max(runaways, key=lambda each: (each.effect is Effect.OBSERVED, len(each.leaked)), default=None)


def _surplus(owner: Track, world: World) -> Runaway | None:
    """Return the Pods of a ReplicaSet that nobody asked to end, beyond the most that it ever asked for; None if they
    are not enough, or if a line of Pods or of the ReplicaSet may be missing."""
    asked = requested_children(owner)
    pods = [each for each in world.children(owner) if each.created and each.ref.kind == "Pod"]
    if asked is None or len(pods) < asked + COUNT.value:
        return None
    stay = [each for each in pods if each.asked_to_end is None and not refusal_of(each)]
    leaked = max((group[asked:] for group in by_generation(owner, stay)), key=len, default=[])
    start, namespace = pods[0].first.time, owner.ref.namespace
    complete = world.complete("", "Pod", start, world.last, namespace) and world.seen["", "Pod"].shows_states
    if not complete or not _enough(leaked) or not world.complete("apps", "ReplicaSet", start, world.last, namespace):
        return None
    reason = f"Exact: the ReplicaSet asks for {asked}, and no line says that any of these Pods was deleted."
    return Runaway(leaked, Verdict.EXACT, Effect.POSSIBLE, reason)


def _runaway(owner: Track, children: list[Track], world: World) -> Runaway | None:
    """Return the unwanted children of one kind, if enough of them were created under one generation of the owner; else
    None."""
    ref, within = children[0].ref, WITHIN.microseconds
    latest = world.last - SETTLE.microseconds
    unused = [each for each in children if was_kept(each, owner, within)]
    if ref.kind in _USED_BY_PODS:
        unused = [each for each in unused if not is_used(each, owner, world)]
    # The last ones may still be named or used, so enough of them have to be older; then the last ones count, too.
    groups = by_generation(owner, unused)
    settled = [group for group in groups if _enough([each for each in group if each.first.time <= latest])]
    leaked = max(settled, key=len, default=None)
    if leaked is None:
        return None
    start, end = leaked[0].first.time, leaked[-1].first.time + SETTLE.microseconds
    complete = world.complete(owner.ref.group, owner.ref.kind, start, end, owner.ref.namespace)
    if ref.kind in _USED_BY_PODS and complete:
        in_use = world.complete("", "Pod", start, world.last, ref.namespace)
        complete = in_use and world.seen["", "Pod"].shows_states
    verdict, reason = Verdict.EXACT, "Exact: they name their owner, whose generation stood still meanwhile."
    if not complete or not _enough([each for each in leaked if each.first.time + within <= world.last]):
        verdict, reason = Verdict.INCONCLUSIVE, "Inconclusive: what the log does not show may ask for or use them."
    inert = ref.kind not in _WORKLOADS and qualified(ref.group, ref.kind) == ref.kind
    harm = inert and (ref.kind == "ReplicaSet" or named_at_random([each.ref.name for each in leaked]))
    return Runaway(leaked, verdict, Effect.OBSERVED if harm else Effect.NONE, reason)


def _enough(children: list[Track]) -> bool:
    quickly = came_quickly(children, round(COUNT.value), WITHIN.microseconds)
    return quickly or came_quickly(children, round(SLOW_COUNT.value), SLOW_WITHIN.microseconds)


def _verdict(leaked: list[Track]) -> Verdict:
    """Return BOUNDED if the creation of any of these is known only from a list, to the second; else EXACT."""
    return Verdict.EXACT if all(each.created for each in leaked) else Verdict.BOUNDED


def _goes_on(owner: Track, leaked: list[Track], world: World) -> bool:
    """Return whether the source ends before the next child would have come, by the longest time between two of them."""
    times = [each.first.time for each in leaked]
    pause = max((later - earlier for earlier, later in pairwise(times)), default=0)
    return owner.until is None and world.last - times[-1] <= max(pause, SETTLE.microseconds)


def _finding(owner: Track, found: Runaway, world: World) -> Finding:
    leaked, count = found.leaked, len(found.leaked)
    first, last = leaked[0], leaked[-1]
    kind = first.ref.kind if count == 1 else f"{first.ref.kind}s"
    standing = [each.ref for each in leaked if each.until is None]
    proof = [
        Proof("first one created", first.ref, first.first, Part.ACT),
        Proof("last one created", last.ref, last.first, Part.ACT),
    ]
    if count == 1:
        still = f"{kind} {first.ref.name} {'still stands' if standing else 'is gone'}"
    else:
        still = f"{len(standing) or 'none'} of the {count} {kind} still stand{'s' if len(standing) < 2 else ''}"
    once = occurrence(
        *proof[: min(count, 2)],
        headline=f"{{subjects}} made {count} {kind} too many",
        plural=f"{owner.ref.kind}s",
        why=found.why,
        effect=(found.effect, still),
        links=tuple(links_of(owner, first.first.time, last.first.time + SETTLE.microseconds, world)),
        open=_goes_on(owner, leaked, world),
    )
    return Finding(
        rule="runaway-creation",
        subject=owner.ref,
        verdict=found.verdict,
        summary=f"{owner.ref.kind} {owner.ref.name} made {count} {kind}{pace(leaked)} that it neither names nor uses",
        occurrences=(once,),
        advice=tuple(deletion_advice(owner.ref, [each.ref for each in leaked], standing)),
        affects=tuple(each.ref for each in leaked[:MOST]),
        count=count,
    )
