"""Let what routes know of incidents follow them into the source, or into the incident, that they are a part of now."""

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping
from typing import Any, NamedTuple

from django.db.models import Q

from dashboard import models
from dashboard.alerting.routing import Key, Now, State, joined
from timeline.queries.incidents import noticed

ACTIVE = Q(begun=True) | ~Q(pending="")  # as the condition of the index `told_active`


class Ended(NamedTuple):
    """What a route sent as begun, and what is sent on as a part of another incident."""

    route: int
    group: tuple[str, ...]
    message: Mapping[str, Any]  # what was sent last
    incident: str  # Incident.identity of the other one


def to_successors() -> None:
    """Have the source that a cluster feeds now stand for one that has ended, so that nothing is sent twice."""
    active = models.RouteState.objects.filter(ACTIVE)
    for before, after in noticed.successors(set(active.values_list("source", flat=True).distinct())).items():
        for row in models.RouteState.objects.filter(source=before):
            same = models.RouteState.objects.filter(source=after, route=row.route_id, identity=row.identity)
            if same.exists():
                _delete(row)
            else:
                _move(row, after, row.identity)


def to_incidents(changed: Collection[Key]) -> list[Ended]:
    """Have each incident stand for those that are a part of it now. `changed` are those that something has happened to.

    Return what destinations that keep incidents have to end, because another of their incidents stands for it.
    """
    ended: list[Ended] = []
    gone = list(_gone(changed))
    into = _into(gone)
    together: dict[tuple[int, Key], list[models.RouteState]] = defaultdict(list)
    for row in gone:
        if incident := into.get((row.source_id, row.identity)):
            together[row.route_id, (row.source_id, incident)].append(row)
    found = noticed.incidents_now({key for _, key in together})
    for (route, key), rows in together.items():
        if key in found:
            own = models.RouteState.objects.filter(route=route, source=key[0], identity=key[1])
            ended += _join([*rows, *own], now_of(found[key]))
    return ended


def _gone(changed: Collection[Key]) -> Iterator[models.RouteState]:
    """Yield the states of incidents that do not exist any more, and that may be a part of others."""
    parts = noticed.parts_of(changed) if changed else set()
    named = Q(source__in={source for source, _ in parts}, identity__in={identity for _, identity in parts})
    states = models.RouteState.objects
    rows = {row.pk: row for row in (*states.filter(ACTIVE), *(states.filter(named) if parts else ()))}
    keys = {(row.source_id, row.identity) for row in rows.values()}
    exist = noticed.existing(keys) if keys else set()
    yield from (row for row in rows.values() if (row.source_id, row.identity) not in exist)


def _into(gone: Collection[models.RouteState]) -> dict[Key, str]:
    """Return by the keys of these states the incidents that they are a part of now.

    An incident that was sent by its cause is no symptom, so those that were sent with it say where it is.
    """
    parts = {(row.source_id, row.identity): [(row.source_id, each) for each in _symptoms(row)] for row in gone}
    wanted = {part for of_it in parts.values() for part in of_it}
    found = noticed.incidents_with(wanted) if wanted else {}
    return {key: found[part] for key, of_it in parts.items() for part in reversed(of_it) if part in found}


def _symptoms(row: models.RouteState) -> list[str]:
    return [row.identity, *(each["id"] for each in row.message.get("symptoms", ()))]


def _join(rows: Collection[models.RouteState], into: Now) -> Iterator[Ended]:
    """Keep one of these states, as that of the incident that they are part of. Yield what was sent of the others."""
    first, state = joined({row.identity: state_of(row) for row in rows}, into)
    for row in rows:
        if row.identity != first:
            _delete(row)
            if row.begun and row.message:
                yield Ended(row.route_id, tuple(row.group), row.message, into.identity)
    (kept,) = (row for row in rows if row.identity == first)
    kept.last = state.last
    _move(kept, into.source, into.identity)


def _move(row: models.RouteState, source: int, identity: str) -> None:
    _delete(row)
    row.source_id, row.identity = source, identity
    row.save(force_insert=True)


def _delete(row: models.RouteState) -> None:
    models.RouteState.objects.filter(pk=row.pk).delete()


def now_of(each: noticed.IncidentNow) -> Now:
    """Return an incident as routes decide about it."""
    return Now(
        *each.key,
        each.cluster,
        each.live,
        each.rule,
        each.namespace,
        each.owner,
        each.rank,
        each.ongoing,
        each.last,
        each.held,
        each.acknowledged,
        None if each.live else each.imported,
        each.symptoms,
    )


def state_of(row: models.RouteState) -> State:
    """Return what a route knows of an incident as the database has it."""
    return State(row.rank, row.since, tuple(row.group), row.pending, row.begun, row.notified, row.refreshed, row.last)  # type: ignore[arg-type]  # `pending` is one of a few words
