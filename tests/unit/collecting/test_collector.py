"""These tests stop a collector: it gives the right to send back, or says that it did not."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from collectors.collecting import collector, sender
from collectors.collecting.buffer import Buffer
from collectors.collecting.collector import Collector
from collectors.collecting.server import Server
from collectors.watch.server.api import Api
from tests.patience import eventually
from tests.servers.answering import Receiver, receiving


def asked(server: Receiver) -> list[bool]:
    """Return of each request for the right to send whether it gives the right back."""
    return [json.loads(each.body).get("leaving", False) for each in server.requests if each.path.endswith("/lease")]


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Receiver]:
    """Yield a server that gives the right to send, and never says what is known of the cluster."""
    monkeypatch.setattr(sender, "RENEW_SECONDS", 0)  # so it is renewed all the time
    with receiving() as server:
        server.body, server.always = b'{"epoch": 1, "accepted": 0}', 202
        yield server


@contextmanager
def collecting(server: Receiver, folder: Path) -> Iterator[None]:
    """Run a collector that has the right to send in the context, and stop it at its end."""

    def connect() -> Api:
        raise AssertionError("it would not know where to begin")

    made = Collector(connect, Server(server.url, "c", lambda: "token"), Buffer(folder, 1_000_000))
    stop = threading.Event()
    thread = threading.Thread(target=made.run, args=[stop])
    thread.start()
    eventually(lambda: len(asked(server)) > 2)
    yield
    stop.set()
    thread.join()


def test_the_right_to_send_is_given_back_last(server: Receiver, tmp_path: Path) -> None:
    with collecting(server, tmp_path):
        pass
    assert asked(server)[-1] and asked(server).count(True) == 1


def test_it_is_not_given_back_while_it_may_be_renewed(
    server: Receiver, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(collector, "_LEAVE_SECONDS", 0.1)
    with collecting(server, tmp_path):
        requests, server.hanging = len(asked(server)), "/lease"
        eventually(lambda: len(asked(server)) > requests)
    assert not any(asked(server))
    assert "was not given back" in caplog.text
