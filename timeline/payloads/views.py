"""Collect what pages draw of an actor's copies of one object, and of what its watch had shown.

Times are microseconds since 1970, UTC. Revisions are text, since JavaScript's numbers cannot hold all of them.
"""

from collections.abc import Callable, Iterable
from typing import Literal

from typing_extensions import TypedDict  # Pydantic does not accept that of typing before Python 3.12

from timeline.core.entries import ObjectRef
from timeline.history.lifelines import Key, Moment, Track, name_of
from timeline.history.world.world import World
from timeline.judging.copies.actor_copies import ActorCopies, Use, copies_of
from timeline.judging.findings import Finding

ACTORS = 4  # the most actors of one object
USES = 120  # the most uses of copies by one actor; the oldest copies are kept
COMMITS = 400  # the most revisions of the object


class CommitPayload(TypedDict):
    time: int  # the drawn time
    resource_version: str
    text: str  # the phase in which the object was from then on: "Complete"


class SeenPayload(TypedDict):
    """This says what the watch of the actor's process had surely shown in a stretch of time."""

    start: int
    end: int
    least: str | None  # everything up to this revision; null if nothing proves any
    most: str | None  # nothing newer than this revision, unless null


class UsePayload(TypedDict):
    """This is one act that shows the revision of the actor's copy."""

    time: int
    resource_version: str
    what: str  # "created Pod report-0-r9wx8"
    track: int  # the object that was created or deleted; 0 for other acts
    lag: str  # how long before the act the copy had been replaced: "≈ 0.98 s"; "" if it was the newest known state
    least: int  # the same in microseconds, at least
    unseen: str | None  # the revision after the copy's that matters most for the act; null if the copy was not old
    unseen_at: int  # its drawn time; 0 without one
    stood: str | None  # the newest revision that had been answered before the act; null if none is known
    matters: str  # how the object differed from the copy: "was Complete"; "" if that is not known


class ViewPayload(TypedDict):
    """What is known of one actor's copies of one object, some of which were old when it acted on them."""

    track: int  # the object
    kind: str
    name: str
    actor: str  # "job-controller in Pod kcm-a"
    user_agent: str
    bound: bool  # whether the actor's process is surely one; otherwise several may share its address and program
    worst: str  # the age of the oldest copy on which it acted
    worst_least: int  # the same in microseconds, at least
    commits: list[CommitPayload]  # the revisions of the object, in commit order
    seen: list[SeenPayload]  # empty where only copies are known
    uses: list[UsePayload]  # in the order of time
    uses_total: int


class CopyPayload(TypedDict):
    """This compares the copy on which somebody acted with what stood when they acted. Its size is limited."""

    track: int
    kind: str
    name: str
    copied: str  # the revision of the copy
    stood: str  # the newest revision at that time
    lines: list[tuple[Literal["+", "-", " ", "@"], str]]  # from the copy to what stood, as in ShownChangePayload
    lines_total: int
    too_large: bool  # whether there are no lines because making them would have taken too long
    nothing: str  # why there are no lines
    texts: list[str]  # where to download both states as JSON, the earlier one first
    url: str  # the changes of the object from the copy on


def views(owner: Track, world: World, number: Callable[[Track], int]) -> list[ViewPayload]:
    """Return the views of an object by actors that acted on old copies of it, the oldest copy first."""
    stale = [(view, worst) for view in copies_of(owner, world) if (worst := view.worst)]
    stale.sort(key=lambda each: (-each[1].least, str(each[0].actor), each[0].actor))
    return [_view(view, number) for view, _ in stale[:ACTORS]]


def acted_on(findings: Iterable[Finding], world: World) -> list[Track]:
    """Return the objects whose old copies somebody acted on, as findings say it, in the order of their keys."""
    keys: set[Key] = set()
    for each in findings:
        if each.rule == "stale-view" and each.other:
            keys.add(_key(each.other))
        elif each.rule == "stale-write" and each.severity != "info":
            keys.add(_key(each.subject))
        if each.cause and each.cause.rule == "stale-view":
            keys.add(_key(each.cause.proof[0].ref))
    tracks = (world.track(key) for key in keys)
    return sorted((track for track in tracks if track), key=lambda track: repr(track.key))


def within(view: ViewPayload, start: int, end: int) -> ViewPayload | None:
    """Return the part of a view between two times, and the revision before it; None if no act there was on an old
    copy."""
    uses = [each for each in view["uses"] if start <= each["time"] <= end]
    if not any(each["unseen"] for each in uses):
        return None
    before = [each for each in view["commits"] if each["time"] < start][-1:]
    return {
        **view,
        "commits": [*before, *(each for each in view["commits"] if start <= each["time"] <= end)],
        "seen": [each for each in view["seen"] if each["start"] <= end and each["end"] >= start],
        "uses": uses,
    }


def _key(ref: ObjectRef) -> Key:
    return name_of(ref), ref.uid


def _view(view: ActorCopies, number: Callable[[Track], int]) -> ViewPayload:
    owner, actor, worst = view.owner, view.actor, view.worst
    acts = [each for each in view.uses if each.acted]
    oldest = sorted(acts, key=lambda each: (-(each.lag.least if each.lag else -1), each.time))[:USES]
    uses = [each for each in acts if each in oldest]
    return {
        "track": number(owner),
        "kind": owner.ref.kind,
        "name": owner.ref.name,
        "actor": str(actor),
        "user_agent": actor.user_agent,
        "bound": actor.bound,
        "worst": str(worst) if worst else "",
        "worst_least": worst.least if worst else 0,
        "commits": _commits(owner),
        "seen": [
            {
                "start": each.start,
                "end": each.end,
                "least": None if each.least is None else str(each.least),
                "most": None if each.most is None else str(each.most),
            }
            for each in view.bounds
        ],
        "uses": [_use(each, owner, number) for each in uses],
        "uses_total": len(acts),
    }


def _commits(owner: Track) -> list[CommitPayload]:
    known = [each for each in owner.moments if each.stamp.resource_version is not None]
    return [
        {"time": each.time, "resource_version": str(each.stamp.resource_version), "text": _phase(owner, each)}
        for each in known[-COMMITS:]
    ]


def _phase(owner: Track, moment: Moment) -> str:
    return owner.kind.phase(moment.facts).text


def _use(use: Use, owner: Track, number: Callable[[Track], int]) -> UsePayload:
    lag, unseen = use.lag, use.unseen
    return {
        "time": use.time,
        "resource_version": str(use.revision),
        "what": use.what,
        "track": number(use.child) if use.child else 0,
        "lag": str(lag) if lag else "",
        "least": lag.least if lag else 0,
        "unseen": str(unseen.stamp.resource_version) if unseen else None,
        "unseen_at": unseen.time if unseen else 0,
        "stood": _stood(use, owner),
        "matters": use.matters,
    }


def _stood(use: Use, owner: Track) -> str | None:
    answered = (
        each.stamp.resource_version
        for each in owner.moments
        if each.stamp.resource_version is not None and each.entry.staged < use.time
    )
    newest = max(answered, default=None)
    return None if newest is None else str(newest)
