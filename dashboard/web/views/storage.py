"""On this page administrators see what sources take and what retention will free, place and lift legal holds, and say
how long recordings are kept."""

from datetime import timedelta
from typing import TYPE_CHECKING

from django.shortcuts import redirect, render
from django.utils import timezone
from django.views.decorators.cache import never_cache

from dashboard.access.roles import needs
from dashboard.access.trail import change_log
from dashboard.presentation.clusters import storage
from timeline.core.numbers import whole_number
from timeline.models import KEEP_DAYS_AT_MOST, Cluster, Source
from timeline.queries.sources import usage
from timeline.storage.keeping import holds, retention
from timeline.storage.keeping import periods as keeping

if TYPE_CHECKING:
    from django.http import HttpRequest, HttpResponse

SOON = timedelta(days=1)  # what retention frees until then is shown
_COUNTED = 10_000  # the most entries of a source that are read to count which of them are away from incidents


@needs.to_read("admin", "everything", action="list")
@needs.to_change("admin", "everything", action="storage")
@never_cache
def show_storage(request: "HttpRequest") -> "HttpResponse":
    """Show a page of the sources; answer a form that places or lifts a hold, or changes the days of a recording."""
    problem = ""
    if request.method == "POST":
        try:
            _act(request)
            return redirect("storage")
        except ValueError as error:
            problem = str(error)
        except (Source.DoesNotExist, Cluster.DoesNotExist):
            problem = "It was deleted meanwhile."
    page = whole_number(request.GET.get("page", "")) or 1
    found = usage.usage(page)
    shown = found[: usage.PAGE]
    at = timezone.now() + SOON
    going = {
        each.source: each
        for cluster in Cluster.objects.filter(pk__in={row.cluster for row in shown if row.cluster})
        for each in retention.foresee(cluster, at, most=_COUNTED)
    }
    ends = {
        each.pk: keeping.deleted_on(each)
        for each in Source.objects.filter(pk__in=[row.source for row in shown]).defer("document", "skips", "histogram")
    }
    context = {
        "problem": problem,
        "rows": [storage.row(row, going.get(row.source), ends.get(row.source)) for row in shown],
        "page": page,
        "before": page - 1,
        "after": page + 1 if len(found) > len(shown) else 0,
        "most": {"days": KEEP_DAYS_AT_MOST, "reason": holds.REASON_LENGTH},
    }
    return render(request, "storage.html", context, status=400 if problem else 200)


def _act(request: "HttpRequest") -> None:
    """Do what a form asks for. Raises ValueError if that is not possible."""
    form = request.POST
    source = Source.objects.get(pk=whole_number(form.get("source", "")) or 0, ready=True)
    act = form.get("act", "")
    if act == "hold":
        hold = holds.place(form.get("reason", ""), change_log.who(request), source=source.pk)
        change_log.about(request, source=source.pk, name=source.name, reason=hold.reason)
    elif act == "unhold":
        if holds.lift(source=source.pk) is None:
            raise ValueError("It is under no legal hold of its own.")
        change_log.about(request, source=source.pk, name=source.name)
    elif act == "keep":
        given = form.get("days", "").strip()
        days = None
        if given:
            days = whole_number(given)
            days = -1 if days is None else days
        keeping.change_days(source, days)
        change_log.about(request, source=source.pk, name=source.name, days=days)
    else:
        raise ValueError("That cannot be done with it.")
