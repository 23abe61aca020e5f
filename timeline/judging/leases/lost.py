"""Find what a process wrote after it had lost a Lease to another process. It does no I/O.

Who writes a Lease shows who holds it: only its holder renews it, and only the next holder takes it over. The audit log
shows that at every level.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from timeline.core.actors import Actor, actor_of
from timeline.core.durations import Length
from timeline.core.entries import Change, Clock, Level
from timeline.core.order import At
from timeline.history.lifelines import Key, Moment, Track
from timeline.history.world.world import World
from timeline.judging.coverage.lines import LinkNeeds, line, need
from timeline.judging.leases.terms import is_heartbeat
from timeline.judging.verdicts import between

_WITHOUT_LEASE = frozenset({"Event", "Lease"})  # kinds that replicas write which hold no Lease

TAKE_OVER = LinkNeeds(
    "take-over",
    "The take-over of a Lease",
    "what one holder wrote after it had lost the Lease",
    needs=(
        need(line("Lease", verbs="create update", level=Level.METADATA, sent=True)),
        need(line(verbs="create update status delete", level=Level.METADATA, sent=True)),
        need(line("Lease", verbs="update", level=Level.METADATA, sent=True), misses="renewals and take-overs"),
        need(line(verbs="create", level=Level.METADATA, sent=True), misses="what was created"),
        need(line(verbs="update", level=Level.METADATA, sent=True), misses="what was changed"),
        need(line(verbs="status", level=Level.METADATA, sent=True), misses="writes of the status"),
        need(line(verbs="delete", level=Level.METADATA, sent=True), misses="what was deleted"),
        need(line("Lease", verbs="create update"), misses="holders that only the content of the Lease shows"),
        need(line(verbs="create"), misses="what was created under a generated name"),
    ),
)


class Term(NamedTuple):
    """The time in which one process wrote a Lease, and no other did."""

    actor: Actor
    first: Moment
    last: Moment

    @property
    def holder(self) -> str:
        """Return the identity that the process wrote into the Lease, or its name if the log does not show that."""
        return getattr(self.first.facts, "holder", "") or str(self.actor)


class LateWrite(NamedTuple):
    """What a process wrote to one object after it had lost a Lease."""

    lease: Track
    old: Term
    new: Term
    track: Track
    writes: tuple[Moment, ...]

    @property
    def late(self) -> Length:
        """Return how long after the take-over the first of the writes was sent."""
        return between(self.new.first, self.writes[0])

    @property
    def sentence(self) -> str:
        """Return what is proven, as a sentence."""
        name = self.lease.ref.name
        return f"{actor_of(self.writes[0].entry)} had lost Lease {name} to {self.new.holder} {self.late} before."


def late_writes(lease: Track, world: World) -> Sequence[LateWrite]:
    """Return what was written after this Lease was lost, by object."""
    terms = [] if is_heartbeat(lease) else _terms(lease)
    if len(terms) < 2:
        return ()
    return world.once(("late", lease.key), lambda: tuple(_late_writes(lease, terms, world)))


def late_writes_of(key: Key, world: World) -> Sequence[LateWrite]:
    """Return what was written to an object after any Lease was lost."""
    before = world.beyond
    found = world.once("late", lambda: _by_object(world)).get(key, ())
    if world.partial:  # what the processes wrote elsewhere can only show that some of these writes needed no Lease
        world.beyond = before or bool(found)
    return found


def _by_object(world: World) -> dict[Key, list[LateWrite]]:
    found: dict[Key, list[LateWrite]] = defaultdict(list)
    for lease in world.of_kind("coordination.k8s.io", "Lease"):
        for late in late_writes(lease, world):
            found[late.track.key].append(late)
    return found


def _late_writes(lease: Track, terms: Sequence[Term], world: World) -> Iterator[LateWrite]:
    for place, (old, new) in enumerate(pairwise(terms)):
        process, taken = old.actor.process, new.first.entry
        again = (each.first.entry.received for each in terms[place + 2 :] if each.actor.process == process)
        until = next(again, None)
        writes: dict[Key, list[Moment]] = defaultdict(list)
        tracks: dict[Key, Track] = {}
        for track, moment in world.writes_of(process):
            sent = moment.entry.received
            if sent > taken.staged and (until is None or sent < until):
                if track.ref.kind == "Lease" and track is not lease:
                    break  # the process still renews another Lease, on which its writes may rest
                if track.ref.kind not in _WITHOUT_LEASE:
                    writes[track.key].append(moment)
                    tracks[track.key] = track
        else:
            needless = _needless(terms, old, world) | _needless(terms, new, world)
            for key, moments in sorted(writes.items()):
                if (key[0][:2], _component(moments[0])) not in needless:
                    yield LateWrite(lease, old, new, tracks[key], tuple(moments))


def _terms(lease: Track) -> list[Term]:
    """Return the terms of a Lease by the processes that wrote it; none if they cannot be distinguished.

    A write by hand is no term: it comes from another program, or leaves the holder as it is.
    """
    terms: list[Term] = []
    for moment in lease.moments:
        actor = actor_of(moment.entry) if moment.clock is Clock.AUDIT and moment.entry.client else None
        if actor is None:
            continue
        if terms and terms[-1].actor.process == actor.process:
            terms[-1] = terms[-1]._replace(last=moment)
        elif not terms or (terms[-1].actor.component == actor.component and _takes(terms[-1].last, moment)):
            terms.append(Term(actor, moment, moment))
    return terms


def _takes(before: Moment, moment: Moment) -> bool:
    """Return whether a write by another process can be a take-over. It is none if it shows the same holder, or none."""
    if moment.entry.facts is None:
        return True
    holder = getattr(moment.facts, "holder", "")
    return bool(holder) and holder != getattr(before.facts, "holder", "")


def _needless(terms: Sequence[Term], term: Term, world: World) -> set[tuple[tuple[str, str], str]]:
    """Return kind and component of what the process of a term wrote before it had ever held the Lease, which needs no
    Lease: some parts of a replica work without it."""
    process = term.actor.process
    first = next(each for each in terms if each.actor.process == process)
    if first is terms[0] and first.first.change is not Change.CREATED:
        return set()  # it may have held the Lease before the log begins
    return {
        ((track.ref.group, track.ref.kind), _component(moment))
        for track, moment in world.writes_of(process)
        if moment.entry.staged < first.first.entry.received
    }


def _component(moment: Moment) -> str:
    actor = actor_of(moment.entry)
    return actor.component if actor else ""


def late_child(owner: Track, spell: str, at: At, world: World) -> tuple[Track, Moment] | None:
    """Return the first child of an owner, with its creation, that a process created after it had lost a Lease, and that
    was in a spell (as `Kind.spells` gives it) right after `at`, a `Moment.at`; None if there was none."""
    late = world.once(("late children", owner.key), lambda: list(_late_children(owner, world)))
    return next(
        (
            (child, created)
            for child, created in late
            if created.at < at
            and any(
                name == spell and start <= at and (not end or at < end) for name, start, end in child.kind.spells(child)
            )
        ),
        None,
    )


def _late_children(owner: Track, world: World) -> Iterator[tuple[Track, Moment]]:
    for child in world.children(owner):
        created = child.created
        if created and any(each is created for late in late_writes_of(child.key, world) for each in late.writes):
            yield child, created
