"""This module keeps the requests of one source that changed nothing: refused writes, writes without effect, and reads.

It is pure.
"""

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence

from timeline.core.entries import Entry, Request
from timeline.history.lifelines import Name


class Requests:
    """This class keeps requests by the object, or the kind, that they are about.

    What it answers does not depend on the order in which requests were learned, nor on repetitions.
    """

    def __init__(self, corrected: Callable[[Request], Request]) -> None:
        """`corrected` returns a request with the offset of its file's clock subtracted from its times."""
        self._corrected = corrected
        self._known: dict[object, Request] = {}
        self._sorted: dict[Name, list[Request]] | None = None  # None if requests were learned since it was built

    def __len__(self) -> int:
        return len(self._known)

    def __iter__(self) -> Iterator[Request]:
        """Yield all requests as they were learned, in no order."""
        return iter(self._known.values())

    def learn(self, request: Request) -> bool:
        """Learn a request; return whether that added information. A log shows the start and the end of a watch."""
        key = request.identity or (request.ref, request.verb, request.received)
        before = self._known.get(key)
        if before is not None and _precedence(before) <= _precedence(request):
            return False
        self._known[key] = request
        self._sorted = None
        return True

    def about(self, name: Name) -> Sequence[Request]:
        """Return the requests about the objects of a name, in the order in which they were received.

        With an empty name, these are the requests about all objects of a kind, in one namespace or in all.
        """
        if self._sorted is None:
            self._sorted = defaultdict(list)
            requests = map(self._corrected, self._known.values())
            for each in sorted(requests, key=lambda each: (each.received, each.identity)):
                ref = each.ref
                self._sorted[Name(ref.group, ref.kind, ref.namespace, ref.name)].append(each)
        return self._sorted.get(name, ())

    def reconsider(self) -> None:
        """Compute the times again the next time they are asked for, since clock offsets have changed."""
        self._sorted = None


def _precedence(request: Request) -> tuple[int, str, int]:
    """Return a sort key that puts the observation first that says more: the one that has the end of a watch."""
    file, line = (request.place.file, request.place.line) if request.place else ("", 0)
    return request.staged, file, line


def without_effect(write: Entry) -> Request:
    """Return the request of a write that changed nothing, because its answer repeats the revision of an earlier one."""
    return Request(
        write.ref,
        "write",
        200,
        write.received,
        write.staged,
        answered=write.resource_version,
        action=write.action,
        actor=write.actor,
        user_agent=write.user_agent,
        client=write.client,
        identity=write.identity,
        place=write.place,
    )
