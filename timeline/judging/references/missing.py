"""Find the objects that another object needed while they did not exist, and what Events say about that. It does no
I/O."""

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from timeline.core.entries import Level
from timeline.core.order import SECOND
from timeline.history.lifelines import Moment, Name, Track
from timeline.history.world.world import World
from timeline.judging.coverage.lines import LinkNeeds, line, need
from timeline.judging.findings import Link, Root
from timeline.judging.verdicts import Verdict, order_of
from timeline.kinds import kind_of
from timeline.kinds.volcano_job import makes_claim

# What an Event says of an object that its program did not find: the kind, perhaps with its group, and the name.
_NOT_FOUND = re.compile(r"\b([a-z]{1,253}+)(?:\.[a-z0-9.]{1,253}+)? \"?([^\s\"]{1,253})\"? (?:is )?not found")

MISSING_OBJECT = LinkNeeds(
    "missing-object",
    "A missing object",
    "all that waited for it",
    needs=(
        need(
            line("Pod", "Job.batch.volcano.sh", verbs="state"),
            line("Deployment", "StatefulSet", "DaemonSet", verbs="delete"),  # that took finalizers away
        ),
        need(line("Pod", verbs="create"), misses="the time since which Pods wait"),
        need(line("PersistentVolumeClaim", verbs="create", level=Level.METADATA), misses="Pods that wait for a claim"),
        need(line("ConfigMap", verbs="create", level=Level.METADATA), misses="Pods that wait for a ConfigMap"),
        need(line("Secret", verbs="create", level=Level.METADATA), misses="Pods that wait for a Secret"),
        need(
            line("ServiceAccount", verbs="create", level=Level.METADATA), misses="Pods that wait for a ServiceAccount"
        ),
        need(line("PriorityClass", verbs="create", level=Level.METADATA), misses="Pods that wait for a PriorityClass"),
        need(line("Event", verbs="create"), misses="what never came"),
    ),
)


class Missing(NamedTuple):
    """A time in which no object of a name existed, although another object needed it."""

    start: Moment  # the moment since which the other object needed it, or the deletion
    came: tuple[Track, Moment] | None  # the next object of that name and its creation
    order: Verdict  # how sure it is that this creation came after the start
    went: tuple[Track, Moment] | None  # the previous object of that name and its deletion
    seen: int | None = None  # if no creation was observed: the drawn time at which the next object was first observed


def needed(user: Track) -> Iterator[tuple[Name, Moment]]:
    """Yield the name of each object that a Pod or a Volcano Job needs, with the first moment at which it does."""
    if user.ref.kind == "Pod":
        for each in user.value("needs") or ():
            namespace = user.ref.namespace if each.namespace is None else each.namespace
            yield Name(each.group, each.kind, namespace, each.name), user.first
        return
    known: set[str] = set()
    for moment in user.moments:
        for claim in moment.facts.claims:
            if claim not in known and not makes_claim(user.ref.name, claim):
                known.add(claim)
                yield Name("", "PersistentVolumeClaim", user.ref.namespace, claim), moment


def times_missing(since: Moment, lives: Sequence[Track]) -> Iterator[Missing]:
    """Yield the times after a moment in which no object of a name existed.

    `lives` are the incarnations of the name. The times end with the first of them that was not observed to end.
    """
    start, went = since, None
    for life in lives:
        if life.ended is None and life.first.time < since.time:
            return
        order = order_of(start, life.created) if life.created else None
        if order and life.created:
            yield Missing(start, (life, life.created), order, went)
        elif life.first.time > start.time:
            yield Missing(start, None, Verdict.EXACT, went, seen=life.first.time)
        if life.ended is None:
            return
        went = life, life.ended
        if order_of(start, life.ended):
            start = life.ended
    yield Missing(start, None, Verdict.EXACT, went)


def missing_link(name: Name, missing: Missing, until: int) -> Link:
    """Return what connects all that wait for an object while it is missing, until a drawn time."""
    went = missing.went[1] if missing.went else None
    came = missing.came[1] if missing.came else None
    bounds = (f"{each.at}" if each else "" for each in (went, came))
    since = went.time if went else missing.start.time
    return Link(Root.MISSING, "\n".join(("missing", *name, *bounds)), tuple(name), since, until)


def links_of(user: Track, start: int, end: int, world: World) -> Iterator[Link]:
    """Yield a link for each object that a Volcano Job lacked between two drawn times, as an Event of that time says.

    The link connects what the Job did meanwhile with all that wait for the same object."""
    volcano = user.ref.group == "batch.volcano.sh"
    reports = events_about(user, end, world) if volcano else []
    for name, since in needed(user) if volcano else ():
        for missing in times_missing(since, world.incarnations(name, end, after=since)):
            events, _ = not_found_events(reports, name, missing.start.time)
            until = missing.came[1].time if missing.came else end
            if any(start <= moment.time <= min(end, until) for _, moment in events):
                yield missing_link(name, missing, min(end, until))


def went_on(user: Track) -> int | None:
    """Return the drawn time at which a Pod or a Volcano Job surely had what it needs, because a container ran or the
    Job left the phase Pending; None if that was not observed."""
    for moment in user.moments:
        facts = moment.facts
        if user.ref.kind == "Pod" and facts.started:
            return min(moment.time, int(facts.started) + SECOND)
        if facts.phase not in {"", "Pending", "Failed"}:
            return moment.time
    return None


def waited_until(user: Track, ran: int | None) -> int | None:
    """Return the drawn time at which an object stopped waiting, because it went on, failed, or its deletion was
    requested; None if it did not. `ran` is what `went_on` returns."""
    failed = next((moment.time for moment in user.moments if moment.facts.phase == "Failed"), None)
    return min((time for time in (ran, failed, user.asked_to_end) if time is not None), default=None)


Reports = list[tuple[Track, Moment]]  # Events, each with its moment that has a message


def events_about(user: Track, until: int, world: World) -> Reports:
    """Return the Events about an object up to a drawn time that have a message, in no order."""
    return [
        (event, moment)
        for event in world.referrers(user.name, until)
        if event.ref.kind == "Event"
        for moment in event.moments
        if moment.time <= until and moment.facts.message
    ]


def not_found_events(reports: Reports, name: Name, start: int) -> tuple[Reports, bool]:
    """Return those of these Events from a drawn time on that say that `name` was not found, in order, and whether a
    later one of them says something else."""
    events = sorted((each for each in reports if start <= each[1].time), key=lambda each: each[1].at)
    if not events:
        return [], False
    kinds = {name.kind.lower(), kind_of(name.group, name.kind).short}
    missing = {(f"{kind}{plural}", name.name.lower()) for kind in kinds for plural in ("", "s")}
    found = [each for each in events if not missing.isdisjoint(_NOT_FOUND.findall(each[1].facts.message.lower()))]
    return found, bool(found) and events[-1][1].facts.message != found[-1][1].facts.message


def logged_in_full(name: Name, start: int, end: int, world: World) -> bool:
    """Return whether no write of any object of the kind of `name`, in its namespace, is known to be missing between two
    drawn times."""
    return world.complete(name.group, name.kind, start, end, name.namespace)


def progress_logged(user: Track, start: int, end: int, world: World) -> bool:
    """Return whether the source would show that an object went on between two drawn times."""
    seen = world.seen[user.ref.group, user.ref.kind]
    shown = seen.shows_statuses if user.ref.kind == "Pod" else seen.shows_states
    return shown and logged_in_full(user.name, start, end, world)


def never_existed(name: Name, start: int, end: int, world: World) -> bool:
    """Return whether the source surely shows every object of this kind that the namespace ever had before `end`,
    because it shows the creation of the namespace and every write of the kind since then."""
    namespaces = world.incarnations(Name("", "Namespace", "", name.namespace))
    begun = [life.created for life in namespaces if life.created]
    return bool(
        name.namespace and begun and begun[-1].time < start and logged_in_full(name, begun[-1].time, end, world)
    )
