"""A controller that created or deleted an object on the strength of an old copy of its owner.

## What it sees

A controller created or deleted a child, such as a Pod of a Job, and its own Event about that names a revision of the
owner which was no longer the newest: the owner had been changed before the request was received.

## Why it matters

The act fits a state that had passed. A Job that is complete gets another Pod, an object that is being deleted gets new
children, a smaller number of replicas is not heeded. This is the cause behind excess Pods and many other violations.

## Proof

The revision that the Event names (`involvedObject.resourceVersion`), the change of the owner after it, and the request.
The change was answered before the request was received. It is not known when the controller read its copy; this may
have been some time before it acted, so nothing proves that its watch was behind.

## Looks alike but is benign

- A change of the owner that was committed while the request was under way.
- A change that asks for the same act: a larger number while a Pod is created, a smaller one while a Pod is deleted.
- A change that need not have changed the act, such as a count in the status that the controller wrote itself: this is
  never more than an info, and is not reported below half a second.
- A copy that was old by less than half a second is never more than an info: each controller is behind by some time.
- An Event that was patched later, or that names no revision: a controller that creates a Pod of the same name again,
  such as that of a StatefulSet, counts up its first Event.

## What to do

See whether the owner has the children that it asks for now, and restart the controller if it goes on. Find out why its
copy was old: an API server or a proxy that holds its watch back, a queue that is too long, requests that are throttled.
Kubernetes 1.36 lets the controllers of Jobs, ReplicaSets, DaemonSets and StatefulSets wait until they have seen their
own writes.
"""

from collections.abc import Iterator

from timeline.core.entries import Level
from timeline.history.lifelines import Track
from timeline.history.world.world import World
from timeline.judging.advice import about, restart
from timeline.judging.copies import spans
from timeline.judging.copies.spans import LAG
from timeline.judging.copies.staleness import StaleAct, stale_acts
from timeline.judging.coverage.lines import CREATORS, events, line, need
from timeline.judging.findings import Effect, Finding, Link, Occurrence, Part, Proof, longest, occurrence
from timeline.judging.rulebook import rule
from timeline.judging.verdicts import Verdict


@rule(
    "stale-view",
    judges=(),
    needs=(
        need(events()),
        need(line(verbs="create delete", level=Level.METADATA, sent=True)),
        need(line(verbs="update status", sent=True)),
        need(
            line("Pod", verbs="create", level=Level.METADATA, sent=True, others=True),
            misses="children that were created",
        ),
        need(
            line("Pod", verbs="delete", level=Level.METADATA, sent=True, others=True),
            misses="children that were deleted",
        ),
        need(line(*CREATORS, verbs="update", sent=True, others=True), misses="owners whose spec was changed"),
        need(line(*CREATORS, verbs="status", sent=True, others=True), misses="owners whose status was written"),
    ),
    incident="Children of {anchor} were created or deleted on old copies of it",
    harm="{count} children of {anchors} created or deleted on them",
)
def judge(child: Track, world: World) -> Iterator[Finding]:
    if child.owner is None:
        return
    stale = [each for each in stale_acts(child, world) if each.matters or each.lag.least >= LAG.microseconds]
    if not stale:
        return
    occurrences = tuple(_occurrence(child, each, world) for each in stale)
    ref, first = child.ref, stale[0]
    owner = first.owner.ref
    yield Finding(
        rule="stale-view",
        subject=ref,
        other=owner,
        verdict=Verdict.EXACT,
        summary=f"{ref.kind} {ref.name} was {_verb(first)} on revision {first.act.revision} of {owner.kind} "
        f"{owner.name}, {first.lag} after a newer one",
        occurrences=occurrences,
        measured=longest(occurrences),
        advice=(
            f"Look: are the other children of {owner.kind} {owner.name} of that time as they should be? "
            f"{about('describe', owner)}",
            *restart(first.actor),
            f"Clean: compare {ref.kind} {ref.name} with what {owner.kind} {owner.name} asks for now: "
            f"{about('get', owner, ' -o yaml')}.",
            "Prevent: find out why the copy was old: a watch that is held back, a long queue, throttled requests; "
            "Kubernetes 1.36 lets its controllers wait until they have seen their own writes.",
            "Verify: the Events of this controller name the newest revision of what they are about.",
        ),
    )


def _verb(stale: StaleAct) -> str:
    return "created" if stale.created else "deleted"


def _occurrence(child: Track, stale: StaleAct, world: World) -> Occurrence:
    owner, act = stale.owner.ref, stale.act
    newer = stale.unseen.stamp.resource_version
    state = f", when {owner.kind} {owner.name} {stale.matters}" if stale.matters else ""
    old = stale.lag.least >= LAG.microseconds
    if stale.matters and old:
        effect = Effect.POSSIBLE, f"{{names}} was {_verb(stale)} although {owner.kind} {owner.name} {stale.matters}"
    else:
        effect = Effect.NONE, "the newer state need not have led to another act"
    return occurrence(
        Proof(f"unseen: revision {newer}", owner, stale.unseen),
        Proof(f"{_verb(stale)} on revision {act.revision}", child.ref, stale.done, Part.ACT),
        headline=f"{stale.actor} {_verb(stale)} {{subjects}} on revision {act.revision} of {owner.kind} {owner.name}"
        f"{state}",
        plural=f"{child.ref.kind}s",
        why=f"Exact: the Event {act.event.name} names revision {act.revision}; revision {newer} was answered before "
        "the request was received.",
        effect=effect,
        links=tuple(_links(stale, world)),
        arrow=f"{stale.lag} unseen",
        interval=stale.lag,
    )


def _links(stale: StaleAct, world: World) -> Iterator[Link]:
    """Yield what connects an act with others on old copies: not if its copy was new when its sync began."""
    if world.partial:
        return  # what its component wrote elsewhere might show that its copies were new meanwhile
    sent = stale.done.entry.received
    began = spans.began(stale.actor, stale.owner, stale.act.revision, sent, world)
    if stale.matters or began - stale.unseen.entry.staged >= LAG.microseconds:
        yield spans.link(stale.actor, stale.owner, sent, world)
