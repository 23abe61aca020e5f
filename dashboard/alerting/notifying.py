"""Ask the routes what to send, and write it as deliveries, in one transaction. Nothing is sent here."""

import uuid
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

from django.db import connection, transaction
from django.db.models import Q
from django.utils import timezone

from dashboard import models
from dashboard.alerting import joining, wording
from dashboard.alerting.destinations import keeps, kinds, refresh
from dashboard.alerting.joining import ACTIVE, now_of, state_of
from dashboard.alerting.messages import Message, to_json
from dashboard.alerting.routing import OLD, Decision, Group, Key, Quiet, Rule, State, decide
from timeline.queries.incidents import noticed

PATIENCE = timedelta(days=1)  # how long a destination that is down is tried again
_AT_ONCE = 500  # incidents that are looked at in one transaction, besides those that go on
_IN_ONE = 100  # messages of one delivery
_LOCK = 0x726F757465  # the number of the PostgreSQL advisory lock under which routes are asked
_STATE = ("rank", "since", "group", "pending", "begun", "notified", "refreshed", "last")


def notify() -> int:
    """Ask the routes about all incidents to which something has happened, and about those that they have sent.

    Return how many deliveries were written. What another process reports at the moment is left to it.
    """
    written = 0
    while True:
        with transaction.atomic():
            if not _alone():
                return written
            keys = noticed.take_noticed(_AT_ONCE)
            written += _tell(set(keys), timezone.now())
        if len(keys) < _AT_ONCE:
            return written


def forget() -> None:
    """Have the routes look at everything that was over long ago, so that they forget what they need not know any more.

    They keep what they know of incidents that exist in recordings, however old, so this goes through all of it.
    """
    old = models.RouteState.objects.filter(begun=False, pending="", since__lt=timezone.now() - OLD)
    rows = old.order_by("source", "identity").values_list("source", "identity").distinct()
    source, identity = 0, ""
    while True:
        keys = list(rows.filter(Q(source__gt=source) | Q(source=source, identity__gt=identity))[:_AT_ONCE])
        with transaction.atomic():
            _wait_until_alone()
            _tell(set(keys), timezone.now())
        if len(keys) < _AT_ONCE:
            return
        source, identity = keys[-1]


def rules(routes: Iterable[models.Route]) -> list[Rule]:
    """Return what enabled routes ask for, in their order. Their destinations have to be prefetched."""
    return [_rule(route) for route in routes]


def _alone() -> bool:
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_try_advisory_xact_lock(%s)", [_LOCK])
        row = cursor.fetchone()
    return bool(row and row[0])


def _wait_until_alone() -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(%s)", [_LOCK])


def _tell(keys: set[Key], now: datetime) -> int:
    routes = list(models.Route.objects.filter(enabled=True).order_by("place", "pk").prefetch_related("destinations"))
    if not routes:
        return 0
    joining.to_successors()
    ended = joining.to_incidents(keys)
    rows = _known(routes, keys)
    known = {(row.route_id, (row.source_id, row.identity)): state_of(row) for row in rows}
    wanted = keys | {key for _, key in known}
    found = noticed.incidents_now(wanted)
    waits = noticed.hidden({source for source, _ in wanted} - {source for source, _ in found})
    known = {pair: state for pair, state in known.items() if pair[1][0] not in waits}
    incidents = {key: now_of(each) for key, each in found.items()}
    decision = decide(rules(routes), known, incidents, keys, now)
    kept = {(row.route_id, (row.source_id, row.identity)): row.message for row in rows}
    by_number = {route.pk: route for route in routes}
    return _end_silently(ended, by_number, now) + _write(decision, by_number, kept, now)


def _known(routes: Collection[models.Route], keys: Collection[Key]) -> list[models.RouteState]:
    """Return what the routes have to look at: what goes on or waits, and what is noticed."""
    of_noticed = Q(source__in={source for source, _ in keys}, identity__in={identity for _, identity in keys})
    rows = models.RouteState.objects.filter(route__in=routes)
    return list({row.pk: row for row in (*rows.filter(ACTIVE), *rows.filter(of_noticed))}.values())


def _write(
    decision: Decision,
    routes: Mapping[int, models.Route],
    kept: Mapping[tuple[int, Key], dict[str, object]],
    now: datetime,
) -> int:
    shown = wording.Shown({each.key for group in decision.groups for each in group.notifications}, now)
    deliveries: list[models.Delivery] = []
    sent: dict[tuple[int, Key], dict[str, object]] = {}
    for group in decision.groups:
        messages = []
        for each in group.notifications:
            message = shown.message(each, before=kept.get((group.route, each.key), {}))
            if message:
                messages.append(message)
                sent[group.route, each.key] = to_json(message)
        deliveries += _deliveries(routes[group.route], group, messages, now)
    states = [_row(pair, state, sent.get(pair) or kept.get(pair) or {}) for pair, state in decision.states.items()]
    models.RouteState.objects.bulk_create(
        states,
        update_conflicts=True,
        unique_fields=["source", "route", "identity"],
        update_fields=[*_STATE, "message"],
    )
    for route, (source, identity) in decision.forgotten:
        models.RouteState.objects.filter(route=route, source=source, identity=identity).delete()
    models.Delivery.objects.bulk_create(deliveries)
    return len(deliveries)


def _end_silently(ended: Iterable[joining.Ended], routes: Mapping[int, models.Route], now: datetime) -> int:
    """Have destinations that keep incidents end those that another one stands for now. Nobody else hears of it."""
    deliveries = [
        delivery(
            destination,
            [wording.joined(each.message, each.incident, now)],
            now=now,
            route=route,
            group=_name(each.route, each.group),
        )
        for each in ended
        if (route := routes.get(each.route)) and "over" in route.changes
        for destination in route.destinations.all()
        if (kind := kinds().get(destination.kind)) and keeps(kind)
    ]
    models.Delivery.objects.bulk_create(deliveries)
    return len(deliveries)


def _name(route: int, group: tuple[str, ...]) -> str:
    """Return the name of a group: its deliveries are sent in order."""
    return f"{route} {' '.join(group)}"


def _deliveries(route: models.Route, group: Group, messages: list[Message], now: datetime) -> Iterator[models.Delivery]:
    name = _name(route.pk, group.group)
    for destination in route.destinations.all():
        if group.refresh and not _wants_refresh(destination, name):
            continue
        for first in range(0, len(messages), _IN_ONE):
            part = messages[first : first + _IN_ONE]
            others = len(messages) - len(part)
            yield delivery(
                destination,
                [replace(each, others=others) for each in part],
                now=now,
                route=route,
                group=name,
                refresh=group.refresh,
            )


def delivery(
    destination: models.Destination,
    messages: list[Message],
    *,
    now: datetime,
    route: models.Route | None = None,
    group: str = "",
    refresh: bool = False,
) -> models.Delivery:
    """Return a delivery that is not stored yet."""
    return models.Delivery(
        destination=destination,
        route=route,
        key=uuid.uuid4().hex,
        group=group,
        refresh=refresh,
        messages=[to_json(each) for each in messages],
        expires=now + PATIENCE,
        next_at=now,
    )


def _wants_refresh(destination: models.Destination, group: str) -> bool:
    """Return whether a destination forgets what is not sent again, and nothing for this group waits to be sent."""
    kind = kinds().get(destination.kind)
    waits = models.Delivery.objects.filter(destination=destination, group=group, state=models.Delivery.State.WAITING)
    return kind is not None and refresh(kind) is not None and not waits.exists()


def _rule(route: models.Route) -> Rule:
    found = [kind for each in route.destinations.all() if (kind := kinds().get(each.kind))]
    often = [every for kind in found if (every := refresh(kind))]
    quiet = None
    if route.quiet_days and route.quiet_from is not None and route.quiet_until is not None:
        quiet = Quiet(frozenset(route.quiet_days), route.quiet_from, route.quiet_until, ZoneInfo(route.quiet_zone))
    return Rule(
        route.pk,
        route.since,
        route.rank,
        route.cluster_id,
        route.source_id,
        route.rule,
        route.namespace,
        route.owner,
        frozenset(route.changes),
        route.recordings or route.source_id is not None,
        route.stop,
        tuple(route.grouping),
        timedelta(seconds=route.wait_seconds),
        timedelta(minutes=route.repeat_minutes),
        quiet,
        min(often, default=None),
    )


def _row(pair: tuple[int, Key], state: State, message: dict[str, object]) -> models.RouteState:
    route, (source, identity) = pair
    values = {name: getattr(state, name) for name in _STATE} | {"group": list(state.group)}
    return models.RouteState(route_id=route, source_id=source, identity=identity, message=message, **values)
