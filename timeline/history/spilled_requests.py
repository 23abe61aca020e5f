"""Keep the requests of a source that are too many for memory in a temporary file.

In memory are the requests that were learned last, and about 12 bytes of each other one: a digest by which a repetition
is found, and where it is. A few requests of one name that were learned after one another are together in the file, and
are read together: most watches are in a log twice, when they begin and when they end.
"""

from array import array
from collections.abc import Iterable, Iterator
from itertools import islice

from timeline.core.entries import Request
from timeline.core.machine.spill import Spill
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


class SpilledRequests:
    """Keep requests by the name that they are about, and by what identifies each.

    At most `most` of them are in memory while they are learned.
    """

    def __init__(self, known: dict[Name, dict[object, Request]], spill: Spill, most: int) -> None:
        self._warm = known
        self._spill = spill
        self._most = most
        self._written: dict[Name, _Written] = {}
        self._held = sum(map(len, known.values()))

    def get(self, name: Name, key: object) -> Request | None:
        """Return a request; None if it is not known."""
        found = self._warm[name].get(key) if name in self._warm else None
        written = self._written.get(name)
        if found is None and written:
            parts = map(self._spill.get, written.find(key))
            found = next((part[key] for part in parts if key in part), None)
        return found

    def put(self, name: Name, key: object, request: Request) -> None:
        """Add a request, or replace the one that this key identifies."""
        of_name = self._warm.setdefault(name, {})
        self._held += key not in of_name
        of_name[key] = request
        if self._held > self._most:
            self._write()

    def _write(self) -> None:
        """Write all requests in memory to the file."""
        for name, requests in self._warm.items():
            self._written.setdefault(name, _Written()).add(requests, self._spill)
        self._warm = {}
        self._held = 0

    def about(self, name: Name) -> Iterable[Request]:
        """Return the requests about a name, in no order."""
        found: dict[object, Request] = {}
        if written := self._written.get(name):
            for part in map(self._spill.get, written.places):
                found.update(part)
        found.update(self._warm.get(name, {}))
        return found.values()

    def __contains__(self, name: Name) -> bool:
        return name in self._written or name in self._warm

    def __iter__(self) -> Iterator[Name]:
        """Yield the names that requests are about."""
        yield from self._written
        yield from (name for name in self._warm if name not in self._written)
