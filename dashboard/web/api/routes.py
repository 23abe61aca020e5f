"""List and change routes and destinations, and list deliveries. No answer has a secret."""

from collections.abc import Callable
from datetime import time
from typing import Annotated, Any, Literal, TypeVar

from django.db.models import Model
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from ninja import Router, Schema
from ninja.errors import HttpError
from pydantic import ConfigDict, Field

from dashboard.access.roles import needs
from dashboard.access.trail import change_log
from dashboard.alerting import editing, listing, sending
from dashboard.alerting.editing import RouteValues
from dashboard.models import Delivery, Destination, Route
from dashboard.web.api.answers import Asked, Number, json_response
from dashboard.web.inputs import person

router = Router(tags=["routes"])
_Row = TypeVar("_Row", bound=Model)
_Result = TypeVar("_Result")
_Text = Annotated[str, Field(max_length=4096, pattern=r"^[^\x00]*$")]


class NewRoute(RouteValues):
    """A route as a program sends it: no text is taken for a number."""

    model_config = ConfigDict(strict=True)
    id: Number | None = None  # as an answer has it; a change of a route may repeat its number
    quiet_from: Annotated[time | None, Field(strict=False)] = None
    quiet_until: Annotated[time | None, Field(strict=False)] = None


class RouteAnswer(RouteValues):
    """A route as it is stored, with its number."""

    id: int


class DestinationValues(Asked):
    """A destination. A secret value that is left out stays as it was."""

    name: Annotated[str, Field(min_length=1, max_length=100)]
    kind: Annotated[str, Field(max_length=64)]
    values: dict[Annotated[str, Field(max_length=64)], _Text]


class DestinationAnswer(Schema):
    """A destination without its secrets."""

    id: int
    name: str
    kind: str
    shown: dict[str, str]
    failures: int  # attempts since the last one that it answered
    waiting: int  # deliveries


class DeliveryAnswer(Schema):
    """A delivery, with what was answered last."""

    id: int
    key: str
    destination: str
    route: str
    state: str
    what: str
    url: str
    created: str
    attempts: str
    answer: str
    then: str


class DeliveriesAnswer(Schema):
    """A page of deliveries, the newest first. Pass `next` as `before` for the page after it."""

    deliveries: list[DeliveryAnswer]
    next: int | None


class Order(Asked):
    """The numbers of all routes, in the order in which they are asked."""

    routes: Annotated[list[Number], Field(max_length=1000)]


@router.get("/routes", response=list[RouteAnswer])
@needs.to_read("viewer", action="list")
def routes(request: HttpRequest) -> HttpResponseBase:
    """Return the routes, in the order in which they are asked."""
    found = Route.objects.order_by("place", "pk").prefetch_related("destinations")
    return json_response(request, [_route(each) for each in found])


@router.post("/routes", response={201: RouteAnswer})
@needs.to_change("editor", "everything", action="route")
def create_route(request: HttpRequest, new: NewRoute) -> HttpResponseBase:
    """Make a route, after the others. It needs the role editor."""
    _same_number(new, None)
    made = _checked(lambda: editing.save_route(new, by=person(request)))
    change_log.about(request, route=made.pk)
    return json_response(request, _route(made), status=201)


@router.put("/routes/{number}", response=RouteAnswer)
@needs.to_change("editor", "everything", action="route")
def change_route(request: HttpRequest, number: Number, new: NewRoute) -> HttpResponseBase:
    """Replace all values of a route. It needs the role editor."""
    row = _row(Route, number)
    _same_number(new, number)
    changed = _checked(lambda: editing.save_route(new, route=row))
    change_log.about(request, route=number)
    return json_response(request, _route(changed))


@router.delete("/routes/{number}", response={204: None})
@needs.to_change("editor", "everything", action="route")
def delete_route(request: HttpRequest, number: Number) -> HttpResponse:
    """Delete a route. What it has sent stays listed. It needs the role editor."""
    _row(Route, number).delete()
    editing.ask_again()
    change_log.about(request, route=number)
    return HttpResponse(status=204)


@router.put("/route-order", response={204: None})
@needs.to_change("editor", "everything", action="route")
def order_routes(request: HttpRequest, order: Order) -> HttpResponse:
    """Set the order in which routes are asked. It needs the role editor."""
    _checked(lambda: editing.arrange(order.routes))
    return HttpResponse(status=204)


@router.get("/destinations", response=list[DestinationAnswer])
@needs.to_read("viewer", action="list")
def destinations(request: HttpRequest) -> HttpResponseBase:
    """Return the destinations, without their secrets."""
    return json_response(request, [_destination(each) for each in Destination.objects.order_by("name")])


@router.post("/destinations", response={201: DestinationAnswer})
@needs.to_change("editor", "everything", action="destination")
def create_destination(request: HttpRequest, new: DestinationValues) -> HttpResponseBase:
    """Make a destination. Its secrets are stored encrypted, and never answered. It needs the role editor."""
    made = _checked(lambda: editing.save_destination(new.name, new.kind, new.values))
    change_log.about(request, destination=made.pk)
    return json_response(request, _destination(made), status=201)


@router.put("/destinations/{number}", response=DestinationAnswer)
@needs.to_change("editor", "everything", action="destination")
def change_destination(request: HttpRequest, number: Number, new: DestinationValues) -> HttpResponseBase:
    """Replace the values of a destination. It needs the role editor."""
    row = _row(Destination, number)
    changed = _checked(lambda: editing.save_destination(new.name, new.kind, new.values, destination=row))
    change_log.about(request, destination=number)
    return json_response(request, _destination(changed))


@router.delete("/destinations/{number}", response={204: None})
@needs.to_change("editor", "everything", action="destination")
def delete_destination(request: HttpRequest, number: Number) -> HttpResponse:
    """Delete a destination and its deliveries. It needs the role editor."""
    row = _row(Destination, number)
    _checked(lambda: editing.delete_destination(row))
    change_log.about(request, destination=number)
    return HttpResponse(status=204)


@router.post("/destinations/{number}/test", response=DeliveryAnswer)
@needs.to_change("editor", "everything", action="destination")
def test_destination(request: HttpRequest, number: Number) -> HttpResponseBase:
    """Send a test message now, and return what was answered. It needs the role editor."""
    row = _row(Destination, number)
    change_log.about(request, destination=number)
    change_log.commit(request)
    sent = sending.send_test(row)
    return json_response(request, listing.delivery(sent)._asdict())


@router.get("/deliveries", response=DeliveriesAnswer)
@needs.to_read("viewer", action="list")
def deliveries(
    request: HttpRequest,
    destination: Number | None = None,
    state: Literal["", "waiting", "sent", "refused", "expired"] = "",
    before: Number | None = None,
    limit: Annotated[int, Field(ge=1, le=500)] = listing.PAGE,
) -> HttpResponseBase:
    """Return deliveries, the newest first."""
    rows, following = listing.deliveries(destination, state, before, limit)
    return json_response(request, {"deliveries": [each._asdict() for each in rows], "next": following})


@router.post("/deliveries/{number}/resend", response=DeliveryAnswer)
@needs.to_change("editor", "everything", action="send again")
def resend(request: HttpRequest, number: Number) -> HttpResponseBase:
    """Send a delivery that has ended again, with the same key. It needs the role editor."""
    row = _row(Delivery, number)
    if not sending.resend(row):
        raise HttpError(409, "It still waits to be sent.")
    sending.nudge()
    row.refresh_from_db()
    return json_response(request, listing.delivery(row)._asdict())


def _row(model: type[_Row], number: int) -> _Row:
    row = model._default_manager.filter(pk=number).first()
    if row is None:
        raise HttpError(404, "It was deleted, or the number is wrong.")
    return row


def _same_number(new: NewRoute, number: int | None) -> None:
    if new.id not in (None, number):
        raise HttpError(422, "id: A route keeps its number, and gets it here. Leave the field out.")


def _checked(act: Callable[[], _Result]) -> _Result:
    try:
        return act()
    except editing.Invalid as error:
        raise HttpError(422, str(error)) from None


def _route(row: Route) -> dict[str, Any]:
    return editing.values_of(row) | {
        "id": row.pk,
        "quiet_from": row.quiet_from and row.quiet_from.isoformat(),
        "quiet_until": row.quiet_until and row.quiet_until.isoformat(),
    }


def _destination(row: Destination) -> dict[str, Any]:
    return {
        "id": row.pk,
        "name": row.name,
        "kind": row.kind,
        "shown": row.shown,
        "failures": row.failures,
        "waiting": row.delivery_set.filter(state=Delivery.State.WAITING).count(),
    }
