"""Find out which acts on old copies belong to one span: between them, the actor is not seen to be up to date. It does
no I/O.

A controller that acts on an old copy again and again has one cause for it, whatever objects these are, as long as
nothing shows that its copies had become new in between. That is shown by an act on a copy that somebody else had
written shortly before, which the watch had to bring, or by a new list. What the process wrote itself proves neither,
because it may have kept its own answer.
"""

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from timeline.core.actors import Actor, Sent, actor_of
from timeline.core.entries import Level
from timeline.history.lifelines import Key, Moment, Name, Track
from timeline.history.world.world import World
from timeline.judging.copies.actor_copies import named_by
from timeline.judging.copies.staleness import done_to
from timeline.judging.coverage.lines import LinkNeeds, events, line, need
from timeline.judging.findings import Link, Root
from timeline.judging.requests import refused_as_old
from timeline.judging.rulebook import setting

LAG = setting("stale-view", "lag", 0.5, "s", "From which age on an old copy is more than an info.")

_REFUSED = line(verbs="conflict", level=Level.METADATA, sent=True)
_WATCHES = line(verbs="watch", level=Level.METADATA, sent=True)
OLD_COPIES = LinkNeeds(
    "old-copies",
    "A span of old copies",
    "what one component of one process did on old copies, until they were new again",
    needs=(
        need(line(verbs="create update status delete", level=Level.METADATA, sent=True)),
        need(events(), _REFUSED, _WATCHES),
        need(events(), misses="what was created and deleted on old copies"),
        need(_REFUSED, misses="updates that were refused because they rested on old copies"),
        need(line(verbs="update status", sent=True), misses="updates that show that the copies were new again"),
        need(_WATCHES, misses="new lists and watches, after which the copies are new"),
    ),
)


def link(actor: Actor, copied: Track, sent: int, world: World) -> Link:
    """Return what connects an act on an old copy with the others of its span.

    `copied` is the object whose copy was old, and `sent` the time of the act in microseconds since 1970.
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
    return Link(Root.OLD_COPIES, key, (actor.component, group, kind), sent, sent)


class _Syncs(NamedTuple):
    """When one actor worked on an object and its children, in order, in microseconds since 1970."""

    ended: Sequence[int]  # its updates of the object, also the refused ones
    done: Mapping[int, Sequence[int]]  # what it created and deleted, by the revision of its copy of the object


def began(actor: Actor, owner: Track, revision: int, sent: int, world: World) -> int:
    """Return when an actor began to work with the copy of an object that had this revision, in microseconds since 1970.

    An act may be one of many of one sync, which read its copy once: the longer it takes, the older the copy looks. A
    sync ends with an update of the object.
    """
    key = ("syncs", owner.key, actor.process, actor.component)
    syncs = world.once(key, lambda: _syncs(actor, owner, world))
    before = bisect_left(syncs.ended, sent)
    done = syncs.done.get(revision, ())
    first = bisect_right(done, syncs.ended[before - 1] if before else 0)
    return min(done[first], sent) if first < len(done) else sent


def _syncs(actor: Actor, owner: Track, world: World) -> _Syncs:
    ended = [each.entry.received for each in owner.moments if named_by(each) is not None and _is(actor, each.entry)]
    refused = (each for each in world.requests_of(owner) if refused_as_old(each))
    ended += [each.received for each in refused if _is(actor, each)]
    named: dict[str, set[int]] = defaultdict(set)  # the revisions of the copies, by the name of the child
    for act in world.acts(owner.name):
        if _is(actor, act):
            named[act.child].add(act.revision)
    done: dict[int, list[int]] = defaultdict(list)
    for child in world.children(owner) if named else ():
        for revision in named.get(child.ref.name, ()):
            done[revision] += [each.entry.received for each in done_to(child) if _is(actor, each.entry)]
    return _Syncs(sorted(ended), {revision: sorted(times) for revision, times in done.items()})


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
    written: dict[Key, dict[int | None, Moment]] = {}  # the writes of each object, by revision
    for track, moment in world.writes_of(actor.process):
        of_scope = track.name[:2] == scope[:2] and scope.namespace in ("", track.ref.namespace)
        revision = named_by(moment) if of_scope and _is(actor, moment.entry) else None
        if revision is None:
            continue
        if track.key not in written:
            written[track.key] = {each.stamp.resource_version: each for each in track.moments}
        copy = written[track.key].get(revision)
        if copy and moment.entry.received - copy.entry.staged < LAG.microseconds and not _is(actor, copy.entry):
            yield moment.entry.received, moment.identity
    for request in world.requests(scope):
        lists = request.verb == "list" or (request.verb == "watch" and request.initial)
        if lists and not request.refused and (who := actor_of(request)) and who.process == actor.process:
            yield request.received, request.identity
