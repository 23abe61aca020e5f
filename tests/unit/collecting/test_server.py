"""These tests check what a collector keeps on its disk, and how it understands the server that it sends to."""

import ssl
from pathlib import Path

import pytest

from collectors.collecting.buffer import Batch, Buffer, Place
from collectors.collecting.server import Away, Server, Standby, SteppedDown, Unusable
from tests.servers.answering import receiving


def test_the_buffer_outlives_its_process_and_stays_within_its_size(tmp_path: Path) -> None:
    buffer = Buffer(tmp_path / "buffer", 100)
    buffer.put(Batch(3, b"x" * 60, ""))
    assert buffer.has_room()
    buffer.put(Batch(4, b"y" * 60, "restored"))
    assert not buffer.wait_for_room(0)
    (tmp_path / "buffer" / "000000000000000005.part").write_bytes(b"cut off")
    buffer.remember(Place("me", 7, ("a",)))
    again = Buffer(tmp_path / "buffer", 100)
    assert again.first(0) == Batch(3, b"x" * 60, "") and again.last == 4 and again.place() == Place("me", 7, ("a",))
    again.remove_until(3)
    assert again.first(0) == Batch(4, b"y" * 60, "restored") and again.has_room()
    again.clear()
    assert again.first(0) is None and again.size == 0 and again.behind == 0


def server(url: str, authority: Path | None = None) -> Server:
    return Server(url, "prod", lambda: "causeline_token", authority)


def test_the_token_is_not_sent_where_others_can_read_it(tmp_path: Path) -> None:
    with pytest.raises(Unusable, match="https"):
        server("http://causeline.example.org")
    with pytest.raises(Unusable, match="COLLECT_URL"):
        server("causeline.example.org")
    with pytest.raises(Unusable, match="CA_FILE"):
        server("https://causeline.example.org", tmp_path / "missing.pem")
    assert ssl.create_default_context().check_hostname


@pytest.mark.parametrize(
    ("status", "expected"), [(423, Standby), (410, SteppedDown), (503, Away), (302, Away), (401, Away)]
)
def test_answers_are_understood(status: int, expected: type[Exception]) -> None:
    with receiving() as answers:
        answers.always = status
        answers.headers = {"Location": f"{answers.url}/elsewhere", "Retry-After": "7"}
        with pytest.raises(expected) as raised:
            server(answers.url).lease(holder="one", epoch=None)
        assert len(answers.requests) == 1  # no redirect is followed
        if isinstance(raised.value, Away):
            assert raised.value.retry_after == 7
        assert "causeline_token" not in str(raised.value)


def test_a_server_that_is_away_is_named_without_the_token() -> None:
    with pytest.raises(Away) as raised:
        server("http://127.0.0.1:9").send(1, Batch(1, b"", ""))
    assert "token" not in str(raised.value)
