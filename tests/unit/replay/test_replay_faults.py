"""These tests let a replay misbehave as API servers and networks do, when it is asked to and only then."""

import gc
import http.client
import json
import socket
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from email.utils import parsedate_to_datetime
from urllib.parse import urlsplit

import pytest

from collectors.replay import Replay, serve
from tests.clients.replayed import Stream, api_of, core
from tests.inputs.load import CONFIG_MAPS, PODS, busy
from tests.patience import patient

TAPE = busy(20, 100, (PODS, CONFIG_MAPS))
PATH = "/api/v1/pods"


@pytest.fixture
def replay() -> Iterator[Replay]:
    with serve(TAPE, paused=True) as replay:
        yield replay


def status_of(error: urllib.error.HTTPError) -> tuple[int, str]:
    with error:
        return error.code, json.load(error)["reason"]


def test_resets_the_connection_in_the_middle_of_an_object(replay: Replay) -> None:
    stream = Stream(replay)
    replay.control(faults=[{"kind": "reset", "resource": "pods", "after": 3}], step=20)
    assert [stream.event()["type"] for _ in range(3)] == ["MODIFIED"] * 3
    with pytest.raises((ConnectionResetError, http.client.IncompleteRead)):
        half = stream.line()
        assert half
        assert not half.endswith(b"\n")
        raise http.client.IncompleteRead(half)
    stream.close()
    assert replay.status()["faults"]["struck"] == {"reset": 1}


def test_ends_after_half_a_line_or_hangs_and_both_happen_once(replay: Replay) -> None:
    stream = Stream(replay)
    replay.control(faults=[{"kind": "half-line"}], step=1)
    half = stream.line()
    assert half.startswith(b'{"type":"MODIFIED"') and not half.endswith(b"\n")
    assert stream.line() == b""
    stream.close()
    stream = Stream(replay, wait=1, timeoutSeconds=1, resourceVersion=41)
    replay.control(faults=[{"kind": "hang"}], step=10)
    with pytest.raises(TimeoutError):
        stream.line()
    stream.close()
    other = Stream(replay, resourceVersion=41)
    assert other.event()["type"] == "MODIFIED"
    other.close()


def test_is_gone_at_the_start_and_in_the_stream(replay: Replay) -> None:
    replay.control(faults=[{"kind": "gone", "verb": "watch"}])
    refused = Stream(replay)
    assert (refused.answer.status, json.load(refused.answer)["reason"]) == (410, "Expired")
    refused.close()
    stream = Stream(replay)
    replay.control(faults=[{"kind": "gone-in-stream", "after": 1}], step=10)
    assert [stream.event()["type"] for _ in range(2)] == ["MODIFIED", "ERROR"]
    stream.close()


def test_throttles_fails_and_refuses_so_many_times(replay: Replay) -> None:
    faults = [
        {"kind": "throttle", "seconds": 2},
        {"kind": "error", "count": 2},
        {"kind": "unauthorized"},
        {"kind": "gone", "resource": "configmaps"},
    ]
    replay.control(faults=faults)
    received = []
    for _ in range(4):
        with pytest.raises(urllib.error.HTTPError) as refused:
            urllib.request.urlopen(replay.url + PATH)
        received.append((refused.value.code, refused.value.headers["Retry-After"], status_of(refused.value)[1]))
    with urllib.request.urlopen(replay.url + PATH) as answer:
        assert json.load(answer)["kind"] == "PodList"
    assert received == [
        (429, "2", "TooManyRequests"),
        (500, None, "InternalError"),
        (500, None, "InternalError"),
        (401, None, "Unauthorized"),
    ]
    assert [fault["kind"] for fault in replay.status()["faults"]["armed"]] == ["gone"]


def test_a_slow_list_is_of_one_revision_while_changes_go_on() -> None:
    with serve(busy(2000, 2000), speed=10) as replay, api_of(replay) as api:
        replay.control(faults=[{"kind": "slow-list", "seconds": 0.1, "count": 10}])
        first = page = core(api).list_pod_for_all_namespaces(limit=500)
        items = list(page.items)
        while page.metadata._continue:
            page = core(api).list_pod_for_all_namespaces(limit=500, _continue=page.metadata._continue)
            items += page.items
        assert replay.status()["place"] > 0
        assert len({each.metadata.uid for each in items}) == 2000
        assert page.metadata.resource_version == first.metadata.resource_version
        assert max(int(each.metadata.resource_version) for each in items) <= int(first.metadata.resource_version)


def test_revisions_go_back_and_are_given_again(replay: Replay) -> None:
    replay.control(step=50)
    stream = Stream(replay)
    before = [stream.event() for _ in range(25)]
    replay.control(restore=10)
    assert stream.line() == b""
    stream.close()
    assert replay.status()["revisions"]["pods"] == "50"
    with api_of(replay) as api:
        pods = core(api).list_pod_for_all_namespaces()
    assert pods.metadata.resource_version == "50"
    replay.control(step=40)
    stream = Stream(replay, resourceVersion=50)
    assert [stream.event() for _ in range(20)] == before[5:]
    stream.close()


def test_tells_an_event_twice_or_one_kind_behind_another(replay: Replay) -> None:
    late = patient(1)
    pods, maps = Stream(replay), Stream(replay, "/api/v1/configmaps")
    replay.control(faults=[{"kind": "duplicate", "resource": "pods", "count": 2}], step=6)
    names = [pods.event()["object"]["metadata"]["resourceVersion"] for _ in range(5)]
    assert names == ["41", "41", "43", "43", "45"]
    assert [maps.event()["object"]["metadata"]["resourceVersion"] for _ in range(3)] == ["42", "44", "46"]
    started = time.monotonic()
    replay.control(faults=[{"kind": "delay", "resource": "pods", "seconds": late}], step=2)
    assert maps.event()["object"]["metadata"]["resourceVersion"] == "48"
    assert time.monotonic() - started < late
    assert pods.event()["object"]["metadata"]["resourceVersion"] == "47"
    assert time.monotonic() - started >= late
    pods.close()
    maps.close()


def test_the_date_may_be_an_hour_off_and_the_server_away_for_a_while(replay: Replay) -> None:
    def date() -> float:
        with urllib.request.urlopen(f"{replay.url}/readyz", timeout=5) as answer:
            return parsedate_to_datetime(answer.headers["Date"]).timestamp()

    before = date()
    replay.control(date=3600)
    assert date() == before + 3600
    stream = Stream(replay)
    replay.control(away=1)
    with pytest.raises((http.client.IncompleteRead, OSError)):
        stream.answer.read()
    stream.close()
    with pytest.raises(urllib.error.URLError):
        date()
    time.sleep(1.2)
    assert replay.status()["place"] == 0


def test_bookmarks_come_every_so_often_and_a_watch_ends_when_its_time_is_over(replay: Replay) -> None:
    stream = Stream(replay)
    replay.control(bookmark=True)
    assert stream.event()["object"]["metadata"]["resourceVersion"] == "40"
    replay.control(bookmark_seconds=0.1)
    assert [stream.event()["type"] for _ in range(3)] == ["BOOKMARK"] * 3
    stream.close()
    replay.control(bookmark_seconds=3600)
    stream, started = Stream(replay, timeoutSeconds=1), time.monotonic()
    assert stream.line() == b""
    assert 0.5 < time.monotonic() - started < patient(3)
    stream.close()


def test_one_reader_that_reads_nothing_does_not_stop_the_others() -> None:
    with serve(busy(20, 20_000), speed="max", paused=True) as replay:
        idle = Stream(replay, resourceVersion=20)
        stream = Stream(replay, resourceVersion=20)
        threading.Timer(0.1, replay.control, kwargs={"play": True}).start()
        count = 0
        while stream.event()["type"] != "BOOKMARK":
            count += 1
        assert count == 20_000
        idle.close()
        stream.close()


def test_an_order_that_is_not_understood_changes_nothing(replay: Replay) -> None:
    for order in ({"faults": [{"kind": "earthquake"}]}, {"pley": True}, {"restore": 5}, {"step": -1}, {"speed": 0}):
        with pytest.raises(urllib.error.HTTPError) as refused:
            replay.control(**order)
        assert status_of(refused.value) == (400, "BadRequest")
    assert not replay.status()["playing"]


def test_a_client_that_comes_while_the_replay_ends_is_disconnected() -> None:
    for _ in range(10):
        clients = []
        with serve(TAPE, paused=True) as replay:
            address = urlsplit(replay.url)
            for _ in range(6):
                client = socket.create_connection((address.hostname, address.port))
                client.sendall(b"GET /api/v1/pods HTTP/1.1\r\nHost: replay\r\n\r\n")
                clients.append(client)
        for client in clients:
            client.close()
    gc.collect()  # a connection that was left open would warn here, and so fail


MANY = """
import asyncio, resource, socket, time
from collectors.replay.http import Response, Server

async def main():
    async def answer(request):
        return Response(200, b"{}")
    server = Server(answer, time.time)
    await server.listen("127.0.0.1", 0)
    clients = [socket.socket() for _ in range(40)]
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (clients[-1].fileno() + 10, most))
    for client in clients:
        client.setblocking(False)
        client.connect_ex(("127.0.0.1", server.port))
    began = time.process_time()
    await asyncio.sleep(0.8)
    assert time.process_time() - began < 0.4, "it tries again and again"
    for client in clients[:35]:
        client.close()
    clients[35].setblocking(True)
    await asyncio.to_thread(clients[35].sendall, b"GET / HTTP/1.1\\r\\nHost: x\\r\\n\\r\\n")
    print((await asyncio.to_thread(clients[35].recv, 12)).decode())
    await server.close()

asyncio.run(main())
"""


def test_too_many_connections_are_no_work_and_are_accepted_when_others_end() -> None:
    done = subprocess.run([sys.executable, "-c", MANY], capture_output=True, text=True, timeout=60)
    assert (done.stdout, done.returncode) == ("HTTP/1.1 200\n", 0), done.stderr
