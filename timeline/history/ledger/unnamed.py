"""Find who created objects whose creation a log shows without their name. It does no I/O.

A log without bodies does not show the name of what is created by generateName. But each such creation made one object,
and every object was created before anything else is seen of it. Where, up to some time, as many creations were received
as objects were seen, these creations made these objects. If one process sent all of them, it is certain who created
each object, although not which request did.

Where several processes created objects at the same time, three things tell them apart: an Event in which one of them
says what it created; revisions, since each object was created between the changes with the revisions around its own;
and owners, since the Job controller makes no Pods of ReplicaSets.
"""

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import accumulate
from typing import NamedTuple

from msgspec.structs import replace

from timeline.core.actors import actor_of
from timeline.core.entries import FOREVER, Change, Client, Clock, Entry, Level, Owner, Place, Request
from timeline.core.joining import lives
from timeline.core.order import SECOND
from timeline.core.steps import is_as_created
from timeline.history.ledger.acts import Act, Acts
from timeline.history.ledger.objects import Objects
from timeline.history.lifelines import Name
from timeline.history.requests import Requests
from timeline.history.seen import GroupKind

_LONGEST = 10 * SECOND  # µs that a group of creations may last; the times of longer ones would say little
_CONTROLLERS = {  # the part of the controller manager that creates the Pods of each kind of owner
    "Job": "job-controller",
    "ReplicaSet": "replicaset-controller",
    "StatefulSet": "statefulset-controller",
    "DaemonSet": "daemonset-controller",
    "ReplicationController": "replication-controller",
}
_Step = tuple[int, int, int]  # a revision, and the times at which the request that wrote it was received and answered


class Maker(NamedTuple):
    """Who created an object, and the bounds of the time at which that was requested and answered."""

    actor: str
    user_agent: str  # without its component if several components of the process created objects meanwhile
    client: Client | None
    received: int
    staged: int
    identity: str = ""  # of the request, if only one can have done it
    place: Place | None = None


class _Birth(NamedTuple):
    """An object that was created since the log begins, and whose creation the log does not show by name."""

    time: int  # µs since 1970 by which the creation had been received
    name: Name
    revision: int  # of its creation; 0 if no watch shows it
    created: int  # its creationTimestamp
    owner: Owner | None


class Unnamed:
    """Keep who created the objects of each kind and namespace in which a log shows such creations.

    What it answers does not depend on the order in which anything was learned.
    """

    def __init__(
        self,
        objects: Objects,
        requests: Requests,
        acts: Acts,
        corrected: Callable[[Entry], Entry],
    ) -> None:
        """The arguments belong to the ledger; this class only reads them."""
        self.objects = objects  # others when the ledger moves its objects to a file
        self._requests = requests
        self._acts = acts
        self._corrected = corrected
        self._scopes: dict[Name, set[Name]] = {}  # by kind and namespace: the names in it
        self._stale: set[Name] = set()
        self._makers: dict[Name, Maker] = {}
        self._stamps: dict[Name, list[_Step]] = {}  # of names about which nothing was learned since
        self._logged = 0  # when the audit log began, when that was looked at last

    def learn(self, request: Request) -> None:
        """Learn a request; only creations without a name matter."""
        if not is_unnamed(request):
            return
        self._begin(Name(request.ref.group, request.ref.kind, request.ref.namespace, ""))

    def _begin(self, scope: Name) -> None:
        if scope not in self._scopes:
            self._scopes[scope] = {name for name in self.objects.names() if name[:3] == scope[:3]}
        self._stale.add(scope)

    def rename(self, called: GroupKind, kind: GroupKind) -> None:
        """Note that creations of a kind, or a resource, are of another kind."""
        for scope in [scope for scope in self._scopes if scope[:2] == called]:
            del self._scopes[scope]
            self._stale.discard(scope)
            self._begin(Name(*kind, *scope[2:]))

    def note(self, name: Name) -> None:
        """Note that something was learned about a name."""
        self._stamps.pop(name, None)
        if self._scopes and (names := self._scopes.get(name._replace(name=""))) is not None:
            names.add(name)
            self._stale.add(name._replace(name=""))
        if name.kind == "Namespace":
            self._stale.update(scope for scope in self._scopes if scope.namespace == name.name)

    def note_event(self, namespace: str) -> None:
        """Note that an Event of a namespace was learned, which may say who created an object there."""
        self._stale.update(scope for scope in self._scopes if scope.namespace == namespace)

    def settle(self, logged: int, remembered: int) -> set[Name]:
        """Return the names whose creator is now known, or is known to be another.

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
            births = [each for each in self._births(scope, logged) or () if each.time >= remembered]
            settled = {name for _, name, *_ in births if (one := self._makers.get(name)) and one.received < remembered}
            births = [each for each in births if each.name not in settled]
            found = self._found(creations, births, scope)
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

    def _found(self, creations: list[Request], births: list[_Birth], scope: Name) -> dict[Name, Maker]:
        """Return who created each object, where that is certain."""
        counted = _makers(creations, births)
        found = dict(counted or ())
        left = [each for each in births if each.name not in found]
        said = {each.name: act for each in left if (act := self._said(each))}
        if counted is not None and (watched := [each for each in left if each.revision]):
            found.update(_bounded(creations, watched, self._steps(scope), said))
        for each in left:
            if each.name not in found and (act := said.get(each.name)):
                until = min(act.received, each.created + SECOND - 1)
                if each.created <= until:
                    found[each.name] = Maker(act.actor, act.user_agent, act.client, each.created, until)
        return found

    def _said(self, birth: _Birth) -> Act | None:
        """Return the first Event in which its writer says that it created an object; None if none says that, or if
        Events of several processes do."""
        if (owner := birth.owner) is None:
            return None
        of_owner = Name(owner.group, owner.kind, birth.name.namespace, owner.name)
        acts = [
            act
            for act in self._acts.about(of_owner, birth.name.name)
            if act.ref.uid == owner.uid and "Create" in act.reason and act.received >= birth.created
        ]
        processes = {actor and actor.process for actor in map(actor_of, acts)}
        return acts[0] if len(processes) == 1 and None not in processes else None

    def _steps(self, scope: Name) -> list[_Step]:
        """Return those changes of all objects of a kind in a namespace that have a revision and the times of a log."""
        for name in self._scopes[scope] - self._stamps.keys():
            groups = [list(map(self._corrected, one.entries.values())) for one in self.objects.of_name(name)]
            entries = [each for of_life in lives(groups) for each in of_life.entries]
            self._stamps[name] = [
                (each.resource_version, each.received, each.staged)
                for each in entries
                if each.clock is Clock.AUDIT and each.resource_version is not None
            ]
        return sorted(step for name in self._scopes[scope] for step in self._stamps[name])

    def forget(self, name: Name) -> None:
        """Forget who created the objects of a name."""
        self._makers.pop(name, None)
        self._stamps.pop(name, None)
        if (names := self._scopes.get(name._replace(name=""))) is not None:
            names.discard(name)

    def _births(self, scope: Name, logged: int) -> list[_Birth] | None:
        """Return the objects that were created since the log begins and whose creation it does not show by name. None
        if objects may have existed before that nobody saw."""
        found = []
        begun = self._begun(scope.namespace)
        for name in self._scopes[scope]:
            entries = [self._corrected(each) for one in self.objects.of_name(name) for each in one.entries.values()]
            if not entries or any(each.change is Change.CREATED and each.clock is Clock.AUDIT for each in entries):
                continue
            born = min((each.facts.created for each in entries if each.facts and each.facts.created), default=0)
            if born and born + SECOND <= logged:
                continue
            if not born and not begun:
                return None
            times = [each.received for each in entries if each.clock is Clock.AUDIT]
            by = min(times + ([born + SECOND - 1] if born else []))
            shown = (each.resource_version or 0 for each in entries if each.change is Change.CREATED)
            owner = next((each.owner for each in entries if each.owner), None)
            found.append(_Birth(by, name, next(shown, 0), born, owner))
        return found

    def _begun(self, namespace: str) -> bool:
        """Return whether the log shows the creation of a namespace, so that nothing existed in it before."""
        objects = self.objects.of_name(Name("", "Namespace", "", namespace))
        entries = (each for one in objects for each in one.entries.values())
        return any(each.change is Change.CREATED and each.clock is Clock.AUDIT for each in entries)

    def tells(self, name: Name) -> bool:
        """Return whether it is known who created the objects of a name."""
        return name in self._makers

    def applied(self, name: Name, groups: list[list[Entry]]) -> list[list[Entry]]:
        """Return the entries of a name, in groups by UID, with the creation as far as it is known who requested it."""
        maker = self._makers.get(name)
        if maker is None or any(_is_logged_creation(each) for group in groups for each in group):
            return groups
        if any(each.change is Change.CREATED for group in groups for each in group):
            return [[_made(each, maker) if each.change is Change.CREATED else each for each in of] for of in groups]
        first = min((each for group in groups for each in group), key=lambda each: (each.received, each.identity))
        if len(groups) == 1 and is_as_created(first, maker.user_agent):
            state = replace(first, change=Change.CREATED)
            return [[_made(state, maker) if each is first else each for each in groups[0]]]
        creation = Entry(
            replace(first.ref, uid=""), Change.CREATED, None, Clock.AUDIT, maker.received, maker.staged,
            level=Level.METADATA,
        )  # fmt: skip
        if len(groups) == 1:
            creation = replace(creation, ref=first.ref)
            return [[_made(creation, maker), *groups[0]]]
        bare = [group for group in groups if not group[0].ref.uid]
        others = [group for group in groups if group[0].ref.uid]
        return [[_made(creation, maker), *bare[0]], *others] if bare else groups


def is_unnamed(request: Request) -> bool:
    """Return whether a request created an object whose name the log does not show."""
    return request.verb == "create" and not request.refused and not request.ref.name


def _makers(creations: Iterable[Request], births: Iterable[_Birth]) -> list[tuple[Name, Maker]] | None:
    """Return who created each object, where that follows from their numbers; None if a creation is missing from the
    log."""
    found: list[tuple[Name, Maker]] = []
    events = sorted(
        [(each.received, 0, each.identity, each) for each in creations]
        + [(each.time, 1, each.name.name, each) for each in births],
        key=lambda event: event[:3],
    )
    requests: list[Request] = []
    names: list[Name] = []
    for *_, each in events:
        if isinstance(each, Request):
            requests.append(each)
            continue
        names.append(each.name)
        if len(names) > len(requests):
            return None
        if len(names) == len(requests):
            if maker := _one(requests):
                found += [(name, maker) for name in names]
            requests, names = [], []
    return found


def _bounded(
    creations: Sequence[Request], births: Sequence[_Birth], steps: Sequence[_Step], said: Mapping[Name, Act]
) -> Iterator[tuple[Name, Maker]]:
    """Yield who created each object, where only one process can have.

    An object was created after every change with a lower revision had been received, and before any with a higher one
    was answered. `steps` are sorted.
    """
    revisions = [revision for revision, _, _ in steps]
    earliest = [0, *accumulate((received for _, received, _ in steps), max)]
    latest = [*list(accumulate((staged for *_, staged in reversed(steps)), min))[::-1], FOREVER]
    for birth in births:
        at = bisect_left(revisions, birth.revision)
        least = max(earliest[at], birth.created)
        most = min(latest[at], birth.created + SECOND - 1)
        act = said.get(birth.name)
        possible = [
            each
            for each in creations
            if each.received <= most and each.staged >= least and _can_create(each, birth, act)
        ]
        if possible and (maker := _one(possible)):
            yield birth.name, maker._replace(identity="", place=None)  # the line of its own request may be lost


def _can_create(request: Request, birth: _Birth, act: Act | None) -> bool:
    """Return whether the sender of a request creates objects of this owner, and is the one who says that it did."""
    actor = actor_of(request)
    if actor is None:
        return False
    if act and (writer := actor_of(act)) and writer.process != actor.process:
        return False
    if birth.owner is None or actor.component not in _CONTROLLERS.values():
        return True
    return _CONTROLLERS.get(birth.owner.kind, actor.component) == actor.component


def _one(requests: Sequence[Request]) -> Maker | None:
    """Return the maker of all objects that these requests created, if it is one process; else None."""
    processes = {actor and actor.process for actor in map(actor_of, requests)}
    received, staged = min(each.received for each in requests), max(each.staged for each in requests)
    if None in processes or len(processes) > 1 or staged - received > _LONGEST:
        return None
    return _maker(requests, alone=len(requests) == 1)


def _maker(requests: Sequence[Request], *, alone: bool) -> Maker:
    first = min(requests, key=lambda each: (each.received, each.identity))
    agents = {each.user_agent for each in requests}
    return Maker(
        first.actor,
        first.user_agent if len(agents) == 1 else first.user_agent.partition(" ")[0],
        first.client,
        first.received,
        max(each.staged for each in requests),
        first.identity if alone else "",
        first.place if alone else None,
    )


def _is_logged_creation(entry: Entry) -> bool:
    return entry.change is Change.CREATED and entry.clock is Clock.AUDIT


def _made(creation: Entry, maker: Maker) -> Entry:
    born = creation.facts.created if creation.facts else 0
    return replace(
        creation,
        clock=Clock.AUDIT,
        received=max(maker.received, born),
        staged=maker.staged,
        actor=maker.actor,
        user_agent=maker.user_agent,
        identity=maker.identity or creation.identity,
        place=maker.place or creation.place,
        client=maker.client,
    )
