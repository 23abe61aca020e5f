"""These tests download the report of a timeline: the same file as from `causeline report`, for a part and with
filters."""

import json
import re
from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from dashboard.web.views import report
from tests.clients.markup import without_times
from timeline.models import Finding, Incident, Silence, Source, Track
from timeline.storage.people import acknowledgements

pytestmark = pytest.mark.django_db
START, END = 1795247520740000, 1795247521200000
GAP = 1795247520841106


def report_of(client: Client, sample: Source, query: str = "") -> tuple[str, dict[str, Any]]:
    """Return the file, and the data of its timeline."""
    answer = client.get(f"/sources/{sample.pk}/report?{query}")
    assert answer.status_code == 200
    assert answer.headers["Content-Disposition"] == 'attachment; filename="causeline-sample.html"'
    html = without_times(answer.content.decode())
    held = re.search(r'<script id="held" type="application/json">(.*?)</script>', html, flags=re.DOTALL)
    assert held
    return html, json.loads(held[1])


def test_of_the_whole_recording_it_tells_what_the_list_of_incidents_does(client: Client, sample: Source) -> None:
    html, held = report_of(client, sample)
    assert len(held["findings"]) == 9 and held["window"]["lanes"]
    assert [held["overview"][end] for end in ("first", "last")] == [held["window"][end] for end in ("first", "last")]
    assert "complete · no gaps" in html and "What each rule can say" in html
    assert "<dt>Part</dt>" not in html
    listed = client.get(f"/api/sources/{sample.pk}/incidents").json()
    counts = f"{listed['total']} incidents · {listed['symptoms']} symptoms · {listed['findings']} findings"
    assert f"<strong>{counts}</strong>" in html
    for incident in listed["incidents"]:
        assert f'id="incident-{incident["id"]}"' in html
    for query in ("start=x&end=9", "start=9&end=1", "start=5", "unknown=1"):  # a range that is none, as on the page
        assert report_of(client, sample, query)[1]["window"] == held["window"], query


def test_of_a_choice_it_says_what_was_chosen(client: Client, sample: Source) -> None:
    html, held = report_of(client, sample, "namespace=vol-restart&kinds=Pods,Services&rule=service-gap")
    assert {lane["family"] for lane in held["window"]["lanes"]} <= {"Pods", "Services"}
    assert {group["rule"] for group in held["findings"]} == {"service-gap"}
    for said in ("only vol-restart", "only Pods, Services", "only service-gap"):
        assert said in html
    for actor, said, findings, lanes in (
        ("admin", "only by admin", True, range(1, 1000)),
        ("system:kube-scheduler", "only by system:kube-scheduler", False, range(1, 30)),
        ("?", "only without a known author", False, range(1)),
    ):
        html, held = report_of(client, sample, f"actor={actor}")
        assert bool(held["findings"]) is findings and len(held["window"]["lanes"]) in lanes and said in html


def test_what_is_no_view_is_refused_and_beside_the_recording_is_nothing(client: Client, sample: Source) -> None:
    for query in ("severity=worst", "focus=x", "group=name", "finding=../x", "incident=x", "format=pdf"):
        answer = client.get(f"/sources/{sample.pk}/report?{query}")
        assert answer.status_code == 400, query
        said = f"The address has a parameter that is not valid: {query.partition('=')[0]}."
        assert query in {"incident=x", "format=pdf"} or said in answer.content.decode()
    assert report_of(client, sample, "start=1&end=2")[1]["findings"] == []
    assert client.get("/sources/999999/report").status_code == 404
    strict = Client(enforce_csrf_checks=True)
    assert strict.post(f"/sources/{sample.pk}/report", {"note": "x"}).status_code == 403


def test_of_a_part_it_holds_that_part_alone(client: Client, sample: Source) -> None:
    html, held = report_of(client, sample, f"start={START}&end={END}&axis=order")
    assert (held["window"]["first"], held["window"]["last"]) == (START, END)
    assert {group["rule"] for group in held["findings"]} == {"service-gap", "pod-before-service"}
    assert held["overview"]["severity_counts"] == [["warning", 1], ["info", 1]]
    assert sum(held["overview"]["counts"]) > 10 and GAP in held["overview"]["ticks"]
    assert "<dt>Part</dt>" in html and 'data-search="axis=order&amp;finding=' in html


def test_a_selected_finding_outside_of_the_view_is_not_in_it(client: Client, sample: Source) -> None:
    _, held = report_of(client, sample, f"start={START}&end={END}")
    key = held["findings"][0]["key"]
    assert f'data-search="finding={key}"' in report_of(client, sample, f"start={START}&end={END}&finding={key}")[0]
    html, other = report_of(client, sample, f"start={END + 2_000_000}&end={END + 3_000_000}&finding={key}")
    assert other["findings"] == [] and 'data-search=""' in html
    assert (
        "0 of 4 incidents · 0 of 6 symptoms · 0 of 10 findings" in html
        and "Nothing in this part of the recording" in html
    )


def test_of_an_object_it_holds_its_owner_tree_alone(client: Client, sample: Source) -> None:
    lease = Track.objects.get(source=sample, kind="Lease", name="volcano")
    html, held = report_of(client, sample, f"focus={lease.root}")
    assert report_of(client, sample, f"scope={lease.root}")[1]["findings"] == held["findings"]
    assert {group["rule"] for group in held["findings"]} == {"lease-shared-config", "lease-contention"}
    shown = {(lane["kind"], lane["name"]) for lane in held["window"]["lanes"]}
    assert ("Lease", "volcano") in shown and ("Service", "ring") not in shown
    assert "1 of 4 incidents · 2 of 6 symptoms · 2 of 10 findings" in html
    assert "object Lease volcano in volcano-system and what belongs to it" in html
    job = Track.objects.get(source=sample, kind="Job", name="ring", namespace="vol-restart")
    html, held = report_of(client, sample, f"focus={job.root}")
    assert {group["rule"] for group in held["findings"]} == {"service-gap", "pod-before-service"}
    assert {lane["name"].partition("-")[0] for lane in held["window"]["lanes"]} == {"ring"}
    html, held = report_of(client, sample, "focus=99999")
    assert held["findings"] == [] and held["window"]["lanes"] == []
    assert "one that this recording does not have" in html


def test_of_one_incident_it_holds_only_that(client: Client, sample: Source) -> None:
    gap = Incident.objects.get(source=sample, rule="service-gap")
    html, held = report_of(client, sample, f"incident={gap.identity}")
    assert {group["rule"] for group in held["findings"]} == {"service-gap", "pod-before-service"}
    assert "1 of 4 incidents · 2 of 6 symptoms · 5 of 10 findings" in html
    assert "incident Service ring was away under 3 Pods, 2 times, and 1 more symptom of the same cause" in html
    html, held = report_of(client, sample, "incident=0123456789abcdef")
    assert held["findings"] == [] and "one that this recording does not have" in html
    page = client.get(f"/sources/{sample.pk}/incidents/{gap.identity}/").content.decode()
    assert f'href="/sources/{sample.pk}/report?incident={gap.identity}"' in page


def test_a_form_adds_a_note_of_its_author_that_is_not_stored(client: Client, sample: Source) -> None:
    place, note = f"/sources/{sample.pk}/report?rule=service-gap", "Restarted by hand.\n<b>OPS-7</b>"
    answer = client.post(place, {"note": note})
    html = without_times(answer.content.decode())
    assert answer.status_code == 200 and "Restarted by hand.<br>&lt;b&gt;OPS-7&lt;/b&gt;" in html
    assert re.search(r"OPS-7&lt;/b&gt;</p><p class=\"soft\">20\d\d-\d\d-\d\d \d\d:\d\d:\d\d UTC</p>", html)
    assert "Restarted by hand" not in client.get(place).content.decode()
    long = client.post(place, {"note": "x" * 4001})
    assert long.status_code == 400 and "The note has 4001 characters; 4000 are the most." in long.content.decode()


def test_acknowledged_and_silenced_incidents_are_marked_so(client: Client, sample: Source) -> None:
    gap = Incident.objects.get(source=sample, rule="service-gap")
    acknowledgements.acknowledge_incidents(sample.pk, [gap.identity], "ann", "OPS-7: <known>")
    for what in ({"owner": "volcano"}, {"rule": "pod-before-service"}):
        silence = {"reason": "moved on Monday", "by": "bob", **what}
        Silence.objects.create(source=sample, expires=timezone.now() + timedelta(hours=2), **silence)
    for row in Finding.objects.filter(source=sample, rule="service-gap"):
        client.post(f"/sources/{sample.pk}/findings/{row.identity}/", {"act": "acknowledge", "note": "OPS-8"})
    html, _ = report_of(client, sample)
    assert re.search(r"<dt>Finding acknowledged</dt><dd>by somebody at 20[\d-]+ [\d:]+ UTC: OPS-8</dd>", html)
    assert re.search(r"<dt>Acknowledged</dt><dd>by ann at 20[\d-]+ [\d:]+ UTC: OPS-7: &lt;known&gt;</dd>", html)
    assert re.search(r"over; acknowledged by ann at 20[\d-]+ [\d:]+ UTC\.", html)
    assert re.search(r"<dt>Silenced</dt><dd>Silenced by bob until 20[\d-]+ [\d:]+ UTC, with the reason: moved", html)
    written = client.get(f"/sources/{sample.pk}/report?format=md").content.decode()
    assert "- warning: Service ring was away under 3 Pods, 2 times\n- info: 2 Pods created" in written
    assert "created before Service ring (silenced)\n" in written and "created before Service ring (silenced)<" in html
    assert re.search(r"\*\*Acknowledged\*\* by ann at 20[\d-]+ [\d:]+ UTC: OPS-7: `<known>`", written)


def test_markdown_is_a_second_format_and_browsers_get_html(client: Client, sample: Source) -> None:
    place, browser = f"/sources/{sample.pk}/report", "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"
    for answer in (
        client.get(f"{place}?format=md", headers={"accept": "text/html"}),
        client.post(place, {"format": "md"}, headers={"accept": "text/html"}),
        client.get(place, headers={"accept": "text/markdown"}),
    ):
        assert answer.headers["Content-Type"] == "text/markdown; charset=utf-8"
        assert answer.headers["Content-Disposition"] == 'attachment; filename="causeline-sample.md"'
        written = answer.content.decode()
        assert written.startswith("# Report of sample\n") and "**4 incidents · 6 symptoms · 10 findings**" in written
        assert "| Service deleted | 2026-11-21 07:52:00.841106 | 582 |" in written
    for accept in (browser, "*/*"):
        answer = client.get(f"{place}?rule=service-gap", headers={"accept": accept})
        assert answer.headers["Content-Type"] == "text/html; charset=utf-8"


def test_markdown_of_a_view_says_what_it_leaves_out(client: Client, sample: Source) -> None:
    written = client.get(f"/sources/{sample.pk}/report?format=md&rule=service-gap").content.decode()
    assert "**1 of 4 incidents · 1 of 6 symptoms · 3 of 10 findings**" in written
    assert "1 of 2 symptoms · 2 of 4 occurrences · 3 of 5 findings" in written
    assert "**Symptoms**\n\n- warning: Service ring was away under 3 Pods, 2 times\n\n" in written
    assert "This report is narrowed to: rule service-gap." in written
    assert "3 incidents outside of that are left out." in written


def test_the_number_of_queries_does_not_depend_on_what_is_in_it(
    client: Client, sample: Source, monkeypatch: pytest.MonkeyPatch, django_assert_max_num_queries: Any
) -> None:
    monkeypatch.setattr(report, "EXPLAINED", 1)  # what changed before an incident takes some queries for each of them
    for rows in (1, 3):
        monkeypatch.setattr(report, "ROWS", rows)
        with django_assert_max_num_queries(41 + 12):  # three of them for the gravest findings of all incidents
            report_of(client, sample)


def test_of_one_incident_it_opens_with_the_lane_that_this_begins_with(client: Client, sample: Source) -> None:
    held = Incident.objects.get(source=sample, rules__contains=["lease-contention"])
    html, data = report_of(client, sample, f"incident={held.identity}")
    assert data["window"]["lanes"][0]["name"] == "volcano"
    assert data["window"]["lanes_total"] < report_of(client, sample)[1]["window"]["lanes_total"]
    assert f'data-search="incident={held.identity}&amp;' in html
    assert data["view"]["start"] < data["incidents"][0]["start"] < data["incidents"][0]["end"] < data["view"]["end"]
