"""Load balancers that gave a Service its address late.

## What it sees

A Service of type LoadBalancer whose first address (`status.loadBalancer.ingress`) came more than 30 s after it had a
ready endpoint, or never came although others of its class have theirs.

## Why it matters

The Service is asked for and able to serve, and nobody reaches it. Where its peers were served at once, whoever serves
them has overlooked this one: kube-vip dropped endpoints that it met before their Service, and came back to them when
its watch was reopened, half an hour to an hour later (kube-vip/kube-vip#1092).

## Proof

The creation of the Service, all its writes until the first address, and its endpoints, ready for 30 s on end. An
error where others of its `loadBalancerClass` had been served within 30 s of their creation by when this one was
overdue; else a warning. Where writes are missing from the source, the verdict is inconclusive: an earlier address may
be among them.

## Looks alike but is benign

A Service without a ready endpoint, or whose endpoints were not ready for so long at a stretch; one that became a
LoadBalancer later counts from then on. `externalTrafficPolicy: Local`: counted from the last change of the nodes that
its endpoints are on, and not judged while no address comes, for the nodes that announce it may have none. One that is
ignored (`kube-vip.io/ignore`). A class in which this source saw no Service served, as in a cluster without a controller
for it. A Service without a selector, whose endpoints and perhaps address are managed by hand: told as info. One that
its controller has taken up, as its finalizer tells, and whose peers are no faster: clouds take minutes; info. A leader
election that takes less than 30 s. A Service that is deleted before.

## What to do

Upgrade kube-vip to v0.9.1 or later. Until then touch the EndpointSlice of the Service, or restart the Pod that should
announce it. For other classes, look for the Service's name in the log of its controller. Where load balancers take
longer than 30 s as a rule, raise the setting.
"""

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, NamedTuple

from timeline.core.durations import Length
from timeline.core.entries import Change, Clock
from timeline.history.lifelines import Moment, Track
from timeline.history.world import World
from timeline.judging.advice import kubectl
from timeline.judging.findings import Effect, Finding, Occurrence, Proof, Status
from timeline.judging.rulebook import rule, setting
from timeline.judging.verdicts import IN_FLIGHT, Verdict, between, dated, so_far, why
from timeline.kinds.service import ServiceFacts

LATE = setting("load-balancer-late", "wait", 30, "s", "How long an address may take once an endpoint is ready.")
TAKEN_UP = "service.kubernetes.io/load-balancer-cleanup"  # https://kubernetes.io/docs/concepts/services-networking


class Span(NamedTuple):
    """While something held of a track."""

    track: Track
    since: Moment
    until: int


class Wait(NamedTuple):
    """A Service without an address, although it was asked for and could have served."""

    since: Proof
    came: Moment | None  # the first address
    until: int  # when that came; else when the Service, its wish for one, or the source ended
    facts: ServiceFacts  # at its beginning
    taken_up: bool
    proven: bool  # no write is missing that could explain it

    @property
    def length(self) -> int:
        return self.until - self.since.moment.time

    @property
    def known(self) -> Length:
        return between(self.since.moment, self.came) if self.came else so_far(self.since.moment, self.until)


class Peers(NamedTuple):
    """The other Services of a class."""

    served: bool  # any of them, ever
    prompt: tuple[Length, ...]  # how long those took that were served in time before this one was overdue

    @property
    def told(self) -> str:
        if not self.prompt:
            return "no other of its class was seen to be served in time"
        most = max((length.most for length in self.prompt if length.most), default=0)
        within = f"within {Length(0, most).certain.removeprefix('≤ ')}" if most else "in time"
        if len(self.prompt) > 1:
            return f"{len(self.prompt)} others of its class had their addresses {within}"
        return f"another of its class had its address {within}"


@rule("load-balancer-late", judges=("Service",), needs=("Service", "EndpointSlice"), times=True)
def judge(service: Track, world: World) -> Iterator[Finding]:
    wait = _wait(service, world)
    if not wait:
        return
    peers = _peers(service, wait, world)
    judged_by_peers = peers.served and wait.facts.selects and not wait.facts.local
    in_flight = world.last < wait.since.moment.time + LATE.microseconds + IN_FLIGHT
    if not wait.came and (in_flight or not judged_by_peers or not wait.proven or not dated(wait.since.moment)):
        return
    over = wait.came or wait.until < world.last
    yield _finding(service, wait, peers, Status.CONFIRMED if over else Status.SUSPECTED)


def _finding(service: Track, wait: Wait, peers: Peers, status: Status) -> Finding:
    since, came, name = wait.since.moment, wait.came, service.ref.name
    length = wait.known
    verdict, reason = _verdict(wait)
    effect, text = _effect(wait, peers)
    proof = (wait.since, Proof("first address", service.ref, came)) if came else (wait.since,)
    late = f"had its first address {length} after" if came else f"has had no address for {length} since"
    all_late = f"had a first address {length} after" if came else f"had no address for {length} since"
    return Finding(
        rule="load-balancer-late",
        subject=service.ref,
        other=None,
        verdict=verdict,
        summary=f"Service {name} {late} {_STARTS[wait.since.role]}",
        occurrences=(
            Occurrence(
                first=since.time,
                last=wait.until,
                headline=f"{{subjects}} {all_late} {_STARTS[wait.since.role].removeprefix('it had ')}",
                plural="Services",
                why=reason,
                effect=effect,
                effect_text=text,
                proof=proof,
                arrow=f"address {length.arrow}" if came else "",
                interval=length,
            ),
        ),
        advice=_advice(service, wait),
        delay=wait.length,
        interval=length,
        status=status,
    )


_STARTS = {"endpoint ready": "it had a ready endpoint", "load balancer asked for": "a load balancer was asked for"}


def _wait(service: Track, world: World) -> Wait | None:
    """The first that was too long."""
    if not service.created:
        return None
    came = next((moment for moment in service.moments if moment.facts.addresses), None)
    end = came.time if came else world.last
    waits = list(_spans(service, end, lambda facts: facts.waits_for_address))
    if not waits or end - waits[0].since.time <= LATE.microseconds:
        return None
    pieces = _pieces(service, world)
    local = any(moment.facts.local for moment in service.moments if moment.time <= end)
    for ready in _in_place(pieces, end) if local else _ready(pieces, end):
        for wait in waits:
            later = max(wait, ready, key=lambda span: span.since.at)
            overdue = later.since.time + LATE.microseconds
            if min(wait.until, ready.until) > overdue:
                role = "endpoint ready" if later is ready else "load balancer asked for"
                return Wait(
                    Proof(role, later.track.ref, later.since),
                    came,
                    end if came else wait.until,
                    service.facts_at(later.since.time),
                    TAKEN_UP in service.facts_at(overdue).finalizers,
                    _told(service, end)
                    and world.gapless(service, service.created.time, end)
                    and all(_stayed(piece, later.since.time, overdue, world) for piece in pieces),
                )
    return None


def _pieces(service: Track, world: World) -> list[Track]:
    """Its EndpointSlices; its Endpoints, where the source shows none."""
    slices = [
        track
        for track in world.referrers(service.name)
        if track.ref.kind == "EndpointSlice"
        and not (track.owner and track.owner.kind == "Service" and track.owner.uid != service.ref.uid)
    ]
    return slices or world.incarnations(service.name._replace(kind="Endpoints"))


def _spans(track: Track, end: int, holds: Callable[[Any], bool]) -> Iterator[Span]:
    since = None
    for moment in track.moments:
        if moment.time > end:
            break
        held = moment.change is not Change.DELETED and holds(moment.facts)
        if held and not since:
            since = moment
        elif since and not held:
            yield Span(track, since, moment.time)
            since = None
    if since:
        yield Span(track, since, end if track.until is None else min(end, track.until))


def _ready(pieces: list[Track], end: int) -> list[Span]:
    """While any of them had a ready endpoint."""
    joined: list[Span] = []
    spans = [span for piece in pieces for span in _spans(piece, end, lambda facts: facts.ready)]
    for span in sorted(spans, key=lambda span: span.since.at):
        if joined and span.since.time <= joined[-1].until:
            joined[-1] = joined[-1]._replace(until=max(joined[-1].until, span.until))
        else:
            joined.append(span)
    return joined


def _in_place(pieces: list[Track], end: int) -> list[Span]:
    """While ready endpoints were on the very nodes that they are on at the end."""
    held = []
    for piece in pieces:
        facts = piece.facts_at(end)
        spans = list(_spans(piece, end, partial(_placed, facts.placement if facts else 0)))
        held += [span for span in spans[-1:] if span.until == end]
    return [max(held, key=lambda span: span.since.at)] if held else []


def _told(service: Track, end: int) -> bool:
    """Whether its writes until then show what they wrote: one that does not may have brought an address."""
    writes = [moment for moment in service.moments if moment.time <= end and moment.change is not Change.DELETED]
    return all(moment.entry.facts is not None for moment in writes)


def _stayed(piece: Track, since: int, overdue: int, world: World) -> bool:
    """Whether its endpoints were ready throughout; a watch without a further line is taken to have gone on."""
    watched = piece.last.clock is Clock.OBJECT
    return world.gapless(piece, since, min(overdue, piece.last.time) if watched else overdue)


def _placed(nodes: int, facts: Any) -> bool:
    return bool(nodes) and facts.placement == nodes


def _peers(service: Track, wait: Wait, world: World) -> Peers:
    overdue = wait.since.moment.time + LATE.microseconds
    served = False
    prompt = []
    for peer in world.of_kind("", "Service"):
        came = next((moment for moment in peer.moments if moment.facts.addresses), None)
        if peer is service or not came or came.facts.type != "LoadBalancer":
            continue
        if came.facts.balancer_class == wait.facts.balancer_class:
            served = True
            asked = next(moment for moment in peer.moments if moment.facts.type == "LoadBalancer")
            if peer.created and dated(came) and came.time - asked.time <= LATE.microseconds and came.time <= overdue:
                prompt.append(between(asked, came))
    return Peers(served, tuple(prompt))


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
        return Effect.OBSERVED if wait.came else Effect.POSSIBLE, peers.told
    if wait.taken_up:
        return Effect.NONE, f"its controller had taken it up, and {peers.told}"
    return Effect.POSSIBLE, peers.told


def _advice(service: Track, wait: Wait) -> tuple[str, ...]:
    ref = service.ref
    verify = f"Verify: {kubectl(ref.namespace, 'get service {}', ref.name)} shows its external address."
    if "kube-vip" in f"{wait.facts.balancer_class} {wait.came.user_agent if wait.came else ''}":
        return (
            "Stop: touch the EndpointSlice of the Service, or restart the kube-vip Pod, so that it looks again.",
            "Prevent: upgrade kube-vip to v0.9.1 or later.",
            verify,
        )
    return ("Stop: look for the Service in the log of the controller that serves its class, and restart it.", verify)
