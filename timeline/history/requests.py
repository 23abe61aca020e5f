"""Keep the requests of one source that changed nothing: refused writes, writes without effect, and reads.

It is pure.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain
from operator import attrgetter

from msgspec.structs import replace

from timeline.core.entries import Entry, Request
from timeline.core.machine.spill import Spilling
from timeline.core.order import SECOND
from timeline.history.lifelines import Name, name_of
from timeline.history.seen import GroupKind
from timeline.history.spilled_requests import SpilledRequests

_LONGEST = (
    86_400 * SECOND
)  # µs that a watch whose end no line shows can have lasted; API servers end them after an hour


_ANSWERS = 4  # names whose requests stay in memory, however many they are: rules ask for these repeatedly


class Requests:
    """Keep requests by the object, or the kind, that they are about.

    What it answers does not depend on the order in which requests were learned, nor on repetitions. With `spilling`,
    requests that are too many for memory are in a file.
    """

    def __init__(self, corrected: Callable[[Request], Request], spilling: Spilling | None = None) -> None:
        """`corrected` returns a request with the offset of its file's clock subtracted from its times."""
        self._corrected = corrected
        self._spilling = spilling
        self._count = 0  # requests that were new
        self._known: dict[Name, dict[object, Request]] = defaultdict(dict)
        self._spilled: SpilledRequests | None = None  # what `_known` was, since there are too many requests
        self._sorted: dict[Name, list[Request]] = {}  # the answers of `about` that still hold
        self._by_uid: dict[Name, dict[str, list[Request]]] = {}  # the same requests by the UID that they name
        # The last answer of `of` that was put together: the rules ask about one object, one after the other.
        self._last_answer: tuple[tuple[Name, str] | None, Sequence[Request]] = None, ()
        self._called: dict[GroupKind, list[GroupKind]] = {}  # what else requests called a kind before that was known
        self.changed: set[Name] = set()  # the names whose answers may have changed since this set was emptied

    def __iter__(self) -> Iterator[Request]:
        """Yield all requests as they were learned, in no order. It is not called if requests are in a file."""
        assert self._spilled is None
        return chain.from_iterable(requests.values() for requests in self._known.values())

    def learn(self, request: Request) -> bool:
        """Learn a request; return whether that added information. A log shows the start and the end of a watch."""
        name = name_of(request.ref)
        key = request.identity or (request.verb, request.received)
        before = self._known[name].get(key) if self._spilled is None else self._spilled.get(name, key)
        if before is not None and _precedence(before) <= _precedence(request):
            return False
        if self._spilled is None:
            self._known[name][key] = request
            self._count += before is None
            if self._spilling and self._count > self._spilling.entries:
                self._spilled = SpilledRequests(self._known, self._spilling.spill, self._spilling.part)
                self._known = {}
        else:
            self._spilled.put(name, key, request)
        self._outdated(name)
        return True

    def about(self, name: Name) -> Sequence[Request]:
        """Return the requests about the objects of a name, in the order in which they were received.

        With an empty name, these are the requests about all objects of a kind, in one namespace or in all.
        """
        if not self._has(name):
            return ()
        if name not in self._sorted:
            found = [*self._found(name)]
            for called in self._called.get(name[:2], ()):
                others = self._found(Name(*called, *name[2:]))
                found += [replace(each, ref=replace(each.ref, group=name.group, kind=name.kind)) for each in others]
            self._sorted[name] = sorted(map(self._corrected, found), key=_order)
        self._use(name)
        return self._sorted[name]

    def of(self, name: Name, uid: str) -> Sequence[Request]:
        """Return the requests about the object with this name and UID, and those that name no UID, in the order in
        which they were received."""
        naming, unnamed = self.apart(name, uid)
        if not uid or not unnamed:
            return naming
        asked, answer = self._last_answer
        if asked != (name, uid):
            answer = sorted(chain(naming, unnamed), key=_order)
            self._last_answer = (name, uid), answer
        return answer

    def apart(self, name: Name, uid: str) -> tuple[Sequence[Request], Sequence[Request]]:
        """Return the requests about the object with this name and UID, and those that name no UID, each in the order in
        which they were received."""
        if not self._has(name):
            return (), ()
        if name not in self._by_uid:
            by_uid: dict[str, list[Request]] = defaultdict(list)
            for each in self.about(name):
                by_uid[each.ref.uid].append(each)
            self._by_uid[name] = dict(by_uid)
        self._use(name)
        found = self._by_uid[name]
        return found.get(uid, ()), found.get("", ())

    def names(self) -> set[Name]:
        """Return the names that requests are about."""
        kinds = {called: kind for kind, others in self._called.items() for called in others}
        known = self._known if self._spilled is None else self._spilled
        return {Name(*kinds.get(name[:2], name[:2]), *name[2:]) for name in known}

    def rename(self, called: GroupKind, kind: GroupKind) -> None:
        """Note that requests about a kind, or a resource, are about objects of another kind."""
        self._called.setdefault(kind, []).append(called)
        self.reconsider()

    def watches(self) -> Iterator[Request]:
        """Yield the watches of all objects of a kind, kind by kind in the order in which they were received."""
        for name in sorted(self.names()):
            if not name.name:
                yield from (each for each in self.about(name) if each.verb == "watch")

    def reconsider(self) -> None:
        """Compute the times again the next time they are asked for, since clock offsets have changed."""
        self._sorted.clear()
        self._by_uid.clear()
        self._last_answer = None, ()
        self.changed.update(self.names())

    def forget(self, before: int) -> None:
        """Forget the requests that were answered before a time, in microseconds since 1970.

        It is not called if requests are in a file.
        """
        assert self._spilled is None
        for name, requests in list(self._known.items()):
            kept = {key: each for key, each in requests.items() if min(each.staged, each.received + _LONGEST) >= before}
            if len(kept) < len(requests):
                self._outdated(name)
                self._known[name] = kept
            if not kept:
                del self._known[name]

    def _has(self, name: Name) -> bool:
        known = self._known if self._spilled is None else self._spilled
        return name in known or any(Name(*each, *name[2:]) in known for each in self._called.get(name[:2], ()))

    def _found(self, name: Name) -> Iterable[Request]:
        if self._spilled is not None:
            return self._spilled.about(name)
        return self._known[name].values() if name in self._known else ()

    def _use(self, name: Name) -> None:
        """Note that the requests about a name were asked for. If requests are in a file, then the answers that were not
        asked for longest are left out if there are too many."""
        if self._spilled is None or not self._spilling:
            return
        self._sorted[name] = self._sorted.pop(name)
        while len(self._sorted) > _ANSWERS and sum(map(len, self._sorted.values())) > self._spilling.part:
            last = next(iter(self._sorted))
            del self._sorted[last]
            self._by_uid.pop(last, None)

    def _outdated(self, name: Name) -> None:
        self._sorted.pop(name, None)
        self._by_uid.pop(name, None)
        self._last_answer = None, ()
        self.changed.add(name)


_order = attrgetter("received", "identity")  # requests are sorted by it


def _precedence(request: Request) -> tuple[bool, int, str, int]:
    """Return a sort key that puts the observation first that says more: one that has the process that sent the request,
    and one that has the end of a watch."""
    file, line = (request.place.file, request.place.line) if request.place else ("", 0)
    return request.client is None, request.staged, file, line


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
