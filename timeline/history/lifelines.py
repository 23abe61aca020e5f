"""Define the nouns of a history: names, moments and tracks. It does no I/O.

A track is one incarnation of an object, from its first to its last observation. Its lifeline is the list of its moments
in commit order. `timeline/history/ledger/incarnations.py` makes tracks from entries.
"""

from bisect import bisect_right
from functools import lru_cache
from typing import Any, NamedTuple

import msgspec

from timeline.core.entries import FOREVER, Change, Clock, Entry, ObjectRef, Owner, Place
from timeline.core.machine.sharing import shared
from timeline.core.order import SECOND, At, Stamp
from timeline.kinds import Kind, Reference, kind_of

ANONYMOUS = "life-"  # the beginning of the UID that is made up for a track whose observations carry none


class Name(NamedTuple):
    """The name of an object, which stays the same when the object is deleted and created again. Each name is one lane
    of the timeline."""

    group: str
    kind: str
    namespace: str
    name: str


Key = tuple[Name, str]  # the key of a track: its name and its UID, or a made-up one


def name_of(ref: ObjectRef) -> Name:
    return Name(ref.group, ref.kind, ref.namespace, ref.name)


def anonymous(ref: ObjectRef) -> int:
    """Return which incarnation of its name a track without a UID is, counted from 0; and 0 for a track with a UID."""
    number = ref.uid.removeprefix(ANONYMOUS)
    return int(number) - 1 if number != ref.uid and number.isdecimal() and len(number) < 7 else 0


def public_uid(ref: ObjectRef) -> str:
    """Return the UID as the cluster wrote it; "" if no observation carries it."""
    return "" if ref.uid.startswith(ANONYMOUS) else ref.uid


class Moment(msgspec.Struct, frozen=True, gc=False):
    """One change in a lifeline, and the state of the object from then on.

    Times are microseconds since 1970, UTC.
    """

    time: int  # the drawn time
    facts: Any  # the state from here on, of the type that the kind defines
    entry: Entry
    at: At  # its place in commit order, which also orders moments of the same drawn time
    space: str = ""  # the counter of its revision
    following: int = 0  # if its entry does not show its time: the earliest commit that the revisions before it allow
    latest: int = 0  # if it had to be drawn before the next incarnation began: the latest possible time of its commit

    @property
    def stamp(self) -> Stamp:
        entry = self.entry
        return Stamp(entry.resource_version, entry.received, entry.staged, self.space, entry.dated)

    @property
    def change(self) -> Change:
        return self.entry.change

    @property
    def committed(self) -> tuple[int, int | None]:
        """Return the earliest and the latest time at which the change can have been committed, in microseconds since
        1970. The latest is None where nothing bounds it."""
        entry = self.entry
        if entry.clock is Clock.AUDIT:
            return entry.received, None if entry.staged == FOREVER else entry.staged
        if entry.dated:
            return entry.received, max(entry.received + SECOND, self.time)  # objects carry whole seconds
        if not entry.undated:
            return self.time, None  # no collector recorded when it arrived
        if entry.resource_version is None:
            return entry.received, max(entry.received, min(entry.arrived, entry.staged))
        return max(entry.received, min(self.following, self.time)), self.latest or self.time

    @property
    def within(self) -> tuple[int, int | None]:
        """Return how many microseconds before and after the drawn time the commit can have happened. The second is None
        where nothing bounds it."""
        earliest, latest = self.committed
        return self.time - earliest, None if latest is None else latest - self.time

    @property
    def clock(self) -> Clock:
        return self.entry.clock

    @property
    def replaces(self) -> int | None:
        """Return the resourceVersion that this write surely replaced, if the writer named it."""
        return self.entry.replaces

    @property
    def action(self) -> str:
        return self.entry.action

    @property
    def actor(self) -> str:
        return self.entry.actor

    @property
    def user_agent(self) -> str:
        return self.entry.user_agent

    @property
    def identity(self) -> str:
        return self.entry.identity

    @property
    def place(self) -> Place | None:
        return self.entry.place


class Track:
    """One incarnation of an object: one UID, or, where the observations carry no UID, the time from one creation of a
    name to its deletion."""

    __slots__ = (
        "_references", "_writers", "created", "ended", "first", "gone_by", "key", "kind", "last", "moments", "name",
        "owner", "ref", "unplaced",
    )  # fmt: skip

    def __init__(self, ref: ObjectRef, name: Name, owner: Owner | None, moments: list[Moment]) -> None:
        self.ref = ref
        self.name = name
        self.key: Key = (name, ref.uid)
        self.owner = owner  # from the first observation that shows a controller
        self.moments = moments  # in commit order, at least one
        self.first = first = moments[0]
        self.last = last = moments[-1]
        self.created = first if first.entry.change is Change.CREATED else None  # the creation, if it was observed
        self.ended = last if last.entry.change is Change.DELETED else None  # the deletion, if it was observed
        # If its deletion was not observed: the drawn time by which the object surely did not exist any more.
        self.gone_by: int | None = None
        # Writes that an audit log shows without their content: each made one of the moments, or changed nothing. Those
        # without the UID may be about another incarnation.
        self.unplaced: list[Moment] = []
        self.kind: Kind = kind_of(ref.group, ref.kind)
        self._references: frozenset[Name] | None = None
        self._writers: frozenset[str] | None = None

    def __repr__(self) -> str:
        return f"<Track {self.ref.kind} {self.ref.namespace}/{self.ref.name} {self.ref.uid}>"

    @property
    def family(self) -> str:
        """Return the family of kinds by which the track is coloured and filtered. The Leases by which nodes send their
        heartbeats are in a family that is hidden at first."""
        return "Cluster" if self.ref.namespace == "kube-node-lease" else self.kind.family

    @property
    def until(self) -> int | None:
        """Return the drawn time at which its bar ends; None while the object may exist."""
        return self.ended.time if self.ended else self.gone_by

    @property
    def asked_to_end(self) -> int | None:
        """Return the drawn time from which the deletion of the object may have been requested; None if nothing shows a
        request.

        If the request itself was not observed (a deletecollection names no objects), the time comes from
        deletionTimestamp.
        """
        for moment in self.moments:
            if moment.change is Change.DELETED or moment.facts.deleting:
                asked = moment.facts.asked
                began = moment.committed[0] if moment.entry.undated else moment.time
                return asked if 0 < asked <= moment.time - SECOND else min(began, moment.time)
        return None if self.gone_by is None else self.last.time

    @property
    def surely_unplaced(self) -> list[Moment]:
        """Return those of the `unplaced` writes that are surely about this incarnation."""
        return [each for each in self.unplaced if each.entry.ref.uid]

    @property
    def stated(self) -> int:
        """Return the index of the first moment that shows the state of the object; 0 if none does. Of writes before a
        watch began, an audit log may show no more than that they happened."""
        return next((at for at, each in enumerate(self.moments) if each.entry.facts is not None), 0)

    def value(self, fact: str) -> Any:
        """Return a fact that never changes, from the first observation that has it; None if no observation has it."""
        return next((value for moment in self.moments if (value := getattr(moment.facts, fact, None))), None)

    def facts_at(self, time: int) -> Any:
        """Return the facts at a drawn time, in microseconds; None before the first observation."""
        known = bisect_right(self.moments, time, key=lambda moment: moment.time)
        return self.moments[known - 1].facts if known else None

    def count_until(self, at: At) -> int:
        """Return how many of its moments are at or before a place in commit order."""
        return bisect_right(self.moments, at, key=lambda moment: moment.at)

    def differs(self, before: "Track") -> int | None:
        """Return the drawn time of the first moment that differs from `before`, an older state of this track: 0 if the
        object, its owner or the unplaced writes differ, None if nothing does."""
        if self.ref != before.ref or self.owner != before.owner or [*self.unplaced] != [*before.unplaced]:
            return 0
        for one, other in zip(self.moments, before.moments, strict=False):
            if one is not other and one != other:
                return min(one.time, other.time)
        if len(self.moments) == len(before.moments):
            return None
        shorter = min(len(self.moments), len(before.moments))
        return (self.moments[shorter:] or before.moments[shorter:])[0].time

    def addresses(self) -> list[str]:
        """Return the IP addresses that the object had at any time, sorted."""
        if not self.kind.has_addresses:
            return []
        states = {id(moment.facts): moment.facts for moment in self.moments}
        return sorted({each for facts in states.values() for each in self.kind.addresses(facts) if each})

    def clues(self) -> list[str]:
        """Return the texts by which the search finds the object besides its names, from all of its life, in the order
        of time."""
        if not self.kind.has_clues:
            return []
        states = {id(moment.facts): moment.facts for moment in self.moments}
        return list(dict.fromkeys(clue for facts in states.values() for clue in self.kind.clues(facts)))

    def writers(self) -> frozenset[str]:
        """Return the names of those who changed the object; "" stands for changes without a known maker."""
        if self._writers is None:
            self._writers = shared(frozenset({moment.entry.writer for moment in self.moments}))
        return self._writers

    def references(self) -> frozenset[Name]:
        """Return the names to which the object referred at any time."""
        if self._references is None:
            if not self.kind.has_references:
                self._references = _NONE
                return _NONE
            found: set[Reference] = set()
            facts: Any = None
            for moment in self.moments:
                if moment.facts is not facts:
                    facts = moment.facts
                    found.update(self.kind.references(facts))
            self._references = shared(frozenset([_name(each, self.ref.namespace) for each in found]))
        return self._references


_NONE: frozenset[Name] = frozenset()


@lru_cache(10_000)
def _name(reference: Reference, namespace: str) -> Name:
    """Return the name to which an object of this namespace refers."""
    group, kind, name, _, own = reference
    return Name(group, kind, namespace if own is None else own, name)
