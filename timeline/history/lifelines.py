"""Pure: the entries of one name become its lives, each a lifeline in commit order."""

from bisect import bisect_right
from functools import lru_cache
from typing import Any, NamedTuple

import msgspec
from msgspec.structs import replace

from timeline.core.entries import FOREVER, Change, Clock, Entry, Facts, ObjectRef, Owner, Place
from timeline.core.order import SECOND, At, CommitClock, Stamp
from timeline.kinds import Kind, Reference, kind_of


class Name(NamedTuple):
    """What stays when an object is re-created: a lane of the timeline."""

    group: str
    kind: str
    namespace: str
    name: str


Key = tuple[Name, str]  # of a life: its UID, or a stand-in


class Moment(msgspec.Struct, frozen=True, gc=False):
    """One change in a lifeline. `time` is drawn, microseconds; `facts`, of the kind's type, is the state from here."""

    time: int
    facts: Any
    entry: Entry
    at: At  # its place in commit order, also among moments that are drawn at one time
    space: str = ""  # which counter its revision is of
    following: int = 0  # when it was committed at the soonest, by the revisions before it, where its entry is undated
    latest: int = (
        0  # when it was committed at the latest, where that is not `time`: the next life of its name had begun
    )

    @property
    def stamp(self) -> Stamp:
        return Stamp(self.entry.resource_version, self.entry.received, self.entry.staged, self.space)

    @property
    def change(self) -> Change:
        return self.entry.change

    @property
    def committed(self) -> tuple[int, int | None]:
        """When it was committed at the soonest and at the latest, microseconds; None where nothing bounds it."""
        entry = self.entry
        if entry.clock is Clock.AUDIT:
            return entry.received, None if entry.staged == FOREVER else entry.staged
        if entry.dated:
            return entry.received, max(entry.received + SECOND, self.time)  # it tells a whole second
        if not entry.undated:
            return self.time, None  # nobody was watching who could tell when it came
        if entry.resource_version is None:
            return entry.received, max(entry.received, min(entry.arrived, entry.staged))
        return max(entry.received, min(self.following, self.time)), self.latest or self.time

    @property
    def within(self) -> tuple[int, int | None]:
        """The same as microseconds before and after the drawn time."""
        earliest, latest = self.committed
        return self.time - earliest, None if latest is None else latest - self.time

    @property
    def clock(self) -> Clock:
        return self.entry.clock

    @property
    def replaces(self) -> int | None:
        """The revision whose place it surely took, where the writer named it."""
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
    """One object's life: one UID, or one life of a name where the observations carry no UID."""

    __slots__ = (
        "_references", "changed", "created", "ended", "first", "gone_by", "key", "kind", "last", "moments", "name",
        "owner", "ref",
    )  # fmt: skip

    def __init__(self, ref: ObjectRef, name: Name, owner: Owner | None, moments: list[Moment]) -> None:
        self.ref = ref
        self.name = name
        self.key: Key = (name, ref.uid)
        self.owner = owner
        self.moments = moments
        self.first = first = moments[0]
        self.last = last = moments[-1]
        self.created = first if first.entry.change is Change.CREATED else None  # the creation, if it was observed
        self.ended = last if last.entry.change is Change.DELETED else None  # the removal, if it was observed
        self.gone_by: int | None = None  # drawn time by which it had surely gone, where its removal was not observed
        self.changed = 0  # drawn time from which it differs from what was known of it before
        self.kind: Kind = kind_of(ref.group, ref.kind)
        self._references: set[Name] | None = None

    def __repr__(self) -> str:
        return f"<Track {self.ref.kind} {self.ref.namespace}/{self.ref.name} {self.ref.uid}>"

    @property
    def family(self) -> str:
        """The colour and filter it belongs to; the heartbeats of nodes are noise."""
        return "Cluster" if self.ref.namespace == "kube-node-lease" else self.kind.family

    @property
    def until(self) -> int | None:
        """The drawn time at which its bar ends; None while it may live."""
        return self.ended.time if self.ended else self.gone_by

    @property
    def asked_to_end(self) -> int | None:
        """The drawn time from which it may have been on its way out; None while nothing tells so.

        Where the request itself was not observed (a deletecollection names nobody), deletionTimestamp tells its time.
        """
        for moment in self.moments:
            if moment.change is Change.DELETED or moment.facts.deleting:
                asked = moment.facts.asked
                began = moment.committed[0] if moment.entry.undated else moment.time
                return asked if 0 < asked <= moment.time - SECOND else min(began, moment.time)
        return None if self.gone_by is None else self.last.time

    def value(self, fact: str) -> Any:
        """Return a fact that never changes, from the first observation that has it; None if no observation has it."""
        return next((told for moment in self.moments if (told := getattr(moment.facts, fact, None))), None)

    def facts_at(self, time: int) -> Any:
        """The facts that held at a drawn time; None before the first observation."""
        known = bisect_right(self.moments, time, key=lambda moment: moment.time)
        return self.moments[known - 1].facts if known else None

    def count_until(self, at: At) -> int:
        """How many of its moments lie no later than a place in commit order."""
        return bisect_right(self.moments, at, key=lambda moment: moment.at)

    def differs(self, was: "Track") -> int | None:
        """The drawn time of the first moment that is not as it was; None where all is."""
        if self.ref != was.ref or self.owner != was.owner:
            return 0
        for one, other in zip(self.moments, was.moments, strict=False):
            if one != other:
                return min(one.time, other.time)
        if len(self.moments) == len(was.moments):
            return None
        shorter = min(len(self.moments), len(was.moments))
        return (self.moments[shorter:] or was.moments[shorter:])[0].time

    def addresses(self) -> list[str]:
        """The IP addresses that were its own at any time of its life."""
        states = {id(moment.facts): moment.facts for moment in self.moments}
        return sorted({each for facts in states.values() for each in self.kind.addresses(facts) if each})

    def references(self) -> set[Name]:
        """The names this object needed at any time of its life."""
        if self._references is None:
            states = {id(moment.facts): moment.facts for moment in self.moments}
            told = {reference for facts in states.values() for reference in self.kind.references(facts)}
            self._references = {_name(reference, self.ref.namespace) for reference in told}
        return self._references


@lru_cache(10_000)
def _name(reference: Reference, namespace: str) -> Name:
    """What an object in a namespace means by it."""
    group, kind, name, _, own = reference
    return Name(group, kind, namespace if own is None else own, name)


def lives_of(name: Name, groups: list[list[Entry]], clock: CommitClock, space: str) -> list[Track]:
    """The tracks of one name: one a UID, and for entries without UID one a life, cut at creations and deletions."""
    lives: list[list[tuple[int, Entry]]] = []
    drawn = clock.drawn
    for entries in groups:
        timed = [
            (drawn(entry.resource_version, entry.near, entry.staged, entry.undated), entry)
            if entry.arrived
            else (drawn(entry.resource_version, entry.received, entry.staged), entry)
            for entry in entries
        ]
        if len(timed) > 1:
            timed.sort(key=_position)
        if entries[0].ref.uid:
            lives.append(timed)
            continue
        for each in timed:
            open_life = lives and not lives[-1][-1][1].ref.uid and lives[-1][-1][1].change is not Change.DELETED
            if each[1].change is Change.CREATED or not open_life:
                lives.append([each])
            else:
                lives[-1].append(each)
    if len(lives) > 1:
        lives.sort(key=lambda timed: (timed[0][0], timed[0][1].resource_version or 0, timed[0][1].ref.uid))
    return _apart([_track(name, number, timed, space, clock) for number, timed in enumerate(lives, 1)])


def _apart(tracks: list[Track]) -> list[Track]:
    """The lives of one name, none of which begins before the one before it has ended: what is drawn when it arrived,
    since nothing else tells when it was made, lies no later than the beginning of the life that followed."""
    if len(tracks) < 2 or any(track.first.entry.resource_version is None for track in tracks):
        return tracks
    tracks = sorted(tracks, key=_revision)
    for at in range(len(tracks) - 2, -1, -1):
        tracks[at] = _ended_before(tracks[at], tracks[at + 1].first)
    return sorted(tracks, key=lambda track: (track.first.time, _revision(track), track.ref.uid))


def _revision(track: Track) -> int:
    return track.first.entry.resource_version or 0


def _ended_before(track: Track, begun: Moment) -> Track:
    """A life whose end was observed, drawn no later than the next life of its name begins, as far as clocks allow."""
    last = track.last.entry.resource_version
    if not track.ended or track.last.time <= begun.time or last is None or last >= begun.at[1]:
        return track
    latest = max(begun.time, begun.committed[1] or begun.time)
    moments: list[Moment] = []
    drawn = 0
    for moment in track.moments:
        if moment.entry.undated and moment.time > begun.time:
            time = max(drawn, begun.time, moment.entry.received)
            place = time, moment.at[1]
            moment = replace(moment, time=time, at=place, latest=max(time, min(moment.time, latest)))
        drawn = moment.time
        moments.append(moment)
    return Track(track.ref, track.name, track.owner, moments)


ANONYMOUS = "life-"  # begins the UID of a track whose observations carry none


def name_of(ref: ObjectRef) -> Name:
    return Name(ref.group, ref.kind, ref.namespace, ref.name)


def anonymous(ref: ObjectRef) -> int:
    """Of a track without a UID: which life of its name it is, from 0. 0 for all others."""
    number = ref.uid.removeprefix(ANONYMOUS)
    return int(number) - 1 if number != ref.uid and number.isdecimal() and len(number) < 7 else 0


def public_uid(ref: ObjectRef) -> str:
    """The UID as the cluster wrote it; "" where it was never told."""
    return "" if ref.uid.startswith(ANONYMOUS) else ref.uid


def _position(timed: tuple[int, Entry]) -> tuple[int, int, int, int, str, str]:
    drawn, entry = timed
    return (
        _end(entry) if entry.ref.uid else 0,
        drawn,
        entry.resource_version or 0,
        entry.staged,
        entry.identity,
        entry.change,
    )


def _end(entry: Entry) -> int:
    """A UID is created once and deleted once, whatever the clocks say; a watch may show it anew."""
    if entry.change is Change.CREATED and entry.clock is Clock.AUDIT:
        return -1
    return int(entry.change is Change.DELETED)


def _track(name: Name, number: int, timed: list[tuple[int, Entry]], space: str, clock: CommitClock) -> Track:
    moments: list[Moment] = []
    facts: Facts | None = None
    owner: Owner | None = None
    latest = 0
    for time, entry in timed:
        if entry.facts is not None:
            if facts != entry.facts:
                facts = entry.facts
        elif facts is None:
            facts = kind_of(name.group, name.kind).facts_type()
        if entry.sets:
            facts = replace(facts, **dict(entry.sets))
        owner = owner or entry.owner
        if time > latest:
            latest = time
        before = clock.drawn(entry.resource_version, entry.received, entry.staged) - SECOND if entry.undated else 0
        moments.append(Moment(latest, facts, entry, (latest, entry.resource_version or 0), space, before))
    ref = timed[0][1].ref
    if not ref.uid:  # a stable stand-in, so that each life has a key of its own
        ref = replace(ref, uid=f"{ANONYMOUS}{number}")
    return Track(ref, name, owner, moments)
