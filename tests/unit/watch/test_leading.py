"""These tests check where kubeconfigs lead, and what they leave behind: nothing on this machine or in a cloud that no
operator allows is reached."""

import base64
import socket
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from collectors.hosts import Gate, allowed_hosts
from collectors.watch.server.api import Api
from collectors.watch.server.failures import ApiError
from tests.clients.reflecting import api_to
from tests.servers.certificates import signed
from tests.unit.watch.wire import Server, kubeconfig


@pytest.fixture
def server() -> Iterator[Server]:
    running = Server()
    running.answer = lambda line, send: send(b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\n{}")
    yield running
    running.close()


def test_a_proxy_of_the_environment_sees_nothing_of_this_machine(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    proxy = Server()
    for name in ("HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, proxy.url)
    for name in ("NO_PROXY", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
    assert api_to(kubeconfig(server.url)).get("/api") == b"{}"
    assert not proxy.heads
    proxy.close()


EVERYWHERE = ("*:*", "http://*:*")
HERE = (
    "127.0.0.1", "localhost", "localhost.", "127.1", "2130706433", "0x7f000001", "017700000001", "0.0.0.0",
    "[::ffff:127.0.0.1]", "[::ffff:7f00:1]",
)  # fmt: skip


def gated(server: str, proxy: str = "", allowed: Sequence[str] = EVERYWHERE) -> Api:
    """Return the API of a kubeconfig that somebody has given on a page."""
    gate = Gate("CAUSELINE_CLUSTER_HOSTS", allowed_hosts(allowed))
    return api_to(kubeconfig(server, proxy_url=proxy), gate=gate, connect=1.0, read=1.0, silence=(0.5, 1.0))


@pytest.mark.parametrize("host", HERE)
def test_a_given_kubeconfig_leads_to_this_machine_only_by_a_name_of_the_setting(host: str, server: Server) -> None:
    port = server.port
    with pytest.raises(ApiError, match="CAUSELINE_CLUSTER_HOSTS has to name the host"):
        gated(f"http://{host}:{port}").get("/api")
    with pytest.raises(ApiError, match="CAUSELINE_CLUSTER_HOSTS has to name the host"):
        gated("https://10.0.0.1", f"http://{host}:{port}").get("/api")
    assert server.heads == []


def test_a_cluster_on_this_machine_is_reached_where_the_setting_names_it(server: Server) -> None:
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
    port = server.port
    answers, original = ["127.0.0.1", "169.254.169.254"], socket.getaddrinfo

    def resolve(host: str, *rest: Any, **more: Any) -> Any:
        return original(answers.pop(0) if host == "rebinding.example" else host, *rest, **more)

    monkeypatch.setattr(socket, "getaddrinfo", resolve)
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


def test_the_key_of_a_client_is_left_in_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "tmp"))
    (tmp_path / "tmp").mkdir()
    certificate, key = (base64.b64encode(path.read_bytes()).decode() for path in signed(tmp_path, "localhost"))
    data = {"client-certificate-data": certificate, "client-key-data": key}
    api_to(kubeconfig("https://127.0.0.1:1", data))
    assert not list((tmp_path / "tmp").rglob("*"))
    with pytest.raises(ApiError, match="a certificate or a key in it is not valid"):
        api_to(kubeconfig("https://127.0.0.1:1", data | {"client-certificate-data": key}))
