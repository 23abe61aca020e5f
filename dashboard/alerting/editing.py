"""Check and store routes and destinations, for the pages and for the API alike."""

from collections.abc import Mapping, Sequence
from datetime import time
from typing import Annotated, Any, Literal
from zoneinfo import available_timezones

import httpx
from django.db import IntegrityError, transaction
from django.db.models import Max
from django.utils import timezone
from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from dashboard.access import encryption
from dashboard.alerting.destinations import kinds
from dashboard.alerting.messages import DestinationRefused
from dashboard.models import Destination, Route
from timeline.models import Cluster, Source
from timeline.queries.incidents.filters import RECENT
from timeline.queries.sources.extents import SEVERITIES
from timeline.storage.judged.incidents import notice_again

MOST = 200  # routes, and destinations
_VALUE = 4096  # characters of a field of a destination
_Name = Annotated[str, Field(min_length=1, max_length=100, pattern=r"^[^\x00-\x1f]*$")]
_Matcher = Annotated[str, Field(max_length=253, pattern=r"^[^\x00]*$")]
_Id = Annotated[int, Field(ge=1, le=2**63 - 1)]


class Invalid(ValueError):
    """A route or a destination cannot be stored like this. The message is a sentence for people."""


class RouteValues(BaseModel):
    """A route: which incidents are sent, to which destinations, and when. Empty matchers match all."""

    model_config = ConfigDict(extra="forbid")

    name: _Name
    enabled: bool = True
    destinations: Annotated[list[_Id], Field(max_length=20)]
    cluster: _Id | None = None  # the number of a connected cluster
    source: _Id | None = None  # the number of a recording
    severity: Literal["error", "warning", "info"] = "warning"  # the least
    rule: _Matcher = ""
    namespace: _Matcher = ""
    owner: _Matcher = ""  # the name of what an incident is about; * stands for any characters, ? for one
    changes: Annotated[list[Literal["began", "worse", "over"]], Field(min_length=1)] = ["began", "worse", "over"]
    recordings: bool = False  # whether incidents of recordings that are imported later are sent, too
    stop: bool = False  # what this route takes is not sent by the routes after it
    grouping: list[Literal["source", "rule", "namespace", "owner"]] = ["source", "rule", "namespace"]
    wait_seconds: Annotated[int, Field(ge=0, le=3600)] = 30  # for which changes are gathered
    repeat_minutes: Annotated[int, Field(ge=5, le=43_200)] = 240
    quiet_days: list[Annotated[int, Field(ge=0, le=6)]] = []  # on which quiet hours begin; 0 is Monday
    quiet_from: time | None = None
    quiet_until: time | None = None
    quiet_zone: Annotated[str, Field(max_length=64)] = "UTC"  # a name of the time zone database: Europe/Berlin

    @model_validator(mode="after")
    def _quiet_hours_are_whole(self) -> "RouteValues":
        if self.quiet_days and (self.quiet_from is None or self.quiet_until is None):
            raise ValueError("Quiet hours need a beginning and an end.")
        if self.quiet_zone not in available_timezones():
            raise ValueError(f"{self.quiet_zone[:64]!r} is not a time zone such as Europe/Berlin.")
        return self


def route_values(given: Mapping[str, Any]) -> RouteValues:
    """Return checked values. Raise Invalid with a sentence about the first one that is wrong."""
    try:
        return RouteValues.model_validate(given)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        where = str(first["loc"][0]).replace("_", " ") if first["loc"] else ""
        words = first["msg"].removeprefix("Value error, ")
        raise Invalid(f"{where.capitalize()}: {words}." if where else words) from None


def values_of(route: Route) -> dict[str, Any]:
    """Return the values of a stored route by the names of `RouteValues`."""
    same = {name: getattr(route, name) for name in RouteValues.model_fields if hasattr(route, name)}
    return same | {
        "destinations": sorted(each.pk for each in route.destinations.all()),
        "cluster": route.cluster_id,
        "source": route.source_id,
        "severity": SEVERITIES[route.rank],
    }


def save_route(values: RouteValues, *, route: Route | None = None, by: str = "") -> Route:
    """Store a new route, or other values of one. Raise Invalid."""
    destinations = list(Destination.objects.filter(pk__in=values.destinations))
    if not destinations or len(destinations) < len(set(values.destinations)):
        raise Invalid("Choose where the messages go: one destination at least, and none that was deleted.")
    if values.cluster and values.source:
        raise Invalid("A route is about one cluster, or one recording, or all.")
    if values.cluster and not Cluster.objects.filter(pk=values.cluster).exists():
        raise Invalid("This cluster is not connected any more.")
    if values.source and not Source.objects.filter(pk=values.source, ready=True).exists():
        raise Invalid("This recording does not exist any more.")
    row = route or Route(place=(Route.objects.aggregate(last=Max("place"))["last"] or 0) + 1, by=by)
    if route is None and Route.objects.count() >= MOST:
        raise Invalid(f"There are {MOST} routes already.")
    if (values.enabled and (route is None or not route.enabled)) or route is None:
        row.since = timezone.now()
    plain = values.model_dump(exclude={"id", "destinations", "cluster", "source", "severity"})
    for name, value in plain.items():
        setattr(row, name, value)
    row.name = row.name.strip()
    row.cluster_id, row.source_id, row.rank = values.cluster, values.source, SEVERITIES.index(values.severity)
    with transaction.atomic():  # nobody sees a route without its destinations, or one that was not asked again
        _save(row, "route")
        row.destinations.set(destinations)
        ask_again()
    return row


def enable(route: Route, *, enabled: bool) -> None:
    """Let a route send incidents from now on, or no more."""
    if enabled and not route.enabled:
        route.since = timezone.now()
    route.enabled = enabled
    route.save(update_fields=["enabled", "since"])
    ask_again()


def move(route: Route, by: int) -> None:
    """Move a route in the order in which routes are asked: by -1 before the one before it, by 1 after the next."""
    with transaction.atomic():
        routes = list(Route.objects.select_for_update().order_by("place", "pk"))
        here = routes.index(route)
        there = max(0, min(len(routes) - 1, here + by))
        routes.insert(there, routes.pop(here))
        arrange([each.pk for each in routes])


def arrange(order: Sequence[int]) -> None:
    """Have the routes asked in this order. Raise Invalid unless all of them are named once."""
    if sorted(order) != sorted(Route.objects.values_list("pk", flat=True)):
        raise Invalid("Name each route once. Somebody may have made or deleted one meanwhile.")
    with transaction.atomic():
        for place, number in enumerate(order, 1):
            Route.objects.filter(pk=number).update(place=place)
    ask_again()


def ask_again() -> None:
    """Have the routes asked about all that goes on, since one of them has changed."""
    notice_again(timezone.now() - RECENT)


def save_destination(
    name: str, kind: str, values: Mapping[str, str], *, destination: Destination | None = None
) -> Destination:
    """Store a new destination, or other values of one. A secret value that is empty stays as it was, unless the address
    leads elsewhere. Raise Invalid."""
    name = name.strip()
    if not name or len(name) > 100 or not name.isprintable():
        raise Invalid("A destination needs a name, of at most 100 characters.")
    if destination is None and Destination.objects.count() >= MOST:
        raise Invalid(f"There are {MOST} destinations already.")
    module = kinds().get(kind)
    if module is None or (destination is not None and destination.kind != kind):
        raise Invalid("There are no destinations of this kind.")
    try:
        before = encryption.decrypted(bytes(destination.sealed)) if destination else {}
    except encryption.Unreadable:
        before = {}  # everything has to be filled in again
    if unknown := sorted(values.keys() - {field.name for field in module.FIELDS}):
        raise Invalid(f"{unknown[0]}: destinations of this kind have no such value.")
    config, kept = {}, []
    for field in module.FIELDS:
        given = values.get(field.name, "").replace("\0", "").strip()[:_VALUE]
        value = given or (before.get(field.name, "") if field.secret else "")
        if field.required and not value:
            raise Invalid(f"{field.label} is missing.")
        if value:
            config[field.name] = value
            if not given and field.kind != "url":
                kept.append(field)
    try:
        module.check(config)
        if kept and any(_moved(before, config, field.name) for field in module.FIELDS if field.kind == "url"):
            labels = ", ".join(field.label for field in kept)
            raise DestinationRefused(
                f"The address leads to another host, port or scheme than before. Fill in again: {labels}."
            )
        sealed = encryption.encrypted(config)
    except (DestinationRefused, encryption.Unreadable) as error:
        raise Invalid(str(error)) from None
    row = destination or Destination(kind=kind)
    row.name, row.sealed = name, sealed
    row.shown = {field.name: config[field.name] for field in module.FIELDS if not field.secret and field.name in config}
    row.retry_at = None
    _save(row, "destination")
    return row


def _moved(before: Mapping[str, str], config: Mapping[str, str], name: str) -> bool:
    """Return whether an address has another scheme, host or port than before."""
    was, now = (httpx.URL(each.get(name, "")) for each in (before, config))
    return (was.scheme, was.host, was.port) != (now.scheme, now.host, now.port)


def reencrypt() -> int:
    """Encrypt the secrets of destinations again, with the first key; return of how many destinations. Raise
    Unreadable."""
    with transaction.atomic():
        rows = list(Destination.objects.select_for_update())
        for row in rows:
            row.sealed = encryption.encrypted(encryption.decrypted(bytes(row.sealed)))
            row.save(update_fields=["sealed"])
    return len(rows)


def delete_destination(destination: Destination) -> None:
    """Delete a destination with its deliveries. Raise Invalid while a route has no other."""
    for route in destination.routes.all():
        if route.destinations.count() == 1:
            raise Invalid(f"The route {route.name} has no other destination. Change or delete the route first.")
    destination.delete()


def _save(row: Route | Destination, what: str) -> None:
    try:
        with transaction.atomic():
            row.save()
    except IntegrityError:
        raise Invalid(f"Another {what} has this name.") from None
