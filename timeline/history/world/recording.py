"""Define a `World` that records what each judgement reads. It does no I/O.

A source that grows batch by batch, such as a live cluster, is judged through it: when something changes, only the
subjects whose judgement read it are judged again.
"""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence

from timeline.core.actors import actor_of
from timeline.core.entries import LogLine, Request
from timeline.core.order import At
from timeline.history.ledger.acts import Act
from timeline.history.lifelines import Key, Moment, Name, Track
from timeline.history.seen import GroupKind, Seen
from timeline.history.world.completeness import Completeness
from timeline.history.world.dependencies import LAST, SEEN, WRITES, Dependencies
from timeline.history.world.in_memory import Settlement
from timeline.history.world.tracks import counted_otherwise
from timeline.history.world.world import T, World


class RecordingWorld(World):
    """Answer like `World`, and record for each judgement which questions it asked.

    Call `dependencies.begin` with a subject before it is judged; outside of a judgement nothing is recorded.
    """

    def __init__(self, *, followed: bool = False) -> None:
        super().__init__(followed=followed)
        self.dependencies = Dependencies()
        self._horizons: dict[str, int] = {}  # by rule: the end of the source when it was last judged
        self._last_observed: object = None  # what `_observed` was when it was last compared
        self._written: dict[str, set[Key]] = defaultdict(set)  # by process: the tracks that it wrote, and maybe others

    # What has changed

    def _settle(self) -> Settlement:
        settlement = super()._settle()
        for track, before, since in settlement.replaced:
            if before:
                if (counted := counted_otherwise(track, before)) is not None:
                    since = min(since, counted)
                if before.owner != track.owner or not before.references() <= track.references():
                    # Subjects may have read the track as a child of the old owner, or as a referrer of an old name.
                    self.dependencies.changed(before, 0)
            self.dependencies.changed(track, since)
        for track in (*settlement.removed, *settlement.bounded):
            self.dependencies.changed(track, 0)
        for track, before, _ in settlement.replaced:
            self._note_writers(track)
            if before:
                self._note_writers(before)
        for what, names in (("requests", self._ledger.requests.changed), ("acts", self._ledger.acts.changed)):
            self.dependencies.differs(*((what, name) for name in names))
            names.clear()
        return settlement

    def _note_writers(self, track: Track) -> None:
        """Note which processes wrote a track that has changed, for `writes_of`."""
        if self._ledger.seen[track.name[:2]].levels:
            writes = (*track.moments, *track.surely_unplaced)
            actors = (actor_of(each.entry) for each in writes if each.entry.client)
            for process in {actor.process for actor in actors if actor}:
                self._written[process].add(track.key)
                self.dependencies.differs(("process", process))

    def writes_of(self, process: str) -> Sequence[tuple[Track, Moment]]:
        self.dependencies.look("process", process)
        return self._writes_of(process, self._tracks.resolve(self._written.get(process, ())))

    def forget(self, tracks: Collection[Track], before: int) -> None:
        super().forget(tracks, before)
        for track in tracks:
            self.dependencies.changed(track, 0)
            self.dependencies.forget(track.key)
        forgotten = {track.key for track in tracks}
        self._written = defaultdict(
            set, {each: left for each, keys in self._written.items() if (left := keys - forgotten)}
        )

    def passed(self, horizons: Mapping[str, int]) -> bool:
        """Return whether the horizon of any rule differs from the one in the last call of `stale`."""
        return self._horizons != horizons

    def stale(self, horizons: Mapping[str, int] | None = None) -> list[tuple[Track, int]]:
        """Return the tracks that have to be judged again, each with the bits of the rules that have to. The caller must
        judge them: the next call leaves them out.

        `horizons` is the time, by rule, up to which the watches that the rule needs are complete, in microseconds since
        1970. Without it, tracks of a live source that only the passing of time affects are not returned.
        """
        if (observed := self._observed()) != self._last_observed:
            self._last_observed = observed
            self.dependencies.differs(SEEN)
        if self.live:
            if horizons is None:
                return self._marked(self.dependencies.take())
            passed = ((*LAST, rule) for rule, time in horizons.items() if self._horizons.get(rule) != time)
            self.dependencies.differs(*passed)
            self._horizons = dict(horizons)
        self.dependencies.differs(LAST, WRITES)
        marked = self.dependencies.take()
        complete = super().complete
        for key, answers in self.dependencies.answers():
            for (group, kind, start, end, namespace, before), rules in answers:
                if complete(group, kind, start, end, namespace) != before:
                    marked[key] = marked.get(key, 0) | rules
        return self._marked(marked)

    def _marked(self, marked: Mapping[Key, int]) -> list[tuple[Track, int]]:
        return [(track, marked[key]) for key in sorted(marked) if (track := self._tracks.get(key))]

    def _observed(self) -> object:
        """Return a comparable value of how much of each kind was observed, as far as rules read it."""
        return {
            kind: (set(each.levels), each.shows_statuses, each.streamed) for kind, each in self._ledger.seen.items()
        }

    # The questions of `World`, each of which is recorded

    @property
    def last(self) -> int:
        if self.horizon is not None and self.live:
            self.dependencies.look(*LAST, self.horizon[0])
        else:
            self.dependencies.look(*LAST)
        return super().last

    def no_later(self, time: int) -> int:
        earlier = super().no_later(time)
        if earlier < time or not self.live:  # as in `watched_after`
            _ = self.last
        return earlier

    def watched_after(self, time: int, length: int) -> int:
        covered = super().watched_after(time, length)
        if covered < length or not self.live:  # of a live source, time that is covered stays covered
            _ = self.last
        return covered

    @property
    def seen(self) -> Mapping[GroupKind, Seen]:
        self.dependencies.look(*SEEN)
        return super().seen

    def of_kind(self, group: str, kind: str, until: int | None = None, after: int | None = None) -> Iterator[Track]:
        self._look(until, "kind", group, kind)
        return super().of_kind(group, kind, until, after)

    def incarnations(self, name: Name, until: int | None = None, after: Moment | None = None) -> Sequence[Track]:
        lives = super().incarnations(name, until, after)
        # Nothing that begins after the last one that is returned can change the answer.
        ends = until is not None and lives and lives[-1].first.time > until
        self._look(lives[-1].first.time if ends else None, "name", name)
        return lives

    def begun_by(self, name: Name, time: int) -> Sequence[Track]:
        self.dependencies.look_until(time, "states", name)
        return super().begun_by(name, time)

    def _look(self, until: int | None, *what: object) -> None:
        if until is None:
            self.dependencies.look(*what)
        else:
            self.dependencies.look_until(until, *what)

    def _without_uid(self, track: Track) -> Sequence[Track]:
        self._look(None, "name", track.name)
        return super()._without_uid(track)

    def requests(self, name: Name) -> Sequence[Request]:
        self.dependencies.look("requests", name)
        return super().requests(name)

    def requests_of(self, track: Track) -> Sequence[Request]:
        self.dependencies.look("requests", track.name)
        return super().requests_of(track)

    def requests_apart(self, track: Track) -> tuple[Sequence[Request], Sequence[Request]]:
        self.dependencies.look("requests", track.name)
        return super().requests_apart(track)

    def refused_by(self, refuser: Name) -> Sequence[Request]:
        self.dependencies.look("requests", refuser)
        return super().refused_by(refuser)

    def acts(self, name: Name, child: str | None = None) -> Sequence[Act]:
        self.dependencies.look("acts", name)
        return super().acts(name, child)

    def log_lines(self, name: Name) -> Sequence[LogLine]:
        self.dependencies.look(*WRITES)
        return super().log_lines(name)

    def logs(self) -> Sequence[tuple[str, Sequence[LogLine]]]:
        self.dependencies.look(*WRITES)
        return super().logs()

    def once(self, key: object, compute: Callable[[], T]) -> T:
        self.dependencies.look(*WRITES)
        return super().once(key, compute)

    def computed(self, key: object, compute: Callable[[], T]) -> T:
        return compute()

    def track(self, key: Key) -> Track | None:
        self.dependencies.look("name", key[0])
        return super().track(key)

    def of_uid(self, uid: str) -> Track | None:
        self.dependencies.look("uid", uid)
        return super().of_uid(uid)

    def children(self, owner: Track) -> list[Track]:
        self.dependencies.look("children", owner.ref.uid)
        return super().children(owner)

    def tally(self, owner_uid: str, spell: str, at: At) -> int:
        self.dependencies.count(owner_uid, at)
        return super().tally(owner_uid, spell, at)

    def _referrers(self, name: Name, until: int | None = None, since: int | None = None) -> Iterator[Track]:
        self._look(until, "referrers", name)
        return super()._referrers(name, until, since)

    # In a judgement, nothing comes from a cache, so that each judgement records what it looked at.

    def owner_of(self, track: Track) -> Track | None:
        return self._find_owner(track) if self.dependencies.recording else super().owner_of(track)

    def _roots_of_users(self, name: Name) -> Iterable[tuple[At, Key]]:
        return self._each_root_of_users(name) if self.dependencies.recording else super()._roots_of_users(name)

    def complete(self, group: str, kind: str, start: int, end: int, namespace: str | None = None) -> bool:
        answer = super().complete(group, kind, start, end, namespace)
        self.dependencies.ask((group, kind, start, end, namespace, answer))
        return answer

    @property
    def completeness(self) -> Completeness:
        self.dependencies.look(*WRITES)
        return super().completeness
