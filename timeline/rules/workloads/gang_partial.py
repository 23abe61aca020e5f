"""Only some Pods of a gang were bound.

## What it sees

A PodGroup asks for a least number of Pods that are to be bound together. Fewer were bound, and it stayed so for longer
than the setting.

## Why it matters

The Pods that are bound hold their nodes and wait for the others. Two such gangs can block each other for ever, each
with half of the nodes. Gangs are there to prevent that.

## Proof

The state of the PodGroup with its least number, and the bindings of its Pods. No line of Pods is known to be missing.

## Looks alike but is benign

- A gang whose Pods are bound one after the other within the setting.
- Members that have finished, which count as bound.
- Pods of a replaced attempt, which are being deleted.
- A gang that grows beyond its least number.

## What to do

Find out why the scheduler bound a part of the gang: its copy of the PodGroup may have been old.
"""

from collections.abc import Iterator

from timeline.history.lifelines import Moment, Track
from timeline.history.world.world import World
from timeline.judging.advice import kubectl
from timeline.judging.cleanup import MOST
from timeline.judging.coverage.lines import OWNERS, line, need
from timeline.judging.findings import Effect, Finding, Part, Proof, occurrence
from timeline.judging.rulebook import rule, setting
from timeline.judging.verdicts import Verdict, so_far

WAIT = setting("gang-partial", "wait", 60, "s", "How long the binding of a whole gang may take.")


@rule(
    "gang-partial",
    judges=("PodGroup.scheduling.volcano.sh",),
    needs=(
        need(line("PodGroup.scheduling.volcano.sh", verbs="state")),
        need(line("Pod", verbs="update status")),
        need(line("Pod", verbs="delete"), misses="gangs whose Pods may have been deleted"),
    ),
    also=(OWNERS,),
    incident="Only a part of {anchor} was bound{times}",
    harm="{count} gangs that were bound in part",
    times=True,
)
def judge(group: Track, world: World) -> Iterator[Finding]:
    owner, least = world.owner_of(group), max(getattr(each.facts, "least", 0) for each in group.moments)
    if owner is None or least < 2:
        return
    pods = [each for each in world.children(owner) if each.ref.kind == "Pod" and group.first.time <= each.first.time]
    bound = sorted(filter(None, map(_bound, pods)), key=lambda each: (each[1].at, each[0].ref.name))
    if not 0 < len(bound) < least:
        return
    ended = [each.asked_to_end for each in (group, owner, *(pod for pod, _ in bound)) if each.asked_to_end is not None]
    (first, since), (last, latest) = bound[0], bound[-1]
    end = min([world.no_later(latest.time + 10 * WAIT.microseconds), *ended])
    if end - latest.time < WAIT.microseconds or any(pod.value("terminal") for pod, _ in bound):
        return
    if not world.complete("", "Pod", group.first.time, end, group.ref.namespace):
        return
    ref, waited, named = group.ref, so_far(latest, end), [pod.ref.name for pod, _ in bound[:MOST]]
    state = next(each for each in reversed(group.moments) if getattr(each.facts, "least", 0) == least)
    proof = [Proof(f"asks for {least} Pods", ref, state), Proof("first Pod bound", first.ref, since, Part.ACT)]
    if last is not first:
        proof.append(Proof("last Pod bound", last.ref, latest, Part.ACT))
    once = occurrence(
        *sorted(proof, key=lambda each: each.moment.at),
        headline=f"{len(bound)} of the {least} Pods that {{subjects}} asks for were bound, and for {waited} no other",
        plural="PodGroups",
        why="Exact: no line of Pods is known to be missing.",
        effect=(Effect.POSSIBLE, f"{len(bound)} Pods held their nodes and waited for {least - len(bound)} others"),
        first=since.time,
        last=end,
        interval=waited,
        open=not ended,
    )
    yield Finding(
        rule="gang-partial",
        subject=ref,
        verdict=Verdict.EXACT,
        summary=f"{len(bound)} of the {least} Pods of PodGroup {ref.name} were bound, and for {waited} no other",
        occurrences=(once,),
        measured=once,
        affects=tuple(pod.ref for pod, _ in bound),
        advice=(
            f"Look: {kubectl(ref.namespace, 'describe podgroup.scheduling.volcano.sh {}', ref.name)}, and the log of "
            "the scheduler.",
            "Stop: delete the Pods that are bound, so that their nodes are free for a whole gang: "
            + kubectl(ref.namespace, "delete pods" + " {}" * len(named), *named)
            + ".",
            "Prevent: one scheduler for all Pods of a gang, and a least number that the cluster has room for.",
            f"Verify: {kubectl(ref.namespace, 'get pods -w')} shows all of them running, or none.",
        ),
    )


def _bound(pod: Track) -> tuple[Track, Moment] | None:
    """Return a Pod with the moment at which it was bound; None if it was not."""
    moment = next((each for each in pod.moments if getattr(each.facts, "node", "")), None)
    return (pod, moment) if moment else None
