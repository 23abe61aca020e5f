"""Keep the objects of a ledger that has more entries than memory should hold. Only those used last are in memory; all
others are in a temporary file.

An object that is asked for comes back from the file as it was, so a ledger knows the same with any number of objects in
memory. An object with many entries is in the file in parts: a new entry begins another part, and a line that is
repeated is compared with the part that has it; the others need not be read. Otherwise, objects that are written all the
time, such as Leases, would be read and written whole for each entry.
"""

from array import array
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping

from timeline.core.machine.spill import Spilling
from timeline.history.digests import Digests, digest
from timeline.history.ledger.object_entries import ObjectEntries
from timeline.history.ledger.objects import ObjectKey, Objects
from timeline.history.lifelines import Name
from timeline.history.seen import GroupKind, Seen

_LONG = 32  # entries; an object that leaves memory with so many is kept in parts


class _Parts:
    """An object whose entries are in the file in parts: all of them, or all but the latest."""

    __slots__ = ("_changes", "is_folded", "number", "places")

    def __init__(self, number: int) -> None:
        self.number = number
        self.places = array("q")  # of the parts, in the order in which they were written
        self.is_folded = False  # whether writes were left out (see `timeline/history/ledger/folding.py`)
        self._changes = Digests()  # what identifies each entry, with the index of the part's place

    def add(self, place: int, part: ObjectEntries) -> None:
        """Add a part that was written to the file."""
        self.is_folded |= part.folded is not None
        self._changes.add([(change, len(self.places)) for change in part.entries])
        self.places.append(place)

    def find(self, change: object) -> list[int]:
        """Return the places of the parts that may have an entry which shows a change (`observations.identity`), the
        latest one first."""
        return [self.places[index] for index in self._changes.find(change)]


class SpilledObjects(Objects):
    """The objects of a ledger that has too many entries: about as many as in a part of `spilling` are in memory."""

    def __init__(self, known: Objects, spilling: Spilling, seen: Mapping[GroupKind, Seen]) -> None:
        self._warm = known._by_key  # the objects in memory; that which was used last is at the end
        self._spill, self._most = spilling.spill, spilling.part
        self._seen = seen
        self.held = known.held
        # By name: the digest of the UID of each object in the file, followed by its place; sorted by digest.
        self._cold: dict[Name, array[int]] = {}
        self._parts: dict[Name, dict[str, _Parts]] = {}  # by name and UID; the latest entries may be in memory
        self._last: tuple[Name | None, list[ObjectEntries]] = None, []  # the last answer of `of_name`
        self._numbers: tuple[Name | None, dict[str, int]] = None, {}  # by UID: the numbers of the objects of a name
        for name in known.names():
            self._cold[name] = array("q")

    def get(self, key: ObjectKey) -> ObjectEntries | None:
        self._make_room()  # an object that is returned is then in memory until others have been used
        found = self._warm.pop(key, None)
        if found is None or self._parts_of(key):
            latest, found = found, self._taken(key)
            if found is None:
                return None
            self.held += len(found.entries)
            if latest:
                found.entries.update(latest.entries)
        self._warm[key] = found
        return found

    def for_change(self, key: ObjectKey, change: object, *, whole: bool) -> ObjectEntries | None:
        self._make_room()
        parts = self._parts_of(key)
        if parts is None or whole or parts.is_folded:
            return self.get(key)
        name = _name(key)
        latest = self._warm.pop(key, None)
        if latest is None:
            latest = ObjectEntries(name, key[0], parts.number, self._seen[name[:2]])
        if change not in latest.entries:
            read = (self._read(name, place)[1].entries.get(change) for place in parts.find(change))
            if known := next(filter(None, read), None):
                latest.entries[change] = known
                self.held += 1
        self._warm[key] = latest
        return latest

    def add(self, key: ObjectKey, known: ObjectEntries) -> None:
        self._warm[key] = known
        self._cold.setdefault(known.name, array("q"))

    def values(self) -> Iterator[ObjectEntries]:
        for name in self._cold:
            yield from self.of_name(name)

    def names(self) -> Iterable[Name]:
        return self._cold

    def __contains__(self, name: Name) -> bool:
        return name in self._cold

    def of_name(self, name: Name) -> list[ObjectEntries]:
        if self._warm:
            self._cool(0)
        if self._last[0] != name:
            found = [self._read(name, place)[1] for place in self._cold.get(name, array("q"))[1::2]]
            self._last = name, found + [self._joined(name, each) for each in self._parts.get(name, {}).values()]
        return self._last[1]

    def take_kind(self, kind: GroupKind) -> list[ObjectEntries]:
        self._cool(0)
        found = []
        for name in [name for name in self._cold if name[:2] == kind]:
            found += self.of_name(name)
            self._last = None, []
            del self._cold[name]
            self._parts.pop(name, None)
        return found

    def number(self, key: ObjectKey) -> int:
        name = _name(key)
        if self._numbers[0] != name:
            self._numbers = name, {each.uid: each.number for each in self.of_name(name)}
        return self._numbers[1].get(key[0], 0)

    def _make_room(self) -> None:
        if self.held > self._most:
            self._cool(self._most // 2)

    def _cool(self, most: int) -> None:
        """Write those objects to the file that were used longest ago, until no more than `most` entries are in
        memory."""
        self._last = None, []
        while self._warm and (self.held > most or not most):
            uid, *_ = key = next(iter(self._warm))
            each = self._warm.pop(key)
            self.held -= len(each.entries)
            place = self._spill.put((uid, each.number, each.entries, each.folded, each.room))
            parts = self._parts_of(key)
            if parts is None and len(each.entries) < _LONG:
                places = self._cold[each.name]
                at = _first(places, wanted := digest(uid))
                places[at:at] = array("q", (wanted, place))
                continue
            if parts is None:
                parts = self._parts.setdefault(each.name, {})[uid] = _Parts(each.number)
            parts.add(place, each)
        if not self._warm:
            self.held = 0

    def _taken(self, key: ObjectKey) -> ObjectEntries | None:
        """Take an object out of the file."""
        uid, lane = key[0], _name(key)
        if parts := self._parts_of(key):
            del self._parts[lane][uid]
            return self._joined(lane, parts)
        places = self._cold.get(lane)
        if not places:
            return None
        wanted = digest(uid)
        at = _first(places, wanted)
        while at < len(places) and places[at] == wanted:
            found, each = self._read(lane, places[at + 1])
            if found == uid:
                del places[at : at + 2]
                return each
            at += 2
        return None

    def _parts_of(self, key: ObjectKey) -> _Parts | None:
        of_name = self._parts.get(_name(key)) if self._parts else None
        return of_name.get(key[0]) if of_name else None

    def _joined(self, name: Name, parts: _Parts) -> ObjectEntries:
        first, *others = (self._read(name, place)[1] for place in parts.places)
        for each in others:
            first.entries.update(each.entries)
        return first

    def _read(self, name: Name, place: int) -> tuple[str, ObjectEntries]:
        uid, number, entries, folded, room = self._spill.get(place)
        each = ObjectEntries(name, uid, number, self._seen[name[:2]])
        each.entries, each.folded, each.room = entries, folded, room
        return uid, each


def _first(places: "array[int]", wanted: int) -> int:
    """Return the index of the first digest in `SpilledObjects._cold` that is not less than this one."""
    return 2 * bisect_left(range(len(places) // 2), wanted, key=lambda each: places[2 * each])


def _name(key: ObjectKey) -> Name:
    _, name, namespace, kind, group = key
    return Name(group, kind, namespace, name)
