"""This module finds who created objects of which a log shows the creation, but not the name. It is pure.

A log without bodies does not show the name of what is created by generateName. But each such creation made one object,
and every object was created before anything else is seen of it. Where, up to some time, as many creations were received
as objects were seen, these creations made these objects. If one process sent all of them, it is certain who created
each object, although not which request did.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from msgspec.structs import replace

from timeline.core.actors import actor_of
from timeline.core.entries import Change, Clock, Entry, Level, Request
from timeline.core.order import SECOND
from timeline.history.lifelines import Name
from timeline.history.object_entries import ObjectEntries
from timeline.history.requests import Requests

_LONGEST = 10 * SECOND  # µs that a group of creations may last; the times of longer ones would say little


class Maker(NamedTuple):
    """This is who created an object, and the bounds of the time at which that was requested and answered."""

    request: Request  # the only request that can have done it, or else the first
    alone: bool  # whether it is the only one
    user_agent: str  # without its component if several components of the process created objects meanwhile
    received: int
    staged: int


class Unnamed:
    """This class keeps who created the objects of each kind and namespace in which a log shows such creations.

    What it answers does not depend on the order in which anything was learned.
    """

    def __init__(
        self,
        lanes: Mapping[Name, Sequence[ObjectEntries]],
        requests: Requests,
        corrected: Callable[[Entry], Entry],
    ) -> None:
        """The arguments belong to the ledger; this class only reads them."""
        self.lanes = lanes  # another mapping when the ledger moves its objects to a file
        self._requests = requests
        self._corrected = corrected
        self._scopes: dict[Name, set[Name]] = {}  # by kind and namespace: the names in it
        self._stale: set[Name] = set()
        self._makers: dict[Name, Maker] = {}
        self._logged = 0  # when the audit log began, when that was looked at last

    def learn(self, request: Request) -> None:
        """Learn a request; only creations without a name matter."""
        if not is_unnamed(request):
            return
        scope = Name(request.ref.group, request.ref.kind, request.ref.namespace, "")
        if scope not in self._scopes:
            self._scopes[scope] = {name for name in self.lanes if name[:3] == scope[:3]}
        self._stale.add(scope)

    def note(self, name: Name) -> None:
        """Note that something was learned about a name."""
        if self._scopes and (names := self._scopes.get(name._replace(name=""))) is not None:
            names.add(name)
            self._stale.add(name._replace(name=""))
        if name.kind == "Namespace":
            self._stale.update(scope for scope in self._scopes if scope.namespace == name.name)

    def settle(self, logged: int, remembered: int) -> set[Name]:
        """Return the names of which somebody else than before is known as the creator.

        The audit log begins at `logged`, and what happened before `remembered` may have been forgotten, both in
        microseconds since 1970. Who created an object stays known when the request has been forgotten.
        """
        if logged != self._logged:
            self._logged = logged
            self._stale.update(self._scopes)
        changed = set()
        for scope in self._stale:
            of_scope = (each for each in self._requests.about(scope) if is_unnamed(each))
            creations = [each for each in of_scope if each.received >= remembered]
            births = [each for each in self._births(scope, logged) or () if each[0] >= remembered]
            settled = {name for _, name in births if (one := self._makers.get(name)) and one.received < remembered}
            found = dict(_makers(creations, [each for each in births if each[1] not in settled]))
            for name in self._scopes[scope] - settled:
                now, before = found.get(name), self._makers.get(name)
                if now and now != before:
                    self._makers[name] = now
                    changed.add(name)
                elif before and not now and not remembered:
                    del self._makers[name]
                    changed.add(name)
        self._stale.clear()
        return changed

    def forget(self, name: Name) -> None:
        """Forget who created the objects of a name."""
        self._makers.pop(name, None)
        if (names := self._scopes.get(name._replace(name=""))) is not None:
            names.discard(name)

    def _births(self, scope: Name, logged: int) -> list[tuple[int, Name]] | None:
        """Return the objects that were created since the log begins and whose creation it does not show by name, each
        with a time by which the creation had been received. None if objects may have existed before that nobody saw."""
        found = []
        begun = self._begun(scope.namespace)
        for name in self._scopes[scope]:
            entries = [self._corrected(each) for one in self.lanes.get(name, ()) for each in one.entries.values()]
            if not entries or any(each.change is Change.CREATED and each.clock is Clock.AUDIT for each in entries):
                continue
            born = min((each.facts.created for each in entries if each.facts and each.facts.created), default=0)
            if born and born + SECOND <= logged:
                continue
            if not born and not begun:
                return None
            times = [each.received for each in entries if each.clock is Clock.AUDIT]
            found.append((min(times + ([born + SECOND - 1] if born else [])), name))
        return found

    def _begun(self, namespace: str) -> bool:
        """Return whether the log shows the creation of a namespace, so that nothing existed in it before."""
        objects = self.lanes.get(Name("", "Namespace", "", namespace), ())
        entries = (each for one in objects for each in one.entries.values())
        return any(each.change is Change.CREATED and each.clock is Clock.AUDIT for each in entries)

    def tells(self, name: Name) -> bool:
        """Return whether it is known who created the objects of a name."""
        return name in self._makers

    def applied(self, name: Name, groups: list[list[Entry]]) -> list[list[Entry]]:
        """Return the entries of a name, in groups by UID, with the creation as far as it is known who requested it."""
        maker = self._makers.get(name)
        if maker is None or any(_is_told(each) for group in groups for each in group):
            return groups
        if any(each.change is Change.CREATED for group in groups for each in group):
            return [[_made(each, maker) if each.change is Change.CREATED else each for each in of] for of in groups]
        first = min((each for group in groups for each in group), key=lambda each: (each.received, each.identity))
        creation = Entry(
            replace(first.ref, uid=""), Change.CREATED, None, Clock.AUDIT, maker.received, maker.staged,
            level=Level.METADATA,
        )  # fmt: skip
        bare = [group for group in groups if not group[0].ref.uid]
        others = [group for group in groups if group[0].ref.uid]
        return [[_made(creation, maker), *(each for group in bare for each in group)], *others]


def is_unnamed(request: Request) -> bool:
    """Return whether a request created an object whose name the log does not show."""
    return request.verb == "create" and not request.refused and not request.ref.name


def _makers(creations: Iterable[Request], births: Iterable[tuple[int, Name]]) -> Iterator[tuple[Name, Maker]]:
    """Yield who created each object, where that is certain. `births` are in microseconds since 1970."""
    found: list[tuple[Name, Maker]] = []
    events = sorted(
        [(each.received, 0, each.identity, each) for each in creations]
        + [(time, 1, name.name, name) for time, name in births],
        key=lambda event: event[:3],
    )
    requests: list[Request] = []
    names: list[Name] = []
    for *_, each in events:
        if isinstance(each, Request):
            requests.append(each)
            continue
        names.append(each)
        if len(names) > len(requests):
            return  # a creation is missing from the log, so nothing is certain
        if len(names) == len(requests):
            if maker := _one(requests):
                found += [(name, maker) for name in names]
            requests, names = [], []
    yield from found


def _one(requests: Sequence[Request]) -> Maker | None:
    """Return the maker of all objects that these requests created, if it is one process; else None."""
    actors = {actor_of(each) for each in requests}
    first = min(requests, key=lambda each: (each.received, each.identity))
    received, staged = first.received, max(each.staged for each in requests)
    if None in actors or len({actor and actor.process for actor in actors}) > 1 or staged - received > _LONGEST:
        return None
    agent = first.user_agent if len(actors) == 1 else first.user_agent.partition(" ")[0]
    return Maker(first, len(requests) == 1, agent, received, staged)


def _is_told(entry: Entry) -> bool:
    return entry.change is Change.CREATED and entry.clock is Clock.AUDIT


def _made(creation: Entry, maker: Maker) -> Entry:
    request = maker.request
    born = creation.facts.created if creation.facts else 0
    return replace(
        creation,
        clock=Clock.AUDIT,
        received=max(maker.received, born),
        staged=maker.staged,
        actor=request.actor,
        user_agent=maker.user_agent,
        identity=request.identity if maker.alone else creation.identity,
        place=request.place if maker.alone else creation.place,
        client=request.client,
    )
