"""Find out who writes the endpoints of a Service, and which endpoints remained without a Service. It does no I/O."""

from collections.abc import Iterator
from typing import NamedTuple

from timeline.core.entries import Change
from timeline.history.lifelines import Moment, Name, Track
from timeline.history.world.world import World
from timeline.judging.findings import Proof
from timeline.judging.references.endings import namespace_ended
from timeline.judging.references.incarnations import absences
from timeline.judging.verdicts import IN_FLIGHT, Verdict, order_of

# The values of the label endpointslice.kubernetes.io/managed-by,
# https://kubernetes.io/docs/concepts/services-networking/endpoint-slices
_CONTROLLERS = {"endpointslice-controller.k8s.io", "endpointslicemirroring-controller.k8s.io", "endpoint-controller"}
_PEOPLE = {"", "staff", "cluster-admins"}


class Orphan(NamedTuple):
    """A time in which an EndpointSlice remained although its Service did not exist.

    `first`, `last` and `overdue` are drawn times in microseconds since 1970.
    """

    since: Proof  # the deletion of the Service, or the creation of a namespace that never had the Service
    service: Track | None  # the deleted Service
    back: Moment | None  # the creation of the next Service of that name
    first: int  # when the EndpointSlice became an orphan
    last: int  # when it stopped being one
    overdue: int  # when it should have been deleted


def written_by_kubernetes(endpoints: Track) -> bool:
    """Return whether a controller of Kubernetes writes the endpoints. It then creates them only after it has observed
    the Service, and also deletes them."""
    by_manager = endpoints.first.user_agent.startswith("kube-controller-manager")
    return by_manager or _owned(endpoints) or endpoints.value("managed_by") in _CONTROLLERS


def written_by_hand(endpoints: Track) -> bool:
    """Return whether a person wrote the endpoints."""
    by_label = endpoints.ref.kind == "EndpointSlice" and (endpoints.value("managed_by") or "") in _PEOPLE
    return by_label or endpoints.first.user_agent.startswith("kubectl")


def orphaned(piece: Track, service: Name, allowed: int, world: World) -> Iterator[Orphan]:
    """Yield the times in which an EndpointSlice remained without its Service for longer than `allowed` microseconds."""
    left = piece.asked_to_end
    for since, deleted, back in _without_service(piece, service, world):
        gone = since.moment
        ends = [end for end in (back.time if back else None, left) if end is not None]
        first = max(gone.time, gone.entry.undated, piece.first.time)  # at the latest, an undated deletion came then
        orphan = Orphan(since, deleted, back, first, world.no_later(min(ends)) if ends else world.last, first + allowed)
        if orphan.last <= orphan.overdue or namespace_ended(piece, gone, orphan.overdue, world):
            continue
        if piece.last.time > orphan.overdue or _surely_stays(piece, orphan, world):
            yield orphan


def last_sign(piece: Track, overdue: int) -> Proof:
    """Return the event that proves that an EndpointSlice remained: its first change after a drawn time, or else its
    last change."""
    moment = next((each for each in piece.moments if each.time > overdue), piece.last)
    role = "deleted" if moment.change is Change.DELETED else "written" if moment.time > overdue else "last written"
    return Proof(f"EndpointSlice {role}", piece.ref, moment)


def _without_service(piece: Track, service: Name, world: World) -> Iterator[tuple[Proof, Track | None, Moment | None]]:
    """Yield each time in which the Service did not exist: the event that began this time, the deleted Service, and the
    creation of the next one. Times that were over before the piece began may be left out."""
    lives = world.incarnations(service, piece.asked_to_end, after=piece.first)
    for deleted, went, _, back in absences(lives):
        if not (_owned(piece) and piece.owner and piece.owner.uid != deleted.ref.uid):
            yield Proof("Service deleted", deleted.ref, went), deleted, back
    if not lives and piece.created and not written_by_kubernetes(piece):
        for namespace in world.incarnations(Name("", "Namespace", "", service.namespace)):
            if namespace.created and order_of(namespace.created, piece.created) is Verdict.EXACT:
                yield Proof("namespace created", namespace.ref, namespace.created), None, None


def _surely_stays(piece: Track, orphan: Orphan, world: World) -> bool:
    """Return whether an EndpointSlice surely remained although no later change of it was observed, because its deletion
    cannot be missing."""
    in_time = not written_by_kubernetes(piece) and world.last > orphan.overdue + IN_FLIGHT
    return in_time and world.gapless(piece, orphan.first, orphan.overdue)


def _owned(endpoints: Track) -> bool:
    return endpoints.owner is not None and endpoints.owner.kind == "Service"
