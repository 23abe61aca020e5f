"""These tests check access to a replay: the token is checked first, Host must be an address, and slow requests are cut
off."""

import http.client
import json
import socket
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from collectors.addresses import is_loopback
from collectors.replay import Replay, serve
from collectors.replay import http as wire
from dashboard.cli import __main__ as cli
from tests.load import busy
from tests.patience import eventually, patient
from tests.recordings import SAMPLE

TOKEN = "t0ken"
TAPE = busy(5, 5)


@pytest.fixture
def closed() -> Iterator[Replay]:
    with serve(TAPE, paused=True, token=TOKEN) as replay:
        yield replay


def asked(replay: Replay, path: str, body: str | None = None, **headers: str) -> tuple[int, bytes]:
    connection = http.client.HTTPConnection(replay.url.removeprefix("http://"), timeout=10)
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    connection.request("POST" if body is not None else "GET", path, body, named)
    answer = connection.getresponse()
    with answer:
        result = answer.status, answer.read()
    connection.close()
    return result


PATHS = [
    "/replay/status",
    "/replay/control",
    "/api/v1/pods",
    "/version",
    "/",
    "//x/replay/control",
    "/replay%2fcontrol",
]


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("given", ["", "Bearer", "Bearer ", f"Bearer {TOKEN}x", f"Basic {TOKEN}", "é"])
def test_nothing_is_answered_without_the_token(path: str, given: str, closed: Replay) -> None:
    order = json.dumps({"play": True, "token": "mine"})
    for body in (None, order):
        headers = {"Authorization": given} if given else {}
        assert asked(closed, path, body, **headers)[0] == 401
    assert not closed.status()["playing"]


def test_nothing_of_a_body_is_read_without_the_token(closed: Replay) -> None:
    address = closed.url.removeprefix("http://").split(":")
    with socket.create_connection((address[0], int(address[1])), timeout=5) as client:
        head = f"POST /replay/control HTTP/1.1\r\nHost: {closed.url[7:]}\r\nContent-Length: 1000000\r\n\r\n"
        client.sendall(head.encode())
        assert client.recv(1000).startswith(b"HTTP/1.1 401 ")


def test_health_tells_nothing_to_anybody(closed: Replay) -> None:
    assert asked(closed, "/readyz") == (200, b"ok")


@pytest.mark.parametrize("token", ["", " ", "\n", "a b", "a\r\nX: y", "\x00", "é"])
def test_a_token_cannot_be_changed_to_none(token: str, tmp_path: Path) -> None:
    file = tmp_path / "token"
    with serve(TAPE, paused=True, token=TOKEN, token_file=file) as replay:
        sent = {"Authorization": f"Bearer {TOKEN}"}
        assert asked(replay, "/replay/control", json.dumps({"token": token}), **sent)[0] == 400
        assert asked(replay, "/replay/status")[0] == 401
        assert asked(replay, "/replay/status", **sent)[0] == 200
    assert not file.exists()


def test_a_new_token_is_written_for_its_owner_alone(tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text(TOKEN)
    file.chmod(0o644)
    with serve(TAPE, paused=True, token=TOKEN, token_file=file) as replay:
        replay.control(token="another")
        assert file.read_text() == "another" and file.stat().st_mode & 0o777 == 0o600
        assert asked(replay, "/replay/status", Authorization=f"Bearer {TOKEN}")[0] == 401


NOT_LOOPBACK = [
    "127.evil.example", "127.0.0.1.evil.example", "127.1", "localhost.evil.example", "0.0.0.0", "::", "10.0.0.1", "",
    "127.0.0.1@evil.example", "[::1].evil.example", "0", "2130706433", "evil.example",
]  # fmt: skip


@pytest.mark.parametrize("host", NOT_LOOPBACK)
def test_a_host_that_only_looks_like_this_machine_is_none(host: str, tmp_path: Path) -> None:
    assert not is_loopback(host)
    with pytest.raises(ValueError, match="needs a token"), serve(TAPE, host=host):
        pass
    with serve(TAPE, paused=True) as replay:
        assert asked(replay, "/replay/status", Host=f"{host}:80")[0] == 403
        assert asked(replay, "/replay/control", '{"play": true}', Host=host)[0] == 403
        assert not replay.status()["playing"]


@pytest.mark.parametrize("host", ["127.0.0.1", "127.8.9.1", "localhost", "LocalHost", "::1", "[::1]"])
def test_this_machine_is_known_by_its_addresses(host: str) -> None:
    assert is_loopback(host)
    with serve(TAPE, paused=True) as replay:
        named = f"[{host}]" if host == "::1" else host
        assert asked(replay, "/version", Host=f"{named}:80")[0] == 200
        assert asked(replay, "/version", Host=f"{named}:80", Origin="http://localhost")[0] == 403


@pytest.mark.parametrize("host", ["0.0.0.0", "127.evil.example", ""])
def test_the_command_opens_to_others_only_with_a_token(host: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["replay", str(SAMPLE), "--host", host]) == 2
    assert "--token-file" in capsys.readouterr().err


def test_a_token_file_without_a_token_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "token").write_text("\n")
    assert cli.main(["replay", str(SAMPLE), "--token-file", str(tmp_path / "token")]) == 2
    assert "holds no token" in capsys.readouterr().err


@pytest.mark.parametrize(
    "sent",
    [
        b"",
        b"GET /version HTTP/1.1\r\nHost: localhost\r\nX: ",
        b"POST /replay/control HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n{",
    ],
)
def test_half_a_request_is_not_waited_for(sent: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wire, "_IDLE_SECONDS", 0.3)
    monkeypatch.setattr(wire, "_ARRIVE_SECONDS", 0.3)
    with serve(TAPE, paused=True) as replay:
        port = int(replay.url.rpartition(":")[2])
        with socket.create_connection(("127.0.0.1", port), timeout=10) as client:
            began = time.monotonic()
            client.sendall(sent)
            assert client.recv(1000) == b""
            assert time.monotonic() - began < patient(5)
        assert asked(replay, "/version")[0] == 200


CHUNKED = b"POST /replay/control HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n"


@pytest.mark.parametrize(
    ("sent", "status"),
    [
        (b"POST /replay/control HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2000000\r\n\r\n", b"413"),
        (b"POST /replay/control HTTP/1.1\r\nHost: localhost\r\nContent-Length: " + b"9" * 5000 + b"\r\n\r\n", b"400"),
        (b"POST /replay/control HTTP/1.1\r\nHost: localhost\r\nContent-Length: -1\r\n\r\n", b"400"),
        (b"GET http://[ HTTP/1.1\r\nHost: localhost\r\n\r\n", b"400"),
        (b"GET /version HTTP/1.1\r\nHost: [\r\n\r\n", b"403"),
        (b"GET /version HTTP/1.1\r\n\r\n", b"400"),  # HTTP/1.1 requires a Host
        (b"GET /version HTTP/1.1\r\nHost: localhost\r\nX: " + b"x" * 100_000 + b"\r\n\r\n", b"431"),
        (b"GET /version HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n", b"400"),
        (CHUNKED + b"5\r\nhello\r\n0\r\n\r\n", b"400"),
        (CHUNKED + b"200000\r\n" + b"x" * 0x200000, b"413"),
        (b"GET /api/v1/pods?limit=" + b"9" * 5000 + b" HTTP/1.1\r\nHost: localhost\r\n\r\n", b"400"),
    ],
)
def test_what_is_no_sound_request_is_answered_so(sent: bytes, status: bytes) -> None:
    with serve(TAPE, paused=True) as replay:
        port = int(replay.url.rpartition(":")[2])
        with socket.create_connection(("127.0.0.1", port), timeout=10) as client:
            client.sendall(sent)
            assert client.recv(1000).startswith(b"HTTP/1.1 " + status)
        assert asked(replay, "/version")[0] == 200


def test_too_many_connections_do_not_pile_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wire, "_CONNECTIONS", 3)
    with serve(TAPE, paused=True) as replay:
        port = int(replay.url.rpartition(":")[2])
        waiting = [socket.create_connection(("127.0.0.1", port), timeout=5) for _ in range(3)]
        assert asked_or_reset(replay) is None
        for each in waiting:
            each.close()
        eventually(lambda: asked_or_reset(replay) == 200, every=0.01)


def asked_or_reset(replay: Replay) -> int | None:
    try:
        return asked(replay, "/version")[0]
    except (ConnectionError, http.client.HTTPException):
        return None
