"""This module finds the life that an alert means: the one that existed at its time, or the nearest one."""

from collections.abc import Iterable, Sequence
from typing import Literal, NamedTuple

from timeline.core.entries import microseconds
from timeline.models import Source
from timeline.queries.attribution import anonymous
from timeline.queries.candidates import Candidate, Target, candidates, of_cluster, ready_sources
from timeline.queries.unknown import Unknown, no_object, no_source

LATE = 2 * 3600 * 1_000_000  # µs between an alert and a life within which it is opened without asking
HEARD = 5 * 60 * 1_000_000  # µs after the last word of a live source, in which what stood is taken to stand
_OFFERED = 50

Relation = Literal["alive", "ended", "unseen", "began"]
_CLASSES = {"alive": 0, "ended": 1, "unseen": 1, "began": 2}


class LinkQuery(NamedTuple):
    """What a link asks for. Of several targets, the first one counts of which anything is known."""

    targets: tuple[Target, ...]
    namespace: str = ""
    source: str = ""  # id or name
    cluster: str = ""
    at: int | None = None  # microseconds
    choose: bool = False  # whether all matches are to be offered


class Place(NamedTuple):
    """This says how a time relates to a life: the life lasted then ("alive"), had ended, or began later.

    "unseen" means that it lasted at the last observation of its source, which was before the time.
    """

    relation: Relation
    apart: int  # µs between the two; 0 where it stood then


class Match(NamedTuple):
    """A life that a link may mean, how it lies to the time, and the target by which it was found."""

    candidate: Candidate
    place: Place
    target: Target

    @property
    def live(self) -> bool:
        return is_live(self.candidate.source)


class Answer(NamedTuple):
    """The life that a link means, or the lives to choose from, or why there is none.

    `far` says that none of the lives to choose from is near the time.
    """

    match: Match | None = None
    choice: Sequence[Match] = ()
    total: int = 0  # of all that might be offered
    far: bool = False
    unknown: Unknown | None = None


def look_up(wanted: LinkQuery, now: int) -> Answer:
    """Answer a link; `now` is the present time in microseconds."""
    sources = _sources(wanted)
    if not sources:
        return Answer(unknown=no_source(wanted.source, wanted.cluster))
    for target in wanted.targets:
        if found := candidates(sources, target, wanted.namespace):
            return _chosen([Match(each, place(each, wanted.at, now), target) for each in found], wanted)
    return Answer(unknown=no_object(sources, wanted.targets, wanted.namespace))


def is_live(source: Source) -> bool:
    """Return whether a cluster feeds the source now."""
    return source.cluster is not None and not source.ended and source.cluster.source_id == source.pk


def place(candidate: Candidate, at: int | None, now: int) -> Place:
    """Return how the time `at` lies to a life; without it, how `now` does. All are microseconds."""
    source, start, end = candidate.source, candidate.start, candidate.end
    last = microseconds(source.last) if source.last else start
    known = last + HEARD if is_live(source) else last
    if at is None:
        at = min(now, known) if is_live(source) and end is None else max(now, last)
    if at < start:
        return Place("began", start - at)
    if end is not None:
        return Place("alive", 0) if at <= end else Place("ended", at - end)
    return Place("alive", 0) if at <= known else Place("unseen", at - last)


def _sources(wanted: LinkQuery) -> list[Source]:
    ready = ready_sources()
    if wanted.cluster:
        ready = of_cluster(ready, wanted.cluster)
    asked = wanted.source
    if not asked:
        return list(ready)
    if asked.isascii() and asked.isdecimal() and len(asked) < 19 and (found := list(ready.filter(pk=int(asked)))):
        return found
    return list(ready.filter(name=asked))


def _chosen(found: list[Match], wanted: LinkQuery) -> Answer:
    found = sorted(_once(found), key=_order)
    near = [each for each in found if wanted.at is None or each.place.apart <= LATE]
    if not near:
        nearest = sorted(found, key=lambda each: (each.place.apart, *_order(each)))
        return Answer(choice=nearest[:_OFFERED], total=len(found), far=True)
    if wanted.choose:
        return Answer(choice=_newest(found[:_OFFERED]), total=len(found))
    best = near[0]
    rivals = [each for each in near if _rival(each, best)]
    if not rivals:
        return Answer(match=best)
    if one := _of_one_group([best, *rivals]):
        return Answer(match=one)
    return Answer(choice=_newest([best, *rivals][:_OFFERED]), total=1 + len(rivals))


def _order(match: Match) -> tuple[bool, bool, int, bool, int, float, int]:
    """Return the key that sorts matches: live sources before recordings, then lives that lasted at the time, then those
    that had ended; then those with a UID, the nearest, and the newest. Lives that began later come last of all."""
    candidate, (relation, apart), _ = match
    turn = _CLASSES[relation]
    created = candidate.source.created.timestamp()
    return turn == 2, not match.live, turn, anonymous(candidate.row), apart, -created, -candidate.row.id


def _once(found: Iterable[Match]) -> list[Match]:
    """Keep one match of a life that is in several sources: one that knows its end is preferred."""
    kept: dict[str, list[Match]] = {}
    for each in sorted(found, key=lambda each: (each.place.relation != "ended", *_order(each))):
        row = each.candidate.row
        same = kept.setdefault(f"{row.source_id} {row.id}" if anonymous(row) else row.uid, [])
        if not any(_overlap(each.candidate, other.candidate) for other in same):
            same.append(each)
    return [each for same in kept.values() for each in same]


def _overlap(one: Candidate, other: Candidate) -> bool:
    return one.start <= _until(other) and other.start <= _until(one)


def _until(candidate: Candidate) -> int:
    last = candidate.source.last
    return candidate.end if candidate.end is not None else microseconds(last) if last else candidate.start


def _rival(other: Match, best: Match) -> bool:
    """Return whether only a guess would prefer the best one: they are different objects, or of different clusters, and
    not only earlier and later lives of one name."""
    one, two = other.candidate, best.candidate
    turns = _CLASSES[other.place.relation], _CLASSES[best.place.relation]
    if other is best or other.live != best.live:
        return False
    if best.live and one.source.cluster_id != two.source.cluster_id:
        return turns == (2, 2) or 2 not in turns
    if turns[0] != turns[1]:
        return False
    return _name(other) != _name(best) or (one.source != two.source and best.place.relation == "alive")


def _name(match: Match) -> tuple[str, str, str, str]:
    row = match.candidate.row
    return row.group, row.kind, row.namespace, row.name


def _of_one_group(found: list[Match]) -> Match | None:
    """Return the topmost of objects that all have one root owner, such as a Job before the Service that it made."""
    rows = [each.candidate.row for each in found]
    if len({(row.source_id, row.root) for row in rows}) > 1 or len({_name(each) for each in found}) < len(found):
        return None
    return min(found, key=lambda each: (each.candidate.row.id != each.candidate.row.root, each.candidate.row.number))


def _newest(found: list[Match]) -> list[Match]:
    return sorted(found, key=lambda each: (each.candidate.start, each.candidate.row.id), reverse=True)
