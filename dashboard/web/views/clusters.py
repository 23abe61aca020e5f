"""Show connected clusters, which editors connect, test, change, pause, resume and disconnect."""

from typing import TYPE_CHECKING, Any

from django.conf import settings
from django.db import OperationalError
from django.http import Http404
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.cache import never_cache

from collectors.watch import rbac
from collectors.watch.access import AccessReport, check
from collectors.watch.server import connections, credentials
from collectors.watch.server.connections import ClusterRefused, Connection, WatchOptions
from dashboard.access.roles import needs, policy
from dashboard.access.signing_in.rights import is_admin, is_editor
from dashboard.access.trail import change_log
from dashboard.presentation import deletions
from dashboard.presentation.clusters import access_checks, fleet
from dashboard.presentation.clusters import feeds as wording
from dashboard.presentation.clusters import states as clusters
from dashboard.presentation.wording import size
from dashboard.web import forms
from dashboard.web.views import feeds
from dashboard.web.views.deletions import undoable_by
from timeline.models import Cluster
from timeline.queries.incidents import counts as incident_counts
from timeline.queries.incidents.counts import IncidentCounts
from timeline.queries.sources import clusters as cluster_queries
from timeline.queries.sources import deletions as deletions_queries
from timeline.queries.sources.feeds import feeds_of_cluster
from timeline.storage.keeping import holds
from timeline.storage.keeping.holds import Held

if TYPE_CHECKING:
    from django.http import HttpRequest, HttpResponse

    from timeline.payloads.clusters import ClusterPayload


@needs.to_read("viewer", action="list")
@needs.to_change("editor", "everything", action="connect")
def show_clusters(request: "HttpRequest") -> "HttpResponse":
    """Show the list of clusters, and to editors the form that connects one after a check of its access."""
    editor = is_editor(request.user)
    asked = forms.ClusterForm.of(request)
    problem, answer = "", {}
    if request.method == "POST":
        try:
            way = asked.connection()
            asked.watch_options()
            if request.POST.get("act") == "connect":
                cluster = connections.connect(asked.name, way, asked.watch_options())
                change_log.about(request, cluster=cluster.pk, name=cluster.name)
                return redirect("cluster", cluster.pk)
            asked = asked.with_sealed(way)
            if asked.how == credentials.BY_COLLECTOR:
                answer = {"checked": AccessReport("", ""), "answers": [_BY_COLLECTOR]}
            else:
                change_log.commit(request)
                answer = _access_of(asked.name, way, asked.watch_options())
        except (ClusterRefused, credentials.Unusable) as error:
            problem = str(error)
    return render(
        request,
        "clusters.html",
        {
            "cards": _with_incidents(cluster_queries.clusters(places=editor)),
            "may_connect": editor,
            "undoable": undoable_by(request.user),
            "asked": asked,
            **_retention_defaults(),
            "problem": problem,
            **answer,
            "manifest": rbac.manifest(
                asked.include_or_none(),
                asked.exclude_or_none(),
                namespaces=asked.namespaces_or_none(),
                events=asked.write_events,
            ),
            "steps": rbac.steps(),
        },
        status=400 if problem else 200,
    )


@needs.to_read("viewer", action="see")
@needs.to_change("editor", "whole", action="change cluster")
@never_cache
def show_cluster(request: "HttpRequest", cluster_id: int) -> "HttpResponse":
    """Show how a cluster is watched, and to editors what they can change."""
    editor = policy.has(request.user, policy.EDITOR, cluster=cluster_id)
    row = Cluster.objects.filter(pk=cluster_id).first()
    if row is None:
        raise Http404("No such cluster is connected.")
    problem = ""
    answer: dict[str, Any] = {}
    if request.method == "POST":
        try:
            if request.POST.get("act") in ("audit", "admission"):
                answer = {"files_asked": request.POST}
                answer["files"] = feeds.make(request, row, request.POST["act"])
            elif request.POST.get("act") == "test":
                wanted = WatchOptions(
                    row.include, row.exclude, write_events=row.write_events, namespaces=tuple(row.namespaces)
                )
                change_log.commit(request)
                answer = _access_of(row.name, Connection(row.reference, _secret(row)), wanted)
            elif request.POST.get("act") == "disconnect" and "confirmed" not in request.POST:
                return _confirm(request, row)
            else:
                return _apply_action(request, row)
        except (ClusterRefused, Held, credentials.Unusable) as error:
            problem = str(error)
        except OperationalError:
            problem = "The data is still in use. Try again in a moment."
    cluster = cluster_queries.cluster(cluster_id, places=editor)
    ((card, counted),) = _with_incidents([cluster])
    context = {
        "cluster": cluster,
        "card": card,
        "counted": counted,
        "may_connect": editor,
        "asked": forms.ClusterForm.of_cluster(cluster) if not problem else forms.ClusterForm.of(request),
        **_retention_defaults(),
        "problem": problem,
        **answer,
        "manifest": rbac.manifest(
            cluster["include"],
            cluster["exclude"],
            namespaces=cluster["namespaces"],
            events=cluster["write_events"],
        ),
        "steps": rbac.steps(),
        "collector": clusters.collector(cluster) if cluster["how"] == credentials.BY_COLLECTOR else None,
        "collector_commands": clusters.collector_commands(cluster),
        "hold": row.holds.first() if editor else None,
        "may_hold": is_admin(request.user),
        "reason_length": holds.REASON_LENGTH,
        "who": wording.who(feeds_of_cluster(cluster_id)),
        "own_address": f"https://{request.get_host()}",
    }
    return render(request, "cluster.html", context, status=400 if problem else 200)


_BY_COLLECTOR = "Nothing is checked here. Once it is connected, its page shows how to run the collector."


def _retention_defaults() -> dict[str, Any]:
    most = size(settings.KEEP_BYTES) if settings.KEEP_BYTES else "no limit"
    return {
        "units": list(forms.UNITS),
        "usual_days": settings.KEEP_DAYS,
        "usual_size": most,
        "usual_incident_days": settings.KEEP_INCIDENT_DAYS,
        "usual_incident_minutes": settings.KEEP_INCIDENT_MINUTES,
    }


def _with_incidents(shown: "list[ClusterPayload]") -> list[tuple[clusters.Card, fleet.Counted]]:
    """Return each cluster with the counts of its incidents."""
    cards = [clusters.card(each) for each in shown]
    counts = incident_counts.incident_counts([each.source for each in cards if each.source is not None])
    return [(each, fleet.counted(counts.get(each.source or 0, IncidentCounts()))) for each in cards]


def _secret(row: Cluster) -> bytes | None:
    return bytes(row.secret) if row.secret is not None else None


def _access_of(name: str, way: Connection, wanted: WatchOptions) -> dict[str, Any]:
    """Return what the cluster answers to a check of its access."""
    api = credentials.api_to(name, way.reference, way.secret)
    try:
        include, exclude = connections.resources(wanted.include), connections.resources(wanted.exclude)
        checked = check(api, include, exclude, wanted.namespaces, events=wanted.write_events)
    finally:
        api.close()
    return {"checked": checked, "answers": access_checks.sentences(checked, way.reference)}


def _confirm(request: "HttpRequest", row: Cluster) -> "HttpResponse":
    """Show what is gone when the cluster is disconnected, and ask whether that is wanted."""
    delete = "delete" in request.POST
    sources = deletions_queries.sources_of(row.pk)
    contents = deletions_queries.contents(sources, row.pk)
    stays = "What was observed stays as a recording." if sources else "Nothing was observed yet."
    context = {
        "verb": "Disconnect",
        "name": row.name,
        "back": reverse("cluster", args=[row.pk]),
        "fields": [("act", "disconnect"), ("confirmed", "yes"), *([("delete", "on")] if delete else [])],
        "sentences": [
            "Causeline stops watching this cluster, and deletes its credentials and its silences.",
            *([] if delete else [stays]),
        ],
        "gone": deletions.gone(contents) if delete else [],
    }
    return render(request, "delete.html", context)


def _apply_action(request: "HttpRequest", row: Cluster) -> "HttpResponse":
    match request.POST.get("act"):
        case "pause":
            connections.pause(row)
        case "resume":
            connections.resume(row)
        case "disconnect":
            connections.disconnect(row, delete="delete" in request.POST)
            change_log.about(request, cluster=row.pk, name=row.name)
            return redirect("clusters")
        case "change":
            asked = forms.ClusterForm.of(request)
            wanted = asked.watch_options()
            if asked.gives_credentials:
                if asked.how == credentials.IN_CLUSTER:  # with the rights of the workers themselves
                    policy.demand(request.user, policy.EDITOR)
                connections.set_connection(row, asked.connection())
            connections.change(row, wanted)
        case "hold":
            policy.demand(request.user, policy.ADMIN)
            try:
                hold = holds.place(request.POST.get("reason", ""), change_log.who(request), cluster=row.pk)
            except ValueError as error:
                raise ClusterRefused(str(error)) from None
            change_log.about(request, cluster=row.pk, name=row.name, reason=hold.reason)
        case "unhold":
            policy.demand(request.user, policy.ADMIN)
            if holds.lift(cluster=row.pk) is None:
                raise ClusterRefused("It is under no legal hold.")
            change_log.about(request, cluster=row.pk, name=row.name)
        case _:
            raise ClusterRefused("The form was not understood; load the page again.")
    return redirect("cluster", row.pk)
