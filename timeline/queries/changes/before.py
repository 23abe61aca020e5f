"""Read what changed before a time, an incident or an object. The cost is bounded, however much changed."""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from django.db.models import Q, QuerySet, Value

from timeline.core.entries import microseconds, moment
from timeline.judging.incidents.changes import MINUTES, MOST_PODS, MOST_RELATED, Distance, Placed, Surroundings, ranked
from timeline.models import Finding, Incident, IntentChange, Source, Track
from timeline.payloads import changes as payloads
from timeline.payloads.changes import SETS, ChangesPayload
from timeline.queries.incidents.lists import current
from timeline.queries.objects.lives import page
from timeline.storage.judged.changes import change_of

_OBJECTS = 50  # the most objects that are asked about together
_NEEDING = 200  # the most objects that refer to them
_OWNERS = 8  # the most owners in a chain
_RELATED = 400  # the most changes of related objects that are ranked
_OTHERS = 150  # the most changes of each grade in the namespaces, in the cluster, or of all objects
_NAMESPACES = 5  # the most namespaces whose changes are ranked
_GRADES = (0, 1, 2)
_Row = list[Any]  # track, number, lane, namespace, wide, document


class Asked(NamedTuple):
    """What a person asks about: the tracks, and the time before which to look, in microseconds since 1970."""

    tracks: list[int]
    at: int


def asked(source_id: int, *, track: int | None = None, incident: str = "", finding: str = "") -> Asked:
    """Return what is asked about: an incident or a finding and its beginning, an object and its end, or, with none of
    them, all objects and the end of the source.

    Raises Source.DoesNotExist, Incident.DoesNotExist, Finding.DoesNotExist or Track.DoesNotExist.
    """
    source = Source.objects.only("last").get(pk=source_id, ready=True)
    end = microseconds(source.last) if source.last else 0
    if incident:
        return _of_incident(source_id, incident)
    if finding:
        row = Finding.objects.get(source=source_id, identity=finding)
        return Asked(_first([row.subject, *row.tracks]), microseconds(row.first))
    if track is not None:
        life = Track.objects.only("source", "life").get(source=source_id, id=track).life
        return Asked([track], microseconds(life.upper) if life.upper else end)
    return Asked([], end)


def _of_incident(source_id: int, identity: str) -> Asked:
    identity = current(source_id, identity)
    row = Incident.objects.get(source=source_id, identity=identity)
    members = Finding.objects.filter(Finding.of_incidents([identity]), source=source_id, withdrawn=False)
    found = members.order_by("first", "identity")
    anchors = Track.objects.filter(
        source=source_id, group=row.group, kind=row.kind, namespace=row.namespace, name=row.name
    ).order_by("-life")
    subjects = [track for tracks in found.values_list("tracks", flat=True)[:_OBJECTS] for track in tracks]
    return Asked(_first([*anchors.values_list("id", flat=True)[:5], *subjects]), microseconds(row.first))


def _first(tracks: list[int]) -> list[int]:
    return list(dict.fromkeys(tracks))[:_OBJECTS]


def changes_before(
    source_id: int,
    at: int,
    *,
    about: Collection[int] = (),
    minutes: int = MINUTES,
    limit: int = SETS,
) -> ChangesPayload:
    """Return the changes in the minutes before a time that somebody meant: around some tracks, or of all objects.

    The time is in microseconds since 1970. Raises Source.DoesNotExist.
    """
    Source.objects.only("pk").get(pk=source_id, ready=True)
    start = moment(max(0, at - minutes * 60_000_000))
    around = _surroundings(source_id, about) if about else None
    in_time = IntentChange.objects.filter(source=source_id, at__range=(start, moment(at)))
    rows, cut = _read(in_time, _parts(around))
    sets = ranked(_placed(rows, around), at)
    return payloads.changes(
        sets, at, minutes, limit=limit, address=lambda each: _address(source_id, each), complete=not cut
    )


def _address(source_id: int, placed: Placed) -> str:
    return f"{page(source_id, placed.track)}?at={placed.change.time}#revisions"


class _Parts(NamedTuple):
    """The rows that a question is about, and whether there were more than are ranked."""

    rows: list[_Row]
    cut: bool


def _read(rows: QuerySet[IntentChange], parts: Sequence[tuple[int, dict[str, Any]]]) -> _Parts:
    """Read the latest rows for each of some conditions, in one query. Each part has its limit."""
    asked = [
        rows.filter(**condition)
        .annotate(part=Value(number))
        .values_list("part", "track", "number", "lane", "namespace", "wide", "document")
        .order_by("-at")[: limit + 1]
        for number, (limit, condition) in enumerate(parts)
    ]
    found = list(asked[0].union(*asked[1:], all=True)) if len(asked) > 1 else list(asked[0])
    counts = Counter(part for part, *_ in found)
    return _Parts([row for _, *row in found], any(counts[at] > limit for at, (limit, _) in enumerate(parts)))


def _parts(around: Surroundings | None) -> list[tuple[int, dict[str, Any]]]:
    """Return the conditions under which changes are read, each with the most rows; each follows an index."""
    if around is None:
        return [(2 * _OTHERS, {"grade": grade}) for grade in _GRADES]
    near = {*around.objects, *around.family, *around.references, *around.nodes, *around.own_namespaces}
    namespaces = sorted(around.namespaces)[:_NAMESPACES]
    return [
        (_RELATED, {"lane__in": near}),
        *((_OTHERS, {"namespace": namespace, "grade": grade}) for namespace in namespaces for grade in _GRADES),
        *((_OTHERS, {"wide": True, "grade": grade}) for grade in _GRADES),
    ]


def _placed(rows: Iterable[_Row], around: Surroundings | None) -> Iterator[Placed]:
    once = {(track, number): rest for track, number, *rest in rows}
    for (track, _), (lane, namespace, wide, document) in once.items():
        distance = Distance.ANY if around is None else around.distance(lane, namespace, wide=wide)
        if distance is not None:
            yield Placed(track, change_of(document), distance)


def _surroundings(source_id: int, about: Collection[int]) -> Surroundings:
    """Return what surrounds these tracks, from the rows of at most `MOST_RELATED` tracks."""
    all_of = Track.objects.filter(source=source_id)
    asked = list(all_of.filter(id__in=list(about)[:_OBJECTS]).defer("lifeline"))
    lanes = {row.lane for row in asked}
    roots = {row.root for row in asked}
    columns = "id", "lane", "kind", "needs"
    # Not in order: to sort all that a root owns would take long if it owns very many.
    related = all_of.filter(root__in=roots).values_list(*columns)[:MOST_RELATED]
    members = [*all_of.filter(id__in=roots).values_list(*columns), *related]
    family = {lane for _, lane, *_ in members}
    waiting = {row.owner for row in asked if row.owner}
    for _ in range(_OWNERS):  # an owner of another root, where the chain of owners was not complete at first
        owners = list(all_of.filter(id__in=waiting).exclude(lane__in=family).values_list("lane", "owner"))
        family |= {lane for lane, _ in owners}
        waiting = {owner for _, owner in owners if owner}
        if not waiting:
            break
    needed = {lane for needs in (*(needs for *_, needs in members), *(row.needs for row in asked)) for lane in needs}
    needing = set(all_of.filter(needs__overlap=sorted(lanes)).values_list("lane", flat=True)[:_NEEDING])
    namespaces = {row.namespace for row in asked} - {""}
    pods = sorted({(lane not in lanes, track) for track, lane, kind, _ in members if kind == "Pod"})
    nodes = _nodes(source_id, [track for _, track in pods[:MOST_PODS]])
    named = Q(kind="Node", name__in=nodes) | Q(kind="Namespace", name__in=namespaces)
    found = list(all_of.filter(named, group="").values_list("kind", "lane"))
    return Surroundings(
        objects=lanes,
        family=family,
        references=needed | needing,
        nodes={lane for kind, lane in found if kind == "Node"},
        own_namespaces={lane for kind, lane in found if kind == "Namespace"},
        namespaces=namespaces,
    )


def _nodes(source_id: int, pods: Collection[int]) -> set[str]:
    """Return the names of the nodes to which Pods were bound."""
    rows = Track.objects.filter(source=source_id, id__in=pods).only("source", "lifeline")
    states = [each[-1] for row in rows for each in row.lifeline]
    return {state["node"] for state in states if state and state.get("node")}
