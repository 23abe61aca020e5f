"""The home page shows clusters, recordings and their newest findings, and takes uploads."""

from typing import TYPE_CHECKING

import orjson
from django.conf import settings
from django.shortcuts import render
from django.views.decorators.csrf import ensure_csrf_cookie
from django.views.decorators.http import require_safe

from dashboard.access.rights import is_admin, may_change
from dashboard.presentation import clusters
from dashboard.presentation import home as overview
from dashboard.web.views.deletions import undoable_by
from timeline import queries

if TYPE_CHECKING:
    from django.http import HttpRequest, HttpResponse

RECORDINGS = 100
FINDINGS = 12


def _live(*, places: bool) -> list[tuple[clusters.Card, overview.Recording | None]]:
    """Return each connected cluster with the recording of what was observed of it."""
    cards = [clusters.card(each) for each in queries.clusters(places=places)]
    rows = queries.recording_cards([each.source for each in cards if each.source is not None])
    known = {number: overview.recording(row) for number, row in rows.items()}
    return [(each, known.get(each.source or 0)) for each in cards]


@require_safe
@ensure_csrf_cookie
def home(request: "HttpRequest") -> "HttpResponse":
    rows = queries.newest_recordings(RECORDINGS + 1)
    admin = is_admin(request.user)
    context = {
        "section": "recordings",
        "live": _live(places=admin),
        "may_connect": admin,
        "recordings": [
            overview.recording(row, may_change=may_change(request.user, row.source.owner)) for row in rows[:RECORDINGS]
        ],
        "more": len(rows) > RECORDINGS,
        "findings": [overview.newest(finding) for finding in queries.newest_findings(FINDINGS, RECORDINGS)],
        "undoable": undoable_by(request.user),
        "uploads": [{"payload": each, "json": orjson.dumps(each).decode()} for each in queries.open_uploads()],
        "limit": overview.size(settings.UPLOAD_LIMIT_BYTES),
    }
    return render(request, "home.html", context)
