"""These tests send a running server bodies that are too long, too slow, cut off, not allowed, or too large for the
disk."""

import resource
import socket
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from tests.clients.visitor import Visitor
from tests.inputs.recordings import SAMPLE
from tests.servers.running import TOKEN, Running, running

MIB = 1024**2
LIMIT = 48 * MIB
JSON_LIMIT = 2 * MIB


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    folder = tmp_path_factory.mktemp("site")
    with running(folder, "web", CAUSELINE_UPLOAD_LIMIT_BYTES=str(LIMIT)) as started:
        yield started


@pytest.fixture
def visitor(site: Running) -> Visitor:
    return Visitor(site.address)


def begun(site: Running, what: str, *headers: str) -> socket.socket:
    """Return a connection on which the head of a request was sent, and no body."""
    host = urlsplit(site.address).netloc
    line = socket.create_connection(("127.0.0.1", site.port), timeout=20)
    line.sendall("\r\n".join([f"{what} HTTP/1.1", f"Host: {host}", *headers, "", ""]).encode())
    return line


EXPECT, KNOWN = "Expect: 100-continue", f"Authorization: Bearer {TOKEN}"


def kept(site: Running) -> list[str]:
    uploads = site.data / "uploads"
    return sorted(str(path.relative_to(uploads)) for path in uploads.rglob("*")) if uploads.exists() else []


@contextmanager
def a_disk_that_is_full(site: Running) -> Iterator[None]:
    """Run the context while no file of the server can grow beyond one megabyte."""
    process = site.processes["web"].pid
    before = resource.prlimit(process, resource.RLIMIT_FSIZE, (MIB, resource.RLIM_INFINITY))
    try:
        yield
    finally:
        resource.prlimit(process, resource.RLIMIT_FSIZE, before)


def test_a_piece_that_the_disk_does_not_take_ends_its_upload_and_gives_its_space_back(
    site: Running, visitor: Visitor
) -> None:
    upload = visitor.begin(("a.log", 3 * MIB))["id"]
    assert visitor.put(upload, b"x" * (MIB // 2))[0] == 200
    with a_disk_that_is_full(site):
        status, body = visitor.put(upload, b"x" * MIB, MIB // 2)
        assert (status, body["detail"]) == (507, "File too large. Nothing of it was stored.")
        assert kept(site) == []
        assert visitor.ask("GET", f"/api/uploads/{upload}")[1]["state"] == "failed"
        assert visitor.ask("GET", "/healthz") == (200, b"ok")
    status, body = visitor.ask("POST", "/api/uploads?name=a.zst", SAMPLE.read_bytes())
    assert (status, body["state"]) == (201, "waiting")
    visitor.ask("POST", f"/api/uploads/{body['id']}/cancel")


def test_a_file_that_the_disk_does_not_take_whole_leaves_nothing(site: Running, visitor: Visitor) -> None:
    with a_disk_that_is_full(site):
        for size in (2 * MIB, 12 * MIB):  # the second one is refused before the API sees it
            status, body = visitor.ask("POST", "/api/uploads?name=a.log", b'{"auditID":"a"}\n' * (size // 16))
            assert (status, body["detail"]) == (507, "File too large. Nothing of it was stored.")
    assert kept(site) == []
    assert visitor.ask("GET", "/api/uploads")[1] == {"uploads": []}


def test_what_is_too_long_or_a_stranger_s_is_refused_before_it_is_sent(site: Running) -> None:
    json, form = "application/json", "multipart/form-data; boundary=x"
    with begun(site, "POST /api/uploads?name=a", EXPECT, f"Content-Length: {20 * MIB}") as line:
        assert b"HTTP/1.1 401" in line.recv(MIB)
    for what, length, more in (
        ("POST /api/uploads?name=a", LIMIT + 1, ""),
        ("PUT /api/uploads/1/files/0", 33 * MIB, ""),
        ("POST /api/uploads", JSON_LIMIT + 1, json),
        ("POST /api/uploads", JSON_LIMIT + 1, ""),
        ("POST /api/uploads?other=name", JSON_LIMIT + 1, json),
        ("POST /api/uploads/", JSON_LIMIT + 1, json),
        ("POST /api/uploads/1/finish", JSON_LIMIT + 1, json),
        ("PUT /api/uploads/1/files/0/", JSON_LIMIT + 1, json),
        ("POST /api/uploads/1/files/0", JSON_LIMIT + 1, json),
        ("PATCH /api/sources/1", JSON_LIMIT + 1, json),
        ("POST /clusters/", JSON_LIMIT + 1, form),
        ("POST /login/", JSON_LIMIT + 1, form),
        ("GET /api/sources", JSON_LIMIT + 1, json),
        ("POST /nowhere", JSON_LIMIT + 1, json),
    ):
        kind = [f"Content-Type: {more}"] if more else []
        with begun(site, what, EXPECT, f"Content-Length: {length}", *kind) as line:
            assert b"HTTP/1.1 413" in line.recv(MIB), what


def test_json_of_88_megabytes_costs_no_memory(site: Running, visitor: Visitor) -> None:
    def held() -> int:
        status = Path(f"/proc/{site.processes['web'].pid}/status").read_text()
        return int(status.partition("VmHWM:")[2].split()[0]) * 1024

    before = held()
    body = b'{"name": "a", "files": [' + b'{"name": "a", "size": 1},' * 3_500_000
    pieces = (body[at : at + MIB] for at in range(0, len(body), MIB))  # chunks, which tell no length
    for each in (body, pieces):
        with suppress(ConnectionError):
            assert visitor.ask("POST", "/api/uploads", each, Content_Type="application/json")[0] == 413
    assert held() - before < 30 * MIB
    sample = SAMPLE.read_bytes()
    pieces = (sample[at : at + 10_000] for at in range(0, len(sample), 10_000))
    status, answer = visitor.ask("POST", "/api/uploads?name=a.zst", pieces)
    assert (status, answer["bytes_total"]) == (201, len(sample))
    visitor.ask("POST", f"/api/uploads/{answer['id']}/cancel")


def test_chunks_without_end_are_refused_at_the_limit(site: Running) -> None:
    with begun(site, "POST /api/uploads?name=a", EXPECT, KNOWN, "Transfer-Encoding: chunked") as line:
        chunk = b"100000\r\n" + b"x" * MIB + b"\r\n"
        with pytest.raises(ConnectionError):
            for _ in range(400):
                line.sendall(chunk)
            pytest.fail("all of it was taken")
    assert kept(site) == []


def test_a_connection_that_is_cut_in_a_piece_leaves_what_was_there(site: Running, visitor: Visitor) -> None:
    upload = visitor.begin(("a.log", 3 * MIB))["id"]
    visitor.put(upload, b"x" * 1000)
    with begun(site, f"PUT /api/uploads/{upload}/files/0", f"Content-Length: {MIB}", KNOWN) as line:
        line.sendall(b"x" * 5000)
    time.sleep(0.3)
    assert visitor.ask("GET", f"/api/uploads/{upload}")[1]["parts"][0]["received"] == 1000
    assert visitor.put(upload, b"y" * 1000, 1000) == (200, {"received": 2000})
    visitor.ask("POST", f"/api/uploads/{upload}/cancel")


def test_of_pieces_for_one_place_that_come_at_once_one_is_taken(site: Running, visitor: Visitor) -> None:
    upload = visitor.begin(("a.log", 3 * MIB))["id"]
    with ThreadPoolExecutor(6) as pool:
        answers = list(pool.map(lambda letter: visitor.put(upload, letter.encode() * MIB), "abcdef"))
    assert sorted(status for status, _ in answers) == [200, 409, 409, 409, 409, 409]
    content = (site.data / f"uploads/{upload}/0").read_bytes()
    assert (len(content), len(set(content))) == (MIB, 1)
    visitor.ask("POST", f"/api/uploads/{upload}/cancel")


def test_a_kubeconfig_is_nowhere(site: Running, visitor: Visitor) -> None:
    secret = b"pl4nted-t0ken"
    content = b"apiVersion: v1\nkind: Config\nusers:\n- user: {token: " + secret + b"}\n" + b"# more\n" * 800_000
    status, body = visitor.ask("POST", "/api/uploads?name=notes.txt", content)
    assert (status, "it is a kubeconfig" in body["detail"]) == (400, True)
    upload = visitor.begin(("notes.txt", len(content)))["id"]
    assert visitor.put(upload, content[:MIB])[0] == 400
    assert kept(site) == []
    for path in site.data.parent.rglob("*"):
        assert path.is_dir() or secret not in path.read_bytes()
