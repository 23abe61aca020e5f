"""These tests watch API servers with hostile answers: every answer ends, and memory use does not grow with it."""

import contextlib
import gzip
import resource
import threading
import time
import zlib
from collections.abc import Callable, Iterator
from functools import cache

import orjson
import pytest

from collectors.watch.access import check
from collectors.watch.server import bodies, deadlines, stream
from collectors.watch.server.api import Api
from collectors.watch.server.failures import ApiError, Unreachable
from collectors.watch.streams.resources import Resource, resources
from tests.clients.reflecting import Watching, api_to, until
from tests.inputs.load import busy
from tests.patience import patient
from tests.unit.watch.wire import TOKEN, Send, Server, kubeconfig
from timeline.core.entries import MarkType

PODS = Resource("", "v1", "Pod", "pods", True)
MEMORY = 256 << 20  # bytes by which the process may grow in one of these tests


@pytest.fixture
def server() -> Iterator[Server]:
    running = Server()
    yield running
    running.close()


@pytest.fixture
def bounded() -> Iterator[None]:
    """Fail the test if the memory of the process grew by more than MEMORY at any moment."""
    before = _peak()
    yield
    assert _peak() - before < MEMORY


def _peak() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def api_of(server: Server) -> Api:
    return api_to(kubeconfig(server.url), connect=1.0, read=1.0, silence=(0.5, 1.0))


def ok(*headers: bytes) -> bytes:
    return b"\r\n".join([b"HTTP/1.1 200 OK", b"Connection: close", *headers, b"", b""])


def chunk(piece: bytes) -> bytes:
    return b"%x\r\n%b\r\n" % (len(piece), piece)


def whole(body: bytes, *headers: bytes) -> bytes:
    return ok(b"Content-Length: %d" % len(body), *headers) + body


def answering(config: bytes) -> Callable[[bytes, Send], None]:
    return lambda line, send: send(config)


CHUNKED = b"Transfer-Encoding: chunked"


@cache
def bomb_bytes() -> bytes:
    """Return 512 MiB of zeros, compressed to half a MiB."""
    packing = zlib.compressobj(9, zlib.DEFLATED, 31)
    return b"".join(packing.compress(bytes(1 << 20)) for _ in range(512)) + packing.flush()


def bomb(line: bytes, send: Send) -> None:
    send(whole(bomb_bytes(), b"Content-Encoding: gzip"))


def bomb_in_a_bomb(line: bytes, send: Send) -> None:
    send(whole(gzip.compress(bomb_bytes()), b"Content-Encoding: gzip, gzip"))


def without_end(head: bytes, piece: bytes, every: float = 0) -> Callable[[bytes, Send], None]:
    def answer(line: bytes, send: Send) -> None:
        send(head)
        while True:
            send(piece)
            time.sleep(every)

    return answer


BAD = {
    "a bomb": bomb,
    "a bomb in a bomb": bomb_in_a_bomb,
    "spaces": without_end(ok(CHUNKED), chunk(b" " * 65536)),
    "the length of a chunk": without_end(ok(CHUNKED), b"1" * 65536),
    "the extension of a chunk": without_end(ok(CHUNKED) + b"5;", b"x" * 65536),
    "a trailer": without_end(ok(CHUNKED) + b"0\r\nx: ", b"x" * 65536),
    "a header": without_end(b"HTTP/1.1 200 OK\r\nX: ", b"x" * 65536),
    "headers": without_end(b"HTTP/1.1 200 OK\r\n", b"X: y\r\n" * 1000),
    "a status": without_end(b"", b"HTTP/1.1 " * 1000),
    "continue": without_end(b"", b"HTTP/1.1 100 Continue\r\n\r\n" * 1000),
    "no gzip": lambda line, send: send(whole(b"no gzip at all", b"Content-Encoding: gzip")),
    "half": lambda line, send: send(whole(gzip.compress(b"{}" * 1000)[:-20], b"Content-Encoding: gzip")),
    "too long": lambda line, send: send(ok(b"Content-Length: 999999999999") + b"{}"),
}


@pytest.mark.usefixtures("bounded")
@pytest.mark.parametrize("of", BAD)
def test_an_answer_without_an_end_is_given_up(of: str, server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(deadlines, "HEAD_SECONDS", 0.5)
    server.answer = BAD[of]
    api = api_of(server)
    for most in (bodies.LIST_BYTES, bodies.SMALL_BYTES):
        with pytest.raises(ApiError):
            api.get("/api/v1/pods", most=most)
    with pytest.raises(ApiError):
        api.post("/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", b"{}")


@pytest.mark.usefixtures("bounded")
@pytest.mark.parametrize("status", [b"401", b"410", b"429", b"500"])
def test_an_error_is_read_as_far_as_an_error_goes(status: bytes, server: Server) -> None:
    for body in (bomb_bytes(), gzip.compress(b'{"message":"' + b"x" * 5_000_000 + b'"}')):
        server.answer = answering(whole(body, b"Content-Encoding: gzip").replace(b"200 OK", status + b" No", 1))
        with pytest.raises(ApiError) as refused:
            api_of(server).get("/api")
        assert len(str(refused.value)) < 500


def test_what_is_trickled_has_an_end(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each byte arrives before a read times out, and the answer never ends."""
    monkeypatch.setattr(deadlines, "HEAD_SECONDS", 0.6)
    monkeypatch.setattr(bodies, "_SECONDS", 0.6)
    api = api_of(server)
    for begin, more in ((b"HTTP/1.1 200 OK\r\n", b"X"), (ok(CHUNKED), chunk(b" "))):
        server.answer = without_end(begin, more, every=0.05)
        began = time.monotonic()
        with pytest.raises(Unreachable):
            api.get("/api")
        assert time.monotonic() - began < patient(5)


@pytest.mark.usefixtures("bounded")
def test_a_line_of_a_watch_has_an_end(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    server.answer = BAD["spaces"]
    watch = api_of(server).stream("/api/v1/pods", threading.Event(), watch="true")
    with watch, pytest.raises(Unreachable, match=r"longer than 16 MiB"):
        list(watch.lines())

    monkeypatch.setattr(stream, "_LINE_SECONDS", 0.5)
    server.answer = without_end(ok(CHUNKED), chunk(b"x"), every=0.01)
    watch = api_of(server).stream("/api/v1/pods", threading.Event(), watch="true")
    with watch, pytest.raises(Unreachable, match="did not end within"):
        list(watch.lines())


@pytest.mark.usefixtures("bounded")
def test_a_watch_is_not_unpacked(server: Server) -> None:
    server.answer = bomb
    watch = api_of(server).stream("/api/v1/pods", threading.Event(), watch="true")
    with watch, contextlib.suppress(ApiError):
        assert sum(len(line) for lines in watch.lines() for line in lines) <= len(bomb_bytes())


def test_a_page_that_is_too_large_is_asked_for_in_smaller_ones(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("collectors.watch.streams.reflector.PAGE_BYTES", 20_000)
    pods = [orjson.loads(commit.body) | {"x": "y" * 300} for commit in busy(100, 0).existing]

    def answer(line: bytes, send: Send) -> None:
        if b"watch=" in line:
            send(ok(CHUNKED))
            return time.sleep(5)
        limit = int(line.partition(b"limit=")[2].partition(b"&")[0].partition(b" ")[0])
        after = int(line.partition(b"continue=")[2].partition(b"&")[0].partition(b" ")[0] or 0)
        metadata = {"resourceVersion": "100", **({"continue": str(after + limit)} if after + limit < 100 else {})}
        return send(whole(orjson.dumps({"metadata": metadata, "items": pods[after : after + limit]})))

    server.answer = answer
    with Watching(api_of(server), PODS, page=100) as watched:
        until(lambda: watched.marks(MarkType.LISTED))
        assert {each.ref.name for each in watched.entries} == {pod["metadata"]["name"] for pod in pods}
    server.answer = bomb
    with Watching(api_of(server), PODS) as watched:
        until(lambda: watched.state == "failing")
        assert "larger than" in watched.states[-1][1]


def listed(item: bytes, head: bytes = b"") -> bytes:
    """Return a list of about 16 MB of such items, compressed."""
    items = item + (b"," + item) * ((16 << 20) // (len(item) + 1) - 1)
    return gzip.compress(b'{"metadata":{"resourceVersion":"9"}' + head + b',"items":[' + items + b"]}", 1)


@pytest.mark.parametrize("item", [b"0", b'{"metadata":{"name":"a"}}'])
@pytest.mark.usefixtures("bounded")
def test_a_list_of_millions_of_items_is_read_one_by_one(
    item: bytes, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("collectors.watch.streams.decoding.OBJECTS", 2_000)
    body = whole(listed(item), b"Content-Encoding: gzip")
    server.answer = lambda line, send: send(body)
    with Watching(api_of(server), PODS) as watched:
        until(lambda: watched.state == "failing")
        problem = watched.states[-1][1]
    assert "an object without a name" in problem or "more than 2000 objects on one page" in problem
    assert not watched.entries


def test_a_list_has_few_fields_and_its_objects_few_values(server: Server) -> None:
    fields = whole(listed(b"{}", head=b',"a":0' * 200), b"Content-Encoding: gzip")
    server.answer = lambda line, send: send(fields)
    with Watching(api_of(server), PODS) as watched:
        until(lambda: watched.state == "failing")
        assert "more than 100 fields" in watched.states[-1][1]
    large = b'{"metadata":{"name":"a","uid":"u","resourceVersion":"3"},"spec":[' + b"0," * 2_000_000 + b"0]}"
    objects = whole(b'{"metadata":{"resourceVersion":"9"},"items":[' + large + b"]}")
    server.answer = lambda line, send: send(objects if b"watch=" not in line else ok(CHUNKED))
    with Watching(api_of(server), PODS) as watched:
        until(lambda: watched.marks(MarkType.LISTED))
        assert not watched.entries


@pytest.mark.parametrize("group", [b'{"name":"a","versions":[]}', b"0"])
@pytest.mark.usefixtures("bounded")
def test_a_list_of_very_many_groups_is_refused_before_it_is_decoded(group: bytes, server: Server) -> None:
    groups = b'{"groups":[' + group + (b"," + group) * ((7 << 20) // (len(group) + 1) - 1) + b"]}"
    server.answer = lambda line, send: send(whole(groups if line.split()[1] == b"/apis" else orjson.dumps(LISTED)))
    with pytest.raises(ApiError, match="not a Kubernetes API server"):
        resources(api_of(server), [], [])


@pytest.mark.parametrize("status", [b"302", b"307", b"308"])
def test_a_redirect_does_not_carry_the_token_elsewhere(status: bytes, server: Server) -> None:
    other = Server()
    moved = whole(b"", b"Location: " + other.url.encode()).replace(b"200 OK", status + b" Moved", 1)
    server.answer = answering(moved)
    api = api_of(server)
    for ask in (lambda: api.get("/api"), lambda: api.post("/x", b"{}"), lambda: api.stream("/x", threading.Event())):
        with pytest.raises(ApiError, match=status.decode()):
            ask()
    assert TOKEN.encode() in server.heads[0] and not other.heads
    other.close()


def discovering(groups: object, listed: object) -> Callable[[bytes, Send], None]:
    def answer(line: bytes, send: Send) -> None:
        path = line.split()[1]
        version = {"gitVersion": "v1.34.1\0" + "x" * 50_000}
        send(whole(orjson.dumps(version if path == b"/version" else groups if path == b"/apis" else listed)))

    return answer


VERBS = ["list", "watch"]
LISTED = {"resources": [{"name": "pods", "kind": "Pod", "verbs": VERBS}]}


def test_discovery_has_an_end(server: Server) -> None:
    many = [{"name": f"g{n}.example.com", "versions": [{"version": "v1"}]} for n in range(5000)]
    server.answer = discovering({"groups": many}, LISTED)
    with pytest.raises(ApiError, match="more than 2000 resources"):
        resources(api_of(server), ["*.example.com"], [])
    versions = {"name": "batch", "versions": [{"version": f"v{n}"} for n in range(5000)]}
    server.heads.clear()
    server.answer = discovering({"groups": [versions]}, LISTED)
    resources(api_of(server), [], [])
    assert len(server.heads) < 20


NAMES = ("pods?watch=1", "../../apis", "po ds", "pods\r\nX: y", "p\0", "x" * 300, "Pods", "pods/log", "")


def test_a_resource_without_a_name_that_can_be_one_is_passed_over(server: Server) -> None:
    odd = {"resources": [*({"name": name, "kind": "Pod", "verbs": VERBS} for name in NAMES), *LISTED["resources"]]}
    groups = {"groups": [{"name": name, "versions": [{"version": "v1"}]} for name in NAMES]}
    server.answer = discovering(groups, odd)
    assert {each.resource for each in resources(api_of(server), ["*"], [])[0]} == {"pods"}
    versions = [{"version": name} for name in NAMES]
    server.answer = discovering({"groups": [{"name": "batch", "versions": versions}]}, LISTED)
    assert {each.api_version for each in resources(api_of(server), [], [])[0]} == {"v1"}


def test_what_a_cluster_says_of_itself_is_short_and_plain(server: Server) -> None:
    reviews = orjson.dumps({"status": {"allowed": False, "reason": "no\0\n\x1b[31m" + "x" * 20_000}})
    listing = discovering({"groups": []}, LISTED)
    server.answer = lambda line, send: send(whole(reviews)) if line.startswith(b"POST") else listing(line, send)
    report = check(api_of(server), [], [])
    assert len(report.version) <= 300 and report.version.isprintable()
    assert report.refused and all(len(each.reason) <= 300 and each.reason.isprintable() for each in report.refused)
    server.answer = discovering({"groups": []}, LISTED)
    broken = [b"[]", b"null", b"[" * 60_000, b"\xff", b'"x"']
    server.answer = lambda line, send: send(whole(b'{"gitVersion":{"a":1}}'))
    assert check(api_of(server), [], []).version == "unknown"
    for body in broken:
        server.answer = answering(whole(body))
        assert check(api_of(server), [], []).problem


DATES = [
    "Mon, 01 Jan 0001 00:00:00 GMT", "Fri, 31 Dec 9999 23:59:59 GMT", "Mon, 01 Jan 2024 00:00:00 +99999999999999999999",
    "x" * 1000, "Mon, 99 Jan 2024 99:99:99 GMT", "", "Mon, 01 Jan 2024 00:00:00 -2399",
]  # fmt: skip


def test_a_clock_that_no_cluster_has_is_not_believed(server: Server) -> None:
    api = api_of(server)
    for date in DATES:
        server.answer = answering(whole(b"{}", b"Date: " + date.encode()))
        api.get("/api")
        assert 0 < api.now() < 4_102_444_800_000_000, date


def test_what_another_server_answers_is_not_shown(server: Server) -> None:
    def shown() -> str:
        report = check(api_of(server), [], [])
        return f"{report.version} {report.problem}"

    for body in (b'{"gitVersion":"root:x:0:0 pl4nted"}', b'{"gitVersion":"v1.2 pl4nted"}', b'{"gitVersion":"pl4nted"}'):
        server.answer = answering(whole(body))
        assert "pl4nted" not in shown()
    for body in (b'{"message":"pl4nted","reason":"pl4nted"}', b"pl4nted", b'{"kind":"Error","message":"pl4nted"}'):
        server.answer = answering(whole(body).replace(b"200 OK", b"500 pl4nted"))
        assert "pl4nted" not in shown() and "500" in shown()
    server.answer = answering(whole(b'{"kind":"Status","message":"etcd is away"}').replace(b"200 OK", b"500 No"))
    assert "etcd is away" in shown()
