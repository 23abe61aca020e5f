"""Find out on which revisions of one object each actor acted, and what its watch had surely shown it. It does no I/O.

The revisions that requests and Events name are those of copies, each of which was read at some earlier time. What the
watch of a process had shown is known only as bounds: within one watch it never goes back, and the address of a watch
request names the revision that the process had reached when it sent it. `copies_of` is the entrance. Its answer does
not depend on the order in which observations were learned, nor on repetitions, so tests may hold its bounds against
what a client was really shown.
"""

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from timeline.core.actors import Actor, actor_of
from timeline.core.durations import Length
from timeline.core.entries import Change, Clock, Request, revision
from timeline.history.ledger.acts import Act
from timeline.history.lifelines import Moment, Name, Track
from timeline.history.world.world import World
from timeline.judging.copies.staleness import resting_on, tells_of
from timeline.judging.requests import refused_as_old


class Use(NamedTuple):
    """One request or Event that shows the revision of the actor's copy of an object."""

    time: int  # when the request was received, or, without a request, when the Event was recorded: µs since 1970
    sure: int  # a time by which the copy had surely been read, by the API server's clock
    revision: int
    what: str  # "created Pod a-1", "update", "update refused", or the reason of an Event
    child: Track | None  # the object that was created or deleted; None for other uses
    done: Moment | None  # its creation or deletion
    unseen: Moment | None  # the change after the copy's revision that had been answered before; None if there was none
    matters: str  # what that change means for the act, such as "was Complete"; "" if that is not known
    identity: str  # tells uses at one time apart
    acted: bool = True  # whether a request rested on the copy; otherwise only an Event, by its writer's clock, shows it

    @property
    def lag(self) -> Length | None:
        """Return how much earlier than this use the copy had been replaced; None if no newer state is known."""
        if self.unseen is None:
            return None
        entry = self.unseen.entry
        return Length(max(0, self.time - entry.staged), max(0, self.time - entry.received))


class Bound(NamedTuple):
    """The revisions between which the watch of a process was, from `start` until before `end`."""

    start: int
    end: int
    least: int | None  # it had surely shown everything up to this revision; None if nothing proves any
    most: int | None  # it had surely shown nothing newer than this revision, unless None


class ActorCopies(NamedTuple):
    """What is known of one actor's copies of one object, and of the watch by which its process reads it."""

    actor: Actor
    owner: Track
    uses: tuple[Use, ...]  # in the order of time
    bounds: tuple[Bound, ...]  # in the order of time; empty where only copies are known

    def at(self, time: int) -> tuple[int | None, int | None]:
        """Return the bounds of the watch at a time; None where there is none."""
        return next(((each.least, each.most) for each in self.bounds if each.start <= time < each.end), (None, None))

    @property
    def worst(self) -> Length | None:
        """Return the lag of the oldest copy on which the actor acted; None if none was old."""
        lags = [lag for each in self.uses if (lag := each.lag)]
        return max(lags, key=lambda each: (each.least, each.most or 0), default=None)


def copies_of(owner: Track, world: World) -> list[ActorCopies]:
    """Return the view of each actor whose copies of an object are known, sorted by actor."""
    uses: dict[tuple[str, str], dict[tuple[object, ...], tuple[Actor, Use]]] = defaultdict(dict)
    for actor, use in _uses(owner, world):
        uses[actor.process, actor.component][use.time, use.revision, use.what, use.identity] = actor, use
    found = []
    for _, by_use in sorted(uses.items()):
        ordered = [by_use[key] for key in sorted(by_use, key=repr)]
        actor = min(actor for actor, _ in ordered)
        own = sorted((use for _, use in ordered), key=lambda each: (each.time, each.revision, each.what, each.identity))
        found.append(ActorCopies(actor, owner, tuple(own), tuple(_bounds(owner, actor, own, world))))
    return found


def _uses(owner: Track, world: World) -> Iterator[tuple[Actor, Use]]:
    yield from read_uses(owner, world)
    revised = _revised(owner)
    for moment in owner.moments:
        entry, named = moment.entry, named_by(moment)
        if named is not None and (actor := actor_of(entry)):
            unseen = _replacing(revised, named, entry.received)
            what = f"updated {entry.action}".strip()
            yield actor, Use(entry.received, entry.received, named, what, None, None, unseen, "", entry.identity)


def named_by(moment: Moment) -> int | None:
    """Return the revision of the copy on which an update rested that changed the object; None if it is not known."""
    if moment.clock is not Clock.AUDIT or not moment.entry.client:
        return None
    return moment.replaces if moment.replaces is not None else moment.entry.named


def read_uses(owner: Track, world: World) -> Iterator[tuple[Actor, Use]]:
    """Yield the uses of copies of an object that may have been old: those that Events and refused updates show."""
    requests, acts = world.requests_of(owner), []
    for act in world.acts(owner.name):
        if act.ref.uid == owner.ref.uid and act.client and act.revision and (actor := actor_of(act)):
            acts.append((act, actor))
    if not acts and not requests:
        return
    revised = _revised(owner)
    children: dict[str, list[Track]] = defaultdict(list)
    for child in world.children(owner) if acts else ():
        children[child.ref.name].append(child)
    for act, actor in acts:
        own = children.get(act.child, ()) if act.child else ()
        yield actor, _recorded(owner, act, actor, own)
    for request in requests:
        if request.named is not None and refused_as_old(request) and (actor := actor_of(request)):
            sent, unseen = request.received, _replacing(revised, request.named, request.received)
            yield actor, Use(sent, sent, request.named, "update refused", None, None, unseen, "", request.identity)


def _recorded(owner: Track, act: Act, actor: Actor, children: Sequence[Track]) -> Use:
    """Return the use that an Event shows: that of the creation or deletion which it reports, if the log has that."""
    for child in children:
        gone = (each for each in child.moments if each.change is Change.DELETED or each.facts.deleting)
        for done in (child.created, next(gone, None)):
            if done is None or (who := actor_of(done.entry)) is None or done.clock is not Clock.AUDIT:
                continue
            verb = "Create" if done.change is Change.CREATED else "Delete"
            if (
                verb in act.reason
                and tells_of(act, done)
                and (who.process, who.component) == (actor.process, actor.component)
            ):
                stale = resting_on(owner, act, done, actor)
                words = f"{'created' if verb == 'Create' else 'deleted'} {child.ref.kind} {child.ref.name}"
                unseen = stale.unseen if stale else None
                sent = done.entry.received
                return Use(
                    sent,
                    act.received,
                    act.revision,
                    words,
                    child,
                    done,
                    unseen,
                    stale.matters if stale else "",
                    act.event.name,
                )
    words = act.reason or "Event"
    return Use(act.recorded, act.received, act.revision, words, None, None, None, "", act.event.name, acted=False)


def _replacing(revised: Sequence[Moment], named: int, before: int) -> Moment | None:
    """Return the first change of an object after a revision, if it was answered before a time.

    `revised` are its changes with a revision, in commit order.
    """
    at = bisect_right(revised, named, key=lambda each: each.stamp.resource_version or 0)
    first = revised[at] if at < len(revised) else None
    return first if first and first.clock is Clock.AUDIT and first.entry.staged < before else None


def _revised(owner: Track) -> list[Moment]:
    return [each for each in owner.moments if each.stamp.resource_version is not None]


def _bounds(owner: Track, actor: Actor, uses: Sequence[Use], world: World) -> Iterator[Bound]:
    """Yield the bounds of the watch of an actor's process, if the log shows exactly one at a time.

    A copy proves that the watch had shown its revision only if the process had not read it in another way: it wrote
    that revision itself, or a read answered it. Copies that were committed before a watch began may be older than it.
    """
    watches = _watches(owner, actor, world)
    if not watches:
        return
    known = _known_otherwise(owner, actor, world)
    shown = [
        (use.sure, use.revision, moment.entry.received)
        for use in uses
        if use.revision not in known
        for moment in owner.moments
        if moment.stamp.resource_version == use.revision and moment.clock is Clock.AUDIT and moment.entry.client
    ]
    for span in _spans(watches, shown):
        yield from span


def _watches(owner: Track, actor: Actor, world: World) -> list[Request]:
    """Return the watch requests by which a process reads an object; none if several could be that."""
    group, kind, namespace, _ = owner.name
    scopes = {Name(group, kind, "", ""), Name(group, kind, namespace, "")}
    watches = [
        each
        for scope in sorted(scopes)
        for each in world.requests(scope)
        if each.verb == "watch" and not each.refused and (who := actor_of(each)) and who.process == actor.process
    ]
    if len({(each.user_agent, each.ref.namespace, each.selector) for each in watches}) != 1 or watches[0].selector:
        return []
    watches.sort(key=lambda each: (each.received, each.identity))
    alone = all(before.received <= before.staged < after.received for before, after in pairwise(watches))
    return watches if alone else []


def _known_otherwise(owner: Track, actor: Actor, world: World) -> set[int]:
    """Return the revisions of an object that a process can know without its watch: its own writes, and reads."""
    written = {
        each.stamp.resource_version
        for each in owner.moments
        if (who := actor_of(each.entry)) is None or who.process == actor.process
    }
    answered = {
        each.answered
        for each in world.requests_of(owner)
        if (who := actor_of(each)) is None or who.process == actor.process
    }
    return {each for each in written | answered if each is not None}


def _spans(watches: Sequence[Request], shown: Sequence[tuple[int, int, int]]) -> Iterator[list[Bound]]:
    """Yield the bounds of each span of time in which the watches of a process did not go back.

    `shown` has (time, revision, time of its commit) of each copy that came from the watch.
    """
    span: list[Request] = []
    for watch in watches:
        at = _since(watch)
        lowest = max((least for _, least in _steps(span, shown, watch.received + 1)), default=0)
        if span and (at is None or at < lowest):
            yield _within(span, shown, min(span[-1].staged, watch.received))
            span = []
        span.append(watch)
    yield _within(span, shown, span[-1].staged)


def _since(watch: Request) -> int | None:
    """Return the revision up to which a process had seen everything when it sent a watch request; None if the address
    does not say it."""
    return None if watch.initial else revision(watch.since)


def _steps(span: Sequence[Request], shown: Sequence[tuple[int, int, int]], until: int) -> list[tuple[int, int]]:
    """Return (time, revision) of everything that proves what the watches of a span had shown, sorted."""
    if not span:
        return []
    begun = span[0].received
    named = [(each.received, at) for each in span if (at := _since(each)) is not None]
    copies = [(time, at) for time, at, committed in shown if begun <= committed < time < until]
    return sorted(named + copies)


def _within(span: Sequence[Request], shown: Sequence[tuple[int, int, int]], end: int) -> list[Bound]:
    steps = _steps(span, shown, end)
    tops = [(each.received, at) for each in span if (at := _since(each)) is not None]
    times = sorted({span[0].received, *(time for time, _ in steps), *(time + 1 for time, _ in tops)})
    found: list[Bound] = []
    for start, until in zip(times, [*times[1:], max(end, times[-1])], strict=True):
        least = max((at for time, at in steps if time <= start), default=None)
        most = min((at for time, at in tops if time >= start), default=None)
        if found and found[-1][2:] == (least, most):
            found[-1] = found[-1]._replace(end=until)
        elif start < until:
            found.append(Bound(start, until, least, most))
    return found
