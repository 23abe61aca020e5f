"""An EndpointSlice that did not follow the readiness of a Pod.

## What it sees

A Pod became ready, or stopped being ready, and the EndpointSlice that names it said the opposite for longer than the
setting.

## Why it matters

Requests go to a Pod that cannot answer them, or a Pod that could take load gets none.

## Proof

The change of the Pod, and the EndpointSlice, which named the Pod with the other readiness before and after it. No write
of either is missing.

## Looks alike but is benign

- A Service with `publishNotReadyAddresses`.
- A Pod that is being deleted, or that has finished.
- A slice that follows within the setting.
- Slices with more than 20 endpoints: of these, the Pods are not kept.

## What to do

Look at the controller of EndpointSlices: its queue, and its copy of the Pods.
"""

from collections import defaultdict
from collections.abc import Iterator
from itertools import islice, pairwise
from typing import NamedTuple

from timeline.history.lifelines import Moment, Name, Track
from timeline.history.world.world import World
from timeline.judging.advice import kubectl
from timeline.judging.coverage.lines import line, need
from timeline.judging.endpoints.readiness import endpoints_of, surely_unchanged
from timeline.judging.findings import Effect, Finding, Occurrence, Part, Proof, longest, occurrence
from timeline.judging.rulebook import rule, setting
from timeline.judging.verdicts import Verdict, between, order_of, so_far, why

WAIT = setting("endpoint-stale", "wait", 10, "s", "How long an EndpointSlice may take to follow a Pod.")


class _Stale(NamedTuple):
    """A change of a Pod that an EndpointSlice did not follow in time."""

    pod: Track
    changed: Moment
    piece: Track
    state: Moment  # of the slice, which says the opposite
    followed: Moment | None  # None if it did not follow as long as the source shows
    end: int
    verdict: Verdict


@rule(
    "endpoint-stale",
    judges=("Service",),
    needs=(
        need(line("EndpointSlice", verbs="state")),
        need(line("Pod", verbs="update status")),
        need(line("EndpointSlice", verbs="create"), misses="EndpointSlices that were right when they were created"),
        need(line("Pod", verbs="create"), misses="Pods whose state before the change is not seen"),
        need(line("EndpointSlice", verbs="update"), misses="when EndpointSlices followed"),
    ),
    also=(line("Service", verbs="state"),),
    incident="The endpoints of {anchor} did not follow its Pods{times}",
    harm="{count} Services whose endpoints did not follow their Pods",
    times=True,
)
def judge(service: Track, world: World) -> Iterator[Finding]:
    if any(getattr(each.facts, "publishes", False) for each in service.moments):
        return
    found: dict[str, dict[object, _Stale]] = defaultdict(dict)
    for piece in endpoints_of(service, world, service.until):
        for name in {name for each in piece.moments for name in _named(each)}:
            pod_name = Name("", "Pod", piece.ref.namespace, name)
            pods = world.incarnations(pod_name) if piece.until is None else world.begun_by(pod_name, piece.until)
            for pod in pods:
                for stale in _stale(pod, piece, world):
                    found[name].setdefault((stale.changed.at, pod.key), stale)  # slices of two families say the same
    for _, of_pod in sorted(found.items()):
        yield _finding(service, sorted(of_pod.values(), key=lambda each: each.changed.at))


def _named(moment: Moment) -> tuple[str, ...]:
    return (*getattr(moment.facts, "ready_pods", ()), *getattr(moment.facts, "unready_pods", ()))


def _stale(pod: Track, piece: Track, world: World) -> Iterator[_Stale]:
    """Yield the changes of a Pod's readiness that an EndpointSlice did not follow in time."""
    changes = [after for before, after in pairwise(pod.moments) if before.facts.ready != after.facts.ready]
    for at, changed in enumerate(changes):
        count, was = piece.count_until(changed.at), not changed.facts.ready
        if not count or _says(known := piece.moments[count - 1], pod) is not was:
            continue
        followed = next((each for each in islice(piece.moments, count, None) if _says(each, pod) is not was), None)
        ends = [changes[at + 1].time] if at + 1 < len(changes) else []
        over = next((each.time for each in pod.moments if each.facts.terminal or each.facts.deleting), None)
        ends += [each for each in (over, pod.asked_to_end, piece.asked_to_end) if each is not None]
        end = min([followed.time if followed else world.no_later(changed.time + 10 * WAIT.microseconds), *ends])
        verdict = order_of(known, changed)
        if verdict is None or end - changed.time < WAIT.microseconds:
            continue
        if surely_unchanged(pod, changed.time, end, world) and surely_unchanged(piece, known.time, end, world):
            then = followed if followed and followed.time == end else None
            yield _Stale(pod, changed, piece, known, then, end, verdict)


def _says(moment: Moment, pod: Track) -> bool | None:
    """Return whether an EndpointSlice says that a Pod is ready; None if it does not name the Pod."""
    if pod.ref.name in getattr(moment.facts, "ready_pods", ()):
        return True
    return False if pod.ref.name in getattr(moment.facts, "unready_pods", ()) else None


def _finding(service: Track, found: list[_Stale]) -> Finding:
    ref, shown, pod = service.ref, [_occurrence(each) for each in found], found[-1].pod.ref
    worst = longest(shown)
    return Finding(
        rule="endpoint-stale",
        subject=ref,
        other=pod,
        verdict=max((each.verdict for each in found), key=list(Verdict).index),
        summary=worst.headline.format(subjects=f"Service {ref.name}"),
        occurrences=tuple(shown),
        measured=worst,
        affects=(pod,),
        advice=(
            f"Look: {kubectl(ref.namespace, 'get endpointslices -l kubernetes.io/service-name={} -o yaml', ref.name)}, "
            "and the log of the controller that manages them.",
            "Stop: if it still stands, write the Pod, so that the controller looks again: "
            f"{kubectl(ref.namespace, 'annotate pod {} looked-at=again --overwrite', pod.name)}.",
            "Prevent: find out why the controller was late: its queue, its watch, or too many Services.",
            f"Verify: {kubectl(ref.namespace, 'get endpointslices -w')} follows the Pods.",
        ),
    )


def _occurrence(stale: _Stale) -> Occurrence:
    pod, ready = stale.pod.ref, stale.changed.facts.ready
    now, said = ("ready", "not ready") if ready else ("not ready", "ready")
    late = between(stale.changed, stale.followed) if stale.followed else so_far(stale.changed, stale.end)
    proof = [Proof(f"slice says {said}", stale.piece.ref, stale.state), Proof(f"Pod {now}", pod, stale.changed)]
    if stale.followed:
        proof.append(Proof("slice follows", stale.piece.ref, stale.followed, Part.LATE))
    return occurrence(
        *proof,
        headline=f"the endpoints of {{subjects}} said for {late} that Pod {pod.name} was {said}, but it was {now}",
        plural="Services",
        why=why(stale.verdict, stale.state, stale.changed),
        effect=(Effect.POSSIBLE, f"Pod {pod.name} got no requests" if ready else f"requests went to Pod {pod.name}"),
        first=stale.changed.time,
        last=stale.end,
        interval=late,
        open=stale.followed is None,
    )
