"""Endpoints that were there before their Service, or are there without one.

## What it sees

An EndpointSlice (label `kubernetes.io/service-name`) or an Endpoints object that was created before its Service. And
orphans: an EndpointSlice that stands for more than 10 s after its Service was deleted, or in a new namespace where none
came.

## Why it matters

A consumer that watches endpoints and looks their Service up finds none and drops the event; its route comes when it
happens to look again. kube-vip did so for half an hour and longer (kube-vip/kube-vip#1092). Whoever reads an orphan
sends traffic to addresses that belong to nobody.

## Proof

The two creations, ordered by their revisions; the Service's successful creation proves that none stood before it. For
an orphan the deletion of the Service, no creation of that name since, and the slice still there; or the creation of its
namespace, and none of the Service. Where writes of Services are missing from the source, the verdict is inconclusive.
Ready addresses make it a warning: there was something to be dropped, or to be reached in vain.

## Looks alike but is benign

What Kubernetes itself writes: its controllers have seen the Service for which they write, and the API server writes the
endpoints of `default/kubernetes`. Endpoints written by hand for a Service without a selector: the order is told, as
info. A slice that goes before its Service comes. A slice that waits for the garbage collector, or whose namespace is
being deleted; the old slice of a Service that was re-created. An Endpoints object that is the lock of a leader
election. A slice without the label. A Service whose creation was not observed: it may have stood. Endpoints objects are
never orphans: they go with their Service, which no log tells.

## What to do

Create the Service first. Let slices name their Service as owner, so that the garbage collector takes them along;
delete those that were left. Upgrade kube-vip to v0.9.1 or later; until then touch the EndpointSlice or restart the
consumer, so that it looks again.
"""

from collections.abc import Iterator
from typing import NamedTuple

from timeline.core.entries import Change
from timeline.history.lifelines import Moment, Name, Track
from timeline.history.world import World
from timeline.judging.advice import kubectl, ordered
from timeline.judging.findings import Effect, Finding, Occurrence, Proof
from timeline.judging.rulebook import rule, setting
from timeline.judging.verdicts import IN_FLIGHT, Verdict, between, dated, order_of, so_far, torn_down, why

ORPHAN = setting("endpoints-before-service", "orphan", 10, "s", "How long the slices of a deleted Service may stay.")
CONTROLLERS = {"endpointslice-controller.k8s.io", "endpointslicemirroring-controller.k8s.io", "endpoint-controller"}
HANDS = {"", "staff", "cluster-admins"}  # https://kubernetes.io/docs/concepts/services-networking/endpoint-slices
DOUBT = "Inconclusive: writes of Services are missing from this source, and among them may be one of that name."


class Case(NamedTuple):
    summary: str
    service: Track | None
    verdict: Verdict
    occurrence: Occurrence
    advice: tuple[str, ...]


class Absence(NamedTuple):
    """While no Service of the name stood."""

    since: Proof  # its deletion; or the creation of the namespace, which had none before
    service: Track | None  # the one deleted
    back: Moment | None  # the next one's creation


@rule("endpoints-before-service", judges=("EndpointSlice", "Endpoints"), needs=("Service",))
def judge(endpoints: Track, world: World) -> Iterator[Finding]:
    ref = endpoints.ref
    service = endpoints.value("service") if ref.kind == "EndpointSlice" else ref.name
    if not service or endpoints.value("lock") or (ref.namespace, service) == ("default", "kubernetes"):
        return
    name = Name("", "Service", ref.namespace, service)
    cases = [_early(endpoints, name, world)]
    if ref.kind == "EndpointSlice":
        cases += [_orphaned(endpoints, absence, world) for absence in _absences(endpoints, name, world)]
    found = [case for case in cases if case]
    found = [case for case in found if case.verdict is not Verdict.INCONCLUSIVE] or found
    if not found:
        return
    worst = max(found, key=lambda case: case.occurrence.weight)
    yield Finding(
        rule="endpoints-before-service",
        subject=ref,
        other=worst.service.ref if worst.service else None,
        verdict=worst.verdict,
        summary=worst.summary,
        occurrences=tuple(sorted((case.occurrence for case in found), key=lambda each: each.first)),
        advice=ordered(line for case in found for line in case.advice),
        delay=worst.occurrence.length,
        interval=worst.occurrence.interval,
    )


def _early(endpoints: Track, name: Name, world: World) -> Case | None:
    """Created while no Service of that name stood, and one came later."""
    born = endpoints.created
    if not born or _follows(endpoints):
        return None
    lives = world.incarnations(name)
    before = [life for life in lives if life.created is None or order_of(life.created, born)]
    if any(life.ended is None or order_of(life.ended, born) in (None, Verdict.INCONCLUSIVE) for life in before):
        return None  # one stood when they were created, or may have stood
    service = next((life for life in lives if life not in before), None)
    came = service.created if service else None
    left = endpoints.asked_to_end
    if not service or not came or came.facts.type == "ExternalName" or (left is not None and left <= came.time):
        return None
    verdict = order_of(born, came)
    if verdict is None:
        return None
    doubt = not before and not world.complete("", "Service", born.time, came.time)
    delay = max(0, came.time - born.time)  # clocks of two API servers may contradict the revisions
    late = between(born, came)
    ready = max(moment.facts.ready for moment in endpoints.moments if moment.time <= born.time + delay)
    effect, text = _effect(ready, "by then")
    if _by_hand(endpoints) and not came.facts.selects:
        effect, text = Effect.NONE, "the endpoints of that Service are written by hand"
    kind = endpoints.ref.kind
    occurrence = Occurrence(
        first=born.time,
        last=born.time + delay,
        headline=f"{{subjects}} created before Service {name.name}",
        plural="endpoints objects",
        why=DOUBT if doubt else why(verdict, born, came),
        effect=effect,
        effect_text=text,
        proof=(Proof(f"{kind} created", endpoints.ref, born), Proof("Service created", service.ref, came)),
        arrow=f"Service {late.arrow}",
        interval=late,
    )
    return Case(
        f"{kind} {endpoints.ref.name} was created {late} before its Service {name.name}",
        service,
        Verdict.INCONCLUSIVE if doubt else verdict,
        occurrence,
        (
            "Clean: touch them, so that whoever dropped them looks again: "
            f"{kubectl(endpoints.ref.namespace, f'annotate {kind.lower()} {{}} looked-at=again', endpoints.ref.name)}.",
            "Prevent: create the Service first. kube-vip looks again by itself from v0.9.1 on.",
            f"Verify: {kubectl(endpoints.ref.namespace, 'get service,endpointslices')} shows them together, and the "
            "Service can be reached.",
        ),
    )


def _absences(piece: Track, name: Name, world: World) -> Iterator[Absence]:
    lives = world.incarnations(name)
    for index, life in enumerate(lives):
        went = life.ended
        if went is None or (_owned(piece) and piece.owner and piece.owner.uid != life.ref.uid):
            continue
        following = next((each for each in lives[index + 1 :] if order_of(went, each.first)), None)
        if following is None or following.created:
            yield Absence(Proof("Service deleted", life.ref, went), life, following.created if following else None)
    if not lives and piece.created and not _follows(piece):
        for home in world.incarnations(Name("", "Namespace", "", name.namespace)):
            if home.created and order_of(home.created, piece.created) is Verdict.EXACT:
                yield Absence(Proof("namespace created", home.ref, home.created), None, None)


def _orphaned(piece: Track, absence: Absence, world: World) -> Case | None:
    """Still there long after no Service was."""
    since = absence.since.moment
    left = piece.asked_to_end
    ends = (absence.back.time if absence.back else world.last, world.last if left is None else left)
    first, last = max(since.time, since.entry.undated, piece.first.time), min(ends)  # it was gone when that was told
    overdue = first + ORPHAN.microseconds
    if last <= overdue or torn_down(piece, since, overdue, world):
        return None
    sign_of_life = piece.last.time > overdue or (
        not _follows(piece) and world.last > overdue + IN_FLIGHT and world.gapless(piece, first, overdue)
    )
    if not sign_of_life:
        return None
    doubt = "" if absence.back or world.complete("", "Service", since.time, last) else DOUBT
    if not dated(since) and not since.entry.undated:
        doubt = "Inconclusive: nothing tells when the Service was deleted."
    if doubt and absence.service is None:
        return None
    ready = piece.facts_at(overdue).ready
    effect, text = _effect(ready, "all that time")
    if absence.service is None and _by_hand(piece):
        effect, text = Effect.NONE, "it is written by hand"
    named = f"Service {absence.service.ref.name}" if absence.service else "its Service"
    still = "" if last < world.last else " and still does"
    begun = max((since, piece.first), key=lambda moment: moment.time)
    length = between(begun, absence.back) if absence.back and absence.back.time == last else so_far(begun, last)
    occurrence = Occurrence(
        first=first,
        last=last,
        headline=f"{{subjects}} stood for {length} without {named}{still}",
        plural="EndpointSlices",
        why=doubt or _why(absence, last),
        effect=effect,
        effect_text=text,
        interval=length,
        proof=tuple(sorted((absence.since, _sign(piece, overdue)), key=lambda proof: proof.moment.at)),
    )
    return Case(
        f"EndpointSlice {piece.ref.name} stood for {length} without {named}{still}",
        absence.service,
        Verdict.INCONCLUSIVE if doubt else Verdict.EXACT,
        occurrence,
        (
            f"Clean: {kubectl(piece.ref.namespace, 'delete endpointslice {}', piece.ref.name)}.",
            "Prevent: let slices name their Service as owner, so that the garbage collector takes them along.",
            f"Verify: {kubectl(piece.ref.namespace, 'get endpointslice {}', piece.ref.name)} finds none.",
        ),
    )


def _sign(piece: Track, overdue: int) -> Proof:
    """That it was there: its first change from then on, or the last one before."""
    moment = next((each for each in piece.moments if each.time > overdue), piece.last)
    role = "deleted" if moment.change is Change.DELETED else "written" if moment.time > overdue else "last written"
    return Proof(f"EndpointSlice {role}", piece.ref, moment)


def _why(absence: Absence, last: int) -> str:
    if absence.back:
        return "Exact: the Service's deletion and its next creation are in the log, and the slice stood in between."
    begun = "deletion of the Service" if absence.service else "creation of the namespace"
    rest = so_far(absence.since.moment, last)
    return f"Exact: the {begun} is in the log, and no creation of one follows; the log goes on for {rest}."


def _effect(ready: int, when: str) -> tuple[Effect, str]:
    if not ready:
        return Effect.NONE, f"{{names}} had no ready address {when}"
    return Effect.POSSIBLE, f"{{names}} had {ready} ready {'addresses' if ready > 1 else 'address'} {when}"


def _follows(endpoints: Track) -> bool:
    """Whether Kubernetes itself writes it: its controllers have seen the Service, and take the endpoints away again."""
    by_controller = endpoints.first.user_agent.startswith("kube-controller-manager")
    return by_controller or _owned(endpoints) or endpoints.value("managed_by") in CONTROLLERS


def _owned(endpoints: Track) -> bool:
    return endpoints.owner is not None and endpoints.owner.kind == "Service"


def _by_hand(endpoints: Track) -> bool:
    by_hand = endpoints.ref.kind == "EndpointSlice" and (endpoints.value("managed_by") or "") in HANDS
    return by_hand or endpoints.first.user_agent.startswith("kubectl")
