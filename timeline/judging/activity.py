"""Add up what each actor of a source did: its writes, refusals, copies, Leases and findings. It does no I/O.

The result does not depend on the order in which observations were learned, nor on repetitions.
"""

import hashlib
from array import array
from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from statistics import median

from timeline.core.actors import Actor, actor_of
from timeline.core.entries import WRITES, Change, Client, Entry, Request
from timeline.core.order import SECOND
from timeline.history.lifelines import Name, Track
from timeline.history.world.world import World
from timeline.judging.copies.actor_copies import named_by, read_uses
from timeline.judging.findings import Finding
from timeline.judging.requests import Explaining, overtaken_by, refused_as_old, replaced_by

_MINUTE = 60 * SECOND
_AGAIN = 60 * SECOND  # µs within which a write of the same object after a refused one is a retry
_WRITES = frozenset({*WRITES, "write"})

Key = tuple[str, str]  # the process and the component of an actor
Sender = tuple[str, str, Client | None]  # what a log shows of who sent a request: account, user agent, client


class Activity:
    """What one actor did."""

    def __init__(self) -> None:
        self.seen: Counter[Actor] = Counter()  # one process may have several user agents and accounts
        self.accounts: Counter[str] = Counter()  # `Entry.writer` of its writes
        self.writes = 0
        self.minutes: Counter[int] = Counter()  # writes in each minute since 1970
        self.stale = self.raced = self.unclear = 0  # refused updates and patches, by why they were refused
        self.refused = 0  # other refused writes
        self.retries = 0
        self.copies = 0  # acts that are known to rest on a certain copy
        self.lags: list[int] = []  # µs, of the acts on old copies: at least how old each copy was
        self.leases: dict[Name, bool] = {}  # the Leases that it held, and whether it still does at the end
        self.findings: set[str] = set()
        self.first = self.last = 0  # µs since 1970: its first and its last write

    @property
    def actor(self) -> Actor:
        """Return the actor, by the user agent and account that it used most."""
        return min(self.seen, key=lambda each: (-self.seen[each], each))

    @property
    def account(self) -> str:
        """Return the account or program that the timeline names as the maker of most of its writes."""
        return min(self.accounts, key=lambda each: (-self.accounts[each], each), default="")

    @property
    def busiest(self) -> int:
        """Return how many writes it made in its busiest minute."""
        return max(self.minutes.values(), default=0)

    @property
    def conflicts(self) -> int:
        return self.stale + self.raced + self.unclear

    @property
    def median_lag(self) -> int | None:
        return round(median(self.lags)) if self.lags else None

    @property
    def worst_lag(self) -> int | None:
        return max(self.lags, default=None)


def identity(key: Key) -> str:
    """Return the identity of an actor within a source, for addresses."""
    return hashlib.sha256("\0".join(key).encode()).hexdigest()[:16]


def activities(world: World, findings: Iterable[Finding]) -> dict[Key, Activity]:
    """Return what each actor did, by its key."""
    found: dict[Key, Activity] = defaultdict(Activity)
    written: dict[tuple[Key, Name], list[int]] = defaultdict(list)  # when, of objects that refused writes are about
    asked = world.requested_names()
    senders: dict[Sender, _Writes | None] = {}
    for track in world.tracks():
        _add_writes(track, found, senders, written if track.name in asked else None)
        for actor, use in read_uses(track, world):
            if not use.acted:
                continue
            one = _of(found, actor)
            one.copies += 1
            if lag := use.lag:
                one.lags.append(lag.least)
    for writes in filter(None, senders.values()):
        writes.add_up()
    for lease in world.of_kind("coordination.k8s.io", "Lease"):
        _add_lease(lease, found)
    for name in asked:
        _add_refusals(name, world, found, written)
    for finding in findings:
        for key in _actors_of(finding):
            if key in found:
                found[key].findings.add(finding.id)
    return dict(found)


def _of(found: dict[Key, Activity], actor: Actor) -> Activity:
    one = found[actor.process, actor.component]
    one.seen[actor] += 1
    return one


class _Writes:
    """The writes of one sender. A source has few senders and many writes, so these are added up at once."""

    __slots__ = ("account", "activity", "actor", "copies", "key", "named", "received")

    def __init__(self, actor: Actor, entry: Entry, activity: Activity) -> None:
        self.actor = actor
        self.key: Key = (actor.process, actor.component)
        self.account = entry.writer
        self.activity = activity
        self.named = bool(entry.client)  # whether it is known on which copies updates rested (see `views.named_by`)
        self.copies = 0
        self.received = array("q")  # when each write was received

    def add_up(self) -> None:
        one, received = self.activity, self.received
        one.seen[self.actor] += len(received)
        one.accounts[self.account] += len(received)
        one.writes += len(received)
        one.copies += self.copies
        one.minutes.update(time // _MINUTE for time in received)
        earliest = min(received)
        one.first = min(one.first or earliest, earliest)
        one.last = max(one.last, max(received))


def _add_writes(
    track: Track,
    found: dict[Key, Activity],
    senders: dict[Sender, _Writes | None],
    written: dict[tuple[Key, Name], list[int]] | None,
) -> None:
    """Add the writes of an object to those of their senders, and to `written` if refused writes name the object."""
    for moment in track.moments:
        entry = moment.entry
        if entry.change is Change.OBSERVED:
            continue
        sender = entry.actor, entry.user_agent, entry.client
        if sender in senders:
            writes = senders[sender]
        else:
            actor = actor_of(entry)
            key = (actor.process, actor.component) if actor else ("", "")
            writes = senders[sender] = _Writes(actor, entry, found[key]) if actor else None
        if writes is None:
            continue
        writes.received.append(entry.received)
        if writes.named and named_by(moment) is not None:
            writes.copies += 1
        if written is not None:
            written[writes.key, track.name].append(entry.received)


def _add_refusals(
    name: Name, world: World, found: dict[Key, Activity], written: dict[tuple[Key, Name], list[int]]
) -> None:
    refused: dict[Key, list[int]] = defaultdict(list)
    lives: _Lives | None = None  # of the name
    for request in world.requests(name):
        actor = actor_of(request)
        if not request.refused or request.verb not in _WRITES or actor is None:
            continue
        one = _of(found, actor)
        refused[actor.process, actor.component].append(request.received)
        if not refused_as_old(request):
            one.refused += 1
        else:
            if uid := request.ref.uid:
                named = world.of_uid(uid)
                about = _Lives([named] if named else [], world)
            else:
                about = lives = lives or _Lives(world.incarnations(name), world)
            match _why(request, about, world):
                case "stale":
                    one.stale += 1
                case "race":
                    one.raced += 1
                case _:
                    one.unclear += 1
    for key, times in refused.items():
        tried = sorted((*written[key, name], *times))
        later = ((time, bisect_right(tried, time)) for time in times)
        found[key].retries += sum(at < len(tried) and tried[at] <= time + _AGAIN for time, at in later)


class _Lives:
    """The tracks that a refused write may be about."""

    def __init__(self, tracks: Sequence[Track], world: World) -> None:
        self.tracks = tracks
        self.explaining = [Explaining(track, world) for track in tracks]
        bounds = (moment.committed for track in tracks for moment in track.moments)
        # The earliest and the latest time of each commit, in microseconds since 1970.
        self.commits = [(earliest, latest) for earliest, latest in bounds if latest is not None]


def _why(request: Request, lives: _Lives, world: World) -> str:
    """Return "stale" if the revision that a refused write named had surely been replaced before it was received, "race"
    if another write was under way at the same time, else ""."""
    for number, explaining in enumerate(lives.explaining):
        if not explaining.may(request):
            continue
        track = lives.tracks[number]
        replacing = None if request.named is None else replaced_by(track, request.named)
        if replacing and replacing.entry.staged < request.received:
            return "stale"
        if replacing is None and overtaken_by(track, request, world):
            return "stale"
    under_way = any(earliest <= request.staged and latest >= request.received for earliest, latest in lives.commits)
    return "race" if under_way else ""


def _add_lease(lease: Track, found: dict[Key, Activity]) -> None:
    """Note who held a Lease: whoever wrote it with a holder, and now whoever wrote the last of these states. Holders
    whose writes were not observed themselves, as at the start of a watch, are not listed."""
    held: list[Key] = []
    for moment in lease.moments:
        if getattr(moment.facts, "holder", "") and (actor := actor_of(moment.entry)):
            held.append((actor.process, actor.component))
    for key in held:
        if key in found:
            found[key].leases.setdefault(lease.name, False)
    last: str = getattr(lease.last.facts, "holder", "")
    if held and lease.until is None and last and held[-1] in found:
        found[held[-1]].leases[lease.name] = True


def _actors_of(finding: Finding) -> Iterator[Key]:
    """Yield the keys of those who wrote what proves a finding, and of the actor that it is about."""
    for each in finding.occurrences:
        for proof in each.proof:
            if actor := actor_of(proof.moment.entry):
                yield actor.process, actor.component
