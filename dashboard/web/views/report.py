"""This view sends what a timeline shows as one HTML file, to attach to a post-mortem."""

from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from django.core.exceptions import BadRequest
from django.http import Http404, HttpResponse
from django.utils.text import slugify
from django.views.decorators.http import require_safe
from pydantic import ValidationError

from dashboard.presentation import wording
from dashboard.report import page
from dashboard.web.api.windows import Arrangement
from timeline import queries
from timeline.layout.excerpt import LANES
from timeline.layout.outline import SLICES
from timeline.payloads import documents

if TYPE_CHECKING:
    from django.http import HttpRequest

    from timeline.payloads.findings import FindingGroupPayload
    from timeline.payloads.objects import SourceCoveragePayload
    from timeline.payloads.windows import OverviewPayload, WindowPayload

_SHOWN = (
    "axis",
    "group",
    "focus",
    "lane",
    "finding",
    "arrows",
    "pins",
    "closed",
    "table",
)  # as the page's store says it


@require_safe
def show_report(request: "HttpRequest", source_id: int) -> HttpResponse:
    """Send the report for the query of a timeline. Raises Http404, and BadRequest for a query that is not valid."""
    source = queries.source(source_id)
    if source is None:
        raise Http404("No such recording.")
    asked = request.GET.dict()
    try:
        arrangement = Arrangement.model_validate(
            {name: asked[name] for name in Arrangement.model_fields if name in asked}
        )
    except ValidationError as error:
        raise BadRequest(str(error)) from None
    coverage = queries.coverage(source_id)
    html = page.rendered(_contents(coverage, arrangement, _times(asked), asked))
    name = slugify(source.name)[:80] or "recording"
    answer = HttpResponse(html.encode("utf-8", "replace"), content_type="text/html; charset=utf-8")
    answer["Content-Disposition"] = f'attachment; filename="causeline-{name}.html"'
    return answer


def _times(asked: dict[str, str]) -> tuple[int, int] | None:
    """Return start and end in µs; None for the whole recording, as the page shows it without a valid range."""
    words = asked.get("start", ""), asked.get("end", "")
    if not all(word.isascii() and word.isdecimal() and len(word) < 18 for word in words):
        return None
    start, end = map(int, words)
    return (start, end) if start < end else None


def _contents(
    coverage: "SourceCoveragePayload", arrangement: Arrangement, times: tuple[int, int] | None, asked: dict[str, str]
) -> page.Contents:
    view, source_id = replace(arrangement.view(), grouping="owner", closed=(), pins=()), coverage["source"]
    overview = queries.overview(source_id)
    whole = overview["first"], overview["last"]
    start, end = times or whole
    start = min(max(start, whole[0]), whole[1])
    end = max(start, min(end, whole[1]))
    window = queries.window(source_id, start, end, limit=LANES, view=view)
    found = queries.findings(source_id, view, start=start, end=end, limit=page.FINDINGS, order="gravest")
    groups = found["findings"]
    if arrangement.finding and all(group["key"] != arrangement.finding for group in groups):
        groups = [*queries.findings(source_id, key=arrangement.finding)["findings"], *groups]
    words = _chosen(arrangement)
    if (start, end) != whole or words:
        counts = queries.severities(source_id, view, start, end)
        overview = _part(overview, window, groups, counts, (start, end))
    window["first"], window["last"] = start, end
    if (start, end) != whole:
        words.insert(0, ("Part", f"of {wording.span(*whole)} UTC"))
    return page.Contents(
        name=coverage["name"],
        title=coverage["name"],
        nothing="" if coverage["coverage"] else f"{coverage['name']}: nothing in it changes an object.",
        first=start,
        last=end,
        entries=f"{wording.count(coverage['entries'])} changes{' in the whole recording' if words else ''}",
        overview=overview,
        window=window,
        lanes=window["lanes_total"],
        findings=groups,
        findings_total=found["total"],
        coverage=coverage,
        skipped=[(each["file"], each["line"], each["reason"]) for each in coverage["skipped"]],
        skips=coverage["skipped_total"],
        mostly_skipped=documents.mostly_skipped(coverage["mostly_skipped"]),
        chosen=words,
        steps=queries.steps(source_id, end),
        search=urlencode({name: asked[name] for name in _SHOWN if asked.get(name)}),
    )


def _chosen(arrangement: Arrangement) -> list[tuple[str, str]]:
    """Return the active filters as pairs of heading and words."""
    filters = [
        ("Kinds", arrangement.kinds.replace(",", ", ")),
        ("Namespace", arrangement.namespace),
        ("Names", arrangement.name and f"with {arrangement.name} in them"),
        ("Rule", arrangement.rule),
        ("Severity", arrangement.severity),
        ("Lanes", "those that change in this part" if arrangement.active else ""),
    ]
    return [(heading, f"only {words}") for heading, words in filters if words]


def _part(
    overview: "OverviewPayload",
    window: "WindowPayload",
    groups: "list[FindingGroupPayload]",
    counts: Any,
    span: tuple[int, int],
) -> "OverviewPayload":
    """Return an overview of only what the report contains."""
    lanes = window["lanes"]
    namespaces = Counter(lane["namespace"] for lane in lanes if lane["namespace"])
    ordered = sorted(groups, key=lambda group: group["start"])
    return {
        "first": span[0],
        "last": span[1],
        "counts": _slices([*window["births"]["time"], *window["marks"]["time"]], span),
        "ticks": [group["start"] for group in ordered],
        "severities": [group["severity"] for group in ordered],
        "families": Counter(lane["family"] for lane in lanes).most_common(),
        "namespaces": sorted(namespaces.items()),
        "rules": sorted(Counter(group["rule"] for group in groups).items()),
        "severity_counts": counts,
        "noise": overview["noise"],
    }


def _slices(times: list[int], span: tuple[int, int]) -> list[int]:
    width = max(1, (span[1] - span[0]) / SLICES)
    counts = [0] * SLICES
    for time in times:
        if span[0] <= time <= span[1]:
            counts[min(SLICES - 1, int((time - span[0]) / width))] += 1
    return counts
