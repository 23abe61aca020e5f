"""Keep everything that was learned of one source, by object, and put it into commit order. It does no I/O.

A `Ledger` accepts entries with `learn`, and `settle` returns the tracks of the names that changed. Nothing is decided
between the two calls, so the order, the repetition and the batching of the entries do not matter.
"""

from collections import defaultdict

from timeline.core.entries import Entry, LogLine, MarkType, Request
from timeline.core.observations import identity
from timeline.history.ledger.conflicts import repeats, two_clusters, two_uids
from timeline.history.ledger.folding import MANY
from timeline.history.ledger.learning import EVENTS, OTHER_EVENTS, key_of, of_kind
from timeline.history.ledger.object_entries import ObjectEntries
from timeline.history.ledger.settling import Settled
from timeline.history.ledger.spaces import shared as is_shared
from timeline.history.lifelines import Name, name_of
from timeline.history.snapshot import ObjectSnapshot, Snapshot


class Ledger(Settled):
    """Keep the entries of one source, by object.

    `keeps` returns whether an entry is worth keeping; all other entries are only counted. A ledger with `keeps` is
    settled only once, when everything was learned, and leaves out repetitive writes (see
    `timeline/history/ledger/folding.py`) of recordings, too; a ledger without `keeps` leaves them out of live sources
    only.

    With `spilling`, it is settled only once, too, and what is too much for memory is in a file.

    With `intents`, it keeps of each body what somebody wants of the object (see `timeline/core/intent.py`). With
    `followed`, a worker watches the source, and audit logs only add to what its watches show.
    """

    def two_clusters(self) -> tuple[Entry, Entry] | None:
        """Return two entries that cannot come from one cluster, or None if there are none.

        They are of two namespaces kube-system, or of two objects with the same resourceVersion, if that happens
        repeatedly.
        """
        if conflict := self.two_kube_systems():
            return conflict
        if self.is_spilled and not repeats(self._collected().revisions(is_shared)):
            return None
        return two_clusters(self._objects.values)

    def two_kube_systems(self) -> tuple[Entry, Entry] | None:
        """Return entries of two different namespaces kube-system, although a cluster has only one; None if there are
        none."""
        return two_uids(self._objects.of_name(Name("", "Namespace", "", "kube-system")))

    def number(self, name: Name, uid: str) -> int:
        """Return the number of an object, from 1; 0 if it was never observed. All incarnations of a name without UIDs
        share one number."""
        return self._objects.number((uid, name.name, name.namespace, name.kind, name.group))

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
        known = self._objects.remove((uid, name.name, name.namespace, name.kind, name.group))
        if known and name not in self._objects:
            del self._lane_numbers[name]
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
                *(entry for entry in self.acts if not self._objects.get(key_of(entry.ref))),
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
        if self.joins.concern(EVENTS) and OTHER_EVENTS not in self._kinds:
            self._rename(OTHER_EVENTS, EVENTS)
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
            entries = [of_kind(entry, known_as) for entry in stored] if known_as else stored
            ref = entries[0].ref
            if ref.kind == "Event":
                for entry in entries:
                    self._learn_event(entry)
            for entry in entries:
                self.shown.learn(entry)  # of what was forgotten, only what the snapshot says is known
                self.requests.let_through(entry)
            name = name_of(ref)
            known = ObjectEntries(name, ref.uid, number, self.seen[name[:2]])
            known.entries = {identity(entry): entry for entry in entries}
            self.misdated += sum(entry.misdated != 0 for entry in entries)
            known.room = max(MANY, len(entries))
            self._objects.add(key_of(ref), known)
            self._lane_numbers[name] = lane
            self._unsettled[name] = None
            self.unnamed.note(name)
        self._numbers, self._lanes_numbered = snapshot.numbers, snapshot.lanes
