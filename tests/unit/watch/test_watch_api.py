"""These tests reach an API server with TLS and each kind of credentials. Messages about unusable credentials do not
show them."""

import base64
import ssl
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson
import pytest
from kubernetes.config import incluster_config

from collectors.watch.server import api as module
from collectors.watch.server import exec_credentials
from collectors.watch.server.api import Api
from collectors.watch.server.configuration import configured, from_kubeconfig
from collectors.watch.server.failures import ApiError, Unauthorized, Unreachable, Unusable
from collectors.watch.streams.resources import Resource
from tests.clients.reflecting import Watching, api_to, until
from tests.servers.certificates import for_localhost
from tests.unit.watch.wire import Send, Server, kubeconfig
from timeline.core.entries import MarkType

PODS = Resource("", "v1", "Pod", "pods", True)
LIST = b'{"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"12"},"items":[]}'
MARK = b'{"type":"BOOKMARK","object":{"metadata":{"resourceVersion":"12"}}}\n'
EXEC = "client.authentication.k8s.io/v1"


class Pods(Server):
    """This server lists no Pods and sends nothing in a watch. It accepts one token, or a client's certificate."""

    def __init__(self, folder: Path) -> None:
        self.file, context = for_localhost(folder)
        self.certificate, self.key = self.file.read_bytes(), (folder / "localhost.key").read_bytes()
        self.token = "first"
        context.load_verify_locations(self.file)
        context.verify_mode = ssl.CERT_OPTIONAL
        super().__init__(context)
        self.answer = self._pods
        self.url = f"https://localhost:{self.port}"

    def _pods(self, line: bytes, send: Send) -> None:
        if not self.certified and f"bearer {self.token}".encode() not in self.heads[-1].lower():
            send(b"HTTP/1.1 401 No\r\nContent-Length: 0\r\n\r\n")
        elif b"watch=" in line:
            send(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n%x\r\n%b\r\n" % (len(MARK), MARK))
        else:
            send(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%b" % (len(LIST), LIST))

    def kubeconfig(self, user: dict[str, Any], trusted: bool = True) -> dict[str, Any]:
        return kubeconfig(self.url, user, certificate_authority_data=_base64(self.certificate) if trusted else "")


def _base64(content: bytes) -> str:
    return base64.b64encode(content).decode()


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Pods]:
    running = Pods(tmp_path)
    yield running
    running.close()


def program(script: str) -> dict[str, Any]:
    return {"apiVersion": EXEC, "command": "sh", "args": ["-c", script]}


def gives(token: str) -> str:
    credential = f'{{"apiVersion":"{EXEC}","kind":"ExecCredential","status":{{"token":"{token}"}}}}'
    return f"echo '{credential}'"


def follows(api: Api) -> None:
    """List and watch, and assert that a watch without events stops soon."""
    with Watching(api, PODS) as watched:
        until(lambda: watched.marks(MarkType.BOOKMARK))


def test_a_clients_certificate_or_a_token_is_accepted_of_a_server_that_is_trusted(server: Pods) -> None:
    data = {"client-certificate-data": _base64(server.certificate), "client-key-data": _base64(server.key)}
    follows(api_to(server.kubeconfig(data)))
    follows(api_to(server.kubeconfig({"token": "first"})))
    with pytest.raises(Unreachable, match="not trusted"):
        api_to(server.kubeconfig({"token": "first"}, trusted=False)).get("/api")


def test_a_program_is_run_again_when_its_token_has_been_exchanged(
    server: Pods, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_RELOAD_SECONDS", 0.0)
    script = tmp_path / "script"
    script.write_text(gives("first"))
    api = api_to(server.kubeconfig({"exec": program(f". {script}")}))
    follows(api)
    server.token = "second"
    with pytest.raises(Unauthorized):
        api.get("/api/v1/pods")
    script.write_text(gives("second"))
    follows(api)


def test_a_program_gets_none_of_the_secrets_of_causeline(
    server: Pods, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = tmp_path / "environment"
    for name in ("CAUSELINE_SECRET_KEY", "DATABASE_URL", "REDIS_URL", "CAUSELINE_TOKEN", "PGPASSWORD", "SOME_SECRET"):
        monkeypatch.setenv(name, "a secret of causeline")
    monkeypatch.setenv("AWS_PROFILE", "prod")
    given = {**program(f"env > {seen}; {gives('first')}"), "env": [{"name": "LOGIN_HINT", "value": "me"}]}
    follows(api_to(server.kubeconfig({"exec": given})))
    text = dict(line.partition("=")[::2] for line in seen.read_text().splitlines())
    assert "a secret of causeline" not in text.values()
    assert (text["AWS_PROFILE"], text["LOGIN_HINT"]) == ("prod", "me")
    assert text["PATH"] and '"kind": "ExecCredential"' in text["KUBERNETES_EXEC_INFO"]


def test_a_program_that_hangs_is_ended_with_what_it_started(
    server: Pods, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(exec_credentials, "_SECONDS", 0.5)
    child = tmp_path / "child"
    with pytest.raises(Unusable, match="did not end within"):
        api_to(server.kubeconfig({"exec": program(f"sleep 300 & echo $! > {child}; wait")}))
    until(lambda: not _alive(child))


def _alive(child: Path) -> bool:
    try:
        return bool(Path(f"/proc/{child.read_text().strip()}/cmdline").read_bytes())
    except (FileNotFoundError, ProcessLookupError):
        return False


def test_a_token_that_is_about_to_expire_is_renewed_from_what_is_checked_anew(server: Pods, tmp_path: Path) -> None:
    ran = tmp_path / "ran"
    soon = gives("first").replace('"first"', '"first","expirationTimestamp":"2020-01-01T00:00:00Z"')
    file = tmp_path / "kubeconfig"
    file.write_bytes(orjson.dumps(server.kubeconfig({"exec": program(f"echo >> {ran}; {soon}")})))
    api = api_to(file)
    api.get("/api/v1/pods")
    times = len(ran.read_text())
    assert times > 1
    file.write_bytes(orjson.dumps(server.kubeconfig({"exec": program(f"echo >> {ran}"), "as": "system:admin"})))
    with pytest.raises(Unusable, match="impersonates"):
        api.get("/api/v1/pods")
    assert len(ran.read_text()) == times


def test_in_a_pod(server: Pods, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    token = tmp_path / "token"
    token.write_text("first\n")
    monkeypatch.setattr(incluster_config, "SERVICE_TOKEN_FILENAME", str(token))
    monkeypatch.setattr(incluster_config, "SERVICE_CERT_FILENAME", str(server.file))
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "localhost")
    monkeypatch.setenv("KUBERNETES_SERVICE_PORT", str(server.port))
    follows(Api.in_cluster())
    monkeypatch.delenv("KUBERNETES_SERVICE_HOST")
    with pytest.raises(Unusable, match="not set"):
        Api.in_cluster()


def test_a_watch_that_falls_silent_over_tls_is_noticed(server: Pods) -> None:
    api = api_to(server.kubeconfig({"token": "first"}), silence=(0.3, 0.3))
    with Watching(api, PODS) as watched:
        until(lambda: len(watched.marks(MarkType.BOOKMARK)) > 1)
        assert not watched.marks(MarkType.GAP)


@pytest.mark.parametrize(
    ("user", "why"),
    [
        ({"exec": program("echo the login has expired >&2; exit 1")}, "the login has expired"),
        ({"exec": program("echo token=abcdefghij >&2; exit 1")}, "no credentials"),
        ({"exec": {"apiVersion": EXEC, "command": "there-is-no-such-command"}}, "there-is-no-such-command"),
        ({"tokenFile": "/there/is/no/such/file"}, r"It names a file \(tokenFile\)"),
    ],
)
def test_credentials_that_there_are_none_of(server: Pods, user: dict[str, Any], why: str) -> None:
    with pytest.raises(Unusable, match=why) as error:
        api_to(server.kubeconfig(user))
    assert "abcdefghij" not in str(error.value)


def test_a_kubeconfig_or_a_context_that_is_not_there(server: Pods, tmp_path: Path) -> None:
    with pytest.raises(Unusable, match=r"There is no kubeconfig .*/config"):
        api_to(tmp_path / "config")
    with pytest.raises(ApiError, match="elsewhere"):
        api_to(server.kubeconfig({}), "elsewhere")


@pytest.mark.parametrize(
    ("server", "proxy", "times"),
    [
        ("http://10.0.0.1", "", 0),
        ("http://10.0.0.1", "https://10.0.0.2", 1),
        ("https://10.0.0.1", "", 1),
        ("https://127.0.0.1", "", 1),
    ],
)
def test_the_authorities_of_the_system_are_loaded_where_a_connection_uses_tls(
    server: str, proxy: str, times: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    loaded: list[ssl.SSLContext] = []
    monkeypatch.setattr(ssl.SSLContext, "load_default_certs", lambda context: loaded.append(context))
    for name in ("HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy"):
        monkeypatch.delenv(name, raising=False)
    configured(from_kubeconfig(lambda: kubeconfig(server, {}, proxy_url=proxy)), [], 1)
    assert len(loaded) == times
