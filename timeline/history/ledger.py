"""Pure: what was learned of each object, and its lives in commit order.

A `Ledger` takes entries of one source (`learn`), and when asked (`settle`) gives the lives of the names that changed.
Between the two nothing is decided, so permutation, repetition and batching of the entries leave no trace.
"""

from bisect import bisect_left, bisect_right, insort
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from itertools import chain

from msgspec.structs import replace

from timeline.core.entries import FOREVER, Change, Clock, Entry, Mark, MarkType, Observation
from timeline.core.observations import identity, merged, reconciled
from timeline.core.order import SECOND, CommitClock, offsets
from timeline.history.folding import MANY, Folded, fold
from timeline.history.lifelines import Name, Track, lives_of, name_of
from timeline.history.seen import GroupKind, Seen
from timeline.history.snapshot import ObjectSnapshot, Snapshot
from timeline.history.spaces import FEW, calibrated, shared
from timeline.history.streams import Stream
from timeline.kinds import kind_of

_LONGEST = 2_000  # changes of one object of a live source that are held at a time
_RECENT = 5_000  # changes that may be drawn otherwise when one comes late
_ON_ITS_WAY = 5 * SECOND  # µs that a change may take from its commit to whoever watches
Stamped = tuple[int | None, int, int]  # resource version, received, staged


class _Object:
    """What was learned of one UID, or of one name where the observations carry no UID."""

    __slots__ = ("entries", "folded", "name", "number", "room", "seen", "uid")

    def __init__(self, name: Name, uid: str, number: int, seen: Seen) -> None:
        self.name = name
        self.uid = uid
        self.number = number
        self.seen = seen
        self.entries: dict[object, Entry] = {}
        self.folded: Folded | None = None
        self.room = MANY  # entries that it may have before some are left out

    def fold(self, blind: Callable[[int, int], bool]) -> None:
        """Leave out what says nothing new; `blind`: whether its stream was, between two arrivals."""
        if len(self.entries) + len(self.folded or ()) >= MANY:
            self.folded = self.folded or Folded()
            self.folded.add(fold(self.entries, kind_of(self.name.group, self.name.kind), blind))
            self.room = max(MANY, 2 * len(self.entries))

    def shorten(self) -> None:
        """Keep how it began and the latest changes of one that is written to all the time."""
        if len(self.entries) > _LONGEST:
            changes = sorted(self.entries, key=lambda change: self.entries[change].resource_version or 0)
            for change in changes[1 : -_LONGEST // 2]:
                del self.entries[change]
            self.room = _LONGEST

    def merged(self, before: Entry, now: Entry) -> Entry:
        """What two observations of one change tell; writes that were left out before it stay so."""
        after = merged(before, now)
        if self.folded and after.replaces in self.folded:
            return replace(after, replaces=before.replaces, facts=before.facts)
        return after


class Ledger:
    """The entries of one source, by object.

    What `keeps` refuses is counted as seen, and not kept; nor is then a write between two that say the same.
    """

    def __init__(self, keeps: Callable[[Entry], bool] | None = None) -> None:
        self._keeps = keeps
        self._refused: dict[object, Entry] = {}  # without their facts
        self._objects: dict[tuple[str, str, str, str, str], _Object] = {}
        self._lanes: dict[Name, list[_Object]] = {}
        self._lane_numbers: dict[Name, int] = {}
        self._numbers = 0  # objects that were ever begun
        self._lanes_numbered = 0
        self._unsettled: dict[Name, None] = {}
        self._fresh: list[Entry] = []
        self._files: set[str] = set()  # of audit logs: each has a clock of its own
        self._offsets: dict[str, int] = {}
        self._spaces: dict[GroupKind, str] = {}
        self._recent: dict[str, list[tuple[int, Name]]] = defaultdict(list)  # by space: what was learned last, in order
        self.clocks: dict[str, CommitClock] = defaultdict(CommitClock)
        self.seen: dict[GroupKind, Seen] = defaultdict(Seen)
        self.streams: dict[GroupKind, Stream] = defaultdict(Stream)  # of kinds that are watched live
        self.first = 0  # what the source covers, microseconds
        self.last = 0
        self.remembered = 0  # of what ended before, microseconds, some was forgotten
        self._steps: dict[str, dict[int, int]] = defaultdict(dict)  # of the clocks, by changes that were forgotten
        self.answered = FOREVER  # when an audit log begins to be whole: its first answer
        self.logged = (FOREVER, 0)  # from when until when audit logs tell anything

    def learn(self, entries: Iterable[Observation]) -> Iterator[tuple[int, Observation]]:
        """Remember what was observed, and hand on what told anything new with its track's number (0 for marks). Consume
        it to the end.

        What is handed on is enough to learn all of it again.
        """
        keeps, objects = self._keeps, self._objects
        for entry in entries:
            if isinstance(entry, Mark):
                if entry.what is MarkType.LISTED:
                    self.seen[entry.group, entry.kind].streamed = True
                if self.streams[entry.group, entry.kind].learn(entry):
                    self._reach(entry.time, entry.time, logged=False)
                    yield 0, entry
                continue
            if keeps and not keeps(entry):
                self._refuse(entry)
                continue
            ref = entry.ref
            key = (ref.uid, ref.name, ref.namespace, ref.kind, ref.group)
            known = objects.get(key) or self._begin(key)
            change = identity(entry)
            before = known.entries.get(change)
            if entry.arrived and entry.change is not Change.OBSERVED:
                self.streams[ref.group, ref.kind].reach(entry.resource_version, entry.arrived)
            # The body is for the store; a world of a million entries keeps facts alone.
            now = replace(entry, body=b"") if entry.body else entry
            news = self._extend(now)
            folded = before is None and known.folded is not None and change in known.folded
            news |= known.seen.count(now, now if folded else before)
            if folded:
                continue
            if before is None:
                known.entries[change] = now
                self._note(known, now)
                yield known.number, entry
                if len(known.entries) > known.room and (keeps or entry.arrived):
                    known.fold(self._blind(known.name))
                    if entry.arrived:
                        known.shorten()
            elif (now := known.merged(before, now)) != before:
                known.entries[change] = now
                if now.near != before.near:
                    self._spaces = {}  # a time that was drawn by is another one
                self._note(known, now)
                known.seen.recount(before, now)
                yield known.number, entry
            elif news:
                yield known.number, entry

    def _refuse(self, entry: Entry) -> None:
        ref = entry.ref
        change = ref.group, ref.kind, ref.uid or (ref.namespace, ref.name), identity(entry)
        before = self._refused.get(change)
        now = replace(entry, facts=None, body=b"") if entry.facts or entry.body else entry
        self._extend(now)
        seen = self.seen[ref.group, ref.kind]
        seen.count(now, before)
        if before is None:
            self._refused[change] = now
        elif (now := merged(before, now)) != before:
            self._refused[change] = now
            seen.recount(before, now)

    def _begin(self, key: tuple[str, str, str, str, str]) -> _Object:
        uid, name, namespace, kind, group = key
        lane = Name(group, kind, namespace, name)
        self._numbers += 1
        known = self._objects[key] = _Object(lane, uid, self._numbers, self.seen[lane[:2]])
        self._lanes.setdefault(lane, []).append(known)
        if lane not in self._lane_numbers:
            self._lanes_numbered += 1
            self._lane_numbers[lane] = self._lanes_numbered
        return known

    def _blind(self, name: Name) -> Callable[[int, int], bool]:
        stream = self.streams.get(name[:2])
        return stream.blind if stream else _never

    def _note(self, known: _Object, entry: Entry) -> None:
        self._unsettled[known.name] = None
        if not self._keeps:  # else everything is judged at once
            self._fresh.append(entry)

    def _extend(self, entry: Entry) -> bool:
        """Take note of what the source covers; whether that was news."""
        if entry.arrived:
            began = entry.arrived if entry.change is Change.OBSERVED else entry.received
            return self._reach(began, entry.arrived, logged=False)
        logged = entry.clock is Clock.AUDIT
        if logged and entry.place and entry.place.file not in self._files:
            self._files.add(entry.place.file)
            return self._reach(entry.received, entry.staged, logged) or True
        return self._reach(entry.received, entry.staged, logged)

    def _reach(self, received: int, staged: int, logged: bool) -> bool:
        news = False
        end = staged
        if end == FOREVER:
            end = received
        elif end < self.answered:
            self.answered, news = end, True
        if logged and (received < self.logged[0] or end > self.logged[1]):
            self.logged, news = (min(received, self.logged[0]), max(end, self.logged[1])), True
        if received < self.first or not self.first:
            self.first, news = received, True
        if end > self.last:
            self.last, news = end, True
        return news

    def _cover(self) -> None:
        """The same by the clock that all follow: one that is ahead would make the source go on for longer."""
        self.first, self.last, self.answered, self.logged = 0, 0, FOREVER, (FOREVER, 0)
        for entry in self.entries():
            self._extend(entry)
        for _, received, staged in self._folded():
            self._reach(received, staged, logged=True)

    def entries(self) -> Iterator[Entry]:
        """Every change that is kept, or was refused, in no order, by the clock that all follow."""
        kept = (entry for each in self._objects.values() for entry in each.entries.values())
        known = chain(kept, self._refused.values())
        return map(self._on_time, known) if self._offsets else known

    def stamps(self) -> Iterator[Stamped]:
        """Of every change that was seen, in no order."""
        yield from ((entry.resource_version, entry.received, entry.staged) for entry in self.entries())
        yield from self._folded()

    def _folded(self, objects: "Iterable[_Object] | None" = None) -> Iterator[tuple[int, int, int]]:
        """The stamps of what was left out."""
        for each in self._objects.values() if objects is None else objects:
            for file, revision, received, staged in each.folded or ():
                ahead = self._offsets.get(file, 0)
                yield revision, received - ahead, _earlier(staged, ahead)

    def logged_times(self) -> set[int]:
        """When writes were received that audit logs tell, microseconds."""
        times = {entry.received for entry in self.entries() if entry.clock is Clock.AUDIT}
        return times.union(received for _, received, _ in self._folded())

    def mixed(self) -> tuple[Entry, Entry] | None:
        """Two entries that cannot be of one cluster: two lives of the namespace kube-system, or, where it happens again
        and again, one revision of two objects."""
        if systems := self.systems():
            return systems
        told = [
            (entry.resource_version, entry)
            for each in self._objects.values()
            if each.uid and shared(each.name.group, each.name.kind)
            for entry in each.entries.values()
            if entry.resource_version is not None
        ]
        if len({revision for revision, _ in told}) == len(told):
            return None
        writers: dict[int, dict[str, Entry]] = defaultdict(dict)
        for revision, entry in told:
            writers[revision][entry.ref.uid] = entry
        clashes = [revision for revision, by_uid in writers.items() if len(by_uid) > 1]
        if len(clashes) < FEW:
            return None
        first, second, *_ = sorted(writers[min(clashes)].values(), key=_told)
        return first, second

    def systems(self) -> tuple[Entry, Entry] | None:
        """Two lives of the namespace kube-system, which no cluster has."""
        system = self._lanes.get(Name("", "Namespace", "", "kube-system"), [])
        named = [min(each.entries.values(), key=_told) for each in system if each.uid]
        if len(named) < 2:
            return None
        first, second, *_ = sorted(named, key=_told)
        return first, second

    def number(self, name: Name, uid: str) -> int:
        """A short key of (name, UID) within the source; the lives of a name without UIDs share one. 0: never seen."""
        known = self._objects.get((uid, name.name, name.namespace, name.kind, name.group))
        return known.number if known else 0

    def lane_number(self, name: Name) -> int:
        return self._lane_numbers[name]

    def settle(self) -> dict[Name, list[Track]]:
        """The lives of each name of which something may have changed since the last time."""
        names: Iterable[Name] = self._unsettled
        if self._keeps:
            for each in self._objects.values():
                each.fold(self._blind(each.name))
        if (names or self._respaced()) and not self._grow():
            self._rebuild()
            names = self._lanes
        settled = {name: self._lives(name) for name in sorted(names) if name in self._lanes}
        self._unsettled = {}
        self._fresh = []
        return settled

    def _lives(self, name: Name) -> list[Track]:
        space = self._spaces.get(name[:2], "")
        objects = self._lanes[name]
        if len(objects) > 1:
            objects.sort(key=lambda each: each.uid)
        groups = [list(each.entries.values()) for each in objects]
        if self._offsets:
            groups = [[self._on_time(entry) for entry in entries] for entries in groups]
        if (seen := self.seen[name[:2]]).levels and (seen.streamed or seen.listed):
            until = seen.streamed_until + SECOND if seen.watched and seen.streamed else 0
            groups = [reconciled(entries, until) for entries in groups]
        return lives_of(name, groups, self.clocks[space], space)

    def _on_time(self, entry: Entry) -> Entry:
        """The entry by the clock that the others follow."""
        ahead = self._offsets.get(entry.place.file, 0) if entry.place and entry.clock is Clock.AUDIT else 0
        if not ahead:
            return entry
        return replace(entry, received=entry.received - ahead, staged=_earlier(entry.staged, ahead))

    def _grow(self) -> bool:
        """Whether what is new follows all that was known, so that the past stays as it is."""
        if self._keeps or not self._spaces or len(self._files) > 1:
            return False
        if self.live:
            return self._follow()
        if any(seen.levels and (seen.streamed or seen.listed) for seen in self.seen.values()):
            return False  # what a log tells beside a watch depends on how far the watch goes
        if not {(entry.ref.group, entry.ref.kind) for entry in self._fresh} <= self._spaces.keys():
            return False
        stamps: dict[str, list[tuple[int, int, int]]] = defaultdict(list)
        for entry in self._fresh:
            if entry.resource_version is not None:
                space = self._spaces[entry.ref.group, entry.ref.kind]
                stamps[space].append((entry.resource_version, entry.received, entry.staged))
        return all(self.clocks[space].extend(commits) for space, commits in stamps.items())

    def forget(self, name: Name, uid: str) -> None:
        """An object is over, and so long ago that nothing is judged by it any more. The lives of a name that carry no
        UID are one object, and go together."""
        known = self._objects.pop((uid, name.name, name.namespace, name.kind, name.group), None)
        if known is None:
            return
        self._lanes[name].remove(known)
        if not self._lanes[name]:
            del self._lanes[name], self._lane_numbers[name]

    def forgotten(self, before: int) -> None:
        """What was over before a drawn time has been forgotten: keep of the clocks what draws the changes that are
        still known, so that these stay where they are."""
        self.remembered = max(self.remembered, before)
        told: dict[str, set[int]] = defaultdict(set)
        for each in self._objects.values():
            told[self._spaces.get(each.name[:2], "")] |= {
                entry.resource_version for entry in each.entries.values() if entry.resource_version is not None
            }
            if each.folded:
                each.folded.drop(before)
        for space, clock in self.clocks.items():
            clock.thin(sorted(told[space]))
            self._steps[space] = {revision: time for revision, time in clock.steps() if revision not in told[space]}

    def snapshot(self) -> Snapshot:
        """Return everything that is known, in a form that can be stored."""
        objects = [
            ObjectSnapshot(each.number, self._lane_numbers[each.name], list(each.entries.values()))
            for each in self._objects.values()
        ]
        marks = [mark for kind, stream in self.streams.items() for mark in stream.marks(kind)]
        seen = [(*kind, seen.state()) for kind, seen in self.seen.items()]
        steps = [(space, *step) for space, steps in self._steps.items() for step in steps.items()]
        return Snapshot(
            self.first, self.last, self.remembered, self._numbers, self._lanes_numbered, seen, marks, steps, objects
        )

    def restore(self, snapshot: Snapshot) -> None:
        """Know what a snapshot knows. Nothing may have been learned before."""
        self.first, self.last, self.remembered = snapshot.first, snapshot.last, snapshot.remembered
        for space, revision, time in snapshot.steps:
            self._steps[space][revision] = time
        for group, kind, state in snapshot.seen:
            self.seen[group, kind].restore(state)
        for mark in snapshot.marks:
            self.streams[mark.group, mark.kind].learn(mark)
        for number, lane, entries in snapshot.objects:
            ref = entries[0].ref
            name = name_of(ref)
            known = _Object(name, ref.uid, number, self.seen[name[:2]])
            known.entries = {identity(entry): entry for entry in entries}
            known.room = max(MANY, len(entries))
            self._objects[ref.uid, ref.name, ref.namespace, ref.kind, ref.group] = known
            self._lanes.setdefault(name, []).append(known)
            self._lane_numbers[name] = lane
            self._unsettled[name] = None
        self._numbers, self._lanes_numbered = snapshot.numbers, snapshot.lanes

    @property
    def live(self) -> bool:
        """Whether all of it comes from streams that go on."""
        return bool(self.streams) and not self._files

    def _follow(self) -> bool:
        """The same of streams: they run side by side, so what is new may lie before what another one has told."""
        known = self._spaces
        self._spaces = self._live_spaces()
        if any(self._spaces[kind] != space for kind, space in known.items()):
            self._steps.clear()  # they may be of kinds that count otherwise
            return False
        for entry in self._fresh:
            if entry.resource_version is None:
                continue
            space = self._spaces[entry.ref.group, entry.ref.kind]
            clock, recent = self.clocks[space], self._recent[space]
            if affected := clock.insert(entry.resource_version, entry.near):
                if recent and affected[0] < recent[0][0] - 1 and len(recent) >= _RECENT:
                    return False
                low, high = bisect_right(recent, affected[0], key=_first), bisect_left(recent, affected[1], key=_first)
                self._unsettled.update((name, None) for _, name in recent[low:high])
            insort(recent, (entry.resource_version, name_of(entry.ref)))
        for recent in self._recent.values():
            if len(recent) > 2 * _RECENT:
                del recent[:-_RECENT]
        return True

    def _respaced(self) -> bool:
        """Whether streams have told since that kinds count otherwise than was known."""
        return self.live and any(self._live_spaces()[kind] != space for kind, space in self._spaces.items())

    def _live_spaces(self) -> dict[GroupKind, str]:
        """A kind that was not seen often enough to count with the others counts for itself."""
        counted = {kind: kind_of(*kind).kind for kind in self.seen}
        return {
            kind: "" if (stream := self.streams.get(kind)) and stream.together and shared(*kind) else own
            for kind, own in counted.items()
        }

    def reached(self, kind: GroupKind) -> int:
        """The drawn time up to which a stream has told everything; whether that is borne out by its revision, too, is
        what tells a confirmed finding from a suspected one.

        An API server may repeat the revision of a kind that is quiet for ten minutes, while others go on: its bookmarks
        tell that nothing came meanwhile, but for what is on its way.
        """
        stream = self.streams[kind]
        clock = self.clocks[self._spaces.get(kind, "")]
        heard = stream.reached_at if clock.last <= stream.reached else stream.reached_at - _ON_ITS_WAY
        return max(heard, clock.time_of(stream.reached))

    @property
    def offsets(self) -> dict[str, int]:
        """How far the clock behind each file is ahead of the others', microseconds; those that agree are left out."""
        return dict(sorted(self._offsets.items()))

    def commits(self) -> Iterator[tuple[int, int]]:
        """(drawn time, revision) of every change that was counted by the counter that most kinds share."""
        clock = self.clocks[""]
        for each in self._objects.values():
            if self._spaces.get(each.name[:2], ""):
                continue
            for entry in map(self._on_time, each.entries.values()):
                revision = entry.resource_version
                if revision is not None and entry.arrived:
                    yield clock.drawn(revision, entry.near, entry.staged, entry.undated), revision
                elif revision is not None:
                    yield clock.drawn(revision, entry.received, entry.staged), revision
            for revision, received, staged in self._folded([each]):
                yield clock.drawn(revision, received, staged), revision

    @property
    def own_counters(self) -> list[GroupKind]:
        """The kinds that do not count their revisions by the counter that most share."""
        return sorted(kind for kind, space in self._spaces.items() if space)

    def _rebuild(self) -> None:
        """Clocks, offsets and spaces from everything that is known."""
        told: dict[GroupKind, list[Entry]] = defaultdict(list)
        for each in self._objects.values():
            told[each.name[:2]] += [entry for entry in each.entries.values() if entry.resource_version is not None]
        for entry in self._refused.values():
            if entry.resource_version is not None:
                told[entry.ref.group, entry.ref.kind].append(entry)
        self._offsets = {}
        if len(self._files) > 1:
            self._offsets = offsets(
                (entry.resource_version or 0, entry.place.file, entry.received, entry.staged)
                for kind, entries in told.items()
                if shared(*kind)
                for entry in entries
                if entry.clock is Clock.AUDIT and entry.place
            )
            if self._offsets:
                told = {kind: [self._on_time(entry) for entry in entries] for kind, entries in told.items()}
            self._cover()
        self._spaces = self._live_spaces() if self.live else calibrated(self.seen, told)
        stamps: dict[str, list[tuple[int, int, int]]] = defaultdict(list)
        for kind, entries in told.items():
            commits = [(entry.resource_version or 0, entry.near, entry.staged) for entry in entries]
            stamps[self._spaces[kind]] += commits
        for each in self._objects.values():
            if each.folded:
                stamps[self._spaces[each.name[:2]]] += self._folded([each])
        for space, steps in self._steps.items():
            stamps[space] += [(revision, time, FOREVER) for revision, time in steps.items()]
        self.clocks = defaultdict(CommitClock)
        for space, commits in stamps.items():
            self.clocks[space] = CommitClock(commits)
        self._recent = defaultdict(list)
        if self.live:
            for kind, entries in told.items():
                self._recent[self._spaces[kind]] += [
                    (each.resource_version or 0, name_of(each.ref)) for each in entries
                ]
            for recent in self._recent.values():
                recent.sort()
                del recent[:-_RECENT]


def _never(since: int, until: int) -> bool:
    return False


def _first(pair: tuple[int, Name]) -> int:
    return pair[0]


def _told(entry: Entry) -> tuple[int, int, str, str, str]:
    """An order of entries that no order of lines changes."""
    file = entry.place.file if entry.place else ""
    return entry.received, entry.resource_version or 0, file, entry.ref.uid, entry.identity


def _earlier(staged: int, ahead: int) -> int:
    return staged if staged == FOREVER else staged - ahead
