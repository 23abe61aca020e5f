"""Render the frame of a source's timeline. The scripts of the page fetch windows from the API."""

from typing import TYPE_CHECKING
from urllib.parse import parse_qsl, urlencode

from django.shortcuts import redirect, render
from django.utils import timezone

from dashboard.access import limits
from dashboard.access.roles import needs
from dashboard.access.signing_in import rights
from dashboard.access.tokens import links
from dashboard.drawing import figures
from dashboard.presentation import wording
from dashboard.report import inlining
from dashboard.report.contents import NOTE
from dashboard.web import alert_links
from dashboard.web.api.opening import address_of
from dashboard.web.inputs import number, source_of
from dashboard.web.views.people.shared import share_dialog
from timeline.core.entries import microseconds
from timeline.models import LogStore, Track
from timeline.queries.alerts import landing
from timeline.queries.filters import SourceIncidentFilter
from timeline.queries.incidents import lists
from timeline.queries.sources import clusters, extents
from timeline.queries.sources import live as live_sources

if TYPE_CHECKING:
    from django.http import HttpRequest, HttpResponse


@needs.to_read("viewer", action="see", links=needs.TIMELINES)
def timeline(request: "HttpRequest", source_id: int) -> "HttpResponse":
    """Show the timeline. With a share link or with `embed=1`, show it without navigation, as a page of another site
    shows it in a frame."""
    link = links.of_request(request)
    source = source_of(source_id)
    named = request.GET.get("incident", "").replace("\0", "")
    if link is None and named and (identity := lists.current(source.id, named)) != named:
        return redirect(f"{request.path}?{urlencode({**request.GET.dict(), 'incident': identity})}")
    live, ended = live_sources.live_state(source.id)
    embedded = link is not None or request.GET.get("embed") == "1"
    before, after = (None, None) if embedded else clusters.epochs(source.id)
    entry = "js/embed.js" if embedded else "js/workbench.js"
    context = {
        "source": source,
        "landed": _alert_banner(request, source.id),
        "outdated": wording.outdated(source),
        "part": limits.in_part(source.id),
        "live": live,
        "ended": ended,
        "before": before,
        "after": after,
        "gaps": extents.gaps(source.id) + live_sources.gap_count(source.id),
        "coverage_page": f"/sources/{source.id}/coverage/",
        "incidents_page": "" if link and link.kind == links.TIMELINE else f"/sources/{source.id}/incidents/",
        "pull_from": LogStore.objects.filter(cluster__source=source.id).values_list("cluster_id", flat=True).first(),
        "skeletons": figures.skeletons(),
        "note_length": NOTE,
        "modules": [f"dashboard/{name}" for name in inlining.modules("js/live/live.js" if live else entry)],
        "may_embed": not embedded and rights.may_embed(request.user, source.id),
        **(share_dialog(request, source.id) if not embedded else {}),
        "link": link,
        "opening": _opening(request, source.id, link),
    }
    if not embedded:
        return render(request, "timeline.html", context)
    answer = render(request, "embed.html", context)
    if link is not None:
        links.frameable(answer, embedded=link.kind == links.EMBEDDED)
    return answer


def _opening(request: "HttpRequest", source_id: int, link: "links.Opened | None") -> str:
    """Return the address of what the page asks for first: as its own address says, or else its share link."""
    asked = request.GET.dict()
    if link is not None and asked.keys() <= {"embed", links.PARAMETER}:
        asked = dict(parse_qsl(link.query))
    return address_of(source_id, asked)


def _alert_banner(request: "HttpRequest", source_id: int) -> dict[str, str] | None:
    """Return the banner for a reader whom the link of an alert has led here."""
    about, at = (number(request, name) for name in ("about", "at"))
    if about is None or (found := landing.shown_life(source_id, about)) is None:
        return None
    return {
        "words": alert_links.banner(*found, at, microseconds(timezone.now())),
        "others": _others(found[1], at),
        **_incidents(source_id, found[1]),
    }


def _incidents(source_id: int, row: Track) -> dict[str, str]:
    """Return the words and the address of a link to what happened to an object and what belongs to its root owner."""
    wanted = SourceIncidentFilter(root=row.root, silenced=True)
    found = lists.incidents(source_id, wanted, limit=1)
    if found["total"] == 1:
        return {"incident": found["incidents"][0]["title"], "url": found["incidents"][0]["url"]}
    number = f"{found['total']} incidents" if found["total"] else ""
    return {"incident": number, "url": f"/sources/{source_id}/incidents/{wanted.query(acknowledged=True)}"}


def _others(row: Track, at: int | None) -> str:
    """Return the address of the page that lists all incarnations of a name."""
    kind = f"{row.kind}.{row.group}" if row.group else row.kind
    words = {"namespace": row.namespace, "kind": kind, "name": row.name, "at": at, "choose": 1}
    return f"/go?{urlencode({name: value for name, value in words.items() if value})}"
