"""On these pages people confirm the deletion of a recording, and undo deletions within a minute."""

from typing import TYPE_CHECKING, Any

from django.db import OperationalError
from django.shortcuts import redirect, render
from django.urls import reverse

from collectors.watch.server import connections
from collectors.watch.server.connections import ClusterRefused
from dashboard.access.roles import needs, policy
from dashboard.access.signing_in.rights import is_editor, may_edit
from dashboard.access.trail import change_log
from dashboard.presentation import deletions
from dashboard.web.inputs import source_of
from timeline.core.numbers import whole_number
from timeline.models import Source
from timeline.queries.sources import deletions as deletions_queries
from timeline.storage.keeping import deletion
from timeline.storage.keeping.holds import Held

if TYPE_CHECKING:
    from django.http import HttpRequest, HttpResponse

    from timeline.queries.sources.deletions import Deletion

_LATE = "The minute is over: it was removed for good."


@needs.to_read("editor", "whole", action="see")
@needs.to_change("editor", "whole", action="delete")
def confirm_deletion(request: "HttpRequest", source_id: int) -> "HttpResponse":
    """Show what the deletion of a recording removes, and delete it after a confirmation."""
    source = source_of(source_id)
    fed = "A cluster feeds it. Disconnect the cluster first; its source then becomes a recording."
    problem = fed if source.is_live else ""
    if request.method == "POST" and not problem:
        try:
            deletion.delete_source(source_id)
            change_log.about(request, source=source_id, name=source.name)
            return redirect("home")
        except OperationalError:
            problem = "The recording is in use: it is still being read or written. Try again in a moment."
        except Held as error:
            problem = str(error)
    context = {
        "verb": "Delete",
        "name": source.name,
        "back": reverse("timeline", args=[source_id]),
        "gone": deletions.gone(deletions_queries.contents([source_id])),
        "problem": problem,
    }
    return render(request, "delete.html", context, status=409 if problem else 200)


def undoable_by(user: Any) -> "list[Deletion]":
    """Return the deletions that the user may undo."""
    return [
        each
        for each in deletions_queries.undoable()
        if (is_editor(user) if each.sort == "cluster" else may_edit(user, each.id))
    ]


@needs.to_change("responder", action="undo")
def undo(request: "HttpRequest") -> "HttpResponse":
    """Restore what was deleted less than a minute ago, and show the page from which it was deleted."""
    number = whole_number(request.POST.get("id", "")) or 0
    if request.POST.get("sort") == "cluster":
        return _undo_cluster(request, number)
    source = Source.everything.filter(pk=number).exclude(delete_after=None).first()
    if source:
        policy.demand(request.user, policy.EDITOR, source=source.pk)
    if source is None or not deletion.restore_source(source.pk):
        return _not_undone(request, _LATE)
    change_log.about(request, source=source.pk, name=source.name)
    return redirect("home")


def _undo_cluster(request: "HttpRequest", number: int) -> "HttpResponse":
    policy.demand(request.user, policy.EDITOR)
    try:
        if not connections.undo(number):
            return _not_undone(request, _LATE)
    except ClusterRefused as error:
        return _not_undone(request, str(error))
    except OperationalError:
        return _not_undone(request, "What was observed is still in use. Try again in a moment.")
    change_log.about(request, cluster=number)
    return redirect("cluster", number)


def _not_undone(request: "HttpRequest", why: str) -> "HttpResponse":
    return render(request, "not_undone.html", {"why": why}, status=409)
