"""Answer what changed before: put changes that somebody meant into sets and rank them. It does no I/O.

The writes of one apply are one set, and so is a rollout with its steps. A set ranks by how near its objects are in the
graph of objects, by what it changed, and by how little time passed from then to the time that is asked about. Nothing
here says that a change was the cause of anything.
"""

from collections.abc import Collection, Iterable, Iterator, Sequence
from enum import IntEnum
from typing import Any, NamedTuple

from timeline.core.entries import ObjectRef
from timeline.history.lifelines import Key, Name, Track, name_of
from timeline.history.world.world import World
from timeline.judging.incidents.intents import IntentChange, Verb, intent_changes

MINUTES = 30  # before the time that is asked about, unless another number is asked for
MINUTES_AT_MOST = 24 * 60
_APPLY = 1_500_000  # µs between two writes of one apply
_LONGEST_APPLY = 60_000_000  # µs from its first to its last write
_SLACK = 1_000_000  # µs by which the clock of whole seconds may put a step before the change that began the rollout
_HALF = 600_000_000  # µs before the time that is asked about at which a change counts half
_GRADES = (1.0, 0.6, 0.3)  # by IntentChange.grade
MOST_RELATED = 2000  # objects of one root owner that are looked at
MOST_PODS = 50  # Pods whose nodes are looked at


class Distance(IntEnum):
    """How near a changed object is to what is asked about, the nearest first."""

    OBJECT = 0  # the object itself, or another incarnation of its name
    OWNER = 1  # its owner, or what has the same root owner
    REFERENCE = 2  # what it, or an object of the same root owner, refers to, and what refers to it
    NODE = 3  # the node of its Pods
    NAMESPACE = 4
    CLUSTER = 5  # what can concern every object, such as a webhook or the cluster's DNS
    ANY = 6  # nothing was asked about


_DISTANCES = (1.0, 0.8, 0.7, 0.5, 0.4, 0.3, 1.0)  # by Distance


class Surroundings(NamedTuple):
    """The numbers of the lanes, and the namespaces, that surround what is asked about."""

    objects: Collection[int]
    family: Collection[int]
    references: Collection[int]
    nodes: Collection[int]
    own_namespaces: Collection[int]  # the Namespaces themselves
    namespaces: Collection[str]

    def distance(self, lane: int, namespace: str, *, wide: bool) -> Distance | None:
        """Return how near an object is; None if it has nothing to do with what is asked about."""
        if lane in self.objects:
            return Distance.OBJECT
        if lane in self.family:
            return Distance.OWNER
        if lane in self.references:
            return Distance.REFERENCE
        if lane in self.nodes:
            return Distance.NODE
        if lane in self.own_namespaces or (namespace and namespace in self.namespaces):
            return Distance.NAMESPACE
        return Distance.CLUSTER if wide else None


class Placed(NamedTuple):
    """A change with the number of its track and its distance from what is asked about."""

    track: int
    change: IntentChange
    distance: Distance


class ChangeSet(NamedTuple):
    """The changes that one person or program made together. `writes` is empty for a rollout whose beginning is not
    among the changes."""

    writes: tuple[Placed, ...]  # the nearest first, then in order of time
    steps: tuple[Placed, ...]  # of the rollouts that these began, in order of time
    score: float  # from 0 to 1; compares sets of one question only

    @property
    def all(self) -> tuple[Placed, ...]:
        return self.writes or self.steps

    @property
    def first(self) -> int:
        return min(each.change.time for each in self.all)

    @property
    def last(self) -> int:
        return max(each.change.time for each in (*self.writes, *self.steps))

    @property
    def distance(self) -> Distance:
        """Return the distance of its first change: the nearest write, or the first step."""
        return self.all[0].distance


def ranked(placed: Iterable[Placed], at: int) -> list[ChangeSet]:
    """Return changes as sets, the one that most likely matters first. `at` is the time that is asked about, in µs since
    1970.

    The result does not depend on the order of the changes.
    """
    in_order = sorted(placed, key=_place)
    sets = list(_applies(each for each in in_order if each.change.verb is not Verb.STEP))
    sets.sort(key=lambda writes: _place(writes[0]))
    steps: list[list[Placed]] = [[] for _ in sets]
    begun: dict[str, list[int]] = {}  # UID of an object that was written -> the sets that wrote it
    for number, writes in enumerate(sets):
        for uid in {each.change.ref.uid for each in writes if each.change.verb is not Verb.WORSENED}:
            begun.setdefault(uid, []).append(number)
    others: dict[str, list[Placed]] = {}
    for each in in_order:
        if each.change.verb is not Verb.STEP:
            continue
        owner = each.change.owner.uid if each.change.owner else ""
        before = [n for n in begun.get(owner, ()) if sets[n][0].change.time <= each.change.time + _SLACK]
        (steps[before[-1]] if before and owner else others.setdefault(owner, [])).append(each)
    found = [_set(tuple(writes), tuple(of_it), at) for writes, of_it in zip(sets, steps, strict=True)]
    found += [_set((), tuple(of_it), at) for of_it in others.values()]
    return sorted(found, key=lambda each: (-each.score, -each.last, _place(each.all[0])))


def _applies(placed: Iterable[Placed]) -> Iterator[list[Placed]]:
    """Yield the writes that one author made together, and conditions of one name that went bad together."""
    together: dict[object, list[Placed]] = {}
    for each in placed:
        author = _author(each.change)
        held = together.get(author) if author else None
        if held is not None:
            apart = each.change.time - held[-1].change.time
            if apart <= _APPLY and each.change.time - held[0].change.time <= _LONGEST_APPLY:
                held.append(each)
                continue
            yield held
        if author:
            together[author] = [each]
        else:
            yield [each]
    yield from together.values()


def _author(change: IntentChange) -> object:
    """Return what the changes of one set have in common; None if nobody knows who made the change."""
    if change.verb is Verb.WORSENED:
        return change.verb, change.actor, change.user_agent, tuple(each.aspect for each in change.details)
    return (change.actor, change.user_agent) if change.alone and (change.actor or change.user_agent) else None


def _set(writes: tuple[Placed, ...], steps: tuple[Placed, ...], at: int) -> ChangeSet:
    writes = tuple(sorted(writes, key=lambda each: (each.distance, each.change.grade, _place(each))))
    return ChangeSet(writes, steps, max(_score(each, at) for each in writes or steps))


def _score(placed: Placed, at: int) -> float:
    apart = max(0, at - placed.change.time)
    return _DISTANCES[placed.distance] * _GRADES[placed.change.grade] / (1 + apart / _HALF)


def _place(placed: Placed) -> tuple[int, tuple[str, ...], int, str, str]:
    change, ref = placed.change, placed.change.ref
    names = ref.group, ref.kind, ref.namespace, ref.name, ref.uid
    return change.time, names, placed.track, change.revision, change.verb


class Known(NamedTuple):
    """A change of a world, with the numbers of its track and its lane."""

    track: int
    lane: int
    change: IntentChange


def known_changes(world: World) -> list[Known]:
    """Return all changes of a recording that somebody meant, in order of time."""
    found = [
        Known(world.number(track), world.lane(track), change)
        for track in world.tracks()
        for change in intent_changes(track, world)
    ]
    return sorted(found, key=_known_place)


def _known_place(known: Known) -> Any:
    return _place(Placed(known.track, known.change, Distance.ANY))


def before(
    known: Sequence[Known], at: int, minutes: int = MINUTES, around: Surroundings | None = None
) -> list[ChangeSet]:
    """Return the ranked sets of changes in the minutes before a time; of `around`, or without it of all objects."""
    start = at - minutes * 60_000_000
    return ranked(
        (
            Placed(each.track, each.change, distance)
            for each in known
            if start <= each.change.time <= at and (distance := _distance(each, around)) is not None
        ),
        at,
    )


def _distance(known: Known, around: Surroundings | None) -> Distance | None:
    if around is None:
        return Distance.ANY
    return around.distance(known.lane, known.change.ref.namespace, wide=known.change.wide)


def tracks_of(world: World, refs: Iterable[ObjectRef]) -> list[Track]:
    """Return the tracks of these objects, each once."""
    found = (world.track((name_of(ref), ref.uid)) for ref in refs)
    return list({track.key: track for track in found if track}.values())


def surroundings(world: World, tracks: Collection[Track]) -> Surroundings:
    """Return what surrounds these objects in a world."""
    roots = {root.key: root for root in map(world.root, tracks)}
    family: dict[Key, Track] = {}
    waiting = [*tracks, *roots.values()]
    for track in waiting:  # the list grows meanwhile
        if len(family) == MOST_RELATED:
            break
        if track.key not in family:
            family[track.key] = track
            waiting += world.children(track)
    names = {track.name for track in tracks}
    needed = {name for track in family.values() for name in track.references()}
    needing = {each.name for name in names for each in world.referrers(name)}
    pods = [track for track in family.values() if track.ref.kind == "Pod"]
    nearest = sorted(pods, key=lambda pod: (pod.name not in names, pod.key))[:MOST_PODS]
    namespaces = {track.ref.namespace for track in tracks} - {""}
    nodes = {node for pod in nearest if (node := pod.value("node"))}
    return Surroundings(
        objects=frozenset(world.lanes_of(names)),
        family=frozenset(world.lanes_of(track.name for track in family.values())),
        references=frozenset(world.lanes_of(needed | needing)),
        nodes=frozenset(world.lanes_of(Name("", "Node", "", node) for node in nodes)),
        own_namespaces=frozenset(world.lanes_of(Name("", "Namespace", "", each) for each in namespaces)),
        namespaces=namespaces,
    )
