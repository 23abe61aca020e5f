"""Objects that the garbage collector deleted although their owner was there.

## What it sees

The garbage collector of Kubernetes deleted objects whose owner, with the UID that they name, existed and was not being
deleted.

## Why it matters

What is deleted belongs to something that still needs it. Mostly the owner is in another namespace, where the garbage
collector does not look for it, or its kind was not served for a while.

## Proof

The owner, which existed before and after, and the deletions, which the garbage collector sent. No write of the owner is
missing.

## Looks alike but is benign

- An owner that is being deleted, also in the foreground.
- An owner that was deleted and created again under another UID: stale-incarnation-delete judges these.
- Objects that name several owners.

## What to do

Create the objects again, and correct their ownerReferences: an owner has to be in the same namespace, or in none.
"""

from collections.abc import Iterator

from timeline.core.entries import Change, Level
from timeline.history.lifelines import Moment, Track
from timeline.history.world.world import World
from timeline.judging.advice import kubectl
from timeline.judging.cleanup import MOST
from timeline.judging.coverage.lines import SELDOM_OWN, USUAL, line, need
from timeline.judging.endpoints.readiness import surely_unchanged
from timeline.judging.findings import Effect, Finding, Part, Proof, occurrence
from timeline.judging.rulebook import rule
from timeline.judging.verdicts import Verdict

_COLLECTOR = "generic-garbage-collector"


@rule(
    "live-owner-collected",
    judges=(),
    spares=SELDOM_OWN,
    needs=(
        need(line(*USUAL, verbs="state", others=True)),
        need(line(*USUAL, verbs="delete", level=Level.METADATA, sent=True, others=True)),
    ),
    incident="The garbage collector deleted objects of {anchor}, which was there",
    harm="{count} objects deleted although their owner was there",
)
def judge(owner: Track, world: World) -> Iterator[Finding]:
    deleted = [
        (child, asked)
        for child in world.children(owner)
        if (asked := _collected(child)) and _was_there(owner, asked, world)
    ]
    if not deleted:
        return
    deleted.sort(key=lambda each: (each[1].at, each[0].ref.name))
    ref, count, (first, asked) = owner.ref, len(deleted), deleted[0]
    last, end = deleted[-1]
    what = f"{count} objects" if count > 1 else f"{first.ref.kind} {first.ref.name}"
    elsewhere = bool(ref.namespace) and first.ref.namespace != ref.namespace
    because = f", in another namespace than {first.ref.kind} {first.ref.name}" if elsewhere else ""
    states = [each for each in owner.moments if each.at < asked.at]
    proof = [
        Proof("owner there", ref, states[-1]),
        Proof(f"{first.ref.kind} deleted by the garbage collector", first.ref, asked, Part.REMOVED),
    ]
    if count > 1:
        proof.append(Proof("last one deleted", last.ref, end, Part.REMOVED))
    once = occurrence(
        *proof,
        headline=f"the garbage collector deleted {what} of {{subjects}} although it was there{because}",
        plural="owners",
        why="Exact: the owner existed before and after, under the UID that the deleted objects name.",
        effect=(Effect.OBSERVED, f"{what} went although the owner was there"),
        first=asked.time,
    )
    yield Finding(
        rule="live-owner-collected",
        subject=ref,
        other=first.ref,
        verdict=Verdict.EXACT,
        summary=f"the garbage collector deleted {what} of {ref.kind} {ref.name} although it was there{because}",
        occurrences=(once,),
        affects=tuple(child.ref for child, _ in deleted[:MOST]),
        count=count,
        advice=(
            f"Look: {kubectl(first.ref.namespace, 'get events --field-selector reason=OwnerRefInvalidNamespace')}.",
            "Clean: take the wrong ownerReferences away from what is left, so that it is not deleted, too.",
            "Create the deleted objects again.",
            "Prevent: let an object name only owners in its own namespace, or owners that are in none.",
            f"Verify: {kubectl(first.ref.namespace, 'get {}', first.ref.kind.lower())} shows that they stay.",
        ),
    )


def _collected(child: Track) -> Moment | None:
    """Return the request by which the garbage collector deleted an object; None if somebody else did, or nobody."""
    over = next((each for each in child.moments if each.change is Change.DELETED or _deleting(each)), None)
    sent = over is not None and (_COLLECTOR in over.actor or over.user_agent.endswith(_COLLECTOR))
    return over if sent else None


def _deleting(moment: Moment) -> bool:
    return moment.facts is not None and bool(moment.facts.deleting)


def _was_there(owner: Track, deleted: Moment, world: World) -> bool:
    """Return whether an owner surely existed, and was not being deleted, before and after an object was deleted."""
    known = owner.count_until(deleted.at)
    if not known or any(_deleting(each) for each in owner.moments[:known]) or owner.moments[known - 1].facts is None:
        return False
    later = owner.moments[known:]
    if later:
        return later[0].change is not Change.DELETED and not _deleting(later[0])
    return owner.until is None and surely_unchanged(owner, owner.last.time, deleted.time, world)
