"""A Service that was turned to other Pods before these were ready.

## What it sees

The selector of a Service changed, or the labels of all of its ready Pods, and its ready endpoints went from some to
none, until the Pods that it selects now became ready.

## Why it matters

In between, nobody could reach the Service: connections are refused or time out, although Pods that could have answered
were there all the time.

## Proof

The write that changed the selector, or the labels of the last Pod, which was ready all the time, and the EndpointSlices
of the Service before it, after it, and when an endpoint was ready again. No write of them is missing.

## Looks alike but is benign

- The first selector of a Service, or one that is taken away.
- A Service whose old Pods were not ready either, or had been scaled to none before.
- A selector that matches no Pod at all: nothing was to become ready.
- Pods whose labels change while others stay ready, or that are stopped at the same time.
- A gap that is shorter than the setting.

## What to do

Wait until the new Pods are ready, and only then change the selector, or the labels of the old Pods.
"""

from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

from timeline.history.lifelines import Moment, Name, Track
from timeline.history.world.world import World
from timeline.judging.advice import kubectl
from timeline.judging.coverage.lines import line, need
from timeline.judging.endpoints.readiness import Span, endpoints_of, ready, surely_unchanged
from timeline.judging.findings import Effect, Finding, Occurrence, Part, Proof, longest, occurrence
from timeline.judging.rulebook import rule, setting
from timeline.judging.verdicts import Verdict, between, order_of, so_far, why

WITHIN = setting("selector-before-ready", "within", 10, "s", "How soon after the change the endpoints went.")
SHORT = setting("selector-before-ready", "short", 1, "s", "A Service without ready endpoints for less is no gap.")


class _Gap(NamedTuple):
    """A time without ready endpoints after a selector, or the labels of Pods, had changed."""

    whose: Track  # the Service, or the last Pod whose labels changed
    changed: Moment
    piece: Track  # the EndpointSlice that lost its last ready endpoint
    lost: Moment
    back: Span | None  # None if no endpoint was ready again
    end: int
    verdict: Verdict


@rule(
    "selector-before-ready",
    judges=("Service",),
    needs=(
        need(line("Service", "Pod", verbs="update")),
        need(line("EndpointSlice", "Endpoints", verbs="update")),
        need(line("Service", verbs="update"), misses="Services whose selector changed"),
        need(line("Service", verbs="create"), misses="Services whose earlier selector nothing shows"),
        need(line("Pod", verbs="update"), misses="Pods whose labels changed"),
        need(line("Pod", verbs="create status"), misses="Pods whose earlier labels nothing shows"),
    ),
    incident="{anchor} was turned to Pods that were not ready{times}",
    harm="{count} Services without ready endpoints",
    times=True,
)
def judge(service: Track, world: World) -> Iterator[Finding]:
    pieces = endpoints_of(service, world, service.until)
    changes = [(service, after) for before, after in pairwise(service.moments) if _turned(before, after)]
    changes += [new for time in _losses(pieces) if (new := _relabelled(time, pieces, world))]
    if not changes:
        return
    end = world.last if service.asked_to_end is None else min(world.last, service.asked_to_end)
    spans = ready(pieces, end)
    by_loss: dict[object, _Gap] = {}
    for whose, changed in changes:
        if gap := _gap(whose, changed, pieces, spans, end, world):
            by_loss.setdefault(gap.lost.at, gap)
    gaps = sorted(by_loss.values(), key=lambda each: each.lost.at)
    if not gaps:
        return
    ref, found = service.ref, [_occurrence(service, each) for each in gaps]
    worst = longest(found)
    yield Finding(
        rule="selector-before-ready",
        subject=ref,
        verdict=max((each.verdict for each in gaps), key=list(Verdict).index),
        summary=worst.headline.format(subjects=f"Service {ref.name}"),
        occurrences=tuple(found),
        measured=worst,
        advice=(
            f"Look: {kubectl(ref.namespace, 'get endpointslices -l kubernetes.io/service-name={}', ref.name)}, and who "
            "changed the selector or the labels (the proof).",
            "Stop: if it is still without endpoints, turn it back: "
            f"{kubectl(ref.namespace, 'edit service {}', ref.name)}, with the labels of the old Pods.",
            "Prevent: change the selector, or the labels of the old Pods, only once the new Pods are ready: "
            f"{kubectl(ref.namespace, 'wait --for=condition=Ready pods -l KEY=VALUE')}.",
            f"Verify: {kubectl(ref.namespace, 'get endpointslices -w')} shows ready endpoints at every change.",
        ),
    )


def _losses(pieces: list[Track]) -> list[int]:
    """Return the drawn times at which any EndpointSlice lost its last ready endpoint."""
    both = (pair for piece in pieces for pair in pairwise(piece.moments))
    return [
        after.time
        for before, after in both
        if getattr(before.facts, "ready", 0) and after.facts and not after.facts.ready
    ]


def _turned(before: Moment, after: Moment) -> bool:
    """Return whether a Service that selected Pods selects other ones from a moment on."""
    return _has_other(before, after, "selector")


def _has_other(before: Moment, after: Moment, fact: str) -> bool:
    one, other = (getattr(each.facts, fact, "") for each in (before, after))
    return bool(one and other) and one != other


def _relabelled(time: int, pieces: list[Track], world: World) -> tuple[Track, Moment] | None:
    """Return the last Pod whose labels changed before its Service lost its last ready endpoint at a drawn time, and
    that change; None if any of these Pods kept its labels, or was not ready any more."""
    if (found := _lost(pieces, time)) is None:
        return None
    piece, lost = found
    names = getattr(piece.moments[max(0, piece.count_until(lost.at) - 2)].facts, "ready_pods", ())
    changes = [_new_labels(Name("", "Pod", piece.ref.namespace, each), lost, world) for each in names]
    known = [each for each in changes if each]
    return max(known, key=lambda each: each[1].at) if known and len(known) == len(changes) else None


def _new_labels(name: Name, lost: Moment, world: World) -> tuple[Track, Moment] | None:
    lives = world.begun_by(name, lost.time)
    if not lives or name.name in getattr(lost.facts, "unready_pods", ()):
        return None
    pod = lives[-1]
    known = pod.moments[: pod.count_until(lost.at)]
    changes = [after for before, after in pairwise(known) if _has_other(before, after, "labels")]
    if not changes or lost.time - changes[-1].time > WITHIN.microseconds:
        return None
    if not known[-1].facts.ready or known[-1].facts.deleting:
        return None
    return (pod, changes[-1]) if surely_unchanged(pod, changes[-1].time, lost.time, world) else None


def _gap(whose: Track, changed: Moment, pieces: list[Track], spans: list[Span], end: int, world: World) -> _Gap | None:
    last = next((each for each in reversed(spans) if each.since.time <= changed.time), None)
    if last is None or not changed.time <= last.until <= changed.time + WITHIN.microseconds:
        return None
    back = next((each for each in spans if each.since.time > last.until), None)
    lost = _lost(pieces, last.until)
    over = back.since.time if back else end
    if lost is None or over - last.until < SHORT.microseconds or (back is None and not _unready(pieces, over)):
        return None
    piece, moment = lost
    verdict = order_of(changed, moment)
    if verdict is None or not all(surely_unchanged(each, changed.time, over, world) for each in pieces):
        return None
    return _Gap(whose, changed, piece, moment, back, over, verdict)


def _lost(pieces: list[Track], time: int) -> tuple[Track, Moment] | None:
    """Return the EndpointSlice, and its moment, in which no endpoint was ready from a drawn time on."""
    at = ((piece, moment) for piece in pieces for moment in piece.moments if moment.time == time)
    return next(((piece, moment) for piece, moment in at if moment.facts and not moment.facts.ready), None)


def _unready(pieces: list[Track], time: int) -> bool:
    """Return whether any EndpointSlice has endpoints at a drawn time, which then are not ready."""
    return any(facts and facts.endpoints for facts in (each.facts_at(time) for each in pieces))


def _occurrence(service: Track, gap: _Gap) -> Occurrence:
    what = "selector" if gap.whose is service else "labels of its Pods"
    proof = [
        Proof(f"{what} changed", gap.whose.ref, gap.changed, Part.ACT),
        Proof("no endpoint ready", gap.piece.ref, gap.lost, Part.REMOVED),
    ]
    if gap.back:
        proof.append(Proof("endpoint ready again", gap.back.track.ref, gap.back.since, Part.LATE))
    lasted = between(gap.lost, gap.back.since) if gap.back else so_far(gap.lost, gap.end)
    return occurrence(
        *proof,
        headline=f"{{subjects}} had no ready endpoint for {lasted} after the {what} had changed",
        plural="Services",
        why=why(gap.verdict, gap.changed, gap.lost),
        effect=(Effect.POSSIBLE, f"nobody could reach {{names}} for {lasted}"),
        last=gap.end,
        interval=lasted,
        open=gap.back is None,
    )
