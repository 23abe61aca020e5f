"""Pure: the lives that entries tell, whatever order they come in.

A `World` takes entries of one source (`learn`), and when asked (`settle`) puts each object's moments into commit order.
Between the two nothing is decided, so permutation, repetition and batching of the entries leave no trace.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator

import msgspec

from timeline.entries import Entry, ObjectRef
from timeline.lifelines import Moment, Name, Track, identity, lives_of, precedence, public_uid
from timeline.order import CommitClock, Stamp


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
            change = identity(entry)
            before = known.get(change)
            if before is None or precedence(entry) < precedence(before):
                # The body is for the store; a world of a million entries keeps facts alone.
                known[change] = msgspec.structs.replace(entry, body=b"") if entry.body else entry
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
            tracks = lives_of(name, [list(self._entries[name, uid].values()) for uid in sorted(keys[name])], clock)
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

    def sees(self, group: str, kind: str) -> bool:
        """Whether the source shows objects of this kind at all; one that it never shows is never judged absent."""
        return any(name.group == group and name.kind == kind for name in self._lanes)

    def complete(self, group: str, kind: str, start: int, end: int) -> bool:
        """Whether no write of this kind is known to be missing between two drawn times."""
        return self.sees(group, kind)

    def unbroken(self, before: Moment, after: Moment, track: Track) -> bool:
        """Whether surely no write of this track lies between two of its moments, one following the other."""
        if after.replaces is not None and before.stamp.resource_version is not None:
            return after.replaces == before.stamp.resource_version
        return self.complete(track.ref.group, track.ref.kind, before.time, after.time)

    def tally(self, owner_uid: str, spell: str, at: tuple[int, int]) -> int:
        """How many children of an owner were in a spell (a named stretch of their lives, as `Kind.spells` gives them)
        right after `at`, a `Moment.at`. Costs the logarithm of their number."""
        inside = 0
        for key in self._children.get(owner_uid, ()):
            track = self.track(key)
            for name, start, end in track.kind.spells(track) if track else ():
                inside += name == spell and start <= at and (end is None or at < end)
        return inside

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
