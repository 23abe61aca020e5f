"""Measure how long a Service of type LoadBalancer, and others of its class, waited for an address. It does no I/O."""

from typing import NamedTuple

from timeline.core.durations import Length
from timeline.core.entries import Change
from timeline.history.lifelines import Moment, Track
from timeline.history.world.world import World
from timeline.judging.endpoints.readiness import endpoints_of, ready, ready_on_same_nodes, spans, surely_unchanged
from timeline.judging.findings import Proof
from timeline.judging.verdicts import between, dated, so_far
from timeline.kinds.service import ServiceFacts

# Source: https://kubernetes.io/docs/concepts/services-networking/service/#loadbalancer
_FINALIZER = "service.kubernetes.io/load-balancer-cleanup"
READY, REQUESTED = "endpoint ready", "load balancer asked for"  # the roles of the event with which a wait begins


class Wait(NamedTuple):
    """A time in which a Service had no address, although one was requested and an endpoint was ready."""

    since: Proof  # the event with which the wait began
    came: Moment | None  # the write of the first address; None if none was observed
    until: int  # drawn time at which the address was set, or at which the request for it or the source ended
    facts: ServiceFacts  # the state of the Service when the wait began
    taken_up: bool  # whether a controller had set its finalizer by the time the address was overdue
    proven: bool  # whether surely no write is missing that could explain the wait

    @property
    def length(self) -> Length:
        return between(self.since.moment, self.came) if self.came else so_far(self.since.moment, self.until)


class Peers(NamedTuple):
    """How the other Services of the same load balancer class were served."""

    served: bool  # whether any of them ever had an address
    prompt: tuple[Length, ...]  # how long those waited that got theirs in time, before this Service was overdue

    @property
    def words(self) -> str:
        if not self.prompt:
            return "no other of its class was seen to be served in time"
        most = max((length.most for length in self.prompt if length.most), default=0)
        within = f"within {Length(0, most).certain.removeprefix('≤ ')}" if most else "in time"
        if len(self.prompt) > 1:
            return f"{len(self.prompt)} others of its class had their addresses {within}"
        return f"another of its class had its address {within}"


def first_long_wait(service: Track, allowed: int, world: World) -> Wait | None:
    """Return the first wait of a Service that took longer than `allowed` microseconds; None if there was none."""
    if not service.created or not any(moment.facts.waits_for_address for moment in service.moments):
        return None
    came = _first_address(service)
    end = came.time if came else world.last
    requested = list(spans(service, end, lambda facts: facts.waits_for_address))
    if not requested or end - requested[0].since.time <= allowed:
        return None
    pieces = endpoints_of(service, world)
    local = any(moment.facts.local for moment in service.moments if moment.time <= end)
    for served in ready_on_same_nodes(pieces, end) if local else ready(pieces, end):
        for request in requested:
            later = max(request, served, key=lambda span: span.since.at)
            overdue = later.since.time + allowed
            if min(request.until, served.until) > overdue:
                return Wait(
                    Proof(READY if later is served else REQUESTED, later.track.ref, later.since),
                    came,
                    end if came else request.until,
                    service.facts_at(later.since.time),
                    _FINALIZER in service.facts_at(overdue).finalizers,
                    _logged_with_bodies(service, end)
                    and world.gapless(service, service.created.time, end)
                    and all(surely_unchanged(piece, later.since.time, overdue, world) for piece in pieces),
                )
    return None


def peers_of(service: Track, wait: Wait, allowed: int, world: World) -> Peers:
    """Return how the other Services of the same class were served before this one was overdue."""
    overdue = wait.since.moment.time + allowed
    served = False
    prompt = []
    for peer in world.of_kind("", "Service"):
        came = _first_address(peer)
        if peer is service or not came or came.facts.type != "LoadBalancer":
            continue
        if came.facts.balancer_class == wait.facts.balancer_class:
            served = True
            requested = next(moment for moment in peer.moments if moment.facts.type == "LoadBalancer")
            if peer.created and dated(came) and came.time - requested.time <= allowed and came.time <= overdue:
                prompt.append(between(requested, came))
    return Peers(served, tuple(prompt))


def _first_address(service: Track) -> Moment | None:
    return next((moment for moment in service.moments if moment.facts.addresses), None)


def _logged_with_bodies(service: Track, end: int) -> bool:
    """Return whether every write of a Service up to a drawn time shows its state. A write that does not may have set an
    address."""
    writes = [moment for moment in service.moments if moment.time <= end and moment.change is not Change.DELETED]
    return all(moment.entry.facts is not None for moment in writes)
