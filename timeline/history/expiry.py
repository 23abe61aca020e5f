"""This module says which tracks of a live source may be forgotten because they ended long ago. It is pure.

A track that ended stays known as long as another track is judged or placed by it.
"""

from collections.abc import Iterator
from itertools import pairwise

from timeline.history.lifelines import Key, Track, public_uid
from timeline.history.tracks import Tracks


def expired(tracks: Tracks, before: int, events: int) -> list[Track]:
    """Return the tracks that ended before a drawn time and that no track that stays needs.

    `before` and `events` are microseconds since 1970. `events` is the limit for Events about objects that do not exist
    any more; Events are so many that they may have to go earlier.
    """
    ended = ((track, events if _is_idle_event(tracks, track) else before) for track in tracks if track.until)
    expired = {track.key: track for track, limit in ended if (track.until or limit) < limit}
    waiting = list(expired.values())
    while waiting:
        track = waiting.pop()
        if track.key in expired and any(key not in expired for key in _needed_by(tracks, track)):
            del expired[track.key]
            waiting += _needs(tracks, track)
    return list(expired.values())


def _is_idle_event(tracks: Tracks, track: Track) -> bool:
    """Return whether a track is an Event, and the object that it is about does not exist any more."""
    about = (life for name in track.references() for life in tracks.lane(name))
    return track.ref.kind == "Event" and not any(life.until is None for life in about)


def _needed_by(tracks: Tracks, track: Track) -> Iterator[Key]:
    """Yield the keys of the tracks that need an ended track: its children, the tracks that refer to it, the Job that
    counts it, the tracks of its name (or of the Endpoints of its Service) that are known to be gone because this one
    was created or deleted, and the track before it in its lane if that is drawn to end before this one begins."""
    yield from tracks.index.children(public_uid(track.ref))
    yield from tracks.index.referrers(track.name)
    if track.owner and (owner := tracks.index.of_uid(track.owner.uid)) and owner.ref.kind == "Job":
        yield owner.key
    lane = tracks.lane(track.name)
    for before, after in pairwise(lane):
        if after is track and any(moment.latest for moment in before.moments):
            yield before.key
    alike = [*lane]
    if track.name[:2] == ("", "Service"):
        alike += tracks.lane(track.name._replace(kind="Endpoints"))
    yield from (other.key for other in alike if other.gone_by or not public_uid(other.ref))


def _needs(tracks: Tracks, track: Track) -> Iterator[Track]:
    """Yield the tracks that may have to stay because this one stays."""
    if track.owner and (owner := tracks.index.of_uid(track.owner.uid)):
        yield owner
    if track.ref.kind == "Job":
        yield from tracks.resolve(tracks.index.children(track.ref.uid))
    names = {track.name, *track.references()}
    if track.name[:2] == ("", "Endpoints"):
        names.add(track.name._replace(kind="Service"))
    for name in names:
        yield from tracks.lane(name)
