"""Evictions that a PodDisruptionBudget refused again and again.

## What it sees

A PodDisruptionBudget refused to let Pods be evicted (429) for a while, and none of these Pods was deleted meanwhile.

## Why it matters

Whoever drains the node waits: the upgrade of the cluster stands still, and the autoscaler cannot remove the node. If
the budget asks for as many healthy Pods as there are, it will never allow an eviction.

## Proof

The refused evictions, in which the API server names the budget, and the status of the budget, which allowed none.

## Looks alike but is benign

- Evictions refused while a replacement starts, and then allowed: this is only an info.
- Refusals over less than the setting `short`: they are not reported.
- Refusals over less than the setting `long`, of a budget that may allow an eviction once a Pod is ready: this is only
  an info.

## What to do

Let the budget allow one Pod less than there are, or start one more.
"""

from collections.abc import Iterator

from timeline.core.entries import Level, Request
from timeline.history.lifelines import Moment, Track, name_of
from timeline.history.world.world import World
from timeline.judging.advice import kubectl
from timeline.judging.coverage.lines import line, need
from timeline.judging.findings import Effect, Finding, Occurrence, Proof, longest, occurrence
from timeline.judging.refusals import outages as divided
from timeline.judging.rulebook import rule, setting
from timeline.judging.verdicts import Verdict

APART = setting("eviction-blocked", "apart", 60, "s", "Refusals further apart than this count as two drains.")
SHORT = setting("eviction-blocked", "short", 10, "s", "Evictions refused for a shorter time are not reported.")
LONG = setting("eviction-blocked", "long", 120, "s", "Evictions refused for a shorter time are only an info.")


@rule(
    "eviction-blocked",
    judges=("PodDisruptionBudget",),
    needs=(
        need(line("PodDisruptionBudget", verbs="create update status", level=Level.METADATA)),
        need(line(verbs="vain", level=Level.METADATA)),
        need(line("PodDisruptionBudget", verbs="status"), misses="whether a budget can ever allow an eviction"),
        need(line("Pod", verbs="delete", level=Level.METADATA), misses="evictions that were allowed meanwhile"),
    ),
    incident="{anchor} refused evictions",
    harm="{count} drains that waited for a budget",
)
def judge(budget: Track, world: World) -> Iterator[Finding]:
    refused = [each for each in world.refused_by(budget.name) if budget.first.time <= each.staged]
    outages = [each for each in divided.outages(refused, APART.microseconds) if _blocked(each, world)]
    if not outages:
        return
    found = [_occurrence(budget, each, world) for each in outages]
    ref, number = budget.ref, sum(map(len, outages))
    yield Finding(
        rule="eviction-blocked",
        subject=ref,
        verdict=Verdict.EXACT,
        summary=f"PodDisruptionBudget {ref.name} refused {number} evictions in {longest(found).interval}",
        occurrences=tuple(found),
        measured=longest(found),
        affects=tuple({name_of(each.ref): each.ref for outage in outages for each in outage}.values()),
        advice=(
            f"Look: {kubectl(ref.namespace, 'describe poddisruptionbudget {}', ref.name)}: how many Pods must be "
            "healthy, and how many are?",
            "Stop: start one more Pod, such as by `kubectl scale`, or let the budget allow one less: "
            + kubectl(ref.namespace, "patch poddisruptionbudget {} -p {}", ref.name, '{"spec":{"minAvailable":1}}')
            + " with the number that fits.",
            "Prevent: use `maxUnavailable: 1`, which always allows an eviction while all Pods are healthy.",
            f"Verify: {kubectl(ref.namespace, 'get poddisruptionbudget {}', ref.name)} shows allowed disruptions above "
            "0, and the drain goes on.",
        ),
    )


def _blocked(outage: list[Request], world: World) -> bool:
    """Return whether evictions were refused for long enough, and none of the Pods was asked to end meanwhile."""
    first, last = outage[0].received, outage[-1].received
    if last - first < SHORT.microseconds:
        return False
    return not _evicted(outage, first, last, world)


def _evicted(outage: list[Request], since: int, until: int, world: World) -> bool:
    """Return whether any of the Pods was asked to end between two drawn times."""
    pods = (pod for name in {name_of(each.ref) for each in outage} for pod in world.incarnations(name, until))
    return any(pod.asked_to_end and since < pod.asked_to_end <= until for pod in pods)


def _occurrence(budget: Track, outage: list[Request], world: World) -> Occurrence:
    state = _state(budget, outage[-1].received)
    lasted, number = divided.lasted(outage), len(outage)
    never = state and 0 <= state.facts.expected <= state.facts.needed and state.facts.healthy >= state.facts.expected
    words = f"{number} evictions were refused in {lasted}"
    last = outage[-1].received
    if never:
        effect = Effect.POSSIBLE, f"{words}; all Pods are healthy, so the budget never allows one"
    elif _evicted(outage, last, last + APART.microseconds, world):
        effect = Effect.NONE, f"{words}; then the budget allowed one"
    else:
        effect = Effect.POSSIBLE if lasted.least >= LONG.microseconds else Effect.NONE, words
    stated = [Proof("budget allows none", budget.ref, state)] if state else []
    return occurrence(
        *sorted([*stated, *divided.shown(outage, "eviction refused")], key=lambda each: each.moment.at),
        headline=f"{words} by {{subjects}}",
        plural="budgets",
        why="Exact: the API server names the budget in each refusal.",
        effect=effect,
        first=outage[0].received,
        last=outage[-1].received,
        acts=divided.acts(outage),
        links=(divided.link(budget.name, outage),),
        interval=lasted,
    )


def _state(budget: Track, time: int) -> Moment | None:
    """Return the last moment before a drawn time whose status allowed no eviction; None without such a status."""
    before = [each for each in budget.moments if each.time <= time and each.entry.facts is not None]
    return before[-1] if before and before[-1].facts.allowed == 0 else None
