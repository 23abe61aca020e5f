"""These tests upload in pieces: what has arrived stays, what is missing is reported, and what is not allowed is
refused."""

import base64
import json
import shutil
from collections.abc import Sequence
from typing import Any

import pytest
from django.conf import settings as django_settings
from django.test import Client
from pytest_django import Settings

from collectors import tasks
from collectors.uploads import receiving
from tests import DATA
from tests.recordings import SAMPLE
from timeline.models import Source, Upload

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("empty_uploads")]
OCTETS = "application/octet-stream"
KUBECONFIG = b"apiVersion: v1\nclusters: []\nkind: Config\nusers: [{name: a, user: {token: pl4nted}}]\n"
WATCH = DATA / "objects/watch"


def announced(client: Client, *files: tuple[str, int], name: str = "recording") -> Any:
    body = {"name": name, "files": [{"name": each, "size": size} for each, size in files]}
    return client.post("/api/uploads", json.dumps(body), "application/json")


def begun(client: Client, *files: tuple[str, int], name: str = "recording") -> int:
    answer = announced(client, *files, name=name)
    assert answer.status_code == 201, answer.content
    return int(answer.json()["id"])


def put(client: Client, upload: int, piece: bytes, offset: int = 0, number: int = 0) -> Any:
    where = f"/api/uploads/{upload}/files/{number}"
    return client.generic("PUT", where, piece, OCTETS, headers={"Upload-Offset": str(offset)})


def finish(client: Client, upload: int) -> Any:
    return client.post(f"/api/uploads/{upload}/finish", content_type=OCTETS)


def received(client: Client, upload: int) -> list[int]:
    return [part["received"] for part in client.get(f"/api/uploads/{upload}").json()["parts"]]


def pieces(content: bytes, size: int) -> Sequence[tuple[int, bytes]]:
    return [(at, content[at : at + size]) for at in range(0, len(content), size)]


def problem(answer: Any, status: int) -> dict[str, Any]:
    assert answer.status_code == status, answer.content
    assert answer["Content-Type"] == "application/problem+json"
    payload: dict[str, Any] = json.loads(answer.content)
    return payload


def on_the_disk() -> list[str]:
    return sorted(str(path.relative_to(django_settings.UPLOAD_DIR)) for path in django_settings.UPLOAD_DIR.rglob("*"))


def test_a_file_in_pieces_is_the_recording_that_it_is_whole(client: Client) -> None:
    content = SAMPLE.read_bytes()
    upload = begun(client, ("volcano.jsonl.zst", len(content)), name="volcano.jsonl.zst")
    for offset, piece in pieces(content, 20_000):
        answer = put(client, upload, piece, offset)
        assert (answer.status_code, answer.json()) == (200, {"received": offset + len(piece)})
    assert finish(client, upload).json()["state"] == "waiting"
    tasks.import_upload(upload)
    done = client.get(f"/api/uploads/{upload}").json()
    assert (done["state"], done["entries"], done["findings"]) == ("done", 775, 10)
    assert on_the_disk() == []


def test_several_files_become_one_recording(client: Client) -> None:
    files = {f"watch/{path.name}": path.read_bytes() for path in sorted(WATCH.iterdir())}
    files["watch/empty.log"] = b""
    files["watch/notes.txt"] = b"nothing of ours\n"
    upload = begun(client, *((name, len(content)) for name, content in files.items()), name="watch")
    for number, content in reversed(list(enumerate(files.values()))):
        if content:
            assert put(client, upload, content, number=number).status_code == 200
    assert finish(client, upload).status_code == 200
    tasks.import_upload(upload)
    done = client.get(f"/api/uploads/{upload}").json()
    assert (done["state"], done["files"], done["skipped"]) == ("done", len(files), 2)
    assert "watch/empty.log: is empty" in done["skipped_examples"]
    source = Source.objects.get()
    assert (source.name, source.entries) == ("watch", done["entries"])
    assert done["entries"] > 100


def test_what_has_arrived_is_told_and_what_follows_goes_on_from_there(client: Client) -> None:
    content = SAMPLE.read_bytes()
    upload = begun(client, ("a.zst", len(content)), ("b.zst", 10))
    assert received(client, upload) == [0, 0]
    put(client, upload, content[:50_000])
    assert received(client, upload) == [50_000, 0]
    payload = client.get(f"/api/uploads/{upload}").json()
    assert (payload["state"], payload["bytes_read"], payload["bytes_total"]) == ("receiving", 50_000, len(content) + 10)
    listed = client.get("/api/uploads").json()["uploads"]
    assert [each["id"] for each in listed] == [upload]
    assert put(client, upload, content[50_000:], 50_000).json() == {"received": len(content)}


@pytest.mark.parametrize("offset", [0, 999, 1_001, 10**15])
def test_a_piece_at_the_wrong_place_is_refused_with_the_right_one(client: Client, offset: int) -> None:
    content = SAMPLE.read_bytes()
    upload = begun(client, ("a.zst", len(content)))
    put(client, upload, content[:1_000])
    detail = problem(put(client, upload, content[1_000:2_000], offset), 409)
    assert detail["received"] == 1_000
    assert f"1000 bytes of a.zst have arrived; this piece begins at {offset}" in detail["detail"]
    assert received(client, upload) == [1_000]


def test_a_content_range_says_the_place_too(client: Client) -> None:
    upload = begun(client, ("a.log", 6))
    where = f"/api/uploads/{upload}/files/0"
    assert client.generic("PUT", where, b"abc", OCTETS).json() == {"received": 3}
    ranged = client.generic("PUT", where, b"def", OCTETS, headers={"Content-Range": "bytes 3-5/6"})
    assert ranged.json() == {"received": 6}
    for header in ({"Content-Range": "lines 1-2"}, {"Upload-Offset": "-1"}, {"Upload-Offset": "9" * 30}):
        assert problem(client.generic("PUT", where, b"x", OCTETS, headers=header), 422)


def test_more_than_was_announced_is_refused(client: Client) -> None:
    upload = begun(client, ("a.log", 3))
    assert "announced with 3 bytes" in problem(put(client, upload, b"four"), 413)["detail"]
    assert received(client, upload) == [0]


def test_the_end_is_not_believed_before_all_has_arrived(client: Client) -> None:
    upload = begun(client, ("a.log", 10), ("b.log", 5))
    put(client, upload, b"12345", number=1)
    put(client, upload, b"1234")
    assert problem(finish(client, upload), 409)["detail"] == "Only 4 of the 10 bytes of a.log have arrived."
    assert Upload.objects.get().state == "receiving"


def test_the_end_may_be_told_twice(client: Client) -> None:
    content = SAMPLE.read_bytes()
    upload = begun(client, ("a.zst", len(content)))
    put(client, upload, content)
    assert finish(client, upload).json()["state"] == "waiting"
    assert finish(client, upload).json()["state"] == "waiting"
    assert problem(put(client, upload, b"more", len(content)), 409)["detail"] == "All of it has arrived already."


def test_two_uploads_at_once_do_not_mix(client: Client) -> None:
    content = SAMPLE.read_bytes()
    one, two = (begun(client, ("a.zst", len(content)), name=name) for name in ("one", "two"))
    for offset, piece in pieces(content, 30_000):
        assert put(client, one, piece, offset).status_code == put(client, two, piece, offset).status_code == 200
    for upload in (one, two):
        assert finish(client, upload).status_code == 200
        tasks.import_upload(upload)
    assert [(source.name, source.entries) for source in Source.objects.order_by("pk")] == [("one", 775), ("two", 775)]


def test_a_cancelled_upload_gives_its_space_back_and_takes_nothing_more(client: Client) -> None:
    upload = begun(client, ("a.log", 10))
    put(client, upload, b"12345")
    assert client.post(f"/api/uploads/{upload}/cancel", content_type=OCTETS).json()["state"] == "cancelled"
    assert on_the_disk() == []
    assert problem(put(client, upload, b"67890", 5), 409)["detail"] == "It was cancelled."
    assert problem(finish(client, upload), 409)["detail"] == "It was cancelled."
    assert on_the_disk() == []


def test_the_limit_holds_over_all_files_and_is_told_before_anything_is_sent(client: Client, settings: Settings) -> None:
    settings.UPLOAD_LIMIT_BYTES = 100
    detail = problem(announced(client, ("a", 60), ("b", 60), name="both"), 413)
    assert detail["detail"] == "both is larger than 100 bytes. CAUSELINE_UPLOAD_LIMIT_BYTES raises the limit."
    assert not Upload.objects.exists()


def test_a_disk_without_room_is_told_before_anything_is_sent(client: Client, settings: Settings) -> None:
    free = shutil.disk_usage(django_settings.UPLOAD_DIR).free
    settings.UPLOAD_LIMIT_BYTES = 2 * free
    detail = problem(announced(client, ("a", free)), 507)
    assert detail["detail"] == "No space left on device. Nothing of it was stored."
    assert not Upload.objects.exists()


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"[]",
        b"{}",
        b'{"name": "a"}',
        b'{"name": "a", "files": [{"name": "a"}]}',
        b'{"name": "a", "files": [{"name": "a", "size": -1}]}',
        b'{"name": "a", "files": [{"name": "a", "size": 1e400}]}',
        b'{"name": 1, "files": []}',
        b"\xff\xfe",
        b"[" * 100_000,
    ],
)
def test_an_announcement_that_cannot_be_understood_is_a_problem(client: Client, body: bytes) -> None:
    problem(client.post("/api/uploads", body, "application/json"), 422)
    assert not Upload.objects.exists()


def test_an_announcement_of_nothing_or_of_too_many_files_is_refused(client: Client) -> None:
    assert problem(announced(client, name="empty"), 400)["detail"] == "empty has no files in it."
    many = problem(announced(client, *[("a", 0)] * (receiving.FILES + 1), name="dump"), 413)
    assert many["detail"] == "dump has 10001 files; 10000 can be sent at a time. Pack them into an archive."


def test_a_kubeconfig_is_refused_before_a_byte_of_it_is_written(client: Client) -> None:
    upload = begun(client, ("notes.txt", len(KUBECONFIG)))
    detail = problem(put(client, upload, KUBECONFIG), 400)
    assert "notes.txt is not a recording that Causeline knows: it is a kubeconfig, which holds" in detail["detail"]
    assert on_the_disk() == []
    assert Upload.objects.get().state == "failed"
    assert "it was not kept" in problem(finish(client, upload), 409)["detail"]


def test_a_kubeconfig_in_small_pieces_is_refused_as_soon_as_it_is_one(client: Client) -> None:
    upload = begun(client, ("notes.txt", len(KUBECONFIG)))
    answers = [put(client, upload, piece, offset).status_code for offset, piece in pieces(KUBECONFIG, 20)]
    assert answers == [200, 400, 409, 409, 409]
    assert on_the_disk() == []


@pytest.mark.parametrize(
    "name",
    ["kubeconfig", "prod.kubeconfig", "ops/kubeconfig.yaml", "me/.kube/config", "admin.conf", "team-a-kubeconfig.yml"],
)
def test_what_is_called_a_kubeconfig_is_not_even_asked_for(client: Client, name: str) -> None:
    detail = problem(announced(client, (name, 100)), 400)
    assert "it is a kubeconfig, which holds credentials" in detail["detail"]
    assert not Upload.objects.exists()


def test_a_kubeconfig_among_other_files_is_left_out_and_told(client: Client) -> None:
    content = SAMPLE.read_bytes()
    upload = begun(
        client, ("logs/a.zst", len(content)), ("logs/notes.txt", len(KUBECONFIG)), ("logs/kubeconfig", 10), name="logs"
    )
    assert put(client, upload, content).status_code == 200
    assert problem(put(client, upload, KUBECONFIG, number=1), 400)
    assert problem(put(client, upload, b"0123456789", number=2), 400)
    assert on_the_disk() == [str(upload), f"{upload}/0"]
    payload = client.get(f"/api/uploads/{upload}").json()
    assert ["kubeconfig" in part["refused"] for part in payload["parts"]] == [False, True, True]
    assert finish(client, upload).status_code == 200
    tasks.import_upload(upload)
    done = client.get(f"/api/uploads/{upload}").json()
    assert (done["state"], done["entries"], done["skipped"]) == ("done", 775, 2)
    assert done["skipped_examples"][0] == (
        "logs/notes.txt: it is a kubeconfig, which holds credentials; it was not kept"
    )


def test_a_kubeconfig_with_more_clusters_than_its_head_shows_is_known_all_the_same(client: Client) -> None:
    certificate = base64.b64encode(b"x" * 3_000).decode()
    cluster = f"- cluster:\n    certificate-authority-data: {certificate}\n    server: https://a\n  name: a\n"
    content = ("apiVersion: v1\nclusters:\n" + cluster * 50).encode() + b"kind: Config\n"
    upload = begun(client, ("clusters.yaml", len(content)))
    assert "it is a kubeconfig" in problem(put(client, upload, content), 400)["detail"]


def test_a_config_map_that_carries_a_kubeconfig_is_no_kubeconfig(client: Client) -> None:
    content = b"""apiVersion: v1
data:
  kubeconfig: |
    clusters:
    - cluster:
        certificate-authority-data: LS0t
kind: ConfigMap
"""
    upload = begun(client, ("configmaps.yaml", len(content)))
    assert put(client, upload, content).status_code == 200


@pytest.mark.parametrize(
    ("name", "kept"),
    [
        ("../../etc/passwd", "../../etc/passwd"),
        ("<img src=x onerror=alert(1)>.log", "<img src=x onerror=alert(1)>.log"),
        ("a\0b.log", "a\ufffdb.log"),
        ("\u202egol.exe", "\u202egol.exe"),
        ("🎉" * 200 + ".log", "🎉" * 200 + ".log"),
        ("x" * 600, "x" * 500),
        ("", "recording"),
    ],
)
def test_the_name_of_a_file_is_only_a_name(client: Client, name: str, kept: str) -> None:
    upload = begun(client, (name, 3), name=name)
    assert put(client, upload, b"abc").status_code == 200
    payload = client.get(f"/api/uploads/{upload}").json()
    assert (payload["parts"][0]["name"], payload["name"]) == (kept, kept[:253])
    assert on_the_disk() == [str(upload), f"{upload}/0"]


def test_a_file_that_was_not_announced_is_a_problem(client: Client) -> None:
    upload = begun(client, ("a.log", 3))
    assert problem(put(client, upload, b"abc", number=1), 404)
    assert problem(put(client, 10**9, b"abc"), 404)
    assert problem(finish(client, 10**9), 404)


def test_pieces_come_from_our_own_pages_only(client: Client) -> None:
    upload = begun(client, ("a.log", 3))
    strict = Client(enforce_csrf_checks=True)
    assert problem(put(strict, upload, b"abc"), 403)
    assert problem(finish(strict, upload), 403)
    assert problem(announced(strict, ("a.log", 3)), 403)
    assert received(client, upload) == [0]


def test_with_login_strangers_send_nothing(client: Client, settings: Settings) -> None:
    upload = begun(client, ("a.log", 3))
    settings.LOGIN_REQUIRED = True
    answers = [
        announced(client, ("a", 1)),
        put(client, upload, b"a"),
        finish(client, upload),
        client.get("/api/uploads"),
    ]
    for answer in answers:
        assert problem(answer, 401)["title"] == "You are signed out"
