"""Join writes that an audit log shows without their content to the changes that a watch shows. It does no I/O.

A log of level Metadata says who wrote, when to the microsecond, and which revision an update named. A watch shows the
content and the revision of each change, and the second and the manager of most. Where only one write of the log can be
the one that made a change, both are one entry with everything that is known of it.

The changes of one object are in the order of their revisions, so each change that is joined also bounds the times of
those before and after it. A write that may have made one of several changes, or none, is joined to none of them.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from itertools import accumulate, islice, pairwise
from typing import NamedTuple

from msgspec.structs import replace

from timeline.core.entries import Change, Clock, Entry
from timeline.core.order import SECOND
from timeline.core.steps import MANY, Joined, Steps, by_time, is_bare, is_shown


class Life(NamedTuple):
    """The entries of one UID, or those of a name that belong to no UID."""

    entries: list[Entry]
    # Each of these writes made one of the changes among the entries, or changed nothing. Those without the UID may be
    # about another object of the name.
    unplaced: list[Entry]


def lives(groups: Iterable[list[Entry]], until: int = 0) -> list[Life]:
    """Return the entries of one name, in groups by UID, after joining those that show the same change.

    `until` is the time (µs since 1970) until which a watch shows every change of the name, 0 without one. Up to it, a
    write that is joined to no change is one of those that the watch shows, or changed nothing.
    """
    groups = list(groups)
    found = join(groups, until)
    taken = found.taken.union(id(write) for write in found.makers.values())
    own: dict[str, list[Entry]] = {}
    for entry in (each for group in groups for each in group if id(each) not in taken):
        if ref := found.placed.get(id(entry)):
            own.setdefault(ref.uid, []).append(replace(entry, ref=ref))
        else:
            own.setdefault(entry.ref.uid, []).append(one(entry, found.makers.get(id(entry))))
    return [Life(entries, found.unplaced.get(uid, [])) for uid, entries in own.items()]


def join(groups: Sequence[list[Entry]], until: int = 0) -> Joined:
    """Find out which writes made which changes of one name; the arguments are those of `lives`."""
    found = Joined({}, {}, {}, set(), {})
    writes = sorted((each for group in groups for each in group if is_bare(each)), key=by_time)
    if not writes:
        return found
    objects = [Steps(group) for group in groups if group[0].ref.uid and any(map(is_shown, group))]
    objects.sort(key=lambda each: each.first)
    created = _Spans((each, each.created, each.created + SECOND - 1) for each in objects)
    for write in writes:
        if write.change is Change.CREATED and (own := created.own(write)):
            own.writes.append(write)
            own.since = max(own.since, write.received)
            own.born_by = min(own.born_by, write.staged)
    for one_object, following in pairwise(objects):
        one_object.gone_by = min(one_object.gone_by, following.born_by)
    existed = _Spans((each, each.since, each.gone_by) for each in objects)
    for write in writes:
        if write.change is not Change.CREATED and (own := existed.own(write)):
            own.writes.append(write)
    taken = {id(write) for each in objects for write in each.writes}
    for write in writes:
        if id(write) not in taken and write.received <= until:
            spans = created if write.change is Change.CREATED else existed
            several = spans.possible(write)
            for each in several if len(several) <= MANY else ():
                found.unplaced.setdefault(each.uid, []).append(write)
                found.taken.add(id(write))
    for each in objects:
        each.join(found, until)
    return found


class _Spans:
    """Find the objects of a name that a write may be about, by the times (µs since 1970) between which each was
    written. Objects are in the order of their revisions, so few of them are looked at for each write."""

    def __init__(self, spans: Iterable[tuple[Steps, int, int]]) -> None:
        self._spans = list(spans)
        self._by_uid = {each.uid: each for each, *_ in self._spans}
        self._latest = list(accumulate((until for *_, until in self._spans), max))
        self._earliest = list(accumulate((since for _, since, _ in reversed(self._spans)), min))[::-1]

    def own(self, write: Entry) -> Steps | None:
        """Return the object that a write is about; None if that may be one of several, or one that no watch shows."""
        found = self.possible(write)
        return found[0] if len(found) == 1 else None

    def possible(self, write: Entry) -> list[Steps]:
        """Return the objects that a write may be about, at most one more than `MANY`."""
        if write.ref.uid:
            return [self._by_uid[write.ref.uid]] if write.ref.uid in self._by_uid else []
        near = range(bisect_left(self._latest, write.received), bisect_right(self._earliest, write.staged))
        spans = (self._spans[place] for place in near)
        found = (each for each, since, until in spans if since <= write.staged and write.received <= until)
        return list(islice(found, MANY + 1))


def one(change: Entry, write: Entry | None) -> Entry:
    """Return one entry for a change that a watch shows and the write of a log that made it, if that is known."""
    if write is None:
        return change
    return replace(
        change,
        change=Change.CREATED if write.change is Change.CREATED else change.change,
        clock=Clock.AUDIT,
        received=write.received,
        staged=write.staged,
        replaces=write.named,
        action=write.action,
        actor=write.actor,
        user_agent=write.user_agent,
        identity=write.identity,
        place=write.place,
        client=write.client,
        annotations=write.annotations,
    )


def in_order(entries: list[Entry]) -> list[Entry]:
    """Return the entries of one UID with what a watch showed when it began put after the writes before it."""
    bare = [each for each in entries if is_bare(each)] if entries[0].ref.uid else []
    shown = min((each for each in entries if is_shown(each)), key=lambda each: each.resource_version or 0, default=None)
    if not bare or shown is None or shown.change is not Change.OBSERVED:
        return entries
    before = max((each.received for each in bare if each.received < shown.received + SECOND), default=0)
    state = replace(shown, received=max(shown.received, before))
    return [state if each is shown else each for each in entries]
