"""Open the object that the link of an alert names, or explain why that is impossible."""

from typing import TYPE_CHECKING, Any

from django.shortcuts import redirect, render
from django.utils import timezone

from dashboard.access.roles import needs
from dashboard.web import alert_links, timestamps
from dashboard.web.views.objects import when
from timeline.core.entries import microseconds
from timeline.queries.alerts import landing, lookup
from timeline.queries.alerts.lookup import Answer, LinkQuery
from timeline.queries.alerts.unknown import Unknown
from timeline.queries.objects import lives as object_lives
from timeline.queries.sources import extents

if TYPE_CHECKING:
    from django.http import HttpRequest, HttpResponse

_FIELDS = ("source", "cluster", "namespace", "kind", "name", "at")  # of the form


@needs.to_read("viewer", action="list")
def go(request: "HttpRequest") -> "HttpResponse":
    """Answer 302 to the timeline, 200 if there is a choice, 404 if no object is known, 400 if the link is not valid."""
    try:
        asked = alert_links.parse_link(request.GET)
    except alert_links.Problem as problem:
        return _page(request, "This link cannot be used", str(problem), status=400)
    wanted = asked.wanted
    if wanted is None:
        return _page(request, "Find an object", "")
    answer = lookup.look_up(wanted, microseconds(timezone.now()))
    if answer.unknown:
        return _unknown(request, wanted, answer.unknown)
    if answer.match and answer.match.target == wanted.targets[0]:
        return redirect(landing.address(answer.match, wanted.at))
    return _choice(request, wanted, answer)


def _choice(request: "HttpRequest", wanted: LinkQuery, answer: Answer) -> "HttpResponse":
    """Show all incarnations that the link may mean, with what is known of each."""
    choice = [answer.match] if answer.match else list(answer.choice)
    findings = landing.findings_of([(each.candidate.source.pk, each.candidate.row.id) for each in choice])
    lives = []
    for each in choice:
        source, row = each.candidate.source, each.candidate.row
        lives.append(
            {
                **object_lives.life(row, source.pk),
                "url": landing.address(each, wanted.at),
                "when": when(each.candidate.start, each.candidate.end),
                "where": source.name,
                "live": each.live,
                "age": alert_links.age(each, wanted.at),
                "findings": findings.get((source.pk, row.id), 0),
            }
        )
    title = "Nothing at that time" if answer.far else "Which one?" if len(lives) > 1 else "This one?"
    lead = alert_links.why_a_choice(wanted, answer)
    return _page(request, title, lead, lives=lives, choose="Nearest first" if answer.far else "Newest first")


def _unknown(request: "HttpRequest", wanted: LinkQuery, unknown: Unknown) -> "HttpResponse":
    lives = [
        {**each, "when": when(each["start"], each["end"])}
        for row in unknown.alike
        for each in object_lives.lives([row], row.source_id)
    ]
    clusters = []
    for name in unknown.clusters:
        query = request.GET.copy()
        query["cluster"] = name
        clusters.append({"name": name, "url": f"?{query.urlencode()}"})
    choose = "Objects with this name or a similar one"
    return _page(request, "Not known", unknown.message, status=404, lives=lives, choose=choose, clusters=clusters)


def _page(
    request: "HttpRequest",
    title: str,
    lead: str,
    *,
    status: int = 200,
    lives: Any = (),
    choose: str = "",
    clusters: Any = (),
) -> "HttpResponse":
    given = alert_links.given(request.GET)
    context = {
        "asked": {name: given.get(name, "") for name in _FIELDS},
        "title": title,
        "lead": lead,
        "how": timestamps.HOW,
        "choose": choose,
        "lives": lives,
        "clusters": clusters,
        "recordings": [each.name for each in extents.recent_sources(20)],
    }
    return render(request, "go.html", context, status=status)
