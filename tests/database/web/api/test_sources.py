"""These tests ask the HTTP API for recordings and their timelines, and rename them."""

import json
from typing import Any

import pytest
from django.contrib.staticfiles import finders
from django.test import Client

from tests.database.web.api.asking import OCTETS, problem
from timeline.models import Source, Track
from timeline.storage import store

pytestmark = pytest.mark.django_db


def test_a_window_is_json(client: Client, sample: Source) -> None:
    where = f"/api/sources/{sample.pk}/window"
    answer = client.get(f"{where}?limit=5&namespace=vol-restart")
    assert (answer.status_code, answer["Content-Type"]) == (200, "application/json")
    payload = answer.json()
    assert (len(payload["lanes"]), payload["lanes_total"], payload["scope"]) == (5, 16, None)
    job = Track.objects.get(source=sample, kind="Job", name="ring", group="batch.volcano.sh")
    scoped = client.get(f"{where}?limit=1&scope={job.root}").json()
    assert scoped["scope"] == {"kind": "Job", "namespace": "vol-restart", "name": "ring"}
    shown = client.get(f"{where}?kinds=Pods,Services&group=kind&offset=2&limit=3").json()
    assert (len(shown["lanes"]), shown["offset"]) == (3, 2)
    assert {lane["family"] for lane in shown["lanes"]} <= {"Pods", "Services"}
    assert len(client.get(where, {"limit": 0}).json()["lanes"]) == 1
    assert len(client.get(where, {"limit": 10**6}).json()["lanes"]) == 72
    overview = client.get(f"/api/sources/{sample.pk}/overview").json()
    assert overview["severities"] == ["warning"] * 4 + ["info"] * 4


def test_findings_come_page_by_page(client: Client, sample: Source) -> None:
    where = f"/api/sources/{sample.pk}/findings?limit=5"
    first = client.get(where).json()
    rest = client.get(f"{where}&cursor={first['next']}").json()
    assert (len(first["findings"]), len(rest["findings"]), first["total"], rest["next"]) == (5, 4, 9, None)
    keys = [row["key"] for row in [*first["findings"], *rest["findings"]]]
    assert len(set(keys)) == 9
    assert client.get(f"{where}&key={keys[5]}").json()["findings"][0]["key"] == keys[5]
    assert [row["rule"] for row in client.get(f"{where}&rule=service-gap").json()["findings"]] == ["service-gap"] * 2
    assert client.get(f"{where}&namespace=default").json()["total"] == 0
    assert "cursor" in problem(client.get(f"{where}&cursor=3"), 422)


def test_objects_and_findings_are_found_by_words(client: Client, sample: Source) -> None:
    def search(words: str) -> Any:
        return client.get(f"/api/sources/{sample.pk}/search", query_params={"q": words}).json()

    found = search("ring")
    assert found["objects"][0]["name"] == "ring"
    assert {row["rule"] for row in found["findings"]} >= {"service-gap"}
    (weak,) = [each for each in search("pod vol-restart/ring-weak")["objects"] if each["kind"] == "Pod"]
    assert (weak["name"], weak["url"]) == ("ring-weak-0", f"/sources/{sample.pk}/objects/{weak['track']}/")
    nothing = {"objects": [], "findings": [], "actors": [], "lines": [], "more": False, "filter": None, "wrong": ""}
    assert search("%_") == search(" ") == nothing


def test_what_was_fetched_before_is_not_sent_again(client: Client, sample: Source) -> None:
    where = f"/api/sources/{sample.pk}/window?limit=5"
    etag = client.get(where)["ETag"]
    again = client.get(where, headers={"If-None-Match": etag})
    assert (again.status_code, again.content, again["ETag"]) == (304, b"", etag)
    assert client.get(f"{where}&offset=1", headers={"If-None-Match": etag}).status_code == 200


def test_the_api_documents_itself(client: Client) -> None:
    assert b"ninja/swagger-ui-bundle.js" in client.get("/api/docs").content
    assert finders.find("ninja/swagger-ui-bundle.js")
    payload = client.get("/api/openapi.json").json()
    answer = payload["paths"]["/api/sources/{source_id}/window"]["get"]["responses"]["200"]
    assert answer["content"]["application/json"]["schema"]["$ref"].endswith("/WindowPayload")


@pytest.mark.parametrize(
    "parameters",
    [
        {"start": "yesterday"},
        {"start": -1},
        {"end": 10**30},
        {"start": 2, "end": 1},
        {"offset": -1},
        {"offset": 10**30},
        {"limit": "many"},
        {"focus": 10**30},
        {"group": "colour"},
        {"kinds": "Pods\0"},
        {"namespace": "a\0b"},
        {"namespace": "a" * 2_000},
    ],
    ids=str,
)
def test_a_parameter_that_cannot_be_is_a_problem(client: Client, sample: Source, parameters: dict[str, Any]) -> None:
    said = problem(client.get(f"/api/sources/{sample.pk}/window", parameters), 422)
    assert set(parameters) & set(said.replace(":", " ").split()) or "start lies after end" in said


def test_extreme_times_are_no_error(client: Client, sample: Source) -> None:
    latest = 253402300799999999
    for extreme in ({"start": 0, "end": latest}, {"start": latest}, {"end": 0}):
        assert client.get(f"/api/sources/{sample.pk}/window", extreme).status_code == 200


def test_what_is_unknown_is_a_problem(client: Client) -> None:
    imported = store.open_source("at work")
    for answer, words in (
        (client.get("/api/sources/999999/window"), "No such recording"),
        (client.get("/api/sources/999999/overview"), "No such recording"),
        (client.delete("/api/sources/999999"), "No such recording"),
        (client.delete(f"/api/sources/{imported.pk}"), "No such recording"),  # it is being imported
        (client.patch("/api/sources/999999", json.dumps({"name": "a"}), "application/json"), "No such recording"),
        (client.get("/api/uploads/999999"), "No such upload"),
        (client.post("/api/uploads/999999/cancel", content_type=OCTETS), "No such upload"),
    ):
        assert problem(answer, 404).startswith(words)
    assert client.get(f"/api/sources/{10**30}/window").status_code == 422


def test_recordings_are_listed_page_by_page(client: Client, sample: Source) -> None:
    payload = client.get("/api/sources").json()
    assert [each["id"] for each in payload["sources"]] == [sample.pk]
    assert (payload["sources"][0]["entries"], payload["sources"][0]["warnings"], payload["next"]) == (775, 4, None)
    assert client.get(f"/api/sources/{sample.pk}").json() == payload["sources"][0]
    Source.objects.create(name="second", ready=True)
    page = client.get("/api/sources", {"limit": 1}).json()
    assert [each["name"] for each in page["sources"]] == ["second"]
    rest = client.get("/api/sources", {"limit": 1, "cursor": page["next"]}).json()
    assert ([each["id"] for each in rest["sources"]], rest["next"]) == ([sample.pk], None)


def test_a_recording_is_renamed(client: Client) -> None:
    source = Source.objects.create(name="old", ready=True)

    def renamed(name: Any) -> Any:
        return client.patch(f"/api/sources/{source.pk}", json.dumps({"name": name}), "application/json")

    answer = renamed("  <b>new</b> ")
    assert (answer.status_code, answer.json()["name"]) == (200, "<b>new</b>")
    for name in ("", "  ", "a\0b", "x" * 254, None, 5):
        assert "name" in problem(renamed(name), 422)
    source.refresh_from_db()
    assert source.name == "<b>new</b>"
