"""This module tracks which parts of a world each judgement read, so that only the judgements that a change may affect
have to be repeated. It is pure.

A subject is the track that a rule judges.
"""

from bisect import bisect_left, insort
from collections import defaultdict
from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Any

from timeline.core.order import At
from timeline.history.lifelines import Key, Track

What = tuple[object, ...]  # the key of something that a judgement can read, such as ("name", name)
# The arguments of `World.complete` (group, kind, start, end, namespace) and its result.
Answer = tuple[str, str, int, int, str | None, bool]

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
        self._looked_until: dict[Key, set[tuple[What, int]]] = {}
        self._early_readers: dict[What, list[tuple[int, Key]]] = defaultdict(list)  # see `look_until`; sorted
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
        for what, until in self._looked_until.pop(subject, ()):
            _remove(self._early_readers, what, (until, subject))
        for uid, at in self._tallied.pop(subject, ()):
            _remove(self._counters, uid, (at, subject))
        self._answers.pop(subject, None)

    def look(self, *what: object) -> None:
        """Record that the current judgement reads what this key stands for."""
        if self._subject and self._subject not in (readers := self._readers[what]):
            readers.add(self._subject)
            self._looked_at.setdefault(self._subject, set()).add(what)

    def look_until(self, until: int, *what: object) -> None:
        """Record that the current judgement reads what this key stands for, but no track that began after a drawn time,
        in microseconds since 1970."""
        if self._subject and (what, until) not in (looked := self._looked_until.setdefault(self._subject, set())):
            looked.add((what, until))
            insort(self._early_readers[what], (until, self._subject))

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
        whats: list[What] = [("name", track.name), ("kind", *track.name[:2]), ("uid", track.ref.uid)]
        whats += (("referrers", name) for name in track.references())
        self.differs(*whats)
        for what in whats:
            readers = self._early_readers.get(what, [])
            self._stale.update(key for _, key in readers[bisect_left(readers, (track.first.time,)) :])
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


def _remove(lists: dict[Any, list[Any]], key: object, item: object) -> None:
    """Remove an item from one of several sorted lists, and the list if it is empty then."""
    of_key = lists[key]
    del of_key[bisect_left(of_key, item)]
    if not of_key:
        del lists[key]
