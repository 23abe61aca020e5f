"""This module decides at which time each change of one source is drawn. It is pure.

For that it keeps the clock offset of each file, which is how far the clock of its API server is ahead of the others;
the space of each kind, which is the counter of its revisions (see `timeline/history/spaces.py`); and one commit clock
for each space (see `timeline/core/order.py`).
"""

from bisect import bisect_left, bisect_right, insort
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import TypeVar

from msgspec.structs import replace

from timeline.core.entries import FOREVER, Clock, Entry, Request
from timeline.core.order import SECOND, CommitClock, offsets
from timeline.history.lifelines import Name, name_of
from timeline.history.seen import GroupKind, Seen
from timeline.history.spaces import calibrated, shared
from timeline.history.streams import Stream
from timeline.kinds import kind_of

RECENT = 5_000  # the latest changes of each space, whose drawn times may still move when another change arrives late
_ON_ITS_WAY = 5 * SECOND  # µs that a change may take at most from its commit until the watch reports it
Stamped = tuple[int, int, int]  # resource version, received, staged

Entries = Mapping[GroupKind, Sequence[Entry]]

_Timed = TypeVar("_Timed", Entry, Request)


class Clocks:
    """This class keeps the clock offsets, the spaces and the commit clocks of one source.

    `seen` and `streams` belong to the ledger, by kind; this class only reads them.
    """

    def __init__(self, seen: Mapping[GroupKind, Seen], streams: Mapping[GroupKind, Stream]) -> None:
        self._seen = seen
        self._streams = streams
        self._clocks: dict[str, CommitClock] = defaultdict(CommitClock)  # by space
        self._spaces: dict[GroupKind, str] = {}  # which space the revisions of each kind are of
        self._recent: dict[str, list[tuple[int, Name]]] = defaultdict(list)  # by space: the latest changes, sorted
        # By space: the drawn time of each revision that was forgotten and that still decides when others are drawn.
        self._steps: dict[str, dict[int, int]] = defaultdict(dict)
        self.offsets: dict[str, int] = {}  # by file, in µs; without the files whose clocks agree with the others

    def space(self, kind: GroupKind) -> str:
        """Return the space of a kind; "" is the one that most kinds share."""
        return self._spaces.get(kind, "")

    def of(self, kind: GroupKind) -> CommitClock:
        """Return the commit clock that draws the changes of a kind."""
        return self._clocks[self._spaces.get(kind, "")]

    def of_space(self, space: str) -> CommitClock:
        return self._clocks[space]

    @property
    def own_counters(self) -> list[GroupKind]:
        """Return the kinds whose revisions come from another counter than the one that most kinds share."""
        return sorted(kind for kind, space in self._spaces.items() if space)

    def corrected(self, entry: Entry) -> Entry:
        """Return the entry with the clock offset of its file subtracted from its times."""
        return self._corrected(entry) if entry.clock is Clock.AUDIT else entry

    def corrected_request(self, request: Request) -> Request:
        """Return the request with the clock offset of its file subtracted from its times."""
        return self._corrected(request)

    def _corrected(self, each: _Timed) -> _Timed:
        ahead = self.offsets.get(each.place.file, 0) if each.place else 0
        if not ahead:
            return each
        return replace(each, received=each.received - ahead, staged=self.earlier(each.staged, ahead))

    @staticmethod
    def earlier(staged: int, ahead: int) -> int:
        return staged if staged == FOREVER else staged - ahead

    def reconsider(self) -> None:
        """Make the next `extend` or `follow` ask for `rebuild`, because the time of a known change is now another."""
        self._spaces = {}

    # Building everything from all entries

    def compare_files(self, entries: Entries) -> None:
        """Compute the clock offset of each file from all entries with a revision, given by kind."""
        self.offsets = offsets(
            (entry.resource_version or 0, entry.place.file, entry.received, entry.staged)
            for kind, of_kind in entries.items()
            if shared(*kind)
            for entry in of_kind
            if entry.clock is Clock.AUDIT and entry.place
        )

    def rebuild(self, entries: Entries, folded: Mapping[GroupKind, Iterable[Stamped]], *, live: bool) -> None:
        """Build spaces and clocks anew.

        `entries` are all entries with a revision, in corrected times, and `folded` the stamps of the writes that were
        left out (see `timeline/history/folding.py`), both by kind. `live` says whether all entries come from watches.
        """
        self._spaces = self._live_spaces() if live else calibrated(self._seen, entries)
        stamps: dict[str, list[Stamped]] = defaultdict(list)
        for kind, of_kind in entries.items():
            stamps[self._spaces[kind]] += [(each.resource_version or 0, each.near, each.staged) for each in of_kind]
        for kind, left_out in folded.items():
            stamps[self._spaces[kind]] += left_out
        for space, steps in self._steps.items():
            stamps[space] += [(revision, time, FOREVER) for revision, time in steps.items()]
        self._clocks = defaultdict(CommitClock)
        for space, commits in stamps.items():
            self._clocks[space] = CommitClock(commits)
        self._recent = defaultdict(list)
        if live:
            for kind, of_kind in entries.items():
                self._recent[self._spaces[kind]] += [
                    (each.resource_version or 0, name_of(each.ref)) for each in of_kind
                ]
            for recent in self._recent.values():
                recent.sort()
                del recent[:-RECENT]

    # Adding new entries

    def extend(self, fresh: Sequence[Entry]) -> bool:
        """Add new entries of audit logs. Return False if they may change when known entries are drawn, so that
        `rebuild` is needed."""
        if not self._spaces:
            return False
        if any(seen.levels and (seen.streamed or seen.listed) for seen in self._seen.values()):
            return False  # what a log shows beside a watch depends on how far the watch goes
        if not {(entry.ref.group, entry.ref.kind) for entry in fresh} <= self._spaces.keys():
            return False
        stamps: dict[str, list[Stamped]] = defaultdict(list)
        for entry in fresh:
            if entry.resource_version is not None:
                space = self._spaces[entry.ref.group, entry.ref.kind]
                stamps[space].append((entry.resource_version, entry.received, entry.staged))
        return all(self._clocks[space].extend(commits) for space, commits in stamps.items())

    def follow(self, fresh: Sequence[Entry]) -> set[Name] | None:
        """Add new entries of watches, and return the names of objects whose changes may now be drawn at another time.

        The watches of several kinds run side by side, so a new entry may have been committed before known ones. Return
        None if `rebuild` is needed.
        """
        if not self._spaces:
            return None
        known = self._spaces
        self._spaces = self._live_spaces()
        if any(self._spaces[kind] != space for kind, space in known.items()):
            self._steps.clear()  # these revisions may be of kinds that turned out to have another counter
            return None
        moved: set[Name] = set()
        for entry in fresh:
            if entry.resource_version is None:
                continue
            space = self._spaces[entry.ref.group, entry.ref.kind]
            clock, recent = self._clocks[space], self._recent[space]
            if affected := clock.insert(entry.resource_version, entry.near):
                if recent and affected[0] < recent[0][0] - 1 and len(recent) >= RECENT:
                    return None
                low = bisect_right(recent, affected[0], key=_revision)
                high = bisect_left(recent, affected[1], key=_revision)
                moved.update(name for _, name in recent[low:high])
            insort(recent, (entry.resource_version, name_of(entry.ref)))
        for recent in self._recent.values():
            if len(recent) > 2 * RECENT:
                del recent[:-RECENT]
        return moved

    def respaced(self) -> bool:
        """Return whether marks of the watches have changed the space of any kind, or added a kind, since spaces were
        determined last."""
        return self._live_spaces() != self._spaces

    def _live_spaces(self) -> dict[GroupKind, str]:
        """Return the space of each kind of a live source. A kind has a space of its own until enough comparisons have
        shown that it shares a counter with the others."""
        spaces = {}
        for kind in self._seen:
            stream = self._streams.get(kind)
            together = stream is not None and stream.together and shared(*kind)
            spaces[kind] = "" if together else kind_of(*kind).kind
        return spaces

    def reached(self, kind: GroupKind) -> int:
        """Return the drawn time (µs since 1970) up to which the watch of a kind has reported every change.

        The API server may repeat the resourceVersion of a quiet kind in its bookmarks for ten minutes, while those of
        other kinds grow. Such a bookmark still shows that the kind had no changes meanwhile, except for changes that
        are on their way. A finding is confirmed only if the revision is high enough, too (`timeline.judge.settled`).
        """
        stream = self._streams[kind]
        clock = self.of(kind)
        complete = stream.reached_at if clock.last <= stream.reached else stream.reached_at - _ON_ITS_WAY
        return max(complete, clock.time_of(stream.reached))

    # Forgetting, and snapshots

    def thin(self, revisions: Mapping[str, set[int]]) -> None:
        """Forget everything in the clocks that is not needed to draw these revisions, by space, at their present
        times."""
        for space, clock in self._clocks.items():
            kept = revisions.get(space, set())
            clock.thin(sorted(kept))
            self._steps[space] = {revision: time for revision, time in clock.steps() if revision not in kept}
            if clock.last and clock.last not in kept:  # `reached` compares the watches with the last revision
                self._steps[space][clock.last] = clock.time_of(clock.last)

    def steps(self) -> list[tuple[str, int, int]]:
        """Return (space, revision, drawn time) of each change that was forgotten and that still decides when others are
        drawn."""
        return [(space, *step) for space, steps in self._steps.items() for step in steps.items()]

    def restore(self, steps: Iterable[tuple[str, int, int]]) -> None:
        """Set the steps to what `steps` returned; the next `rebuild` uses them."""
        for space, revision, time in steps:
            self._steps[space][revision] = time


def _revision(pair: tuple[int, Name]) -> int:
    return pair[0]
