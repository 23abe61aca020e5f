"""This pure module lets rules use requests that changed nothing as proof, and relates them to changes of objects."""

from timeline.core.entries import Change, Clock, Entry, Request
from timeline.history.lifelines import Moment, Track


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
