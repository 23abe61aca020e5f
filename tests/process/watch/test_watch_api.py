"""These tests reach an API server with TLS and each kind of credentials. Messages about unusable credentials do not
show them."""

import base64
import contextlib
import datetime
import ipaddress
import socket
import ssl
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from kubernetes.config import incluster_config

from collectors.watch.server import api as module
from collectors.watch.server import exec_credentials
from collectors.watch.server.api import Api
from collectors.watch.server.configuration import configured, from_kubeconfig
from collectors.watch.server.failures import ApiError, Unauthorized, Unreachable, Unusable
from collectors.watch.streams.resources import Resource
from tests.reflecting import Watching, api_to, until
from timeline.core.entries import MarkType

PODS = Resource("", "v1", "Pod", "pods", True)
LIST = b'{"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"12"},"items":[]}'
MARK = b'{"type":"BOOKMARK","object":{"metadata":{"resourceVersion":"12"}}}\n'
EXEC = "client.authentication.k8s.io/v1"


class Server:
    """This server lists no Pods and sends nothing in a watch. It accepts one token, or a client's certificate."""

    def __init__(self, folder: Path) -> None:
        key = ec.generate_private_key(ec.SECP256R1())
        self.certificate, self.key = _certificate(key), _pem(key)
        (folder / "certificate").write_bytes(self.certificate)
        (folder / "key").write_bytes(self.key)
        self.token = "first"
        self._context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self._context.load_cert_chain(folder / "certificate", folder / "key")
        self._context.load_verify_locations(folder / "certificate")
        self._context.verify_mode = ssl.CERT_OPTIONAL
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.port = self._socket.getsockname()[1]
        self._open: list[socket.socket] = []
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        for each in (self._socket, *self._open):
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
            each.close()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                self._open.append(self._socket.accept()[0])
                threading.Thread(target=self._serve, args=(self._open[-1],), daemon=True).start()

    def _serve(self, client: socket.socket) -> None:
        with contextlib.suppress(OSError), self._context.wrap_socket(client, server_side=True) as wire:
            lines = wire.makefile("rb")
            while request := lines.readline():
                head = b"".join(iter(lines.readline, b"\r\n"))
                known = wire.getpeercert() or f"bearer {self.token}".encode() in head.lower()
                if not known:
                    wire.sendall(b"HTTP/1.1 401 No\r\nContent-Length: 0\r\n\r\n")
                elif b"watch=" in request:
                    chunk = b"%x\r\n%b\r\n" % (len(MARK), MARK)
                    wire.sendall(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + chunk)
                else:
                    wire.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%b" % (len(LIST), LIST))

    def kubeconfig(self, user: dict[str, Any], trusted: bool = True) -> dict[str, Any]:
        cluster = {"server": f"https://127.0.0.1:{self.port}"}
        if trusted:
            cluster["certificate-authority-data"] = _base64(self.certificate)
        return {
            "apiVersion": "v1",
            "kind": "Config",
            "current-context": "here",
            "contexts": [{"name": "here", "context": {"cluster": "c", "user": "u"}}],
            "clusters": [{"name": "c", "cluster": cluster}],
            "users": [{"name": "u", "user": user}],
        }


def _certificate(key: ec.EllipticCurvePrivateKey) -> bytes:
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "causeline")])
    now, day = datetime.datetime.now(datetime.UTC), datetime.timedelta(days=1)
    here = x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))])
    built = x509.CertificateBuilder(name, name, key.public_key(), 5, now - day, now + day)
    signed = built.add_extension(here, False).add_extension(x509.BasicConstraints(True, None), True)
    return signed.sign(key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM)


def _pem(key: ec.EllipticCurvePrivateKey) -> bytes:
    pkcs8, clear = serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    return key.private_bytes(serialization.Encoding.PEM, pkcs8, clear)


def _base64(content: bytes) -> str:
    return base64.b64encode(content).decode()


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    running = Server(tmp_path)
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


def test_a_clients_certificate(server: Server) -> None:
    data = {"client-certificate-data": _base64(server.certificate), "client-key-data": _base64(server.key)}
    follows(api_to(server.kubeconfig(data)))


def test_a_token(server: Server) -> None:
    follows(api_to(server.kubeconfig({"token": "first"})))


def test_a_program_is_run_again_when_its_token_has_been_exchanged(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
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
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
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
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
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


def test_a_token_that_is_about_to_expire_is_renewed_from_what_is_checked_anew(server: Server, tmp_path: Path) -> None:
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


def test_in_a_pod(server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    token = tmp_path / "token"
    token.write_text("first\n")
    monkeypatch.setattr(incluster_config, "SERVICE_TOKEN_FILENAME", str(token))
    monkeypatch.setattr(incluster_config, "SERVICE_CERT_FILENAME", str(tmp_path / "certificate"))
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "127.0.0.1")
    monkeypatch.setenv("KUBERNETES_SERVICE_PORT", str(server.port))
    follows(Api.in_cluster())
    monkeypatch.delenv("KUBERNETES_SERVICE_HOST")
    with pytest.raises(Unusable, match="not set"):
        Api.in_cluster()


def test_a_watch_that_falls_silent_over_tls_is_noticed(server: Server) -> None:
    api = api_to(server.kubeconfig({"token": "first"}), silence=(0.3, 0.3))
    with Watching(api, PODS) as watched:
        until(lambda: len(watched.marks(MarkType.BOOKMARK)) > 1)
        assert not watched.marks(MarkType.GAP)


def test_a_server_whose_certificate_is_another(server: Server) -> None:
    with pytest.raises(Unreachable, match="not trusted"):
        api_to(server.kubeconfig({"token": "first"}, trusted=False)).get("/api")


@pytest.mark.parametrize(
    ("user", "why"),
    [
        ({"exec": program("echo the login has expired >&2; exit 1")}, "the login has expired"),
        ({"exec": program("echo token=abcdefghij >&2; exit 1")}, "no credentials"),
        ({"exec": {"apiVersion": EXEC, "command": "there-is-no-such-command"}}, "there-is-no-such-command"),
        ({"tokenFile": "/there/is/no/such/file"}, r"It names a file \(tokenFile\)"),
    ],
)
def test_credentials_that_there_are_none_of(server: Server, user: dict[str, Any], why: str) -> None:
    with pytest.raises(Unusable, match=why) as error:
        api_to(server.kubeconfig(user))
    assert "abcdefghij" not in str(error.value)


def test_a_kubeconfig_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(Unusable, match=r"There is no kubeconfig .*/config"):
        api_to(tmp_path / "config")


def test_a_context_that_there_is_none_of(server: Server) -> None:
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
    cluster = {"server": server} | ({"proxy-url": proxy} if proxy else {})
    kubeconfig = {
        "current-context": "c",
        "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
        "clusters": [{"name": "c", "cluster": cluster}],
        "users": [{"name": "u", "user": {}}],
    }
    configured(from_kubeconfig(lambda: kubeconfig), [], 1)
    assert len(loaded) == times
