"""Describe routes, destinations and deliveries in words. Nothing secret is among them."""

from collections.abc import Iterable
from datetime import datetime
from typing import Any, NamedTuple

from django.db.models import Count, Q

from dashboard.alerting.destinations import kinds
from dashboard.models import Delivery, Destination, Route
from dashboard.presentation.wording import count, plural
from timeline.core.durations import duration

_HEAVY = ("source__document", "source__histogram", "source__census", "source__tide", "source__skips", "cluster__secret")
PAGE = 50  # deliveries
DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
CHANGES = {"began": "begin", "worse": "get worse", "over": "are over"}
STATES = {
    Delivery.State.WAITING: "waiting",
    Delivery.State.SENT: "sent",
    Delivery.State.REFUSED: "refused",
    Delivery.State.EXPIRED: "given up",
}


class RouteRow(NamedTuple):
    """One row of the list of routes on the page Routes and in the API."""

    id: int
    name: str
    enabled: bool
    tells: str  # "warnings and errors that begin, get worse or are over"
    matchers: list[tuple[str, str]]  # [("rule", "service-gap")]
    destinations: list[str]  # their names
    how: str  # "together by source, rule and namespace, after 30 s; again every 4 h"
    quiet: str  # "quiet from 22:00 to 07:00 Europe/Berlin, on all days", or ""
    first: bool
    last: bool


class DestinationRow(NamedTuple):
    """A destination as a list shows it."""

    id: int
    name: str
    kind: str  # "Alertmanager"
    shown: list[tuple[str, str]]  # values that are not secret, by label
    routes: list[str]  # the names of the routes that use it
    waiting: int
    trouble: str  # "has taken nothing since 2026-11-23 02:00:05 UTC, in 3 attempts", or ""


class DeliveryRow(NamedTuple):
    """A delivery as a list shows it."""

    id: int
    key: str
    destination: str
    route: str
    state: str
    word: str
    what: str  # "began: Service ring was deleted …, and 2 more"
    url: str  # of the first incident, or ""
    created: str
    attempts: str
    answer: str
    then: str  # "next attempt at …", "sent at …"


def routes() -> list[RouteRow]:
    """Return all routes in their order."""
    found = Route.objects.order_by("place", "pk").select_related("cluster", "source")
    rows = list(found.defer(*_HEAVY).prefetch_related("destinations"))
    return [_route(row, first=row is rows[0], last=row is rows[-1]) for row in rows]


def destinations() -> list[DestinationRow]:
    waiting = Count("delivery", filter=Q(delivery__state=Delivery.State.WAITING))
    found = Destination.objects.annotate(waiting=waiting).order_by("name").prefetch_related("routes")
    rows = []
    for row in found:
        kind = kinds().get(row.kind)
        labels = {field.name: field.label for field in kind.FIELDS} if kind else {}
        trouble = ""
        if row.failing_since:
            tried = f"{count(row.failures)} {plural('attempt', row.failures)}"
            trouble = f"has taken nothing since {_second(row.failing_since)} UTC, in {tried}"
        shown = [(labels.get(name, name), value) for name, value in row.shown.items()]
        used = sorted(route.name for route in row.routes.all())
        name = kind.label if kind else row.kind
        rows.append(DestinationRow(row.pk, row.name, name, shown, used, row.waiting, trouble))
    return rows


def deliveries(
    destination: int | None, state: str, before: int | None, most: int = PAGE
) -> tuple[list[DeliveryRow], int | None]:
    """Return deliveries, the newest first, and the number before which the next page begins; None if it is the last."""
    found = Delivery.objects.select_related("destination", "route").order_by("-pk")
    if destination is not None:
        found = found.filter(destination=destination)
    if state:
        found = found.filter(state=state)
    if before is not None:
        found = found.filter(pk__lt=before)
    rows = list(found[: most + 1])
    return [delivery(row) for row in rows[:most]], rows[most - 1].pk if len(rows) > most else None


def delivery(row: Delivery) -> DeliveryRow:
    first = row.messages[0] if row.messages else {}
    change = "goes on" if first.get("again") else first.get("change", "")
    more = len(row.messages) - 1 + first.get("others", 0)
    what = f"{change}: {first.get('title', '')}" + (f", and {count(more)} more" if more else "")
    if row.state == Delivery.State.WAITING:
        then = f"next attempt at {_second(row.next_at)} UTC" if row.attempts else "not attempted yet"
    else:
        then = f"{STATES[Delivery.State(row.state)]} at {_second(row.ended)} UTC" if row.ended else ""
    return DeliveryRow(
        row.pk,
        row.key,
        row.destination.name,
        row.route.name if row.route else "",
        row.state,
        STATES[Delivery.State(row.state)],
        what,
        _path(first),
        f"{_second(row.created)} UTC",
        f"{count(row.attempts)} {plural('attempt', row.attempts)}" if row.attempts else "",
        row.answer,
        then,
    )


def _route(row: Route, *, first: bool, last: bool) -> RouteRow:
    matchers = [("cluster", row.cluster.name)] if row.cluster else []
    matchers += [("recording", row.source.name)] if row.source else []
    matchers += [(name, value) for name in ("rule", "namespace", "owner") if (value := getattr(row, name))]
    every = duration(row.repeat_minutes * 60_000_000)
    wait = f"after {duration(row.wait_seconds * 1_000_000)}" if row.wait_seconds else "at once"
    together = f"together by {_and(row.grouping)}" if row.grouping else "all together"
    quiet = ""
    if row.quiet_days and row.quiet_from and row.quiet_until:
        days = "all days" if len(row.quiet_days) == 7 else _and([DAYS[day] for day in sorted(row.quiet_days)])
        quiet = f"quiet from {row.quiet_from:%H:%M} to {row.quiet_until:%H:%M} in {row.quiet_zone}, on {days}"
    return RouteRow(
        row.pk,
        row.name,
        row.enabled,
        f"{_severities(row.rank)} that {_and([CHANGES[each] for each in CHANGES if each in row.changes], 'or')}"
        + (", also of recordings" if row.recordings else "")
        + ("; later routes do not tell them" if row.stop else ""),
        matchers,
        sorted(each.name for each in row.destinations.all()),
        f"{together}, {wait}; what goes on again every {every}",
        quiet,
        first,
        last,
    )


def _severities(rank: int) -> str:
    names = ("errors", "warnings", "info")
    return _and(names[: rank + 1]) if rank else "errors"


def _and(words: Iterable[str], last: str = "and") -> str:
    *some, final = words
    return f"{', '.join(some)} {last} {final}" if some else final


def _path(message: dict[str, Any]) -> str:
    incident = message.get("incident")
    return f"/sources/{incident[0]}/incidents/{incident[1]}/" if incident else ""


def _second(at: datetime) -> str:
    return f"{at:%Y-%m-%d %H:%M:%S}"
