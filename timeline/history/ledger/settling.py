"""Put everything that was learned of one source into commit order. It does no I/O."""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from itertools import chain

from timeline.core.entries import FOREVER, Change, Clock, Entry
from timeline.core.joining import in_order
from timeline.core.observations import reconciled
from timeline.core.order import CommitClock
from timeline.history.ledger.clocks import Moved, Stamped
from timeline.history.ledger.folding import MANY
from timeline.history.ledger.gathering import gathered
from timeline.history.ledger.incarnations import incarnations_of, together
from timeline.history.ledger.learning import Learned
from timeline.history.ledger.left_out import filed
from timeline.history.ledger.object_entries import ObjectEntries
from timeline.history.ledger.written import Write, Writes, Written
from timeline.history.lifelines import Name, Track
from timeline.history.seen import GroupKind

_ALL = 0, FOREVER  # the range of all revisions
_OTHERS: GroupKind = "", ""  # the kinds of writes that were left out, whose revisions most kinds share


class Settled(Learned):
    """Return what was learned of one source as tracks, and its times as they are corrected."""

    def settle(self) -> dict[Name, list[Track]]:
        """Return all tracks of each name that may have changed since the last call, sorted by name."""
        self._unsettled.update(dict.fromkeys(self.joins.reached()))
        names: Iterable[Name] = self._unsettled
        if self._keeps:
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
            names = self._objects.names() if moved is None else {**dict.fromkeys(names), **dict.fromkeys(moved)}
        names = {**dict.fromkeys(names), **dict.fromkeys(self.unnamed.settle(self.extent.logged[0], self.remembered))}
        settled = {
            name: self._lives(name, _ALL if moved is None else moved.get(name))
            for name in sorted(names)
            if name in self._objects
        }
        settled.update({name: [] for name in self._renamed if name not in self._objects})
        self._renamed = {}
        self._unsettled = {}
        self._fresh = []
        self._retimed = []
        self.joins.clear()
        return settled

    def lives(self) -> Iterator[tuple[Name, list[Track]]]:
        """Yield each name with its tracks, sorted by name, when everything was learned. It is called in place of
        `settle` if objects are in a file."""
        self._rebuild()
        self.unnamed.settle(self.extent.logged[0], self.remembered)
        for name in sorted(self._objects.names()):
            self.joins.clear()
            yield name, self._lives(name, _ALL)

    def _lives(self, name: Name, moved: tuple[int, int] | None) -> list[Track]:
        """Return the tracks of a name. Its changes with revisions in the range `moved` may be drawn at other times than
        before."""
        space = self.clocks.space(name[:2])
        objects = self._objects.of_name(name)
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
        if self.is_spilled and not self.live:
            self._rebuild_spilled()
            return
        if len(self.extent.files.union(each.file for each in self.left_out)) > 1 and not self.live:
            before = self.clocks.offsets
            self.clocks.compare_files(self._revised(raw=True), filed(self.left_out))
            if self.clocks.offsets != before:
                self.requests.reconsider()
                self.acts.reconsider()
            self._correct_extent()
        self._join_left_out()
        entries = self._revised()
        folded: dict[GroupKind, list[Stamped]] = defaultdict(list)
        for each in self._objects.values():
            if each.folded:
                folded[each.name[:2]] += self._folded([each])
        for left_out in self.left_out:
            left_out.reach(self.extent)
            folded[_OTHERS] += left_out.commits()
        clock = CommitClock.of_many if self.left_out else CommitClock
        self.clocks.rebuild(entries, folded, live=self.live, clock=clock)

    def _join_left_out(self) -> None:
        """Make one of what is known of each file, in corrected times. This happens once: a ledger of a part is settled
        only when everything was learned."""
        for each in self.left_out:
            each.correct(self.clocks.offsets.get(each.file, 0))
        while len(self.left_out) > 1:
            self.left_out[0].merge(self.left_out.pop())

    def _revised(self, *, raw: bool = False) -> dict[GroupKind, list[Entry]]:
        """Return all entries with a revision, by kind: in corrected times, and with what a log shows of the changes in
        a watch; with `raw`, as they were read."""
        entries: dict[GroupKind, list[Entry]] = defaultdict(list)
        for name in self._objects.names():
            if not raw and self.joins.concern(name[:2]):
                known = self.joins.entries(name)
                if self._followed:
                    self.joins.note(name)
            else:
                known = [each for one in self._objects.of_name(name) for each in one.entries.values()]
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
        # Of each revision, the first time counts, so what is joined replaces what was read.
        revised = {kind: Writes() if self.joins.concern(kind) else own for kind, own in written.revised.items()}
        for name in sorted(self._objects.names()):
            if self.joins.concern(name[:2]):
                revised[name[:2]].add_revised(self.joins.entries(name))
                self.joins.clear()
        self.clocks.rebuild(revised, folded, live=False, clock=CommitClock.of_many)

    def _collected(self) -> Written:
        """Return what is known of the entries of all objects, which are in a file."""
        if self._written is None:
            self._written = Written()
            for each in self._objects.values():
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
        for left_out in self.left_out:
            yield from left_out.stamps()

    def deletions(self) -> Iterator[tuple[int, int]]:
        """Yield (received, staged) of each deletion with a revision that an audit log shows, in corrected times."""
        for entry in self._writes():
            if entry.change is Change.DELETED and entry.resource_version is not None and entry.clock is Clock.AUDIT:
                yield entry.received, entry.staged
        for left_out in self.left_out:
            yield from left_out.deletions

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
        left_out = chain.from_iterable(each.stamps() for each in self.left_out)
        return times.union(received for _, received, _ in chain(self._folded(), left_out))

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
