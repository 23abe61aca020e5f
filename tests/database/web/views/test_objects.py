"""These tests check the pages of single objects and findings, and the API behind them, on the sample recording."""

import re
from typing import Any

import pytest
from django.test import Client

from collectors.formats import Limits
from collectors.uploads.recordings import Count, import_into
from tests import RULES
from tests.database.web.views.pages import asked, page_text, track_of
from timeline.judge import rulebook
from timeline.models import Acknowledgement, Finding, Source, Track
from timeline.storage import store

pytestmark = pytest.mark.django_db
PLAIN = RULES / "service-gap" / "fires-plain-pods.jsonl"
CREATED = 1795247520863305  # the creation of the second life of ring-weak-0


def finding_of(sample: Source, rule: str, subject: str) -> Finding:
    return next(row for row in Finding.objects.filter(source=sample, rule=rule) if subject in row.document["summary"])


@pytest.fixture
def plain(db: None) -> Source:
    """A recording with bodies."""
    source = store.open_source("plain")
    import_into(source, [(PLAIN, PLAIN.name)], Limits(), Count())
    return source


def names(lives: list[dict[str, Any]]) -> list[str]:
    return [f"{each['object']['kind']} {each['object']['name']}" for each in lives]


def test_an_object_tells_what_it_has_to_do_with_others(client: Client, sample: Source) -> None:
    pod = asked(client, sample, f"tracks/{track_of(sample, 'Pod', 'ring-weak-0', 1).id}")
    assert names([pod["owner"]]) == ["Job ring"]
    assert names(pod["needs"]) == [
        "ConfigMap kube-root-ca.crt",
        "ConfigMap openshift-service-ca.crt",
        "ConfigMap ring-svc",
        "Service ring",
        "ServiceAccount default",
    ]
    assert {each["role"] for each in pod["needs"]} == {"config", "subdomain", "service account"}
    assert len(pod["incarnations"]) == 4 and pod["incarnations"][1]["track"] == pod["track"]
    assert (pod["start"], pod["phase"], pod["created"]) == (CREATED, "Failed", True)
    service = asked(client, sample, f"tracks/{track_of(sample, 'Service', 'ring').id}")
    assert "Pod ring-steady-0" in names(service["needed_by"])
    assert "Endpoints ring" in names(service["children"])
    job = asked(client, sample, f"tracks/{track_of(sample, 'Job', 'ring').id}")
    assert job["owner"] is None and job["children_total"] >= 10
    assert job["timeline"].startswith(f"/sources/{sample.pk}/?start=") and f"focus={job['root']}" in job["timeline"]


def test_what_it_needs_is_known_by_the_life_that_stood_when_it_began(client: Client, sample: Source) -> None:
    first, last = (track_of(sample, "Pod", "ring-weak-0", life) for life in (0, 3))
    services = [
        next(each for each in asked(client, sample, f"tracks/{pod.id}")["needs"] if each["object"]["kind"] == "Service")
        for pod in (first, last)
    ]
    assert services[0]["track"] != services[1]["track"]


def test_findings_stand_with_all_that_they_name(client: Client, sample: Source) -> None:
    service = asked(client, sample, f"tracks/{track_of(sample, 'Service', 'ring', 1).id}")
    assert {(each["rule"], each["relation"]) for each in service["findings"]} == {
        ("service-gap", "names it"),
        ("pod-before-service", "names it"),
    }
    pod = asked(client, sample, f"tracks/{track_of(sample, 'Pod', 'ring-steady-0').id}")
    assert [each["relation"] for each in pod["findings"]] == ["about it"]


def test_revisions_come_in_commit_order_page_by_page(client: Client, sample: Source) -> None:
    job = track_of(sample, "Job", "ring").id
    whole = asked(client, sample, f"tracks/{job}/revisions?limit=200")
    revisions = [int(each["resource_version"]) for each in whole["revisions"] if each["resource_version"]]
    assert revisions == sorted(set(revisions)) and whole["total"] == len(whole["revisions"]) > 10
    assert whole["revisions"][0]["change"] == "created" and whole["next"] is None
    assert {each["controller"] for each in whole["revisions"]} >= {"vc-cm-head"}
    paged, cursor = [], ""
    while cursor is not None:
        part = asked(client, sample, f"tracks/{job}/revisions?limit=7&cursor={cursor}")
        paged += part["revisions"]
        cursor = part["next"]
    assert paged == whole["revisions"]
    assert all(each["body"] is None and each["difference"] is None for each in paged)


def test_differences_of_listed_changes_are_those_of_the_timeline(client: Client, sample: Source) -> None:
    job = track_of(sample, "Job", "ring").id
    listed = asked(client, sample, f"tracks/{job}/revisions?differences=true&limit=4")["revisions"]
    for each in listed:
        beside = asked(client, sample, f"tracks/{job}/change?sequence={each['sequence']}")
        assert each["difference"] == {field: beside[field] for field in each["difference"]}
        assert each["url"] == beside["url"]
    assert listed[0]["difference"]["whole"] or listed[0]["difference"]["nothing"]


def test_entries_are_filtered_and_paged(client: Client, sample: Source) -> None:
    of_pod = asked(client, sample, "entries?namespace=vol-restart&kind=Pod&name=ring-weak-0&limit=1000")["entries"]
    assert {each["object"]["name"] for each in of_pod} == {"ring-weak-0"}
    paged, cursor = [], ""
    while cursor is not None:
        part = asked(client, sample, f"entries?namespace=vol-restart&kind=Pod&name=ring-weak-0&limit=5&cursor={cursor}")
        paged += part["entries"]
        cursor = part["next"]
    assert paged == of_pod
    window = asked(client, sample, f"entries?start={CREATED}&end={CREATED + 100_000}")["entries"]
    assert 0 < len(window) < 50
    asked(client, sample, "entries?start=2&end=1", status=422)


def test_an_object_has_a_page_with_its_lifeline_and_changes(client: Client, sample: Source) -> None:
    pod = track_of(sample, "Pod", "ring-weak-0", 1)
    page = page_text(client, f"/sources/{sample.pk}/objects/{pod.id}/")
    assert "<title>Pod ring-weak-0" in page and '<figure class="picture">' in page
    assert "Other incarnations of this name" in page and "Needs" in page and "subdomain" in page
    assert "RV 588" in page and "vc-cm-head" in page
    assert re.search(r"committed within 07:52:00\.863305 – \.\d+", page)


def test_a_page_of_changes_holds_the_moment_it_is_asked_for(client: Client, sample: Source) -> None:
    job = track_of(sample, "Job", "ring")
    last = int(job.lifeline[-1][0])
    page = page_text(client, f"/sources/{sample.pk}/objects/{job.id}/?at={last}")
    assert f"RV {job.lifeline[-1][1]}" in page
    asked_for = re.search(r'<li id="r\d+" class="asked">(.*?)</li>', page, flags=re.DOTALL)
    assert asked_for and f"RV {job.lifeline[-1][1]}" in asked_for[1]
    assert page_text(client, f"/sources/{sample.pk}/objects/{job.id}/?offset=99999999&at=x")


def test_a_finding_has_a_page_with_all_that_proves_it(client: Client, sample: Source) -> None:
    found = finding_of(sample, "service-gap", "ring-steady-0")
    page = page_text(client, f"/sources/{sample.pk}/findings/{found.identity}/")
    assert "Service ring was away 2 times, for 43–58 ms each, under Pod ring-steady-0" in page
    assert "committed within 07:52:00.841106 – .849006" in page
    assert (
        "none · ≈ 50 ms" in page and "Look-alikes that were considered" in page and "A teardown: the Pod ends" in page
    )
    order = [page.index(f"<dt>{step}</dt>") for step in ("Prevent", "Verify")]
    assert order == sorted(order)
    assert "kubectl -n vol-restart get service ring -w --output-watch-events</code><button" in page
    assert f'href="/sources/{sample.pk}/objects/{track_of(sample, "Pod", "ring-steady-0").id}/"' in page
    assert "occurrence 2 of 2" in page_text(client, f"/sources/{sample.pk}/findings/{found.identity}/?occurrence=2")
    for none in ("3", "0", "-1", "00000000199", "1" * 5000, "²", "x"):
        assert "of 2" in page_text(client, f"/sources/{sample.pk}/findings/{found.identity}/?occurrence={none}")
    assert 'href="/rules/service-gap/"' in page


def test_the_api_tells_a_finding_as_the_document_does_and_more(client: Client, sample: Source) -> None:
    found = finding_of(sample, "service-gap", "ring-steady-0")
    payload = asked(client, sample, f"findings/{found.identity}")
    assert {key: payload[key] for key in found.document} == found.document
    assert len(payload["occurrences"]) == 2 and payload["acknowledged"] is None
    assert {each["role"] for each in payload["objects"]} == {"subject", "other"}


def test_a_finding_is_acknowledged_by_its_page_and_the_note_can_be_taken_back(client: Client, sample: Source) -> None:
    found = finding_of(sample, "service-gap", "ring-steady-0")
    address = f"/sources/{sample.pk}/findings/{found.identity}/"
    long = client.post(address, {"note": "x" * 2001})
    assert long.status_code == 400 and b"2001 characters" in long.content and b"x" * 2001 in long.content
    answer = client.post(address, {"act": "acknowledge", "note": "  OPS-7 <b>known</b> "})
    assert (answer.status_code, answer.headers["Location"]) == (302, f"{address}#noted")
    page = page_text(client, address)
    assert "OPS-7 &lt;b&gt;known&lt;/b&gt;" in page and "acknowledged" in page
    listed = asked(client, sample, "findings")["findings"]
    gap = next(group for group in listed if group["rule"] == "service-gap")
    assert gap["acknowledged"] is None  # two more Pods are in the same gap
    client.post(address, {"act": "withdraw"})
    assert not Acknowledgement.objects.exists()


def test_all_that_one_row_of_the_list_tells_is_acknowledged_together(client: Client, sample: Source) -> None:
    found = finding_of(sample, "service-gap", "ring-steady-0")
    address = f"/sources/{sample.pk}/findings/{found.identity}/"
    assert "Also for ring-steady-1, -2, shown in the same row of the lists" in page_text(client, address)
    client.post(address, {"act": "acknowledge", "note": "OPS-7", "others": "on"})
    gaps = [group for group in asked(client, sample, "findings")["findings"] if group["rule"] == "service-gap"]
    assert [group["acknowledged"]["note"] for group in gaps] == ["OPS-7", "OPS-7"]
    alone = finding_of(sample, "pod-before-service", "ring-weak-0")
    assert "Also for" not in page_text(client, f"/sources/{sample.pk}/findings/{alone.identity}/")


def test_rows_of_the_list_are_acknowledged_where_all_of_their_findings_are(client: Client, sample: Source) -> None:
    rows = Finding.objects.filter(source=sample, rule="service-gap")
    for row in rows:
        answer = client.put(
            f"/api/sources/{sample.pk}/findings/{row.identity}/acknowledgement",
            {"note": row.identity},
            content_type="application/json",
        )
        assert answer.status_code == 200 and answer.json()["note"] == row.identity
    gaps = [group for group in asked(client, sample, "findings")["findings"] if group["rule"] == "service-gap"]
    assert gaps and all(group["acknowledged"] for group in gaps)
    first = f"/api/sources/{sample.pk}/findings/{rows[0].identity}/acknowledgement"
    assert client.delete(first).status_code == 204
    again = client.delete(first)
    assert (again.status_code, again.headers["Content-Type"]) == (404, "application/problem+json")


def test_what_is_not_there_is_said(client: Client, sample: Source) -> None:
    for path in ("objects/999999/", "objects/1/999999/", "findings/0000000000000000/", "findings/none/"):
        page = page_text(client, f"/sources/{sample.pk}/{path}", status=404)
        assert "There is nothing here" in page and ("no such" in page or "no body" in page)
    for path in ("tracks/999999", "tracks/999999/revisions", "findings/0000000000000000"):
        assert asked(client, sample, path, status=404)["title"].startswith("No such")


def test_the_rules_are_listed_with_their_thresholds(client: Client) -> None:
    rules = client.get("/api/rules").json()
    gap = next(each for each in rules if each["rule"] == "service-gap")
    assert gap["settings"][0]["variable"] == "CAUSELINE_RULE_SERVICE_GAP_TEARDOWN"
    assert gap["sections"][0][0] == "What it sees"


def test_coverage_tells_what_was_seen_and_what_each_rule_can_say(client: Client, sample: Source) -> None:
    payload = asked(client, sample, "coverage")
    assert len(payload["rules"]) == len(rulebook()) and len(payload["coverage"]) == len(payload["changes"])
    assert sum(payload["changes"]) == payload["entries"]
    page_of = client.get(f"/sources/{sample.pk}/coverage/").content.decode()
    assert "What each rule can say" in page_of and "pods" in page_of
    assert len(payload["links"]) == 6 and all(f">{each['title']}<" in page_of for each in payload["links"])
    assert "Nothing: every line was read and understood." in page_of
    assert client.get("/sources/999999/coverage/").status_code == 404


def test_an_acknowledgement_outlives_that_the_same_files_are_taken_in_again(client: Client, plain: Source) -> None:
    found = Finding.objects.filter(source=plain).order_by("identity")[0]
    client.post(f"/sources/{plain.pk}/findings/{found.identity}/", {"act": "acknowledge", "note": "OPS-8"})
    plain.refresh_from_db()
    import_into(plain, [(PLAIN, PLAIN.name)], Limits(), Count())
    assert asked(client, plain, f"findings/{found.identity}")["acknowledged"]["note"] == "OPS-8"
    store.discard_source(plain)
    assert not Acknowledgement.objects.exists()


def test_a_change_tells_what_became_of_the_object(client: Client, plain: Source) -> None:
    pod = Track.objects.get(source=plain, kind="Pod", name="ring-0")
    where = f"/sources/{plain.pk}/objects/{pod.id}/"
    page = page_text(client, where)
    assert '<span class="added">+   phase: Running' in page and '<span class="removed">-   phase: Pending' in page
    changes = asked(client, plain, f"tracks/{pod.id}/revisions?bodies=true")["revisions"]
    last = next(each for each in reversed(changes) if each["body"])
    assert last["body"]["metadata"]["name"] == "ring-0"
    yaml = page_text(client, f"{where}{last['sequence']}/")
    assert "kind: Pod" in yaml and "managedFields:" not in yaml
