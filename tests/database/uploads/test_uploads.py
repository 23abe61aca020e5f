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
from tests.inputs.recordings import SAMPLE
from timeline.models import Source, Upload

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("empty_uploads")]
imports = pytest.mark.django_db(transaction=True)
OCTETS = "application/octet-stream"
KUBECONFIG = b"apiVersion: v1\nclusters: []\nkind: Config\nusers: [{name: a, user: {token: pl4nted}}]\n"
WHOLE = SAMPLE.read_bytes()


def announced(client: Client, *files: tuple[str, int], name: str = "recording") -> Any:
    body = {"name": name, "files": [{"name": each, "size": size} for each, size in files]}
    return client.post("/api/uploads", json.dumps(body), "application/json")


def begun(client: Client, *files: tuple[str, int], name: str = "recording") -> int:
    answer = announced(client, *files, name=name)
    assert answer.status_code == 201, answer.content
    return int(answer.json()["id"])


def put(client: Client, upload: int, piece: bytes, offset: int | None = 0, number: int = 0, **headers: str) -> Any:
    headers |= {} if offset is None else {"Upload-Offset": str(offset)}
    return client.generic("PUT", f"/api/uploads/{upload}/files/{number}", piece, OCTETS, headers=headers)


def finish(client: Client, upload: int) -> Any:
    return client.post(f"/api/uploads/{upload}/finish", content_type=OCTETS)


def imported(client: Client, upload: int) -> Any:
    """Finish an upload and import it; return what is then said of it."""
    assert finish(client, upload).json()["state"] == "waiting"
    tasks.import_upload(upload)
    done = client.get(f"/api/uploads/{upload}").json()
    assert done["state"] == "done"
    return done


def received(client: Client, upload: int) -> list[int]:
    return [part["received"] for part in client.get(f"/api/uploads/{upload}").json()["parts"]]


def pieces(content: bytes, size: int) -> Sequence[tuple[int, bytes]]:
    return [(at, content[at : at + size]) for at in range(0, len(content), size)]


def problem(answer: Any, status: int) -> dict[str, Any]:
    assert answer.status_code == status, answer.content
    assert answer["Content-Type"] == "application/problem+json"
    payload: dict[str, Any] = json.loads(answer.content)
    return payload


def why(answer: Any, status: int) -> str:
    return str(problem(answer, status)["detail"])


def on_the_disk() -> list[str]:
    return sorted(str(path.relative_to(django_settings.UPLOAD_DIR)) for path in django_settings.UPLOAD_DIR.rglob("*"))


@imports
def test_uploads_in_pieces_at_once_are_the_recordings_that_they_are_whole(client: Client) -> None:
    uploads = [begun(client, ("volcano.jsonl.zst", len(WHOLE)), name=name) for name in ("one.jsonl.zst", "two")]
    for offset, piece in pieces(WHOLE, 30_000):
        for upload in uploads:
            answer = put(client, upload, piece, offset)
            assert (answer.status_code, answer.json()) == (200, {"received": offset + len(piece)})
    for upload in uploads:
        done = imported(client, upload)
        assert (done["entries"], done["findings"]) == (775, 10)
    assert [(source.name, source.entries) for source in Source.objects.order_by("pk")] == [("one", 775), ("two", 775)]
    assert on_the_disk() == []


@imports
def test_several_files_become_one_recording(client: Client) -> None:
    files = {f"watch/{path.name}": path.read_bytes() for path in sorted((DATA / "objects/watch").iterdir())}
    files |= {"watch/empty.log": b"", "watch/notes.txt": b"nothing of ours\n"}
    upload = begun(client, *((name, len(content)) for name, content in files.items()), name="watch")
    for number, content in reversed(list(enumerate(files.values()))):
        if content:
            assert put(client, upload, content, number=number).status_code == 200
    done = imported(client, upload)
    assert (done["files"], done["skipped"]) == (len(files), 2)
    assert "watch/empty.log: is empty" in done["skipped_examples"]
    source = Source.objects.get()
    assert (source.name, source.entries) == ("watch", done["entries"])
    assert done["entries"] > 100


def test_what_has_arrived_is_reported_and_what_follows_goes_on_from_there(client: Client) -> None:
    upload = begun(client, ("a.zst", len(WHOLE)), ("b.zst", 10))
    assert received(client, upload) == [0, 0]
    put(client, upload, WHOLE[:50_000])
    assert received(client, upload) == [50_000, 0]
    payload = client.get(f"/api/uploads/{upload}").json()
    assert (payload["state"], payload["bytes_read"], payload["bytes_total"]) == ("receiving", 50_000, len(WHOLE) + 10)
    assert [each["id"] for each in client.get("/api/uploads").json()["uploads"]] == [upload]
    for offset in (0, 49_999, 50_001, 10**15):  # the wrong places
        detail = problem(put(client, upload, WHOLE[50_000:51_000], offset), 409)
        assert detail["received"] == 50_000
        assert f"50000 bytes of a.zst have arrived; this piece begins at {offset}" in detail["detail"]
    assert received(client, upload) == [50_000, 0]
    assert put(client, upload, WHOLE[50_000:], 50_000).json() == {"received": len(WHOLE)}


def test_a_content_range_says_the_place_too(client: Client) -> None:
    upload = begun(client, ("a.log", 6))
    assert put(client, upload, b"abc", None).json() == {"received": 3}
    ranged: dict[str, Any] = {"Content-Range": "bytes 3-5/6"}
    assert put(client, upload, b"def", None, **ranged).json() == {"received": 6}
    for header in ({"Content-Range": "lines 1-2"}, {"Upload-Offset": "-1"}, {"Upload-Offset": "9" * 30}):
        problem(put(client, upload, b"x", None, 0, **header), 422)


def test_more_than_was_announced_and_what_was_not_announced_is_refused(client: Client) -> None:
    upload = begun(client, ("a.log", 3))
    assert "announced with 3 bytes" in why(put(client, upload, b"four"), 413)
    for answer in (put(client, upload, b"abc", number=1), put(client, 10**9, b"abc"), finish(client, 10**9)):
        problem(answer, 404)
    assert received(client, upload) == [0]


def test_the_end_is_believed_once_all_has_arrived_and_may_be_reported_twice(client: Client) -> None:
    upload = begun(client, ("a.zst", len(WHOLE)), ("b.log", 5))
    put(client, upload, b"12345", number=1)
    put(client, upload, WHOLE[:4])
    assert why(finish(client, upload), 409) == f"Only 4 of the {len(WHOLE)} bytes of a.zst have arrived."
    assert Upload.objects.get().state == "receiving"
    put(client, upload, WHOLE[4:], 4)
    assert [finish(client, upload).json()["state"] for _ in range(2)] == ["waiting", "waiting"]
    assert why(put(client, upload, b"more", len(WHOLE)), 409) == "All of it has arrived already."


def test_a_cancelled_upload_gives_its_space_back_and_takes_nothing_more(client: Client) -> None:
    upload = begun(client, ("a.log", 10))
    put(client, upload, b"12345")
    assert client.post(f"/api/uploads/{upload}/cancel", content_type=OCTETS).json()["state"] == "cancelled"
    assert on_the_disk() == []
    for answer in (put(client, upload, b"67890", 5), finish(client, upload)):
        assert why(answer, 409) == "It was cancelled."
    assert on_the_disk() == []


def test_what_is_too_much_is_reported_before_anything_is_sent(client: Client, settings: Settings) -> None:
    assert why(announced(client, name="empty"), 400) == "empty has no files in it."
    many = announced(client, *[("a", 0)] * (receiving.FILES + 1), name="dump")
    assert why(many, 413) == "dump has 10001 files; 10000 can be sent at a time. Pack them into an archive."
    settings.UPLOAD_LIMIT_BYTES = 100
    over = announced(client, ("a", 60), ("b", 60), name="both")
    assert why(over, 413) == "both is larger than 100 bytes. CAUSELINE_UPLOAD_LIMIT_BYTES raises the limit."
    free = shutil.disk_usage(django_settings.UPLOAD_DIR).free
    settings.UPLOAD_LIMIT_BYTES = 2 * free
    assert why(announced(client, ("a", free)), 507) == "No space left on device. Nothing of it was stored."
    assert not Upload.objects.exists()


def test_an_announcement_that_cannot_be_understood_is_a_problem(client: Client) -> None:
    file = '{"name": "a", "files": [{"name": "a", "size": %s}]}'
    for body in (
        b"", b"[]", b"{}", b'{"name": "a"}', b'{"name": "a", "files": [{"name": "a"}]}', (file % "-1").encode(),
        (file % "1e400").encode(), b'{"name": 1, "files": []}', b"\xff\xfe", b"[" * 100_000,
    ):  # fmt: skip
        problem(client.post("/api/uploads", body, "application/json"), 422)
    assert not Upload.objects.exists()


@pytest.mark.parametrize("size", [len(KUBECONFIG), 20], ids=["at once", "in small pieces"])
def test_a_kubeconfig_is_refused_as_soon_as_it_is_one(client: Client, size: int) -> None:
    upload = begun(client, ("notes.txt", len(KUBECONFIG)))
    answers = [put(client, upload, piece, offset) for offset, piece in pieces(KUBECONFIG, size)]
    assert [each.status_code for each in answers] == ([400] if size > 20 else [200, 400, 409, 409, 409])
    reported = "notes.txt is not a recording that Causeline knows: it is a kubeconfig, which holds"
    assert reported in why(answers[0 if size > 20 else 1], 400)
    assert on_the_disk() == []
    assert Upload.objects.get().state == "failed"
    assert "it was not kept" in why(finish(client, upload), 409)


def test_what_is_called_a_kubeconfig_is_not_even_asked_for(client: Client) -> None:
    for name in (
        "kubeconfig", "prod.kubeconfig", "ops/kubeconfig.yaml", "me/.kube/config", "admin.conf",
        "team-a-kubeconfig.yml",
    ):  # fmt: skip
        assert "it is a kubeconfig, which holds credentials" in why(announced(client, (name, 100)), 400)
    assert not Upload.objects.exists()


@imports
def test_a_kubeconfig_among_other_files_is_left_out_and_reported(client: Client) -> None:
    files = (("logs/a.zst", len(WHOLE)), ("logs/notes.txt", len(KUBECONFIG)), ("logs/kubeconfig", 10))
    upload = begun(client, *files, name="logs")
    assert put(client, upload, WHOLE).status_code == 200
    problem(put(client, upload, KUBECONFIG, number=1), 400)
    problem(put(client, upload, b"0123456789", number=2), 400)
    assert on_the_disk() == [str(upload), f"{upload}/0"]
    payload = client.get(f"/api/uploads/{upload}").json()
    assert ["kubeconfig" in part["refused"] for part in payload["parts"]] == [False, True, True]
    done = imported(client, upload)
    assert (done["entries"], done["skipped"]) == (775, 2)
    reported = "logs/notes.txt: it is a kubeconfig, which holds credentials; it was not kept"
    assert done["skipped_examples"][0] == reported


def test_a_kubeconfig_is_known_with_many_clusters_and_not_taken_for_a_config_map(client: Client) -> None:
    certificate = base64.b64encode(b"x" * 3_000).decode()
    cluster = f"- cluster:\n    certificate-authority-data: {certificate}\n    server: https://a\n  name: a\n"
    content = ("apiVersion: v1\nclusters:\n" + cluster * 50).encode() + b"kind: Config\n"  # more than its head shows
    upload = begun(client, ("clusters.yaml", len(content)))
    assert "it is a kubeconfig" in why(put(client, upload, content), 400)
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
        ("a\0b.log", "a\ufffdb.log"),
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


def test_pieces_come_from_our_own_pages_and_from_who_has_signed_in(client: Client, settings: Settings) -> None:
    upload, strict = begun(client, ("a.log", 3)), Client(enforce_csrf_checks=True)

    def sent(by: Client) -> list[Any]:
        return [put(by, upload, b"abc"), finish(by, upload), announced(by, ("a.log", 3))]

    for answer in sent(strict):
        problem(answer, 403)
    assert received(client, upload) == [0]
    settings.LOGIN_REQUIRED = True
    for answer in (*sent(client), client.get("/api/uploads")):
        assert problem(answer, 401)["title"] == "You are signed out"
