"""This module tracks which parts of a world each judgement read, so that only the judgements that a change may affect
have to be repeated. It is pure.

A subject is the track that a rule judges.
"""

from bisect import bisect_left, insort
from collections import defaultdict
from collections.abc import Iterable, Iterator
from itertools import chain

from timeline.core.order import At
from timeline.history.lifelines import Key, Track

What = tuple[object, ...]  # the key of something that a judgement can read, such as ("name", name)
Answer = tuple[str, str, int, int, bool]  # the arguments of `World.complete` (group, kind, start, end) and its result

LAST: What = ("last",)  # the key of the end of the source
SEEN: What = ("seen",)  # the key of how much of each kind was observed
WRITES: What = ("writes",)  # the key of the set of all writes


class Dependencies:
    """This class records what the judgement of each subject read, and marks the subjects that a change affects."""

    def __init__(self) -> None:
        self._subject: Key | None = None  # the subject that is judged now
        self._looked_at: dict[Key, set[What]] = {}
        self._tallied: dict[Key, set[tuple[str, At]]] = {}
        self._answers: dict[Key, set[Answer]] = {}
        self._readers: dict[What, set[Key]] = defaultdict(set)
        self._counters: dict[str, list[tuple[At, Key]]] = defaultdict(list)  # by the owner's UID, sorted
        self._stale: set[Key] = set()

    def begin(self, subject: Key) -> None:
        """Start to record what the judgement of this subject reads, in place of what its last judgement read."""
        self.forget(subject)
        self._subject = subject

    def end(self) -> None:
        """Stop recording until the next `begin`."""
        self._subject = None

    def forget(self, subject: Key) -> None:
        """Forget what the last judgement of a subject read."""
        for what in self._looked_at.pop(subject, ()):
            self._readers[what].discard(subject)
            if not self._readers[what]:
                del self._readers[what]
        for uid, at in self._tallied.pop(subject, ()):
            counters = self._counters[uid]
            del counters[bisect_left(counters, (at, subject))]
            if not counters:
                del self._counters[uid]
        self._answers.pop(subject, None)

    def look(self, *what: object) -> None:
        """Record that the current judgement reads what this key stands for."""
        if self._subject and self._subject not in (readers := self._readers[what]):
            readers.add(self._subject)
            self._looked_at.setdefault(self._subject, set()).add(what)

    def count(self, owner_uid: str, at: At) -> None:
        """Record that the current judgement counts the children that an owner had right after `at`."""
        if self._subject and (owner_uid, at) not in (tallied := self._tallied.setdefault(self._subject, set())):
            tallied.add((owner_uid, at))
            insort(self._counters[owner_uid], (at, self._subject))

    def ask(self, answer: Answer) -> None:
        """Record a result of `World.complete` that the current judgement got."""
        if self._subject:
            self._answers.setdefault(self._subject, set()).add(answer)

    def changed(self, track: Track, since: int) -> None:
        """Mark every subject whose judgement read this track. The track has changed from the drawn time `since` on, in
        microseconds since 1970."""
        self._stale.add(track.key)
        self.differs(("name", track.name), ("kind", *track.name[:2]), ("uid", track.ref.uid))
        self.differs(*(("referrers", name) for name in track.references()))
        if track.owner:
            self.differs(("children", track.owner.uid))
            counters = self._counters.get(track.owner.uid, [])
            self._stale.update(key for _, key in counters[bisect_left(counters, ((since, 0),)) :])

    def differs(self, *whats: What) -> None:
        """Mark every subject whose judgement read any of these."""
        self._stale.update(chain.from_iterable(self._readers.get(what, ()) for what in whats))

    def answers(self) -> Iterator[tuple[Key, Iterable[Answer]]]:
        """Yield each subject with the results of `World.complete` that its judgement got."""
        yield from self._answers.items()

    def take(self) -> set[Key]:
        """Return the subjects that were marked since the last call, and unmark them."""
        stale, self._stale = self._stale, set()
        return stale
