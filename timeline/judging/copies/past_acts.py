"""Find what a client did on the strength of a past that it saw again. It does no I/O.

A client that goes back to an older revision no longer sees the changes after it, until they arrive once more. It acted
on that past if a request of it rests on a state that one of these changes had replaced.
"""

from bisect import bisect_left
from collections.abc import Collection, Iterator
from typing import NamedTuple

from timeline.core.actors import actor_of
from timeline.core.entries import Change, Request
from timeline.core.order import SECOND
from timeline.history.lifelines import Moment, Track
from timeline.history.seen import GroupKind
from timeline.history.world.world import World
from timeline.judging.copies.staleness import stale_acts
from timeline.judging.requests import moment_of
from timeline.judging.verdicts import Verdict, order_of

_LOOKED_AT = 600 * SECOND  # µs after the return to the past; later acts are not looked for
Unseen = tuple[Track, Moment]  # an object, and a change of it that the client no longer saw


class PastAct(NamedTuple):
    """One request that rests on the past, and what it did, as the rest of a sentence about the client."""

    track: Track
    moment: Moment
    words: str
    refused: bool


def past_act(process: str, kind: GroupKind, since: int, unseen: Collection[Unseen], world: World) -> PastAct | None:
    """Return the first act of a process on the past after a time (µs since 1970): one that succeeded, if there is one.

    `kind` is what the process watched, and `unseen` are the changes that it no longer saw.
    """
    done = next(_done(process, kind, since, unseen, world), None)
    return done or min(_refused(process, since, unseen, world), key=_when, default=None)


def _received(write: tuple[Track, Moment]) -> int:
    return write[1].entry.received


def _when(act: PastAct) -> tuple[int, str]:
    return act.moment.entry.received, act.moment.identity


def _done(process: str, kind: GroupKind, since: int, unseen: Collection[Unseen], world: World) -> Iterator[PastAct]:
    """Yield creations and deletions of children on old copies of owners that had changed, and creations of children for
    owners that were gone, in the order in which they were received: a log does not always show the revision of a
    deletion."""
    changed = {(track.key, moment.at) for track, moment in unseen}
    writes = world.writes_of(process)
    start, end = (bisect_left(writes, each, key=_received) for each in (since, since + _LOOKED_AT))
    for track, moment in writes[start:end]:
        for stale in stale_acts(track, world):
            if stale.done.identity == moment.identity and (stale.owner.key, stale.unseen.at) in changed:
                verb, state = "created" if stale.created else "deleted", stale.matters or "had changed"
                owner = stale.owner.ref
                words = f"{verb} {track.ref.kind} {track.ref.name}, although {owner.kind} {owner.name} {state}"
                yield PastAct(track, moment, words, refused=False)
        owned = track.owner if moment.change is Change.CREATED else None
        gone = world.of_uid(owned.uid) if owned and (owned.group, owned.kind) == kind else None
        if gone and gone.ended and order_of(gone.ended, moment) is Verdict.EXACT:
            words = f"created {track.ref.kind} {track.ref.name} for {gone.ref.kind} {gone.ref.name}, which was gone"
            yield PastAct(track, moment, words, refused=False)


def _refused(process: str, since: int, unseen: Collection[Unseen], world: World) -> Iterator[PastAct]:
    """Yield refused writes: updates from a replaced revision, and creations of objects that existed."""
    for track, moment in unseen:
        for request in world.requests_of(track):
            actor = actor_of(request) if request.received >= since and request.code == 409 else None
            if actor and actor.process == process and _rests_on_the_past(request, moment):
                verb = "create" if request.verb == "create" else "update"
                words = f"tried to {verb} {track.ref.kind} {track.ref.name}, which was refused"
                yield PastAct(track, moment_of(request), words, refused=True)


def _rests_on_the_past(request: Request, change: Moment) -> bool:
    if request.verb == "create":
        return change.change is Change.CREATED
    newer = change.stamp.resource_version
    return request.named is not None and newer is not None and request.named < newer
