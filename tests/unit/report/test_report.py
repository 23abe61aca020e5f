"""These tests run `causeline report`: it writes one file completely or not at all, and the same for one recording."""

import copy
import json
import re
import stat
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from collectors.analysis import Analysis, analyse
from collectors.formats import Limits, Skipped
from dashboard.report import contents, figure
from dashboard.report import page as report
from dashboard.report.contents import of_analysis
from tests.clients.command import causeline
from tests.clients.markup import without_times
from tests.inputs.events import event
from tests.inputs.recordings import QUIET, SAMPLE
from timeline.payloads.documents import timestamp
from timeline.payloads.incidents.ranges import ranges

POD = SAMPLE.parent / "one-pod-too-many.jsonl.zst"
HTML = b"<!doctype html>"


@cache
def analysis_of(path: Path) -> Analysis:
    return analyse([(path, path.name)], Limits())


def page(analysis: Analysis, **more: Any) -> str:
    return report.rendered(of_analysis(analysis, **more))


def printed(*options: str, status: int = 0) -> str:
    found, html, errors = causeline("report", SAMPLE, "-o", "-", *options)
    assert found == status
    return html or errors


@pytest.fixture(scope="module")
def written() -> str:
    return page(analysis_of(SAMPLE))


def words(html: str) -> str:
    """Return the visible text of the page, without styles, scripts and tags."""
    body = re.sub(r"<(style|script)\b.*?</\1>", "", html, flags=re.DOTALL)
    return " ".join(re.sub(r"<[^>]+>", " ", without_times(body)).split())


def test_a_report_is_written_and_says_so(tmp_path: Path) -> None:
    target = tmp_path / "report.html"
    status, output, errors = causeline("report", SAMPLE, "-o", target, "--title", "The night of the 21st")
    assert (status, output) == (0, "")
    assert "report.html is written" in errors
    content = target.read_bytes()
    assert content.startswith(HTML)
    assert b"<h1>The night of the 21st</h1>" in content
    assert len(content) < 3_000_000
    assert list(tmp_path.iterdir()) == [target]
    assert stat.S_IMODE(target.stat().st_mode) & 0o111 == 0


def test_it_tells_all_of_a_finding(written: str) -> None:
    text = words(written)
    assert "Service ring was away for ≈ 50 ms under 3 running Pods" in text
    assert "07:52:00.841" in text and "582" in text and "committed within 07:52:00.841106 – .849006" in text
    effect = "no container failure seen until the recording ends 58 s later; Job ring failed after 12.7 s"
    assert f"Effect possible: ring-steady-0, -1, -2 ran meanwhile; {effect}" in text
    assert "revisions count commits. The delay is 45–56 ms." in text
    assert "restart the whole job, or none of its Pods" in text
    assert "3 objects ring-steady-0, ring-steady-1, ring-steady-2" in text
    assert "Looks alike but is benign" in text and "A teardown: the Pod ends" in text
    for anchor in re.findall(r'href="#([^"]+)"', written):
        assert f'id="{anchor}"' in written, anchor


def test_it_tells_what_was_seen_and_what_wrote_it(written: str) -> None:
    text = words(written)
    assert "775 changes" in text and "2026-11-21 07:51:33.577 – 07:52:59.455 UTC" in text
    assert "pods RequestResponse complete" in text
    assert "cannot judge" in text and "In the audit policy" in text
    assert "Nothing: every line was read and understood." in text
    assert re.search(r"Causeline \d+\.\d+", text)


def test_the_policy_lets_nothing_reach_the_network(written: str) -> None:
    policy = re.search(r'http-equiv="Content-Security-Policy" content="([^"]+)"', written)
    assert policy and policy[1].startswith("default-src &#x27;none&#x27;")
    assert "connect-src" not in policy[1] and "http" not in policy[1] and "unsafe-eval" not in policy[1]
    outside = re.sub(r"<(style|script)\b.*?</\1>", "", written, flags=re.DOTALL)
    assert not re.search(r"\b(?:src|href)=\"(?!#|data:)", outside)


def test_what_was_skipped_is_listed_and_the_rest_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(report, "_SKIPPED", 2)
    skipped = [Skipped("log.jsonl", line, "not <JSON>") for line in range(1, 1301)]
    skipped += [Skipped("a.tar", 0, "cut off"), Skipped("log.jsonl", 7777, "too long"), Skipped("z", 1, "empty")]
    analysis = analysis_of(QUIET)._replace(skipped=skipped, skips=2000)
    text = words(page(analysis))
    assert "a.tar – cut off log.jsonl 1, 2, 3, 4, 5, 6, 7, 8 and 1,292 more not &lt;JSON&gt;" in text
    assert "And 699 more" in text
    assert "2,000 skipped" in text


def test_a_recording_that_changes_nothing_is_not_called_good(tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    log.write_text(json.dumps(event(verb="get", level="Metadata", responseObject=None)))
    html = page(analysis_of(log))
    text = words(html)
    assert "Nothing to judge" in text and "nothing in it changes an object" in text
    assert "No ordering violation" not in text and "1970" not in text
    assert "cannot judge" in text
    assert 'id="workbench"' not in html and 'id="held"' not in html


def test_of_very_many_incidents_the_gravest_are_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(contents, "INCIDENTS", 2)
    monkeypatch.setattr(contents, "ROWS", 1)
    analysis = analysis_of(SAMPLE)
    text = words(page(analysis))
    assert "4 incidents · 6 symptoms · 10 findings" in text
    assert "The 2 most severe incidents are listed; 2 more are not." in text
    assert "4 incidents, 1 of those that are listed ongoing when the recording ends." in text
    assert "And 3 more occurrences, which this report leaves out." in text


def test_it_begins_with_a_sentence_over_all_incidents_and_a_paragraph_for_each(written: str) -> None:
    text = words(written)
    summary = text[text.index("10 findings Summary") : text.index("What was seen What each rule")]
    assert summary.startswith(
        "10 findings Summary 4 incidents, 2 without harm, 1 of the others ongoing when the recording ends. The "
        "gravest, over after 6.4 s: Service ring was away under 3 Pods, 2 times, and 1 more symptom of the same cause. "
    )
    assert (
        "warning: Service ring was away under 3 Pods, 2 times, and 1 more symptom of the same cause. From 2026-11-21 "
        "07:52:00.841 to 07:52:07.232 UTC (6.4 s), written by vc-cm-head (admin): harm is possible (for "
        "example: ring-steady-0, -1, -2 ran "
    ) in summary
    assert (
        "Lease volcano went from one to the other. Since 2026-11-21 07:51:47.041 UTC (40.4 s), written by kubectl "
        "(admin), leader-election of vc-sched-head (admin): harm is possible (for example: only one of the two can "
        "schedule); ongoing when the recording ends. 99cf27 Details"
    ) in summary
    assert "info: " not in summary[: summary.index("2 more incidents without harm. Details")]
    headings = re.findall(
        r"<h2 id=\"[^\"]*-title\">([^<]+)</h2>", re.sub(r"<dialog.*?</dialog>", "", written, flags=re.DOTALL)
    )
    assert headings == ["Summary", "Incidents", "What was seen", "About this report"]


def test_one_incident_is_summed_up_in_one_sentence() -> None:
    text = words(page(analysis_of(POD)))
    title = "job-controller acted on old copies of Jobs for 6.1 s: 1 Pod too many in Job report-0"
    assert f"1 incident · 3 symptoms · 3 findings Summary One incident, over: {title}. error: {title}. From" in text


def test_an_incident_lists_its_symptoms_with_the_gravest_first() -> None:
    text = words(page(analysis_of(POD)))
    assert (
        "stale-write nightly error: Pod report-0-r9wx8 was created ≈ 0.98 s after Job report-0 was Complete "
        "warning: job-controller tried 4 times to update Job report-0 from a replaced revision "
        "warning: Pod report-0-r9wx8 was created on revision 481 of Job report-0, ≈ 0.979 s after a newer one "
        "Behind one of its symptoms: job-controller created Pod report-0-r9wx8"
    ) in text


def test_symptoms_and_findings_of_several_namespaces_have_distinct_titles() -> None:
    made = of_analysis(analysis_of(POD))
    (each,) = made.incidents
    each.incident["anchored_in"] = ["nightly", "weekly"]
    text = words(report.rendered(made))
    assert text.count(" nightly: Pod report-0-r9wx8 was created ") == 4  # two symptoms, and a finding of each


def test_symptoms_that_a_report_leaves_out_are_not_named() -> None:
    html = page(analysis_of(POD), rules=["stale-write"])
    assert "1 incident · 1 of 3 symptoms · 1 of 3 findings" in words(html)
    assert "report-0-r9wx8 was created" not in html and "job-controller tried 4 times" in html


def test_a_note_of_the_author_is_its_first_part_and_no_markup() -> None:
    html = printed("--note", "Pods restarted by hand.\n<script>alert(1)</script>")
    assert "Pods restarted by hand.<br>&lt;script&gt;alert(1)&lt;/script&gt;" in html
    assert html.index("Pods restarted") < html.index('id="summary"')
    assert "The note has 4001 characters; 4000 are the most." in printed("--note", "x" * 4001, status=2)


def test_a_part_of_time_has_its_own_occurrences_lanes_and_counts() -> None:
    text = words(printed("--since", "2026-11-21T07:52:06Z", "--until", "2026-11-21T07:52:08Z"))
    assert "1 of 4 incidents · 2 of 6 symptoms · 4 of 10 findings" in text
    assert "3 incidents outside of that are left out." in text
    assert "2 symptoms · 2 of 4 occurrences · 4 of 5 findings" in text
    assert "was away for 43–58 ms" in text and "was away for ≈ 50 ms" not in text
    assert "part 2026-11-21 07:52:06 – 07:52:08 UTC, of 2026-11-21 07:51:33.577 – 07:52:59.455 UTC" in text


def test_a_recording_without_findings_is_a_report_too() -> None:
    text = words(page(analysis_of(QUIET)))
    assert "No ordering violation found" in text
    assert "What each rule can say of this recording" in text
    assert "What can be joined to one cause" in text and "A span of old copies joins what one component" in text


def test_rules_and_namespaces_narrow_it_and_are_named() -> None:
    html = printed("--rule", "service-gap", "--namespace", "vol-restart")
    text = words(html)
    assert "Rules only service-gap" in text and "Namespaces only vol-restart" in text
    assert "1 of 4 incidents · 1 of 6 symptoms · 3 of 10 findings" in text
    assert "This report is narrowed to: rules service-gap; namespaces vol-restart." in text
    assert "3 incidents outside of that are left out." in text
    assert "service-gap" in text and "was created ≈ 30 ms before its Service" not in text
    assert "volcano-system" not in html


def test_what_cannot_be_understood_or_written_is_said(tmp_path: Path) -> None:
    target = tmp_path / "report.html"
    target.write_text("what was there before")
    picture = tmp_path / "picture.png"
    picture.write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(100))
    status, _, errors = causeline("report", picture, "-o", target)
    assert status == 2 and "PNG picture" in errors
    assert causeline("report", SAMPLE, "-o", target, "--rule", "no-such-rule")[0] == 2
    assert target.read_text() == "what was there before"
    for wrong, why in [
        (tmp_path / "missing" / "report.html", "no folder"),
        (tmp_path, "is a folder"),
        (Path("/proc/report.html"), "cannot be written"),
    ]:
        status, _, errors = causeline("report", QUIET, "-o", wrong)
        assert status == 2 and why in errors and "Traceback" not in errors
    copy = tmp_path / "log.jsonl"
    copy.write_bytes(QUIET.read_bytes())
    status, _, errors = causeline("report", copy, "-o", copy)
    assert status == 2 and "is one of the files to read" in errors
    assert copy.read_bytes() == QUIET.read_bytes()


def test_a_link_goes_on_pointing_and_permissions_stay(tmp_path: Path) -> None:
    target, link = tmp_path / "reports" / "last.html", tmp_path / "report.html"
    target.parent.mkdir()
    target.write_text("")
    target.chmod(0o640)
    link.symlink_to(target)
    assert causeline("report", QUIET, "-o", link)[0] == 0
    assert link.is_symlink()
    assert target.read_bytes().startswith(HTML)
    assert stat.S_IMODE(target.stat().st_mode) == 0o640
    assert [path.name for path in target.parent.iterdir()] == ["last.html"]


LATE = QUIET.parent.parent / "missing-reference" / "fires-claim-three-seconds-late.jsonl"


def test_the_figure_has_the_axis_of_order_where_events_are_too_close() -> None:
    html = page(analysis_of(LATE))
    assert re.search(r'data-search="axis=order&amp;finding=[0-9a-f]{16}"', html)
    assert "The figure therefore shows the order of the changes, each with equal room." in words(html)


def test_the_figure_has_the_axis_of_time_where_they_are_not(written: str) -> None:
    assert re.search(r'data-search="finding=[0-9a-f]{16}"', written)
    assert "The figure therefore shows" not in words(written)


def test_an_axis_that_is_asked_for_is_kept() -> None:
    contents = of_analysis(analysis_of(LATE))
    rows = contents.rows
    assert figure.too_close(rows[0])
    key, shown = rows[0]["key"], rows[0]["ranges"]
    chosen = figure.opening(contents.incidents, {"axis": "time"})
    assert (chosen.search, chosen.why) == (f"axis=time&finding={key}", "")
    assert (chosen.view["start"], chosen.view["end"]) == shown["time"]
    other = figure.opening(contents.incidents, {"finding": "0" * 16})
    assert other.search == f"axis=order&finding={key}" and other.why
    assert (other.view["start"], other.view["end"]) == shown["order"]
    assert figure.opening([], {"group": "kind"}).search == "group=kind"


def test_events_are_too_close_below_five_pixels() -> None:
    row = copy.deepcopy(of_analysis(analysis_of(LATE)).rows[0])
    for each in row["proof"]:
        each["earliest"] = each["latest"] = each["time"]
    row["ranges"] = ranges(row["start"], row["end"], row["proof"])
    first, second, third = row["proof"]
    since, until = row["ranges"]["time"]
    least = 5 / figure.WIDTH * (until - since)
    for apart, close in ((least * 1.01, False), (least * 0.99, True)):
        second["time"] = timestamp(row["start"] + int(apart))
        assert figure.too_close(row) is close
    second["time"] = first["time"]
    assert not figure.too_close(row)  # no axis tells them apart
    assert third["time"] > first["time"]


def test_a_report_of_a_watched_cluster_says_when_it_was_made() -> None:
    report_of = of_analysis(analysis_of(SAMPLE))._replace(made="2026-11-21 08:00:00 UTC")
    text = words(report.rendered(report_of))
    assert "775 changes · as of 2026-11-21 08:00:00 UTC" in text
    assert "ongoing at 2026-11-21 08:00:00 UTC" in text and "ongoing when the recording ends. Details" not in text


def test_an_occurrence_of_two_incidents_is_shown_once() -> None:
    whole = of_analysis(analysis_of(SAMPLE))
    first, second, *others = whole.incidents
    shared = second._replace(rows=first.rows)
    html = report.rendered(whole._replace(incidents=[first, shared, *others]))
    key = first.rows[0]["key"]
    assert html.count(f'id="finding-{key}"') == 1
    assert "shown with another incident" in words(html)


def test_it_says_which_lane_an_incident_begins_with(written: str) -> None:
    held = json.loads(
        re.findall(r'<script id="held" type="application/json">(.*?)</script>', written, flags=re.DOTALL)[0]
    )
    (gone,) = (each["id"] for each in held["incidents"] if each["rule"] == "service-gap")
    assert held["beginnings"][gone] == "Service/vol-restart/ring"
    assert set(held["beginnings"]) == {each["id"] for each in held["incidents"]}
