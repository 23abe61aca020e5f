"""This module keeps everything that was learned of one source, by object, and puts it into commit order. It is pure.

A `Ledger` accepts entries with `learn`, and `settle` returns the tracks of the names that changed. Nothing is decided
between the two calls, so the order, the repetition and the batching of the entries do not matter.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from itertools import chain
from typing import Any, TypeVar

from msgspec.structs import replace

from timeline.core.entries import (
    FOREVER,
    Change,
    Clock,
    Entry,
    Intent,
    LogLine,
    Mark,
    MarkType,
    ObjectRef,
    Observation,
    Request,
)
from timeline.core.intent import intent_of
from timeline.core.joining import in_order
from timeline.core.machine.sharing import SharedTexts, shared
from timeline.core.machine.spill import Spilling
from timeline.core.observations import identity, merged, reconciled
from timeline.core.order import SECOND, CommitClock
from timeline.history.freed import Freed
from timeline.history.ledger.acts import Acts, acted_in
from timeline.history.ledger.clocks import Clocks, Moved, Stamped
from timeline.history.ledger.conflicts import repeats, two_clusters, two_uids
from timeline.history.ledger.extent import Extent
from timeline.history.ledger.folding import MANY
from timeline.history.ledger.gathering import gathered
from timeline.history.ledger.incarnations import incarnations_of, together
from timeline.history.ledger.joins import Joins
from timeline.history.ledger.object_entries import ObjectEntries
from timeline.history.ledger.spaces import shared as is_shared
from timeline.history.ledger.spilled_objects import ObjectKey, SpilledLanes, SpilledObjects
from timeline.history.ledger.unnamed import Unnamed
from timeline.history.ledger.written import Write, Writes, Written
from timeline.history.lifelines import Name, Track, name_of
from timeline.history.logs import Logs
from timeline.history.requests import Requests, without_effect
from timeline.history.seen import GroupKind, Seen
from timeline.history.shown import Shown
from timeline.history.snapshot import ObjectSnapshot, Snapshot
from timeline.history.streams import Stream
from timeline.kinds import resource_of

_ALL = 0, FOREVER  # the range of all revisions
_Named = TypeVar("_Named", Entry, Request)
_EVENTS, _OTHER_EVENTS = ("", "Event"), ("events.k8s.io", "Event")  # the same objects in two APIs


class Ledger:
    """This class keeps the entries of one source, by object.

    `keeps` returns whether an entry is worth keeping; all other entries are only counted. A ledger with `keeps` is
    settled only once, when everything was learned, and leaves out repetitive writes (see
    `timeline/history/ledger/folding.py`) of recordings, too; a ledger without `keeps` leaves them out of live sources
    only.

    With `spilling`, it is settled only once, too, and what is too much for memory is in a file.

    With `intents`, it keeps of each body what somebody wants of the object (see `timeline/core/intent.py`). With
    `followed`, a worker watches the source, and audit logs only add to what its watches show.
    """

    def __init__(
        self,
        keeps: Callable[[Entry], bool] | None = None,
        *,
        intents: bool = False,
        followed: bool = False,
        spilling: Spilling | None = None,
    ) -> None:
        self._keeps = keeps
        self._spilling = spilling
        self._count = 0  # entries that were new
        self._spilled: SpilledObjects | None = None  # the same as `_objects` since there are too many entries
        self._written: Written | None = None  # what is known of all entries, if they are in a file
        self._followed = followed
        self._intents: dict[Intent | None, Intent | None] | None = {} if intents else None  # each value once
        # Of a followed source: what the facts of many objects have in common.
        self._texts = SharedTexts() if followed else None
        self._refused: dict[tuple[Any, ...], Entry] = {}  # entries that `keeps` refused, without facts but for acts
        self._objects: dict[ObjectKey, ObjectEntries] | SpilledObjects = {}
        # By group and resource: the kinds of resources that a log names without them. And names that are another now.
        self._kinds: dict[GroupKind, GroupKind] = {}
        self._renamed: dict[Name, None] = {}
        self._more_numbers: dict[Name, list[int]] = {}  # those of objects that turned out to be known already
        self._lanes: dict[Name, list[ObjectEntries]] = {}  # not used any more when objects are spilled
        self._lane_numbers: dict[Name, int] = {}
        self._numbers = 0  # how many objects there ever were
        self._lanes_numbered = 0  # how many lanes there ever were
        self._unsettled: dict[Name, None] = {}  # names with new entries since the last `settle`; in order of arrival
        self._fresh: list[Entry] = []  # the new entries themselves
        # Of a followed source: entries that were known, each with what is known of the same change now.
        self._retimed: list[tuple[Entry, Entry]] = []
        self.extent = Extent()
        self.seen: dict[GroupKind, Seen] = defaultdict(Seen)
        self.shown = Shown()
        self.streams: dict[GroupKind, Stream] = defaultdict(Stream)  # of kinds that are watched live
        self.clocks = Clocks(self.seen, self.streams)
        self.requests = Requests(self.clocks.corrected_request, spilling)
        self.acts = Acts(self.clocks.corrected)
        self.unnamed = Unnamed(self._lanes, self.requests, self.acts, self.clocks.corrected)
        self.joins = Joins(self.seen, self.streams, lambda name: self._groups(self._objects_of(name)))
        self.logs = Logs(lambda: self.extent.last)
        self.freed = Freed()
        self.misdated = 0  # observations that are remembered and state a time in the future
        self.remembered = 0  # tracks that ended before this drawn time (µs since 1970) may have been forgotten

    @property
    def live(self) -> bool:
        """Return whether the watches of a live cluster say what is complete, and when."""
        return bool(self.streams) and (self._followed or not self.extent.files)

    # Learning

    def learn(self, entries: Iterable[Observation]) -> Iterator[tuple[int, Observation]]:
        """Learn observations, and yield those that add information, each with the number of its object, or 0 for a
        mark, a request or a line of a log.

        This is a generator: it learns only as far as the caller consumes it. A ledger that later learns just the
        yielded observations knows the same.
        """
        keeps, extend = self._keeps, self.extent.extend
        self._written = None
        for entry in entries:
            if not isinstance(entry, Entry):
                if self._learn_other(entry):
                    yield 0, entry
                continue
            if (kind := (entry.ref.group, entry.ref.kind)) not in self.seen:
                self._meet(kind)
            if kind == _EVENTS and entry.clock is Clock.OBJECT and _OTHER_EVENTS not in self._kinds:
                self._rename(_OTHER_EVENTS, _EVENTS)
            if kind in self._kinds:
                entry = _of_kind(entry, self._kinds[kind])  # it is the same change
            if keeps and not keeps(entry):
                self._refuse(entry)
                continue
            ref = entry.ref
            key = ref.uid, ref.name, ref.namespace, ref.kind, ref.group
            change = identity(entry)
            if self._spilled is None:
                known = self._objects.get(key) or self._begin(key)
            else:
                known = self._spilled.for_change(key, change, whole=entry.arrived != 0) or self._begin(key)
            before = known.entries.get(change)
            if entry.arrived and entry.change is not Change.OBSERVED:
                self.streams[ref.group, ref.kind].show(ref.namespace, entry.resource_version, entry.arrived)
            now = self._without_body(entry) if entry.body else entry
            if self._texts:
                now = _sharing(now, known, self._texts)
            if ref.kind == "Event":
                self._learn_event(now)
            news = extend(now)
            folded = before is None and known.folded is not None and change in known.folded
            news |= known.seen.count(now, now if folded else before) | self.shown.learn(now)
            if folded:
                continue
            if before is None:
                self.misdated += now.misdated != 0
                known.entries[change] = now
                self._note(known, now)
                yield known.number, entry
                if len(known.entries) > known.room and (keeps or entry.arrived):
                    known.fold(self._blind(known.name))
                    if entry.arrived:
                        known.shorten()
                continue
            if later := _later_write(before, now):
                request = without_effect(later)
                self.shown.request(request)
                if self.requests.learn(request):
                    yield 0, request
            if later and before.clock is not now.clock:
                now = now if later is before else before
            else:
                now = known.merged(before, now)
            if now != before:
                known.entries[change] = now
                self._note(known, now, before)
                known.seen.recount(before, now)
                yield known.number, entry
            elif news:
                yield known.number, entry

    def _learn_other(self, other: Mark | Request | LogLine) -> bool:
        """Learn what is no change of an object; return whether it adds information."""
        if isinstance(other, Request):
            if (kind := (other.ref.group, other.ref.kind)) in self._kinds:
                other = _of_kind(other, self._kinds[kind])
            self.shown.request(other)
            if not self.requests.learn(other):
                return False
            self.unnamed.learn(other)
            self.misdated += other.misdated != 0
            return True
        if isinstance(other, LogLine):
            return self.logs.learn(other)
        if other.what is MarkType.FREED:
            return self.freed.add(other.since, other.time)
        if other.what is MarkType.LISTED:
            self.seen[other.group, other.kind].streamed = True
        if not self.streams[other.group, other.kind].learn(other):
            return False
        self.extent.reach(other.time, other.time, logged=False)
        return True

    def _meet(self, kind: GroupKind) -> None:
        """Note that a kind is observed for the first time.

        A log without bodies does not name the kind of a custom resource, so it stands under the name of its resource
        until something shows an object of it.
        """
        group, name = kind
        if name.islower():
            names = [of_group for each, of_group in self.seen if each == group and resource_of(of_group) == name]
            if names and names[0] != name:
                self._kinds[kind] = group, names[0]
        elif (resource := (group, resource_of(name))) not in self._kinds:
            self._rename(resource, kind)

    def _rename(self, called: GroupKind, kind: GroupKind) -> None:
        """Take what a log calls by another kind, or by the name of its resource, for objects of this kind from now on,
        and what is known of them, too."""
        self._kinds[called] = kind
        self.requests.rename(called, kind)
        self.shown.rename(called, kind)
        if called in self.seen:
            self._rename_objects(called, kind)
        self.unnamed.rename(called, kind)

    def _rename_objects(self, called: GroupKind, kind: GroupKind) -> None:
        if isinstance(self._objects, SpilledObjects):
            objects = self._objects.take_kind(called)
        else:
            objects = [each for each in self._objects.values() if each.name[:2] == called]
        self.seen[kind].absorb(self.seen.pop(called))
        for each in objects:
            before, each.name = each.name, shared(Name(*kind, *each.name[2:]))
            each.seen, each.track = self.seen[kind], None
            each.entries = {change: _of_kind(entry, kind) for change, entry in each.entries.items()}
            key = each.uid, each.name.name, each.name.namespace, kind[1], kind[0]
            known = self._objects.get(key)
            if known:
                for change, entry in each.entries.items():
                    now = known.entries.get(change)
                    known.entries[change] = known.merged(now, entry) if now else entry
                known.track = None
                self._more_numbers.setdefault(each.name, []).append(each.number)
            if isinstance(self._objects, dict):
                del self._objects[each.uid, before.name, before.namespace, before.kind, before.group]
                if not known:
                    self._lanes.setdefault(each.name, []).append(each)
                self._lanes.pop(before, None)
                self._renamed[before] = None
                self._unsettled.pop(before, None)
                self._unsettled[each.name] = None
            self._objects[key] = known or each
            number = self._lane_numbers.pop(before, 0)
            self._lane_numbers.setdefault(each.name, number)
        for change, entry in [*self._refused.items()]:
            if change[:2] == called:
                del self._refused[change]
                self._refused[(*kind, *change[2:])] = _of_kind(entry, kind)

    def _without_body(self, entry: Entry) -> Entry:
        """Return an entry as it is kept here. Bodies are stored elsewhere; to hold a million entries in memory, only
        facts and intents are kept."""
        if self._intents is None or (intent := intent_of(entry.ref.group, entry.ref.kind, entry.body)) is None:
            return replace(entry, body=b"")
        return replace(entry, body=b"", intent=self._intents.setdefault(intent, intent))

    def _refuse(self, entry: Entry) -> None:
        ref = entry.ref
        change = ref.group, ref.kind, ref.uid or (ref.namespace, ref.name), identity(entry)
        before = self._refused.get(change)
        facts = entry.facts if acted_in(entry) else None
        now = entry if facts is entry.facts and not entry.body else replace(entry, facts=facts, body=b"")
        if ref.kind == "Event":
            self._learn_event(now)
        self.extent.extend(now)
        self.shown.learn(now)
        seen = self.seen[ref.group, ref.kind]
        seen.count(now, before)
        if before is None:
            self._refused[change] = now
        elif (now := merged(before, now)) != before:
            self._refused[change] = now
            seen.recount(before, now)

    def _learn_event(self, entry: Entry) -> None:
        self.acts.learn(entry)
        self.unnamed.note_event(entry.ref.namespace)

    def _begin(self, key: ObjectKey) -> ObjectEntries:
        uid, name, namespace, kind, group = key
        lane = shared(Name(group, kind, namespace, name))
        self._numbers += 1
        known = self._objects[key] = ObjectEntries(lane, uid, self._numbers, self.seen[lane[:2]])
        if self._spilled is None:
            self._lanes.setdefault(lane, []).append(known)
        if lane not in self._lane_numbers:
            self._lanes_numbered += 1
            self._lane_numbers[lane] = self._lanes_numbered
        return known

    def _blind(self, name: Name) -> Callable[[int, int], bool]:
        stream = self.streams.get(name[:2])
        return partial(stream.blind, namespace=name.namespace) if stream else _never

    def _note(self, known: ObjectEntries, entry: Entry, before: Entry | None = None) -> None:
        """Note that an entry is new, or replaces what was known of the same change before."""
        if self._spilling is None or not self._note_spilled(before):
            self._unsettled[known.name] = None
        self.unnamed.note(known.name)  # what a watch shows says, too, which writes were made when
        if self._followed:
            if before is None:
                known.append(entry)
            else:
                known.track = None
        if before is not None and self._followed:
            if _stamp(before) != _stamp(entry):
                self._retimed.append((before, entry))
            return
        if before is not None and entry.near != before.near:
            self.clocks.reconsider()
        if not self._keeps and not self._spilling:  # else everything is settled at once, whatever was new
            self._fresh.append(entry)

    def _note_spilled(self, before: Entry | None) -> bool:
        """Count an entry if it is new; return whether there are so many that objects are in a file."""
        assert self._spilling
        if self._spilled is not None:
            if before is None:
                self._spilled.count()
            return True
        self._count += before is None
        if self._count > self._spilling.entries and isinstance(self._objects, dict):
            self._spilled = SpilledObjects(self._objects, self._spilling.spill, self._spilling.part, self.seen)
            self._objects = self._spilled
            self._lanes = {}
            self.unnamed.lanes = SpilledLanes(self._spilled)
            self._unsettled = {}
        return self._spilled is not None

    # Settling

    def settle(self) -> dict[Name, list[Track]]:
        """Return all tracks of each name of which something may have changed since the last call, sorted by name."""
        self._unsettled.update(dict.fromkeys(self.joins.reached()))
        names: Iterable[Name] = self._unsettled
        if self._keeps:
            assert isinstance(self._objects, dict)
            for each in self._objects.values():
                if len(each.entries) >= MANY or each.folded:
                    each.fold(self._blind(each.name))
        self.joins.clear()
        if self._followed:
            mixed = (name for name in names if self.joins.concern(name[:2]))
            self._retimed += [each for name in mixed for each in self.joins.retimed(name)]
        moved: Moved | None = {}  # which known changes may be drawn at other times than before; None if all may
        if names or (self.live and self.clocks.respaced()):
            moved = self._grow()
            if moved is None:
                self._rebuild()
            names = self._lanes if moved is None else {**dict.fromkeys(names), **dict.fromkeys(moved)}
        names = {**dict.fromkeys(names), **dict.fromkeys(self.unnamed.settle(self.extent.logged[0], self.remembered))}
        settled = {
            name: self._lives(name, _ALL if moved is None else moved.get(name))
            for name in sorted(names)
            if name in self._lanes
        }
        settled.update({name: [] for name in self._renamed if name not in self._lanes})
        self._renamed = {}
        self._unsettled = {}
        self._fresh = []
        self._retimed = []
        self.joins.clear()
        return settled

    @property
    def is_spilled(self) -> bool:
        """Return whether there are so many entries that they are in a file. Then call `lives` and not `settle`."""
        return self._spilled is not None

    def lives(self) -> Iterator[tuple[Name, list[Track]]]:
        """Yield each name with its tracks, sorted by name, when everything was learned."""
        assert self._spilled
        self._rebuild()
        self.unnamed.settle(self.extent.logged[0], self.remembered)
        for name in self._spilled.names():
            self.joins.clear()
            yield name, self._lives(name, _ALL)

    def _objects_of(self, name: Name) -> list[ObjectEntries]:
        return self._spilled.of_name(name) if self._spilled else self._lanes.get(name, [])

    def _lives(self, name: Name, moved: tuple[int, int] | None) -> list[Track]:
        """Return the tracks of a name. Its changes with revisions in the range `moved` may be drawn at other times than
        before."""
        space = self.clocks.space(name[:2])
        objects = self._objects_of(name)
        if self._followed and self._grows_only(name, objects):
            clock = self.clocks.of_space(space)
            return together([each.built(clock, space, moved) for each in objects])
        unplaced: dict[str, list[Entry]] = {}
        if self.joins.concern(name[:2]):
            found = self.joins.of(name)
            unplaced = {each.entries[0].ref.uid: each.unplaced for each in found if each.unplaced}
            groups = [reconciled(in_order(each.entries)) for each in found]
        else:
            groups = self._groups(objects)
        groups = self.unnamed.applied(name, gathered(groups))
        return incarnations_of(name, groups, self.clocks.of_space(space), space, unplaced)

    def _groups(self, objects: list[ObjectEntries]) -> list[list[Entry]]:
        """Return the entries of a name by UID, in corrected times."""
        if len(objects) > 1:
            objects.sort(key=lambda each: each.uid)
        groups = [list(each.entries.values()) for each in objects]
        if self.clocks.offsets:
            groups = [[self.clocks.corrected(entry) for entry in entries] for entries in groups]
        return groups

    def changes(self, kind: GroupKind) -> int:
        """Return how many changes of a kind were observed. What a log and a watch show together counts once."""
        return self.seen[kind].changes - self.joins.repeated(kind)

    def _grows_only(self, name: Name, objects: list[ObjectEntries]) -> bool:
        """Return whether the tracks of a name follow from the entries of each of its UIDs alone, because only watches
        show it."""
        known = self.seen[name[:2]].levels or self.clocks.offsets or self.unnamed.tells(name)
        return not known and all(each.uid for each in objects)

    def _grow(self) -> Moved | None:
        """Add the new entries to the clocks, and return which known changes may be drawn at other times now; None if
        the clocks have to be built anew."""
        if self._keeps or self._spilling or (len(self.extent.files) > 1 and not self.live):
            return None
        if not self.live:
            return {} if not self._retimed and self.clocks.extend(self._fresh) else None
        return self.clocks.follow(self._fresh, self._retimed)

    def _rebuild(self) -> None:
        """Build clocks, offsets and spaces from everything that is known."""
        if self._spilled and not self.live:
            self._rebuild_spilled()
            return
        if len(self.extent.files) > 1 and not self.live:
            before = self.clocks.offsets
            self.clocks.compare_files(self._revised(raw=True))
            if self.clocks.offsets != before:
                self.requests.reconsider()
                self.acts.reconsider()
            self._correct_extent()
        entries = self._revised()
        folded: dict[GroupKind, list[Stamped]] = defaultdict(list)
        for each in self._objects.values():
            if each.folded:
                folded[each.name[:2]] += self._folded([each])
        self.clocks.rebuild(entries, folded, live=self.live)

    def _revised(self, *, raw: bool = False) -> dict[GroupKind, list[Entry]]:
        """Return all entries with a revision, by kind: in corrected times, and with what a log shows of the changes in
        a watch; with `raw`, as they were read."""
        entries: dict[GroupKind, list[Entry]] = defaultdict(list)
        for name, objects in self._lanes.items():
            if not raw and self.joins.concern(name[:2]):
                known = self.joins.entries(name)
                if self._followed:
                    self.joins.note(name)
            else:
                known = [each for one in objects for each in one.entries.values()]
                if self.clocks.offsets and not raw:
                    known = [self.clocks.corrected(each) for each in known]
            entries[name[:2]] += [each for each in known if each.resource_version is not None]
        for entry in self._refused.values():
            if entry.resource_version is not None:
                entries[entry.ref.group, entry.ref.kind].append(entry if raw else self.clocks.corrected(entry))
        return entries

    def _rebuild_spilled(self) -> None:
        """Do what `_rebuild` does, without having all entries in memory at once."""
        written = self._collected()
        if len(self.extent.files) > 1:
            self.clocks.compare_files(written.revised)
            if ahead := self.clocks.offsets:
                self.requests.reconsider()
                self.acts.reconsider()
                written.correct(ahead)
            self._correct_extent()
        folded = {kind: [self._corrected_stamp(*each) for each in of_kind] for kind, of_kind in written.folded.items()}
        assert self._spilled  # of each revision, the first time counts, so what is joined replaces what was read
        revised = {kind: Writes() if self.joins.concern(kind) else own for kind, own in written.revised.items()}
        for name in self._spilled.names():
            if self.joins.concern(name[:2]):
                revised[name[:2]].add_revised(self.joins.entries(name))
                self.joins.clear()
        self.clocks.rebuild(revised, folded, live=False, clock=CommitClock.of_many)

    def _collected(self) -> Written:
        """Return what is known of the entries of all objects, which are in a file."""
        assert self._spilled
        if self._written is None:
            self._written = Written()
            for each in self._spilled.values():
                self._written.add(each)
        return self._written

    def _corrected_stamp(self, file: str, revision: int, received: int, staged: int) -> Stamped:
        ahead = self.clocks.offsets.get(file, 0)
        return revision, received - ahead, self.clocks.earlier(staged, ahead)

    def _correct_extent(self) -> None:
        """Compute the extent again from corrected times, since a clock that is ahead would make the source last
        longer."""
        self.extent.restart()
        for entry in self.entries():
            self.extent.extend(entry)
        for _, received, staged in self._folded():
            self.extent.reach(received, staged, logged=True)

    # Everything that is known

    def entries(self) -> Iterator[Entry]:
        """Yield every change that is kept or was refused, in corrected times and in no order."""
        kept = (entry for each in self._objects.values() for entry in each.entries.values())
        known = chain(kept, self._refused.values())
        return map(self.clocks.corrected, known) if self.clocks.offsets else known

    def _writes(self) -> Iterable[Entry | Write]:
        """Return every change that is kept or was refused, in corrected times and in no order."""
        return self._written if self._written is not None else self.entries()

    def stamps(self) -> Iterator[tuple[int | None, int, int]]:
        """Yield (resource version, received, staged) of every observed change, in corrected times and in no order."""
        for entry in self._writes():
            yield entry.resource_version, entry.received, entry.staged
        yield from self._folded()

    def deletions(self) -> Iterator[tuple[int, int]]:
        """Yield (received, staged) of each deletion with a revision that an audit log shows, in corrected times."""
        for entry in self._writes():
            if entry.change is Change.DELETED and entry.resource_version is not None and entry.clock is Clock.AUDIT:
                yield entry.received, entry.staged

    def _folded(self, objects: Iterable[ObjectEntries] | None = None) -> Iterator[Stamped]:
        """Yield the stamps of the writes of these objects that were left out, in corrected times; by default those of
        all objects."""
        if objects is None and self._written is not None:
            for of_kind in self._written.folded.values():
                yield from (self._corrected_stamp(*left_out) for left_out in of_kind)
            return
        for each in self._objects.values() if objects is None else objects:
            for left_out in each.folded or ():
                yield self._corrected_stamp(*left_out)

    def logged_times(self) -> set[int]:
        """Return when the writes in audit logs were received, in microseconds since 1970."""
        times = {entry.received for entry in self._writes() if entry.clock is Clock.AUDIT}
        return times.union(received for _, received, _ in self._folded())

    def commits(self) -> Iterator[tuple[int, int]]:
        """Yield (drawn time, resource version) of each change of the kinds that share one counter of revisions."""
        clock = self.clocks.of_space("")
        for each in self._objects.values():
            if self.clocks.space(each.name[:2]):
                continue
            for entry in map(self.clocks.corrected, each.entries.values()):
                revision = entry.resource_version
                if revision is not None and entry.arrived:
                    yield clock.drawn(revision, entry.near, entry.staged, entry.undated), revision
                elif revision is not None:
                    yield clock.drawn(revision, entry.received, entry.staged), revision
            for revision, received, staged in self._folded([each]):
                yield clock.drawn(revision, received, staged), revision

    def two_clusters(self) -> tuple[Entry, Entry] | None:
        """Return two entries that cannot come from one cluster, or None if there are none.

        They are of two namespaces kube-system, or of two objects with the same resourceVersion, if that happens
        repeatedly.
        """
        if conflict := self.two_kube_systems():
            return conflict
        if self._spilled and not repeats(self._collected().revisions(is_shared)):
            return None
        return two_clusters(self._objects.values)

    def two_kube_systems(self) -> tuple[Entry, Entry] | None:
        """Return entries of two namespaces kube-system, of which a cluster has only one; None if there are none."""
        return two_uids(self._objects_of(Name("", "Namespace", "", "kube-system")))

    def number(self, name: Name, uid: str) -> int:
        """Return the number of an object, from 1; 0 if it was never observed. All incarnations of a name without UIDs
        share one number."""
        key = uid, name.name, name.namespace, name.kind, name.group
        if self._spilled:
            return self._spilled.number(key)
        known = self._objects.get(key)
        return known.number if known else 0

    def unnamed_numbers(self, name: Name) -> list[int]:
        """Return the numbers of entries of a name that carry no UID."""
        number = self.number(name, "") if self.seen[name[:2]].levels else 0
        return [*([number] if number else ()), *self._more_numbers.get(name, ())]

    def lane_number(self, name: Name) -> int:
        return self._lane_numbers[name]

    # Forgetting, and snapshots

    def forget(self, name: Name, uid: str) -> None:
        """Forget an object that ended long ago. All incarnations of a name without UIDs are one object, and are
        forgotten together."""
        assert isinstance(self._objects, dict)
        known = self._objects.pop((uid, name.name, name.namespace, name.kind, name.group), None)
        if known is None:
            return
        self._lanes[name].remove(known)
        if not self._lanes[name]:
            del self._lanes[name], self._lane_numbers[name]
            self.unnamed.forget(name)
            self.joins.forget(name)

    def forgotten(self, before: int) -> None:
        """Note that tracks which ended before a drawn time, in microseconds since 1970, were forgotten.

        The clocks keep what is needed to draw the remaining changes at the same times as before.
        """
        self.remembered = max(self.remembered, before)
        revisions: dict[str, set[int]] = defaultdict(set)
        for each in self._objects.values():
            revisions[self.clocks.space(each.name[:2])] |= {
                entry.resource_version for entry in each.entries.values() if entry.resource_version is not None
            }
            if each.folded:
                each.folded.drop(before)
        self.clocks.thin(revisions)
        self.requests.forget(before)
        self.acts.forget(before)
        self.logs.forget(before)

    def snapshot(self) -> Snapshot:
        """Return everything that is known of a live source, in a form that can be stored."""
        return Snapshot(
            first=self.extent.first,
            last=self.extent.last,
            remembered=self.remembered,
            numbers=self._numbers,
            lanes=self._lanes_numbered,
            seen=[(*kind, seen.state()) for kind, seen in self.seen.items()],
            marks=[
                *self.freed.marks(),
                *(mark for kind, stream in self.streams.items() for mark in stream.marks(kind)),
            ],
            evidence=[
                *self.requests,
                *self.logs,
                *(entry for entry in self.acts if not self._objects.get(_key(entry.ref))),
            ],
            steps=self.clocks.steps(),
            objects=[
                ObjectSnapshot(each.number, self._lane_numbers[each.name], list(each.entries.values()))
                for each in self._objects.values()
            ],
            shown=list(self.shown.state()),
            repeated=self.joins.state(),
        )

    def restore(self, snapshot: Snapshot) -> None:
        """Restore the state that a snapshot holds. Nothing may have been learned before."""
        self.extent.first, self.extent.last = snapshot.first, snapshot.last
        self.remembered = snapshot.remembered
        self.clocks.restore(snapshot.steps)
        for group, kind, state in snapshot.seen:
            self.seen[group, kind].restore(state)
        for group, kind, _ in snapshot.seen:
            self._meet((group, kind))
        if self.joins.concern(_EVENTS) and _OTHER_EVENTS not in self._kinds:
            self._rename(_OTHER_EVENTS, _EVENTS)
        self.shown.restore(snapshot.shown)
        self.joins.restore(snapshot.repeated)
        for mark in snapshot.marks:
            if mark.what is MarkType.FREED:
                self.freed.add(mark.since, mark.time)
            else:
                self.streams[mark.group, mark.kind].learn(mark)
        for each in snapshot.evidence:
            if isinstance(each, Request):
                self.shown.request(each)
                self.requests.learn(each)
                self.unnamed.learn(each)
            elif isinstance(each, LogLine):
                self.logs.learn(each)
            else:
                self._learn_event(each)
        for number, lane, stored in snapshot.objects:
            ref = stored[0].ref
            known_as = self._kinds.get((ref.group, ref.kind))  # a snapshot of an older version may not know it
            entries = [_of_kind(entry, known_as) for entry in stored] if known_as else stored
            ref = entries[0].ref
            if ref.kind == "Event":
                for entry in entries:
                    self._learn_event(entry)
            for entry in entries:
                self.shown.learn(entry)  # of what was forgotten, only what the snapshot says is known
            name = name_of(ref)
            known = ObjectEntries(name, ref.uid, number, self.seen[name[:2]])
            known.entries = {identity(entry): entry for entry in entries}
            self.misdated += sum(entry.misdated != 0 for entry in entries)
            known.room = max(MANY, len(entries))
            self._objects[_key(ref)] = known
            self._lanes.setdefault(name, []).append(known)
            self._lane_numbers[name] = lane
            self._unsettled[name] = None
            self.unnamed.note(name)
        self._numbers, self._lanes_numbered = snapshot.numbers, snapshot.lanes


def _sharing(entry: Entry, known: ObjectEntries, texts: SharedTexts) -> Entry:
    """Return an equal entry that shares its reference and facts with the last known entry of the object if they are the
    same, and else their texts, as well as its owner, with entries of other objects."""
    last = known.track.last.entry if known.track else None
    ref = last.ref if last and last.ref == entry.ref else texts.of(entry.ref)
    facts = last.facts if last and last.facts == entry.facts else texts.of(entry.facts)
    return replace(entry, ref=ref, facts=facts, owner=shared(entry.owner), user_agent=texts.text(entry.user_agent))


def _of_kind(each: _Named, kind: GroupKind) -> _Named:
    return replace(each, ref=replace(each.ref, group=kind[0], kind=kind[1]))


def _key(ref: ObjectRef) -> ObjectKey:
    return ref.uid, ref.name, ref.namespace, ref.kind, ref.group


def _later_write(one: Entry, other: Entry) -> Entry | None:
    """Return, of two observations of one revision, the write in an audit log that only repeated the revision of an
    earlier write in its answer, so it changed nothing. Return None if neither did that, or if they are one and the
    same."""
    logged = [each for each in (one, other) if each.clock is Clock.AUDIT]
    if not logged or one.resource_version is None or any(each.change is Change.OBSERVED for each in logged):
        return None
    if len(logged) == 2:
        same = one.identity == other.identity
        return None if same else max(logged, key=lambda each: (each.received, each.staged, each.identity))
    watched = other if logged[0] is one else one
    listed = watched.change is Change.OBSERVED
    if not watched.arrived or not (listed or watched.dated) or watched.change is Change.DELETED:
        return None
    # Both times may be up to a second too early, and the second in an object is not always that of its last change.
    latest = watched.arrived if listed else max(watched.received, watched.arrived)
    return logged[0] if latest + SECOND < logged[0].received else None


def _stamp(entry: Entry) -> Stamped:
    return entry.resource_version or 0, entry.near, entry.staged


def _never(since: int, until: int) -> bool:
    return False
