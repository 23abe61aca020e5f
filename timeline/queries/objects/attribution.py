"""Find the track to which a stored entry belongs.

Entries are stored with a key, which is the number of their track. All entries of one name without UIDs share one key,
although they may belong to several tracks.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import reduce

from django.db.models import F, Q
from msgspec.structs import replace

from timeline.core.entries import FOREVER, Change, Clock, Entry, microseconds
from timeline.core.observations import identity, merged
from timeline.core.order import SECOND
from timeline.core.steps import is_bare
from timeline.history.ledger import clocks
from timeline.history.lifelines import ANONYMOUS
from timeline.models import Source, Track
from timeline.storage.entries import chunks
from timeline.storage.entries.chunks import KEY, Stored

_WITH_WRITER = 6  # the length of a row of a lifeline that has the writer; older ones have none


def key_of(track_id: int) -> int:
    """Return the key of the entries of a track."""
    return track_id & KEY


def lives_by_key(source_id: int, keys: Collection[int]) -> Mapping[int, list[Track]]:
    """Return the tracks to which entries with these keys may belong, by key and in the order in which they began."""
    of_source = Track.objects.filter(source=source_id).defer("lifeline").order_by("life", "id")
    rows = of_source.annotate(key=F("id").bitand(KEY))
    found: dict[int, list[Track]] = {}
    for row in rows.filter(Q(id__in=keys) | Q(id__gt=KEY), key__in=keys):
        found.setdefault(key_of(row.id), []).append(row)
    if left := [key for key in keys if key not in found]:
        for life in of_source.filter(unnamed__overlap=left):
            for key in life.unnamed:
                found.setdefault(key, []).append(life)
    return found


def life_of(entry: Entry, lives: Sequence[Track]) -> Track | None:
    """Return the track to which an entry belongs: of the tracks of its key, the one that existed then, or the nearest.

    At a time at which one track ends and the next begins, a creation belongs to the later one. Return None if there are
    no tracks, because retention has deleted them.
    """
    if not lives:
        return None
    ordered = reversed(lives) if entry.change is Change.CREATED else lives
    return min(ordered, key=lambda life: _away(life, entry.received))


def unnamed_entries(row: Track, entries: Iterable[Stored], others: Sequence[Track]) -> dict[int, bool]:
    """Return which of these entries without a UID may be changes of a track with one, by sequence number, and whether
    that is sure.

    It is sure if none of `others`, the other tracks of the name with a UID, can have existed at that time.
    """
    found = {}
    for each in entries:
        if _may_be(each.entry, row):
            found[each.sequence] = not any(_may_be(each.entry, other) for other in others)
    return found


def anonymous(row: Track) -> bool:
    """Return whether no observation of this track has a UID."""
    return row.uid.startswith(ANONYMOUS)


def _away(life: Track, time: int) -> int:
    start, end = microseconds(life.life.lower), life.life.upper and microseconds(life.life.upper)
    return max(start - time, time - end if end is not None else 0, 0)


def _may_be(entry: Entry, row: Track) -> bool:
    """Return whether an entry may have been committed while the object of a track existed, from its creationTimestamp
    on."""
    start, end = microseconds(row.life.lower), row.life.upper and microseconds(row.life.upper)
    created, observed = _creation(row)
    until = entry.received + SECOND if entry.staged == FOREVER else entry.staged
    if entry.change is Change.CREATED:
        joined = bool(row.unnamed) and is_bare(entry)  # it may have made the creation that the watch shows
        return (joined or not observed) and 0 < created <= until and entry.received < created + SECOND
    return min(start, created or start) <= until and (end is None or entry.received <= end)


def _creation(row: Track) -> tuple[int, bool]:
    """Return the creationTimestamp in microseconds, or 0, and whether an entry with the UID shows the creation."""
    facts = [each for *_, each in row.lifeline if each is not None]
    created = next((int(each["created"]) for each in facts if each.get("created")), 0)
    return created, bool(row.lifeline) and row.lifeline[0][2] == "created" and row.lifeline[0][1] is not None


def corrected(source_id: int, entries: Iterable[Stored]) -> list[Stored]:
    """Return entries with the times at which the timeline draws those of audit logs: by the clock that most API servers
    share, and not by the clock of the one that wrote each file."""
    found = Source.objects.values_list("document__offsets", flat=True).get(pk=source_id)
    offsets: dict[str, int] = found or {}
    if not offsets:
        return list(entries)
    return [
        each._replace(entry=clocks.corrected(each.entry, offsets)) if each.entry.clock is Clock.AUDIT else each
        for each in entries
    ]


def as_changes(entries: Iterable[Stored]) -> list[tuple[Entry, Stored]]:
    """Return each change that entries of one UID show, as one entry, with the first entry that shows it."""
    found: dict[object, list[Stored]] = {}
    for each in entries:
        found.setdefault(identity(each.entry), []).append(each)
    return [(reduce(merged, (each.entry for each in seen)), seen[0]) for seen in found.values()]


def beside(row: Track, lives: list[Track]) -> list[list[Entry]]:
    """Return the last entries of the track before a track, and the first of the one after it: a write at that time may
    be one of theirs. `lives` are the tracks of its name that have a UID, in order."""
    place = next(at for at, each in enumerate(lives) if each.id == row.id)
    found = []
    for at, nearest in ((place - 1, -1), (place + 1, 0)):
        if 0 <= at < len(lives) and (parts := chunks.parts(row.source_id, keys := {key_of(lives[at].id)})):
            part = parts[nearest]
            entries = chunks.entries(row.source_id, keys, after=part.low - 1, until=part.high, bodies=False)
            found.append(corrected(row.source_id, entries))
    return [[each.entry for each in entries] for entries in found]


def is_drawn(write: Entry, row: Track) -> bool:
    """Return whether a write without a revision is among the moments of a track."""
    return any(
        (change, action) == (write.change.value, write.action) and write.received <= time
        for time, revision, change, action, *_ in row.lifeline
        if not revision
    )


def as_created(entry: Entry, row: Track) -> Entry:
    """Return the creation that a watch shows with who requested it and when, where the lifeline knows that from a log
    which does not name the object (see `timeline.history.ledger.unnamed`)."""
    first = row.lifeline[0]
    if entry.change is Change.OBSERVED and first[1:3] != [str(entry.resource_version), Change.CREATED.value]:
        return entry
    entry = replace(entry, change=Change.CREATED)
    if len(first) < _WITH_WRITER or first[4][1] is None or first[5] in ("", entry.writer):
        return entry
    times = {"received": first[0] - first[4][0], "staged": first[0] + first[4][1]}
    return replace(entry, actor=first[5], clock=Clock.AUDIT, **times)
