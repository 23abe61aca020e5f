"""Find deletions that a controller carried out for an owner that was gone already, although the deleted object belonged
to the next owner of the same name. It does no I/O.

Controllers often know their owners by name. One that has not seen that an owner was deleted and created again still
acts for the old one. Two things prove that: its own Event, which names the UID of the old owner and the child that it
deleted, or a child that it creates in place of the deleted one, with an ownerReference to the old owner.
"""

from typing import NamedTuple

from timeline.core.actors import Actor, actor_of
from timeline.core.entries import Change, Clock
from timeline.core.order import SECOND
from timeline.history.ledger.acts import Act
from timeline.history.lifelines import Moment, Track, public_uid
from timeline.history.world.world import World
from timeline.judging.verdicts import Verdict, order_of

_APART = 5 * SECOND  # µs after a deletion in which its Event is recorded, by the clock of the writer


class MistakenDeletion(NamedTuple):
    """The deletion of an object for an owner that was gone."""

    actor: Actor
    done: Moment  # the request for the deletion of the object
    owner: Track  # to which the object belonged
    gone: Track  # the earlier owner of that name, for which it was deleted
    went: Moment  # when that one was deleted
    act: Act | None  # the Event that says so
    instead: Track | None  # without one: what was created instead, for the owner that was gone


def mistaken_deletion(child: Track, world: World) -> MistakenDeletion | None:
    """Return the deletion of an object if it was carried out for an earlier incarnation of its owner."""
    done = _asked(child) if child.owner else None
    owner = world.owner_of(child) if done else None
    actor = actor_of(done.entry) if done else None
    if done is None or actor is None or owner is None or not child.owner or owner.ref.uid != child.owner.uid:
        return None
    if owner.last.at <= done.at or _is_to_go(owner, done):
        return None  # the owner is not known to have gone on
    if not any(_is_gone(each, owner) for each in world.incarnations(owner.name)):
        return None
    group, kind, namespace, _ = owner.name
    if not world.complete(group, kind, owner.first.time, done.time, namespace):
        return None
    act, instead = _act(child, done, actor, owner, world), None
    if act is None and (instead := _instead(child, actor, owner, world)) is None:
        return None
    before = _gone(act.ref.uid if act else instead.owner.uid if instead and instead.owner else "", owner, world)
    went = before.ended if before else None
    if before is None or went is None or order_of(went, done) is not Verdict.EXACT:
        return None
    return MistakenDeletion(actor, done, owner, before, went, act, instead)


def _is_gone(track: Track, owner: Track) -> bool:
    """Return whether a track of an owner's name is another incarnation, which was deleted."""
    return bool(track.ended and public_uid(track.ref) and track.ref.uid != owner.ref.uid)


def _gone(uid: str, owner: Track, world: World) -> Track | None:
    """Return the incarnation of an owner's name that has this UID, if it is another one that was deleted."""
    found = world.track((owner.name, uid))
    return found if found and _is_gone(found, owner) else None


def _asked(track: Track) -> Moment | None:
    """Return the request for the deletion of an object; None if nothing shows who sent it."""
    asked = next((each for each in track.moments if each.change is Change.DELETED or each.facts.deleting), None)
    if asked is None or asked.clock is not Clock.AUDIT or not asked.entry.client:
        return None
    return asked


def _is_to_go(owner: Track, done: Moment) -> bool:
    """Return whether an owner was to be deleted itself when its child was, or may have been."""
    return any(
        (each.change is Change.DELETED or each.facts.deleting) and order_of(done, each) is not Verdict.EXACT
        for each in owner.moments
    )


def _act(child: Track, done: Moment, actor: Actor, owner: Track, world: World) -> Act | None:
    """Return the Event by which the actor recorded that it deleted the child for an owner that was gone."""
    acts = [
        act
        for act in world.acts(owner.name, child.ref.name)
        if "Delete" in act.reason
        and (who := actor_of(act)) is not None
        and (who.process, who.component) == (actor.process, actor.component)
        and act.recorded_by >= done.entry.received
        and act.recorded <= done.entry.staged + _APART
    ]
    if len(acts) != 1 or _gone(acts[0].ref.uid, owner, world) is None:
        return None
    others = [_asked(each) for each in world.incarnations(child.name) if each is not child]
    near = [each for each in others if each and abs(each.time - done.time) <= 2 * _APART]
    # If the actor had another incarnation of the child deleted, too, the Event may be about that one.
    return None if any(actor_of(each.entry) == actor for each in near) else acts[0]


def _instead(child: Track, actor: Actor, owner: Track, world: World) -> Track | None:
    """Return the object that the actor created next under the same name, if it is for an owner that was gone."""
    lives = world.incarnations(child.name)
    after = lives[lives.index(child) + 1 :][:1]
    for each in after:
        created = each.created
        who = actor_of(created.entry) if created and created.entry.client else None
        if created and who and (who.process, who.component) == (actor.process, actor.component):
            before = _gone(each.owner.uid, owner, world) if each.owner else None
            if before and before.ended and order_of(before.ended, created) is Verdict.EXACT:
                return each
    return None
