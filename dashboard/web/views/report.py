"""Send what a timeline shows as one HTML file, to attach to a post-mortem, or as Markdown, to paste."""

from typing import TYPE_CHECKING

from django.core.exceptions import BadRequest
from django.http import HttpResponse
from django.utils import timezone
from django.utils.text import slugify

from dashboard.access.roles import needs
from dashboard.presentation import wording
from dashboard.report import markdown, page
from dashboard.report.contents import BEFORE, EXPLAINED, INCIDENTS, NOTE, ROWS, Contents, Drawn, Note
from dashboard.report.figure import opening
from dashboard.web import timestamps
from dashboard.web.inputs import checked, note_of, person, source_of
from timeline.layout.excerpt import LANES, part
from timeline.layout.outline import SLICES
from timeline.models import Incident, Track
from timeline.payloads import documents
from timeline.queries.changes import before, measuring
from timeline.queries.filters import NOT_KNOWN
from timeline.queries.incidents import scoping
from timeline.queries.incidents.lists import current
from timeline.queries.sources import coverage as coverage_queries
from timeline.queries.sources import extents
from timeline.queries.window import overview as overview_queries
from timeline.queries.window import windows
from timeline.queries.window.view import View

if TYPE_CHECKING:
    from django.http import HttpRequest

    from timeline.payloads.changes import ChangesPayload
    from timeline.queries.sources.extents import SourceRow

_SHOWN = (
    "axis",
    "group",
    "focus",
    "incident",
    "lane",
    "finding",
    "arrows",
    "pins",
    "closed",
    "table",
)  # as the page's store says it
_MARKDOWN = "text/markdown"


class Asked(View):
    """What is in the report, by parameters of the address."""

    @property
    def object(self) -> int | None:
        """Return the number of the root owner to which the report is narrowed; None for all."""
        return self.scope if self.focus is None else self.focus


@needs.to_read("viewer", action="report", posted=True)
def show_report(request: "HttpRequest", source_id: int) -> HttpResponse:
    """Send the report for the query of a timeline. A form may add a note, which is not stored.

    Raises Http404, and BadRequest for a query or a note that is not valid.
    """
    source = source_of(source_id)
    asked = request.GET.dict()
    if named := asked.get("incident", "").replace("\0", ""):
        asked["incident"] = current(source.id, named)
    arrangement = checked(Asked, {name: asked[name] for name in Asked.model_fields if name in asked})
    as_markdown = _as_markdown(request)
    contents = _contents(source, arrangement, asked, drawn=not as_markdown)._replace(note=_note(request))
    text = markdown.document(contents) if as_markdown else page.rendered(contents)
    name = f"causeline-{slugify(source.name)[:80] or 'recording'}.{'md' if as_markdown else 'html'}"
    kind = _MARKDOWN if as_markdown else "text/html"
    answer = HttpResponse(text.encode("utf-8", "replace"), content_type=f"{kind}; charset=utf-8")
    answer["Content-Disposition"] = f'attachment; filename="{name}"'
    return answer


def _as_markdown(request: "HttpRequest") -> bool:
    """Return whether Markdown is asked for: by `format` in the query or the form, or else by the header Accept."""
    wanted = request.POST.get("format") or request.GET.get("format")
    if wanted not in ("html", "md", None):
        raise BadRequest("The format of a report is html or md.")
    return wanted == "md" if wanted else request.get_preferred_type(["text/html", _MARKDOWN]) == _MARKDOWN


def _note(request: "HttpRequest") -> Note | None:
    """Return what the author of the report has written into the form."""
    text = note_of(request.POST, NOTE)
    return Note(text, person(request), _now()) if text else None


def _now() -> str:
    return f"{timezone.now():%Y-%m-%d %H:%M:%S} UTC"


def _contents(source: "SourceRow", arrangement: Asked, asked: dict[str, str], *, drawn: bool) -> Contents:
    """Return the report of a view; `drawn` says whether its timeline is part of it."""
    coverage, whole = coverage_queries.coverage(source.id), extents.extent(source)
    start, end = timestamps.span(asked) or whole
    start = min(max(start, whole[0]), whole[1])
    end = max(start, min(end, whole[1]))
    view = arrangement.but(group="owner", closed=(), pins=(), focus=arrangement.object, scope=arrangement.object)
    found = scoping.incidents_in_view(
        source.id, view.findings(), start, end, limit=INCIDENTS, rows=ROWS, selected=arrangement.finding
    )
    scope = _scope(source.id, arrangement)
    if (start, end) != whole:
        scope.insert(0, ("Part", f"{wording.span(start, end)} UTC, of {wording.span(*whole)} UTC"))
    contents = Contents(
        name=coverage["name"],
        title=coverage["name"],
        nothing="" if coverage["coverage"] else f"{coverage['name']}: nothing in it changes an object.",
        first=start,
        last=end,
        entries=f"{wording.count(coverage['entries'])} changes{' in the whole recording' if scope else ''}",
        scope=scope,
        **found._asdict(),
        coverage=coverage,
        skipped=[(each["file"], each["line"], each["reason"]) for each in coverage["skipped"]],
        skips=coverage["skipped_total"],
        mostly_skipped=documents.mostly_skipped(coverage["mostly_skipped"]),
        changes={each.incident["id"]: _changes(source.id, each.incident["id"]) for each in found.incidents[:EXPLAINED]},
        made=_now() if source.is_live else "",
    )
    return contents._replace(drawn=_drawn(source.id, view, contents, asked)) if drawn else contents


def _changes(source_id: int, incident: str) -> "ChangesPayload":
    asked = before.asked(source_id, incident=incident)
    return before.changes_before(source_id, asked.at, about=asked.tracks, limit=BEFORE)


def _drawn(source_id: int, view: View, contents: Contents, asked: dict[str, str]) -> Drawn:
    overview = overview_queries.overview(source_id)
    span, rows = (contents.first, contents.last), contents.rows
    opens = opening(contents.incidents, {name: asked[name] for name in _SHOWN if name in asked})
    window = windows.window(source_id, *span, limit=LANES, view=view.but(finding=opens.view["finding"]))
    if contents.scope:
        counts = _slices([*window["births"]["time"], *window["marks"]["time"]], span)
        overview = part(window, rows, span, counts, overview["actors"], overview["freed"])
    window["first"], window["last"] = span
    return Drawn(
        overview,
        window,
        window["lanes_total"],
        measuring.steps(source_id, contents.last),
        opens,
    )


def _scope(source_id: int, arrangement: Asked) -> list[tuple[str, str]]:
    """Return what narrows the report besides the time, as pairs of heading and words."""
    filters = [
        ("Incident", _incident(source_id, arrangement.incident)),
        ("Object", _object(source_id, arrangement.object)),
        ("Kinds", ", ".join(arrangement.kinds)),
        ("Namespace", arrangement.namespace),
        ("Names", arrangement.name and f"with {arrangement.name} in them"),
        ("Rule", arrangement.rule),
        ("Severity", arrangement.severity),
        ("Changes", _writer(arrangement.actor)),
        ("Lanes", "those that change in this part" if arrangement.active else ""),
    ]
    return [(heading, f"only {words}") for heading, words in filters if words]


def _incident(source_id: int, identity: str) -> str:
    """Return the title of the one incident of the report; "" for a report of more."""
    if not identity:
        return ""
    found = Incident.objects.filter(source=source_id, identity=identity).only("title").first()
    return found.title if found else "one that this recording does not have"


def _writer(actor: str) -> str:
    """Return whose changes the report shows; "" for everybody's."""
    return "without a known author" if actor == NOT_KNOWN else actor and f"by {actor}"


def _object(source_id: int, focus: int | None) -> str:
    """Return the name of the object in focus with what belongs to it; "" without one."""
    if focus is None:
        return ""
    found = Track.objects.filter(source=source_id, id=focus).values_list("kind", "namespace", "name").first()
    if found is None:
        return "one that this recording does not have"
    kind, namespace, name = found
    return f"{kind} {name}{f' in {namespace}' if namespace else ''} and what belongs to it"


def _slices(times: list[int], span: tuple[int, int]) -> list[int]:
    width = max(1, (span[1] - span[0]) / SLICES)
    counts = [0] * SLICES
    for time in times:
        if span[0] <= time <= span[1]:
            counts[min(SLICES - 1, int((time - span[0]) / width))] += 1
    return counts
