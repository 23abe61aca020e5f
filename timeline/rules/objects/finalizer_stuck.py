"""An object whose deletion waits for a finalizer that nobody takes away.

## What it sees

An object that was asked to end keeps a finalizer, and nothing is written to it any more. The workload that used to take
this finalizer away is gone, or the object has waited for longer than the setting `long`. Of a Namespace, the finalizers
of the objects in it count.

## Why it matters

The object stays for ever, and with it its Namespace: it cannot be deleted, nor created again. Whoever takes the
finalizer away by hand skips the clean-up that it stands for.

## Proof

The request to delete the object, its last state, which has the finalizer, and the deletion of the workload whose
program took this finalizer away from other objects of the kind, or added it here. No write of the object is missing
since.

## Looks alike but is benign

- A clean-up that still writes to the object.
- Foreground deletion whose children go, and protection of what is in use: Kubernetes itself takes these away.
- An object that waits for less than the setting, and whose remover is there.

## What to do

Bring the workload back until it has cleaned up, and delete what it cleans up before it.
"""

from collections.abc import Iterable, Iterator

from timeline.history.lifelines import Moment, Track, name_of
from timeline.history.world.world import World
from timeline.judging.advice import kubectl
from timeline.judging.coverage.lines import USUAL, line, need
from timeline.judging.endpoints.readiness import surely_unchanged
from timeline.judging.findings import Effect, Finding, Link, Part, Proof, Root, occurrence
from timeline.judging.references.removers import Remover, remover_of
from timeline.judging.rulebook import rule, setting
from timeline.judging.verdicts import Verdict, so_far
from timeline.kinds import qualified, resource_of

QUIET = setting("finalizer-stuck", "quiet", 30, "s", "An object that was written more recently may be cleaned up.")
LONG = setting("finalizer-stuck", "long", 300, "s", "How long clean-up may take while who does it may be there.")
_OF_KUBERNETES = frozenset(
    {"foregroundDeletion", "orphan", "kubernetes", "kubernetes.io/pvc-protection", "kubernetes.io/pv-protection",
     "batch.kubernetes.io/job-tracking"}
)  # fmt: skip


@rule(
    "finalizer-stuck",
    judges=(),
    needs=(
        need(line(*USUAL, verbs="delete", others=True)),
        need(line("Deployment", verbs="delete"), misses="which workload took a finalizer away"),
    ),
    incident="The deletion of {subjects} waits for a finalizer",
    harm="{count} objects that cannot be deleted",
    times=True,
)
def judge(track: Track, world: World) -> Iterator[Finding]:
    last = track.last
    if track.until is not None or last.facts is None or not last.facts.deleting:
        return
    finalizers = [*_waited_for(track)]
    asked = next(each for each in track.moments if each.facts is not None and each.facts.deleting)
    end = world.no_later(last.time + LONG.microseconds + 1)
    if not finalizers or end - last.time < QUIET.microseconds or not surely_unchanged(track, last.time, end, world):
        return
    holders = [*_holders(track, world)]
    removers = [found for each in finalizers for one in holders if (found := remover_of(one, each, world))]
    gone = next((each for each in removers if each.gone), None)
    if gone or end - asked.time >= LONG.microseconds:
        yield _finding(track, asked, end, finalizers, gone, next(iter(removers), None))


def _waited_for(track: Track) -> Iterable[str]:
    """Return the finalizers that other programs than Kubernetes have to take away."""
    left = track.last.facts.finalizers_left if _is_namespace(track) else track.last.facts.finalizers
    return (each for each in left if each not in _OF_KUBERNETES)


def _is_namespace(track: Track) -> bool:
    return track.name[:2] == ("", "Namespace") and hasattr(track.last.facts, "finalizers_left")


def _holders(track: Track, world: World) -> Iterator[Track]:
    """Yield the objects that have the finalizers: the object itself, or of a Namespace one of each kind in it."""
    if not _is_namespace(track):
        yield track
        return
    left = set(track.last.facts.resources_left)
    for group, kind in sorted(world.seen):
        if f"{resource_of(kind)}.{group}" in left or (not group and resource_of(kind) in left):
            inside = (each for each in world.of_kind(group, kind) if each.ref.namespace == track.ref.name)
            yield from (each for each in inside if each.until is None and _has_finalizers(each.last))


def _has_finalizers(moment: Moment) -> bool:
    return moment.facts is not None and bool(moment.facts.finalizers)


def _finding(
    track: Track, asked: Moment, end: int, finalizers: list[str], gone: Remover | None, remover: Remover | None
) -> Finding:
    ref, waited, named = track.ref, so_far(asked, end), ", ".join(finalizers)
    whose, link = f"finalizer {named}", None
    proof = [Proof("asked to end", ref, asked), Proof(f"still has {whose}", ref, track.last)]
    if gone and gone.workload and gone.gone:
        workload = gone.workload.ref
        proof.append(Proof(f"{workload.kind} {workload.name} gone", workload, gone.gone, Part.REMOVED))
        name = name_of(workload)
        link = Link(Root.MISSING, "\n".join(("remover", *name, workload.uid)), tuple(name), gone.gone.time, end)
    why_gone = f", which {gone.program} used to take away before it was removed" if gone else ""
    known = gone or remover
    workload_ref = known.workload.ref if known and known.workload else None
    resource = qualified(ref.group, ref.kind).lower()
    once = occurrence(
        *sorted(proof, key=lambda each: each.moment.at),
        headline=f"the deletion of {{subjects}} waits for {whose}{why_gone}",
        plural=f"objects of kind {ref.kind}",
        why="Exact: the object still has the finalizer, and no write of it is missing.",
        effect=(Effect.POSSIBLE, f"{{names}} cannot be deleted; it has waited for {waited}"),
        first=asked.time,
        last=end,
        links=(link,) if link else (),
        interval=waited,
        open=True,
    )
    return Finding(
        rule="finalizer-stuck",
        subject=ref,
        other=workload_ref,
        verdict=Verdict.EXACT,
        summary=f"{ref.kind} {ref.name} cannot be deleted: it waits for {whose}{why_gone}",
        occurrences=(once,),
        measured=once,
        advice=(
            f"Look: {kubectl(ref.namespace, 'get {} {} -o yaml', resource, ref.name)}: what does the finalizer stand "
            "for, and has that been cleaned up?",
            f"Clean: bring back {_words(known)}, and let it clean up.",
            "Clean: only if what the finalizer stands for is gone, take it away by hand: "
            + kubectl(ref.namespace, "patch {} {} --type=merge -p {}", resource, ref.name, _WITHOUT)
            + "."
            if not _is_namespace(track)
            else "Clean: the objects in the Namespace that have the finalizer, not the Namespace itself: "
            + kubectl("", "get namespace {} -o jsonpath={}", ref.name, "{.status.conditions[*].message}")
            + " names them.",
            "Prevent: delete the objects first, wait until they are gone, and only then what takes their finalizers "
            "away.",
            f"Verify: {kubectl(ref.namespace, 'get {} {}', resource, ref.name)} says that it is not found.",
        ),
    )


_WITHOUT = '{"metadata":{"finalizers":null}}'


def _words(remover: Remover | None) -> str:
    if remover is None:
        return "the controller that takes it away"
    if remover.workload:
        return f"{remover.workload.ref.kind} {remover.workload.ref.namespace}/{remover.workload.ref.name}"
    return remover.program
