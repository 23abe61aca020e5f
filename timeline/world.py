"""Pure: the lives that entries tell, whatever order they come in.

A `World` takes entries of one source (`learn`), and when asked (`settle`) puts each object's moments into commit order.
Between the two nothing is decided, so permutation, repetition and batching of the entries leave no trace.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator
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
                asked = getattr(moment.facts, "asked", 0)
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
                    found.add(Name(reference.group, reference.kind, self.ref.namespace, reference.name))
        return found


class World:
    """The tracks of one source and their indexes; complete after `settle`."""

    def __init__(self) -> None:
        self._entries: dict[tuple[Name, str], dict[object, Entry]] = {}
        self._unsettled: set[Name] = set()
        self._numbers: dict[tuple[Name, str], int] = {}
        self._lane_numbers: dict[Name, int] = {}
        self._lanes: dict[Name, list[Track]] = {}
        self._by_uid: dict[str, Track] = {}
        self._children: dict[str, set[tuple[Name, str]]] = defaultdict(set)
        self._referrers: dict[Name, set[tuple[Name, str]]] = defaultdict(set)
        self.first = 0  # what the source covers, microseconds
        self.last = 0

    def learn(self, entries: Iterable[Entry]) -> Iterator[tuple[int, Entry]]:
        """Remember entries, and hand on those that were not known with their track's number. Consume it to the end."""
        for entry in entries:
            ref = entry.ref
            name = Name(ref.group, ref.kind, ref.namespace, ref.name)
            known = self._entries.setdefault((name, ref.uid), {})
            self._lane_numbers.setdefault(name, len(self._lane_numbers) + 1)
            number = self._numbers.setdefault((name, ref.uid), len(self._numbers) + 1)
            identity = _identity(entry)
            before = known.get(identity)
            if before is None or _precedence(entry) < _precedence(before):
                # The body is for the store; a world of a million entries keeps facts alone.
                known[identity] = msgspec.structs.replace(entry, body=b"") if entry.body else entry
                self._unsettled.add(name)
            if before is None:
                yield number, entry

    def settle(self) -> list[Track]:
        """Put what was learned since the last time into order; the tracks that changed."""
        known = [entry for entries in self._entries.values() for entry in entries.values()]
        if known:
            self.first = min(entry.received for entry in known)
            self.last = max(entry.staged for entry in known)
        clock = CommitClock(Stamp(entry.resource_version, entry.received, entry.staged) for entry in known)
        keys: dict[Name, list[str]] = defaultdict(list)
        for name, uid in self._entries:
            keys[name].append(uid)
        changed: list[Track] = []
        for name in sorted(keys):
            tracks = _lives(name, [list(self._entries[name, uid].values()) for uid in sorted(keys[name])], clock)
            if name not in self._unsettled and _equal(tracks, self._lanes.get(name, [])):
                continue
            self._lanes[name] = tracks
            changed += tracks
        self._unsettled.clear()
        self._index(changed)
        known_changes = {track.key for track in changed}
        for track in self.tracks():
            if self._bound(track) and track.key not in known_changes:
                changed.append(track)
        return changed

    def _bound(self, track: Track) -> bool:
        """Whether it became known by when the object had gone.

        A name has one object at a time; and Endpoints go with their Service, which no line of an audit log tells.
        """
        if track.ended:
            return False
        bounds = [other.created.time for other in self.incarnations(track.name) if other.created]
        if track.ref.kind == "Endpoints":
            services = self.incarnations(Name("", "Service", track.ref.namespace, track.ref.name))
            bounds += [service.ended.time for service in services if service.ended]
        before, track.gone_by = track.gone_by, min((time for time in bounds if time > track.last.time), default=None)
        return before != track.gone_by

    def _index(self, tracks: list[Track]) -> None:
        for track in tracks:
            if track.ref.uid:
                self._by_uid[track.ref.uid] = track
            if track.owner:
                self._children[track.owner.uid].add(track.key)
            for name in track.references():
                self._referrers[name].add(track.key)

    def tracks(self) -> Iterator[Track]:
        for name in sorted(self._lanes):
            yield from self._lanes[name]

    def incarnations(self, name: Name) -> list[Track]:
        """The lives of one name, in the order in which they began."""
        return self._lanes.get(name, [])

    def track(self, key: tuple[Name, str]) -> Track | None:
        return next((track for track in self._lanes.get(key[0], []) if track.ref.uid == key[1]), None)

    def number(self, track: Track) -> int:
        """A short key of (name, UID) within the source; the lives of a name without UIDs share one."""
        return self.number_of(track.ref)

    def number_of(self, ref: ObjectRef) -> int:
        return self._numbers[Name(ref.group, ref.kind, ref.namespace, ref.name), public_uid(ref)]

    def lane(self, track: Track) -> int:
        """A short key of the name within the source."""
        return self._lane_numbers[track.name]

    def children(self, owner: Track) -> list[Track]:
        return self._resolve(self._children.get(owner.ref.uid, set())) if owner.ref.uid else []

    def referrers(self, name: Name) -> list[Track]:
        """The tracks that needed an object of this name at any time."""
        return self._resolve(self._referrers.get(name, set()))

    def _resolve(self, keys: set[tuple[Name, str]]) -> list[Track]:
        return [track for key in sorted(keys) if (track := self.track(key))]

    def owner_of(self, track: Track) -> Track | None:
        """The track of its controller; for objects that name none, of what they are known to belong to."""
        if track.owner:
            return self._by_uid.get(track.owner.uid)
        if track.ref.kind == "Endpoints":  # written without an ownerReference, under its Service's name
            return self._living(Name("", "Service", track.ref.namespace, track.ref.name), track.first.time)
        owners = {
            owner.name: owner
            for user in self.referrers(track.name)
            if user.ref.kind == "Pod" and (owner := self.root(user)) is not user
        }
        return next(iter(owners.values())) if len(owners) == 1 else None  # its users agree on one owner

    def root(self, track: Track) -> Track:
        """The end of the chain of owners, or the track itself."""
        seen = {track.key}
        while (owner := self.owner_of(track)) and owner.key not in seen:
            seen.add(owner.key)
            track = owner
        return track

    def _living(self, name: Name, time: int) -> Track | None:
        """The incarnation that lived at a time; else the last one before it; else the first of all."""
        lives = self.incarnations(name)
        before = [track for track in lives if track.first.time <= time]
        return before[-1] if before else lives[0] if lives else None


def _equal(a: list[Track], b: list[Track]) -> bool:
    return len(a) == len(b) and all(x.ref == y.ref and x.moments == y.moments for x, y in zip(a, b, strict=True))


def _identity(entry: Entry) -> object:
    """What makes two observations one change."""
    if entry.resource_version is not None:
        return entry.resource_version
    if entry.change is Change.DELETED and entry.ref.uid:
        return Change.DELETED
    return entry.identity or (entry.change, entry.received, entry.staged)


def _precedence(entry: Entry) -> tuple[bool, int, int, str, str, int]:
    """Of several observations of one change the first stands: a later write that repeats its revision wrote nothing."""
    file, line = (entry.place.file, entry.place.line) if entry.place else ("", 0)
    return entry.resource_version is None, entry.received, entry.staged, entry.identity, file, line


def _lives(name: Name, groups: list[list[Entry]], clock: CommitClock) -> list[Track]:
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
            )
        )
    return Track(ref, owner, moments)
