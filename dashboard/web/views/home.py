"""The home page shows clusters, recordings and their newest incidents, and takes uploads.

A few of them are shown with all that is known of each; from FLEET on, they are a table that is read by pages.
"""

from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

import orjson
from django.conf import settings
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.csrf import ensure_csrf_cookie

from dashboard.access.roles import needs, policy
from dashboard.access.signing_in.rights import is_admin, is_editor, may_edit
from dashboard.presentation import wording
from dashboard.presentation.clusters import fleet
from dashboard.presentation.clusters import home as overview
from dashboard.presentation.clusters import states as clusters
from dashboard.web.views.deletions import undoable_by
from timeline.core.entries import microseconds
from timeline.core.numbers import whole_number
from timeline.models import Cluster, Source
from timeline.queries.incidents import counts as incident_counts
from timeline.queries.incidents.counts import IncidentCounts
from timeline.queries.sources import clusters as cluster_queries
from timeline.queries.sources import fleet as fleet_queries
from timeline.queries.sources import home as home_queries
from timeline.queries.sources import uploads
from timeline.queries.sources.home import RecordingCard
from timeline.storage.keeping import periods as keeping

if TYPE_CHECKING:
    from django.http import HttpRequest, HttpResponse

    from timeline.queries.sources.fleet import FleetSort

FLEET = 4  # clusters and recordings from which on they are a table
INCIDENTS = 12
_NAME_LENGTH = 253


@needs.to_read("viewer", action="list")
@ensure_csrf_cookie
def home(request: "HttpRequest") -> "HttpResponse":
    size = fleet_queries.fleet_size()
    editor = is_editor(request.user)
    context = {
        "section": "recordings",
        "tour": _tour(),
        "any": sum(size) > 0,
        "administers": is_admin(request.user),  # and may cancel the uploads of others
        "incidents": _newest(sum(size)),
        "undoable": undoable_by(request.user),
        "ending": _ending(request),
        "uploads": [{"payload": each, "json": orjson.dumps(each).decode()} for each in uploads.open_uploads()],
        "target": whole_number(request.GET.get("to", ""), digits=6) or 0,
        "targets": _targets(request),
        "limit": wording.size(settings.UPLOAD_LIMIT_BYTES),
        **(_table(request) if sum(size) >= FLEET else _cards(request, places=editor)),
    }
    return render(request, "home.html", context)


def _tour() -> str:
    """Return the address of the tour, which the example recording of `causeline demo` is for; "" if this is no demo."""
    demo = Cluster.objects.filter(name="demo", reference__path__endswith="/demo.kubeconfig")
    example = Source.objects.filter(name="volcano-restart", ready=True, delete_after=None, cluster=None).last()
    return f"{reverse('timeline', args=[example.pk])}#tour" if example and demo.exists() else ""


def _targets(request: "HttpRequest") -> list[tuple[int, str]]:
    """Return the clusters that the reader may add audit logs to."""
    named = cluster_queries.cluster_names()
    return [each for each in named if policy.has(request.user, policy.EDITOR, cluster=each[0])]


def _ending(request: "HttpRequest") -> "list[tuple[Source, str]]":
    """Return the recordings that retention deletes soon, with the times, as far as the reader may change them."""
    soon = keeping.announced(timezone.now())
    return [(each, f"{at:{wording.MINUTE}}") for each, at in soon if may_edit(request.user, each.pk)]


def _cards(request: "HttpRequest", *, places: bool) -> dict[str, Any]:
    """Return what the page shows of few clusters and recordings."""
    live = [clusters.card(each) for each in cluster_queries.clusters(places=places)]
    fed = home_queries.recording_cards([each.source for each in live if each.source is not None])
    rows = home_queries.newest_recordings(FLEET)
    counts = incident_counts.incident_counts([*fed, *(row.source.id for row in rows)])

    def card(row: RecordingCard) -> overview.Recording:
        numbers = fleet.counted(counts.get(row.source.id, IncidentCounts()))
        return overview.recording(row, numbers, may_change=may_edit(request.user, row.source.id))

    return {
        "live": [(each, card(fed[each.source]) if each.source in fed else None) for each in live],
        "recordings": [card(row) for row in rows],
    }


def _table(request: "HttpRequest") -> dict[str, Any]:
    """Return what the page shows of many clusters and recordings, as its address asks for it."""
    asked = request.GET.get("sort", "")
    sort: FleetSort = next((each for each in fleet_queries.SORTS if each == asked), "worst")
    name = request.GET.get("name", "").replace("\0", "").strip()[:_NAME_LENGTH]
    page = whole_number(request.GET.get("page", ""), digits=6) or 1
    found = fleet_queries.fleet(sort, name, page)
    now = microseconds(timezone.now())

    def address(**changed: object) -> str:
        given = {"sort": sort, "name": name, **changed}
        kept = {key: value for key, value in given.items() if value not in ("", "worst", 1)}
        return f"?{urlencode(kept)}" if kept else "/"

    return {
        "fleet": [
            fleet.row(each, now, may_change=each.cluster is None and may_edit(request.user, each.source or 0))
            for each in found.rows
        ],
        "heading": fleet.heading(found.clusters, found.recordings, found.ongoing),
        "moves": found.clusters > 0,
        "sort": sort,
        "name": name,
        "sorts": {each: address(sort=each) for each in fleet_queries.SORTS},
        "all": address(name=""),
        "page": found.page,
        "pages": found.pages,
        "before": address(page=found.page - 1) if found.page > 1 else "",
        "after": address(page=found.page + 1) if found.page < found.pages else "",
        "manages": is_editor(request.user),
    }


def _newest(size: int) -> list[fleet.Incident]:
    """Return the newest incidents. Each source has a share of the list, so none can fill it."""
    sources = fleet_queries.newest_sources()
    share = max(2, INCIDENTS // max(1, size))
    now = microseconds(timezone.now())
    return [
        fleet.incident(each, named.name, named.last, now, live=named.live)
        for each in incident_counts.newest_incidents(list(sources), INCIDENTS, share)
        for named in [sources[each["source"]]]
    ]
