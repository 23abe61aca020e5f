"""Keep the requests of one source that changed nothing: refused writes, writes without effect, and reads.

It is pure.
"""

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from itertools import chain
from operator import attrgetter

from msgspec.structs import replace

from timeline.core.entries import WRITES, Entry, Request
from timeline.core.machine.spill import Spilling
from timeline.core.order import SECOND
from timeline.history.lifelines import Name, name_of
from timeline.history.refusals import refusers, unasked
from timeline.history.request_store import RequestStore
from timeline.history.seen import GroupKind

# µs that a watch whose end no line shows can have lasted; API servers end them after an hour
_LONGEST = 86_400 * SECOND
_ANSWERS = 4  # names whose requests stay in memory, however many they are: rules ask for these repeatedly


class Requests:
    """Keep requests by the object, or the kind, that they are about.

    What it answers does not depend on the order in which requests were learned, nor on repetitions. With `spilling`,
    requests that are too many for memory are in a file.
    """

    def __init__(self, corrected: Callable[[Request], Request], spilling: Spilling | None = None) -> None:
        """`corrected` returns a request with the offset of its file's clock subtracted from its times."""
        self._corrected = corrected
        self._known = RequestStore(spilling)
        self._refused = RequestStore(spilling)  # those of `_known` whose refuser is known, by its name
        self._sorted: dict[Name, list[Request]] = {}  # the answers of `about` that still hold
        self._by_uid: dict[Name, dict[str, list[Request]]] = {}  # the same requests by the UID that they name
        # The last answer of `of` that was put together: the rules ask about one object, one after the other.
        self._last_answer: tuple[tuple[Name, str] | None, Sequence[Request]] = None, ()
        self._called: dict[GroupKind, list[GroupKind]] = {}  # what else requests called a kind before that was known
        self.changed: set[Name] = set()  # the names whose answers may have changed since this set was emptied

    def __iter__(self) -> Iterator[Request]:
        """Yield all requests as they were learned, in no order."""
        return chain.from_iterable(map(self._known.about, self._known))

    def learn(self, request: Request) -> bool:
        """Learn a request; return whether that added information. A log shows the start and the end of a watch."""
        name = name_of(request.ref)
        key = request.identity or (request.verb, request.received)
        before = self._known.get(name, key)
        if before is not None and _precedence(before) <= _precedence(request):
            return False
        self._known.put(name, key, request)
        self._outdated(name)
        if request.refused and request.verb in WRITES:
            for refuser in refusers(request):
                self._refused.put(refuser, key, request)
                self.changed.add(refuser)
        return True

    def let_through(self, write: Entry) -> None:
        """Learn which webhooks were not asked about a write because they could not be called."""
        for name in unasked(write.annotations):
            self._refused.put(name, write.identity or ("write", write.received), without_effect(write))
            self.changed.add(name)

    def about(self, name: Name) -> Sequence[Request]:
        """Return the requests about the objects of a name, in the order in which they were received.

        With an empty name, these are the requests about all objects of a kind, in one namespace or in all.
        """
        if not self._has(name):
            return ()
        if name not in self._sorted:
            found = [*self._known.about(name)]
            for called in self._called.get(name[:2], ()):
                others = self._known.about(Name(*called, *name[2:]))
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

    def refused_by(self, refuser: Name) -> list[Request]:
        """Return the requests that something refused (see `refusals.refusers`), and of a webhook those that the API
        server let through without asking it, in the order in which they were received."""
        if refuser not in self._refused:
            return []
        return sorted(map(self._corrected, self._refused.about(refuser)), key=_order)

    def names(self) -> set[Name]:
        """Return the names that requests are about."""
        kinds = {called: kind for kind, others in self._called.items() for called in others}
        return {Name(*kinds.get(name[:2], name[:2]), *name[2:]) for name in self._known}

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
        self.changed.update(self.names(), self._refused)

    def forget(self, before: int) -> None:
        """Forget the requests that were answered before a time, in microseconds since 1970.

        It is not called if requests are in a file.
        """
        for name in [*self._known]:
            if self._known.drop(name, lambda each: min(each.staged, each.received + _LONGEST) < before):
                self._outdated(name)
        for refuser in [*self._refused]:
            if self._refused.drop(refuser, lambda each: each.staged < before):
                self.changed.add(refuser)

    def _has(self, name: Name) -> bool:
        return name in self._known or any(
            Name(*each, *name[2:]) in self._known for each in self._called.get(name[:2], ())
        )

    def _use(self, name: Name) -> None:
        """Note that the requests about a name were asked for. The answers that were not asked for longest are left out
        if there is no room for them."""
        self._sorted[name] = self._sorted.pop(name)
        while len(self._sorted) > _ANSWERS and not self._known.room(self._sorted.values()):
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
    """Return the request of a write, which changed nothing if its answer repeats the revision of an earlier one."""
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
        annotations=write.annotations,
    )
