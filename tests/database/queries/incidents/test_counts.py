"""The numbers of incidents, findings, occurrences and severities are the same wherever they are shown."""

import io
import re
from collections import Counter
from html import unescape
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from django.test import Client

from collectors.analysis import Analysis, analyse
from collectors.formats import Limits
from dashboard.cli import text
from dashboard.cli.terminal import Terminal
from dashboard.report import markdown
from dashboard.report.contents import of_analysis
from dashboard.web.timestamps import LAST
from tests import DATA, ENGINE
from tests.database.storage.sources import asked, imported
from tests.inputs.recordings import SAMPLE
from tests.properties import sampled
from timeline.models import Finding, Occurrence, Source
from timeline.payloads.findings import IncidentPayload
from timeline.queries.filters import SourceIncidentFilter
from timeline.queries.incidents import findings as findings_queries
from timeline.queries.incidents import lists, scoping
from timeline.queries.sources.extents import SEVERITIES, extent
from timeline.queries.window import overview as overview_queries
from timeline.queries.window.view import FindingFilter
from timeline.storage.exports import document

pytestmark = pytest.mark.django_db
_RECORDINGS = [SAMPLE, *(path for path in DATA.iterdir() if path.is_file())] + [
    path for folder in ("engine", "objects", "wrappers") for path in (DATA / folder).iterdir()
]
_ROOTS = 5  # owners of each recording to which lists and reports are narrowed
_COUNTS = re.compile(r"([\d,]+) incidents? · (?:[\d,]+ symptoms? · )?([\d,]+) findings?")
_PAGES = ("the list", "the list of all sources", "the home page")  # which list nothing that does no harm
_SEVERITIES = ("error", "warning", "info")


class Reported(NamedTuple):
    """This is what one place tells of a recording."""

    incidents: int
    findings: int
    occurrences: int
    severities: dict[str, int]  # how many incidents have each


@pytest.mark.parametrize("path", sampled(sorted(_RECORDINGS), 5), ids=lambda path: path.name)
def test_page_api_command_line_and_report_count_the_same(path: Path, client: Client) -> None:
    analysis = analyse([(path, path.name)], Limits())
    source = imported(path, name=path.name)
    pages, stored = f"/sources/{source.pk}/", document(source)
    command, brief = on_the_command_line(analysis)
    reported = of_document(stored["incidents"], len(stored["findings"]))
    assert of_document([*analysis.document()["incidents"]], len(analysis.findings)) == reported
    assert (
        Counter({severity: brief.count(severity) for severity in _SEVERITIES if severity in brief})
        == reported.severities
    )
    harmless = [each for each in stored["incidents"] if (each["severity"], each["effect"]) == ("info", "none")]
    for acknowledged in (False, True) if reported.incidents else (False,):  # which leaves incidents out of lists
        if acknowledged:
            one = {"act": "acknowledge", "incident": f"{source.pk}.{stored['incidents'][0]['id']}"}
            assert client.post(f"{pages}incidents/", one).status_code == 302
        places = {
            "the command line": command,
            "a report without a database": markdown.document(of_analysis(analysis)),
            "the report": client.get(f"{pages}report?format=md").content.decode(),
            "the list": unescape(client.get(f"{pages}incidents/").content.decode()),
            "the list of all sources": unescape(client.get("/incidents/").content.decode()),
            "the home page": unescape(client.get("/").content.decode()).partition('id="recordings"')[2],
            "the timeline": of_the_timeline(client, source),
        }
        for place, words in places.items():
            left_out = harmless if place in _PAGES else []
            findings = reported.findings - sum(len(each["findings"]) for each in left_out)
            assert counted(words) == (reported.incidents - len(left_out), findings), (place, acknowledged)
            assert not left_out or f"{len(left_out)} more without harm" in words or not findings, place
        assert by_api(client, source) == reported
        assert ("1 acknowledged" in places["the list"], "1 acknowledged" in places["the home page"]) == (
            (acknowledged, acknowledged)
        )
    rows = Occurrence.objects.filter(source=source)
    overview = overview_queries.overview(source.pk)
    assert dict(overview["rules"]) == Counter(rows.values_list("rule", flat=True))
    ranks = Counter(SEVERITIES[rank] for rank in rows.values_list("rank", flat=True))
    assert dict(overview["severity_counts"]) == ranks
    for severity, number in ranks.items():
        assert findings_queries.findings(source.pk, FindingFilter(severity=severity), limit=1)["total"] == number
    the_scope_of_an_owner_is_the_same_in_list_and_report(source.pk)


def the_scope_of_an_owner_is_the_same_in_list_and_report(source: int) -> None:
    for root in sorted({*Finding.objects.filter(source=source).values_list("root", flat=True)})[:_ROOTS]:
        listed = lists.incidents(source, SourceIncidentFilter(root=root), limit=500)
        reported = scoping.incidents_in_view(source, FindingFilter(scope=root), 0, LAST, limit=500, rows=500)
        assert {each["id"] for each in listed["incidents"]} == {each.incident["id"] for each in reported.incidents}
        assert listed["total"] == reported.incidents_total > 0
        named = FindingFilter(scope=root).members(source)
        assert reported.findings_total == named.count() <= listed["findings"]


def test_a_report_of_everything_lists_what_a_report_of_all_kinds_lists() -> None:
    """The first reads the stored counts and the first findings of each incident, the second all findings."""
    for path in sorted(ENGINE.iterdir()):
        source = imported(path)
        families = {family for row in Occurrence.objects.filter(source=source) for family in row.families}
        span = extent(source)
        for limit, rows in ((100, 10), (2, 1)):
            everything, filtered = (
                scoping.incidents_in_view(source.pk, view, *span, limit=limit, rows=rows)
                for view in (FindingFilter(), FindingFilter(kinds=tuple(families)))
            )
            assert everything == filtered


def on_the_command_line(analysis: Analysis) -> tuple[str, list[str]]:
    """Return the summary that `causeline analyze` prints, and the severities in its table."""
    summary, table = io.StringIO(), io.StringIO()
    text.show_input(analysis, Terminal(summary), with_coverage=False)
    text.show_incidents(analysis, Terminal(table), brief=True)
    return summary.getvalue(), [line.split()[0] for line in table.getvalue().splitlines() if line]


def of_document(incidents: list[IncidentPayload], findings: int) -> Reported:
    severities: Counter[str] = Counter(each["severity"] for each in incidents)
    assert sum(len(each["findings"]) for each in incidents) == findings
    occurrences = sum(symptom["occurrences"] for each in incidents for symptom in each["symptoms"])
    return Reported(len(incidents), findings, occurrences, dict(severities))


def by_api(client: Client, source: Source) -> Reported:
    listed = asked(client, source, "incidents", limit=200)
    rows: list[dict[str, Any]] = listed["incidents"]
    assert sum(row["findings"] for row in rows) == listed["findings"]
    severities = {each: asked(client, source, "incidents", severity=each)["total"] for each in _SEVERITIES}
    occurrences = sum(row["occurrences"] for row in rows)
    return Reported(listed["total"], listed["findings"], occurrences, {each: n for each, n in severities.items() if n})


def of_the_timeline(client: Client, source: Source) -> str:
    """Return the counts as `IncidentsList` makes them of what the page of a timeline asks for."""
    listed = asked(client, source, "incidents", acknowledged="0")
    incidents = listed["total"] + listed["acknowledged"]
    return f"{incidents} incidents · {listed['findings'] + listed['acknowledged_findings']} findings"


def counted(words: str) -> tuple[int, int]:
    """Return the numbers in the first "3 incidents · 12 findings" of a text; (0, 0) if nothing is counted."""
    found = _COUNTS.search(re.sub(r"<[^>]+>|\*", "", words))
    return (int(found[1].replace(",", "")), int(found[2].replace(",", ""))) if found else (0, 0)
