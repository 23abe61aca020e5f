"""Let rules use requests that changed nothing as proof, and relate them to changes of objects. It does no I/O."""

from timeline.core.entries import FOREVER, Change, Clock, Entry, Request
from timeline.history.lifelines import Moment, Track
from timeline.history.world.world import World


def moment_of(request: Request) -> Moment:
    """Return a request in the form of the events that prove a finding. It is in no lifeline, because nothing changed.

    Its revision is the one that it named, or else the one that answered it.
    """
    revision = request.named if request.named is not None else request.answered
    entry = Entry(
        request.ref,
        Change.OBSERVED,
        revision,
        Clock.AUDIT,
        request.received,
        request.staged,
        action=request.action,
        actor=request.actor,
        user_agent=request.user_agent,
        identity=request.identity,
        place=request.place,
        client=request.client,
    )
    return Moment(request.received, None, entry, (request.received, revision or 0))


def refused_as_old(request: Request) -> bool:
    """Return whether a write was refused because the revision of its object that it named was not the newest.

    A server-side apply, which always names its field manager, is also refused where other managers own its fields.
    """
    conflict = request.code == 409 and request.reason in ("", "Conflict")
    return conflict and (request.verb == "update" or (request.verb == "patch" and not request.applied))


class Explaining:
    """Say quickly which refused writes a track surely does not explain. A name may have thousands of tracks and of
    refused writes that name no UID, and each of these may be about each of the tracks."""

    def __init__(self, track: Track, world: World) -> None:
        self._revisions = {
            revision
            for each in track.moments
            for revision in (each.replaces, each.entry.named, each.entry.resource_version)
        }
        moments = (*track.moments, *world.writes_without_uid(track))
        written = [each for each in moments if each.change is not Change.OBSERVED and each.clock is Clock.AUDIT]
        last = max(written, key=lambda each: (each.entry.staged, each.at), default=None)
        self._first = min((each.entry.staged for each in written), default=FOREVER)
        self._over = last.entry.staged if last and last.change is Change.DELETED else FOREVER

    def may(self, request: Request) -> bool:
        """Return whether `replaced_by` or `overtaken_by` may find a write that explains why a request was refused."""
        if request.named is not None and request.named in self._revisions:
            return True
        return self._first < request.received <= self._over


def overtaken_by(track: Track, request: Request, world: World) -> Moment | None:
    """Return the last write of an object before a refused one, if no other write can explain that it was refused.

    Then the revision that the refused write named had been replaced at the latest by this write. None if there was
    another write while the request was under way, or if a write may be missing. A log without bodies does not show the
    UID of what was patched, so all such writes of the name count.
    """
    moments = [
        each for each in (*track.moments, *world.writes_without_uid(track)) if each.change is not Change.OBSERVED
    ]
    before = [each for each in moments if _answered(each, request)]
    last = max(before, key=lambda each: (each.entry.staged, each.at), default=None)
    own = last.stamp.resource_version if last else None
    if last is None or last.change is Change.DELETED or (own and request.named and request.named >= own):
        return None  # the object was created again, or a write is missing that replaced this revision
    for each in moments:
        earliest, latest = each.committed
        if not _answered(each, request) and earliest <= request.staged and (latest or FOREVER) > last.entry.staged:
            return None
    group, kind, namespace, _ = track.name
    return last if world.complete(group, kind, last.time, request.staged, namespace) else None


def _answered(write: Moment, request: Request) -> bool:
    """Return whether the API server had surely answered a write before it received a request."""
    return write.clock is Clock.AUDIT and write.entry.staged < request.received


def replaced_by(track: Track, revision: int) -> Moment | None:
    """Return the change by which a revision of an object surely was replaced: the first known one after it.

    None if the track does not show the revision, or nothing after it.
    """
    known = False
    for moment in track.moments:
        own = moment.stamp.resource_version
        if revision in (moment.replaces, moment.entry.named) or (own is not None and own > revision and known):
            return moment
        known = known or own == revision
    return None
