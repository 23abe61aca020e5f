"""Pods created before the headless Service that names them.

## What it sees

A Pod with `spec.subdomain` was created while no Service of that name stood in its namespace, and the Service was
created afterwards. Whoever owns the Pod: a Volcano job, a StatefulSet, an operator.

## Why it matters

The Pod's DNS name exists only once the Service does. A container that starts before it looks up its peers in vain and
fails, or hangs until its resolver forgets the negative answer. Volcano re-creates Service and Pods together when a
policy restarts a Pod (volcano-sh/volcano#3753), and nothing in the API orders the two.

## Proof

The two creations, ordered by their revisions; the Service's successful creation proves that none stood before it, for
no deletion of that name lies between the two. Where writes of Services are missing from the source, that is only known
if the deletion of an earlier one was seen before the Pod came; else the verdict is inconclusive, and so it is where the
end of the Pod may be missing. The effect follows the container: it started first and then failed or restarted within a
minute of the Service (error), it started first (warning), it started later (info).

## Looks alike but is benign

A Pod that was asked to end, was evicted, or had succeeded, before the Service came; a Pod of an earlier attempt of its
Volcano job; a `subdomain` with no such Service ever; a Service that stood when the Pod was created and was replaced
later (that is service-gap); a Service that is not headless, under which Pods have no names; a Pod without
`spec.hostname`, which has no name to wait for (info); a Service or Pod whose creation was not observed; one before
which endpoints of an earlier Service tell of lines that are missing. A container that ends because its Pod is deleted,
evicted or preempted is no failure. A start told by a node whose clock contradicts the API server's decides nothing.

## What to do

Create the Service before the Pods. Let the workload retry its lookups when it starts. Where a controller writes the
Service, let it publish addresses that are not ready yet: in a Volcano job, `svc:
["--publish-not-ready-addresses=true"]`; in a Service of your own, `publishNotReadyAddresses: true`.
"""

from collections.abc import Iterator

from timeline.core.order import SECOND
from timeline.history.lifelines import Moment, Name, Track
from timeline.history.world import World
from timeline.judging.advice import kubectl
from timeline.judging.findings import Effect, Finding, Occurrence, Proof
from timeline.judging.rulebook import rule
from timeline.judging.verdicts import Verdict, between, failure, order_of, surely_live, unfailed, why

_OVERLAP = "Inconclusive: an earlier Service of that name was deleted while the Pod was being created."
_LOST = "Inconclusive: writes are missing from this source, perhaps those of an earlier Service of that name."
_ENDED = "Inconclusive: writes are missing from this source, perhaps one that ended the Pod before the Service came."


@rule("pod-before-service", judges=("Pod",), needs=("Pod", "Service"))
def judge(pod: Track, world: World) -> Iterator[Finding]:
    born = pod.created
    subdomain = pod.value("subdomain")
    if not born or not subdomain:
        return
    name = Name("", "Service", pod.ref.namespace, subdomain)
    later: list[tuple[Track, Moment]] = []
    earlier: list[Moment] = []
    overlap = False
    for service in world.incarnations(name):
        came = service.created
        if came is None or order_of(came, born):
            went = service.ended
            if went is None or (gone := order_of(went, born)) is None:
                return  # it stood when the Pod was created, or may have stood
            overlap = overlap or gone is Verdict.INCONCLUSIVE
            earlier.append(went)
        elif came.facts.names_pods:
            later.append((service, came))
    if not later:
        return
    service, came = later[0]
    ordered = order_of(born, came)
    if ordered is None or _out_of_it(pod, came, world):
        return
    if _stood(name, earlier, born, world):
        return
    doubt = _OVERLAP if overlap else _doubt(pod, name, earlier, came, world)
    verdict = Verdict.INCONCLUSIVE if doubt else ordered
    effect, text = _effect(pod, born, came, world)
    late = between(born, came)
    delay = max(0, came.time - born.time)  # clocks of two API servers may contradict the revisions
    yield Finding(
        rule="pod-before-service",
        subject=pod.ref,
        other=service.ref,
        verdict=verdict,
        summary=f"Pod {pod.ref.name} was created {late} before its Service {subdomain}",
        occurrences=(
            Occurrence(
                first=born.time,
                last=born.time + delay,
                headline=f"{{subjects}} created before Service {subdomain}",
                plural="Pods",
                why=doubt or why(verdict, born, came),
                effect=effect,
                effect_text=text,
                proof=(Proof("Pod created", pod.ref, born), Proof("Service created", service.ref, came)),
                arrow=f"Service {late.arrow}",
                interval=late,
            ),
        ),
        advice=_advice(service, world),
        delay=delay,
        interval=late,
    )


def _stood(name: Name, earlier: list[Moment], born: Moment, world: World) -> bool:
    """Whether endpoints tell that a Service stood before, of which lines are missing that show how it came and went."""
    since = earlier[-1].at if earlier else (0, 0)
    slices = [each for each in world.referrers(name) if each.owner and each.owner.kind == "Service"]
    pieces = [*slices, *world.incarnations(name._replace(kind="Endpoints"))]
    told = [each.first.time for each in pieces if since < each.first.at < born.at]
    return bool(told) and not world.complete("", "Service", min(told), born.time)


def _doubt(pod: Track, name: Name, earlier: list[Moment], came: Moment, world: World) -> str:
    """What may be missing that would explain it; "" where nothing may."""
    since = earlier[-1].at if earlier else (0, 0)
    endpoints = world.incarnations(name._replace(kind="Endpoints"))
    if any(since < each.first.at < came.at for each in endpoints):
        return _LOST  # they were written for a Service
    if not earlier and not world.complete("", "Service", pod.first.time, came.time):
        return _LOST
    return "" if surely_live(pod, came.time, world) else _ENDED


def _out_of_it(pod: Track, came: Moment, world: World) -> bool:
    """Whether the Pod no longer waited for anything when the Service came."""
    asked = pod.asked_to_end
    if asked is not None and asked <= came.time:
        return True
    held = pod.facts_at(came.time) or pod.first.facts
    if held.phase == "Succeeded" or (held.terminal and held.disrupted):
        return True
    owner = world.owner_of(pod)
    owner_facts = owner.facts_at(came.time) if owner else None
    return bool(held.terminal) and 0 <= held.attempt < getattr(owner_facts, "version", 0)


def _effect(pod: Track, born: Moment, came: Moment, world: World) -> tuple[Effect, str]:
    reported = next((moment for moment in pod.moments if moment.facts.started), None)
    if reported is None:
        return Effect.NONE, "no container of {names} was seen to start"
    if not pod.value("hostname"):
        return Effect.NONE, "{names} has no hostname, and so no DNS name"
    if reported.time >= came.time:  # the node's clock decides, as far as the API server's bears it out
        bound = next((moment for moment in pod.moments if moment.action == "binding"), born)
        started = reported.facts.started
        if bound.time < came.time and not bound.time - SECOND < started <= reported.time:
            return Effect.NONE, "its node's clock is off: whether {names} started first is not known"
        if bound.time >= came.time or started + SECOND > came.time:
            return Effect.NONE, "{names} started later"
    if failed := failure(pod, reported.time, came.time):
        return Effect.OBSERVED, f"{{names}} started first and failed {_from(came, failed)}"
    return Effect.POSSIBLE, f"{{names}} started first; {unfailed(pod, reported, came, world)}"


def _from(came: Moment, failed: Moment) -> str:
    if failed.time >= came.time:
        return f"{between(came, failed)} after the Service came"
    return f"{between(failed, came)} before the Service came"


def _advice(service: Track, world: World) -> tuple[str, ...]:
    owner = world.owner_of(service)
    if owner and owner.ref.group == "batch.volcano.sh":
        publish = 'Prevent: give the plugin its argument in the job: `svc: ["--publish-not-ready-addresses=true"]`.'
    else:
        publish = "Prevent: set `publishNotReadyAddresses: true` in the Service, and create it before the Pods."
    retry = "Let the workload retry its DNS lookups when it starts, or wait for them in an init container."
    addresses = kubectl(service.ref.namespace, "get endpointslices -l kubernetes.io/service-name={}", service.ref.name)
    return (publish, retry, f"Verify: {addresses} names the Pods, and the log of none tells of a failed lookup.")
