"""Pure: the entries of one name become its lives, each a lifeline in commit order."""

from typing import Any, NamedTuple

import msgspec

from timeline.entries import Change, Entry, Facts, ObjectRef, Owner, Place
from timeline.kinds import Kind, kind_of
from timeline.order import CommitClock, Stamp

SECOND = 1_000_000  # µs; deletionTimestamp and startedAt are whole seconds


class Name(NamedTuple):
    """What stays when an object is re-created: a lane of the timeline."""

    group: str
    kind: str
    namespace: str
    name: str


class Moment(msgspec.Struct, frozen=True, gc=False):
    """One change in a lifeline. `time` is drawn, microseconds; `facts`, of the kind's type, is the state from here."""

    time: int
    stamp: Stamp
    change: Change
    facts: Any
    action: str
    actor: str
    user_agent: str
    identity: str
    place: Place | None
    replaces: int | None = None  # the revision whose place it surely took

    @property
    def at(self) -> tuple[int, int]:
        """Its place in commit order, also among moments that are drawn at one time."""
        return self.time, self.stamp.resource_version or 0


class Track:
    """One object's life: one UID, or one life of a name where the observations carry no UID."""

    def __init__(self, ref: ObjectRef, owner: Owner | None, moments: list[Moment]) -> None:
        self.ref = ref
        self.owner = owner
        self.moments = moments
        self.gone_by: int | None = None  # drawn time by which it had surely gone, where its removal was not observed
        self.kind: Kind = kind_of(ref.group, ref.kind)

    def __repr__(self) -> str:
        return f"<Track {self.ref.kind} {self.ref.namespace}/{self.ref.name} {self.ref.uid}>"

    @property
    def family(self) -> str:
        """The colour and filter it belongs to; the heartbeats of nodes are noise."""
        return "Cluster" if self.ref.namespace == "kube-node-lease" else self.kind.family

    @property
    def name(self) -> Name:
        return Name(self.ref.group, self.ref.kind, self.ref.namespace, self.ref.name)

    @property
    def key(self) -> tuple[Name, str]:
        return self.name, self.ref.uid

    @property
    def first(self) -> Moment:
        return self.moments[0]

    @property
    def last(self) -> Moment:
        return self.moments[-1]

    @property
    def created(self) -> Moment | None:
        """The creation, if it was observed."""
        return self.first if self.first.change is Change.CREATED else None

    @property
    def ended(self) -> Moment | None:
        """The removal, if it was observed."""
        return self.last if self.last.change is Change.DELETED else None

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
                return asked if 0 < asked <= moment.time - SECOND else moment.time
        return None if self.gone_by is None else self.last.time

    def told(self, fact: str) -> Any:
        """A fact that never changes, from the first observation that told it; None where none did."""
        return next((told for moment in self.moments if (told := getattr(moment.facts, fact, None))), None)

    def facts_at(self, time: int) -> Any:
        """The facts that held at a drawn time; None before the first observation."""
        held = None
        for moment in self.moments:
            if moment.time > time:
                break
            held = moment.facts
        return held

    def references(self) -> set[Name]:
        """The names this object needed at any time of its life."""
        found = set()
        seen: Facts | None = None
        for moment in self.moments:
            if moment.facts is not seen:
                seen = moment.facts
                for reference in self.kind.references(seen):
                    namespace = self.ref.namespace if reference.namespaced else ""
                    found.add(Name(reference.group, reference.kind, namespace, reference.name))
        return found


def identity(entry: Entry) -> object:
    """What makes two observations one change."""
    if entry.resource_version is not None:
        return entry.resource_version
    if entry.change is Change.DELETED and entry.ref.uid:
        return Change.DELETED
    return entry.identity or (entry.change, entry.received, entry.staged)


def precedence(entry: Entry) -> tuple[bool, int, int, str, str, int]:
    """Of several observations of one change the first stands: a later write that repeats its revision wrote nothing."""
    file, line = (entry.place.file, entry.place.line) if entry.place else ("", 0)
    return entry.resource_version is None, entry.received, entry.staged, entry.identity, file, line


def lives_of(name: Name, groups: list[list[Entry]], clock: CommitClock) -> list[Track]:
    """The tracks of one name: one a UID, and for entries without UID one a life, cut at creations and deletions."""
    lives: list[list[Entry]] = []
    for entries in groups:
        entries.sort(key=lambda entry: _position(entry, clock))
        if entries[0].ref.uid:
            lives.append(entries)
            continue
        for entry in entries:
            open_life = lives and not lives[-1][-1].ref.uid and lives[-1][-1].change is not Change.DELETED
            if entry.change is Change.CREATED or not open_life:
                lives.append([entry])
            else:
                lives[-1].append(entry)
    tracks = [_track(entries, clock) for entries in lives]
    tracks.sort(key=lambda track: (track.first.time, track.ref.uid))
    for number, track in enumerate(tracks):
        if not track.ref.uid:  # a stable stand-in, so that each life has a key of its own
            track.ref = msgspec.structs.replace(track.ref, uid=f"{ANONYMOUS}{number + 1}")
    return tracks


ANONYMOUS = "life-"  # begins the UID of a track whose observations carry none


def public_uid(ref: ObjectRef) -> str:
    """The UID as the cluster wrote it; "" where it was never told."""
    return "" if ref.uid.startswith(ANONYMOUS) else ref.uid


def _position(entry: Entry, clock: CommitClock) -> tuple[bool, int, int, int, str, str]:
    stamp = Stamp(entry.resource_version, entry.received, entry.staged)
    drawn = clock.drawn(stamp)
    anonymous = not entry.ref.uid
    return (
        entry.change is Change.DELETED and not anonymous,  # a UID's deletion ends it, whatever its clock says
        drawn,
        entry.resource_version or 0,
        entry.staged,
        entry.identity,
        entry.change,
    )


def _track(entries: list[Entry], clock: CommitClock) -> Track:
    moments: list[Moment] = []
    facts: Facts | None = None
    owner: Owner | None = None
    ref = entries[0].ref
    kind = kind_of(ref.group, ref.kind)
    time = 0
    for entry in entries:
        if entry.facts is not None:
            facts = facts if facts == entry.facts else entry.facts
        elif facts is None:
            facts = kind.facts_type()
        if entry.sets:
            facts = msgspec.structs.replace(facts, **dict(entry.sets))
        owner = owner or entry.owner
        stamp = Stamp(entry.resource_version, entry.received, entry.staged)
        time = max(time, clock.drawn(stamp))
        moments.append(
            Moment(
                time,
                stamp,
                entry.change,
                facts,
                entry.action,
                entry.actor,
                entry.user_agent,
                entry.identity,
                entry.place,
                entry.replaces,
            )
        )
    return Track(ref, owner, moments)
