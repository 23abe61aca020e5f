"""Load balancers that gave a Service its address late.

## What it sees

A Service of type LoadBalancer got its first address (`status.loadBalancer.ingress`) more than 30 s after it had a ready
endpoint, or never got one although other Services of its class have theirs.

## Why it matters

The Service could serve, and nobody can reach it. If other Services of its class were served at once, their controller
has overlooked this one: kube-vip dropped endpoints that it saw before their Service, and came back to them when its
watch was reopened, half an hour to an hour later (kube-vip/kube-vip#1092).

## Proof

The creation of the Service, all its writes until the first address, and its endpoints, which were ready for 30 s
without a break. The finding is an error if other Services of its `loadBalancerClass` had been served within 30 s of
their creation when this one was overdue, otherwise a warning. If writes are missing from the source, the verdict is
inconclusive, because an earlier address may be among them.

## Looks alike but is benign

- A Service without a ready endpoint, or whose endpoints were never ready for so long without a break.
- A Service that became a LoadBalancer later: the wait begins with that change.
- `externalTrafficPolicy: Local`: the wait begins with the last change of the nodes on which the endpoints are. While no
  address comes, it is not judged, because the nodes that announce the address may have no endpoint.
- A Service that is ignored (`kube-vip.io/ignore`).
- A class of which this source shows no Service with an address, as in a cluster without a controller for it.
- A Service without a selector, whose endpoints, and perhaps address, people manage (info).
- A Service that its controller has taken up, as the finalizer shows, and whose peers are no faster: clouds take minutes
  (info).
- A leader election that takes less than 30 s.
- A Service that is deleted before.

## What to do

Touch the EndpointSlice of the Service, or the Service itself, so that its controller looks again, or restart the Pod
that should announce it. Upgrade kube-vip to v0.9.1 or later. For other classes, look for the Service's name in the log
of the controller. Where load balancers usually take longer than 30 s, raise the setting.
"""

from collections.abc import Iterator

from timeline.core.entries import Clock
from timeline.history.lifelines import Track
from timeline.history.world.world import World
from timeline.judging.advice import about, kubectl, touch_endpoints
from timeline.judging.coverage.lines import line, need
from timeline.judging.endpoints.load_balancers import READY, REQUESTED, Peers, Wait, first_long_wait, peers_of
from timeline.judging.findings import Effect, Finding, Proof, Status, occurrence
from timeline.judging.rulebook import rule, setting
from timeline.judging.verdicts import IN_FLIGHT, Verdict, between, dated, why

LATE = setting("load-balancer-late", "wait", 30, "s", "How long an address may take once an endpoint is ready.")

_STARTS = {READY: "it had a ready endpoint", REQUESTED: "a load balancer was asked for"}


@rule(
    "load-balancer-late",
    judges=("Service",),
    times=True,
    needs=(
        need(line("Service", verbs="create")),
        need(line("EndpointSlice", "Endpoints", verbs="state")),
        need(line("Service", verbs="update"), misses="Services that became load balancers later"),
        need(line("Service", verbs="status"), misses="the addresses that Services got"),
        need(line("EndpointSlice", "Endpoints", verbs="update"), misses="endpoints that became ready later"),
    ),
    incident="{anchor} waited for an address of its load balancer{times}",
    harm="{anchors} without an address",
)
def judge(service: Track, world: World) -> Iterator[Finding]:
    wait = first_long_wait(service, LATE.microseconds, world)
    if not wait:
        return
    peers = peers_of(service, wait, LATE.microseconds, world)
    judged_by_peers = peers.served and wait.facts.selects and not wait.facts.local
    in_flight = world.last < wait.since.moment.time + LATE.microseconds + IN_FLIGHT
    if not wait.came and (in_flight or not judged_by_peers or not wait.proven or not dated(wait.since.moment)):
        return
    ref, came, length, start = service.ref, wait.came, wait.length, _STARTS[wait.since.role]
    verdict, reason = _verdict(wait)
    late = f"had its first address {length} after" if came else f"has had no address for {length} since"
    all_late = f"had a first address {length} after" if came else f"had no address for {length} since"
    once = occurrence(
        *((wait.since, Proof("first address", ref, came)) if came else (wait.since,)),
        last=wait.until,
        headline=f"{{subjects}} {all_late} {start.removeprefix('it had ')}",
        plural="Services",
        why=reason,
        effect=_effect(wait, peers),
        arrow=f"address {length.arrow}" if came else "",
        open=came is None and wait.until >= world.last,
        interval=length,
    )
    yield Finding(
        rule="load-balancer-late",
        subject=ref,
        anchor=service.name,
        verdict=verdict,
        summary=f"Service {ref.name} {late} {start}",
        occurrences=(once,),
        measured=once,
        advice=_advice(service, wait),
        status=Status.CONFIRMED if came or wait.until < world.last else Status.SUSPECTED,
    )


def _verdict(wait: Wait) -> tuple[Verdict, str]:
    since, came = wait.since.moment, wait.came
    whole_seconds = Clock.OBJECT in (since.clock, (came or since).clock)
    sure = Verdict.BOUNDED if whole_seconds else Verdict.EXACT
    if not wait.proven:
        return Verdict.INCONCLUSIVE, "Inconclusive: writes are missing from this source, perhaps an earlier address."
    if not came:
        return sure, f"{sure.capitalize()}: every write of it until then is in the source, and none brought an address."
    if not dated(since) or between(since, came).least <= LATE.microseconds:
        return Verdict.INCONCLUSIVE, "Inconclusive: the clocks leave open whether it took longer than it may."
    return sure, why(sure, since, came)


def _effect(wait: Wait, peers: Peers) -> tuple[Effect, str]:
    if not wait.facts.selects:
        return Effect.NONE, "its endpoints are managed by hand"
    if peers.prompt:
        return Effect.OBSERVED if wait.came else Effect.POSSIBLE, peers.words
    if wait.taken_up:
        return Effect.NONE, f"its controller had taken it up, and {peers.words}"
    return Effect.POSSIBLE, peers.words


def _advice(service: Track, wait: Wait) -> tuple[str, ...]:
    ref = service.ref
    verify = f"Verify: {kubectl(ref.namespace, 'get service {}', ref.name)} shows its external address."
    look = f"Look: what do the Events in {about('describe', ref)} say?"
    if "kube-vip" in f"{wait.facts.balancer_class} {wait.came.user_agent if wait.came else ''}":
        return (
            look,
            touch_endpoints(ref),
            "Prevent: upgrade kube-vip to v0.9.1 or later.",
            verify,
        )
    touch = kubectl(ref.namespace, "annotate service {} looked-at=again --overwrite", ref.name)
    return (
        f"{look} Does the log of the controller that serves its class name it?",
        f"Stop: touch the Service, so that the controller looks again: {touch}. Restart the controller if it does not.",
        verify,
    )
