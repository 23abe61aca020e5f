"""Find out which writes of an audit log made which changes of one object. It does no I/O.

It knows the changes of one UID, each with its revision and the bounds of the time of its commit, and the writes that
are about it. `timeline.core.joining` says which writes those are.
"""

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterator
from itertools import accumulate, islice
from typing import Any, NamedTuple

from msgspec.structs import replace

from timeline.core.entries import FOREVER, Change, Clock, Entry, ObjectRef
from timeline.core.order import SECOND

MANY = 32  # a write that can have made more changes than this is not compared with each of them
_ROUNDS = 100  # how often what was found bounds the times of other changes anew


class Joined(NamedTuple):
    """Which writes of a log made which changes. Entries are known by their identity (`id`)."""

    makers: dict[int, Entry]  # by what a watch shows: the write that made it
    possible: dict[int, list[Entry]]  # by a change whose write is not certain: the writes that may have made it
    unplaced: dict[str, list[Entry]]  # by UID: `Life.unplaced`
    taken: set[int]  # the writes that are unplaced
    placed: dict[int, ObjectRef]  # by a write without a UID that no watch shows: the object that it surely wrote


def is_bare(entry: Entry) -> bool:
    """Return whether this is a write that a log shows without the object and its revision."""
    return entry.clock is Clock.AUDIT and entry.facts is None and entry.resource_version is None


def is_shown(entry: Entry) -> bool:
    """Return whether a watch or a list shows the object as it was then."""
    return entry.clock is Clock.OBJECT and entry.resource_version is not None and entry.facts is not None


def by_time(entry: Entry) -> tuple[int, int, str]:
    return entry.received, entry.staged, entry.identity


class Steps:
    """What is known of one UID by revision, in order, each with the bounds of the time of its commit."""

    def __init__(self, entries: list[Entry]) -> None:
        self.uid = entries[0].ref.uid
        self.writes: list[Entry] = []
        revised = (each for each in entries if each.resource_version is not None)
        self._steps = sorted(revised, key=lambda each: (each.change is Change.DELETED, each.resource_version or 0))
        self._revisions = [each.resource_version or 0 for each in self._steps]
        self.created = max((each.facts.created for each in self._steps if each.facts), default=0)
        self._bounds = [self._bounds_of(place) for place in range(len(self._steps))]
        self.first = self._revisions[0]
        self.since = self.created  # µs by which nothing of it can have been written
        self.born_by = self.created + SECOND - 1 if self.created else FOREVER  # µs by which it had surely been created
        self._managed = any(each.user_agent for each in self._steps if each.clock is Clock.OBJECT)
        last = self._steps[-1]
        self.gone_by = arrived(last) if last.change is Change.DELETED else FOREVER
        self._makers: dict[int, Entry] = {}  # by the place of a step
        self._early: list[Entry] = []  # writes that made no step, and that were received before the watch began
        self._asked = next((each for each in range(len(self._steps)) if self._sets(each, "deleting")), len(self._steps))
        self._asking: dict[str, int] = {}  # by user agent: when it requested the deletion for the first time
        self._earliest, self._latest = self._tightened()

    def join(self, found: Joined, until: int) -> None:
        """Add to `found` which writes made which steps."""
        left = sorted(self.writes, key=by_time)
        for each in left:
            if each.change is Change.DELETED:
                self._asking.setdefault(each.user_agent, each.received)
        self._note_early(left)
        near = {id(each): self._near(each) for each in left}
        places = {id(each): self._places(each) for each in left}
        for _ in range(_ROUNDS):
            if not (made := dict(self._certain(left, places))):
                break
            joined = {id(write) for write in made.values()}
            left = [each for each in left if id(each) not in joined]
            changed = self._make(made)
            self._note_early(left)
            for each in left:
                place = bisect_left(changed, (known := near[id(each)]).start)
                if each.change is Change.CREATED or (place < len(changed) and changed[place] < known.stop):
                    near[id(each)], places[id(each)] = self._near(each), self._places(each)
        for place, write in self._makers.items():
            found.makers[id(self._steps[place])] = write
        self._leave(left, found, until)

    def _bounds_of(self, place: int) -> tuple[int, int]:
        """Return between which times a step was committed, as far as the object shows that, in µs since 1970."""
        least, most = bounds(step := self._steps[place])
        asked = _fact(step, "asked")
        if asked and step.clock is Clock.OBJECT and self._sets(place, "deleting") and not _fact(step, "at_once"):
            return max(least, asked), min(most, asked + SECOND - 1)
        return least, most

    def _make(self, made: dict[int, Entry]) -> list[int]:
        """Note which writes made which steps. Return the places of the steps that are then known better."""
        self._makers |= made
        for place, write in made.items():
            least, most = self._bounds[place]
            self._bounds[place] = max(least, write.received), min(most, write.staged)
        before = self._earliest, self._latest
        self._earliest, self._latest = now = self._tightened()
        known = zip(*before, *now, strict=True)
        moved = (place for place, (since, until, *times) in enumerate(known) if [since, until] != times)
        return sorted({*made, *moved})

    def _tightened(self) -> tuple[list[int], list[int]]:
        """Return the earliest and the latest time of each step: its own bounds, and those of the steps around it."""
        earliest = list(accumulate((least for least, _ in self._bounds), max))
        return earliest, list(accumulate((most for _, most in reversed(self._bounds)), min))[::-1]

    def _certain(self, writes: list[Entry], places: dict[int, list[int]]) -> Iterator[tuple[int, Entry]]:
        """Yield steps, by their places, with the one write that can have made each; `places` has, for each write, the
        places of the steps that it can have made."""
        makers: dict[int, list[Entry]] = defaultdict(list)
        for write in writes:
            for place in places[id(write)]:
                makers[place].append(write)
        yielded = False
        for place, of_place in sorted(makers.items()):
            by_manager = [each for each in of_place if _is_manager(self._steps[place].user_agent, each.user_agent)]
            naming = [each for each in by_manager or of_place if each.named is not None]
            write = (naming or of_place)[0]
            if len(naming or of_place) == 1 == len(places[id(write)]) and self._vouches(place, write):
                yielded = True
                yield place, write
        if not yielded:
            yield from self._balanced(writes, places, makers)

    def _vouches(self, place: int, write: Entry) -> bool:
        """Return whether a step shows by itself that this write made it, and not only that no other can have."""
        step = self._steps[place]
        if write.named is not None or step.change is not Change.MODIFIED or self._binds(place) or self._asks(place):
            return True
        return step.dated and not self._may_precede(write)

    def _may_precede(self, write: Entry) -> bool:
        """Return whether a write may have made the state with which the watch began, or one before it."""
        state = self._steps[0]
        by_another = state.user_agent and not _is_manager(state.user_agent, write.user_agent)
        early = state.change is Change.OBSERVED and 0 not in self._makers and self._is_before(write)
        return early and write.named is None and not (by_another and state.received == self.created)

    def _balanced(
        self, writes: list[Entry], places: dict[int, list[int]], makers: dict[int, list[Entry]]
    ) -> Iterator[tuple[int, Entry]]:
        """Yield steps with the writes that made them where there are as many writes as steps that they can have made.

        Their order then decides, if every earlier step of the object is known to be in the log, and if the watch shows
        managers: a program that the log leaves out would be seen.
        """
        last, received = 0, 0
        for unmade in self._unmade() if self._managed else ():
            if unmade <= last:
                continue
            order, of_writes = self._group(unmade, places, makers)
            if not of_writes or order[0] <= last or self._earliest[order[0]] < received:
                return  # in the next round, what was found bounds the times of these steps
            if len(order) != len(of_writes) or any(map(self._may_precede, of_writes)):
                return
            if any(place not in places[id(write)] for place, write in zip(order, of_writes, strict=True)):
                return
            for at in range(len(order) - 1):
                one, other = of_writes[at : at + 2]
                swapped = order[at + 1] in places[id(one)] and order[at] in places[id(other)]
                if swapped and one.staged >= other.received:
                    return
            yield from zip(order, of_writes, strict=True)
            last, received = order[-1], max(received, of_writes[-1].received)

    @staticmethod
    def _group(
        unmade: int, places: dict[int, list[int]], makers: dict[int, list[Entry]]
    ) -> tuple[list[int], list[Entry]]:
        """Return a step and the writes that can have made it, the other steps that these writes can have made, the
        writes that can have made those, and so on: all these steps, and all these writes."""
        of_group, of_writes, reached = set[int](), dict[int, Entry](), {unmade}
        while reached:
            place = reached.pop()
            of_group.add(place)
            for write in makers.get(place, ()):
                if id(write) not in of_writes:
                    of_writes[id(write)] = write
                    reached.update(set(places[id(write)]) - of_group)
        return sorted(of_group), sorted(of_writes.values(), key=by_time)

    def _unmade(self) -> Iterator[int]:
        """Yield the places of the changes whose write is not known, in order, without the first change."""
        for place, step in enumerate(self._steps[1:], 1):
            observed = step.clock is Clock.OBJECT and step.change is not Change.OBSERVED
            if observed and place not in self._makers and not self._is_first_half(place):
                yield place

    def _near(self, write: Entry) -> range:
        """Return the places of the steps that a write can have made by the revision it names, or by its time."""
        if write.named is not None:
            at = bisect_right(self._revisions, write.named)
            known = 0 < at < len(self._steps) and self._revisions[at - 1] == write.named
            return range(at, at + known)
        if write.change is Change.CREATED:
            return range(1)
        first = bisect_left(self._latest, write.received)
        return range(first, min(bisect_right(self._earliest, write.staged), first + MANY))

    def _places(self, write: Entry) -> list[int]:
        """Return the places of the steps that a write can have made, by what it did, when, and by its manager."""
        return [each for each in self._near(write) if each not in self._makers and self._can_be(each, write)]

    def _can_be(self, place: int, write: Entry) -> bool:
        """Return whether a write can have made a step."""
        step = self._steps[place]
        if not is_shown(step) or not self._earliest[place] <= write.staged:
            return False
        if self._latest[place] < write.received or (place and step.change is Change.OBSERVED):
            return False
        if self._is_first_half(place):
            return False
        if write.change is Change.CREATED:
            return not place and (step.change is Change.CREATED or self._as_created(write))
        if not place or step.change is Change.CREATED:
            return False
        if write.change is Change.DELETED:
            return self._asks(place) or (step.change is Change.DELETED and self._can_end(place, write))
        if write.action == "binding" or self._binds(place):
            return write.action == "binding" and self._binds(place)
        if step.change is Change.DELETED:
            return self._held(place)
        if self._asks(place):
            return False
        return write.named is not None or not step.user_agent or _is_manager(step.user_agent, write.user_agent)

    def _as_created(self, creation: Entry) -> bool:
        """Return whether the watch began to show the object as this write created it, by the log and the object."""
        before = any(each is not creation for each in self._early)
        return is_as_created(self._steps[0], creation.user_agent) and not before

    def _note_early(self, left: list[Entry]) -> None:
        """Note which of the writes that made no step were received before the watch began; two are enough."""
        self._early = list(islice((each for each in left if self._is_before(each)), 2))

    def _is_before(self, write: Entry) -> bool:
        """Return whether a write was surely received before the watch showed the object for the first time."""
        return write.received < self._bounds[0][0] + SECOND

    def _binds(self, place: int) -> bool:
        """Return whether a step is the binding of a Pod to its node, which managedFields do not show."""
        return self._sets(place, "node")

    def _asks(self, place: int) -> bool:
        """Return whether the deletion of the object was requested by a step, for the first time or without grace."""
        return self._sets(place, "deleting") or self._sets(place, "at_once")

    def _sets(self, place: int, fact: str) -> bool:
        """Return whether an object that is modified has a fact from a step on."""
        if not place or self._steps[place].change is not Change.MODIFIED:
            return False
        return bool(_fact(self._steps[place], fact)) and not _fact(self._steps[place - 1], fact)

    def _is_first_half(self, place: int) -> bool:
        """Return whether a step is the first half of the deletion after it: the API server writes twice when it deletes
        an object at once, first that there is no grace."""
        last = place + 1 < len(self._steps) and self._steps[place + 1].change is Change.DELETED
        return last and self._sets(place, "at_once") and not _fact(self._steps[place], "finalizers")

    def _can_end(self, place: int, write: Entry) -> bool:
        """Return whether a request for deletion can have ended the object: nothing held it, and it is not the request
        of a program that had asked for the deletion before and waits for another one, such as the kubelet."""
        if self._held(place):
            return False
        return place <= self._asked or self._asking[write.user_agent] >= write.received

    def _held(self, place: int) -> bool:
        """Return whether finalizers kept the object until a deletion, so that the write that removed the last one ended
        it."""
        return bool(_fact(self._steps[place - 1], "finalizers"))

    def _leave(self, left: list[Entry], found: Joined, until: int) -> None:
        """Sort out the writes that were joined to no step."""
        unplaced = found.unplaced.get(self.uid, [])
        for write in left:
            places = self._places(write)
            for place in places:
                found.possible.setdefault(id(self._steps[place]), []).append(write)
            earlier = self._steps[0].change is Change.OBSERVED and not places and self._is_before(write)
            if write.received <= until and not earlier:
                unplaced.append(write if write.ref.uid else replace(write, ref=self._steps[0].ref))
                found.taken.add(id(write))
            elif not write.ref.uid:
                found.placed[id(write)] = self._steps[0].ref
        if unplaced:
            found.unplaced[self.uid] = unplaced


def _fact(step: Entry, name: str) -> Any:
    return getattr(step.facts, name, None)


def bounds(step: Entry) -> tuple[int, int]:
    """Return between which times a step was committed, as far as it shows that itself, in µs since 1970."""
    if step.clock is Clock.AUDIT:
        return step.received, step.staged
    until = arrived(step)
    if step.change is Change.CREATED and step.facts and step.facts.created:
        return step.facts.created, min(until, step.facts.created + SECOND - 1)
    if step.ref.kind == "Event":  # its other times are those of its writer
        return step.facts.created if step.facts else 0, until
    if step.dated and step.change is Change.MODIFIED:
        return step.received, min(until, step.received + SECOND - 1)
    return step.received, until


def arrived(step: Entry) -> int:
    """Return a time by which a collector had surely received a step. Its clock is compared with that of the API server
    in whole seconds."""
    return step.arrived + SECOND if step.arrived else FOREVER


def is_as_created(state: Entry, agent: str) -> bool:
    """Return whether a watch began to show an object as this program created it, without any later write."""
    begun = state.change is Change.OBSERVED and state.received == _fact(state, "created")
    later = _fact(state, "node") or _fact(state, "deleting")
    return begun and not later and _is_manager(state.user_agent, agent)


def _is_manager(manager: str, agent: str) -> bool:
    """Return whether a field manager is the program with a user agent: it is called as that begins, unless the program
    chooses another name."""
    program = agent.partition("/")[0].lower()
    manager = manager.lower()
    return bool(program and manager) and (manager.startswith(program) or program.startswith(manager))
