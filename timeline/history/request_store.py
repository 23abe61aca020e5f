"""Keep the requests of a source, those that are too many for memory in a temporary file.

In memory are the requests that were learned last, and about 12 bytes of each other one: a digest by which a repetition
is found, and where it is. A few requests of one name that were learned after one another are together in the file, and
are read together: most watches are in a log twice, when they begin and when they end.
"""

from array import array
from collections.abc import Callable, Collection, Iterator
from itertools import islice

from timeline.core.entries import Request
from timeline.core.machine.spill import Spill, Spilling
from timeline.history.digests import Digests
from timeline.history.lifelines import Name

_TOGETHER = 16  # requests that are read together at most


class _Written:
    """The requests about one name that are in the file."""

    __slots__ = ("_keys", "places")

    def __init__(self) -> None:
        self.places = array("q")  # in the order in which they were written; a later one replaces an earlier one
        self._keys = Digests()  # what identifies each request, with the index of its place

    def add(self, requests: dict[object, Request], spill: Spill) -> None:
        """Write requests to the file."""
        rows: list[tuple[object, int]] = []
        rest = iter(requests.items())
        while together := dict(islice(rest, _TOGETHER)):
            rows += [(key, len(self.places)) for key in together]
            self.places.append(spill.put(together))
        self._keys.add(rows)

    def find(self, key: object) -> list[int]:
        """Return the places that may have a request, the latest one first."""
        return [self.places[index] for index in self._keys.find(key)]


class RequestStore:
    """Keep requests by the name that they are about, and by what identifies each. Without `spilling`, all of them are
    in memory."""

    def __init__(self, spilling: Spilling | None) -> None:
        self._spilling = spilling
        self._most = spilling.entries if spilling else 0  # requests in memory while they are learned
        self._warm: dict[Name, dict[object, Request]] = {}
        self._held = 0  # how many these are
        self._written: dict[Name, _Written] = {}

    def get(self, name: Name, key: object) -> Request | None:
        """Return a request; None if it is not known."""
        found = self._warm[name].get(key) if name in self._warm else None
        if found is None and self._spilling and (written := self._written.get(name)):
            parts = map(self._spilling.spill.get, written.find(key))
            found = next((part[key] for part in parts if key in part), None)
        return found

    def put(self, name: Name, key: object, request: Request) -> None:
        """Add a request, or replace the one that this key identifies."""
        of_name = self._warm.setdefault(name, {})
        self._held += key not in of_name
        of_name[key] = request
        if self._spilling and self._held > self._most:
            self._most = self._spilling.part
            for each, requests in self._warm.items():
                self._written.setdefault(each, _Written()).add(requests, self._spilling.spill)
            self._warm, self._held = {}, 0

    def about(self, name: Name) -> Collection[Request]:
        """Return the requests about a name, in no order."""
        found, warm = dict[object, Request](), self._warm.get(name, {})
        if self._spilling and (written := self._written.get(name)):
            for part in map(self._spilling.spill.get, written.places):
                found.update(part)
        return (found | warm if found else warm).values()

    def drop(self, name: Name, over: Callable[[Request], bool]) -> bool:
        """Remove requests about a name, which must be in memory; return whether there were any."""
        requests = self._warm.pop(name)
        if kept := {key: each for key, each in requests.items() if not over(each)}:
            self._warm[name] = kept
        self._held += len(kept) - len(requests)
        return len(kept) < len(requests)

    def room(self, answers: Collection[Collection[Request]]) -> bool:
        """Return whether there is room in memory for these answers."""
        return not self._written or not self._spilling or sum(map(len, answers)) <= self._spilling.part

    def __contains__(self, name: Name) -> bool:
        return name in self._warm or name in self._written

    def __iter__(self) -> Iterator[Name]:
        """Yield the names that requests are about."""
        yield from self._written
        yield from (name for name in self._warm if name not in self._written)
