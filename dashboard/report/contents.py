"""Collect what a report contains, from the database or from an analysis. Other modules write it."""

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from collectors.analysis import Analysis, choose
from dashboard.presentation import wording
from dashboard.report.figure import Opening, opening
from timeline.judge import rulebook
from timeline.judging.incidents.changes import known_changes
from timeline.layout import lists, outline
from timeline.layout.excerpt import excerpt
from timeline.payloads import documents
from timeline.payloads.changes import ChangesPayload, before_incident
from timeline.payloads.findings import FindingGroupPayload, SourceDocumentPayload
from timeline.payloads.incidents import making as incidents
from timeline.payloads.incidents.making import InView
from timeline.payloads.measuring import StepsPayload
from timeline.payloads.windows import OverviewPayload, WindowPayload

INCIDENTS = 100  # the most incidents that are listed; a file with more would be too large to send
BEFORE = 5  # the most sets of changes before an incident that are listed
EXPLAINED = 20  # the most incidents for which the changes before them are listed
ROWS = 10  # the most occurrences of an incident that are listed
NOTE = 4000  # characters of the author's note
_NAMES = 12  # files named in the title


class Note(NamedTuple):
    """What the author of a report writes at its beginning."""

    text: str
    by: str = ""  # "" if nobody has to sign in
    at: str = ""  # "2026-11-21 08:15:00 UTC"; "" if the time is not part of the report


class Drawn(NamedTuple):
    """What the timeline of a report draws."""

    overview: OverviewPayload
    window: WindowPayload  # of all lanes that are drawn
    lanes: int  # the number of lanes, drawn or not
    steps: StepsPayload | None  # for measuring; None where there are too many changes
    opening: Opening


class Contents(NamedTuple):
    """The contents of a report."""

    name: str  # of the recording
    title: str
    nothing: str  # why there is nothing to judge; "" where there is
    first: int  # the start of what the report covers, in microseconds since 1970
    last: int
    entries: str  # how many changes there were, in words
    scope: list[tuple[str, str]]  # what narrows the report: a heading, and words
    incidents: list[InView]  # the gravest first
    incidents_total: int  # in the report's scope, listed or not, as the next two
    symptoms_total: int
    findings_total: int
    incidents_of_source: int
    symptoms_of_source: int
    findings_of_source: int
    coverage: SourceDocumentPayload
    skipped: list[tuple[str, int, str]]  # file, line, reason
    skips: int  # all that was skipped
    mostly_skipped: Sequence[str]  # a sentence for each file that was mostly skipped
    changes: Mapping[str, ChangesPayload]  # what changed before an incident, by its id
    note: Note | None = None
    made: str = ""  # when a report of a watched cluster was made, which shows what was known then; "" for a recording
    drawn: Drawn | None = None  # None for a report without a picture

    @property
    def rows(self) -> list[FindingGroupPayload]:
        """Return all occurrences that are listed, each once."""
        return list({row["key"]: row for each in self.incidents for row in each.rows}.values())


def of_analysis(
    analysis: Analysis,
    *,
    title: str = "",
    note: str = "",
    rules: Collection[str] = (),
    namespaces: Collection[str] = (),
    since: int | None = None,
    until: int | None = None,
) -> Contents:
    """Return the report of an analysis: of these rules and namespaces between two times (µs since 1970), or of all."""
    findings = choose(analysis.findings, list(rules), list(namespaces), since, until)
    world = analysis.world
    span = (
        max(world.first, world.first if since is None else since),
        min(world.last, world.last if until is None else until),
    )
    span = min(span[0], world.last), max(span)
    drawn = excerpt(world, findings, namespaces, span, analysis.places)
    every = analysis.incidents()
    chosen = analysis._replace(findings=findings).incidents()  # name nothing that the report leaves out
    whole = {each.id: each for each in every}
    found = [_in_view(each, whole[each.incident["id"]]) for each in lists.incidents(chosen, drawn.findings)]
    scope = [("Rules", ", ".join(rules)), ("Namespaces", ", ".join(namespaces))]
    scope = [(heading, f"only {words}") for heading, words in scope if words]
    if since is not None or until is not None:
        scope.insert(0, ("Part", f"{wording.span(*span)} UTC, of {wording.span(world.first, world.last)} UTC"))
    skipped = [each.place for each in analysis.skipped]
    return Contents(
        name=analysis.name,
        title=title or _title(analysis.name),
        nothing=analysis.nothing,
        first=span[0],
        last=span[1],
        entries=f"{wording.count(analysis.entries)} {wording.plural('change', analysis.entries)}"
        + (" in the whole recording" if scope else ""),
        scope=scope,
        incidents=found[:INCIDENTS],
        incidents_total=len(found),
        symptoms_total=sum(each.symptoms for each in found),
        findings_total=len({finding["id"] for row in drawn.findings for finding in row["findings"]}),
        incidents_of_source=len(every),
        symptoms_of_source=sum(len(each.symptoms) for each in every),
        findings_of_source=len({finding for each in every for finding in each.findings}),
        coverage=documents.as_read(documents.source_document(world, rulebook()), skipped),
        skipped=skipped,
        skips=analysis.skips,
        mostly_skipped=analysis.mostly_skipped,
        changes=_changes(analysis, every, {each.incident["id"] for each in found[:EXPLAINED]}),
        note=Note(note) if note else None,
        drawn=Drawn(
            drawn.overview,
            drawn.window,
            drawn.lanes,
            outline.steps(world.commits()) if analysis.entries <= outline.STEPS else None,
            opening(found[:INCIDENTS], {}),
        ),
    )


def _in_view(each: InView, whole: incidents.Incident) -> InView:
    """Return an incident with the counts of all of it, and with as many rows as are listed."""
    each.incident["symptoms_total"] = len(whole.symptoms)
    each.incident["occurrences"] = whole.occurrences
    each.incident["findings"] = len(whole.findings)
    return each._replace(rows=each.rows[:ROWS])


def _changes(
    analysis: Analysis, every: Sequence[incidents.Incident], wanted: Collection[str]
) -> dict[str, ChangesPayload]:
    known = known_changes(analysis.world)
    findings = {each.id: each for each in analysis.findings}
    return {
        each.id: before_incident(
            analysis.world, known, each, [findings[finding] for finding in each.findings], limit=BEFORE
        )
        for each in every
        if each.id in wanted
    }


def _title(name: str) -> str:
    names = ["standard input" if part == "-" else Path(part).name or part for part in name.split(", ")]
    more = f" and {len(names) - _NAMES} more" if len(names) > _NAMES else ""
    return ", ".join(names[:_NAMES]) + more
