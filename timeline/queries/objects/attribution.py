"""This module finds the track to which a stored entry belongs.

Entries are stored with a key, which is the number of their track. All entries of one name without UIDs share one key,
although they may belong to several tracks.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence

from django.db.models import F, Q

from timeline.core.entries import FOREVER, Change, Entry, microseconds
from timeline.core.order import SECOND
from timeline.history.lifelines import ANONYMOUS
from timeline.models import Track
from timeline.storage.entries.chunks import KEY, Stored


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
        return not observed and 0 < created <= until and entry.received < created + SECOND
    return min(start, created or start) <= until and (end is None or entry.received <= end)


def _creation(row: Track) -> tuple[int, bool]:
    """Return the creationTimestamp in microseconds, or 0, and whether an entry with the UID shows the creation."""
    facts = [each for *_, each in row.lifeline if each is not None]
    created = next((int(each["created"]) for each in facts if each.get("created")), 0)
    return created, bool(row.lifeline) and row.lifeline[0][2] == "created" and row.lifeline[0][1] is not None
