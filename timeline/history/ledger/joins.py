"""Keep what an audit log without bodies and a watch of one source show together, by name. It does no I/O.

`timeline.core.joining` says which writes of the log made which changes of the watch.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping

from timeline.core.entries import Clock, Entry
from timeline.core.joining import Life, lives
from timeline.core.order import SECOND
from timeline.history.lifelines import Name
from timeline.history.seen import GroupKind, Seen
from timeline.history.streams import Stream


class Joins:
    """Join the entries of each name, and know what has changed in that since the last time.

    `seen` and `streams` belong to the ledger, by kind, and `groups` returns the entries of a name, by UID and in
    corrected times; this class only reads them.
    """

    def __init__(
        self,
        seen: Mapping[GroupKind, Seen],
        streams: Mapping[GroupKind, Stream],
        groups: Callable[[Name], list[list[Entry]]],
    ) -> None:
        self._seen = seen
        self._streams = streams
        self._groups = groups
        self._answers: dict[Name, list[Life]] = {}  # since the last `clear`
        self._timed: dict[Name, dict[int, Entry]] = {}  # the joined changes that the clocks know, by revision
        # How many writes of a log do not count as changes of their own (see `repeated`): by name, and by kind.
        self._repeats: dict[Name, int] = {}
        self._repeated: Counter[GroupKind] = Counter()
        # By kind: names with writes of a log that the watch has not reached, and how far it had come.
        self._ahead: dict[GroupKind, tuple[int, set[Name]]] = {}

    def concern(self, kind: GroupKind) -> bool:
        """Return whether both a log and a watch or a list show a kind."""
        seen = self._seen.get(kind)
        return seen is not None and bool(seen.levels) and (seen.streamed or seen.listed)

    def of(self, name: Name) -> list[Life]:
        """Return what a log and a watch show together of the objects of a name."""
        if name in self._answers:
            return self._answers[name]
        groups = self._groups(name)
        seen, stream = self._seen[name[:2]], self._streams.get(name[:2])
        shown = seen.streamed and (stream is None or stream.covers(name.namespace))
        until = seen.streamed_until + SECOND if shown else 0
        if any(_outruns(each, until) for entries in groups for each in entries):
            self._ahead.setdefault(name[:2], (seen.streamed_until, set()))[1].add(name)
        found = self._answers[name] = lives(groups, until)
        repeats = sum(map(len, groups)) - sum(len(each.entries) for each in found)
        self._repeated[name[:2]] += repeats - self._repeats.pop(name, 0)
        if repeats:
            self._repeats[name] = repeats
        return found

    def entries(self, name: Name) -> list[Entry]:
        """Return the entries of a name after joining."""
        return [each for life in self.of(name) for each in life.entries]

    def clear(self) -> None:
        """Forget the answers of `of`, since something will be learned."""
        self._answers.clear()

    def reached(self) -> Iterator[Name]:
        """Yield the names with writes that a watch had not reached, if it has come further since."""
        for kind, (until, names) in [*self._ahead.items()]:
            if self._seen[kind].streamed_until > until:
                del self._ahead[kind]
                yield from names

    def repeated(self, kind: GroupKind) -> int:
        """Return how many writes of a kind do not count as changes of their own: a watch shows the same change, or they
        changed nothing."""
        return self._repeated[kind]

    # The times of joined changes, which the clocks of the source need

    def timed(self, name: Name) -> dict[int, Entry]:
        """Return the changes in a watch whose times a log shows, by revision."""
        joined = (each for each in self.entries(name) if each.clock is Clock.AUDIT and each.facts)
        return {each.resource_version: each for each in joined if each.resource_version is not None}

    def note(self, name: Name) -> None:
        """Note that the clocks know the joined changes of a name."""
        if timed := self.timed(name):
            self._timed[name] = timed
        else:
            self._timed.pop(name, None)

    def retimed(self, name: Name) -> Iterator[tuple[Entry, Entry]]:
        """Yield the changes of a name that the clocks do not know in their joined form, each as they know it and as it
        is now; and note that they know it."""
        own = {each.resource_version: each for entries in self._groups(name) for each in entries}
        known = self._timed.get(name, {})
        self.note(name)
        now = self._timed.get(name, {})
        for revision in sorted(known.keys() | now.keys()):
            before, after = (each.get(revision) or own.get(revision) for each in (known, now))
            if before and after and before != after:
                yield before, after

    # Forgetting, and snapshots

    def forget(self, name: Name) -> None:
        """Forget a name whose objects ended long ago. What was repeated goes on counting as such."""
        self._timed.pop(name, None)
        self._repeats.pop(name, None)

    def state(self) -> list[tuple[str, str, int]]:
        """Return how many writes of forgotten names were repeated, as (group, kind, count)."""
        remembered: Counter[GroupKind] = Counter()
        for name, count in self._repeats.items():
            remembered[name[:2]] += count
        return [(*kind, count) for kind, count in sorted((self._repeated - remembered).items())]

    def restore(self, state: Iterable[tuple[str, str, int]]) -> None:
        """Set the counts to what `state` returned."""
        for group, kind, count in state:
            self._repeated[group, kind] += count


def _outruns(entry: Entry, until: int) -> bool:
    """Return whether an entry is a write of an audit log that was received after a watch had shown its last change."""
    return entry.clock is Clock.AUDIT and entry.resource_version is None and entry.received > until > 0
