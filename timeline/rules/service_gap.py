"""A Service taken away under its running Pods.

## What it sees

The Service that a live Pod names in `spec.subdomain` was deleted. The gap ends when a Service of that name is created
again, or lasts. All gaps of one Pod under one name are one finding that counts them.

## Why it matters

While the Service is away, the Pod's DNS name does not resolve and its peers lose it. Volcano's RestartPod deletes and
re-creates the job's Service although the other Pods run on (volcano-sh/volcano#3753).

## Proof

The deletion and the next creation of the name, ordered by their revisions. A container that failed or restarted while
the Service was away or within a minute after makes it an error; one that ran meanwhile a warning.

## Looks alike but is benign

A teardown: the Service is not created again and the Pod ends, or is asked to, within 5 s of the deletion. A Pod that
had finished, or was being deleted, before the Service was. A Service that never existed.

## What to do

Find out who deletes the Service: the actor of the proof. For a Volcano job avoid policies that restart single Pods of
a job with the svc plugin, or let the workload retry DNS.
"""

from collections.abc import Iterator
from typing import NamedTuple

from timeline.entries import Change
from timeline.order import delay_bounds
from timeline.rulebook import Effect, Finding, Occurrence, Proof, Verdict, duration, order_of, rule, why
from timeline.world import Moment, Name, Track, World

TEARDOWN = 5_000_000  # µs in which a Pod may follow its Service into deletion
FAILURE_WITHIN = 60_000_000  # µs after a gap, in which a failure is laid to it


class Gap(NamedTuple):
    service: Track  # the one deleted
    went: Moment
    back: tuple[Track, Moment] | None

    def ended(self, world: World) -> int:
        return self.back[1].time if self.back else world.last


@rule("service-gap", subject="Pod")
def judge(pod: Track, world: World) -> Iterator[Finding]:
    subdomain = getattr(pod.first.facts, "subdomain", "")
    if not subdomain:
        return
    lives = world.incarnations(Name("", "Service", pod.ref.namespace, subdomain))
    gaps = [gap for gap in _gaps(lives) if _lived(pod, gap.went) and not _teardown(pod, gap, world)]
    if not gaps:
        return
    happened = tuple(_occurrence(pod, gap, world) for gap in gaps)
    longest = max(gaps, key=lambda gap: (gap.ended(world) - gap.went.time, -gap.went.time))
    away = longest.ended(world) - longest.went.time
    times = f" {len(gaps)} times, for up to {duration(away)}," if len(gaps) > 1 else f" for {duration(away)}"
    yield Finding(
        rule="service-gap",
        subject=pod.ref,
        other=gaps[0].service.ref,
        verdict=Verdict.INCONCLUSIVE if any(_unsure(pod, gap) for gap in gaps) else Verdict.EXACT,
        summary=f"Service {subdomain} was away{times} under Pod {pod.ref.name}{_still(gaps[-1])}",
        occurrences=happened,
        advice=_advice(gaps[0].service, world),
        delay=away,
        bounds=delay_bounds(longest.went.stamp, longest.back[1].stamp) if longest.back else None,
    )


def _occurrence(pod: Track, gap: Gap, world: World) -> Occurrence:
    effect, text = _effect(pod, gap, world)
    away = duration(gap.ended(world) - gap.went.time)
    proof = [Proof("Service deleted", gap.service.ref, gap.went)]
    if gap.back:
        proof.append(Proof("created again", gap.back[0].ref, gap.back[1]))
        verdict = order_of(gap.went, gap.back[1]) or Verdict.INCONCLUSIVE
        reason = why(verdict, gap.went, gap.back[1])
    else:
        rest = duration(world.last - gap.went.time)
        reason = f"Exact: the deletion is in the log, and no creation of that name in the {rest} that follow in it."
    return Occurrence(
        first=gap.went.time,
        last=gap.ended(world),
        headline=f"Service {gap.service.ref.name} was away for {away} under {{subjects}}{_still(gap)}",
        plural="running Pods",
        why=reason,
        effect=effect,
        effect_text=text,
        proof=tuple(proof),
        hole=f"none · {away}",
    )


def _still(gap: Gap) -> str:
    return "" if gap.back else " and has not come back"


def _unsure(pod: Track, gap: Gap) -> bool:
    ordered = [order_of(pod.first, gap.went), gap.back and order_of(gap.went, gap.back[1])]
    return Verdict.INCONCLUSIVE in ordered


def _gaps(lives: list[Track]) -> Iterator[Gap]:
    for index, service in enumerate(lives):
        if went := service.ended:
            following = next(((track, track.created) for track in lives[index + 1 :] if track.created), None)
            yield Gap(service, went, following)


def _lived(pod: Track, went: Moment) -> bool:
    """Whether the Pod was surely there, and neither finished nor asked to end, when the Service went."""
    if order_of(pod.first, went) is None or (pod.ended and order_of(pod.ended, went)):
        return False
    held = pod.facts_at(went.time)
    return held is not None and not held.terminal and not held.deleting


def _teardown(pod: Track, gap: Gap, world: World) -> bool:
    """Whether the Pod followed its Service, and no Service came back for it."""
    leaving = next((moment for moment in pod.moments if _leaves(moment) and moment.time >= gap.went.time), None)
    if gap.back and (leaving is None or order_of(gap.back[1], leaving)):
        return False  # it came back while the Pod was still there
    until = leaving.time if leaving else world.last
    return until - gap.went.time <= TEARDOWN


def _leaves(moment: Moment) -> bool:
    facts = moment.facts
    return moment.change is Change.DELETED or facts.deleting or facts.terminal


def _effect(pod: Track, gap: Gap, world: World) -> tuple[Effect, str]:
    if not pod.facts_at(gap.ended(world)).started:
        return Effect.NONE, "no container of {names} had started"
    limit = gap.ended(world) + FAILURE_WITHIN
    for before, after in zip(pod.moments, pod.moments[1:], strict=False):
        if gap.went.time <= after.time <= limit and after.facts.failed_since(before.facts):
            return Effect.OBSERVED, f"{{names}} failed {duration(after.time - gap.went.time)} after it went"
    return Effect.POSSIBLE, "{names} ran meanwhile; no failure seen in the minute after"


def _advice(service: Track, world: World) -> tuple[str, ...]:
    owner = world.owner_of(service)
    retry = "Let the workload retry its DNS lookups: a running Pod has lost its name meanwhile."
    if owner and owner.ref.group == "batch.volcano.sh":
        return (
            "The job's restart policy deletes and re-creates the Service: restart the whole job, or none of its Pods.",
            retry,
            'Give the plugin its argument in the job: `svc: ["--publish-not-ready-addresses=true"]`.',
        )
    return ("Change the Service in place instead of deleting and creating it.", retry)
