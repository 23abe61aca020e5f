"""Configure the log store of a connected cluster, and pull windows of its audit log."""

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from django.core.exceptions import PermissionDenied
from django.http import Http404
from django.shortcuts import redirect, render
from django.utils import timezone

from collectors.uploads import pulls
from collectors.uploads.pulls import StoreRefused, Transient
from collectors.watch.server import credentials
from dashboard.access import log_stores
from dashboard.access.roles import needs, policy
from dashboard.access.signing_in import rights
from dashboard.access.trail import change_log
from dashboard.presentation.clusters import pulls as words
from dashboard.web.timestamps import parsed
from timeline.core.entries import moment
from timeline.models import Cluster, LogStore, Pull

if TYPE_CHECKING:
    from django.http import HttpRequest, HttpResponse

_SHOWN = 20  # windows on the page
_FIELD = "field-"  # before the name of a field of a store


@needs.to_read("viewer", "whole", action="see")
@needs.to_change("responder", "whole", action="log store")
def show_log_store(request: "HttpRequest", cluster_id: int) -> "HttpResponse":
    """Show the log store of a cluster and the windows that were pulled. Editors of everything configure the
    store; responders ask for windows of it."""
    cluster = Cluster.objects.filter(pk=cluster_id).first()
    if cluster is None:
        raise Http404("No such cluster is connected.")
    store = LogStore.objects.filter(cluster=cluster).first()
    problem = ""
    if request.method == "POST":
        try:
            _apply(request, cluster, store)
            return redirect("log_store", cluster.pk)
        except (StoreRefused, Transient, credentials.Unusable) as error:
            problem = str(error)
    editor = policy.has(request.user, policy.EDITOR)
    asked = request.POST.get("kind") or request.GET.get("kind") or (store.kind if store else "")
    kind = pulls.all_kinds().get(asked) if editor else None
    given = _given(request)
    until = timezone.now().replace(second=0, microsecond=0)
    shown = store.pulls.select_related("upload").order_by("-pk")[:_SHOWN] if store else []
    context: dict[str, Any] = {
        "cluster": cluster,
        "store": store,
        "described": words.described(store) if store else "",
        "may_configure": editor,
        "kinds": pulls.all_kinds().values(),
        "kind": kind,
        "fields": words.fields(kind, store, given, cluster.name) if kind else [],
        "continuous": "continuous" in request.POST if problem else bool(store and store.continuous),
        "since": request.POST.get("since") or request.GET.get("since") or _written(until - timedelta(hours=1)),
        "until": request.POST.get("until") or request.GET.get("until") or _written(until),
        "alone": "alone" in request.POST,
        "pulls": [(words.row(each), _may_stop(request, each)) for each in shown],
        "problem": problem,
    }
    return render(request, "log_store.html", context, status=400 if problem else 200)


def _apply(request: "HttpRequest", cluster: Cluster, store: LogStore | None) -> None:
    act = request.POST.get("act")
    if act in ("configure", "remove"):
        policy.demand(request.user, policy.EDITOR)  # workers may read a store with credentials of their own
        if act == "configure":
            _configure(request, cluster)
        elif store:
            for each in Pull.objects.filter(store=store, state__in=pulls.OPEN).select_related("upload"):
                pulls.cancel(each)
            store.delete()
        return
    if store is None:
        raise StoreRefused("An editor has to say first where the audit log of this cluster is.")
    if act == "ask":
        since, until = _time(request.POST.get("since", "")), _time(request.POST.get("until", ""))
        asked = pulls.ask(store, since, until, request.user.pk, alone="alone" in request.POST)
        log_stores.queue_estimate(asked.pk)
        return
    number = request.POST.get("pull", "")
    pull = Pull.objects.select_related("upload").filter(store=store, pk=number if number.isdecimal() else 0).first()
    if pull is None:
        raise StoreRefused("There is no such window; load the page again.")
    if not _may_stop(request, pull):
        raise PermissionDenied("Only the person who asked for a window, or an administrator, can do that.")
    if act == "confirm" and pulls.confirm(pull):
        log_stores.queue(pull.pk)
    elif act == "cancel":
        pulls.cancel(pull)


def _configure(request: "HttpRequest", cluster: Cluster) -> None:
    kind = request.POST.get("kind", "")
    pulls.configure(cluster, kind, _given(request), log_stores.check, continuous="continuous" in request.POST)
    change_log.about(request, cluster=cluster.pk, name=cluster.name, store=kind)


def _given(request: "HttpRequest") -> dict[str, str]:
    """Return the fields of a store that the form has."""
    return {name.removeprefix(_FIELD): str(value) for name, value in request.POST.items() if name.startswith(_FIELD)}


def _may_stop(request: "HttpRequest", pull: Pull) -> bool:
    return rights.may_change(request.user, pull.owner_id)


def _time(text: str) -> datetime:
    try:
        return moment(parsed(text))
    except ValueError as error:
        raise StoreRefused(str(error)) from None


def _written(time: datetime) -> str:
    return f"{time.astimezone(UTC):%Y-%m-%d %H:%M:%S}"
