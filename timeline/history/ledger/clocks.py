"""Decide at which time each change of one source is drawn. It does no I/O.

For that it keeps the clock offset of each file, which is how far the clock of its API server is ahead of the others;
the space of each kind, which is the counter of its revisions (see `timeline/history/ledger/spaces.py`); and one commit
clock for each space (see `timeline/core/order.py`).
"""

from bisect import bisect_left, bisect_right, insort
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain, takewhile
from typing import NamedTuple, TypeVar

from msgspec.structs import replace

from timeline.core.entries import FOREVER, Clock, Entry, Request
from timeline.core.machine.sharing import shared
from timeline.core.order import SECOND, Affected, CommitClock, offsets
from timeline.history.ledger.spaces import calibrated
from timeline.history.ledger.spaces import shared as is_shared
from timeline.history.ledger.written import Write, Writes
from timeline.history.lifelines import Name, name_of
from timeline.history.seen import GroupKind, Seen
from timeline.history.streams import Stream
from timeline.kinds import kind_of

RECENT = 20_000  # the latest changes of each space, whose drawn times may still move when another change arrives late
_ON_ITS_WAY = 5 * SECOND  # µs that a change may take at most from its commit until the watch reports it
Stamped = tuple[int, int, int]  # resource version, received, staged

Entries = Mapping[GroupKind, Sequence[Entry] | Writes]

_Timed = TypeVar("_Timed", Entry, Request)
_FOLDED = Name("", "", "", "")
Moved = dict[Name, tuple[int, int]]  # by name: the least and the highest revision of its changes that may have moved


class _Recent(NamedTuple):
    """One of the latest changes of a space, with its times in microseconds since 1970."""

    revision: int
    near: int
    staged: int
    name: Name
    undated: int = 0  # when it arrived if nothing else shows when it was committed; else 0


def corrected(each: _Timed, offsets: Mapping[str, int]) -> _Timed:
    """Return an entry or a request of an audit log with the clock offset of its file subtracted from its times. Offsets
    are in microseconds, by file."""
    ahead = offsets.get(each.place.file, 0) if each.place else 0
    if not ahead:
        return each
    return replace(each, received=each.received - ahead, staged=Clocks.earlier(each.staged, ahead))


class Clocks:
    """Keep the clock offsets, the spaces and the commit clocks of one source.

    `seen` and `streams` belong to the ledger, by kind; this class only reads them.
    """

    def __init__(self, seen: Mapping[GroupKind, Seen], streams: Mapping[GroupKind, Stream]) -> None:
        self._seen = seen
        self._streams = streams
        self._clocks: dict[str, CommitClock] = defaultdict(CommitClock)  # by space
        self._spaces: dict[GroupKind, str] = {}  # which space the revisions of each kind are of
        self._recent: dict[str, list[_Recent]] = defaultdict(list)  # by space: the latest changes, sorted
        self._bounded: set[str] = set()  # spaces with changes for which an audit log shows when they were answered
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
        return corrected(entry, self.offsets) if entry.clock is Clock.AUDIT else entry

    def corrected_request(self, request: Request) -> Request:
        """Return the request with the clock offset of its file subtracted from its times."""
        return corrected(request, self.offsets)

    @staticmethod
    def earlier(staged: int, ahead: int) -> int:
        return staged if staged == FOREVER else staged - ahead

    def reconsider(self) -> None:
        """Make the next `extend` or `follow` ask for `rebuild`, because the time of a known change is now another."""
        self._spaces = {}

    # Building everything from all entries

    def compare_files(self, entries: Entries, others: Iterable[tuple[int, str, int, int]] = ()) -> None:
        """Compute the clock offset of each file from all entries with a revision, given by kind, and from `others`:
        (revision, file, received, staged) of each write that was left out."""
        known = (
            (entry.resource_version or 0, entry.place.file, entry.received, entry.staged)
            for kind, of_kind in entries.items()
            if is_shared(*kind)
            for entry in of_kind
            if entry.clock is Clock.AUDIT and entry.place
        )
        self.offsets = offsets(chain(known, others))

    def rebuild(
        self,
        entries: Entries,
        folded: Mapping[GroupKind, Iterable[Stamped]],
        *,
        live: bool,
        clock: Callable[[Iterable[Stamped]], CommitClock] = CommitClock,
    ) -> None:
        """Build spaces and clocks anew, each clock by `clock`.

        `entries` are all entries with a revision, in corrected times, and `folded` the stamps of the writes that were
        left out (see `timeline/history/ledger/folding.py`), both by kind. `live` says whether all entries come from
        watches.
        """
        self._spaces = self._live_spaces() if live else calibrated(self._seen, entries)
        stamps: dict[str, list[Iterable[Stamped]]] = defaultdict(list)
        for kind, of_kind in entries.items():
            stamps[self._spaces[kind]].append(_stamps(of_kind))
        for kind, left_out in folded.items():
            stamps[self.space(kind)].append(left_out)
        for space, steps in self._steps.items():
            stamps[space].append([(revision, time, FOREVER) for revision, time in steps.items()])
        self._clocks = defaultdict(CommitClock)
        for space, commits in stamps.items():
            self._clocks[space] = clock(chain.from_iterable(commits))
        self._recent = defaultdict(list)
        self._bounded = set()
        if live:
            for kind, of_kind in entries.items():
                self._recent[self._spaces[kind]] += (_recent(each) for each in of_kind if isinstance(each, Entry))
            for kind, left_out in folded.items():
                self._recent[self._spaces[kind]] += [_Recent(*stamp, _FOLDED) for stamp in left_out]
            for space, recent in self._recent.items():
                recent.sort()
                del recent[:-RECENT]
                if any(each.staged != FOREVER for each in recent):
                    self._bounded.add(space)

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

    def follow(self, fresh: Sequence[Entry], changed: Sequence[tuple[Entry, Entry]] = ()) -> Moved | None:
        """Add new entries of a source that is watched, and return which known changes may now be drawn at another time
        than before. `changed` are entries that were known, each with what is known of the same change now.

        The watches of several kinds run side by side, so a new entry may have been committed before known ones. Return
        None if `rebuild` is needed.
        """
        if not self._spaces:
            return None
        known = self._spaces
        self._spaces = self._live_spaces()
        if any(self._spaces.get(kind) != space for kind, space in known.items()):
            self._steps.clear()  # these revisions may be of kinds that turned out to have another counter
            return None
        redone: dict[str, int] = {}  # by space: the first revision for which an audit log shows another time
        moved: Moved = {}
        new: set[_Recent] = set()
        for entry in fresh:
            if entry.resource_version is None:
                continue
            space = self._spaces[entry.ref.group, entry.ref.kind]
            clock, recent = self._clocks[space], self._recent[space]
            added = _recent(entry)
            if entry.staged != FOREVER or space in self._bounded:
                self._bounded.add(space)
                redone[space] = min(redone.get(space, FOREVER), entry.resource_version)
            elif affected := clock.insert(entry.resource_version, entry.near):
                if recent and affected.above < recent[0].revision - 1 and len(recent) >= RECENT:
                    return None
                _note(moved, (each for each in _affected(recent, affected) if each not in new))
            insort(recent, added)
            new.add(added)
        for before, entry in changed:
            space = self._spaces[entry.ref.group, entry.ref.kind]
            if not self._replace(self._recent[space], before, entry):
                return None
            self._bounded.add(space)
            first = min(each.resource_version or FOREVER for each in (before, entry))
            redone[space] = min(redone.get(space, FOREVER), first)
        for space, since in redone.items():
            if (of_space := self._redo(space, since)) is None:
                return None
            _note(moved, of_space)
        for recent in self._recent.values():
            if len(recent) > 2 * RECENT:
                del recent[:-RECENT]
        return moved

    @staticmethod
    def _replace(recent: list[_Recent], before: Entry, now: Entry) -> bool:
        """Replace one of the latest changes; return whether it was among them."""
        if before.resource_version is not None:
            at = bisect_left(recent, sought := _recent(before))
            if at == len(recent) or recent[at] != sought:
                return False
            del recent[at]
        if now.resource_version is not None:
            insort(recent, _recent(now))
        return True

    def _redo(self, space: str, since: int) -> Iterator[_Recent] | None:
        """Compute the steps of a space from a revision on anew, and return the changes that may now be drawn at another
        time; None if that needs changes which are not among the latest."""
        clock, recent = self._clocks[space], self._recent[space]
        while True:
            at = bisect_left(recent, since, key=_revision)
            begins = clock.begins_again(since, min((each.staged for each in recent[at:]), default=FOREVER))
            if begins == since:
                break
            since = begins
        if not at and len(recent) >= RECENT:
            return None
        stamps = [each[:3] for each in recent[at:]]
        forgotten = takewhile(lambda step: step[0] >= since, reversed(self._steps[space].items()))  # they are in order
        stamps += [(revision, time, FOREVER) for revision, time in forgotten]
        return (each for pair in clock.redo(since, stamps) for each in _between(recent, *pair))

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
            together = stream is not None and stream.together and is_shared(*kind)
            spaces[kind] = "" if together else kind_of(*kind).kind
        return spaces

    def reached(self, kind: GroupKind, namespace: str | None = None) -> int:
        """Return the drawn time (µs since 1970) up to which the watch of a kind has reported every change in a
        namespace; with None, up to which all watches of the kind have.

        The API server may repeat the resourceVersion of a quiet kind in its bookmarks for ten minutes, while those of
        other kinds grow. Such a bookmark still shows that the kind had no changes meanwhile, except for changes that
        are on their way. A finding is confirmed only if the revision is high enough, too (`timeline.judge.settled`).
        """
        stream, clock = self._streams[kind], self.of(kind)
        reaches = stream.reaches() if namespace is None else [stream.reach_in(namespace)]
        return min(
            max(each.at if clock.last <= each.revision else each.at - _ON_ITS_WAY, clock.time_of(each.revision))
            for each in reaches
        )

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


def _stamps(entries: Iterable[Entry | Write]) -> Iterator[Stamped]:
    return ((each.resource_version or 0, each.near if each.arrived else each.received, each.staged) for each in entries)


def _recent(entry: Entry) -> _Recent:
    name = shared(name_of(entry.ref))
    return _Recent(entry.resource_version or 0, entry.near, entry.staged, name, entry.undated)


def _revision(recent: _Recent) -> int:
    return recent.revision


def _between(recent: Sequence[_Recent], above: int, below: int) -> Sequence[_Recent]:
    """Return the changes between two revisions, both excluded."""
    return recent[bisect_right(recent, above, key=_revision) : bisect_left(recent, below, key=_revision)]


def _affected(recent: Sequence[_Recent], by: Affected) -> Iterator[_Recent]:
    """Yield the changes that may be drawn at another time."""
    for each in _between(recent, by.above, by.below):
        if each.revision >= by.since or each.undated > by.time:
            yield each


def _note(moved: Moved, changes: Iterable[_Recent]) -> None:
    """Add changes that may be drawn at another time."""
    for each in changes:
        least, most = moved.get(each.name, (each.revision, each.revision))
        moved[each.name] = min(least, each.revision), max(most, each.revision)
