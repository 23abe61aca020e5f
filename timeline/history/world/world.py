"""Answer all questions about the history of one source: its tracks, their relations, and how complete it is. It does no
I/O.

A `World` learns entries in any order. After `settle`, its answers take everything into account that it has learned.
Times are drawn times (see `timeline/core/order.py`) in microseconds since 1970, UTC.
"""

from bisect import bisect_right
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from timeline.core.actors import actor_of
from timeline.core.entries import Change, Clock, Entry, LogLine, ObjectRef, Observation
from timeline.core.machine.spill import Spilling
from timeline.core.order import SECOND, At
from timeline.history.ledger.ledger import Ledger
from timeline.history.lifelines import ANONYMOUS, Key, Moment, Name, Track, anonymous, name_of, public_uid
from timeline.history.snapshot import Snapshot
from timeline.history.world.completeness import Completeness, Loss, losses
from timeline.history.world.expiry import expired
from timeline.history.world.in_file import TracksInFile
from timeline.history.world.in_memory import Settlement, TracksInMemory
from timeline.history.world.source import WholeSource

if TYPE_CHECKING:
    from timeline.history.world.tracks import Tracks

T = TypeVar("T")
_MARGIN = 5 * SECOND  # µs by which a watch may begin before, or end after, an audit log of the same time
# The start of a range in which gaps do not matter: the list that ends a gap shows whether a given object changed in it.
_SINCE_LISTED = -1


class World(WholeSource):
    """Hold the tracks of one source, and answer the questions that rules ask about them.

    `keeps` returns whether an entry belongs to a track; all other entries are only counted. For a source that grows,
    use `timeline.history.world.recording.RecordingWorld`, which also records what each judgement reads. Without
    `intents`, nobody asks for the changes that somebody meant (see `timeline.judging.incidents.intents`). `followed`
    says that a worker watches the source. With `spilling`, the world is settled only once, and what is too much for
    memory is in a file.
    """

    def __init__(
        self,
        keeps: Callable[[Entry], bool] | None = None,
        *,
        intents: bool = True,
        followed: bool = False,
        spilling: Spilling | None = None,
    ) -> None:
        super().__init__(Ledger(keeps, intents=intents, followed=followed, spilling=spilling))
        self._spilling = spilling
        self._in_memory = TracksInMemory(self._number)
        self._tracks: Tracks = self._in_memory
        # Tracks that may miss writes. Which of these count is decided later, when the beginning of the log is known.
        self._suspects: set[Key] = set()
        self._completeness: Completeness | None = None
        self._computed: dict[object, Any] = {}  # results of `once` since the last `settle`
        # What rules failed to judge: the name of the exception, by the rule and the key of the track.
        self.failures: dict[tuple[str, Key | None], str] = {}

    # Learning

    def learn(self, entries: Iterable[Observation]) -> Iterator[tuple[int, Observation]]:
        """Learn observations, and yield those that add information, each with the number of its object, or 0 for a
        mark, a request or a line of a log.

        This is a generator: it learns only as far as the caller consumes it.
        """
        return self._ledger.learn(entries)

    def settle(self) -> list[Track]:
        """Put everything that was learned since the last call into commit order; return the tracks that changed; none
        if they are in a file."""
        return self._settle().changed

    def _settle(self) -> Settlement:
        self._completeness = None
        self._computed = {}
        if self._ledger.is_spilled:
            self._settle_in_file()
            return Settlement([], [], [])
        settlement = self._in_memory.settle(self._ledger.settle())
        self._suspects.difference_update(track.key for track in settlement.removed)
        for track, before, _ in settlement.replaced:
            if losses(track, self._ledger, begins=-1):
                self._suspects.add(track.key)
            elif before:
                self._suspects.discard(track.key)
        return settlement

    def _settle_in_file(self) -> None:
        """Settle everything that was learned, name by name."""
        assert self._spilling
        self._tracks = in_file = TracksInFile(self._spilling, self._number)
        for name, tracks in self._ledger.lives():
            in_file.add(name, tracks)
            self._suspects.update(track.key for track in tracks if losses(track, self._ledger, begins=-1))
        in_file.finish()

    def expired(self, before: int, events: int) -> list[Track]:
        """Return the tracks that ended before a drawn time and that no remaining track needs. `events` is the limit for
        Events about objects that no longer exist."""
        return expired(self._tracks, before, events)

    def forget(self, tracks: Collection[Track], before: int) -> None:
        """Forget tracks that ended before a drawn time, as `expired` returned them."""
        for track in tracks:
            self._in_memory.remove(track)
            self._suspects.discard(track.key)
            for failure in [each for each in self.failures if each[1] == track.key]:
                del self.failures[failure]
            self._ledger.forget(track.name, public_uid(track.ref))
        self._completeness = None
        self._computed = {}
        self._ledger.forgotten(before)

    def snapshot(self) -> Snapshot:
        """Return everything that is known of a live source, in a form that can be stored."""
        return self._ledger.snapshot()

    def restore(self, snapshot: Snapshot) -> None:
        """Restore the state that a snapshot holds. Nothing may have been learned before; call `settle` afterwards."""
        self._ledger.restore(snapshot)

    # What was written

    def log_lines(self, name: Name) -> Sequence[LogLine]:
        """Return the lines of the logs of programs that name an object, in the order in which they were written.

        A line that names no namespace counts if only one object of this kind is known by this name.
        """
        alone = [each for each in self._tracks.names(name.group, name.kind) if each.name == name.name]
        return self._ledger.logs.naming(name, alone=alone == [name])

    def writes_of(self, process: str) -> Sequence[tuple[Track, Moment]]:
        """Return the writes of a process (see `core.actors`), in the order in which they were received, even if it is
        not known what they changed. Only an audit log shows which process wrote."""
        return self.once(("writes", process), lambda: self._writes_of(process, self.tracks()))

    def _writes_of(self, process: str, tracks: Iterable[Track]) -> Sequence[tuple[Track, Moment]]:
        written = [
            (track, moment)
            for track in tracks
            for moment in (*track.moments, *track.surely_unplaced)
            if moment.entry.client and (actor := actor_of(moment.entry)) and actor.process == process
        ]
        return sorted(written, key=lambda each: (each[1].entry.received, each[1].at, each[0].key))

    def once(self, key: object, compute: Callable[[], T]) -> T:
        """Return what `compute` returns, which is called once for each key as long as nothing is learned.

        Judgements of live sources may not use it, because it does not record what they read.
        """
        if key not in self._computed:
            self._computed[key] = compute()
        result: T = self._computed[key]
        return result

    def computed(self, key: object, compute: Callable[[], T]) -> T:
        """Return what `compute` returns, which is called once for each key as long as nothing is learned; or each time
        if judgements record what they read."""
        return self.once(key, compute)

    # Tracks and their relations

    def tracks(self, start: int = 0, stop: int | None = None) -> Iterator[Track]:
        """Yield all tracks, by name and then in the order in which they began; or those between two places in that
        order, from 0."""
        return map(self._tracks.at, range(*slice(start, stop).indices(len(self._tracks))))

    @property
    def count_of_tracks(self) -> int:
        return len(self._tracks)

    def track_at(self, ordinal: int) -> Track:
        """Return a track by its place in `tracks`."""
        return self._tracks.at(ordinal)

    # `until` of these questions leaves out what began later than a drawn time. In a source that grows, a subject that
    # has ended is then not judged again for what comes after it.

    def of_kind(self, group: str, kind: str, until: int | None = None, after: int | None = None) -> Iterator[Track]:
        """Yield the tracks of one kind that began by a drawn time, by name and then in the order in which they began,
        without those that were observed to end before `after`, a drawn time."""
        for name in self._tracks.names(group, kind):
            yield from self._tracks.begun(name, until, after)

    def incarnations(self, name: Name, until: int | None = None, after: Moment | None = None) -> Sequence[Track]:
        """Return the tracks of a name in the order in which they began: those that began by a drawn time, and the first
        one after these.

        With `after`, those of the first tracks that ended before this moment, surely and by their drawn times, may be
        left out, except for the last of these.
        """
        return self._tracks.incarnations(name, until, after)

    def begun_by(self, name: Name, time: int) -> Sequence[Track]:
        """Return the tracks of a name that began by a drawn time. The caller looks at nothing of them after it."""
        return [each for each in self._tracks.incarnations(name, time, None) if each.first.time <= time]

    def writes_without_uid(self, track: Track) -> list[Moment]:
        """Return the writes that may be of this track or of another one of its name, because no observation shows
        which; none for a track that has no UID itself."""
        return [*track.unplaced, *(each for life in self._without_uid(track) for each in life.moments)]

    def _without_uid(self, track: Track) -> Sequence[Track]:
        """Return the tracks whose changes may be those of this one, because no observation shows their UID."""
        return self._tracks.without_uid(track.name) if public_uid(track.ref) else ()

    def track(self, key: Key) -> Track | None:
        return self._tracks.get(key)

    def of_uid(self, uid: str) -> Track | None:
        return self._tracks.of_uid(uid)

    def id_of(self, ref: ObjectRef) -> int | None:
        """Return the number of an object within the source, from 1; None if there is no such track."""
        track = self.track((name_of(ref), ref.uid))
        return None if track is None else self.number(track)

    def number(self, track: Track) -> int:
        """Return the number of a track within the source, which is unique and never changes."""
        return self._tracks.number(track)

    def _number(self, track: Track) -> int:
        uid = track.ref.uid
        if not uid.startswith(ANONYMOUS):
            return self._ledger.number(track.name, uid)
        return self._ledger.number(track.name, "") + (anonymous(track.ref) << 40)

    def unnamed(self, tracks: Sequence[Track]) -> list[int]:
        """Return the numbers of entries without a UID that have no track of their own, since they show changes of these
        tracks, which are all of a name."""
        if all(public_uid(track.ref) for track in tracks):
            return self._ledger.unnamed_numbers(tracks[0].name)
        return []

    def lane(self, track: Track) -> int:
        """Return the number of the lane (the name) of a track within the source."""
        return self._ledger.lane_number(track.name)

    def lanes_of(self, names: Iterable[Name]) -> list[int]:
        """Return the sorted numbers of the lanes of those names that have tracks."""
        return sorted(self._ledger.lane_number(name) for name in names if self._tracks.incarnations(name))

    def children(self, owner: Track) -> list[Track]:
        """Return the tracks whose controller is this one, in the order in which they began."""
        return self._tracks.children(owner.ref.uid)

    def tally(self, owner_uid: str, spell: str, at: At) -> int:
        """Return how many children of an owner were in a spell right after `at`, a `Moment.at`.

        A spell is a named stretch of time of a track, as `Kind.spells` gives it. The cost is logarithmic in the number
        of children.
        """
        return self._tracks.tally(owner_uid, spell, at)

    def referrers(self, name: Name, until: int | None = None, since: int | None = None) -> list[Track]:
        """Return the tracks that began between two drawn times and that referred to an object of this name at any time,
        sorted by key."""
        return sorted(self._referrers(name, until, since), key=lambda track: track.key)

    def _referrers(self, name: Name, until: int | None = None, since: int | None = None) -> Iterator[Track]:
        return self._tracks.referrers(name, until, since)

    def owner_of(self, track: Track) -> Track | None:
        """Return the track of the controller; for an object without ownerReferences, the track of the object to which
        it evidently belongs; None if there is no evidence.

        Endpoints belong to the Service of their name, and other objects to the owner of all Pods that refer to them.
        """
        return self._tracks.owner(track, self._find_owner)

    def _find_owner(self, track: Track) -> Track | None:
        if track.owner:
            return self.of_uid(track.owner.uid)
        if track.ref.kind == "Endpoints":  # written without an ownerReference, under its Service's name
            return self._living(Name("", "Service", track.ref.namespace, track.ref.name), track.first.time)
        owner: tuple[At, Key] | None = None
        name = track.name
        for root in self._roots_of_users(name):
            if track.first.at < root[0] or (owner and owner[1][0] != root[1][0]):
                return None  # it existed before, like the ServiceAccount of a namespace, or others share it
            owner = min(owner or root, root)
        return self._tracks.get(owner[1]) if owner else None  # all Pods that refer to the object have this owner

    def _roots_of_users(self, name: Name) -> Iterable[tuple[At, Key]]:
        """Return what `_each_root_of_users` yields, each once; the last one comes first, since it tells most about the
        incarnations of the name."""
        return self.once(("roots", name), lambda: sorted({*self._each_root_of_users(name)}, reverse=True))

    def _each_root_of_users(self, name: Name) -> Iterator[tuple[At, Key]]:
        """Yield the beginning and the key of the root owner of each Pod that refers to a name, until two roots have
        different names, which is enough to know that Pods share it."""
        first: Name | None = None
        for user in self._referrers(name):
            if user.ref.kind == "Pod" and (root := self.root(user)) is not user:
                yield root.first.at, root.key
                if (first := first or root.name) != root.name:
                    return

    def root(self, track: Track) -> Track:
        """Return the end of the chain of owners, which is the track itself if it has no owner."""
        seen = {track.key}
        while (owner := self.owner_of(track)) and owner.key not in seen:
            seen.add(owner.key)
            track = owner
        return track

    def _living(self, name: Name, time: int) -> Track | None:
        """Return the last incarnation of a name that began by a drawn time; if none did, the first one; None without
        any."""
        lives = self.incarnations(name, time)
        return next((track for track in reversed(lives) if track.first.time <= time), lives[0] if lives else None)

    # Completeness: where rules may conclude from the absence of a write that it never happened

    def complete(self, group: str, kind: str, start: int, end: int, namespace: str | None = None) -> bool:
        """Return whether no write of this kind in a namespace is known to be missing between two drawn times.

        Name the namespace wherever the question is about one. Without it, the question is about all namespaces, and the
        answer is no if only some of them are watched.
        """
        seen = self._ledger.seen.get((group, kind))
        if seen is None or not (seen.levels or seen.streamed):
            return False  # no changes of this kind were observed; a list shows only one point in time
        if start != _SINCE_LISTED and self._ledger.freed.overlaps(start, end):
            return False  # the last change of each object in a freed span is kept, as a list after a gap would show it
        stream = self._ledger.streams.get((group, kind))
        streamed = seen.streamed and self._all_losses.follows((group, kind))
        streamed = streamed and (stream is None or stream.covers(namespace))
        if self._ledger.live:
            blind = start != _SINCE_LISTED and stream is not None and stream.blind(start, end, namespace)
            return streamed and not blind and end <= self._ledger.clocks.reached((group, kind), namespace)
        if stream and stream.blind(start, end, namespace):
            return False
        if (seen.watched and seen.streamed) or (streamed and end <= seen.streamed_until):
            # A log that was joined to the watch tells at which time of the last second the change was.
            return streamed and end <= seen.streamed_until + (SECOND - 1 if seen.levels else 0)
        log_begins, log_ends = self._ledger.extent.logged
        logged = log_begins - _MARGIN <= start and end <= log_ends + _MARGIN
        return bool(seen.levels) and logged and self._all_losses.judges((group, kind), start, end)

    @property
    def completeness(self) -> Completeness:
        """Return which writes are known to be missing, and which conclusions that still allows."""
        return self._all_losses

    @property
    def _all_losses(self) -> Completeness:
        if self._completeness is None:
            self._completeness = Completeness([*self._losses()], self._ledger)
        return self._completeness

    def _losses(self) -> Iterator[Loss]:
        for track in self._tracks.resolve(sorted(self._suspects)):
            yield from losses(track, self._ledger)

    def unbroken(self, before: Moment, after: Moment, track: Track) -> bool:
        """Return whether surely no write is missing between two consecutive moments of this track."""
        if after.replaces is not None and before.stamp.resource_version is not None:
            return after.replaces == before.stamp.resource_version
        kind = track.ref.group, track.ref.kind
        until = self._ledger.seen[kind].streamed_until
        # A watch shows everything up to its last change, which may be drawn later than by its own times: by revisions
        # of other kinds, or, within its second, by an audit log.
        streamed = after.clock is Clock.OBJECT and after.change is not Change.OBSERVED
        shown = until < after.time and (streamed or after.time - SECOND < until)
        return self.complete(*kind, before.time, until if shown else after.time, track.ref.namespace)

    def gapless(self, track: Track, start: int, end: int) -> bool:
        """Return whether surely no write of a track is missing from the drawn time `start` until before `end`."""
        moments = track.moments
        at = bisect_right(moments, start, key=lambda moment: moment.time)
        since = moments[max(0, at - 1)].time
        if self.strays(track, since, end):
            return False
        while at < len(moments) and (before := moments[max(0, at - 1)]).time < end:
            if _is_opaque(moments[at]) or (at and not self.unbroken(before, moments[at], track)):
                return False
            at += 1
        over = track.last.time >= end or bool(track.ended)
        # The list that ends a gap shows what changed in it: objects that it does not show as changed did not change.
        since = _SINCE_LISTED if self.live else track.last.time
        return over or self.complete(track.ref.group, track.ref.kind, since, end, track.ref.namespace)

    def strays(self, track: Track, start: int, end: int) -> bool:
        """Return whether writes without a UID, from the drawn time `start` until before `end`, may belong to this track
        although no watch shows it then."""
        return any(start <= each.time < end for life in self._without_uid(track) for each in life.moments)


def _is_opaque(moment: Moment) -> bool:
    """Return whether a write may have changed the object in a way that no observation shows."""
    entry = moment.entry
    return entry.change is Change.MODIFIED and entry.facts is None and not entry.sets and entry.action != "binding"
