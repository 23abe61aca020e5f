"""Decide which tracks of a live source may be forgotten because they ended long ago. It does no I/O.

A track is kept, however old, while another track that is kept needs it to be judged or drawn correctly.
"""

from collections.abc import Iterator
from itertools import pairwise

from timeline.history.lifelines import Key, Track, public_uid
from timeline.history.world.tracks import Tracks


def expired(tracks: Tracks, before: int, events: int) -> list[Track]:
    """Return the tracks that ended before a drawn time, without those that a remaining track needs.

    `before` and `events` are microseconds since 1970. `events` is the limit for Events about objects that no longer
    exist: there are so many Events that they may have to be forgotten earlier.
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
    """Return whether a track is an Event about an object that no longer exists."""
    about = (other for name in track.references() for other in tracks.incarnations(name))
    return track.ref.kind == "Event" and not any(other.until is None for other in about)


def _needed_by(tracks: Tracks, track: Track) -> Iterator[Key]:
    """Yield the keys of the tracks that need this ended track.

    These are its children; the tracks that refer to it; the Job that counts it; the tracks of its name (or of the
    Endpoints of its Service) whose end is only known because this one was created or deleted; and the track before it
    in its lane, if that one is drawn to end before this one begins.
    """
    yield from (child.key for child in tracks.children(public_uid(track.ref)))
    yield from (each.key for each in tracks.referrers(track.name))
    if track.owner and (owner := tracks.of_uid(track.owner.uid)) and owner.ref.kind == "Job":
        yield owner.key
    lane = tracks.incarnations(track.name)
    for before, after in pairwise(lane):
        if after is track and any(moment.latest for moment in before.moments):
            yield before.key
    alike = [*lane]
    if track.name[:2] == ("", "Service"):
        alike += tracks.incarnations(track.name._replace(kind="Endpoints"))
    yield from (other.key for other in alike if other.gone_by or not public_uid(other.ref))


def _needs(tracks: Tracks, track: Track) -> Iterator[Track]:
    """Yield the tracks that may have to be kept because this one is kept."""
    if track.owner and (owner := tracks.of_uid(track.owner.uid)):
        yield owner
    if track.ref.kind == "Job":
        yield from tracks.children(track.ref.uid)
    names = {track.name, *track.references()}
    if track.name[:2] == ("", "Endpoints"):
        names.add(track.name._replace(kind="Service"))
    for name in names:
        yield from tracks.incarnations(name)
