"""Pods created before the headless Service that names them.

## What it sees

A Pod with `spec.subdomain` was created while no Service of that name existed in its namespace, and the Service was
created afterwards. It does not matter who owns the Pod: a Volcano job, a StatefulSet, or an operator.

## Why it matters

The Pod has a DNS name only once the Service exists. A container that starts earlier cannot resolve the names of its
peers. It fails, or hangs until its resolver forgets the negative answer. When a policy of a Volcano job restarts a Pod,
Volcano re-creates the Service and the Pods together (volcano-sh/volcano#3753), and nothing in the API orders the two.

## Proof

The two creations, ordered by their revisions. The creation of the Service succeeded, and no deletion of that name lies
between the two events, so no Service existed before. If writes of Services are missing from the source, this is known
only if the deletion of an earlier Service was seen before the Pod was created; otherwise the verdict is inconclusive.
It is also inconclusive if the end of the Pod may be missing. The effect depends on the container: it started before the
Service existed and failed or restarted within a minute of the Service's creation (error), it only started before
(warning), or it started later (info).

## Looks alike but is benign

- A Pod that was asked to end, was evicted, or had succeeded before the Service was created.
- A Pod of an earlier attempt of its Volcano job.
- A `subdomain` for which no Service was ever created.
- A Service that existed when the Pod was created and was replaced later: that is service-gap.
- A Service that is not headless, because Pods have no names under it.
- A Pod without `spec.hostname`, which has no DNS name to wait for (info).
- A Service or a Pod whose creation was not observed.
- Endpoints that show that an earlier Service existed, whose writes are missing.
- A container that ends because its Pod is deleted, evicted or preempted: this is not a failure.
- A start time reported by a node whose clock contradicts that of the API server: it decides nothing.

## What to do

Create the Service before the Pods. Let the workload retry its DNS lookups when it starts. Where a controller writes the
Service, let it publish addresses that are not ready yet: in a Volcano job with `svc:
["--publish-not-ready-addresses=true"]`, in a Service of your own with `publishNotReadyAddresses: true`.
"""

from bisect import bisect_left
from collections.abc import Iterator

from timeline.core.entries import Level, ObjectRef
from timeline.core.order import SECOND
from timeline.history.lifelines import Moment, Name, Track
from timeline.history.world.tracks import began
from timeline.history.world.world import World
from timeline.judging.advice import kubectl, repair_lookups
from timeline.judging.coverage.lines import OWNERS, line, need
from timeline.judging.findings import Effect, Finding, Part, Proof, occurrence
from timeline.judging.references.endings import surely_live
from timeline.judging.references.failures import failure, no_failure
from timeline.judging.references.incarnations import split_at
from timeline.judging.rulebook import rule
from timeline.judging.verdicts import Verdict, between, order_of, why

_OVERLAP = "Inconclusive: an earlier Service of that name was deleted while the Pod was being created."
_LOST = "Inconclusive: writes are missing from this source, perhaps those of an earlier Service of that name."
_ENDED = "Inconclusive: writes are missing from this source, perhaps one that ended the Pod before the Service came."


@rule(
    "pod-before-service",
    judges=("Pod",),
    needs=(
        need(line("Pod", verbs="state")),
        need(line("Service", verbs="create", level=Level.METADATA)),
        need(line("Pod", verbs="create"), misses="Pods whose creation no other line shows"),
        need(line("Service", verbs="state"), misses="what the Services are"),
        need(
            line("Service", verbs="delete", level=Level.METADATA),
            misses="earlier Services of that name that were deleted",
        ),
        need(line("Pod", verbs="status"), misses="containers that failed meanwhile"),
        need(line("Pod", verbs="delete", level=Level.METADATA), misses="Pods that ended before"),
    ),
    also=(OWNERS,),
    incident="{subjects} created before {anchor}",
    harm="{count} Pods before {anchors}",
)
def judge(pod: Track, world: World) -> Iterator[Finding]:
    born, subdomain = pod.created, pod.value("subdomain")
    if not born or not subdomain:
        return
    name = Name("", "Service", pod.ref.namespace, subdomain)
    before, after = split_at(born, world.incarnations(name, pod.asked_to_end, after=born))
    earlier = [service.ended for service in before if service.ended]
    gone = [order_of(end, born) for end in earlier]
    if len(earlier) < len(before) or None in gone:
        return  # a Service existed when the Pod was created, or may have existed
    service, came = next((each for each in after if each[1].facts.names_pods), (None, None))
    if not service or not came or _waits_no_more(pod, came, world) or _service_missed(name, earlier, born, world):
        return
    order, late = order_of(born, came), between(born, came)
    if order is None:
        return
    doubt = _OVERLAP if Verdict.INCONCLUSIVE in gone else _doubt(pod, name, earlier, came, world)
    verdict = Verdict.INCONCLUSIVE if doubt else order
    once = occurrence(
        Proof("Pod created", pod.ref, born, Part.ACT),
        Proof("Service created", service.ref, came, Part.LATE),
        headline=f"{{subjects}} created before Service {subdomain}",
        plural="Pods",
        why=doubt or why(verdict, born, came),
        effect=_effect(pod, born, came, world),
        arrow=f"Service {late.arrow}",
        interval=late,
    )
    yield Finding(
        rule="pod-before-service",
        subject=pod.ref,
        other=service.ref,
        anchor=name,
        verdict=verdict,
        summary=f"Pod {pod.ref.name} was created {late} before its Service {subdomain}",
        occurrences=(once,),
        measured=once,
        advice=_advice(pod.ref, service, world),
    )


def _service_missed(name: Name, earlier: list[Moment], born: Moment, world: World) -> bool:
    """Return whether endpoints show that a Service existed before the Pod although its creation and deletion are
    missing."""
    since = earlier[-1].at if earlier else (0, 0)
    referring = world.referrers(name, born.time, since=since[0])
    slices = [each for each in referring if each.owner and each.owner.kind == "Service"]
    lives = world.incarnations(name._replace(kind="Endpoints"), born.time)
    endpoints = [*slices, *lives[bisect_left(lives, since[0], key=began) :]]
    begun = [each.first.time for each in endpoints if since < each.first.at < born.at]
    return bool(begun) and not world.complete("", "Service", min(begun), born.time, name.namespace)


def _doubt(pod: Track, name: Name, earlier: list[Moment], came: Moment, world: World) -> str:
    """Return a sentence that says which writes may be missing that would explain the order; "" if none may be."""
    since = earlier[-1].at if earlier else (0, 0)
    endpoints = world.incarnations(name._replace(kind="Endpoints"), came.time)
    begun = endpoints[bisect_left(endpoints, since[0], key=began) :]
    if any(since < each.first.at < came.at for each in begun):
        return _LOST  # Kubernetes writes Endpoints only for a Service, so one existed
    if not earlier and not world.complete("", "Service", pod.first.time, came.time, name.namespace):
        return _LOST
    return "" if surely_live(pod, came.time, world) else _ENDED


def _waits_no_more(pod: Track, came: Moment, world: World) -> bool:
    """Return whether the Pod was being deleted, or had ended, when the Service was created."""
    asked = pod.asked_to_end
    if asked is not None and asked <= came.time:
        return True
    facts = pod.facts_at(came.time) or pod.first.facts
    if facts.phase == "Succeeded" or (facts.terminal and facts.disrupted):
        return True
    owner = world.owner_of(pod)
    owner_facts = owner.facts_at(came.time) if owner else None
    return bool(facts.terminal) and 0 <= facts.attempt < getattr(owner_facts, "version", 0)


def _effect(pod: Track, born: Moment, came: Moment, world: World) -> tuple[Effect, str]:
    reported = next((moment for moment in pod.moments if moment.facts.started), None)
    if reported is None:
        return Effect.NONE, "no container of {names} was seen to start"
    if not pod.value("hostname"):
        return Effect.NONE, "{names} has no hostname, and so no DNS name"
    if reported.time >= came.time:  # the node's clock decides, unless the clock of the API server contradicts it
        bound = next((moment for moment in pod.moments if moment.action == "binding"), born)
        started = reported.facts.started
        if bound.time < came.time and not bound.time - SECOND < started <= reported.time:
            return Effect.NONE, "its node's clock is off: whether {names} started first is not known"
        if bound.time >= came.time or started + SECOND > came.time:
            return Effect.NONE, "{names} started later"
    if failed := failure(pod, reported.time, came.time):
        return Effect.OBSERVED, f"{{names}} started first and failed {_when(failed, came)}"
    return Effect.POSSIBLE, f"{{names}} started first; {no_failure(pod, reported, came, world)}"


def _when(failed: Moment, came: Moment) -> str:
    if failed.time >= came.time:
        return f"{between(came, failed)} after the Service came"
    return f"{between(failed, came)} before the Service came"


def _advice(pod: ObjectRef, service: Track, world: World) -> tuple[str, ...]:
    owner = world.owner_of(service)
    if owner and owner.ref.group == "batch.volcano.sh":
        publish = 'Prevent: give the plugin its argument in the job: `svc: ["--publish-not-ready-addresses=true"]`.'
    else:
        publish = "Prevent: set `publishNotReadyAddresses: true` in the Service, and create it before the Pods."
    retry = "Let the workload retry its DNS lookups when it starts, or wait for them in an init container."
    addresses = kubectl(service.ref.namespace, "get endpointslices -l kubernetes.io/service-name={}", service.ref.name)
    verify = f"Verify: {addresses} names the Pods, and the log of none tells of a failed lookup."
    return (*repair_lookups(pod), publish, retry, verify)
