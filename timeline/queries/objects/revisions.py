"""Read the changes of one object in commit order."""

from collections.abc import Collection, Sequence
from itertools import islice
from typing import NamedTuple

import msgspec

from timeline.core import joining
from timeline.core.entries import Change, Clock, Entry
from timeline.core.steps import is_bare
from timeline.models import Track
from timeline.payloads.objects import Attribution, LifePayload
from timeline.queries.objects.attribution import (
    anonymous,
    as_changes,
    as_created,
    beside,
    corrected,
    is_drawn,
    key_of,
    life_of,
    unnamed_entries,
)
from timeline.queries.objects.lives import life
from timeline.storage.entries import chunks
from timeline.storage.entries.chunks import Part, Stored

PAGE = 25
_ENDS = {"created": -1, "deleted": 1}  # a UID is created once and deleted once, whatever the clocks say
_CHUNKS = 2  # that are read for the last change
_BEFORE = 100  # the number of changes before a page among which a body is sought


class Revision(NamedTuple):
    """One change of an object, with the last body that was observed before it."""

    sequence: int
    time: int  # the drawn time, in microseconds since 1970
    entry: Entry
    before: bytes  # that last body, as JSON; empty if there is none
    compared: int | None  # the sequence number of the entry with that body
    between: int  # the number of changes without a body between that body and this change
    seen: int  # how many observations show this change
    attribution: Attribution  # see `RevisionPayload`
    writes: list[Entry]  # if it is not known who made it: the writes of a log that may have


class RevisionPage(NamedTuple):
    revisions: list[Revision]
    offset: int  # the index of the first of these among all changes
    next: int | None  # the offset of the page after this one
    total: int
    parts: int = 1  # into how many parts the changes are divided: only those of one part are put in order together


class ChangeInPlace(NamedTuple):
    """One change of an object, with its place among all of them."""

    life: LifePayload
    revision: Revision
    number: int  # from 1
    total: int
    earlier: int | None  # the sequence number of the change before it
    later: int | None


class _Change(NamedTuple):
    time: int  # the drawn time, in microseconds since 1970
    seen: list[Stored]  # the observations of this change


class _Belonging(NamedTuple):
    """The stored entries of one track, or of one part of them. Some may belong to it only by their time."""

    entries: list[Stored]
    by_time: dict[int, bool]  # by sequence number of such an entry: whether it surely belongs to the track
    # Writes of a log without content, by the sequence number of what a watch shows: that which made the change, and
    # those that may have made it.
    makers: dict[int, Stored]
    possible: dict[int, list[Entry]]

    def attribution(self, change: _Change) -> Attribution:
        makers = {each.sequence for each in self.makers.values()}
        known = [self.by_time.get(each.sequence) for each in change.seen if each.sequence not in makers]
        return "uid" if None in known else "time" if all(known) else "possible"


def revisions(source_id: int, track_id: int, offset: int = 0, limit: int = PAGE, at: int | None = None) -> RevisionPage:
    """Return a page of the changes of a track; with `at`, the page with the last change up to this drawn time, in
    microseconds since 1970. Raises Track.DoesNotExist."""
    row = Track.objects.get(source=source_id, source__delete_after=None, id=track_id)
    parts = _parts(row)
    if at is not None:
        part = _part_at(parts, at)
    else:
        part = next((each for each in reversed(parts) if each.before <= offset), parts[0])
    belonging, changes, first = _changes(row, parts, part)
    own = len(changes) - first
    if at is not None:
        place = sum(each.time <= at for each in changes[first:])
        within = max(0, place - 1) // limit * limit
    else:
        within = min(offset - part.before, max(0, own - 1))
    read = _read(row, belonging, changes, first + within, limit)
    following = part.before + within + len(read) if within + len(read) < own else None
    if following is None and part is not parts[-1]:
        following = part.before + part.entries
    return RevisionPage(read, part.before + within, following, _total(parts, own), len(parts))


def change_in_place(
    source_id: int, track_id: int, *, sequence: int | None = None, at: int = 0, revision: int | None = None
) -> ChangeInPlace | None:
    """Return the change of a track with this sequence number.

    Without one, return the change with this revision, or else the one that is drawn nearest to a time (µs since 1970),
    the first of several. Return None if there is no such change. Raises Track.DoesNotExist.
    """
    row = Track.objects.get(source=source_id, source__delete_after=None, id=track_id)
    parts = _parts(row)
    time = _drawn(row).get(str(revision), at)
    part = _part_at(parts, time) if sequence is None else _part_of(parts, sequence)
    belonging, changes, first = _changes(row, parts, part)
    numbers = [{each.sequence for each in change.seen} for change in changes]
    if sequence is not None:
        place = next((place for place, known in enumerate(numbers) if sequence in known), None)
    else:
        named = (place for place, each in enumerate(changes) if revision and _revision(each.seen[0]) == revision)
        nearest = min(range(len(changes)), key=lambda place: abs(changes[place].time - at), default=None)
        place = next(named, nearest)
    if place is None:
        return None
    (shown,) = _read(row, belonging, changes, place, 1)
    earlier = min(numbers[place - 1]) if place else None
    later = min(numbers[place + 1]) if place + 1 < len(changes) else _after(parts, part)
    number = max(1, part.before + place - first + 1)
    return ChangeInPlace(life(row, source_id), shown, number, _total(parts, len(changes) - first), earlier, later)


class Latest(NamedTuple):
    """The last change of an object, and the last body that was observed of it."""

    time: int  # the drawn time of the change, in microseconds since 1970
    sequence: int
    entry: Entry  # the observation of the change that says who made it, if one does; without its body
    body: bytes  # as JSON; empty if none of the last changes has one
    observed: int  # the drawn time of the change that this body shows


def latest(row: Track) -> Latest | None:
    """Return the last change of a track; None if no change of it is stored."""
    newest = _newest(row)
    if newest is None:
        parts = _parts(row)
        changes = _changes(row, parts, parts[-1])[1]
    else:
        changes = _in_order(newest, _drawn(row))
    if not changes:
        return None
    if newest is None:
        bodies = _bodies(row, changes[-_BEFORE:])
    else:
        bodies = {each.sequence: each.entry.body for each in newest if each.entry.body}
    shown = next((each for each in reversed(changes[-_BEFORE:]) if _body(each, bodies)), None)
    last = changes[-1]
    written = max(last.seen, key=lambda each: (each.entry.actor != "", each.entry.user_agent != ""))
    entry = msgspec.structs.replace(written.entry, body=b"")
    body, observed = (_body(shown, bodies), shown.time) if shown else (b"", 0)
    return Latest(last.time, written.sequence, entry, body, observed)


def _newest(row: Track) -> list[Stored] | None:
    """Return the entries of a track that were stored last, if its last change and its last body are surely among them.

    An object may have hundreds of thousands of changes, so all of them are read only if this returns None.
    """
    if row.unnamed or any(anonymous(each) for each in _of_name(row)):
        return None
    entries = list(chunks.newest(row.source_id, {key_of(row.id)}, most=_CHUNKS))
    shown: dict[str, bool] = {}  # whether there is a body, by revision
    for each in entries:
        revision = str(each.entry.resource_version or "")
        shown[revision] = shown.get(revision, False) or bool(each.entry.body)
    for _, revision, *_ in reversed(row.lifeline):
        if not revision or revision not in shown:
            return None
        if shown[revision]:
            return entries
    return None


def _read(row: Track, belonging: _Belonging, changes: list[_Change], offset: int, limit: int) -> list[Revision]:
    """Return some of the changes of a track, with the bodies that are compared; fewer than `limit` if these are
    large."""
    shown = changes[offset : offset + limit]
    earlier = changes[max(0, offset - _BEFORE) : offset]
    bodies = _bodies(row, [*earlier, *shown])
    known = next((at for at in reversed(range(len(earlier))) if _body(earlier[at], bodies)), None)
    before = b"" if known is None else _body(earlier[known], bodies)
    compared = None if known is None else _with_body(earlier[known], bodies)
    between = 0 if known is None else len(earlier) - known - 1
    found: list[Revision] = []
    size = 0
    for change in shown:
        if size > chunks.BODIES:
            break
        maker = next(filter(None, (belonging.makers.get(each.sequence) for each in change.seen)), None)
        shown_by = [each for each in change.seen if each is not maker]
        best = max(shown_by, key=lambda each: (each.sequence in bodies, each.entry.clock is Clock.AUDIT))
        body = bodies.get(best.sequence, b"")
        size += len(body)
        entry = msgspec.structs.replace(best.entry, body=body)
        attribution = belonging.attribution(change)
        if maker:
            entry = joining.one(entry, maker.entry)
        elif entry.change in (Change.CREATED, Change.OBSERVED) and entry.clock is Clock.OBJECT:
            entry = as_created(entry, row)
        writes = [] if entry.clock is Clock.AUDIT else belonging.possible.get(best.sequence, [])
        seen = len(change.seen)
        found.append(Revision(best.sequence, change.time, entry, before, compared, between, seen, attribution, writes))
        if body:
            before, compared, between = body, best.sequence, 0
        else:
            between += bool(before)
    return found


def revision(source_id: int, track_id: int, sequence: int) -> Entry | None:
    """Return the change with this sequence number, with its body; None if it is not a change of this track.

    Raises Track.DoesNotExist.
    """
    row = Track.objects.get(source=source_id, source__delete_after=None, id=track_id)
    keys = {key_of(each.id) for each in _of_name(row)}.union(row.unnamed)
    found = next(iter(islice(chunks.entries(source_id, keys, after=sequence - 1), 1)), None)
    if found is None or found.sequence != sequence:
        return None
    part = _part_of(_parts(row), sequence)
    return found.entry if any(each.sequence == sequence for each in _belonging(row, part).entries) else None


def _of_name(row: Track) -> list[Track]:
    """Return all incarnations of the name of a track, in the order in which they began."""
    return list(Track.objects.filter(source=row.source_id, lane=row.lane).order_by("life", "id"))


def _keys(row: Track, unnamed: Sequence[Track]) -> set[int]:
    """Return the keys of the entries that may belong to a track. `unnamed` are the tracks of its name without a UID."""
    return {key_of(each.id) for each in (row, *unnamed)}.union(row.unnamed)


def _parts(row: Track) -> list[Part]:
    """Return the parts of the entries that may belong to a track. Only one part is read for one answer: an object may
    have hundreds of thousands of changes, or gigabytes of them."""
    return chunks.parts(row.source_id, _keys(row, [each for each in _of_name(row) if anonymous(each)]))


def _part_of(parts: list[Part], sequence: int) -> Part:
    return next((each for each in reversed(parts) if each.low <= sequence), parts[0])


def _part_at(parts: list[Part], time: int) -> Part:
    return next((each for each in reversed(parts) if each.start <= time), parts[0])


def _after(parts: list[Part], part: Part) -> int | None:
    """Return the sequence number of the first entry after a part."""
    return next((each.low for each in parts if each.low > part.high), None)


def _total(parts: list[Part], changes: int) -> int:
    """Return how many changes a track has. If not all are put in order together, each observation counts."""
    return changes if len(parts) == 1 else sum(each.entries for each in parts)


def _changes(row: Track, parts: list[Part], part: Part) -> tuple[_Belonging, list[_Change], int]:
    """Return the changes of a part in commit order, after the last one of the part before, with which the first one is
    compared; and how many of them are of the part before."""
    last = max((each.high for each in parts if each.high < part.low), default=part.low)
    belonging = _belonging(row, part._replace(low=last))
    sure = {sequence for sequence, is_sure in belonging.by_time.items() if is_sure}
    changes = _in_order(belonging.entries, _drawn(row), sure)
    for change in changes:
        change.seen.extend(
            [belonging.makers[each.sequence] for each in change.seen if each.sequence in belonging.makers]
        )
    own = (at for at, each in enumerate(changes) if any(seen.sequence >= part.low for seen in each.seen))
    return belonging, changes, next(own, len(changes))


def _belonging(row: Track, part: Part) -> _Belonging:
    """Return the entries of a track in a part: those with its UID, and those without a UID that may belong to it.

    If no observation of the track has a UID, these are the entries of its key that belong to no other such track.
    """
    lives = _of_name(row)
    unnamed = [each for each in lives if anonymous(each)]
    keys = _keys(row, unnamed)
    read = chunks.entries(row.source_id, keys, after=part.low - 1, until=part.high, bodies=False)
    entries = corrected(row.source_id, read)
    if anonymous(row):
        return _Belonging([each for each in entries if life_of(each.entry, unnamed) == row], {}, {}, {})
    own = [each for each in entries if each.key == key_of(row.id)]
    others = [each for each in lives if each.id != row.id and not anonymous(each)]
    nameless = [each for each in entries if each.key != key_of(row.id)]
    by_time = unnamed_entries(row, nameless, others)
    near = [] if all(by_time.values()) else beside(row, [each for each in lives if not anonymous(each)])
    return _joined(row, own, [each for each in nameless if near or each.sequence in by_time], by_time, near)


def _joined(
    row: Track, own: list[Stored], writes: list[Stored], by_time: dict[int, bool], near: Sequence[list[Entry]] = ()
) -> _Belonging:
    """Return the entries of a track, in which a write of a log without content is one with the change that it made.
    `near` are entries of other tracks of its name, which some of the writes may have made.

    If it is not known which change such a write made, it is a change of its own if the lifeline has it, or if it has a
    track of its own. Otherwise it is one of those that a watch shows, or it changed nothing.
    """
    changes = as_changes(own)
    groups = [[entry for entry, _ in changes], *near, [each.entry for each in writes]]
    found = joining.join([group for group in groups if group])
    stored = {id(entry): first for entry, first in changes} | {id(each.entry): each for each in writes}
    made = [(stored.get(change), stored.get(id(write))) for change, write in found.makers.items()]
    makers = {change.sequence: write for change, write in made if change and write}
    possible = {stored[change].sequence: each for change, each in found.possible.items() if change in stored}
    taken = {write.sequence for _, write in made if write}
    entries = [
        each
        for each in (*own, *(each for each in writes if each.sequence in by_time))
        if each.sequence not in taken and (not row.unnamed or not is_bare(each.entry) or is_drawn(each.entry, row))
    ]
    return _Belonging(entries, by_time, makers, possible)


def _drawn(row: Track) -> dict[str, int]:
    """Return the drawn times of the changes of a track by revision; that of a deletion without a revision by ""."""
    return {revision or "": time for time, revision, change, *_ in row.lifeline if revision or change == "deleted"}


def _in_order(entries: list[Stored], drawn: dict[str, int], sure: Collection[int] = ()) -> list[_Change]:
    """Return the changes that these entries show, in commit order. Observations of one revision are one change.

    `drawn` has drawn times by revision, as `_drawn` returns them, and `sure` the sequence numbers of entries without a
    UID that surely are of this object.
    """
    times: dict[int, int] = {}
    numbered = sorted((each for each in entries if each.entry.resource_version is not None), key=_revision)
    latest = 0
    for each in numbered:
        latest = times[each.sequence] = drawn.get(str(_revision(each)), max(latest, each.entry.received))
    for each in reversed(numbered):  # a clock that is ahead must not draw a change after those that follow it
        latest = times[each.sequence] = min(latest, times[each.sequence])

    def time(each: Stored) -> int:
        known = drawn.get("") if each.entry.change is Change.DELETED else None
        return times.get(each.sequence, known or each.entry.received)

    def place(each: Stored) -> tuple[int, int, int, int, int]:
        end = _ENDS.get(each.entry.change, 0) if each.entry.ref.uid or each.sequence in sure else 0
        return end, time(each), _revision(each), each.entry.staged, each.sequence

    changes: list[_Change] = []
    for each in sorted(entries, key=place):
        own = each.entry.resource_version
        if changes and own is not None and changes[-1].seen[0].entry.resource_version == own:
            changes[-1].seen.append(each)
        else:
            changes.append(_Change(max(time(each), changes[-1].time if changes else 0), [each]))
    return changes


def _revision(each: Stored) -> int:
    return each.entry.resource_version or 0


def _bodies(row: Track, changes: Sequence[_Change]) -> dict[int, bytes]:
    """Return the bodies of these changes, by the sequence number of their entries."""
    wanted = {each.sequence for change in changes for each in change.seen}
    if not wanted:
        return {}
    found = {}
    keys = {each.key for change in changes for each in change.seen}
    for each in chunks.entries(row.source_id, keys, after=min(wanted) - 1):
        if each.sequence > max(wanted):
            break
        if each.sequence in wanted and each.entry.body:
            found[each.sequence] = each.entry.body
    return found


def _body(change: _Change, bodies: dict[int, bytes]) -> bytes:
    sequence = _with_body(change, bodies)
    return b"" if sequence is None else bodies[sequence]


def _with_body(change: _Change, bodies: dict[int, bytes]) -> int | None:
    """Return the sequence number of the first entry of a change that has a body."""
    return next((each.sequence for each in change.seen if each.sequence in bodies), None)
