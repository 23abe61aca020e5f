"""Track which parts of a world each judgement read, so that only the judgements that a change may affect have to be
repeated. It does no I/O.

A subject is the track that a rule judges.
"""

from bisect import bisect_left, insort
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator
from typing import Any, NamedTuple, TypeVar

from timeline.core.machine.sharing import shared
from timeline.core.order import At
from timeline.history.lifelines import Key, Track

What = tuple[object, ...]  # the key of something that a judgement can read, such as ("name", name)
# The arguments of `World.complete` (group, kind, start, end, namespace) and its result.
Answer = tuple[str, str, int, int, str | None, bool]

LAST: What = ("last",)  # the key of the end of the source
SEEN: What = ("seen",)  # the key of how much of each kind was observed
WRITES: What = ("writes",)  # the key of the set of all writes
ALL = -1  # the bits of all rules
_FEW = 16  # the most readers that are kept in a list
_T = TypeVar("_T")


class _Reads(NamedTuple):
    """What the last judgement of a subject read, in that order (see `Dependencies`). The tuple after each tuple of
    items has, for each item, the bits of the rules that read it."""

    looked: tuple[What, ...] = ()
    looked_by: tuple[int, ...] = ()
    looked_until: tuple[tuple[What, int], ...] = ()
    looked_until_by: tuple[int, ...] = ()
    tallied: tuple[tuple[str, At], ...] = ()
    tallied_by: tuple[int, ...] = ()
    answers: tuple[Answer, ...] = ()
    answers_by: tuple[int, ...] = ()


_NOTHING = _Reads()


class Dependencies:
    """Record what the rules read when they judged a subject, which is one object. When some of that changes, mark the
    subject to be judged again, by the rules that have read it. Each rule is one bit of a number.

    A judgement mostly reads the same as the last one of its subject. Only what differs is noted among the readers.
    """

    def __init__(self) -> None:
        self._subject: Key | None = None  # the subject that is judged now
        self._rule = ALL  # the bit of the rule that judges it now
        # What its judgement has read so far, with the bits of the rules that did.
        self._looked: dict[What, int] = {}
        self._looked_until: dict[tuple[What, int], int] = {}
        self._tallied: dict[tuple[str, At], int] = {}
        self._answers: dict[Answer, int] = {}
        self._reads: dict[Key, _Reads] = {}
        self._readers: dict[What, list[Key] | set[Key]] = {}  # a list as long as there are few
        self._early_readers: dict[What, list[tuple[int, Key]]] = defaultdict(list)  # see `look_until`; sorted
        self._counters: dict[str, list[tuple[At, Key]]] = defaultdict(list)  # by the owner's UID, sorted
        self._asking: dict[Key, None] = {}  # subjects whose judgements got answers: few, in the order of judging
        self._stale: dict[Key, int] = {}

    @property
    def recording(self) -> bool:
        """Return whether a judgement is being recorded."""
        return self._subject is not None

    def begin(self, subject: Key, rules: int = ALL) -> None:
        """Start to record what the judgement of this subject by these rules reads, in place of what they read last.

        What it reads counts for all rules until `judging` is called.
        """
        self.end()
        self._subject, self._rule = subject, ALL
        if rules != ALL and (reads := self._reads.get(subject)):
            _keep(self._looked, reads.looked, reads.looked_by, ~rules)
            _keep(self._looked_until, reads.looked_until, reads.looked_until_by, ~rules)
            _keep(self._tallied, reads.tallied, reads.tallied_by, ~rules)
            _keep(self._answers, reads.answers, reads.answers_by, ~rules)

    def judging(self, rule: int) -> None:
        """Note that the rule with this bit judges the subject now."""
        self._rule = rule

    def end(self) -> None:
        """Stop recording until the next `begin`."""
        if self._subject:
            reads = _Reads(
                tuple(map(shared, self._looked)),
                shared(tuple(self._looked.values())),
                tuple(self._looked_until),
                shared(tuple(self._looked_until.values())),
                tuple(self._tallied),
                shared(tuple(self._tallied.values())),
                tuple(self._answers),
                shared(tuple(self._answers.values())),
            )
            self._replace(self._subject, reads)
            for each in (self._looked, self._looked_until, self._tallied, self._answers):
                each.clear()
        self._subject = None

    def forget(self, subject: Key) -> None:
        """Forget what the last judgement of a subject read."""
        self._replace(subject, _NOTHING)

    def _replace(self, subject: Key, now: _Reads) -> None:
        before = self._reads.get(subject, _NOTHING)
        if now == before:
            return
        looked, looked_before = _differing(now.looked, before.looked)
        for what in looked_before:
            self._remove_reader(what, subject)
        for what in looked:
            self._add_reader(what, subject)
        early, early_before = _differing(now.looked_until, before.looked_until)
        for what, until in early_before:
            _remove(self._early_readers, what, (until, subject))
        for what, until in early:
            insort(self._early_readers[what], (until, subject))
        tallied, tallied_before = _differing(now.tallied, before.tallied)
        for uid, at in tallied_before:
            _remove(self._counters, uid, (at, subject))
        for uid, at in tallied:
            insort(self._counters[uid], (at, subject))
        if now.answers:
            self._asking[subject] = None
        else:
            self._asking.pop(subject, None)
        if now == _NOTHING:
            del self._reads[subject]
        else:
            self._reads[subject] = now

    def _add_reader(self, what: What, subject: Key) -> None:
        readers = self._readers.get(what)
        if readers is None:
            self._readers[what] = [subject]
        elif isinstance(readers, set):
            readers.add(subject)
        else:
            readers.append(subject)
            if len(readers) > _FEW:
                self._readers[what] = set(readers)

    def _remove_reader(self, what: What, subject: Key) -> None:
        readers = self._readers[what]
        readers.remove(subject)
        if not readers:
            del self._readers[what]

    def look(self, *what: object) -> None:
        """Record that the current judgement reads what this key stands for."""
        if self._subject:
            self._looked[what] = self._looked.get(what, 0) | self._rule

    def look_until(self, until: int, *what: object) -> None:
        """Record that the current judgement reads what this key stands for, but no track that began after a drawn time,
        in microseconds since 1970; of ("states", name) also nothing that happened to a track after that time."""
        if self._subject:
            early = what, until
            self._looked_until[early] = self._looked_until.get(early, 0) | self._rule

    def count(self, owner_uid: str, at: At) -> None:
        """Record that the current judgement counts the children that an owner had right after `at`."""
        if self._subject:
            counted = owner_uid, at
            self._tallied[counted] = self._tallied.get(counted, 0) | self._rule

    def ask(self, answer: Answer) -> None:
        """Record a result of `World.complete` that the current judgement got."""
        if self._subject:
            self._answers[answer] = self._answers.get(answer, 0) | self._rule

    def changed(self, track: Track, since: int) -> None:
        """Mark every subject whose judgement read this track. The track has changed from the drawn time `since` on, in
        microseconds since 1970."""
        self._stale[track.key] = ALL
        whats: list[What] = [("name", track.name), ("kind", *track.name[:2]), ("uid", track.ref.uid)]
        whats += (("referrers", name) for name in track.references())
        self.differs(*whats)
        for what in whats:
            readers = self._early_readers.get(what, [])
            for until, key in readers[bisect_left(readers, (track.first.time,)) :]:
                reads = self._reads[key]
                self._mark(key, reads.looked_until_by[reads.looked_until.index((what, until))])
        states: What = ("states", track.name)
        readers = self._early_readers.get(states, [])
        for until, key in readers[bisect_left(readers, (max(since, track.first.time),)) :]:
            reads = self._reads[key]
            self._mark(key, reads.looked_until_by[reads.looked_until.index((states, until))])
        if track.owner:
            self.differs(("children", track.owner.uid))
            counters = self._counters.get(track.owner.uid, [])
            for at, key in counters[bisect_left(counters, ((since, 0),)) :]:
                reads = self._reads[key]
                self._mark(key, reads.tallied_by[reads.tallied.index((track.owner.uid, at))])

    def differs(self, *whats: What) -> None:
        """Mark every subject whose judgement read any of these."""
        for what in whats:
            for key in self._readers.get(what, ()):
                reads = self._reads[key]
                self._mark(key, reads.looked_by[reads.looked.index(what)])

    def _mark(self, subject: Key, rules: int) -> None:
        self._stale[subject] = self._stale.get(subject, 0) | rules

    def answers(self) -> Iterator[tuple[Key, Iterable[tuple[Answer, int]]]]:
        """Yield each subject with the results of `World.complete` that its judgement got, each with the bits of the
        rules that did."""
        for subject in self._asking:
            reads = self._reads[subject]
            yield subject, zip(reads.answers, reads.answers_by, strict=True)

    def take(self) -> dict[Key, int]:
        """Return the subjects that were marked since the last call, each with the bits of the rules that have to judge
        it again, and unmark them."""
        stale, self._stale = self._stale, {}
        return stale


def _keep(items: dict[_T, int], read: tuple[_T, ...], read_by: tuple[int, ...], rules: int) -> None:
    """Add what these rules read."""
    items.update((item, by & rules) for item, by in zip(read, read_by, strict=True) if by & rules)


def _differing(now: tuple[_T, ...], before: tuple[_T, ...]) -> tuple[Collection[_T], Collection[_T]]:
    """Return the items of `now` that are not in `before`, and those of `before` that are not in `now`. Each has no item
    twice."""
    if before == now:
        return (), ()
    if not before or not now:
        return now, before
    return set(now).difference(before), set(before).difference(now)


def _remove(lists: dict[Any, list[Any]], key: object, item: object) -> None:
    """Remove an item from one of several sorted lists, and the list if it is empty then."""
    of_key = lists[key]
    del of_key[bisect_left(of_key, item)]
    if not of_key:
        del lists[key]
