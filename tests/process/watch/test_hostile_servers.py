"""These tests watch API servers with hostile answers: every answer ends, and memory use does not grow with it."""

import base64
import contextlib
import gzip
import resource
import socket
import tempfile
import threading
import time
import zlib
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import orjson
import pytest

from collectors.hosts import Gate, allowed_hosts
from collectors.watch.access import check
from collectors.watch.server import bodies, deadlines, stream
from collectors.watch.server.api import Api
from collectors.watch.server.failures import ApiError, Unreachable
from collectors.watch.streams.resources import Resource, resources
from tests.certificates import signed
from tests.load import busy
from tests.patience import patient
from tests.reflecting import Watching, api_to, until
from timeline.core.entries import MarkType

PODS = Resource("", "v1", "Pod", "pods", True)
SECRET = "pl4nted-t0ken"
MEMORY = 256 << 20  # bytes by which the process may grow in one of these tests
Send = Callable[[bytes], None]


class Server:
    """This server gives each request (its first line and its head) to a function that may send anything."""

    def __init__(self) -> None:
        self.answer: Callable[[bytes, Send], None] = lambda line, send: None
        self.heads: list[bytes] = []
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._socket.getsockname()[1]}"
        self._open: list[socket.socket] = []
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                self._open.append(self._socket.accept()[0])
                threading.Thread(target=self._serve, args=(self._open[-1],), daemon=True).start()

    def _serve(self, client: socket.socket) -> None:
        with contextlib.suppress(OSError), client:
            lines = client.makefile("rb")
            line = lines.readline()
            self.heads.append(line + b"".join(iter(lines.readline, b"\r\n")))
            self.answer(line, client.sendall)

    def close(self) -> None:
        for each in (self._socket, *self._open):
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
            each.close()


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
    cluster, user = {"server": server.url}, {"token": SECRET}
    config: dict[str, Any] = {
        "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
        "clusters": [{"name": "c", "cluster": cluster}],
        "users": [{"name": "u", "user": user}],
    }
    return api_to(config, connect=1.0, read=1.0, silence=(0.5, 1.0))


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


def endless(line: bytes, send: Send) -> None:
    send(ok(CHUNKED))
    while True:
        send(chunk(b" " * 65536))


def endless_without_a_chunk(line: bytes, send: Send) -> None:
    send(ok(CHUNKED))
    while True:
        send(b"1" * 65536)


def endless_extension(line: bytes, send: Send) -> None:
    send(ok(CHUNKED) + b"5;")
    while True:
        send(b"x" * 65536)


def endless_trailer(line: bytes, send: Send) -> None:
    send(ok(CHUNKED) + b"0\r\nx: ")
    while True:
        send(b"x" * 65536)


def endless_header(line: bytes, send: Send) -> None:
    send(b"HTTP/1.1 200 OK\r\nX: ")
    while True:
        send(b"x" * 65536)


def endless_headers(line: bytes, send: Send) -> None:
    send(b"HTTP/1.1 200 OK\r\n")
    while True:
        send(b"X: y\r\n" * 1000)


def endless_status(line: bytes, send: Send) -> None:
    while True:
        send(b"HTTP/1.1 " * 1000)


def endless_continue(line: bytes, send: Send) -> None:
    while True:
        send(b"HTTP/1.1 100 Continue\r\n\r\n" * 1000)


def damaged(line: bytes, send: Send) -> None:
    send(whole(b"no gzip at all", b"Content-Encoding: gzip"))


def half(line: bytes, send: Send) -> None:
    send(whole(gzip.compress(b"{}" * 1000)[:-20], b"Content-Encoding: gzip"))


def too_long(line: bytes, send: Send) -> None:
    send(ok(b"Content-Length: 999999999999") + b"{}")


BAD = [
    bomb, bomb_in_a_bomb, endless, endless_without_a_chunk, endless_extension, endless_trailer, endless_header,
    endless_headers, endless_status, endless_continue, damaged, half, too_long,
]  # fmt: skip


@pytest.mark.usefixtures("bounded")
@pytest.mark.parametrize("answer", BAD, ids=lambda each: each.__name__)
def test_an_answer_without_an_end_is_given_up(
    answer: Callable[[bytes, Send], None], server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(deadlines, "HEAD_SECONDS", 0.5)
    server.answer = answer
    api = api_of(server)
    for most in (bodies.LIST_BYTES, bodies.SMALL_BYTES):
        with pytest.raises(ApiError):
            api.get("/api/v1/pods", most=most)
    with pytest.raises(ApiError):
        api.post("/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", b"{}")


@pytest.mark.usefixtures("bounded")
@pytest.mark.parametrize("status", [b"401", b"403", b"404", b"410", b"429", b"500"])
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

    def trickle(line: bytes, send: Send) -> None:
        send(b"HTTP/1.1 200 OK\r\n" if b"head" in line else ok(CHUNKED))
        while True:
            send(b"X" if b"head" in line else chunk(b" "))
            time.sleep(0.05)

    server.answer = trickle
    api = api_of(server)
    for path in ("/head", "/body"):
        began = time.monotonic()
        with pytest.raises(Unreachable):
            api.get(path)
        assert time.monotonic() - began < patient(5)


@pytest.mark.usefixtures("bounded")
def test_a_line_of_a_watch_has_an_end(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    server.answer = endless
    watch = api_of(server).stream("/api/v1/pods", threading.Event(), watch="true")
    with watch, pytest.raises(Unreachable, match=r"longer than 16 MiB"):
        list(watch.lines())

    def bytewise(line: bytes, send: Send) -> None:
        send(ok(CHUNKED))
        while True:
            send(chunk(b"x"))
            time.sleep(0.01)

    monkeypatch.setattr(stream, "_LINE_SECONDS", 0.5)
    server.answer = bytewise
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


@pytest.mark.parametrize("item", [b"0", b"{}", b'""', b'{"metadata":{"name":"a"}}'])
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


@pytest.mark.parametrize("group", [b"{}", b'{"name":"a","versions":[]}', b"0"])
@pytest.mark.usefixtures("bounded")
def test_a_list_of_very_many_groups_is_refused_before_it_is_decoded(group: bytes, server: Server) -> None:
    groups = b'{"groups":[' + group + (b"," + group) * ((7 << 20) // (len(group) + 1) - 1) + b"]}"
    server.answer = lambda line, send: send(whole(groups if line.split()[1] == b"/apis" else orjson.dumps(LISTED)))
    with pytest.raises(ApiError, match="not a Kubernetes API server"):
        resources(api_of(server), [], [])


@pytest.mark.parametrize("status", [b"301", b"302", b"303", b"307", b"308"])
def test_a_redirect_does_not_carry_the_token_elsewhere(status: bytes, server: Server) -> None:
    other = Server()
    server.answer = lambda line, send: send(
        b"HTTP/1.1 "
        + status
        + b" Moved\r\nLocation: "
        + other.url.encode()
        + b"/\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"
    )
    api = api_of(server)
    for ask in (lambda: api.get("/api"), lambda: api.post("/x", b"{}"), lambda: api.stream("/x", threading.Event())):
        with pytest.raises(ApiError, match=status.decode()):
            ask()
    assert SECRET.encode() in server.heads[0] and not other.heads
    other.close()


def test_a_proxy_of_the_environment_sees_nothing_of_this_machine(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    proxy = Server()
    for name in ("HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, proxy.url)
    for name in ("NO_PROXY", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
    server.answer = lambda line, send: send(whole(b"{}"))
    assert api_of(server).get("/api") == b"{}"
    assert not proxy.heads
    proxy.close()


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


@pytest.mark.parametrize(
    "name", ["pods?watch=1", "../../apis", "po ds", "pods\r\nX: y", "p\0", "x" * 300, "Pods", "pods/log", ""]
)
def test_a_resource_without_a_name_that_can_be_one_is_passed_over(name: str, server: Server) -> None:
    odd = {"resources": [{"name": name, "kind": "Pod", "verbs": VERBS}, *LISTED["resources"]]}
    groups = {"groups": [{"name": name, "versions": [{"version": "v1"}]}]}
    server.answer = discovering(groups, odd)
    found, _ = resources(api_of(server), ["*"], [])
    assert {each.resource for each in found} == {"pods"}
    server.answer = discovering({"groups": [{"name": "batch", "versions": [{"version": name}]}]}, LISTED)
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


@pytest.mark.parametrize("date", DATES)
def test_a_clock_that_no_cluster_has_is_not_believed(date: str, server: Server) -> None:
    server.answer = lambda line, send: send(whole(b"{}", b"Date: " + date.encode()))
    api = api_of(server)
    api.get("/api")
    assert 0 < api.now() < 4_102_444_800_000_000


EVERYWHERE = ("*:*", "http://*:*")
HERE = (
    "127.0.0.1", "localhost", "localhost.", "127.1", "2130706433", "0x7f000001", "017700000001", "0.0.0.0",
    "[::ffff:127.0.0.1]", "[::ffff:7f00:1]",
)  # fmt: skip


def gated(server: str, proxy: str = "", allowed: Sequence[str] = EVERYWHERE) -> Api:
    """Return the API of a kubeconfig that somebody has given on a page."""
    config = {
        "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
        "clusters": [{"name": "c", "cluster": {"server": server, **({"proxy-url": proxy} if proxy else {})}}],
        "users": [{"name": "u", "user": {"token": SECRET}}],
    }
    gate = Gate("CAUSELINE_CLUSTER_HOSTS", allowed_hosts(allowed))
    return api_to(config, gate=gate, connect=1.0, read=1.0, silence=(0.5, 1.0))


@pytest.mark.parametrize("host", HERE)
def test_a_given_kubeconfig_leads_to_this_machine_only_by_a_name_of_the_setting(host: str, server: Server) -> None:
    server.answer = answering(whole(b"{}"))
    port = server.url.rpartition(":")[2]
    with pytest.raises(ApiError, match="CAUSELINE_CLUSTER_HOSTS has to name the host"):
        gated(f"http://{host}:{port}").get("/api")
    with pytest.raises(ApiError, match="CAUSELINE_CLUSTER_HOSTS has to name the host"):
        gated("https://10.0.0.1", f"http://{host}:{port}").get("/api")
    assert server.heads == []


def test_a_cluster_on_this_machine_is_reached_where_the_setting_names_it(server: Server) -> None:
    server.answer = answering(whole(b"{}"))
    assert gated(server.url, allowed=["http://127.0.0.1:*"]).get("/api") == b"{}"
    with pytest.raises(ApiError, match="Nothing may be sent to"):
        gated(server.url, allowed=["http://10.0.0.0/8:*"]).get("/api")


@pytest.mark.parametrize(
    "host",
    [
        "169.254.169.254", "2852039166", "0xa9fea9fe", "[::ffff:169.254.169.254]", "[64:ff9b::a9fe:a9fe]",
        "[::ffff:0:a9fe:a9fe]", "[64:ff9b:1::a9fe:a9fe]", "[fd00:ec2::254]", "100.100.100.200", "168.63.129.16",
        "[fe80::1]", "224.0.0.1", "metadata.google.internal",
    ],
)  # fmt: skip
def test_a_given_kubeconfig_never_leads_to_where_clouds_serve_credentials(host: str, server: Server) -> None:
    named = [*EVERYWHERE, "http://127.0.0.1:*"]
    for address, proxy in ((f"https://{host}", ""), (f"https://{host}", server.url), (f"http://{host}", server.url)):
        with pytest.raises(ApiError, match=r"link-local|serve credentials|not the address of one machine"):
            gated(address, proxy, named).get("/api")
    with pytest.raises(ApiError, match=r"link-local|serve credentials|not the address of one machine"):
        gated("https://10.0.0.1", f"http://{host}:3128", named).get("/api")
    assert server.heads == []


def test_what_was_checked_is_what_is_connected_to_also_by_a_proxy(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    port = server.url.rpartition(":")[2]
    answers, original = ["127.0.0.1", "169.254.169.254"], socket.getaddrinfo

    def resolve(host: str, *rest: Any, **more: Any) -> Any:
        return original(answers.pop(0) if host == "rebinding.example" else host, *rest, **more)

    monkeypatch.setattr(socket, "getaddrinfo", resolve)
    server.answer = answering(whole(b"{}"))
    api = gated(f"http://rebinding.example:{port}", allowed=["http://rebinding.example:*"])
    assert api.get("/api") == b"{}" and b"Host: rebinding.example" in server.heads[0]
    api.close()
    with pytest.raises(ApiError, match="link-local"):
        api.get("/api")
    server.heads.clear()
    named = ["*:*", "http://127.0.0.1:*"]
    answers[:] = ["10.9.8.7", "169.254.169.254"]
    with pytest.raises(ApiError):
        gated("https://rebinding.example:6443", server.url, named).get("/api")
    assert server.heads[0].startswith(b"CONNECT 10.9.8.7:6443 ")
    with pytest.raises(ApiError, match="link-local"):
        gated("https://rebinding.example:6443", server.url, named).get("/api")
    with pytest.raises(ApiError, match="Only the proxy-url could know it"):
        gated("https://nothing.invalid", server.url, named).get("/api")
    assert len(server.heads) == 1
    with pytest.raises(ApiError):
        gated("https://nothing.invalid", server.url, [*named, "nothing.invalid"]).get("/api")
    assert server.heads[1].startswith(b"CONNECT nothing.invalid:443 ")


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


def test_the_key_of_a_client_is_left_in_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "tmp"))
    (tmp_path / "tmp").mkdir()
    certificate, key = (base64.b64encode(path.read_bytes()).decode() for path in signed(tmp_path, "client"))
    config = {
        "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
        "clusters": [{"name": "c", "cluster": {"server": "https://127.0.0.1:1"}}],
        "users": [{"name": "u", "user": {"client-certificate-data": certificate, "client-key-data": key}}],
    }
    api_to(config)
    assert not list((tmp_path / "tmp").rglob("*"))
    with pytest.raises(ApiError, match="a certificate or a key in it is not valid"):
        api_to({**config, "users": [{"name": "u", "user": {"client-certificate-data": key, "client-key-data": key}}]})
