"""Pure: what each judgement looked at, so that whatever changes finds the judgements that may come out otherwise."""

from bisect import bisect_left, insort
from collections import defaultdict
from collections.abc import Iterable, Iterator
from itertools import chain

from timeline.core.order import At
from timeline.history.lifelines import Key, Track

What = tuple[object, ...]
Answer = tuple[str, str, int, int, bool]  # of `World.complete`: group, kind, start, end, and what it said

LAST: What = ("last",)  # when the source ends
SEEN: What = ("seen",)  # how much of each kind was observed
WRITES: What = ("writes",)  # every write there is


class Dependencies:
    """For each subject what its judgement looked at, and what has changed of it since."""

    def __init__(self) -> None:
        self._subject: Key | None = None
        self._read: dict[Key, set[What]] = {}
        self._tallied: dict[Key, set[tuple[str, At]]] = {}
        self._answers: dict[Key, set[Answer]] = {}
        self._readers: dict[What, set[Key]] = defaultdict(set)
        self._counters: dict[str, list[tuple[At, Key]]] = defaultdict(list)  # by owner, in order
        self._stale: set[Key] = set()

    def begin(self, subject: Key) -> None:
        """What is looked at from now on is for the judgement of this one; what it looked at before is forgotten."""
        self._subject = subject
        for what in self._read.pop(subject, ()):
            self._readers[what].discard(subject)
            if not self._readers[what]:
                del self._readers[what]
        for uid, at in self._tallied.pop(subject, ()):
            counters = self._counters[uid]
            del counters[bisect_left(counters, (at, subject))]
            if not counters:
                del self._counters[uid]
        self._answers.pop(subject, None)

    def end(self) -> None:
        self._subject = None

    def look(self, *what: object) -> None:
        if self._subject and self._subject not in (readers := self._readers[what]):
            readers.add(self._subject)
            self._read.setdefault(self._subject, set()).add(what)

    def count(self, owner_uid: str, at: At) -> None:
        """The children of an owner are counted as they were right after `at`."""
        if self._subject and (owner_uid, at) not in (tallied := self._tallied.setdefault(self._subject, set())):
            tallied.add((owner_uid, at))
            insort(self._counters[owner_uid], (at, self._subject))

    def ask(self, answer: Answer) -> None:
        if self._subject:
            self._answers.setdefault(self._subject, set()).add(answer)

    def changed(self, track: Track, since: int) -> None:
        """A track is not as it was from a drawn time on."""
        self._stale.add(track.key)
        self.differs(("name", track.name), ("kind", *track.name[:2]), ("uid", track.ref.uid))
        self.differs(*(("referrers", name) for name in track.references()))
        if track.owner:
            self.differs(("children", track.owner.uid))
            counters = self._counters.get(track.owner.uid, [])
            self._stale.update(key for _, key in counters[bisect_left(counters, ((since, 0),)) :])

    def differs(self, *whats: What) -> None:
        self._stale.update(chain.from_iterable(self._readers.get(what, ()) for what in whats))

    def answers(self) -> Iterator[tuple[Key, Iterable[Answer]]]:
        """Of every subject what it was told of completeness."""
        yield from self._answers.items()

    def take(self) -> set[Key]:
        """Those whose judgement may come out otherwise, since this was asked the last time."""
        stale, self._stale = self._stale, set()
        return stale
