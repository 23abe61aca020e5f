"""Find out what a controller had seen of an owner when it created or deleted one of its children. It does no I/O.

When a controller creates or deletes a child, it records an Event about the owner, which names the revision of its copy
of the owner. The controller did not heed any change of the owner that was committed between this revision and the
request. It does not follow that its watch was behind: it may have read the copy some time before it sent the request.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

from timeline.core.actors import Actor, actor_of
from timeline.core.durations import Length
from timeline.core.entries import Change, Clock
from timeline.core.order import SECOND
from timeline.history.ledger.acts import Act
from timeline.history.lifelines import Moment, Track
from timeline.history.world.world import World
from timeline.kinds.job import JobFacts
from timeline.kinds.replica_set import ReplicaSetFacts

_APART = 2 * SECOND  # µs between a request and the Event about it, by the clocks of API server and controller


class StaleAct(NamedTuple):
    """One creation or deletion of a child by a controller that had not seen the newest state of the owner."""

    actor: Actor
    act: Act  # the Event that names the revision of the copy
    done: Moment  # the creation or the deletion of the child
    owner: Track
    unseen: Moment  # the change of the owner that matters most for the act, or else the first that was not seen
    matters: str  # what that change means for the act, such as "was Complete"; "" if it need not have changed the act

    @property
    def created(self) -> bool:
        return self.done.change is Change.CREATED

    @property
    def lag(self) -> Length:
        """Return how long before the request the change was committed."""
        sent, committed = self.done.entry.received, self.unseen.entry
        return Length(max(0, sent - committed.staged), max(0, sent - committed.received))

    @property
    def sentence(self) -> str:
        """Return what is proven, as a sentence: which revision the copy had, and what had been committed since."""
        kind, newer = self.owner.ref.kind, self.unseen.stamp.resource_version
        who = actor_of(self.unseen.entry)
        by = ", by the same controller" if who == self.actor else f", by {who}" if who else ""
        return (
            f"It acted on revision {self.act.revision} of {kind} {self.owner.ref.name}; revision {newer} had been "
            f"committed {self.lag} earlier{by}."
        )


def stale_acts(child: Track, world: World) -> Iterator[StaleAct]:
    """Yield the creation and the deletion of a child, as far as each rested on an old copy of the owner."""
    owner = world.owner_of(child)
    if owner is None:
        return
    for done in done_to(child):
        actor = actor_of(done.entry)
        act = actor and _act(child, done, owner, actor, world)
        if act and actor and (stale := resting_on(owner, act, done, actor)):
            yield stale


def resting_on(owner: Track, act: Act, done: Moment, actor: Actor) -> StaleAct | None:
    """Return what an actor did on the copy of the owner that its Event names, if that copy was old; else None."""
    unseen = _unseen(owner, act, done)
    if not unseen:
        return None
    matters = next(((each, words) for each in unseen if (words := _matters(owner, act, each))), None)
    moment, words = matters or (unseen[0], "")
    return StaleAct(actor, act, done, owner, moment, words)


def done_to(child: Track) -> Iterator[Moment]:
    """Yield the creation of an object, and the first request for its deletion, if an audit log shows who sent them."""
    asked = next((each for each in child.moments if each.change is Change.DELETED or each.facts.deleting), None)
    for moment in (child.created, asked):
        if moment and moment.clock is Clock.AUDIT and moment.entry.client:
            yield moment


def tells_of(act: Act, done: Moment) -> bool:
    """Return whether an Event was recorded when a request was answered, by clocks that are about equal.

    A controller that creates a Pod of the same name again counts up the first Event instead of recording another one,
    so an Event may be about an earlier request.
    """
    return done.entry.received - _APART <= act.recorded_by and act.recorded <= done.entry.staged + _APART


def _act(child: Track, done: Moment, owner: Track, actor: Actor, world: World) -> Act | None:
    """Return the Event by which the actor recorded that it created or deleted the child; None if there is none."""
    verb = "Create" if done.change is Change.CREATED else "Delete"
    found = [
        act
        for act in world.acts(owner.name, child.ref.name)
        if tells_of(act, done)
        and verb in act.reason
        and act.ref.uid == owner.ref.uid
        and (who := actor_of(act)) is not None
        and (who.process, who.component) == (actor.process, actor.component)
    ]
    nearest = min(found, key=lambda act: (_apart(act, done), act.event), default=None)
    if nearest is None:
        return None
    others = (each for life in world.incarnations(child.name) if life is not child for each in done_to(life))
    same = (each for each in others if (each.change is Change.CREATED) == (done.change is Change.CREATED))
    return None if any(_apart(nearest, each) <= _apart(nearest, done) for each in same) else nearest


def _apart(act: Act, done: Moment) -> int:
    return abs(act.recorded - done.entry.staged)


def _unseen(owner: Track, act: Act, done: Moment) -> list[Moment]:
    """Return the changes of the owner after the revision of the copy that were answered before the request came."""
    return [
        moment
        for moment in owner.moments
        if (moment.entry.resource_version or 0) > act.revision
        and moment.clock is Clock.AUDIT
        and moment.entry.staged < done.entry.received
    ]


def _matters(owner: Track, act: Act, moment: Moment) -> str:
    """Return how the owner's state differs from the copy in what a controller must heed; "" if it does not, or if the
    newer state asks for the same act: fewer children while one is deleted, more while one is created."""
    creates = "Create" in act.reason
    before: Any = next(
        (each.facts for each in reversed(owner.moments) if (each.entry.resource_version or 0) <= act.revision), None
    )
    now: Any = moment.facts
    if now.deleting and not (before and before.deleting):
        return "was being deleted" if creates else ""
    finished = getattr(now, "finished", "")
    if finished and not getattr(before, "finished", ""):
        return f"was {finished}"
    if getattr(now, "suspend", False) and not getattr(before, "suspend", False):
        return "was suspended" if creates else ""
    if before is not None and now.generation > before.generation > 0:
        old, new = _wanted(before), _wanted(now)
        same = old is not None and new is not None and (new >= old if creates else new <= old)
        return "" if same else "had another spec"
    return ""


def _wanted(facts: Any) -> int | None:
    """Return how many Pods a ReplicaSet or a Job wants at a time, which is all that its spec can change while it goes
    on; None for other owners, or if it is not known."""
    if isinstance(facts, ReplicaSetFacts):
        return facts.replicas if facts.replicas >= 0 else None
    return facts.parallelism if isinstance(facts, JobFacts) and facts.parallelism >= 0 else None
