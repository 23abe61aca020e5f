"""These tests send recordings to the HTTP API in one piece: what becomes of them, and what is refused."""

from typing import Any

import pytest
from django.conf import settings as django_settings
from django.test import Client
from django.utils import timezone
from pytest_django import Settings

from collectors import tasks
from collectors.uploads import receiving
from tests.database.web.api.asking import OCTETS, nothing_was_kept, post, problem
from tests.inputs.recordings import SAMPLE
from tests.rows import stored
from timeline.models import Source, Upload

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("empty_uploads")]
CONTENT = SAMPLE.read_bytes()


def test_a_recording_is_accepted_and_waits_and_can_be_cancelled(client: Client) -> None:
    answer = post(client, CONTENT)
    assert answer.status_code == 201
    payload = answer.json()
    assert (payload["name"], payload["state"], payload["bytes_total"]) == ("audit.zst", "waiting", len(CONTENT))
    upload = Upload.objects.get(pk=payload["id"])
    assert receiving.path_of(upload).read_bytes() == CONTENT
    where = f"/api/uploads/{upload.pk}"
    assert client.get(where).json() == payload
    answer = client.post(f"{where}/cancel", content_type=OCTETS)
    assert (answer.status_code, answer.json()["state"]) == (200, "cancelled")
    assert not any(django_settings.UPLOAD_DIR.iterdir())


@pytest.mark.django_db(transaction=True)
def test_an_upload_becomes_a_timeline_and_a_deleted_recording_leaves_nothing(client: Client) -> None:
    upload = post(client, CONTENT, "<script>alert(1)<script>.log").json()["id"]
    tasks.import_upload(upload)
    done = client.get(f"/api/uploads/{upload}").json()
    assert (done["state"], done["entries"], done["findings"]) == ("done", 775, 10)
    source = done["source"]
    assert done["url"] == f"/sources/{source}/"
    for page in ("/", done["url"]):
        text = client.get(page).content.decode()
        assert "<script>alert" not in text and "alert(1)" in text
    assert client.get(f"/api/sources/{source}/window").json()["lanes_total"] == 72
    assert stored.tables_of(source)
    answer = client.delete(f"/api/sources/{source}")
    assert (answer.status_code, answer.content) == (204, b"")
    assert not Source.objects.exists()
    assert client.get(f"/api/uploads/{upload}").json()["url"] == ""
    Source.everything.update(delete_after=timezone.now())  # the minute is over
    tasks.remove_deleted()
    assert not stored.tables_of(source)
    assert not Source.everything.exists()
    assert client.get(f"/api/uploads/{upload}").json()["url"] == ""
    assert client.delete(f"/api/sources/{source}").status_code == 404


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"\x89PNG\r\n\x1a\n", "it is a PNG picture"),
        (b"<!doctype html>", "it is a web page or XML"),
        (b"", "picture.png is empty"),
        (b"apiVersion: v1\nkind: Config\nusers: [{user: {token: abc}}]", "it is a kubeconfig, which holds credentials"),
        (CONTENT[:100], "the file was cut"),
    ],
)
def test_what_is_no_recording_is_refused_and_not_kept(client: Client, content: bytes, words: str) -> None:
    said = problem(post(client, content, "picture.png"), 400)
    assert said.startswith("Not a recording: picture.png") and words in said
    assert nothing_was_kept()


def test_what_is_too_large_is_refused_and_not_kept(client: Client, settings: Settings) -> None:
    settings.UPLOAD_LIMIT_BYTES = 1_000
    said = problem(post(client, CONTENT), 413)
    assert "audit.zst is larger than 1000 bytes. CAUSELINE_UPLOAD_LIMIT_BYTES raises the limit." in said
    lying = post(client, CONTENT * 20, CONTENT_LENGTH=str(2 * 10**6))
    assert problem(lying, 413) and nothing_was_kept()


def test_a_disk_that_cannot_be_written_is_said(client: Client, settings: Settings, tmp_path: Any) -> None:
    occupied = tmp_path / "file"
    occupied.write_text("")
    settings.UPLOAD_DIR = occupied / "uploads"
    assert "Not a directory" in problem(post(client, CONTENT), 507)
    assert not Upload.objects.exists()


@pytest.mark.parametrize("kind", ["multipart/form-data; boundary=x", "application/x-www-form-urlencoded"])
def test_a_form_is_refused_with_the_way_to_send_a_file(client: Client, kind: str) -> None:
    answer = client.generic("POST", "/api/uploads?name=a", CONTENT, kind)
    assert OCTETS in problem(answer, 415)
    assert nothing_was_kept()


@pytest.mark.parametrize(
    ("name", "kept"),
    [
        ("<img src=x onerror=alert(1)>.log", "<img src=x onerror=alert(1)>.log"),
        ("日本語 مرحبا 🎉.jsonl", "日本語 مرحبا 🎉.jsonl"),
        ("a\0b", "a\ufffdb"),
        ("x" * 300, "x" * 253),
        ("../../etc/passwd", "../../etc/passwd"),
        ("", "recording"),
    ],
)
def test_any_name_is_only_a_name(client: Client, name: str, kept: str) -> None:
    payload = post(client, CONTENT, name).json()
    assert payload["name"] == kept
    assert [file.name for file in django_settings.UPLOAD_DIR.iterdir()] == [str(payload["id"])]


def test_a_name_is_required_and_there_are_no_fields_but_the_known_ones(client: Client) -> None:
    assert "name" in problem(client.generic("POST", "/api/uploads", CONTENT, OCTETS), 422)
    file = {"name": "a.log", "size": 1}
    for query, more, field in (("", {"offset": 0}, "files.0.offset"), ("?cluster=1", {}, "cluster")):
        body = {"name": "a", "files": [{**file, **more}]}
        assert field in problem(client.post(f"/api/uploads{query}", body, "application/json"), 422)
