"""Find the track that an alert means: the one that existed at its time, or else the nearest one."""

from collections.abc import Collection, Iterable, Sequence
from typing import Literal, NamedTuple

from django.db.backends.postgresql.psycopg_any import DateTimeTZRange
from django.db.models import Count, Q, QuerySet

from timeline.core.entries import microseconds, moment
from timeline.models import Source, Track
from timeline.queries.alerts.unknown import Unknown, no_object, no_source
from timeline.queries.objects.attribution import anonymous
from timeline.queries.objects.candidates import MOST, Candidate, Target, candidates, of_cluster, ready_sources

LATE = 2 * 3600 * 1_000_000  # the most µs between an alert and a track to open it without asking
STILL_LIVE = 5 * 60 * 1_000_000  # µs after the end of a live source in which its objects are assumed to exist still
_OFFERED = 50  # the most tracks that are offered to choose from

Relation = Literal["alive", "ended", "unseen", "began"]
_CLASSES = {"alive": 0, "ended": 1, "unseen": 1, "began": 2}


class LinkQuery(NamedTuple):
    """What a link asks for. Of several targets, the first one counts for which a track is found."""

    targets: tuple[Target, ...]
    namespace: str = ""
    source: str = ""  # id or name
    cluster: str = ""
    at: int | None = None  # microseconds since 1970
    choose: bool = False  # whether to offer all matches


class Place(NamedTuple):
    """Whether an object existed at a time ("alive"), had ended, or began later.

    "unseen" means that it existed at the end of its source, which was before the time.
    """

    relation: Relation
    apart: int  # µs between the time and the object; 0 if it existed then


class Match(NamedTuple):
    """A track that a link may mean, how it relates to the time, and the target that matched it."""

    candidate: Candidate
    place: Place
    target: Target

    @property
    def live(self) -> bool:
        return is_live(self.candidate.source)


class Answer(NamedTuple):
    """The answer to a link: the track that it means, or the tracks to choose from, or why there is none."""

    match: Match | None = None
    choice: Sequence[Match] = ()
    total: int = 0  # the number of all matches; `choice` has the first
    far: bool = False  # whether none of the tracks to choose from is near the time
    unknown: Unknown | None = None


def look_up(wanted: LinkQuery, now: int, within: QuerySet[Source] | None = None) -> Answer:
    """Return the answer to a link; `now` is the present time in microseconds since 1970.

    `within` are the sources that whoever asks may know of; None for all.
    """
    sources = named_sources(wanted.source, wanted.cluster, within)
    if not sources:
        if within is not None:
            return Answer(unknown=Unknown("No cluster and no recording of that name may be read with this token."))
        return Answer(unknown=no_source(wanted.source, wanted.cluster))
    for target in wanted.targets:
        if found := candidates(sources, target, wanted.namespace):
            return _chosen([Match(each, place(each, wanted.at, now), target) for each in found], wanted)
    return Answer(unknown=no_object(sources, wanted.targets, wanted.namespace))


def look_up_all(asked: Sequence[LinkQuery], now: int) -> list[Answer]:
    """Return the answers to links that say a time, as `look_up` does, but without names that may be meant instead.

    However many links name objects by name, their tracks are read with one query.
    """
    sources: dict[tuple[str, str], list[Source]] = {}
    for each in asked:
        if (key := (each.source, each.cluster)) not in sources:
            sources[key] = named_sources(each.source, each.cluster)
    named = _named(asked, {source.pk for found in sources.values() for source in found})
    known: dict[tuple[str, str, str, Target], list[Candidate]] = {}
    answers = []
    for each in asked:
        here = sources[each.source, each.cluster]
        answer = Answer(unknown=Unknown(""))
        for target in each.targets if here else ():
            question = (each.source, each.cluster, each.namespace, target)
            if question not in known:
                known[question] = candidates(here, target, each.namespace, named)
            if known[question]:
                answer = _chosen([Match(one, place(one, each.at, now), target) for one in known[question]], each)
                break
        answers.append(answer)
    return answers


def _named(asked: Sequence[LinkQuery], sources: Collection[int]) -> dict[str, list[Track]]:
    """Return the tracks of all names that links mention, by name, that existed near the time of one of the links."""
    names = {target.name for each in asked for target in each.targets if target.name}
    times = [each.at for each in asked if each.at is not None]
    found: dict[str, list[Track]] = {}
    if names and times:
        near = DateTimeTZRange(moment(max(0, min(times) - LATE)), moment(max(times) + LATE), "[]")
        rows = Track.objects.filter(source__in=sources, name__in=names, life__overlap=near).defer("lifeline")
        for row in rows.order_by("-life", "-id")[: 4 * MOST]:
            found.setdefault(row.name, []).append(row)
    return found


def incarnations(row: Track) -> tuple[int, int]:
    """Return which incarnation of its name a track is in its source, from 1, and how many are known."""
    lives = Track.objects.filter(source=row.source_id, lane=row.lane)
    counted = lives.aggregate(known=Count("id"), before=Count("id", filter=Q(life__startswith__lt=row.life.lower)))
    return counted["before"] + 1, counted["known"]


def is_live(source: Source) -> bool:
    """Return whether a cluster feeds the source now."""
    return source.cluster is not None and not source.ended and source.cluster.source_id == source.pk


def place(candidate: Candidate, at: int | None, now: int) -> Place:
    """Return how a candidate relates to the time `at`, or, without it, to `now`. Times are microseconds since 1970."""
    source, start, end = candidate.source, candidate.start, candidate.end
    last = microseconds(source.last) if source.last else start
    known = last + STILL_LIVE if is_live(source) else last
    if at is None:
        at = min(now, known) if is_live(source) and end is None else max(now, last)
    if at < start:
        return Place("began", start - at)
    if end is not None:
        return Place("alive", 0) if at <= end else Place("ended", at - end)
    return Place("alive", 0) if at <= known else Place("unseen", at - last)


def named_sources(asked: str, cluster: str, within: QuerySet[Source] | None = None) -> list[Source]:
    """Return the shown sources with the number or the name `asked`, of the cluster with this name; "" means any.

    `within` are those that whoever asks may know of; None for all.
    """
    ready = ready_sources() if within is None else ready_sources().filter(pk__in=within.values("pk"))
    if cluster:
        ready = of_cluster(ready, cluster)
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
    """Return the sort key of matches.

    Objects that began after the time come last. Of the others, those of live sources come before those of recordings,
    then objects that existed at the time before those that had ended, then those with a UID, the nearest, and the
    newest.
    """
    candidate, (relation, apart), _ = match
    turn = _CLASSES[relation]
    created = candidate.source.created.timestamp()
    return turn == 2, not match.live, turn, anonymous(candidate.row), apart, -created, -candidate.row.id


def _once(found: Iterable[Match]) -> list[Match]:
    """Return the matches with only one match of each object that is in several sources, preferably one that shows its
    end."""
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
    """Return whether it would be a guess to prefer the best match to another one, because they are different objects or
    of different clusters, and not just incarnations of one name."""
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
    """Return the first one of matches that are different objects under one root owner, such as a Job before the Service
    that it created; None if they are not."""
    rows = [each.candidate.row for each in found]
    if len({(row.source_id, row.root) for row in rows}) > 1 or len({_name(each) for each in found}) < len(found):
        return None
    return min(found, key=lambda each: (each.candidate.row.id != each.candidate.row.root, each.candidate.row.number))


def _newest(found: list[Match]) -> list[Match]:
    return sorted(found, key=lambda each: (each.candidate.start, each.candidate.row.id), reverse=True)
