"""Learn the entries of one source, and keep them by object. It does no I/O."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from msgspec.structs import replace

from timeline.core.entries import Change, Clock, Entry, Intent, LogLine, Mark, MarkType, ObjectRef, Observation, Request
from timeline.core.intent import intent_of
from timeline.core.machine.sharing import SharedTexts, shared
from timeline.core.machine.spill import Spilling
from timeline.core.observations import identity, merged
from timeline.core.order import SECOND
from timeline.history.freed import Freed
from timeline.history.ledger.acts import Acts, acted_in
from timeline.history.ledger.clocks import Clocks, Stamped
from timeline.history.ledger.extent import Extent
from timeline.history.ledger.joins import Joins
from timeline.history.ledger.object_entries import ObjectEntries
from timeline.history.ledger.objects import ObjectKey, Objects
from timeline.history.ledger.spilled_objects import SpilledObjects
from timeline.history.ledger.unnamed import Unnamed
from timeline.history.lifelines import Name
from timeline.history.logs import Logs
from timeline.history.requests import Requests, without_effect
from timeline.history.seen import GroupKind, Seen
from timeline.history.shown import Shown
from timeline.history.streams import Stream
from timeline.kinds import resource_of

if TYPE_CHECKING:
    from timeline.history.ledger.left_out import LeftOut
    from timeline.history.ledger.written import Written

_Named = TypeVar("_Named", Entry, Request)
EVENTS, OTHER_EVENTS = ("", "Event"), ("events.k8s.io", "Event")  # the same objects in two APIs


class Learned:
    """What was learned of one source, by object. `Ledger` describes the arguments."""

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
        self.is_spilled = False  # whether there are so many entries that objects are in a file
        self._written: Written | None = None  # what is known of all entries, if they are in a file
        self._followed = followed
        self._intents: dict[Intent | None, Intent | None] | None = {} if intents else None  # each value once
        # Of a followed source: what the facts of many objects have in common.
        self._texts = SharedTexts() if followed else None
        self._refused: dict[tuple[Any, ...], Entry] = {}  # entries that `keeps` refused, without facts but for acts
        self._objects = Objects()
        # By group and resource: the kinds of resources that a log names without them. And names that are another now.
        self._kinds: dict[GroupKind, GroupKind] = {}
        self._renamed: dict[Name, None] = {}
        self._more_numbers: dict[Name, list[int]] = {}  # those of objects that turned out to be known already
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
        self.unnamed = Unnamed(self._objects, self.requests, self.acts, self.clocks.corrected)
        self.joins = Joins(self.seen, self.streams, lambda name: self._groups(self._objects.of_name(name)))
        self.logs = Logs(lambda: self.extent.last)
        self.freed = Freed()
        self.left_out: list[LeftOut] = []  # by file: what is known of writes that a part of a log leaves out
        self.misdated = 0  # observations that are remembered and state a time in the future
        self.remembered = 0  # tracks that ended before this drawn time (µs since 1970) may have been forgotten

    @property
    def live(self) -> bool:
        """Return whether the watches of a live cluster say what is complete, and when."""
        return bool(self.streams) and (self._followed or not self.extent.files)

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
            if kind == EVENTS and entry.clock is Clock.OBJECT and OTHER_EVENTS not in self._kinds:
                self._rename(OTHER_EVENTS, EVENTS)
            if kind in self._kinds:
                entry = of_kind(entry, self._kinds[kind])  # it is the same change
            if entry.annotations:
                self.requests.let_through(entry)
            if keeps and not keeps(entry):
                self._refuse(entry)
                continue
            ref = entry.ref
            key = ref.uid, ref.name, ref.namespace, ref.kind, ref.group
            change = identity(entry)
            known = self._objects.for_change(key, change, whole=entry.arrived != 0) or self._begin(key)
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
                other = of_kind(other, self._kinds[kind])
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
        """From now on, take objects that a log names by another kind, or by their resource, for objects of this kind.
        What is known of them already is renamed, too."""
        self._kinds[called] = kind
        self.requests.rename(called, kind)
        self.shown.rename(called, kind)
        if called in self.seen:
            self._rename_objects(called, kind)
        self.unnamed.rename(called, kind)

    def _rename_objects(self, called: GroupKind, kind: GroupKind) -> None:
        objects = self._objects.take_kind(called)
        self.seen[kind].absorb(self.seen.pop(called))
        for each in objects:
            before, each.name = each.name, shared(Name(*kind, *each.name[2:]))
            each.seen, each.track = self.seen[kind], None
            each.entries = {change: of_kind(entry, kind) for change, entry in each.entries.items()}
            key = each.uid, each.name.name, each.name.namespace, kind[1], kind[0]
            known = self._objects.get(key)
            if known:
                for change, entry in each.entries.items():
                    now = known.entries.get(change)
                    known.entries[change] = known.merged(now, entry) if now else entry
                known.track = None
                self._more_numbers.setdefault(each.name, []).append(each.number)
            else:
                self._objects.add(key, each)
            self._renamed[before] = None
            self._unsettled.pop(before, None)
            self._unsettled[each.name] = None
            number = self._lane_numbers.pop(before, 0)
            self._lane_numbers.setdefault(each.name, number)
        for change, entry in [*self._refused.items()]:
            if change[:2] == called:
                del self._refused[change]
                self._refused[(*kind, *change[2:])] = of_kind(entry, kind)

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
        known = ObjectEntries(lane, uid, self._numbers, self.seen[lane[:2]])
        self._objects.add(key, known)
        if lane not in self._lane_numbers:
            self._lanes_numbered += 1
            self._lane_numbers[lane] = self._lanes_numbered
        return known

    def _blind(self, name: Name) -> Callable[[int, int], bool]:
        stream = self.streams.get(name[:2])
        return partial(stream.blind, namespace=name.namespace) if stream else _never

    def _note(self, known: ObjectEntries, entry: Entry, before: Entry | None = None) -> None:
        """Note that an entry is new, or replaces what was known of the same change before."""
        if self._spilling and before is None:
            self._objects.held += 1
            if not self.is_spilled and self._objects.held > self._spilling.entries:
                self._spill(self._spilling)
        if not self.is_spilled:
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

    def _spill(self, spilling: Spilling) -> None:
        self._objects = self.unnamed.objects = SpilledObjects(self._objects, spilling, self.seen)
        self.is_spilled, self._unsettled = True, {}

    def _groups(self, objects: list[ObjectEntries]) -> list[list[Entry]]:
        """Return the entries of a name by UID, in corrected times."""
        if len(objects) > 1:
            objects.sort(key=lambda each: each.uid)
        groups = [list(each.entries.values()) for each in objects]
        if self.clocks.offsets:
            groups = [[self.clocks.corrected(entry) for entry in entries] for entries in groups]
        return groups


def _sharing(entry: Entry, known: ObjectEntries, texts: SharedTexts) -> Entry:
    """Return an equal entry that shares its reference and facts with the last known entry of the object if they are the
    same, and else their texts, as well as its owner, with entries of other objects."""
    last = known.track.last.entry if known.track else None
    ref = last.ref if last and last.ref == entry.ref else texts.of(entry.ref)
    facts = last.facts if last and last.facts == entry.facts else texts.of(entry.facts)
    return replace(entry, ref=ref, facts=facts, owner=shared(entry.owner), user_agent=texts.text(entry.user_agent))


def of_kind(each: _Named, kind: GroupKind) -> _Named:
    """Return the same entry or request, about an object of another kind."""
    return replace(each, ref=replace(each.ref, group=kind[0], kind=kind[1]))


def key_of(ref: ObjectRef) -> ObjectKey:
    """Return the key under which a ledger keeps the entries of an object."""
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
