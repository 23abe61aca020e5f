"""A StatefulSet whose repaired template is not rolled out, because it waits for a Pod of the broken one.

## What it sees

The template of a StatefulSet was changed while one of its Pods, of an older revision of the template, was not ready.
That Pod did not become ready after it, and nobody deleted it.

## Why it matters

The controller replaces one Pod after the other, and waits until each is ready. A Pod of a broken revision never is, so
the repaired template is never rolled out, for as long as nobody deletes the Pod.

## Proof

The revision that the StatefulSet rolls out from a moment on, and the Pod, which has another revision, was not ready
then, and did not become ready. No write of Pods is missing.

## Looks alike but is benign

- A rolling update whose new Pods start slowly: these have the new revision.
- `podManagementPolicy: Parallel`, `updateStrategy: OnDelete`, a partition, or `maxUnavailable` above 1.
- A Pod that waits for less than the setting `short`.
- A Pod that waits for less than the setting `long`: it may still become ready, and this is only an info.

## What to do

Delete the Pod of the broken revision: the controller then creates it from the repaired template.
"""

from collections.abc import Iterator
from itertools import pairwise

from timeline.history.lifelines import Moment, Track
from timeline.history.world.world import World
from timeline.judging.advice import kubectl
from timeline.judging.coverage.lines import line, need
from timeline.judging.endpoints.readiness import surely_unchanged
from timeline.judging.findings import Effect, Finding, Proof, occurrence
from timeline.judging.rulebook import rule, setting
from timeline.judging.verdicts import order_of, so_far, why

SHORT = setting("statefulset-stuck", "short", 30, "s", "A Pod that waits for less is not reported.")
LONG = setting("statefulset-stuck", "long", 300, "s", "A Pod that waits for less is only an info.")


@rule(
    "statefulset-stuck",
    judges=("StatefulSet",),
    needs=(
        need(line("StatefulSet", verbs="update status")),
        need(line("Pod", verbs="state")),
        need(
            line("Pod", verbs="create"),
            misses="Pods that only their creation shows as not ready",
        ),
        need(line("StatefulSet", verbs="status"), misses="revisions that only the status names"),
        need(line("Pod", verbs="status"), misses="Pods whose readiness only their status shows"),
    ),
    incident="{anchor} waited for a Pod of a broken revision{times}",
    harm="{count} StatefulSets that waited for a broken Pod",
    times=True,
)
def judge(workload: Track, world: World) -> Iterator[Finding]:
    newest = next((after for before, after in reversed([*pairwise(workload.moments)]) if _rolls(before, after)), None)
    if newest is None or not workload.last.facts.stepwise:
        return
    lives = {each.ref.name: each for each in world.children(workload) if each.first.at < newest.at}  # the last of each
    for _, pod in sorted(lives.items()):
        if pod.ref.kind == "Pod":
            yield from _judge(workload, newest, pod, world)


def _rolls(before: Moment, after: Moment) -> bool:
    """Return whether a StatefulSet rolls out another revision of its template from a moment on."""
    one, other = (getattr(each.facts, "revision", "") for each in (before, after))
    return bool(one and other) and one != other


def _judge(workload: Track, newest: Moment, pod: Track, world: World) -> Iterator[Finding]:
    """Yield a finding if the controller waited for this Pod, which was not ready when another revision came."""
    state = next(each for each in reversed(pod.moments) if each.at < newest.at)
    revision, until = pod.value("revision"), pod.asked_to_end
    if not revision or revision == newest.facts.revision or state.facts is None or state.facts.ready:
        return
    if any(each.facts and each.facts.ready for each in pod.moments if each.at > newest.at):
        return
    end = world.no_later(newest.time + LONG.microseconds) if until is None else until
    verdict, waited = order_of(state, newest), so_far(newest, end)
    if verdict is None or waited.least < (SHORT if until is None else LONG).microseconds:
        return
    if not surely_unchanged(pod, state.time, end, world):
        return
    ref, long = workload.ref, waited.least >= LONG.microseconds
    once = occurrence(
        Proof("Pod not ready", pod.ref, state),
        Proof(f"rolls out {newest.facts.revision}", ref, newest),
        headline=f"{{subjects}} waited for Pod {pod.ref.name} of the older revision {revision} for {waited}",
        plural="StatefulSets",
        why=why(verdict, state, newest),
        effect=(
            Effect.POSSIBLE if long else Effect.NONE,
            f"revision {newest.facts.revision} was not rolled out: Pod {pod.ref.name} never became ready",
        ),
        first=newest.time,
        last=end,
        interval=waited,
        open=until is None,
    )
    yield Finding(
        rule="statefulset-stuck",
        subject=ref,
        other=pod.ref,
        verdict=verdict,
        summary=f"StatefulSet {ref.name} waited for Pod {pod.ref.name}, of an older revision, which never got ready",
        occurrences=(once,),
        measured=once,
        affects=(pod.ref,),
        advice=(
            f"Look: {kubectl(ref.namespace, 'describe pod {}', pod.ref.name)}: why is it not ready?",
            f"Stop: delete it: {kubectl(ref.namespace, 'delete pod {}', pod.ref.name)}. The controller creates it "
            "again from the newest template.",
            "Prevent: after a broken rollout, delete the broken Pod together with the repair; "
            "`podManagementPolicy: Parallel` does not wait.",
            f"Verify: {kubectl(ref.namespace, 'rollout status statefulset/{}', ref.name)} ends.",
        ),
    )
