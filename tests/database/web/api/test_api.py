"""These tests check the HTTP API: what it answers, what it refuses, and its messages."""

import json
import re
from collections.abc import Iterator
from typing import Any

import orjson
import pytest
from django.conf import settings as django_settings
from django.contrib.staticfiles import finders
from django.test import Client
from django.utils import timezone
from pytest_django import Settings

from collectors import tasks
from collectors.uploads import receiving
from dashboard.web.api import api
from tests import stored
from tests.people import member
from tests.recordings import SAMPLE
from timeline.models import Silence, Source, Track, Upload
from timeline.storage import store

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("empty_uploads")]
OCTETS = "application/octet-stream"


def problem(answer: Any, status: int) -> str:
    """Return title and detail of a problem document with this status."""
    assert answer.status_code == status, answer.content
    assert answer["Content-Type"] == "application/problem+json"
    payload = json.loads(answer.content)
    assert payload["status"] == status
    return f"{payload['title']}: {payload['detail']}"


def post(client: Client, content: bytes, name: str = "audit.zst", **options: Any) -> Any:
    query = {"name": name}
    return client.generic("POST", "/api/uploads", content, OCTETS, query_params=query, **options)


def nothing_was_kept() -> bool:
    return not Upload.objects.exists() and not any(django_settings.UPLOAD_DIR.glob("*"))


def test_a_window_is_json(client: Client, sample: Source) -> None:
    answer = client.get(f"/api/sources/{sample.pk}/window?limit=5&namespace=vol-restart")
    assert (answer.status_code, answer["Content-Type"]) == (200, "application/json")
    payload = answer.json()
    assert (len(payload["lanes"]), payload["lanes_total"]) == (5, 16)
    job = Track.objects.get(source=sample, kind="Job", name="ring", group="batch.volcano.sh")
    scoped = client.get(f"/api/sources/{sample.pk}/window?limit=1&scope={job.root}").json()
    assert scoped["scope"] == {"kind": "Job", "namespace": "vol-restart", "name": "ring"}
    assert payload["scope"] is None


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
    assert search("%_") == search(" ") == {"objects": [], "findings": [], "actors": [], "lines": [], "more": False}


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


def test_parameters_of_a_window_are_handed_on(client: Client, sample: Source) -> None:
    where = f"/api/sources/{sample.pk}/window"
    shown = client.get(f"{where}?kinds=Pods,Services&group=kind&offset=2&limit=3").json()
    assert (len(shown["lanes"]), shown["offset"]) == (3, 2)
    assert {lane["family"] for lane in shown["lanes"]} <= {"Pods", "Services"}
    assert len(client.get(where, {"limit": 0}).json()["lanes"]) == 1
    assert len(client.get(where, {"limit": 10**6}).json()["lanes"]) == 72


def test_an_overview_is_json(client: Client, sample: Source) -> None:
    payload = client.get(f"/api/sources/{sample.pk}/overview").json()
    assert payload["severities"] == ["warning"] * 4 + ["info"] * 4


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
        {"namespace": "a\0b"},
        {"kinds": "Pods\0"},
        {"namespace": "a" * 2_000},
    ],
)
def test_a_parameter_that_cannot_be_is_a_problem(client: Client, sample: Source, parameters: dict[str, Any]) -> None:
    answer = client.get(f"/api/sources/{sample.pk}/window", parameters)
    said = problem(answer, 422)
    assert set(parameters) & set(said.replace(":", " ").split()) or "start lies after end" in said


@pytest.mark.parametrize(
    "extreme", [{"start": 0, "end": 253402300799999999}, {"start": 253402300799999999}, {"end": 0}]
)
def test_extreme_times_are_no_error(client: Client, sample: Source, extreme: dict[str, int]) -> None:
    assert client.get(f"/api/sources/{sample.pk}/window", extreme).status_code == 200


def test_an_unknown_source_is_a_problem(client: Client) -> None:
    for path in ("/api/sources/999999/window", "/api/sources/999999/overview"):
        assert problem(client.get(path), 404).startswith("No such recording")
    assert problem(client.delete("/api/sources/999999"), 404).startswith("No such recording")
    assert client.get(f"/api/sources/{10**30}/window").status_code == 422
    assert problem(client.get("/api/uploads/999999"), 404).startswith("No such upload")
    assert problem(client.post("/api/uploads/999999/cancel", content_type=OCTETS), 404).startswith("No such upload")


def test_a_recording_is_accepted_and_waits(client: Client) -> None:
    answer = post(client, SAMPLE.read_bytes())
    assert answer.status_code == 201
    payload = answer.json()
    assert (payload["name"], payload["state"]) == ("audit.zst", "waiting")
    assert payload["bytes_total"] == SAMPLE.stat().st_size
    upload = Upload.objects.get(pk=payload["id"])
    assert receiving.path_of(upload).read_bytes() == SAMPLE.read_bytes()
    assert client.get(f"/api/uploads/{upload.pk}").json() == payload


@pytest.mark.django_db(transaction=True)
def test_an_upload_becomes_a_timeline(client: Client) -> None:
    payload = post(client, SAMPLE.read_bytes()).json()
    tasks.import_upload(payload["id"])
    done = client.get(f"/api/uploads/{payload['id']}").json()
    assert (done["state"], done["entries"], done["findings"]) == ("done", 775, 10)
    assert done["url"] == f"/sources/{done['source']}/"
    assert client.get(done["url"]).status_code == 200
    assert client.get(f"/api/sources/{done['source']}/window").json()["lanes_total"] == 72


@pytest.mark.django_db(transaction=True)
def test_a_deleted_recording_leaves_nothing(client: Client) -> None:
    payload = post(client, SAMPLE.read_bytes()).json()
    tasks.import_upload(payload["id"])
    source = client.get(f"/api/uploads/{payload['id']}").json()["source"]
    assert stored.tables_of(source)
    answer = client.delete(f"/api/sources/{source}")
    assert (answer.status_code, answer.content) == (204, b"")
    assert not Source.objects.exists()
    assert client.get(f"/api/uploads/{payload['id']}").json()["url"] == ""
    Source.everything.update(delete_after=timezone.now())  # the minute is over
    tasks.remove_deleted()
    assert not stored.tables_of(source)
    assert not Source.everything.exists()
    assert client.get(f"/api/uploads/{payload['id']}").json()["url"] == ""
    assert client.delete(f"/api/sources/{source}").status_code == 404


def test_recordings_are_listed_page_by_page(client: Client, sample: Source) -> None:
    payload = client.get("/api/sources").json()
    assert [each["id"] for each in payload["sources"]] == [sample.pk]
    assert (payload["sources"][0]["entries"], payload["sources"][0]["warnings"], payload["next"]) == (775, 4, None)
    assert client.get(f"/api/sources/{sample.pk}").json() == payload["sources"][0]
    second = Source.objects.create(name="second", ready=True)
    page = client.get("/api/sources", {"limit": 1}).json()
    assert [each["name"] for each in page["sources"]] == ["second"]
    rest = client.get("/api/sources", {"limit": 1, "cursor": page["next"]}).json()
    assert ([each["id"] for each in rest["sources"]], rest["next"]) == ([sample.pk], None)
    second.delete()


def test_a_recording_is_renamed(client: Client) -> None:
    source = Source.objects.create(name="old", ready=True)
    where = f"/api/sources/{source.pk}"
    answer = client.patch(where, json.dumps({"name": "  <b>new</b> "}), "application/json")
    assert (answer.status_code, answer.json()["name"]) == (200, "<b>new</b>")
    for name in ("", "  ", "a\0b", "x" * 254, None, 5):
        assert "name" in problem(client.patch(where, json.dumps({"name": name}), "application/json"), 422)
    source.refresh_from_db()
    assert source.name == "<b>new</b>"
    unknown = client.patch("/api/sources/999999", json.dumps({"name": "a"}), "application/json")
    assert problem(unknown, 404).startswith("No such recording")


def test_a_recording_that_is_being_imported_cannot_be_deleted(client: Client) -> None:
    source = store.open_source("at work")
    assert problem(client.delete(f"/api/sources/{source.pk}"), 404)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"\x89PNG\r\n\x1a\n", "it is a PNG picture"),
        (b"<!doctype html>", "it is a web page or XML"),
        (b"", "picture.png is empty"),
        (b"apiVersion: v1\nkind: Config\nusers: [{user: {token: abc}}]", "it is a kubeconfig, which holds credentials"),
        (SAMPLE.read_bytes()[:100], "the file was cut"),
    ],
)
def test_what_is_no_recording_is_refused_and_not_kept(client: Client, content: bytes, words: str) -> None:
    said = problem(post(client, content, "picture.png"), 400)
    assert said.startswith("Not a recording: picture.png")
    assert words in said
    assert nothing_was_kept()


def test_what_is_too_large_is_refused_and_not_kept(client: Client, settings: Settings) -> None:
    settings.UPLOAD_LIMIT_BYTES = 1_000
    said = problem(post(client, SAMPLE.read_bytes()), 413)
    assert "audit.zst is larger than 1000 bytes. CAUSELINE_UPLOAD_LIMIT_BYTES raises the limit." in said
    assert nothing_was_kept()


def test_a_length_that_lies_does_not_get_round_the_limit(client: Client, settings: Settings) -> None:
    settings.UPLOAD_LIMIT_BYTES = 1_000
    assert problem(post(client, SAMPLE.read_bytes() * 20, CONTENT_LENGTH=str(2 * 10**6)), 413)
    assert nothing_was_kept()


def test_a_disk_that_cannot_be_written_is_said(client: Client, settings: Settings, tmp_path: Any) -> None:
    occupied = tmp_path / "file"
    occupied.write_text("")
    settings.UPLOAD_DIR = occupied / "uploads"
    said = problem(post(client, SAMPLE.read_bytes()), 507)
    assert "Not a directory" in said
    assert not Upload.objects.exists()


@pytest.mark.parametrize("kind", ["multipart/form-data; boundary=x", "application/x-www-form-urlencoded"])
def test_a_form_is_refused_with_the_way_to_send_a_file(client: Client, kind: str) -> None:
    answer = client.generic("POST", "/api/uploads?name=a", SAMPLE.read_bytes(), kind)
    assert "application/octet-stream" in problem(answer, 415)
    assert nothing_was_kept()


def test_a_name_is_required(client: Client) -> None:
    answer = client.generic("POST", "/api/uploads", SAMPLE.read_bytes(), OCTETS)
    assert "name" in problem(answer, 422)


@pytest.mark.parametrize(
    ("name", "kept"),
    [
        ("<img src=x onerror=alert(1)>.log", "<img src=x onerror=alert(1)>.log"),
        ("audit\u202egol.exe", "audit\u202egol.exe"),
        ("日本語 مرحبا 🎉.jsonl", "日本語 مرحبا 🎉.jsonl"),
        ("a\0b", "a\ufffdb"),
        ("x" * 300, "x" * 253),
        ("../../etc/passwd", "../../etc/passwd"),
        ("", "recording"),
    ],
)
def test_any_name_is_only_a_name(client: Client, name: str, kept: str) -> None:
    payload = post(client, SAMPLE.read_bytes(), name).json()
    assert payload["name"] == kept
    assert [file.name for file in django_settings.UPLOAD_DIR.iterdir()] == [str(payload["id"])]


@pytest.mark.django_db(transaction=True)
def test_a_name_with_markup_is_shown_as_text(client: Client) -> None:
    payload = post(client, SAMPLE.read_bytes(), "<script>alert(1)<script>.log").json()
    tasks.import_upload(payload["id"])
    for page in ("/", client.get(f"/api/uploads/{payload['id']}").json()["url"]):
        text = client.get(page).content.decode()
        assert "<script>alert" not in text
        assert "alert(1)" in text


def test_an_upload_that_waits_can_be_cancelled(client: Client) -> None:
    payload = post(client, SAMPLE.read_bytes()).json()
    answer = client.post(f"/api/uploads/{payload['id']}/cancel", content_type=OCTETS)
    assert (answer.status_code, answer.json()["state"]) == (200, "cancelled")
    assert not any(django_settings.UPLOAD_DIR.iterdir())


@pytest.fixture
def strict() -> Client:
    return Client(enforce_csrf_checks=True)


def token(client: Client) -> dict[str, str]:
    """Return the header with the CSRF token, as a page sends it."""
    client.get("/")
    return {"X-CSRFToken": client.cookies["causeline_csrf"].value}


def test_only_our_own_pages_may_upload(strict: Client) -> None:
    assert "does not come from a page of Causeline" in problem(post(strict, SAMPLE.read_bytes()), 403)
    assert nothing_was_kept()
    wrong = {**token(strict), "X-CSRFToken": "x" * 32}
    assert problem(post(strict, SAMPLE.read_bytes(), headers=wrong), 403)
    assert post(strict, SAMPLE.read_bytes(), headers=token(strict)).status_code == 201


def test_another_site_may_not_upload_even_with_a_token(strict: Client) -> None:
    headers = {**token(strict), "Origin": "https://evil.example"}
    assert problem(post(strict, SAMPLE.read_bytes(), headers=headers), 403)


def test_only_our_own_pages_may_cancel_or_delete(strict: Client, sample: Source) -> None:
    assert problem(strict.delete(f"/api/sources/{sample.pk}"), 403)
    assert problem(strict.patch(f"/api/sources/{sample.pk}", "{}", "application/json"), 403)
    assert problem(strict.post("/api/uploads/1/cancel", content_type=OCTETS), 403)
    assert strict.get(f"/api/sources/{sample.pk}/overview").status_code == 200


def test_another_host_name_is_refused(client: Client, sample: Source) -> None:
    answer = client.get(f"/api/sources/{sample.pk}/overview", headers={"Host": "rebound.example"})
    assert answer.status_code == 400


@pytest.fixture
def login(settings: Settings) -> None:
    settings.LOGIN_REQUIRED = True


def each_endpoint(client: Client, source: int) -> Iterator[Any]:
    yield client.get(f"/api/sources/{source}/window")
    yield client.get(f"/api/sources/{source}/overview")
    yield client.get(f"/api/sources/{source}")
    yield client.get("/api/sources")
    yield client.patch(f"/api/sources/{source}", "{}", "application/json")
    yield client.delete(f"/api/sources/{source}")
    yield post(client, SAMPLE.read_bytes())
    yield client.get("/api/uploads/1")
    yield client.post("/api/uploads/1/cancel", content_type=OCTETS)
    yield client.get("/api/openapi.json")


@pytest.mark.usefixtures("login")
def test_with_login_strangers_get_nothing(client: Client, sample: Source) -> None:
    for answer in list(each_endpoint(client, sample.pk))[:-1]:
        assert problem(answer, 401).startswith("You are signed out")
    assert nothing_was_kept()
    assert Source.objects.filter(pk=sample.pk).exists()


@pytest.mark.usefixtures("login")
def test_with_login_the_api_answers_strangers_itself(settings: Settings, sample: Source) -> None:
    place = settings.MIDDLEWARE.index("django.contrib.auth.middleware.AuthenticationMiddleware") + 1
    required = "django.contrib.auth.middleware.LoginRequiredMiddleware"
    settings.MIDDLEWARE = [*settings.MIDDLEWARE[:place], required, *settings.MIDDLEWARE[place:]]
    *answers, description = each_endpoint(Client(), sample.pk)
    assert [answer.status_code for answer in answers] == [401] * len(answers)
    assert description["Location"].startswith("/login/?next=/api/")
    assert nothing_was_kept()


@pytest.mark.usefixtures("login")
def test_with_login_who_signed_in_may_do_all(strict: Client, sample: Source) -> None:
    strict.force_login(member("responder", name="sre"))
    assert strict.get(f"/api/sources/{sample.pk}/overview").status_code == 200
    assert problem(post(strict, SAMPLE.read_bytes()), 403)
    assert post(strict, SAMPLE.read_bytes(), headers=token(strict)).status_code == 201


def test_the_api_describes_itself(client: Client) -> None:
    payload = client.get("/api/openapi.json").json()
    assert "/api/sources/{source_id}/window" in payload["paths"]


def _bodies(schema: Any, definitions: dict[str, Any]) -> Any:
    """Return a body that has only what a schema requires."""
    schema = definitions[schema["$ref"].rpartition("/")[2]] if "$ref" in schema else schema
    if "anyOf" in schema:
        return _bodies(schema["anyOf"][0], definitions)
    match schema.get("type"):
        case "object":
            return {name: _bodies(schema["properties"][name], definitions) for name in schema.get("required", ())}
        case "array":
            return [_bodies(schema["items"], definitions)] * schema.get("minItems", 0)
        case "string":
            return "x"
    return schema.get("minimum", 1)


def _each_operation(source: Source) -> Iterator[tuple[str, str, Any]]:
    """Yield method, address and body of each operation but those that receive alerts. It has what is required."""
    schema = api.get_openapi_schema()
    definitions = schema["components"]["schemas"]
    for path, methods in schema["paths"].items():
        for method, operation in methods.items():
            if path.startswith("/api/receivers/"):  # forms of other programs, which add fields
                continue
            address = path.replace("{source_id}", str(source.pk)).replace("{identity}", "0" * 16)
            address = re.sub(r"{\w+}", "1", address)
            content = operation.get("requestBody", {}).get("content", {}).get("application/json")
            found = content["schema"] if content else None
            all_of_them = {**definitions, **(found or {}).get("$defs", {})}
            yield method.upper(), address, None if found is None else _bodies(found, all_of_them)


def test_each_operation_refuses_what_it_does_not_know(client: Client, sample: Source) -> None:
    Silence.objects.all().delete()
    asked = 0
    for method, address, body in _each_operation(sample):
        if address == "/api/resolve":  # its parameters are the labels of an alert
            continue
        found = client.generic(method, f"{address}?namespce=a", b"", "application/json")
        assert found.status_code == 422 and "namespce" in found.json()["detail"], (method, address, found.content)
        asked += 1
        if method == "GET":
            continue
        if body is not None:
            wrong = orjson.dumps({**body, "cluster_id": 1})
            found = client.generic(method, address, wrong, "application/json")
            assert found.status_code == 422 and "cluster_id" in found.json()["detail"], (method, address, found.content)
        elif "/files/" not in address:
            found = client.generic(method, address, b'{"namespace": "a"}', "application/json")
            assert found.status_code == 422 and "takes no body" in found.json()["detail"], (method, address)
    assert asked > 60 and not Silence.objects.exists()
    assert client.get("/api/sources?namespce=a", headers={"Sec-Fetch-Site": "same-origin"}).status_code == 200


@pytest.mark.parametrize("body", [
    {"cluster": 1}, {"Rule": "x"}, {"source": True, "rule": "x"}, {"source": "1", "rule": "x"}, {"rule": 1},
    {"hours": "2", "rule": "x"}, {"hours": True, "rule": "x"}, {"rule": ["x"]}, {"reason": None, "rule": "x"},
])  # fmt: skip
def test_a_silence_with_a_field_that_is_not_meant_silences_nothing(client: Client, body: dict[str, Any]) -> None:
    found = client.post("/api/silences", {"reason": "x", **body}, "application/json")
    assert found.status_code == 422 and not Silence.objects.exists(), found.content


def test_files_of_an_announcement_have_no_other_fields_and_its_cluster_is_in_the_body(client: Client) -> None:
    files = [{"name": "a.log", "size": 1, "offset": 0}]
    found = client.post("/api/uploads", {"name": "a", "files": files}, "application/json")
    assert found.status_code == 422 and "files.0.offset" in found.json()["detail"]
    del files[0]["offset"]
    found = client.post("/api/uploads?cluster=1", {"name": "a", "files": files}, "application/json")
    assert found.status_code == 422 and "cluster" in found.json()["detail"]
