"""Answer questions about one source as a whole: its times, watches, requests and logs. It does no I/O."""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from timeline.core.entries import Entry, LogLine, Request, Unknown
from timeline.history.freed import Freed
from timeline.history.ledger.acts import Act
from timeline.history.ledger.ledger import Ledger
from timeline.history.lifelines import Name, Track
from timeline.history.seen import GroupKind, Seen
from timeline.history.shown import Shown
from timeline.history.streams import Stream


class WholeSource:
    """What is known of a source beside its tracks."""

    partial = False  # whether only a part of the source was read (see `partial.py`)

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        # The rule that judges a live source now, and the time up to which the watches that it needs are complete.
        self.horizon: tuple[str, int] | None = None
        self.beyond: bool = False  # of a `PartialWorld`: whether a question was about what was left out

    @property
    def first(self) -> int:
        """Return the time at which the source begins, in microseconds since 1970."""
        return self._ledger.extent.first

    def begins_at(self, first: int) -> None:
        """Set the beginning of the source, because entries before that time are no longer stored."""
        self._ledger.extent.first = first

    @property
    def last(self) -> int:
        """Return the time at which the source ends, in microseconds since 1970.

        While a rule judges a live source, this is the time up to which the watches that the rule needs are complete.
        """
        return self._end

    @property
    def _end(self) -> int:
        """Return the same as `last`. `RecordingWorld` records who reads `last`, but not who reads this."""
        return self._ledger.extent.last if self.horizon is None else self.horizon[1]

    def no_later(self, time: int) -> int:
        """Return the earlier of two drawn times: the given one, and the end of the source (see `last`)."""
        return min(time, self._end)

    def watched_after(self, time: int, length: int) -> int:
        """Return for how many microseconds after a drawn time the source goes on, at most `length`."""
        return min(length, max(0, self._end - time))

    @property
    def remembered(self) -> int:
        """Return the drawn time from which on every track is known. Tracks that ended earlier may have been
        forgotten."""
        return self._ledger.remembered

    @property
    def misdated(self) -> int:
        """Return how many of the remembered observations state a time that lay in the future."""
        return self._ledger.misdated

    @property
    def live(self) -> bool:
        """Return whether the watches of a live cluster say what is complete, and when."""
        return self._ledger.live

    @property
    def streams(self) -> Mapping[GroupKind, Stream]:
        """Return the state of the watch of each kind."""
        return self._ledger.streams

    @property
    def freed(self) -> Freed:
        """Return the spans of time whose changes retention has deleted."""
        return self._ledger.freed

    def reached(self, kinds: Iterable[GroupKind]) -> int:
        """Return the drawn time up to which the watches of all these kinds are complete. Kinds that are not watched do
        not count."""
        streams = self._ledger.streams
        return min(
            (self._ledger.clocks.reached(kind) for kind in kinds if kind in streams), default=self._ledger.extent.last
        )

    def watched_until(self) -> int:
        """Return the drawn time of the last change that any watch shows; 0 without a watch."""
        return max((seen.streamed_until for seen in self._ledger.seen.values()), default=0)

    @property
    def seen(self) -> Mapping[GroupKind, Seen]:
        """Return how much of each kind was observed."""
        return self._ledger.seen

    def changes(self, kind: GroupKind) -> int:
        """Return how many changes of a kind were observed. What a log and a watch show together counts once."""
        return self._ledger.changes(kind)

    @property
    def shown(self) -> Shown:
        """Return which sorts of lines were observed of each kind."""
        return self._ledger.shown

    @property
    def offsets(self) -> dict[str, int]:
        """Return by how many microseconds the clock of each file is ahead of the others. The times of its entries were
        corrected by that."""
        return dict(sorted(self._ledger.clocks.offsets.items()))

    def commits(self) -> Iterator[tuple[int, int]]:
        """Yield (drawn time, resource version) of each change of the kinds that share one counter of revisions."""
        return self._ledger.commits()

    @property
    def own_counters(self) -> list[GroupKind]:
        """Return the kinds whose revisions cannot be compared with those of most kinds, because they come from other
        counters."""
        return self._ledger.clocks.own_counters

    def two_clusters(self) -> tuple[Entry, Entry] | None:
        """Return two entries that cannot come from one cluster, or None if there are none."""
        return self._ledger.two_clusters()

    def two_kube_systems(self) -> tuple[Entry, Entry] | None:
        """Return entries of two namespaces kube-system, which show that another cluster answers now, or None.

        This is the part of `two_clusters` that is cheap enough for every batch.
        """
        return self._ledger.two_kube_systems()

    def requests(self, name: Name) -> Sequence[Request]:
        """Return the requests about the objects of a name that changed nothing, in the order in which they were
        received. With an empty name, these are the requests about all objects of a kind in a namespace, or in all."""
        return self._ledger.requests.about(name)

    def requests_of(self, track: Track) -> Sequence[Request]:
        """Return the requests that changed nothing and that may be about this incarnation: those that name its UID, and
        those about its name that name no UID, in the order in which they were received."""
        return self._ledger.requests.of(track.name, track.ref.uid)

    def requests_apart(self, track: Track) -> tuple[Sequence[Request], Sequence[Request]]:
        """Return the requests of `requests_of` in two parts: those that name the UID of the track, and those that name
        none. A name may have thousands of the latter."""
        return self._ledger.requests.apart(track.name, track.ref.uid)

    def refused_by(self, refuser: Name) -> Sequence[Request]:
        """Return the requests that something refused, such as a webhook that could not be called or a budget (see
        `timeline.history.refusals`), in the order in which they were received."""
        return self._ledger.requests.refused_by(refuser)

    def requested_names(self) -> set[Name]:
        """Return the names that requests which changed nothing are about."""
        return self._ledger.requests.names()

    def acts(self, name: Name, child: str | None = None) -> Sequence[Act]:
        """Return what the Events about the objects of a name show of the copies of these objects that their writers
        held, in the order in which the Events were recorded: all, or those by which a child was created or deleted."""
        return self._ledger.acts.about(name, child)

    @property
    def has_logs(self) -> bool:
        """Return whether the source has lines of the logs of programs."""
        return len(self._ledger.logs) > 0

    @property
    def dated_logs(self) -> bool:
        """Return whether the source has lines of logs whose times are known."""
        return any(lines for _, lines in self.logs())

    def lines_of_logs(self) -> dict[str, int]:
        """Return how many lines of each log of a program the source has, by the name of the log."""
        return self._ledger.logs.counts()

    def logs_without(self) -> dict[Unknown, int]:
        """Return how many logs have lines with incomplete times, by what is missing."""
        return self._ledger.logs.without()

    def logs(self) -> Sequence[tuple[str, Sequence[LogLine]]]:
        """Return each log of a program, sorted by name, with its lines in the order of its file."""
        return [(name, self._ledger.logs.log(name)) for name in self._ledger.logs.names()]

    def watches(self) -> Iterator[Request]:
        """Yield the watch requests about all objects of a kind, kind by kind in the order in which they were
        received."""
        return self._ledger.requests.watches()
