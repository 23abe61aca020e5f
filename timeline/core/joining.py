"""This module joins writes that an audit log shows without their content to the changes that a watch shows. It is pure.

A log of level Metadata says who wrote, when to the microsecond, and which revision an update named. A watch shows the
content and the revision of each change, and the second and the manager of most. Where only one write of the log can be
the one that made a change, both are one entry with everything that is known of it.

The changes of one object are in the order of their revisions, so each change that is joined also bounds the times of
those before and after it. A write that may have made one of several changes, or none, is joined to none of them.
"""

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

from msgspec.structs import replace

from timeline.core.entries import FOREVER, Change, Clock, Entry, ObjectRef
from timeline.core.order import SECOND

_MANY = 32  # a write that can have made more changes than this is not compared with each of them


class Life(NamedTuple):
    """These are the entries of one UID, or those of a name that belong to no UID."""

    entries: list[Entry]
    # Each of these writes made one of the changes among the entries, or changed nothing. Those without the UID may be
    # about another object of the name.
    unplaced: list[Entry]


class Joined(NamedTuple):
    """This says which writes of a log made which changes. Entries are known by their identity (`id`)."""

    makers: dict[int, Entry]  # by what a watch shows: the write that made it
    possible: dict[int, list[Entry]]  # by a change whose write is not certain: the writes that may have made it
    unplaced: dict[str, list[Entry]]  # by UID: `Life.unplaced`
    taken: set[int]  # the writes that are unplaced
    placed: dict[int, ObjectRef]  # by a write without a UID that no watch shows: the object that it surely wrote


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
    writes = sorted((each for group in groups for each in group if is_bare(each)), key=_order)
    if not writes:
        return found
    objects = [_Object(group) for group in groups if group[0].ref.uid and any(map(_is_shown, group))]
    objects.sort(key=lambda each: each.first)
    for write in writes:
        if write.change is Change.CREATED and (own := _own(write, objects)):
            own.writes.append(write)
            own.since = max(own.since, write.received)
            own.born_by = min(own.born_by, write.staged)
    for one_object, following in pairwise(objects):
        one_object.gone_by = min(one_object.gone_by, following.born_by)
    for write in writes:
        if write.change is not Change.CREATED and (own := _own(write, objects)):
            own.writes.append(write)
    taken = {id(write) for each in objects for write in each.writes}
    for write in writes:
        if id(write) not in taken and write.received <= until:
            for each in _possible(write, objects):
                found.unplaced.setdefault(each.uid, []).append(write)
                found.taken.add(id(write))
    for each in objects:
        each.join(found, until)
    return found


def is_bare(entry: Entry) -> bool:
    """Return whether this is a write that a log shows without the object and its revision."""
    return entry.clock is Clock.AUDIT and entry.facts is None and entry.resource_version is None


def _is_shown(entry: Entry) -> bool:
    """Return whether a watch or a list shows the object as it was then."""
    return entry.clock is Clock.OBJECT and entry.resource_version is not None and entry.facts is not None


def _order(entry: Entry) -> tuple[int, int, str]:
    return entry.received, entry.staged, entry.identity


def _own(write: Entry, objects: "list[_Object]") -> "_Object | None":
    """Return the object that a write is about; None if it may be about several, or about one that no watch shows."""
    found = _possible(write, objects)
    return found[0] if len(found) == 1 else None


def _possible(write: Entry, objects: "list[_Object]") -> "list[_Object]":
    """Return the objects that a write may be about."""
    if write.ref.uid:
        return [each for each in objects if each.uid == write.ref.uid]
    if write.change is Change.CREATED:
        return [each for each in objects if each.created <= write.staged and write.received < each.created + SECOND]
    return [each for each in objects if each.since <= write.staged and write.received <= each.gone_by]


class _Object:
    """This is one UID: what is known of it by revision, in order, each with the bounds of the time of its commit."""

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
        self.gone_by = _arrived(last) if last.change is Change.DELETED else FOREVER
        self._makers: dict[int, Entry] = {}  # by the place of a step
        self._tighten()

    def join(self, found: Joined, until: int) -> None:
        """Add to `found` which writes made which steps."""
        left = sorted(self.writes, key=_order)
        while True:
            made = dict(self._certain(left))
            if not made:
                break
            self._makers |= made
            joined = {id(write) for write in made.values()}
            left = [each for each in left if id(each) not in joined]
            self._bounds = [
                (write.received, write.staged) if (write := made.get(place)) else known
                for place, known in enumerate(self._bounds)
            ]
            self._tighten()
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

    def _tighten(self) -> None:
        """Bound the time of each step by those of the steps before and after it."""
        least, most = 0, FOREVER
        earliest, latest = [], []
        for earlier, _ in self._bounds:
            least = max(least, earlier)
            earliest.append(least)
        for _, later in reversed(self._bounds):
            most = min(most, later)
            latest.append(most)
        latest.reverse()
        self._earliest, self._latest = earliest, latest

    def _certain(self, writes: list[Entry]) -> Iterator[tuple[int, Entry]]:
        """Yield steps, by their places, with the one write that can have made each."""
        places = {id(write): self._places(write) for write in writes}
        makers: dict[int, list[Entry]] = defaultdict(list)
        for write in writes:
            for place in places[id(write)]:
                makers[place].append(write)
        yielded = False
        for place, of_place in sorted(makers.items()):
            by_manager = [each for each in of_place if _is_manager(self._steps[place].user_agent, each.user_agent)]
            naming = [each for each in of_place if each.named is not None and (each in by_manager or not by_manager)]
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
        unmade = next(self._unmade(), len(self._steps))
        if not self._managed or unmade not in makers:
            return
        of_group, of_writes, reached = set[int](), list[Entry](), {unmade}
        while reached:
            place = reached.pop()
            of_group.add(place)
            for write in makers[place]:
                if all(write is not each for each in of_writes):
                    of_writes.append(write)
                    reached.update(set(places[id(write)]) - of_group)
        of_writes.sort(key=_order)
        order = sorted(of_group)
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

    def _unmade(self) -> Iterator[int]:
        """Yield the places of the changes whose write is not known, in order, without the first change."""
        for place, step in enumerate(self._steps[1:], 1):
            observed = step.clock is Clock.OBJECT and step.change is not Change.OBSERVED
            if observed and place not in self._makers and not self._is_first_half(place):
                yield place

    def _places(self, write: Entry) -> list[int]:
        """Return the places of the steps that a write can have made, by what it did, when, and by its manager."""
        if write.named is not None:
            at = bisect_right(self._revisions, write.named)
            known = 0 < at < len(self._steps) and self._revisions[at - 1] == write.named
            places: Sequence[int] = [at] if known else []
        else:
            first = bisect_left(self._latest, write.received)
            places = range(first, min(bisect_right(self._earliest, write.staged), first + _MANY))
        return [each for each in places if each not in self._makers and self._can_be(each, write)]

    def _can_be(self, place: int, write: Entry) -> bool:
        """Return whether a write can have made a step."""
        step = self._steps[place]
        if not _is_shown(step) or not self._earliest[place] <= write.staged:
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
        made = {id(creation), *map(id, self._makers.values())}
        before = any(self._is_before(each) for each in self.writes if id(each) not in made)
        return is_as_created(self._steps[0], creation.user_agent) and not before

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
        again = (each for each in self.writes if each.change is Change.DELETED and each.received < write.received)
        asked = any(self._sets(each, "deleting") for each in range(place))
        return not asked or all(each.user_agent != write.user_agent for each in again)

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
    until = _arrived(step)
    if step.change is Change.CREATED and step.facts and step.facts.created:
        return step.facts.created, min(until, step.facts.created + SECOND - 1)
    if step.ref.kind == "Event":  # its other times are those of its writer
        return step.facts.created if step.facts else 0, until
    if step.dated and step.change is Change.MODIFIED:
        return step.received, min(until, step.received + SECOND - 1)
    return step.received, until


def _arrived(step: Entry) -> int:
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
    )


def in_order(entries: list[Entry]) -> list[Entry]:
    """Return the entries of one UID with what a watch showed when it began put after the writes before it."""
    bare = [each for each in entries if is_bare(each)] if entries[0].ref.uid else []
    shown = min(
        (each for each in entries if _is_shown(each)), key=lambda each: each.resource_version or 0, default=None
    )
    if not bare or shown is None or shown.change is not Change.OBSERVED:
        return entries
    before = max((each.received for each in bare if each.received < shown.received + SECOND), default=0)
    state = replace(shown, received=max(shown.received, before))
    return [state if each is shown else each for each in entries]
