"""Find out which acts on old copies belong to one span: between them, the actor is not seen to be up to date. It does
no I/O.

A controller that acts on an old copy again and again has one cause for it, whatever objects these are, as long as
nothing shows that its copies had become new in between. That is shown by an act on a copy that somebody else had
written shortly before, which the watch had to bring, or by a new list. What the process wrote itself proves neither,
because it may have kept its own answer.
"""

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence

from msgspec.structs import replace

from timeline.core.actors import Actor, Sent, actor_of
from timeline.history.lifelines import Moment, Name, Track
from timeline.history.world.world import World
from timeline.judging.copies.actor_copies import named_by
from timeline.judging.copies.staleness import done_to
from timeline.judging.findings import Link, Root
from timeline.judging.requests import refused_as_old
from timeline.judging.rulebook import setting

LAG = setting("stale-view", "lag", 0.5, "s", "From which age on an old copy is more than an info.")


def link(actor: Actor, copied: Track, unseen: Moment, sent: int, world: World) -> Link:
    """Return what connects an act on an old copy with the others of its span.

    `copied` is the object whose copy was old, `unseen` the change that it lacked, and `sent` the time of the act in
    microseconds since 1970.
    """
    group, kind, namespace, _ = copied.name
    scope = namespace if _watches_one_namespace(actor, copied.name, world) else ""
    fresh = world.once(
        ("fresh", actor.process, actor.component, group, kind, scope),
        lambda: sorted(_fresh(actor, Name(group, kind, scope, ""), world)),
    )
    before = bisect_right(fresh, (sent, "\uffff"))
    last = fresh[before - 1] if before else (0, "")
    key = "\n".join(("old copies", actor.process, actor.component, group, kind, scope, str(last[0]), last[1]))
    return Link(Root.OLD_COPIES, key, (actor.component, group, kind), min(unseen.time, sent), sent)


def joined(links: Iterable[Link]) -> Iterator[Link]:
    """Yield one link for each key, which covers the times of all of this key."""
    by_key: dict[str, list[Link]] = defaultdict(list)
    for each in links:
        by_key[each.key].append(each)
    for of_key in by_key.values():
        since, until = min(each.since for each in of_key), max(each.until for each in of_key)
        yield replace(of_key[0], since=since, until=until)


def began(actor: Actor, owner: Track, revision: int, sent: int, world: World) -> int:
    """Return when an actor began to work with the copy of an object that had this revision, in microseconds since 1970.

    An act may be one of many of one sync, which read its copy once: the longer it takes, the older the copy looks. A
    sync ends with an update of the object.
    """
    updates = [
        each.entry.received
        for each in owner.moments
        if named_by(each) is not None and each.entry.received < sent and _is(actor, each.entry)
    ]
    refused = (each for each in world.requests_of(owner) if refused_as_old(each))
    updates += [each.received for each in refused if each.received < sent and _is(actor, each)]
    ended = max(updates, default=0)
    named = {act.child for act in world.acts(owner.name) if act.revision == revision and _is(actor, act)}
    children = (child for child in world.children(owner) if child.ref.name in named)
    done = (each.entry for child in children for each in done_to(child))
    return min((each.received for each in done if ended < each.received < sent and _is(actor, each)), default=sent)


def _is(actor: Actor, sent: Sent) -> bool:
    who = actor_of(sent)
    return who is not None and (who.process, who.component) == (actor.process, actor.component)


def _watches_one_namespace(actor: Actor, name: Name, world: World) -> bool:
    """Return whether the log shows that a process watches this kind in the namespace of the object alone."""

    def watched(namespace: str) -> bool:
        requests = world.requests(Name(name.group, name.kind, namespace, ""))
        watches = (each for each in requests if each.verb == "watch")
        return any(who.process == actor.process for each in watches if (who := actor_of(each)))

    return bool(name.namespace) and watched(name.namespace) and not watched("")


def _fresh(actor: Actor, scope: Name, world: World) -> Iterator[tuple[int, str]]:
    """Yield (time, identity) of everything that shows that the copies of a component were new: updates that name what
    somebody else had written less than `LAG` before, and lists."""
    for track, moment in world.writes_of(actor.process):
        if track.name[:2] == scope[:2] and scope.namespace in ("", track.ref.namespace) and _is(actor, moment.entry):
            copy = _named(track, moment)
            if copy and moment.entry.received - copy.entry.staged < LAG.microseconds and not _is(actor, copy.entry):
                yield moment.entry.received, moment.identity
    for request in world.requests(scope):
        lists = request.verb == "list" or (request.verb == "watch" and request.initial)
        if lists and not request.refused and (who := actor_of(request)) and who.process == actor.process:
            yield request.received, request.identity


def _named(track: Track, moment: Moment) -> Moment | None:
    """Return the write of the copy on which an update rested; None if it is not known."""
    revision = named_by(moment)
    written: Sequence[Moment] = track.moments
    return next((each for each in written if revision and each.stamp.resource_version == revision), None)
