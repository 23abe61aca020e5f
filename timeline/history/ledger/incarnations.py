"""Divide the entries of one name into its incarnations, each a track in commit order. It does no I/O."""

from collections.abc import Mapping
from types import MappingProxyType

from msgspec.structs import replace

from timeline.core.entries import Change, Clock, Entry, Facts
from timeline.core.order import SECOND, CommitClock
from timeline.history.lifelines import ANONYMOUS, Moment, Name, Track
from timeline.kinds import kind_of

Timed = tuple[int, Entry]  # an entry with its drawn time, in microseconds since 1970


def incarnations_of(
    name: Name,
    groups: list[list[Entry]],
    clock: CommitClock,
    space: str,
    unplaced: Mapping[str, list[Entry]] = MappingProxyType({}),
) -> list[Track]:
    """Return the tracks of one name, in the order in which they began.

    Each group holds the entries of one UID. Entries without a UID are one group, which is divided into incarnations at
    creations and deletions. `clock` is the commit clock of `space`, the counter of the revisions. `unplaced` are the
    writes that made an unknown one of the changes of a UID (see `Track.unplaced`), by UID.
    """
    lives: list[list[Timed]] = []
    for entries in groups:
        timed = _timed(entries, clock)
        if entries[0].ref.uid:
            lives.append(timed)
            continue
        for each in timed:
            open_life = lives and not lives[-1][-1][1].ref.uid and lives[-1][-1][1].change is not Change.DELETED
            if each[1].change is Change.CREATED or not open_life:
                lives.append([each])
            else:
                lives[-1].append(each)
    if len(lives) > 1:
        lives.sort(key=lambda timed: (timed[0][0], timed[0][1].resource_version or 0, timed[0][1].ref.uid))
    tracks = _apart([_track(name, number, timed, space, clock) for number, timed in enumerate(lives, 1)])
    for track in tracks:
        if left := unplaced.get(track.ref.uid):
            track.unplaced = _moments(name, _timed(left, clock), space, clock)
    return tracks


def track_of(name: Name, entries: list[Entry], clock: CommitClock, space: str) -> Track:
    """Return the track of one UID, as if there were no other incarnation of its name."""
    return _track(name, 1, _timed(entries, clock), space, clock)


def continued(track: Track, entries: list[Entry], clock: CommitClock, space: str) -> Track | None:
    """Return a track of one UID, as `track_of` returned it, with further entries at its end. Return None if they do not
    all follow it, so that it has to be built anew."""
    timed = _timed(entries, clock)
    if track.ended or _position(timed[0]) <= _position((track.last.time, track.last.entry)):
        return None
    moments = _moments(track.name, timed, space, clock, track.last)
    owner = track.owner or next((entry.owner for entry in entries if entry.owner), None)
    return Track(track.ref, track.name, owner, track.moments + moments)


def together(tracks: list[Track]) -> list[Track]:
    """Return the tracks of one name, each with a UID and as `track_of` returned it, in the order in which they began
    and drawn so that they do not overlap."""
    return _apart(sorted(tracks, key=lambda track: (track.first.time, _revision(track), track.ref.uid)))


def _timed(entries: list[Entry], clock: CommitClock) -> list[Timed]:
    """Return the entries of one group in order, each with its drawn time."""
    drawn = clock.drawn
    timed = [
        (drawn(entry.resource_version, entry.near, entry.staged, entry.undated), entry)
        if entry.arrived
        else (drawn(entry.resource_version, entry.received, entry.staged), entry)
        for entry in entries
    ]
    if len(timed) > 1:
        timed.sort(key=_position)
    return timed


def _position(timed: Timed) -> tuple[int, int, int, int, str, str]:
    """Return the sort key of an entry among those of one group."""
    drawn, entry = timed
    return (
        _end(entry) if entry.ref.uid else 0,
        drawn,
        entry.resource_version or 0,
        entry.staged,
        entry.identity,
        entry.change,
    )


def _end(entry: Entry) -> int:
    """Return -1 for the creation of a UID, 1 for its deletion and 0 for other changes, to sort these first and last.

    A UID is created once and deleted once, whatever the clocks say. A creation in a watch does not count, since a watch
    that begins shows existing objects as if they were new.
    """
    if entry.change is Change.CREATED and entry.clock is Clock.AUDIT:
        return -1
    return int(entry.change is Change.DELETED)


def _track(name: Name, number: int, timed: list[Timed], space: str, clock: CommitClock) -> Track:
    owner = next((entry.owner for _, entry in timed if entry.owner), None)
    moments = _moments(name, timed, space, clock)
    ref = timed[0][1].ref
    if not ref.uid:  # the made-up UID is stable, and gives each incarnation a key of its own
        ref = replace(ref, uid=f"{ANONYMOUS}{number}")
    return Track(ref, name, owner, moments)


def _moments(
    name: Name, timed: list[Timed], space: str, clock: CommitClock, before: Moment | None = None
) -> list[Moment]:
    """Return the moments of these entries, which follow `before` if it is given."""
    moments: list[Moment] = []
    facts: Facts | None = before.facts if before else None
    latest = before.time if before else 0
    for time, entry in timed:
        if entry.facts is not None:
            if facts != entry.facts:
                facts = entry.facts
        elif facts is None:
            facts = kind_of(name.group, name.kind).facts_type()
        if entry.sets:
            facts = replace(facts, **dict(entry.sets))
        if time > latest:
            latest = time
        earliest = clock.drawn(entry.resource_version, entry.received, entry.staged) - SECOND if entry.undated else 0
        moments.append(Moment(latest, facts, entry, (latest, entry.resource_version or 0), space, earliest))
    return moments


def _apart(tracks: list[Track]) -> list[Track]:
    """Return the tracks of one name, drawn so that they do not overlap.

    Of some deletions only the arrival at the watch is known. Such a deletion is drawn no later than the beginning of
    the next track.
    """
    if len(tracks) < 2 or any(track.first.entry.resource_version is None for track in tracks):
        return tracks
    tracks = sorted(tracks, key=_revision)
    for at in range(len(tracks) - 2, -1, -1):
        tracks[at] = _ended_before(tracks[at], tracks[at + 1].first)
    return sorted(tracks, key=lambda track: (track.first.time, _revision(track), track.ref.uid))


def _revision(track: Track) -> int:
    return track.first.entry.resource_version or 0


def _ended_before(track: Track, begun: Moment) -> Track:
    """Return the track with its deletion drawn no later than `begun`, the first moment of the next track, as far as the
    clocks allow; unchanged if its deletion was not observed."""
    last = track.last.entry.resource_version
    if not track.ended or track.last.time <= begun.time or last is None or last >= begun.at[1]:
        return track
    latest = max(begun.time, begun.committed[1] or begun.time)
    moments: list[Moment] = []
    drawn = 0
    for moment in track.moments:
        if moment.entry.undated and moment.time > begun.time:
            time = max(drawn, begun.time, moment.entry.received)
            place = time, moment.at[1]
            moment = replace(moment, time=time, at=place, latest=max(time, min(moment.time, latest)))
        drawn = moment.time
        moments.append(moment)
    ended = Track(track.ref, track.name, track.owner, moments)
    ended.unplaced = track.unplaced
    return ended
