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
from tests.clients.command import causeline
from tests.inputs.load import busy
from tests.inputs.recordings import SAMPLE
from tests.patience import eventually, patient

TOKEN = "t0ken"
TAPE = busy(5, 5)


@pytest.fixture
def closed() -> Iterator[Replay]:
    with serve(TAPE, paused=True, token=TOKEN) as replay:
        yield replay


@pytest.fixture(scope="module")
def opened() -> Iterator[Replay]:
    with serve(TAPE, paused=True) as replay:
        yield replay


def answer_to(replay: Replay, sent: bytes) -> bytes:
    """Return the beginning of the answer to these bytes."""
    with socket.create_connection(("127.0.0.1", int(replay.url.rpartition(":")[2])), timeout=10) as client:
        client.sendall(sent)
        return client.recv(1000)


def asked(replay: Replay, path: str, body: str | None = None, **headers: str) -> tuple[int, bytes]:
    connection = http.client.HTTPConnection(replay.url.removeprefix("http://"), timeout=10)
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    connection.request("POST" if body is not None else "GET", path, body, named)
    answer = connection.getresponse()
    with answer:
        result = answer.status, answer.read()
    connection.close()
    return result


PATHS = (
    "/replay/status", "/replay/control", "/api/v1/pods", "/version", "/", "//x/replay/control", "/replay%2fcontrol",
)  # fmt: skip


def test_nothing_is_answered_and_nothing_of_a_body_read_without_the_token(closed: Replay) -> None:
    order = json.dumps({"play": True, "token": "mine"})
    for given in ("", "Bearer", "Bearer ", f"Bearer {TOKEN}x", f"Basic {TOKEN}", "é"):
        headers = {"Authorization": given} if given else {}
        for path in PATHS:
            assert {asked(closed, path, body, **headers)[0] for body in (None, order)} == {401}, (given, path)
    assert not closed.status()["playing"]
    head = b"POST /replay/control HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000000\r\n\r\n"
    assert answer_to(closed, head).startswith(b"HTTP/1.1 401 ")
    assert asked(closed, "/readyz") == (200, b"ok"), "health tells nothing to anybody"


def test_a_token_cannot_be_changed_to_none(closed: Replay) -> None:
    sent = {"Authorization": f"Bearer {TOKEN}"}
    for token in ("", " ", "\n", "a b", "a\r\nX: y", "\x00", "é"):
        assert asked(closed, "/replay/control", json.dumps({"token": token}), **sent)[0] == 400
        assert asked(closed, "/replay/status")[0] == 401
    assert asked(closed, "/replay/status", **sent)[0] == 200


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


def test_this_machine_is_known_by_its_addresses_alone(opened: Replay) -> None:
    for host in NOT_LOOPBACK:
        assert not is_loopback(host)
        with pytest.raises(ValueError, match="needs a token"), serve(TAPE, host=host):
            pass
        assert asked(opened, "/replay/status", Host=f"{host}:80")[0] == 403
        assert asked(opened, "/replay/control", '{"play": true}', Host=host)[0] == 403
    for host in ("127.0.0.1", "127.8.9.1", "localhost", "LocalHost", "::1", "[::1]"):
        assert is_loopback(host)
        named = f"[{host}]" if host == "::1" else host
        assert asked(opened, "/version", Host=f"{named}:80")[0] == 200
        assert asked(opened, "/version", Host=f"{named}:80", Origin="http://localhost")[0] == 403
    assert not opened.status()["playing"]


def test_the_command_opens_to_others_only_with_a_token(tmp_path: Path) -> None:
    for host in ("0.0.0.0", "127.evil.example", ""):
        status, _, errors = causeline("replay", SAMPLE, "--host", host)
        assert status == 2 and "--token-file" in errors
    (tmp_path / "token").write_text("\n")
    status, _, errors = causeline("replay", SAMPLE, "--token-file", tmp_path / "token")
    assert status == 2 and "holds no token" in errors


def test_half_a_request_is_not_waited_for(opened: Replay, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wire, "_IDLE_SECONDS", 0.3)
    monkeypatch.setattr(wire, "_ARRIVE_SECONDS", 0.3)
    post = b"POST /replay/control HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n{"
    for sent in (b"", b"GET /version HTTP/1.1\r\nHost: localhost\r\nX: ", post):
        began = time.monotonic()
        assert answer_to(opened, sent) == b""
        assert time.monotonic() - began < patient(5)
    assert asked(opened, "/version")[0] == 200


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
        (b"hello\r\n\r\n", b"400"),
        (b"GET /version HTTP/1.1\r\nHost: localhost\r\nX: " + b"x" * 100_000 + b"\r\n\r\n", b"431"),
        (b"GET /version HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n", b"400"),
        (CHUNKED + b"5\r\nhello\r\n0\r\n\r\n", b"400"),
        (CHUNKED + b"200000\r\n" + b"x" * 0x200000, b"413"),
        (b"GET /api/v1/pods?limit=" + b"9" * 5000 + b" HTTP/1.1\r\nHost: localhost\r\n\r\n", b"400"),
    ],
)
def test_what_is_no_sound_request_is_answered_so(sent: bytes, status: bytes, opened: Replay) -> None:
    assert answer_to(opened, sent).startswith(b"HTTP/1.1 " + status)
    assert asked(opened, "/version")[0] == 200


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
