"""An object deleted for an owner that was gone, although it belonged to the next owner of that name.

## What it sees

An owner was deleted, and another one was created under its name. Then a controller deleted a child of the new owner
on behalf of the old one.

## Why it matters

The new owner loses what it needs: its Pods, its claims with their data. The controller saw the past, mostly because it
was started again and listed from an API server that lagged behind. Such a controller may go on with the next child.

## Proof

The deletion of the old owner, which was committed before the deletion of the child was requested, and the UIDs: the
child names the new owner. That the controller acted for the old one is shown by its own Event about the deletion, which
names the UID of the old owner, or by what it created in place of the child, with an ownerReference to the old owner.

## Looks alike but is benign

- The garbage collector, which deletes the children of an owner that is gone: these name the old owner.
- A new owner that is being deleted itself, with all that belongs to it, or that no later line shows.
- A child that is deleted for its own owner: scaling down, a rollout, a retention policy.
- A deletion of which nothing says for which owner it was.
- An Event that may be about an earlier child of the same name.

## What to do

Stop the controller, and look at what else it deleted. Find out which API server answered its list, and why the cache of
that server was behind. A controller should name the UID of what it deletes as a precondition, and compare the UID of
the owner before it acts.
"""

from collections.abc import Iterator

from timeline.core.actors import actor_of
from timeline.core.entries import Level
from timeline.history.lifelines import Track
from timeline.history.world.world import World
from timeline.judging.advice import about, restart
from timeline.judging.coverage.lines import CREATORS, events, line, need
from timeline.judging.findings import Cause, Effect, Finding, Part, Proof, occurrence
from timeline.judging.references.gone_owners import MistakenDeletion, mistaken_deletion
from timeline.judging.rulebook import rule
from timeline.judging.verdicts import Verdict, between


@rule(
    "stale-incarnation-delete",
    judges=(),
    needs=(
        need(line(verbs="delete", level=Level.METADATA, sent=True)),
        need(line(verbs="state")),
        need(events(), line("Pod", verbs="create", sent=True, others=True)),
        need(events(), misses="deletions after which nothing is created instead"),
        need(line("Pod", verbs="create", sent=True, others=True), misses="deletions that no Event reports"),
        need(
            line("Pod", "PersistentVolumeClaim", *CREATORS, verbs="delete", sent=True, others=True),
            misses="children and owners that were deleted",
        ),
        need(line(*CREATORS, verbs="update status", others=True), misses="owners that went on"),
    ),
    incident="{subjects} was deleted for an owner that was gone{times}",
    harm="{count} objects deleted for an owner that was gone",
)
def judge(child: Track, world: World) -> Iterator[Finding]:
    found = mistaken_deletion(child, world)
    if found is None:
        return
    ref, owner = child.ref, found.owner.ref
    named = f"{owner.kind} {owner.name}"
    late = between(found.went, found.done)
    shown = (
        Proof(f"Event {found.act.event.name}: deleted for the old one", ref, found.done, Part.ACT)
        if found.act
        else Proof("deleted", ref, found.done, Part.ACT)
    )
    proof = [Proof(f"old {named} deleted", found.gone.ref, found.went), shown]
    if found.instead and found.instead.created:
        proof.append(Proof("created again, for the old one", found.instead.ref, found.instead.created, Part.ACT))
    once = occurrence(
        *proof,
        headline=f"{found.actor} deleted {{subjects}} for the old {named}, gone {late} before",
        plural=f"{ref.kind}s",
        why=_why(found),
        effect=(Effect.OBSERVED, f"{{names}} belonged to the new {named} and was deleted"),
        last=found.done.time,
        arrow=f"{late} after it was gone",
        interval=late,
    )
    yield Finding(
        rule="stale-incarnation-delete",
        subject=ref,
        other=owner,
        verdict=Verdict.EXACT,
        summary=f"{ref.kind} {ref.name} was deleted for an earlier {named}, {late} after that one was gone",
        occurrences=(once,),
        measured=once,
        cause=_cause(child, found),
        advice=(
            f"Look: what else did {found.actor} delete? The Events in {about('describe', owner)} name some of it.",
            *restart(actor_of(found.done.entry)),
            f"Clean: see whether {named} lacks anything that it had, and create that again.",
            "Prevent: find out which API server answered the controller's list, and why its cache was behind.",
            "Verify: the controller's Events name the UID of the owner that exists.",
        ),
    )


def _why(found: MistakenDeletion) -> str:
    if found.act:
        return (
            f"Exact: Event {found.act.event.name} names the old UID {found.gone.ref.uid}, and the child names the new "
            f"UID {found.owner.ref.uid}."
        )
    return (
        f"Exact: the child names the new UID {found.owner.ref.uid}, and what {found.actor} created in its place "
        f"names the old UID {found.gone.ref.uid}."
    )


def _cause(child: Track, found: MistakenDeletion) -> Cause:
    ref, owner = child.ref, found.owner.ref
    copy = f"revision {found.act.revision}" if found.act else "an old copy"
    sentence = (
        f"{found.actor} deleted {ref.kind} {ref.name}. It acted on {copy} of an earlier {owner.kind} {owner.name}, "
        f"which had been deleted {between(found.went, found.done)} before."
    )
    proof = (
        Proof(f"old {owner.kind} {owner.name} deleted", found.gone.ref, found.went),
        Proof("deleted for the old one", ref, found.done),
    )
    return Cause("stale-view", sentence, proof)
