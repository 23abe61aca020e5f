"""A list that was written whole from an old copy, so that what another program had added to it was lost.

## What it sees

A program added an element to a list of an object: a finalizer, an owner, a taint, or an address of a load balancer.
Soon after, another one replaced the whole list without naming a revision. The new list is the one from before the first
program's addition, with other changes: the added element is gone.

## Why it matters

Neither program has made a mistake that it could notice: both writes succeeded. A finalizer that is lost lets an object
go before it is cleaned up, an owner that is lost lets it stay or go at the wrong time, and a taint that is lost lets
Pods onto a node that is not ready for them.

## Proof

The list before the addition, the addition, and the write that replaced the list. That write named no revision, so the
API server could not refuse it, and it changed more than the lost element, so it was not made to take that away. No
write in between is known to be missing.

## Looks alike but is benign

- A program that takes away what it added itself.
- A write that takes away exactly one element: it may have been meant.
- Server-side apply and strategic merge patches, which merge lists.
- A JSON patch that tests what it replaces.
- An update that names the newest revision: its sender has seen the element.
- An addition that lies further back than the setting: its sender has surely seen it.

## What to do

Let the program that replaced the list name the revision that it read, or use server-side apply.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from timeline.core.actors import actor_of
from timeline.history.lifelines import Moment, Track
from timeline.history.world.world import World
from timeline.judging.advice import kubectl
from timeline.judging.coverage.lines import USUAL, line, need
from timeline.judging.findings import Effect, Finding, Occurrence, Part, Proof, occurrence
from timeline.judging.rulebook import rule, setting
from timeline.judging.verdicts import Verdict, between
from timeline.kinds import qualified

WITHIN = setting("lost-update", "within", 60, "s", "How long before the write that lost it an element was added.")
_LISTS = {"finalizers": "finalizer", "owners": "owner", "taints": "taint", "addresses": "address"}


class _Loss(NamedTuple):
    """Elements of a list that one program added and another one lost."""

    fact: str
    elements: tuple[str, ...]
    before: Moment
    added: Moment
    replaced: Moment


@rule(
    "lost-update",
    judges=(),
    needs=(need(line(*USUAL, verbs="update status", sent=True, others=True)),),
    incident="{anchor} lost what another program had added to a list{times}",
    harm="{count} additions lost in {anchors}",
)
def judge(track: Track, world: World) -> Iterator[Finding]:
    found = [
        loss
        for at, moment in enumerate(track.moments)
        for fact in moment.entry.blind
        if (loss := _loss(track.moments, at, fact)) and _surely(track, loss, world)
    ]
    if not found:
        return
    ref, loss = track.ref, found[0]
    resource = qualified(ref.group, ref.kind).lower()
    yield Finding(
        rule="lost-update",
        subject=ref,
        verdict=Verdict.EXACT,
        summary=f"{ref.kind} {ref.name} lost {_named(loss)}: {_who(loss.replaced)} wrote the list as it was before "
        f"{_who(loss.added)} added that",
        occurrences=tuple(_occurrence(track, each) for each in found),
        count=sum(len(each.elements) for each in found),
        advice=(
            f"Look: {kubectl(ref.namespace, 'get {} {} -o yaml --show-managed-fields', resource, ref.name)}: is "
            f"{_named(loss)} there again?",
            f"Clean: let {_who(loss.added)} add it again; restart it if it does not do so by itself.",
            f"Prevent: let {_who(loss.replaced)} name the resourceVersion that it read, or use server-side apply.",
            f"Verify: {kubectl(ref.namespace, 'get {} {} -w', resource, ref.name)} shows that the list stays whole.",
        ),
    )


def _loss(moments: Sequence[Moment], at: int, fact: str) -> _Loss | None:
    """Return what the write at this place lost of a list; None if it lost nothing, or may have meant to."""
    after, now = _list(moments[at], fact), _list(moments[at - 1], fact) if at else None
    if after is None or now is None or not (gone := now - after):
        return None
    for place in range(at - 1, 0, -1):
        added, before = moments[place], _list(moments[place - 1], fact)
        if moments[at].time - added.time > WITHIN.microseconds or before is None:
            return None
        lost = gone & ((_list(added, fact) or frozenset()) - before)
        if lost and _others(added, moments[at]) and after not in (now - lost, before):
            return _Loss(fact, tuple(sorted(lost)), moments[place - 1], added, moments[at])
    return None


def _list(moment: Moment, fact: str) -> frozenset[str] | None:
    if fact == "owners":
        owner, known = moment.entry.owner, moment.entry.facts
        first = (f"{owner.kind}/{owner.name}",) if owner else ()
        return None if known is None else frozenset((*first, *known.other_owners))
    values = getattr(moment.facts, fact, None)
    return None if values is None else frozenset(values)


def _others(added: Moment, replaced: Moment) -> bool:
    """Return whether two writes surely came from different programs, or different parts of one."""
    one, other = actor_of(added.entry), actor_of(replaced.entry)
    return bool(one and other) and one != other


def _surely(track: Track, loss: _Loss, world: World) -> bool:
    """Return whether no write of the object is missing between the list before the addition and the one that lost
    it."""
    return world.gapless(track, loss.before.time, loss.replaced.time)


def _occurrence(track: Track, loss: _Loss) -> Occurrence:
    ref, apart = track.ref, between(loss.added, loss.replaced)
    return occurrence(
        Proof(f"the {_LISTS[loss.fact]}s before", ref, loss.before),
        Proof(f"{_who(loss.added)} added {_named(loss)}", ref, loss.added, Part.REMOVED),
        Proof(f"{_who(loss.replaced)} wrote the list without it", ref, loss.replaced, Part.ACT),
        headline=f"{{subjects}} lost {_named(loss)}, {apart} after {_who(loss.added)} had added it",
        plural=f"objects of kind {ref.kind}",
        why="Exact: successive writes of the object show the list, and the last one named no revision, so the API "
        "server could not notice that it rested on an old copy.",
        effect=(Effect.POSSIBLE, f"{{names}} went on without {_named(loss)}"),
        first=loss.added.time,
        interval=apart,
    )


def _named(loss: _Loss) -> str:
    return f"{_LISTS[loss.fact]}{'s' if len(loss.elements) > 1 else ''} {', '.join(loss.elements)}"


def _who(moment: Moment) -> str:
    actor = actor_of(moment.entry)
    return actor.component if actor else "somebody"
