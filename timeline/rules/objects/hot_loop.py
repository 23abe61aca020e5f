"""Writes that undo each other again and again, each with an effect.

## What it sees

Objects of one owner that were created and deleted again at once, at least ten times one after the other within ten
minutes, while the owner stayed as it was. Or an object without an owner that one program created and another one
deleted, again and again. Or a status that two programs set to and fro at least ten times: that of a Service's load
balancer, of an Ingress or of a custom resource, without the times in it.

## Why it matters

Each round wakes everything that watches these objects: the API server, the proxies of all nodes, other controllers. The
loop does not end by itself, as each of the two sees its own write undone and repeats it.

## Proof

The creations and deletions, or the writes of the status, in commit order, with who sent them.

## Looks alike but is benign

- Objects of a rollout or of a scaling: many are created, and later many are deleted.
- Pods, Jobs and custom resources that finish before they are deleted, or may have.
- An object that a program creates and deletes itself again and again, such as a lock.
- An owner whose generation changes meanwhile: somebody asks for something else each time.
- Fields of the spec that two programs take back from each other: field-fight reports these.
- Writes without effect: write-storm reports these.

## What to do

Stop one of the two, and find out which of them is to own the object.
"""

from collections.abc import Iterator

from timeline.core.entries import Level
from timeline.history.lifelines import Track
from timeline.history.world.world import World
from timeline.judging.advice import kubectl
from timeline.judging.cleanup import MOST
from timeline.judging.coverage.lines import line, need
from timeline.judging.endpoints.readiness import surely_unchanged
from timeline.judging.findings import Effect, Finding, Part, Proof, occurrence
from timeline.judging.incidents.loops import Round, made_again, made_and_deleted, quick, to_and_fro, writers
from timeline.judging.rulebook import rule, setting
from timeline.judging.verdicts import Verdict, between

TIMES = setting("hot-loop", "times", 10, "", "How many rounds are a loop.")
WITHIN = setting("hot-loop", "within", 600, "s", "The time within which so many rounds are a loop.")
SHORT = setting("hot-loop", "short", 60, "s", "An object that stayed for longer was not deleted at once.")


@rule(
    "hot-loop",
    judges=(),
    spares=("Pod", "Job.batch.volcano.sh", "Event", "EndpointSlice", "Endpoints"),
    needs=(
        need(
            line("Pod", "EndpointSlice", verbs="create delete", level=Level.METADATA, others=True),
            line("Service", "Ingress", verbs="status", others=True),
        ),
        need(line("Pod", "EndpointSlice", verbs="create", others=True), misses="objects that belong to one owner"),
        need(line("Pod", "EndpointSlice", verbs="delete", others=True), misses="which objects were deleted"),
        need(line("Service", "Ingress", verbs="status", others=True), misses="a status that is set to and fro"),
    ),
    incident="Writes of {anchor} undid each other again and again",
    harm="{count} rounds of writes that undid each other in {anchors}",
)
def judge(owner: Track, world: World) -> Iterator[Finding]:
    times, within = int(TIMES.value), WITHIN.microseconds
    chains = made_and_deleted(world.children(owner), SHORT.microseconds, world)
    loops = (loop for rounds in chains if (loop := quick(rounds, times, within)) and _stood_still(owner, loop, world))
    loop = max(loops, key=len, default=[]) or quick(_of_name(owner, world), times, within)
    if loop:
        kind = loop[0].track.ref.kind
        made, deleted = writers(each.done for each in loop), writers(each.undone for each in loop)
        words = f"{made} created {kind}s, and {deleted} deleted them, {len(loop)} times"
        yield _finding(owner, loop, f"{kind} created", f"{kind} deleted", words)
    elif len(owner.moments) > times and (loop := quick(to_and_fro(owner), times, within)):
        both = writers(moment for each in loop for moment in (each.done, each.undone))
        words = f"{both} set its status back {len(loop)} times"
        yield _finding(owner, loop, "status set", "status set back", words)


def _of_name(track: Track, world: World) -> list[Round]:
    """Return the rounds in which an object without an owner was created and deleted by two programs, for the first
    object of the name to which that happened; [] for the others, which are not judged again with each further one."""
    short = SHORT.microseconds
    if track.owner or not track.ended or not made_again([track], short, world):
        return []
    before = (each for each in world.begun_by(track.name, track.first.time) if each.key != track.key)
    return [] if made_again(before, short, world) else made_again(world.incarnations(track.name), short, world)


def _stood_still(owner: Track, loop: list[Round], world: World) -> bool:
    """Return whether an owner surely had one generation from the first to the last round."""
    start, end = max(0, owner.count_until(loop[0].done.at) - 1), loop[-1].undone
    states = [each.facts for each in owner.moments[start : owner.count_until(end.at)] if each.facts is not None]
    asked = {each.generation for each in states if not each.deleting}
    return bool(states) and len(asked) <= 1 and surely_unchanged(owner, owner.moments[start].time, end.time, world)


def _finding(owner: Track, loop: list[Round], done: str, undone: str, words: str) -> Finding:
    ref, first, last = owner.ref, loop[0], loop[-1]
    lasted = between(first.done, last.undone)
    once = occurrence(
        Proof(f"first {done}", first.track.ref, first.done, Part.ACT),
        Proof(f"first {undone}", first.track.ref, first.undone, Part.ACT),
        Proof(f"last {undone}", last.track.ref, last.undone, Part.ACT),
        headline=f"{{subjects}}: {words} in {lasted}",
        plural=f"{ref.kind}s",
        why="Exact: each write was undone by the next one, as their order shows.",
        effect=(Effect.POSSIBLE, "everything that watches these objects was woken in vain"),
        acts=tuple(Proof(done, each.track.ref, each.done, Part.ACT) for each in loop[:MOST]),
        interval=lasted,
    )
    resource = first.track.ref.kind.lower()
    return Finding(
        rule="hot-loop",
        subject=ref,
        verdict=Verdict.EXACT,
        summary=f"{ref.kind} {ref.name}: {words} in {lasted}",
        occurrences=(once,),
        count=len(loop),
        advice=(
            f"Look: {kubectl(ref.namespace, 'get {} -w', resource)}, and the logs of the programs in the proof.",
            "Stop: if one of the two runs in the cluster, scale it down until both agree: "
            "`kubectl scale --replicas=0 -n NAMESPACE deployment/NAME`.",
            "Prevent: decide which of the two owns the object, and scale the other one down or let it leave the object "
            "alone.",
            f"Verify: {kubectl(ref.namespace, 'get {} -w', resource)} shows that nothing changes any more.",
        ),
    )
