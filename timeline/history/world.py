"""Pure: the lives of one source and how they belong together.

A `World` learns entries in any order; when it settles, its tracks and their indexes are those of everything learned.
"""

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping

from timeline.core.entries import Change, Entry, ObjectRef, Observation
from timeline.core.order import SECOND, At
from timeline.history.completeness import Completeness, losses
from timeline.history.dependencies import LAST, SEEN, WRITES, Dependencies
from timeline.history.index import Index, counted_otherwise
from timeline.history.ledger import Ledger, Memory
from timeline.history.lifelines import Key, Moment, Name, Track, anonymous, name_of, public_uid
from timeline.history.seen import GroupKind, Seen
from timeline.history.streams import Stream

_MARGIN = 5_000_000  # µs by which what was watched beside an audit log may begin or end apart from it


_LISTED = -1  # instead of a time from which on: of one object, which lists show when a gap is over


class World:
    """The tracks of one source and their indexes; complete after `settle`. `keeps` says what is worth a track.

    One that is to take in batch after batch remembers what each judgement looked at (`reads`); without, a change may
    touch any of them.
    """

    def __init__(self, keeps: Callable[[Entry], bool] | None = None, *, remembers: bool = False) -> None:
        self.reads = Dependencies() if remembers else None
        self._ledger = Ledger(keeps)
        self._lanes: dict[Name, list[Track]] = {}
        self._by_key: dict[Key, Track] = {}
        self._index = Index()
        self._suspects: set[Key] = set()  # of which writes may be missing; where the log begins is known in the end
        self._completeness: Completeness | None = None
        self._told: object = None
        self.horizon: tuple[str, int] | None = None  # which rule judges, and where the source ends for it, microseconds
        self._horizons: dict[str, int] = {}  # as they were when what depends on them was judged last
        self._names: list[Name] | None = None  # of all lanes, in order
        self._mixed: set[Name] = set()  # of whose lives some tell no UID
        self._owners: dict[Key, Track | None] = {}  # as they were asked for since it settled

    @property
    def first(self) -> int:
        """What the source covers begins here, microseconds."""
        return self._ledger.first

    def begin(self, first: int) -> None:
        """What was before is not kept any more."""
        self._ledger.first = first

    @property
    def last(self) -> int:
        """What the source covers ends here, microseconds; while a rule judges, what the streams that it needs have
        reached."""
        if self.horizon is None:
            if self.reads:
                self.reads.look(*LAST)
            return self._ledger.last
        rule, time = self.horizon
        if self.reads:
            self.reads.look(*LAST, *([rule] if self.live else []))
        return time

    def watched_after(self, time: int, length: int) -> int:
        """Return how much of the time after a drawn time the source covers, in microseconds and at most `length`. A
        judgement that asks this is made again until all of that time has passed."""
        end = self._ledger.last if self.horizon is None else self.horizon[1]
        if self.live and end - time >= length:
            return length  # it only grows
        return min(length, max(0, self.last - time))

    @property
    def live(self) -> bool:
        """Whether it comes from streams that go on."""
        return self._ledger.live

    @property
    def streams(self) -> Mapping[GroupKind, Stream]:
        """What is known of the watch of each kind."""
        return self._ledger.streams

    def reached(self, kinds: Iterable[GroupKind]) -> int:
        """The drawn time up to which the streams of these kinds have told everything; others do not count."""
        streams = self._ledger.streams
        return min((self._ledger.reached(kind) for kind in kinds if kind in streams), default=self._ledger.last)

    @property
    def seen(self) -> dict[GroupKind, Seen]:
        """How much of each kind was observed."""
        if self.reads:
            self.reads.look(*SEEN)
        return self._ledger.seen

    @property
    def offsets(self) -> dict[str, int]:
        """By file: how far its clock is ahead of the others', microseconds, which is taken off its times."""
        return self._ledger.offsets

    def commits(self) -> Iterator[tuple[int, int]]:
        """(drawn time, revision) of every change that was counted by the counter that most kinds share."""
        return self._ledger.commits()

    @property
    def own_counters(self) -> list[GroupKind]:
        """The kinds whose revisions are not of the counter that most share, so that no order is told by them."""
        return self._ledger.own_counters

    def mixed(self) -> tuple[Entry, Entry] | None:
        """Two entries that cannot be of one cluster, where there are such."""
        return self._ledger.mixed()

    def foreign(self) -> tuple[Entry, Entry] | None:
        """Two entries that show at once that a live source's cluster is another one now, where there are such."""
        return self._ledger.systems()

    def learn(self, entries: Iterable[Observation]) -> Iterator[tuple[int, Observation]]:
        """Remember what was observed, and hand on what was not known with its track's number, 0 for marks. Consume it
        to the end."""
        return self._ledger.learn(entries)

    def settle(self) -> list[Track]:
        """Put what was learned since the last time into order; the tracks that changed."""
        changed: list[Track] = []
        gone: list[Track] = []
        settled = self._ledger.settle()
        for name, tracks in settled.items():
            before = {track.key: track for track in self._lanes.get(name, ())}
            lane = self._lanes[name] = []
            for track in tracks:
                was = before.pop(track.key, None)
                since = 0 if was is None else track.differs(was)
                if was is not None and since is None:
                    lane.append(was)
                    continue
                track.changed = since or 0
                if was and self.reads:
                    if (counted := counted_otherwise(track, was)) is not None:
                        track.changed = min(track.changed, counted)
                    if was.owner != track.owner or not was.references() <= track.references():
                        gone.append(was)  # as the child of that owner, and as what needs that name
                lane.append(track)
                changed.append(track)
                if was:
                    self._forget(was)
                self._enter(track)
            for was in before.values():
                self._forget(was)
                gone.append(was)
        self._completeness = None
        self._owners = {}
        self._names = None
        self._mix(settled)
        bounded = self._bind(settled, {track.key for track in changed})
        if self.reads:
            for track in changed:
                self.reads.changed(track, track.changed)
            for track in gone + bounded:
                self.reads.changed(track, 0)
        return changed + bounded

    def memory(self) -> Memory:
        """All that is known of a live source, in a form that can be written down."""
        return self._ledger.memory()

    def recall(self, memory: Memory) -> None:
        """Know what was known; nothing may have been learned before."""
        self._ledger.recall(memory)

    def over(self, before: int, events: int) -> list[Track]:
        """The lives that ended before a drawn time (an Event that explains nobody who lives: before another one), and
        by which nothing that stays is judged or placed."""
        ended = ((track, before if self._explains(track) else events) for track in self.tracks() if track.until)
        over = {track.key: track for track, limit in ended if (track.until or limit) < limit}
        waiting = list(over.values())
        while waiting:
            track = waiting.pop()
            if track.key in over and any(key not in over for key in self._holders(track)):
                del over[track.key]
                waiting += self._held(track)
        return list(over.values())

    def _explains(self, track: Track) -> bool:
        """Whether it is no Event, or one about somebody who lives."""
        about = (life for name in track.references() for life in self._lanes.get(name, ()))
        return track.ref.kind != "Event" or any(life.until is None for life in about)

    def _holders(self, track: Track) -> Iterator[Key]:
        """Those for whose sake a life is known that is over: its children, whoever refers to it, a Job that counts it,
        and lives of its name or of its Service's that it, by its own life, tells to have gone."""
        yield from self._index.children(public_uid(track.ref))
        yield from self._index.referrers(track.name)
        if track.owner and (owner := self._index.of_uid(track.owner.uid)) and owner.ref.kind == "Job":
            yield owner.key
        alike = [*self._lanes[track.name]]
        if track.name[:2] == ("", "Service"):
            alike += self._lanes.get(track.name._replace(kind="Endpoints"), ())
        yield from (life.key for life in alike if life.gone_by or not public_uid(life.ref))

    def _held(self, track: Track) -> Iterator[Track]:
        """Those that may have to stay because this one does."""
        if track.owner and (owner := self._index.of_uid(track.owner.uid)):
            yield owner
        if track.ref.kind == "Job":
            yield from self._resolve(self._index.children(track.ref.uid))
        names = {track.name, *track.references()}
        if track.name[:2] == ("", "Endpoints"):
            names.add(track.name._replace(kind="Service"))
        for name in names:
            yield from self._lanes.get(name, ())

    def forget(self, tracks: Iterable[Track], before: int) -> None:
        """Nothing is known any more of these lives, which were over before a drawn time."""
        for track in tracks:
            self._lanes[track.name].remove(track)
            if not self._lanes[track.name]:
                del self._lanes[track.name]
            self._forget(track)
            self._ledger.forget(track.name, public_uid(track.ref))
            if self.reads:
                self.reads.changed(track, 0)
                self.reads.begin(track.key)
                self.reads.end()
        self._names = None
        self._owners = {}
        self._completeness = None
        self._ledger.forgotten(before)

    @property
    def remembered(self) -> int:
        """The drawn time from which on every life is known; of those that ended before, some were forgotten."""
        return self._ledger.remembered

    def passed(self, horizons: Mapping[str, int]) -> bool:
        """Whether time has passed for any rule since what depends on it was judged last."""
        return self._horizons != horizons

    def stale(self, horizons: Mapping[str, int] | None = None) -> list[Track]:
        """Those whose judgement may come out otherwise than it last did. `horizons`: where a live source ends for each
        rule; where they are not given, what depends on the passing of time alone is left out."""
        if self.reads is None:
            return list(self.tracks())
        if (tells := self._tells()) != self._told:
            self._told = tells
            self.reads.differs(SEEN)
        if self.live:
            if horizons is None:
                return self._resolve(sorted(self.reads.take()))
            self.reads.differs(*((*LAST, rule) for rule, time in horizons.items() if self._horizons.get(rule) != time))
            self._horizons = dict(horizons)
        self.reads.differs(LAST, WRITES)
        keys = self.reads.take()
        for key, answers in self.reads.answers():
            if any(self._complete(group, kind, start, end) != said for group, kind, start, end, said in answers):
                keys.add(key)
        return self._resolve(sorted(keys))

    def _tells(self) -> object:
        """What was observed of each kind, as far as rules ask for it."""
        return {kind: (set(each.levels), each.tells_status, each.streamed) for kind, each in self._ledger.seen.items()}

    def _mix(self, settled: Iterable[Name]) -> None:
        """Note the names of whose lives some tell a UID, and some none."""
        for name in settled:
            lives = self._lanes[name]
            if len(lives) > 1 and len({bool(public_uid(life.ref)) for life in lives}) > 1:
                self._mixed.add(name)
            else:
                self._mixed.discard(name)

    def _bind(self, settled: Iterable[Name], changed: set[Key]) -> list[Track]:
        """Tell each life by when it had gone; those that this changes beside the changed ones."""
        bounded = []
        for name in settled:
            lives = self._lanes[name]
            if name.kind == "Service":
                lives = [*lives, *self.incarnations(name._replace(kind="Endpoints"))]
            elif name.kind != "Endpoints" and len(lives) == 1:
                continue
            bounded += [track for track in lives if self._bound(track) and track.key not in changed]
        return bounded

    def _bound(self, track: Track) -> bool:
        """Whether it became known by when the object had gone.

        A name has one object at a time; and Endpoints go with their Service, which no line of an audit log tells.
        """
        if track.ended:
            return False
        bounds = [other.created.time for other in self.incarnations(track.name) if other.created]
        if track.ref.kind == "Endpoints":
            services = self.incarnations(Name("", "Service", track.ref.namespace, track.ref.name))
            bounds += [service.ended.time for service in services if service.ended]
        before, track.gone_by = track.gone_by, min((time for time in bounds if time > track.last.time), default=None)
        return before != track.gone_by

    def _enter(self, track: Track) -> None:
        self._index.enter(track)
        self._by_key[track.key] = track
        if losses(track, self._ledger, begins=-1):
            self._suspects.add(track.key)

    def _forget(self, track: Track) -> None:
        self._index.forget(track)
        del self._by_key[track.key]
        self._suspects.discard(track.key)

    def tracks(self) -> Iterator[Track]:
        if self._names is None:
            self._names = sorted(self._lanes)
        for name in self._names:
            yield from self._lanes[name]

    def of_kind(self, group: str, kind: str) -> Iterator[Track]:
        """The tracks of one kind."""
        if self.reads:
            self.reads.look("kind", group, kind)
        for name in self._index.names(group, kind):
            yield from self.incarnations(name)

    def incarnations(self, name: Name) -> list[Track]:
        """The lives of one name, in the order in which they began; without those that are told twice."""
        if self.reads:
            self.reads.look("name", name)
        lives = self._lanes.get(name, [])
        return [life for life in lives if not self.doubled(life)] if name in self._mixed else lives

    def doubled(self, track: Track) -> bool:
        """Whether all that is known of a life are writes that name no UID, and that a watch tells of lives with one."""
        if track.name not in self._mixed or public_uid(track.ref):
            return False
        others = [life for life in self._lanes[track.name] if public_uid(life.ref)]
        return all(any(self._shows(life, moment) for life in others) for moment in track.moments)

    def _shows(self, life: Track, moment: Moment) -> bool:
        """Whether a write that names no UID, and tells no state, is one that a watch or a list shows of this life."""
        if self.reads:
            self.reads.look(*LAST)
        seen, entry = self._ledger.seen[life.name[:2]], moment.entry
        born, begun = life.value("created"), life.value("created") or life.first.time
        if not seen.watched or entry.facts is not None or begun > entry.staged:
            return False
        if entry.change is Change.CREATED:
            return born is not None and entry.received < born + SECOND
        gone = entry.change is Change.DELETED and life.ended is None
        return seen.streamed and (not gone or moment.time <= seen.streamed_until + SECOND)

    def watched_until(self) -> int:
        """The drawn time until which watches tell anything."""
        return max((seen.streamed_until for seen in self._ledger.seen.values()), default=0)

    def track(self, key: Key) -> Track | None:
        return self._by_key.get(key)

    def of_uid(self, uid: str) -> Track | None:
        if self.reads:
            self.reads.look("uid", uid)
        return self._index.of_uid(uid)

    def id_of(self, ref: ObjectRef) -> int | None:
        """Numbers a life within the source, from 1; None where nothing of that name and UID lived."""
        track = self.track((name_of(ref), ref.uid))
        return None if track is None else self.number(track)

    def number(self, track: Track) -> int:
        """That of a life that there is."""
        return self._ledger.number(track.name, public_uid(track.ref)) + (anonymous(track.ref) << 40)

    def lane(self, track: Track) -> int:
        """A short key of the name within the source."""
        return self._ledger.lane_number(track.name)

    def lanes_of(self, names: Iterable[Name]) -> list[int]:
        """Their lanes, of those under which something lived."""
        return sorted(self._ledger.lane_number(name) for name in names if self._lanes.get(name))

    def complete(self, group: str, kind: str, start: int, end: int) -> bool:
        """Whether no write of this kind is known to be missing between two drawn times."""
        said = self._complete(group, kind, start, end)
        if self.reads:
            self.reads.ask((group, kind, start, end, said))
        return said

    def _complete(self, group: str, kind: str, start: int, end: int) -> bool:
        seen = self._ledger.seen.get((group, kind))
        if seen is None or not (seen.levels or seen.streamed):
            return False  # nothing of it was followed; a list shows one moment alone
        streamed = seen.streamed and self._known_losses.follows((group, kind))
        if self._ledger.live:
            blind = start != _LISTED and self._ledger.streams[group, kind].blind(start, end)
            return streamed and not blind and end <= self._ledger.reached((group, kind))
        if (seen.watched and seen.streamed) or (streamed and end <= seen.streamed_until):
            return streamed and end <= seen.streamed_until
        begun, over = self._ledger.logged
        logged = begun - _MARGIN <= start and end <= over + _MARGIN
        return bool(seen.levels) and logged and self._known_losses.judges((group, kind), start, end)

    @property
    def completeness(self) -> Completeness:
        if self.reads:
            self.reads.look(*WRITES)
        return self._known_losses

    @property
    def _known_losses(self) -> Completeness:
        if self._completeness is None:
            suspects = self._resolve(sorted(self._suspects))
            found = [loss for track in suspects for loss in losses(track, self._ledger)]
            self._completeness = Completeness(found, self._ledger)
        return self._completeness

    def unbroken(self, before: Moment, after: Moment, track: Track) -> bool:
        """Whether surely no write of this track lies between two of its moments, one following the other."""
        if after.replaces is not None and before.stamp.resource_version is not None:
            return after.replaces == before.stamp.resource_version
        return self.complete(track.ref.group, track.ref.kind, before.time, after.time)

    def gapless(self, track: Track, start: int, end: int) -> bool:
        """Whether surely no write of a track is missing from one drawn time until before another."""
        moments = track.moments
        at = bisect_right(moments, start, key=lambda moment: moment.time)
        since = moments[max(0, at - 1)].time
        if self.strays(track, since, end):
            return False
        while at < len(moments) and (before := moments[max(0, at - 1)]).time < end:
            if _untold(moments[at]) or (at and not self.unbroken(before, moments[at], track)):
                return False
            at += 1
        over = track.last.time >= end or bool(track.ended)
        # The list that ends a gap tells what changed in it: who is not told anew stood there as before.
        since = _LISTED if self.live else track.last.time
        return over or self.complete(track.ref.group, track.ref.kind, since, end)

    def strays(self, track: Track, start: int, end: int) -> bool:
        """Whether writes that name no UID, from one drawn time until before another, may be of this track, and no watch
        tells them."""
        others = [life for life in self.incarnations(track.name) if not public_uid(life.ref)]
        if not others or not public_uid(track.ref):
            return False
        strays = (each for life in others for each in life.moments if start <= each.time < end)
        return not all(self._shows(track, each) for each in strays)

    def tally(self, owner_uid: str, spell: str, at: At) -> int:
        """How many children of an owner were in a spell (a named stretch of their lives, as `Kind.spells` gives them)
        right after `at`, a `Moment.at`. Costs the logarithm of their number."""
        if self.reads:
            self.reads.count(owner_uid, at)
        return self._index.tally(owner_uid, spell, at)

    def children(self, owner: Track) -> list[Track]:
        """In the order in which they began."""
        if self.reads:
            self.reads.look("children", owner.ref.uid)
        return self._resolve(self._index.children(owner.ref.uid))

    def referrers(self, name: Name) -> list[Track]:
        """The tracks that needed an object of this name at any time."""
        if self.reads:
            self.reads.look("referrers", name)
        return self._resolve(sorted(self._index.referrers(name)))

    def _resolve(self, keys: Iterable[Key]) -> list[Track]:
        return [track for key in keys if (track := self._by_key.get(key))]

    def owner_of(self, track: Track) -> Track | None:
        """The track of its controller; for objects that name none, of what they are known to belong to."""
        if self.reads:
            return self._owner_of(track)
        if track.key not in self._owners:
            self._owners[track.key] = self._owner_of(track)
        return self._owners[track.key]

    def _owner_of(self, track: Track) -> Track | None:
        if track.owner:
            return self.of_uid(track.owner.uid)
        if track.ref.kind == "Endpoints":  # written without an ownerReference, under its Service's name
            return self._living(Name("", "Service", track.ref.namespace, track.ref.name), track.first.time)
        if self.reads:
            self.reads.look("referrers", track.name)
        owner = None
        for user in map(self._by_key.__getitem__, self._index.referrers(track.name)):
            if user.ref.kind == "Pod" and (root := self.root(user)) is not user:
                if track.first.at < root.first.at or (owner and owner.name != root.name):
                    return None  # it stood before, as the ServiceAccount of a namespace does, or others share it
                owner = min(owner or root, root, key=lambda each: (each.first.at, each.key))
        return owner  # its users agree on it

    def root(self, track: Track) -> Track:
        """The end of the chain of owners, or the track itself."""
        seen = {track.key}
        while (owner := self.owner_of(track)) and owner.key not in seen:
            seen.add(owner.key)
            track = owner
        return track

    def _living(self, name: Name, time: int) -> Track | None:
        """The incarnation that lived at a time; else the last one before it; else the first of all."""
        lives = self.incarnations(name)
        before = [track for track in lives if track.first.time <= time]
        return before[-1] if before else lives[0] if lives else None


def _untold(moment: Moment) -> bool:
    """Whether it changed an object in a way that nothing tells."""
    entry = moment.entry
    return entry.change is Change.MODIFIED and entry.facts is None and not entry.sets and entry.action != "binding"
