"""Keep the objects of a ledger in memory. It does no I/O."""

from collections.abc import Iterable

from timeline.history.ledger.object_entries import ObjectEntries
from timeline.history.lifelines import Name
from timeline.history.seen import GroupKind

ObjectKey = tuple[str, str, str, str, str]  # UID, name, namespace, kind and group of an object


class Objects:
    """The objects of a ledger, all in memory; those of `SpilledObjects` are mostly in a file, with the same answers."""

    def __init__(self) -> None:
        self._by_key: dict[ObjectKey, ObjectEntries] = {}
        self._by_name: dict[Name, list[ObjectEntries]] = {}
        self.held = 0  # entries in memory, or a few more; whoever adds one counts it if too many are to be in a file

    def get(self, key: ObjectKey) -> ObjectEntries | None:
        """Return an object; None if it is not known."""
        return self._by_key.get(key)

    def for_change(self, key: ObjectKey, change: object, *, whole: bool) -> ObjectEntries | None:
        """Return an object like `get`, for an entry that shows this change (`observations.identity`).

        Without `whole`, only the entry that shows the same change is surely in memory, if there is one.
        """
        return self._by_key.get(key)

    def add(self, key: ObjectKey, known: ObjectEntries) -> None:
        """Add an object that was not added before."""
        self._by_key[key] = known
        self._by_name.setdefault(known.name, []).append(known)

    def remove(self, key: ObjectKey) -> ObjectEntries | None:
        """Remove an object, and return it; None if it is not known."""
        if known := self._by_key.pop(key, None):
            self._by_name[known.name].remove(known)
            if not self._by_name[known.name]:
                del self._by_name[known.name]
        return known

    def values(self) -> Iterable[ObjectEntries]:
        """Return all objects, in no order."""
        return self._by_key.values()

    def names(self) -> Iterable[Name]:
        """Return the names of all objects, in no order."""
        return self._by_name

    def __contains__(self, name: Name) -> bool:
        return name in self._by_name

    def of_name(self, name: Name) -> list[ObjectEntries]:
        """Return the objects of a name, which should not be changed."""
        return self._by_name.get(name, [])

    def take_kind(self, kind: GroupKind) -> list[ObjectEntries]:
        """Remove all objects of a kind from this collection, and return them."""
        keys = [key for key, each in self._by_key.items() if each.name[:2] == kind]
        return [known for key in keys if (known := self.remove(key))]

    def number(self, key: ObjectKey) -> int:
        """Return the number of an object; 0 if it is not known."""
        known = self._by_key.get(key)
        return known.number if known else 0
