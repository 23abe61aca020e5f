"""Keep what the writes that a part of a log leaves out still tell: their revisions and times, which revisions they
replaced, and which of their objects were created in the log. It does no I/O.

From these follows when the writes of the part are drawn, when the log begins and ends, and which writes are missing
from it, as if all had been read.
"""

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator
from itertools import accumulate, chain
from typing import NamedTuple

from timeline.core.entries import FOREVER, Change, Entry
from timeline.history.ledger.extent import Extent
from timeline.history.ledger.folding import Stamps
from timeline.history.ledger.spaces import shared
from timeline.history.part import Part
from timeline.history.seen import GroupKind

WIDEST = 2**62  # greater revisions do not fit into the arrays
Stamped = tuple[int, int, int]


class Born(NamedTuple):
    """The first write that the log shows of an object. Times are microseconds since 1970; 0 if one is not known."""

    kind: GroupKind
    created: int  # the time of creation that the object carries
    received: int


def _earlier(times: set[tuple[int, int]], ahead: int) -> set[tuple[int, int]]:
    return {(received - ahead, staged if staged == FOREVER else staged - ahead) for received, staged in times}


def _none() -> Stamps:
    return Stamps(array("q"), array("q"), array("q"))


class LeftOut:
    """The writes that are left out of one file because a part of it is asked for. Most take 36 bytes of memory."""

    def __init__(self, part: Part, file: str) -> None:
        self.part = part
        self.file = file
        self.lines = 0  # that were left out, of all sorts
        self.shared = _none()  # writes of kinds that use the counter that most kinds share (see `spaces.py`)
        self.replaced = array("q")  # for each of these, the revision that it replaced; 0 if it named none
        self.kinds = array("I")  # for each of these, the place of its kind in `named`
        self.named: dict[GroupKind, int] = {}  # each kind with its place, from 0
        self.others = _none()  # writes of kinds with another counter
        self.bare: dict[GroupKind, set[tuple[int, int]]] = {}  # (received, staged) of writes without a revision
        self.deletions: set[tuple[int, int]] = set()  # (received, staged) of those that have a revision
        self.made: set[str] = set()  # the UIDs of objects whose creation the log shows
        self.born: dict[str, Born] = {}  # by UID: objects that were seen before their creation was

    def add(self, entry: Entry) -> None:
        """Keep what an entry of an audit log tells that is left out."""
        revision, ref = entry.resource_version, entry.ref
        kind = ref.group, ref.kind
        if revision is not None and entry.change is Change.DELETED:
            self.deletions.add((entry.received, entry.staged))
        if revision is None or not 0 < revision < WIDEST:
            self.bare.setdefault(kind, set()).add((entry.received, entry.staged))
        elif not shared(*kind):
            self.write(self.others, revision, entry.received, entry.staged)
        else:
            self.write(self.shared, revision, entry.received, entry.staged)
            replaced = entry.replaces or 0
            self.note(kind, replaced if 0 < replaced < WIDEST else 0)
        created = getattr(entry.facts, "created", 0) or dict(entry.sets).get("created")
        if entry.change is Change.CREATED:
            self.made.add(ref.uid)
        elif ref.uid and shared(*kind):
            self.meet(ref.uid, Born(kind, created or 0, entry.received))

    @staticmethod
    def write(stamps: Stamps, revision: int, received: int, staged: int) -> None:
        stamps.revisions.append(revision)
        stamps.received.append(received)
        stamps.staged.append(staged)

    def note(self, kind: GroupKind, replaced: int) -> None:
        """Note the kind of the last write with a shared counter, and the revision that it replaced."""
        self.replaced.append(replaced)
        self.kinds.append(self.named.setdefault(kind, len(self.named)))

    def meet(self, uid: str, born: Born) -> None:
        """Note a write of an object that is not its creation."""
        if uid not in self.made:
            known = self.born.get(uid, born)
            self.born[uid] = Born(born.kind, max(born.created, known.created), min(born.received, known.received))

    def merge(self, other: "LeftOut") -> None:
        """Add what was left out of other lines of the log, or of another file whose clock agrees."""
        self.lines += other.lines
        self.deletions |= other.deletions
        for own, more in ((self.shared, other.shared), (self.others, other.others)):
            for column, values in zip(own, more, strict=True):
                column.extend(values)
        self.replaced.extend(other.replaced)
        places = [self.named.setdefault(kind, len(self.named)) for kind in other.named]
        self.kinds.extend(places[kind] for kind in other.kinds)
        self.made |= other.made
        for kind, times in other.bare.items():
            self.bare.setdefault(kind, set()).update(times)
        for uid, born in other.born.items():
            self.meet(uid, born)

    def commits(self) -> Iterator[Stamped]:
        """Yield (revision, received, staged) of the writes that use the counter that most kinds share."""
        return zip(*self.shared, strict=True)

    def stamps(self) -> Iterator[tuple[int | None, int, int]]:
        """Yield (revision or None, received, staged) of all writes, in no order."""
        yield from self.commits()
        yield from zip(*self.others, strict=True)
        for times in self.bare.values():
            for received, staged in times:
                yield None, received, staged

    def reach(self, extent: Extent) -> None:
        """Extend the range of time that a source covers by these writes."""
        bare = [array("q", column) for column in zip(*chain(*self.bare.values()), strict=True)] or [array("q")] * 2
        for received, staged in (self.shared[1:], self.others[1:], bare):
            if received:
                extent.reach(min(received), min(staged), logged=True)
                last = max(received)
                ended = max((each for each in staged if each != FOREVER), default=last)
                extent.reach(last, max(last, ended), logged=True)

    def correct(self, ahead: int) -> None:
        """Subtract from all times by how many microseconds the clock of the file is ahead."""
        if not ahead:
            return
        for stamps in (self.shared, self.others):
            for times in stamps[1:]:
                times[:] = array("q", [each if each == FOREVER else each - ahead for each in times])
        self.bare = {kind: _earlier(times, ahead) for kind, times in self.bare.items()}
        self.deletions = _earlier(self.deletions, ahead)
        self.born = {uid: born._replace(received=born.received - ahead) for uid, born in self.born.items()}

    def unborn(self) -> Iterator[Born]:
        """Yield the first write of each object whose creation the log does not show."""
        return (born for uid, born in self.born.items() if uid not in self.made)

    def unseen(self, known: set[int]) -> Iterator[tuple[GroupKind, int]]:
        """Yield the kind and the revision of each write that was replaced and is not among the `known` revisions. What
        a write of the kind without a revision may have written is left out."""
        lacking = {
            (kind, replaced)
            for kind, replaced in zip(self.kinds, self.replaced, strict=True)
            if replaced and replaced not in known
        }
        if not lacking:
            return
        bare = {kind: sorted(times) for kind, times in self.bare.items()}
        latest = {kind: [0, *accumulate((staged for _, staged in times), max)] for kind, times in bare.items()}
        commits = sorted(self.commits())
        began = [0, *accumulate((received for _, received, _ in commits), max)]
        answered = [*accumulate((staged for _, _, staged in reversed(commits)), min)][::-1]
        named = [*self.named]
        for kind, replaced in sorted(lacking):
            at = bisect_left(commits, (replaced,))
            until = answered[at] if at < len(answered) else FOREVER
            before = bisect_right(bare.get(named[kind], ()), (until, FOREVER))
            if latest.get(named[kind], [0])[before] < began[at]:
                yield named[kind], replaced


def filed(files: Iterable[LeftOut]) -> Iterator[tuple[int, str, int, int]]:
    """Yield (revision, file, received, staged) of each revision that `commits` yields for these files, once: a later
    write that repeats a revision has changed nothing."""
    first: dict[int, tuple[int, int, str]] = {}
    for each in files:
        for revision, received, staged in each.commits():
            if (received, staged, each.file) < first.get(revision, (FOREVER, FOREVER, "")):
                first[revision] = received, staged, each.file
    return ((revision, file, received, staged) for revision, (received, staged, file) in first.items())
