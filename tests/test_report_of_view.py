"""These tests download the report of a timeline: the same file as from `causeline report`, for a part and with
filters."""

import json
import re
from typing import Any

import pytest
from django.test import Client

from timeline.models import Finding, Source

pytestmark = pytest.mark.django_db
START, END = 1795247520740000, 1795247521200000
GAP = 1795247520841106


def report_of(client: Client, sample: Source, query: str = "") -> tuple[str, dict[str, Any]]:
    """Return the file, and the data of its timeline."""
    answer = client.get(f"/sources/{sample.pk}/report?{query}")
    assert answer.status_code == 200
    assert answer.headers["Content-Disposition"] == 'attachment; filename="causeline-sample.html"'
    html = answer.content.decode()
    held = re.search(r'<script id="held" type="application/json">(.*?)</script>', html, flags=re.DOTALL)
    assert held
    return html, json.loads(held[1])


def test_of_the_whole_recording_it_tells_all_findings(client: Client, sample: Source) -> None:
    html, held = report_of(client, sample)
    assert len(held["findings"]) == 6
    assert held["window"]["lanes"] and (held["overview"]["first"], held["overview"]["last"]) == (
        held["window"]["first"],
        held["window"]["last"],
    )
    assert "complete · no gaps" in html and "What each rule can say" in html
    assert "<dt>Part</dt>" not in html


def test_of_a_part_it_holds_that_part_alone(client: Client, sample: Source) -> None:
    html, held = report_of(client, sample, f"start={START}&end={END}&axis=order")
    assert (held["window"]["first"], held["window"]["last"]) == (START, END)
    assert {group["rule"] for group in held["findings"]} == {"service-gap", "pod-before-service"}
    assert held["overview"]["severity_counts"] == [["warning", 1], ["info", 1]]
    assert sum(held["overview"]["counts"]) > 10 and GAP in held["overview"]["ticks"]
    assert "<dt>Part</dt>" in html and 'data-search="axis=order"' in html


def test_of_a_choice_it_says_what_was_chosen(client: Client, sample: Source) -> None:
    html, held = report_of(client, sample, "namespace=vol-restart&kinds=Pods,Services&rule=service-gap")
    assert {lane["family"] for lane in held["window"]["lanes"]} <= {"Pods", "Services"}
    assert {group["rule"] for group in held["findings"]} == {"service-gap"}
    for said in ("only vol-restart", "only Pods, Services", "only service-gap"):
        assert said in html


def test_the_selected_finding_is_in_it_wherever_it_lies(client: Client, sample: Source) -> None:
    _, held = report_of(client, sample, f"start={START}&end={END}")
    key = held["findings"][0]["key"]
    _, other = report_of(client, sample, f"start={END + 2_000_000}&end={END + 3_000_000}&finding={key}")
    assert key in {group["key"] for group in other["findings"]}


def test_acknowledged_findings_are_told_so(client: Client, sample: Source) -> None:
    for row in Finding.objects.filter(source=sample, rule="service-gap"):
        client.post(f"/sources/{sample.pk}/findings/{row.identity}/", {"act": "acknowledge", "note": "OPS-7"})
    html, _ = report_of(client, sample)
    assert "<dt>Acknowledged</dt><dd>OPS-7 · 20" in html


@pytest.mark.parametrize("query", ["start=x&end=9", "start=9&end=1", "start=5", "unknown=1"])
def test_a_range_that_is_none_is_the_whole_as_on_the_page(client: Client, sample: Source, query: str) -> None:
    assert report_of(client, sample, query)[1]["window"]["first"] < START


@pytest.mark.parametrize("query", ["severity=worst", "focus=x", "group=name", "finding=../x"])
def test_what_is_no_view_is_refused_in_words(client: Client, sample: Source, query: str) -> None:
    answer = client.get(f"/sources/{sample.pk}/report?{query}")
    assert answer.status_code == 400
    assert b"The request was not understood" in answer.content


def test_beside_the_recording_there_is_nothing_and_that_is_said(client: Client, sample: Source) -> None:
    _, held = report_of(client, sample, "start=1&end=2")
    assert held["findings"] == []
    assert client.get("/sources/999999/report").status_code == 404
