"""Children created over and over, which nobody asked for and nobody uses.

## What it sees

A Volcano job whose controller makes claims (`<job>-pvc-<12 letters or digits>`) that stand neither in its
`spec.volumes[].volumeClaimName` nor in `status.controlledResources`. And of any other owner, 20 children of one kind or
more within 60 s while its `metadata.generation` stands still, which neither its spec nor its status names or asks for,
and no Pod uses. One finding an owner; it counts on while the children grow.

## Why it matters

The controller makes a child, fails at a later step, and starts anew without remembering the child. Each retry leaks one
more: of storage, of a quota, of addresses. Volcano walks a job's volumes and writes the names of the claims it made
back only when all of them were found; a volume that names a missing claim makes it leak one claim a retry
(volcano-sh/volcano#4100: without end in 1.11.0, ten a second; up to 16 in older versions).

## Proof

The creations of the children, which name the owner by its UID. A vcjob never names more claims than it has volumes to
make claims for: whatever was made beyond that has leaked, even where lines of the log are missing. The claims of the
last attempt have leaked if the job is seen without them 5 s later, or its Event PVCError says that the attempt failed.
One leaked claim that surely still stands is a warning, two are an error. For other owners the log must be complete,
and the names must be random: a child whose name tells what it is for may be one for each of something outside, and is
an info only, and so are Pods, Jobs and custom resources, which do work of their own.

## Looks alike but is benign

Claims that are written back a few ms after they were made; claims and children of an owner that is being deleted, and
children deleted again at once; what a spec asks for, whatever its number: `replicas`, `parallelism`, `workers`, a list
of names, nested counts; ReplicaSets of a rollout, Pods of a workload, Jobs of a CronJob, claims of a StatefulSet and of
ephemeral volumes, EndpointSlices, Events, Leases, ControllerRevisions; children that Pods use; an owner whose body was
never logged: what it asks for is not known (a vcjob's claims are told as info from 20 within 60 s on).

## What to do

Stop the controller from trying again, remove what leaked and is not in use, remove the cause (for a vcjob: the missing
claim, the order of its volumes, Volcano before 1.11.1), and see that the count stands still. The finding gives the
commands.
"""

import re
from collections import defaultdict
from collections.abc import Iterator
from typing import NamedTuple

from timeline.core.entries import FOREVER, ObjectRef
from timeline.history.lifelines import Track
from timeline.history.world import World
from timeline.judging.findings import Effect, Finding, Occurrence, Proof
from timeline.judging.rulebook import rule, setting
from timeline.judging.verdicts import Verdict, between
from timeline.kinds import qualified
from timeline.kinds.volcano_job import makes_claim

COUNT = setting("runaway-creation", "count", 20, "", "How many unwanted children of one kind are a runaway.")
WITHIN = setting("runaway-creation", "within", 60, "s", "In how long a time so many of them come.")
SETTLE = setting("runaway-creation", "settle", 5, "s", "How long a controller may take to name what it made.")
AFFECTED = 100  # children that a finding lists

_VOLCANO = "Job.batch.volcano.sh"
_NEVER_UNWANTED = {"Event", "Lease", "ControllerRevision", "EndpointSlice", "Endpoints"}
_USED_BY_PODS = {"PersistentVolumeClaim", "ConfigMap", "Secret", "ServiceAccount"}
_AT_WORK = {"Pod", "Job", "CronJob", "Deployment", "StatefulSet", "DaemonSet"}
_random = re.compile(r"[bcdfghjklmnpqrstvwxz2456789]{5,}|(?=.*[a-z])(?=.*[0-9])[0-9a-z]{4,}")  # so generateName's


class Runaway(NamedTuple):
    leaked: list[Track]  # in the order of their creation
    verdict: Verdict
    effect: Effect
    why: str


@rule("runaway-creation", judges=(), any_of=("PersistentVolumeClaim", "Pod", "ReplicaSet"), lists=True)
def judge(owner: Track, world: World) -> Iterator[Finding]:
    kind = qualified(owner.ref.group, owner.ref.kind)
    if kind == _VOLCANO:
        told = any(moment.entry.facts is not None for moment in owner.moments)
        found = _leaked_claims(owner, world) if told else _unexplained_claims(owner, world)
    elif kind == "Deployment" or kind != owner.ref.kind:  # other owners want Pods by the thousand, and nothing else
        found = _unwanted(owner, world)
    else:
        return
    if found:
        yield _finding(owner, found)


def _leaked_claims(job: Track, world: World) -> Runaway | None:
    makes = max(moment.facts.makes for moment in job.moments)
    named = {name for moment in job.moments for name in moment.facts.claims + moment.facts.held}
    made = world.tally(job.ref.uid, "claimed", (FOREVER, 0))
    if not makes or made <= sum(makes_claim(job.ref.name, name) for name in named):
        return None
    claims = [each for each in world.children(job) if _is_claim(each) and makes_claim(job.ref.name, each.ref.name)]
    strays = [each for each in claims if not _used(each, job, world)]
    nameable = max(0, makes - (len(claims) - len(strays)))  # those of the last attempt may have been written back
    strays = [each for each in strays if _stayed(each, job, SETTLE.microseconds)]
    attempts = max(0, len(strays) - nameable)
    settled = [each for each in strays[attempts:] if each.first.time + SETTLE.microseconds <= world.last]
    sure = strays[:attempts] + [each for each in settled if _left_behind(each, job, world)]
    likely = [each for each in settled if each not in sure and _watched(job, each, world)]
    told = "1 was made" if len(claims) == 1 else f"{len(claims)} were made"
    reason = f"the job's volumes call for {makes} of these claims, and {told}"
    if len(sure) > 1:
        leaked = sorted(sure + likely, key=lambda each: each.first.at)
        return Runaway(leaked, _verdict(leaked), Effect.OBSERVED, f"{_verdict(leaked).capitalize()}: {reason}.")
    if sure and _stands(sure[0], world):
        return Runaway(
            sure, _verdict(sure), Effect.POSSIBLE, f"{_verdict(sure).capitalize()}: {reason}; the attempt failed."
        )
    if sure:
        doubt = f"Inconclusive: {reason}. Of one claim alone a line may be lost that tells that it was deleted again."
        return Runaway(sure, Verdict.INCONCLUSIVE, Effect.POSSIBLE, doubt)
    if likely:
        doubt = f"Inconclusive: {reason}. No line says that their names were written back, nor that the attempt failed."
        return Runaway(likely, Verdict.INCONCLUSIVE, Effect.POSSIBLE, doubt)
    return None


def _unexplained_claims(job: Track, world: World) -> Runaway | None:
    """Of a job whose body was never logged: more claims than jobs have volumes, which no Pod uses."""
    claims = [each for each in world.children(job) if _is_claim(each) and makes_claim(job.ref.name, each.ref.name)]
    claims = [each for each in claims if each.created and _stayed(each, job, SETTLE.microseconds)]
    strays = [each for each in claims if not _used(each, job, world)]
    if not _quick(strays):
        return None
    doubt = f"Inconclusive: {len(claims)} of these claims were made, and what the job's volumes ask for was not logged."
    return Runaway(strays, Verdict.INCONCLUSIVE, Effect.POSSIBLE, doubt)


def _verdict(leaked: list[Track]) -> Verdict:
    """Of what a list shows the creation is not known but to the second."""
    return Verdict.EXACT if all(each.created for each in leaked) else Verdict.BOUNDED


def _left_behind(claim: Track, job: Track, world: World) -> bool:
    """Whether the job was seen without it afterwards, or says that the attempt failed."""
    settled = claim.first.time + SETTLE.microseconds
    if any(moment.entry.facts is not None and moment.time >= settled for moment in job.moments):
        return True
    failed = any(
        moment.time > claim.first.time and moment.facts.reason == "PVCError"
        for event in world.referrers(job.name)
        if event.ref.kind == "Event"
        for moment in event.moments
    )
    return failed and _watched(job, claim, world)


def _stands(claim: Track, world: World) -> bool:
    """Whether no single line can have been lost that removed it: it takes two where a finalizer protects it."""
    if len(claim.moments) > 1 or claim.last.facts.finalizers or not claim.created:
        return True
    return world.completeness.accounts_since(claim.first, claim.first.time + SETTLE.microseconds)


def _watched(owner: Track, child: Track, world: World) -> bool:
    end = child.first.time + SETTLE.microseconds
    return world.complete(owner.ref.group, owner.ref.kind, child.first.time, end)


def _unwanted(owner: Track, world: World) -> Runaway | None:
    asks = max(getattr(moment.facts, "asks", getattr(moment.facts, "replicas", -1)) for moment in owner.moments)
    if asks < 0 or any(getattr(moment.facts, "many_names", False) for moment in owner.moments):
        return None  # what it asks for is not known
    named = {name for moment in owner.moments for name in getattr(moment.facts, "names", ())}
    kinds: dict[tuple[str, str], list[Track]] = defaultdict(list)
    for child in world.children(owner):
        if child.created and child.ref.kind not in _NEVER_UNWANTED and child.ref.name not in named:
            kinds[child.ref.group, child.ref.kind].append(child)
    enough = max(COUNT.value, asks + 1)
    found = [_runaway(owner, children, world) for children in kinds.values() if len(children) >= enough]
    runaways = [each for each in found if each and len(each.leaked) >= enough]
    return max(runaways, key=lambda each: (each.effect is Effect.OBSERVED, len(each.leaked)), default=None)


def _runaway(owner: Track, children: list[Track], world: World) -> Runaway | None:
    ref = children[0].ref
    latest = world.last - SETTLE.microseconds
    strays = [each for each in children if each.first.time <= latest and _stayed(each, owner, WITHIN.microseconds)]
    if ref.kind in _USED_BY_PODS:
        strays = [each for each in strays if not _used(each, owner, world)]
    generations: dict[int, list[Track]] = defaultdict(list)
    for each in strays:
        if held := owner.facts_at(each.first.time):
            generations[held.generation].append(each)
    leaked = max((each for each in generations.values() if _quick(each)), key=len, default=None)
    if leaked is None:
        return None
    start, end = leaked[0].first.time, leaked[-1].first.time + SETTLE.microseconds
    complete = world.complete(owner.ref.group, owner.ref.kind, start, end)
    if ref.kind in _USED_BY_PODS and complete:
        complete = world.complete("", "Pod", start, world.last) and world.seen["", "Pod"].tells_state
    old = [each for each in leaked if each.first.time + WITHIN.microseconds <= world.last]
    verdict, reason = Verdict.EXACT, "Exact: they name their owner, whose generation stood still meanwhile."
    if not complete or not _quick(old):
        verdict, reason = Verdict.INCONCLUSIVE, "Inconclusive: what the log does not show may ask for or use them."
    inert = ref.kind not in _AT_WORK and qualified(ref.group, ref.kind) == ref.kind
    harm = inert and (ref.kind == "ReplicaSet" or _named_at_random([each.ref.name for each in leaked]))
    return Runaway(leaked, verdict, Effect.OBSERVED if harm else Effect.NONE, reason)


def _quick(children: list[Track]) -> bool:
    """Whether enough of them came within the time; they are in the order of their creation."""
    count = round(COUNT.value)
    pairs = zip(children, children[count - 1 :], strict=False)
    return any(last.first.time - first.first.time <= WITHIN.microseconds for first, last in pairs)


def _named_at_random(names: list[str]) -> bool:
    """Whether a new name was made up for each; one that tells what it is for is taken but once."""
    parts = zip(*(name.split("-") for name in names), strict=False)
    return any(sum(_random.fullmatch(part) is not None for part in set(each)) >= 0.8 * len(names) for each in parts)


def _is_claim(child: Track) -> bool:
    return child.ref.kind == "PersistentVolumeClaim" and child.ref.group == ""


def _used(child: Track, owner: Track, world: World) -> bool:
    """Whether its owner or a Pod names it, or did."""
    return any(each is owner or each.ref.kind == "Pod" for each in world.referrers(child.name))


def _stayed(child: Track, owner: Track, within: int) -> bool:
    """Whether neither it nor its owner was asked to end soon after its creation."""
    asked = [end for end in (child.asked_to_end, owner.asked_to_end) if end is not None]
    return not asked or min(asked) > child.first.time + within


def _finding(owner: Track, found: Runaway) -> Finding:
    leaked, count = found.leaked, len(found.leaked)
    first, last = leaked[0], leaked[-1]
    kind = first.ref.kind if count == 1 else f"{first.ref.kind}s"
    summary = f"{owner.ref.kind} {owner.ref.name} made {count} {kind}{_pace(leaked)} that it neither names nor uses"
    standing = [each.ref for each in leaked if each.until is None]
    proof = [Proof("first one created", first.ref, first.first)]
    if count > 1:
        proof.append(Proof("last one created", last.ref, last.first))
    return Finding(
        rule="runaway-creation",
        subject=owner.ref,
        other=None,
        verdict=found.verdict,
        summary=summary,
        occurrences=(
            Occurrence(
                first=first.first.time,
                last=last.first.time,
                headline=f"{{subjects}} made {count} {kind} too many",
                plural=f"{owner.ref.kind}s",
                why=found.why,
                effect=found.effect,
                effect_text="it still stands"
                if count == len(standing) == 1
                else f"{len(standing)} of them still stand",
                proof=tuple(proof),
            ),
        ),
        advice=tuple(_advice(owner, [each.ref for each in leaked], standing)),
        delay=None,
        affects=tuple(each.ref for each in leaked[:AFFECTED]),
        count=count,
    )


def _pace(leaked: list[Track]) -> str:
    """How quickly they came, in words."""
    length = between(leaked[0].first, leaked[-1].first)
    if len(leaked) < 2 or not length.most:
        return ""
    if not length.close:
        return f" in {length}"
    per_second = (len(leaked) - 1) / (length.least + length.most) * 2e6
    often = f"{per_second:.2g} a second" if per_second >= 1 else f"{per_second * 60:.2g} a minute"
    return f" in {length} ({often})"


def _advice(owner: Track, leaked: list[ObjectRef], standing: list[ObjectRef]) -> Iterator[str]:
    kubectl = f"kubectl -n {leaked[0].namespace}" if leaked[0].namespace else "kubectl"
    resource, volcano = _resource(leaked[0]), owner.ref.group == "batch.volcano.sh"
    whole = f"{kubectl} delete {_resource(owner.ref)} {owner.ref.name} --cascade=orphan"
    suspend = f"`vcctl job suspend --namespace {owner.ref.namespace} --name {owner.ref.name}`, or " if volcano else ""
    yield (
        f"Stop: {suspend}`{whole} --dry-run=server`, then the same without `--dry-run=server`. "
        "Without `--cascade=orphan` all that it owns goes with it, also what is in use."
    )
    if standing:
        names = " ".join(ref.name for ref in standing[:AFFECTED])
        one = standing[0]
        yield (
            f"Clean: `{kubectl} delete {resource} {names} --dry-run=server`, then the same without `--dry-run=server`. "
            "Nothing seen here names or uses them. Delete each only while it has the UID that this finding gives: "
            f"`{kubectl} get {resource} -o custom-columns=NAME:.metadata.name,UID:.metadata.uid`."
        )
        if one.kind == "PersistentVolumeClaim":
            path = f"/api/v1/namespaces/{one.namespace}/persistentvolumeclaims/{one.name}?dryRun=All"
            options = f'{{"apiVersion":"v1","kind":"DeleteOptions","preconditions":{{"uid":"{one.uid}"}}}}'
            yield f"Or let the API server compare the UID: `echo '{options}' | kubectl delete --raw '{path}' -f -`."
    if volcano:
        yield (
            "Prevent: create every claim that a volume names before the job, list the volumes that name a claim before "
            "those that make one, and upgrade Volcano to 1.11.1 or 1.12.0."
        )
    else:
        yield "Prevent: find out from the controller's log why it starts anew; the proof names it as the actor."
    yield f'Verify: the count stands still: `watch -n 10 "{kubectl} get {resource} -o name | wc -l"`.'


def _resource(ref: ObjectRef) -> str:
    """As kubectl takes it: job.batch.volcano.sh."""
    return f"{ref.kind.lower()}.{ref.group}" if ref.group else ref.kind.lower()
