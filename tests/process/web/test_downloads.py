"""These tests download recordings: a client that does not read costs the web process little memory."""

import asyncio
import base64
import http.client
import random
import socket
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import ExitStack, closing
from itertools import count
from pathlib import Path
from urllib.parse import urlsplit

import orjson
import pytest
import zstandard
from msgspec.structs import replace

from dashboard.web import downloads
from dashboard.web.downloads import AT_ONCE, Busy, Download
from tests.inputs.recordings import SAMPLE, entries_of
from tests.patience import eventually
from tests.servers.running import TOKEN, WITH_TOKEN, Running, running
from timeline.history.world.world import World
from timeline.pipeline import ingest
from timeline.storage import store

_BODY_BYTES = 30_000  # of each change, incompressible
_MEGABYTE = 1024**2


def fill() -> None:
    """Store a recording of about 25 MB."""
    noise, source = random.Random(1), store.open_source("large")
    bodies = ({"noise": base64.b85encode(noise.randbytes(_BODY_BYTES)).decode()} for _ in count())
    entries = [replace(each, body=orjson.dumps(next(bodies))) for each in entries_of(SAMPLE)]
    ingest(source, World(), entries)
    store.show_source(source)


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """Run a web process with a large recording."""
    with running(tmp_path_factory.mktemp("downloads"), "web") as started:
        code = "from tests.process.web.test_downloads import fill; fill()"
        started.manage("shell", "--verbosity", "0", "--command", code)
        yield started


def begun(served: Running) -> socket.socket:
    """Return the socket of a client that has requested a download and read only the head of the answer."""
    address = urlsplit(served.address)
    reader = socket.create_connection((str(address.hostname), int(address.port or 0)), timeout=60)
    head = f"GET /api/sources/1/recording HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {TOKEN}\r\n\r\n"
    reader.sendall(head.encode())
    assert reader.recv(12) == b"HTTP/1.1 200"
    return reader


def state(served: Running) -> tuple[int, int]:
    """Return the resident bytes of the web process, and its processor time."""
    pid = served.processes["web"].pid
    status = Path(f"/proc/{pid}/status").read_text()
    resident = next(int(line.split()[1]) * 1024 for line in status.splitlines() if line.startswith("VmRSS"))
    return resident, sum(map(int, Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[11:13]))


def settled(served: Running) -> int:
    """Return the resident bytes once the web process is idle."""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        before = state(served)[1]
        time.sleep(0.5)
        resident, worked = state(served)
        if worked == before:
            return resident
    pytest.fail("the web process goes on working")


def asked(served: Running) -> tuple[int, bytes]:
    """Return status and content of a download that is read to its end."""
    connection = http.client.HTTPConnection(urlsplit(served.address).netloc, timeout=60)
    with closing(connection):
        connection.request("GET", "/api/sources/1/recording", headers=WITH_TOKEN)
        answer = connection.getresponse()
        return answer.status, answer.read()


def test_only_so_many_are_sent_at_once(served: Running) -> None:
    with ExitStack() as readers:
        for _ in range(AT_ONCE):
            readers.enter_context(begun(served))
        assert asked(served)[0] == 503
    eventually(lambda: asked(served)[0] == 200)  # a client that disconnects frees its slot


def test_idle_readers_hold_little_and_others_read_all(served: Running) -> None:
    with begun(served):
        before = settled(served)
    with ExitStack() as readers:
        for _ in range(3):
            readers.enter_context(begun(served))
        assert settled(served) - before < 30 * _MEGABYTE
        status, whole = asked(served)
        assert status == 200
        assert len(whole) > 15 * _MEGABYTE
        assert zstandard.ZstdDecompressor().decompressobj().decompress(whole).count(b"\n") > 700


def test_pieces_are_made_when_they_are_wanted_and_a_reader_that_stalls_is_cut_off(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    made = 0

    def pieces() -> Iterator[bytes]:
        nonlocal made
        for _ in range(100):
            made += 1
            yield bytes(300_000)

    async def read_one_and_stall() -> int:
        download = Download(pieces())
        try:
            got: AsyncIterator[bytes] = aiter(download)
            await anext(got)
            await asyncio.sleep(30)
        except asyncio.CancelledError:
            return made
        finally:
            download.close()
        return -1

    monkeypatch.setattr(downloads, "STALL_SECONDS", 0.2)
    assert asyncio.run(read_one_and_stall()) == 1


def test_a_download_that_is_dropped_gives_its_place_back() -> None:
    held = [Download(iter(())) for _ in range(AT_ONCE)]
    with pytest.raises(Busy):
        Download(iter(()))
    held[0].close()
    held[0].close()
    del held[1]
    held += [Download(iter(())), Download(iter(()))]
    with pytest.raises(Busy):
        Download(iter(()))
