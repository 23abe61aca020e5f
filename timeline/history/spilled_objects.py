"""This module keeps the objects of a ledger that has more entries than memory should hold. Only those used last are
in memory; all others are in a temporary file.

An object that is asked for comes back from the file as it was, so a ledger knows the same with any number of objects in
memory.
"""

from array import array
from collections.abc import Iterator, Mapping, Sequence

from timeline.core.spill import Spill
from timeline.history.lifelines import Name
from timeline.history.object_entries import ObjectEntries
from timeline.history.seen import GroupKind, Seen

ObjectKey = tuple[str, str, str, str, str]  # UID, name, namespace, kind and group of an object
_BITS = 2**63 - 1


def digest(value: object) -> int:
    """Return 63 bits by which equal values are found in this process and its copies. Whoever finds one has to compare
    it."""
    return hash(value) & _BITS


class SpilledObjects:
    """This class has the part of the interface of a dictionary that a ledger needs for its objects.

    At most about `most` entries are in memory.
    """

    def __init__(
        self, known: dict[ObjectKey, ObjectEntries], spill: Spill, most: int, seen: Mapping[GroupKind, Seen]
    ) -> None:
        self._warm = known  # the objects in memory; that which was used last is at the end
        self._spill = spill
        self._most = most
        self._seen = seen
        self._held = sum(len(each.entries) for each in known.values())  # entries of these objects, or a few more
        # By name: the digest of the UID of each object in the file, followed by its place.
        self._cold: dict[Name, array[int]] = {}
        self._last: tuple[Name | None, list[ObjectEntries]] = None, []  # the last answer of `of_name`
        for each in known.values():
            self._cold.setdefault(each.name, array("q"))

    def get(self, key: ObjectKey) -> ObjectEntries | None:
        """Return an object, which is then in memory until others have been used; None if it is not known."""
        if self._held > self._most:
            self._cool(self._most // 2)
        found = self._warm.pop(key, None)
        if found is None:
            found = self._taken(key)
            if found is None:
                return None
            self._held += len(found.entries)
        self._warm[key] = found
        return found

    def __setitem__(self, key: ObjectKey, known: ObjectEntries) -> None:
        self._warm[key] = known
        self._cold.setdefault(known.name, array("q"))

    def count(self) -> None:
        """Note that an object in memory has one more entry."""
        self._held += 1

    def values(self) -> Iterator[ObjectEntries]:
        """Yield all objects, one after another."""
        for name in self._cold:
            yield from self.of_name(name)

    def names(self) -> Sequence[Name]:
        """Return the names of all objects, sorted."""
        return sorted(self._cold)

    def has(self, name: Name) -> bool:
        return name in self._cold

    def of_name(self, name: Name) -> list[ObjectEntries]:
        """Return the objects of a name, which should not be changed."""
        if self._warm:
            self._cool(0)
        if self._last[0] != name:
            self._last = name, [self._read(name, place)[1] for place in self._cold.get(name, array("q"))[1::2]]
        return self._last[1]

    def _cool(self, most: int) -> None:
        """Write those objects to the file that were used longest ago, until no more than `most` entries are in
        memory."""
        self._last = None, []
        while self._warm and (self._held > most or not most):
            uid, *_ = key = next(iter(self._warm))
            each = self._warm.pop(key)
            self._held -= len(each.entries)
            place = self._spill.put((uid, each.number, each.entries, each.folded, each.room))
            self._cold[each.name].extend((digest(uid), place))
        if not self._warm:
            self._held = 0

    def _taken(self, key: ObjectKey) -> ObjectEntries | None:
        """Take an object out of the file."""
        uid, name, namespace, kind, group = key
        places = self._cold.get(lane := Name(group, kind, namespace, name))
        if not places:
            return None
        wanted = digest(uid)
        at = -1
        while True:
            try:
                at = places.index(wanted, at + 1)
            except ValueError:
                return None
            if at % 2:
                continue
            found, each = self._read(lane, places[at + 1])
            if found == uid:
                del places[at : at + 2]
                return each

    def _read(self, name: Name, place: int) -> tuple[str, ObjectEntries]:
        uid, number, entries, folded, room = self._spill.get(place)
        each = ObjectEntries(name, uid, number, self._seen[name[:2]])
        each.entries, each.folded, each.room = entries, folded, room
        return uid, each


class SpilledLanes(Mapping[Name, Sequence[ObjectEntries]]):
    """These are the same objects by name."""

    def __init__(self, objects: SpilledObjects) -> None:
        self._objects = objects

    def __getitem__(self, name: Name) -> Sequence[ObjectEntries]:
        if not self._objects.has(name):
            raise KeyError(name)
        return self._objects.of_name(name)

    def __iter__(self) -> Iterator[Name]:
        return iter(self._objects.names())

    def __len__(self) -> int:
        return len(self._objects.names())

    def __contains__(self, name: object) -> bool:
        return isinstance(name, Name) and self._objects.has(name)
