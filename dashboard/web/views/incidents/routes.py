"""On these pages editors say which incidents are sent on, and everybody sees it, without secrets."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from django.http import Http404
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.views.decorators.cache import never_cache

from dashboard.access.roles import needs
from dashboard.access.trail import change_log
from dashboard.alerting import editing, listing, sending
from dashboard.alerting.destinations import kinds
from dashboard.models import Delivery, Destination, Route
from dashboard.web.inputs import person
from timeline.core.numbers import whole_number
from timeline.models import Cluster, Source
from timeline.queries.incidents import filters
from timeline.queries.sources.extents import SEVERITIES

if TYPE_CHECKING:
    from django.http import HttpRequest, HttpResponse, QueryDict

_RECORDINGS = 100  # of the newest, to choose from
_REPEATS = {30: "30 minutes", 60: "1 hour", 240: "4 hours", 720: "12 hours", 1440: "1 day", 10080: "1 week"}
_WAITS = {0: "at once", 10: "10 seconds", 30: "30 seconds", 60: "1 minute", 300: "5 minutes", 900: "15 minutes"}
_GROUPINGS = {"source": "cluster or recording", "rule": "rule", "namespace": "namespace", "owner": "what it is about"}
_CHANGES = {"began": "began", "worse": "got worse", "over": "is over"}
_LISTS = ("destinations", "changes", "grouping", "quiet_days")
_TEXTS = ("name", "severity", "rule", "namespace", "owner", "wait_seconds", "repeat_minutes", "quiet_zone")


@needs.to_read("viewer", action="list")
@needs.to_change("editor", "everything", action="route")
@never_cache
def show_routes(request: "HttpRequest") -> "HttpResponse":
    """List routes and destinations; move, enable and disable a route, and send a test message."""
    tested = None
    if request.method == "POST":
        act = request.POST.get("act", "")
        number = whole_number(request.POST.get("number", "")) or 0
        if act == "test":
            row = get_object_or_404(Destination, pk=number)
            change_log.about(request, destination=number)
            change_log.commit(request)
            tested = sending.send_test(row)
        else:
            _change(act, get_object_or_404(Route, pk=number))
            change_log.about(request, route=number)
            return redirect("routes")
    context = {
        "routes": listing.routes(),
        "destinations": listing.destinations(),
        "tested": listing.delivery(tested) if tested else None,
        "kinds": [(name, kind.label) for name, kind in kinds().items()],
    }
    return render(request, "routes.html", context)


@needs.to_read("editor", "everything", action=None)
@needs.to_change("editor", "everything", action="route")
def edit_route(request: "HttpRequest", number: int | None = None) -> "HttpResponse":
    """Show the form of a route, and store or delete it."""
    row = get_object_or_404(Route, pk=number) if number is not None else None
    form, problem = _form_of(row), ""
    if request.method == "POST":
        if row and request.POST.get("act") == "delete":
            return _delete(request, row, "route", ["It tells nothing more. What it has sent stays listed."])
        given = _given(request.POST)
        try:
            values = editing.route_values(given)
            stored = editing.save_route(values, route=row, by=person(request))
            change_log.about(request, route=stored.pk)
            return redirect("routes")
        except editing.Invalid as error:
            form, problem = given, str(error)
    recordings = Source.objects.filter(ready=True, cluster=None).order_by("-created", "-pk")
    context = {
        "row": row,
        "form": form,
        "problem": problem,
        "destinations": [(each.pk, each.name) for each in Destination.objects.order_by("name")],
        "clusters": [(each.pk, each.name) for each in Cluster.objects.only("name").order_by("name")],
        "recordings": list(recordings.values_list("pk", "name")[:_RECORDINGS]),
        "severities": SEVERITIES,
        "changes": list(_CHANGES.items()),
        "groupings": list(_GROUPINGS.items()),
        "waits": _choices(_WAITS, form.get("wait_seconds"), "seconds"),
        "repeats": _choices(_REPEATS, form.get("repeat_minutes"), "minutes"),
        "days": list(enumerate(listing.DAYS)),
        "choices": filters.choices(None),
    }
    return render(request, "route.html", context, status=400 if problem else 200)


@needs.to_read("editor", "everything", action=None)
@needs.to_change("editor", "everything", action="destination")
@never_cache
def edit_destination(request: "HttpRequest", number: int | None = None) -> "HttpResponse":
    """Show the form of a destination, and store or delete it. Secrets that are stored are not shown."""
    row = get_object_or_404(Destination, pk=number) if number is not None else None
    kind = kinds().get(row.kind if row else request.GET.get("kind", ""))
    if kind is None:
        raise Http404("There are no destinations of this kind.")
    name, values, problem = (row.name if row else ""), dict(row.shown if row else {}), ""
    if request.method == "POST":
        if row and request.POST.get("act") == "delete":
            return _delete(request, row, "destination", ["What was sent to it is not listed any more."])
        name = request.POST.get("name", "").replace("\0", "")
        given = {field.name: request.POST.get(f"value-{field.name}", "") for field in kind.FIELDS}
        try:
            stored = editing.save_destination(name, kind.NAME, given, destination=row)
            change_log.about(request, destination=stored.pk)
            return redirect("routes")
        except editing.Invalid as error:
            problem = str(error)
            values = {field.name: given[field.name] for field in kind.FIELDS if not field.secret}
    fields = [(field, values.get(field.name, "")) for field in kind.FIELDS]
    context = {"row": row, "kind": kind, "name": name, "fields": fields, "problem": problem}
    return render(request, "destination.html", context, status=400 if problem else 200)


@needs.to_read("viewer", action="list")
@needs.to_change("editor", "everything", action="send again")
@never_cache
def show_deliveries(request: "HttpRequest") -> "HttpResponse":
    """List deliveries, and send one again."""
    if request.method == "POST":
        row = get_object_or_404(Delivery, pk=whole_number(request.POST.get("delivery", "")) or 0)
        if sending.resend(row):
            sending.nudge()
        change_log.about(request, delivery=row.pk)
        return redirect(request.get_full_path())
    destination = whole_number(request.GET.get("destination", ""))
    state = request.GET.get("state", "")
    state = state if state in Delivery.State.values else ""
    before = whole_number(request.GET.get("before", ""))
    rows, following = listing.deliveries(destination, state, before)
    kept = request.GET.copy()
    kept.pop("before", None)
    first = kept.urlencode()
    kept["before"] = str(following or "")
    context = {
        "rows": rows,
        "destination": destination,
        "state": state,
        "states": [(each.value, word) for each, word in listing.STATES.items()],
        "destinations": list(Destination.objects.order_by("name").values_list("pk", "name")),
        "next": f"?{kept.urlencode()}" if following else "",
        "first": f"?{first}" if before else "",
        "filtered": bool(state or destination),
    }
    return render(request, "deliveries.html", context)


def _change(act: str, route: Route) -> None:
    match act:
        case "enable" | "disable":
            editing.enable(route, enabled=act == "enable")
        case "up" | "down":
            editing.move(route, -1 if act == "up" else 1)


def _delete(request: "HttpRequest", row: Route | Destination, what: str, sentences: list[str]) -> "HttpResponse":
    """Ask whether a route or a destination is to be deleted, and delete it when that was answered."""
    here = reverse(what, args=[row.pk])
    if "confirmed" not in request.POST:
        context = {
            "verb": "Delete",
            "name": row.name,
            "back": here,
            "fields": [("act", "delete"), ("confirmed", "yes")],
            "sentences": sentences,
            "final": "Routes",
        }
        return render(request, "delete.html", context)
    change_log.about(request, **{what: row.pk})
    if isinstance(row, Destination):
        try:
            editing.delete_destination(row)
        except editing.Invalid as error:
            return render(request, "destination.html", _shown(row, str(error)), status=400)
    else:
        row.delete()
        editing.ask_again()
    return redirect("routes")


def _shown(row: Destination, problem: str) -> dict[str, Any]:
    kind = kinds().get(row.kind)
    fields = [(field, row.shown.get(field.name, "")) for field in kind.FIELDS] if kind else []
    return {"row": row, "kind": kind, "name": row.name, "fields": fields, "problem": problem}


def _form_of(row: Route | None) -> dict[str, Any]:
    if row is None:
        usual = editing.RouteValues(name="x", destinations=[]).model_dump()
        return usual | {"name": "", "quiet_from": "22:00", "quiet_until": "07:00"}
    return editing.values_of(row) | {
        "quiet_from": f"{row.quiet_from:%H:%M}" if row.quiet_from else "22:00",
        "quiet_until": f"{row.quiet_until:%H:%M}" if row.quiet_until else "07:00",
    }


def _given(form: "QueryDict") -> dict[str, Any]:
    """Return what was filled in, as `editing.route_values` takes it and as the form shows it again."""
    given: dict[str, Any] = {name: form.get(name, "").strip() for name in _TEXTS}
    for name in _LISTS:
        given[name] = form.getlist(name)[:50]
    given["destinations"] = [number for text in given["destinations"] if (number := whole_number(text))]
    given["quiet_days"] = [number for text in given["quiet_days"] if (number := whole_number(text)) is not None]
    for name in ("enabled", "recordings", "stop"):
        given[name] = name in form
    sort, _, at = form.get("scope", "").partition("-")
    given |= {each: whole_number(at) if each == sort else None for each in ("cluster", "source")}
    for name in ("quiet_from", "quiet_until"):
        given[name] = form.get(name, "").strip() or None
    return given


def _choices(known: Mapping[int, str], now: object, unit: str) -> list[tuple[int, str, bool]]:
    value = whole_number(str(now), digits=8)
    choices = dict(known) if value in known or value is None else {**known, value: f"{value} {unit}"}
    return [(each, words, each == value) for each, words in sorted(choices.items())]
