"""These tests connect, test, change and disconnect clusters, and check that no credentials are ever shown."""

import base64
import json
import logging
import ssl
import threading
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from io import StringIO
from ipaddress import ip_address
from pathlib import Path
from typing import Any

import pytest
import yaml
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.management import call_command
from django.test import Client
from pytest_django import Settings

from collectors.hosts import allowed_hosts
from collectors.watch import rbac
from collectors.watch.access import affected_rules
from collectors.watch.server import connections, credentials
from collectors.watch.server.connections import Refused, WatchOptions
from collectors.watch.server.failures import Unusable
from collectors.watch.server.kubeconfig import Kubeconfig
from dashboard import environment
from dashboard.cli import __main__ as cli
from tests import stored
from tests.people import member
from tests.stored import everything
from timeline.models import Cluster, Source

pytestmark = pytest.mark.django_db
SECRET = "pl4nted-t0ken"
KEY, OLD_KEY = "k" * 32, "o" * 40


class Server(ThreadingHTTPServer):
    """This API server serves Pods, Services and Leases, and grants what a test sets to requests with its token."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.refused: set[tuple[str, str]] = set()
        self.answers_reviews = True
        self.token = SECRET

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"


class Handler(BaseHTTPRequestHandler):
    server: Server

    def do_GET(self) -> None:
        resources = {"/api/v1": [("pods", "Pod"), ("services", "Service")]}
        resources["/apis/coordination.k8s.io/v1"] = [("leases", "Lease")]
        group = {
            "name": "coordination.k8s.io",
            "versions": [{"version": "v1", "groupVersion": "coordination.k8s.io/v1"}],
        }
        answers: dict[str, Any] = {"/version": {"gitVersion": "v1.34.1"}, "/apis": {"groups": [group]}}
        for path, served in resources.items():
            verbs = ["get", "list", "watch"]
            answer = [{"name": name, "kind": kind, "namespaced": True, "verbs": verbs} for name, kind in served]
            answers[path] = {"resources": answer}
        self._answer(answers.get(self.path))

    def do_POST(self) -> None:
        review = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        asked = review["spec"]["resourceAttributes"]
        if not self.server.answers_reviews:
            return self._answer({"kind": "Status", "message": "no", "code": 403}, 403)
        allowed = (asked["resource"], asked["verb"]) not in self.server.refused
        self._answer({"status": {"allowed": allowed, "reason": "" if allowed else "no rule"}}, 201)

    def _answer(self, answer: Any, status: int = 200) -> None:
        if self.headers["Authorization"] != f"Bearer {self.server.token}":
            answer, status = {"kind": "Status", "message": "Unauthorized", "code": 401}, 401
        elif answer is None:
            answer, status = {"kind": "Status", "message": "not found", "code": 404}, 404
        body = json.dumps(answer).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        """Log nothing."""


@pytest.fixture
def server() -> Iterator[Server]:
    with Server() as running:
        threading.Thread(target=running.serve_forever, daemon=True).start()
        yield running
        running.shutdown()


@pytest.fixture(autouse=True)
def key(settings: Settings) -> None:
    settings.CREDENTIALS_KEYS = [KEY]
    settings.CLUSTER_HOSTS = allowed_hosts(["*:*", "http://*:*", "http://127.0.0.1:*", "https://127.0.0.1:*"])


def config(server: str, user: dict[str, Any] | None = None) -> str:
    answer = {
        "kind": "Config",
        "current-context": "prod",
        "clusters": [{"name": "c", "cluster": {"server": server}}],
        "users": [
            {"name": "u", "user": user or {"token": SECRET}},
            {"name": "other", "user": {"token": "another-s3cret"}},
        ],
        "contexts": [
            {"name": "prod", "context": {"cluster": "c", "user": "u"}},
            {"name": "other", "context": {"cluster": "c", "user": "other"}},
        ],
    }
    return yaml.safe_dump(answer)


def connected(server: str = "https://10.0.0.1:6443", name: str = "prod") -> Cluster:
    way = connections.with_kubeconfig(Kubeconfig(config(server).encode()))
    return connections.connect(name, way, WatchOptions())


def form(server: str, act: str = "check", **fields: Any) -> dict[str, Any]:
    return {"act": act, "name": "prod", "how": "stored", "kubeconfig": config(server), **fields}


def hidden(page: str, name: str) -> str:
    return page.partition(f'name="{name}" value="')[2].partition('"')[0]


def test_credentials_are_encrypted_where_they_are_kept_and_reach_the_cluster(server: Server) -> None:
    cluster = connected(server.url)
    output = everything()
    assert SECRET not in output and "another-s3cret" not in output and SECRET.encode().hex() not in output
    api = credentials.api_of(Cluster.objects.get(pk=cluster.pk))
    assert json.loads(api.get("/version"))["gitVersion"] == "v1.34.1"
    api.close()


def test_keys_are_rotated(settings: Settings) -> None:
    settings.CREDENTIALS_KEYS = [OLD_KEY]
    cluster = connected()
    settings.CREDENTIALS_KEYS = [KEY, OLD_KEY]
    credentials.api_of(cluster)
    assert connections.reencrypt_secrets() == 1
    settings.CREDENTIALS_KEYS = [KEY]
    credentials.api_of(Cluster.objects.get(pk=cluster.pk))
    with pytest.raises(Unusable, match="a key that is not in CAUSELINE_CREDENTIALS_KEY"):
        credentials.api_of(cluster)


def test_without_a_key_nothing_is_stored(settings: Settings, client: Client) -> None:
    settings.CREDENTIALS_KEYS = []
    with pytest.raises(Unusable, match="CAUSELINE_CREDENTIALS_KEY is not set"):
        connected()
    page = client.post("/clusters/", form("https://10.0.0.1"))
    assert page.status_code == 400 and b"CAUSELINE_CREDENTIALS_KEY is not set" in page.content
    assert not Cluster.objects.exists()


def test_a_program_of_a_kubeconfig_runs_only_where_the_command_line_allowed_it(
    tmp_path: Path, settings: Settings
) -> None:
    settings.KUBECONFIG_DIRS = (tmp_path,)
    ran = tmp_path / "ran"
    credential = {"apiVersion": "client.authentication.k8s.io/v1", "kind": "ExecCredential", "status": {"token": "t"}}
    script = f"touch {ran}; echo '{json.dumps(credential)}'"
    program = {"apiVersion": credential["apiVersion"], "command": "sh", "args": ["-c", script]}
    file = tmp_path / "kubeconfig"
    file.write_text(config("https://127.0.0.1:1"))
    refused = connections.connect("page", connections.with_kubeconfig_path(file), WatchOptions())
    file.write_text(config("https://127.0.0.1:1", {"exec": program}))
    with pytest.raises(Unusable, match="come from a program"):
        connections.with_kubeconfig_path(file)
    with pytest.raises(Unusable, match="come from a program"):
        credentials.api_of(refused)
    assert not ran.exists()
    allowed = connections.connect(
        "terminal", connections.with_kubeconfig_path(file, programs_for="terminal"), WatchOptions()
    )
    credentials.api_of(allowed)
    assert ran.exists()
    ran.unlink()
    signed = allowed.reference

    other = tmp_path / "other"
    other.write_text(config("https://127.0.0.1:1", {"exec": program}))
    changed: list[tuple[str, dict[str, Any]]] = [
        ("copied", signed),
        ("terminal", {**signed, "programs": True}),  # the form of an earlier version
        ("terminal", {**signed, "programs": ["x"]}),
        ("terminal", {**signed, "path": str(other)}),
        ("terminal", {**signed, "context": "stage"}),
        ("terminal", {**signed, "how": "path "}),
    ]
    for name, reference in changed:
        with pytest.raises(Unusable):
            credentials.api_of(Cluster(name=name, reference=reference))
    with pytest.raises(Unusable, match=r"permission to run it is not valid.*causeline connect --name terminal"):
        credentials.api_of(Cluster(name="terminal", reference={**signed, "programs": True}))
    assert not ran.exists()

    Cluster.objects.filter(pk=allowed.pk).update(reference={**signed, "programs": True}, keep_days=3)
    again = connections.connect(
        "terminal", connections.with_kubeconfig_path(file, programs_for="terminal"), WatchOptions()
    )
    assert (again.pk, again.keep_days, again.reference) == (allowed.pk, 3, signed)
    with pytest.raises(Refused):
        connections.connect(
            "terminal", connections.with_kubeconfig_path(other, programs_for="terminal"), WatchOptions()
        )
    settings.CREDENTIALS_KEYS = ["n" * 32]
    with pytest.raises(Unusable, match="not valid"):
        credentials.api_of(again)
    settings.CREDENTIALS_KEYS = [KEY, OLD_KEY]
    settings.SECRET_KEY = "another"
    again = connections.connect(
        "terminal", connections.with_kubeconfig_path(file, programs_for="terminal"), WatchOptions()
    )
    settings.CREDENTIALS_KEYS = [OLD_KEY, KEY]
    connections.reencrypt_secrets()
    settings.CREDENTIALS_KEYS = [OLD_KEY]
    credentials.api_of(Cluster.objects.get(pk=again.pk))
    assert ran.exists()
    file.write_text(config("https://127.0.0.1:1", {"token": "t", "as": "system:admin"}))
    with pytest.raises(Unusable, match="impersonates another"):
        credentials.api_of(Cluster.objects.get(pk=again.pk))


def test_a_file_that_somebody_uploaded_is_no_kubeconfig(
    settings: Settings, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "data").symlink_to(tmp_path / "real")  # as if an operator had moved the data to another disk
    settings.UPLOAD_DIR = tmp_path / "data" / "uploads"
    settings.UPLOAD_DIR.mkdir()
    settings.KUBECONFIG_DIRS = (tmp_path,)
    file = settings.UPLOAD_DIR / "0"
    file.write_text(config("https://127.0.0.1:1"))
    (tmp_path / "link").symlink_to(file)
    outside = tmp_path / "kubeconfig"
    outside.write_text(config("https://127.0.0.1:1", {"tokenFile": "data/uploads/0"}))
    real = tmp_path / "real" / "uploads" / "0"
    for path in (file, tmp_path / "link", real, tmp_path / "data" / ".." / "data" / "uploads" / "0", outside):
        with pytest.raises(Unusable, match="among the uploads"):
            connections.with_kubeconfig_path(path)
        assert ran("connect", "--name=prod", "--unchecked", f"--kubeconfig={path}")[0] == 2
        assert "among the uploads" in capsys.readouterr().err
    assert not Cluster.objects.exists()


def test_a_kubeconfig_is_read_by_its_path_only_from_the_folders_that_an_operator_allows(
    settings: Settings, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    settings.KUBECONFIG_DIRS = (tmp_path / "allowed",)
    (tmp_path / "allowed").mkdir()
    outside, inside = tmp_path / "kubeconfig", tmp_path / "allowed" / "kubeconfig"
    outside.write_text(config("https://127.0.0.1:1"))
    assert ran("connect", "--name=prod", "--by-path", "--unchecked", f"--kubeconfig={outside}")[0] == 2
    assert "CAUSELINE_KUBECONFIG_DIRS" in capsys.readouterr().err
    inside.write_text(config("https://127.0.0.1:1"))
    cluster = connections.connect("prod", connections.with_kubeconfig_path(inside), WatchOptions())
    credentials.api_of(cluster).close()
    (tmp_path / "token").write_text(SECRET)
    inside.write_text(config("https://127.0.0.1:1", {"tokenFile": "../token"}))
    with pytest.raises(Unusable, match="Its tokenFile lies outside") as refused:
        credentials.api_of(cluster)
    assert SECRET not in str(refused.value)
    Cluster.objects.update(reference={**cluster.reference, "path": str(outside)})
    with pytest.raises(Unusable, match="lies outside the folders"):
        credentials.api_of(Cluster.objects.get())
    for path in ("/dev/zero", "/proc/self/environ", f"{tmp_path}/allowed", f"{tmp_path}/allowed/none"):
        with pytest.raises(Unusable):
            connections.with_kubeconfig_path(Path(path))


def test_a_path_with_a_colon_is_one_path(tmp_path: Path, settings: Settings, server: Server) -> None:
    """The file that is checked is the one that is loaded. The client library would split the path and load another
    file."""
    settings.KUBECONFIG_DIRS = (tmp_path,)
    ran_it = tmp_path / "ran"
    harmful = tmp_path / "b" / "kc"
    harmful.parent.mkdir()
    program = {"apiVersion": "client.authentication.k8s.io/v1", "command": "touch", "args": [str(ran_it)]}
    harmful.write_text(config(server.url, {"exec": program}))
    harmless = Path(f"{tmp_path}/a:{harmful}")
    harmless.parent.mkdir(parents=True)
    harmless.write_text(config(server.url))
    api = credentials.api_of(connections.connect("prod", connections.with_kubeconfig_path(harmless), WatchOptions()))
    assert json.loads(api.get("/version"))["gitVersion"] == "v1.34.1" and not ran_it.exists()
    assert ran("connect", "--name=stored", f"--kubeconfig={harmless}")[0] == 0 and not ran_it.exists()


def test_a_file_is_checked_on_every_load(
    tmp_path: Path, settings: Settings, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("collectors.watch.server.api._RELOAD_SECONDS", 0.0)
    settings.KUBECONFIG_DIRS = (tmp_path,)
    file, ran_it = tmp_path / "kubeconfig", tmp_path / "ran"
    file.write_text(config(server.url))
    api = credentials.api_of(connections.connect("prod", connections.with_kubeconfig_path(file), WatchOptions()))
    api.get("/version")
    program = {"apiVersion": "client.authentication.k8s.io/v1", "command": "touch", "args": [str(ran_it)]}
    outside = tmp_path.parent / f"{tmp_path.name}-secret"
    outside.write_text(SECRET)
    server.token = "exchanged"
    for user in ({"exec": program}, {"tokenFile": str(outside)}, {"token": "t", "as": "system:admin"}):
        file.write_text(config(server.url, user))
        with pytest.raises(Unusable):
            api.get("/version")
        assert not ran_it.exists()
    file.write_text(config(server.url, {"token": "exchanged"}))
    api.get("/version")


def test_a_setting_of_folders_holds_whole_paths(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CAUSELINE_KUBECONFIG_DIRS", "/etc/causeline, ~/.kube")
    assert environment.read().kubeconfig_dirs == [Path("/etc/causeline"), Path.home() / ".kube"]
    for given in ("kube", "./kube", "/a,kube", "~nobody-of-this-name/kube"):
        monkeypatch.setenv("CAUSELINE_KUBECONFIG_DIRS", given)
        with pytest.raises(environment.SettingError, match="CAUSELINE_KUBECONFIG_DIRS"):
            environment.read()


def test_the_page_shows_contexts_and_answers_first_and_connects_then(client: Client, server: Server) -> None:
    server.refused = {("leases", "watch"), ("services", "list"), ("services", "watch")}
    page = client.post("/clusters/", form(server.url, include="widgets.example.com")).content.decode()
    assert "The cluster runs Kubernetes v1.34.1." in page and "1 of 3 kinds may be watched." in page
    assert "services may not be listed or watched: no rule." in page
    assert "leases.coordination.k8s.io may not be watched: no rule." in page
    assert "So the rule service-gap cannot judge: no Service." in page
    assert "So the rule lease-stolen cannot judge: no Lease." in page
    assert "widgets.example.com" in page
    assert page.index('<option value="prod" selected>') < page.index('<option value="other">')
    assert SECRET not in page and "another-s3cret" not in page
    assert not Cluster.objects.exists()
    again = {"act": "connect", "name": "prod", "how": "stored", "sealed": hidden(page, "sealed"), "context": "prod"}
    answer = client.post("/clusters/", {**again, "keep_days": "7", "keep_size": "1.5", "keep_unit": "GB"})
    cluster = Cluster.objects.get(name="prod")
    assert answer.headers["Location"] == f"/clusters/{cluster.pk}/"
    assert (cluster.keep_days, cluster.keep_bytes) == (7, 1_500_000_000)
    assert cluster.reference == {"how": "stored", "path": "", "context": "prod", "server": server.url}
    assert cluster.secret is not None and SECRET.encode() in credentials.unseal(bytes(cluster.secret))
    assert b"another" not in credentials.unseal(bytes(cluster.secret))


def test_no_answer_no_log_and_no_page_holds_credentials(
    client: Client, server: Server, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    pages = [client.post("/clusters/", form(server.url)), client.post("/clusters/", form(server.url, "connect"))]
    pages.append(client.post("/clusters/", form(server.url, "connect")))  # refused, because the name is in use
    pages.append(client.post("/clusters/", {**form("x"), "kubeconfig": f"token: [{SECRET}"}))
    cluster = Cluster.objects.get()
    pages += [client.post(f"/clusters/{cluster.pk}/", {"act": act}) for act in ("test", "nonsense")]
    pages += [client.get(path) for path in ("/", "/clusters/", f"/clusters/{cluster.pk}/", "/api/clusters")]
    for page in pages:
        assert SECRET not in page.content.decode() and "another-s3cret" not in page.content.decode()
    assert [page.status_code for page in pages] == [200, 302, 400, 400, 200, 400, 200, 200, 200, 200]
    assert SECRET not in caplog.text and SECRET not in everything()


def test_what_is_wrong_is_told_in_words(client: Client, server: Server) -> None:
    for fields, words in (
        ({"kubeconfig": ""}, "Paste a kubeconfig"),
        ({"kubeconfig": "no words"}, "not a kubeconfig"),
        ({"kubeconfig": config("https://x", {"exec": {"command": "aws"}})}, "a program (exec)"),
        ({"how": "path", "path": "/etc/kubeconfig"}, "Only the command line connects a kubeconfig by its path"),
        ({"how": "magic"}, "Choose how"),
        ({"how": "in-cluster"}, "Service host/port is not set"),
        ({"include": "Pods!"}, "pods! is not a resource name"),
        ({"include": "secrets"}, "Secrets are never watched"),
        ({"keep_days": "many"}, "many is not a number of days"),
        ({"keep_days": "0"}, "at least 1"),
        ({"keep_days": "1e9"}, "at least 1"),
        ({"keep_size": "nan"}, "nan is not a number of GB"),
        ({"sealed": "forged", "kubeconfig": ""}, "a key that is not in CAUSELINE_CREDENTIALS_KEY"),
        ({"name": "", "act": "connect"}, "Give the cluster a name"),
    ):
        page = client.post("/clusters/", {**form(server.url), **fields})
        assert page.status_code == 400 and words in page.content.decode(), words
    assert not Cluster.objects.exists()


def test_a_file_is_taken_as_well(client: Client, server: Server) -> None:
    file = SimpleUploadedFile("kubeconfig", config(server.url).encode())
    page = client.post("/clusters/", {**form(server.url), "kubeconfig": "", "file": file})
    assert b"The cluster runs Kubernetes v1.34.1." in page.content


def test_a_server_that_does_not_answer_or_know_us_is_told_and_can_be_connected_all_the_same(
    client: Client, server: Server
) -> None:
    page = client.post("/clusters/", form("https://127.0.0.1:1")).content.decode()
    assert "cannot be reached" in page and "Connect anyway" in page
    stranger = config(server.url, {"token": "stranger"})
    assert b"401" in client.post("/clusters/", {**form(server.url), "kubeconfig": stranger}).content
    client.post("/clusters/", form("https://127.0.0.1:1", "connect"))
    assert Cluster.objects.get().name == "prod"


def test_a_cluster_that_lets_nobody_ask_can_be_connected(client: Client, server: Server) -> None:
    server.answers_reviews = False
    page = client.post("/clusters/", form(server.url)).content.decode()
    assert "The cluster can be reached" in page and "does not answer which kinds" in page and "403" in page


def signed(folder: Path, name: str) -> tuple[Path, Path]:
    """Return a self-signed certificate for 127.0.0.1 and its key."""
    key = ec.generate_private_key(ec.SECP256R1())
    called = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    address = x509.SubjectAlternativeName([x509.IPAddress(ip_address("127.0.0.1"))])
    now = datetime.now(UTC)
    building = x509.CertificateBuilder().subject_name(called).issuer_name(called).public_key(key.public_key())
    building = building.serial_number(1).not_valid_before(now).not_valid_after(now + timedelta(days=1))
    building = building.add_extension(address, False).add_extension(x509.BasicConstraints(True, None), True)
    certificate, private = folder / f"{name}.crt", folder / f"{name}.key"
    certificate.write_bytes(building.sign(key, SHA256()).public_bytes(Encoding.PEM))
    private.write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
    return certificate, private


@pytest.mark.filterwarnings("ignore::urllib3.exceptions.InsecureRequestWarning")
def test_a_server_is_trusted_by_the_authority_that_the_kubeconfig_names(
    client: Client, server: Server, tmp_path: Path
) -> None:
    certificate, private = signed(tmp_path, "cluster")
    other, _ = signed(tmp_path, "other")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, private)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    url = server.url.replace("http:", "https:")
    for authority, words in ((certificate, "The cluster runs Kubernetes v1.34.1."), (other, "is not trusted")):
        parsed = yaml.safe_load(config(url))
        data = base64.b64encode(authority.read_bytes()).decode()
        parsed["clusters"][0]["cluster"]["certificate-authority-data"] = data
        page = client.post("/clusters/", {**form(url), "kubeconfig": json.dumps(parsed)})
        assert words in page.content.decode()
    parsed["clusters"][0]["cluster"] = {"server": url, "insecure-skip-tls-verify": True}
    answered = client.post("/clusters/", {**form(url), "kubeconfig": json.dumps(parsed)}).content.decode()
    assert "The cluster runs Kubernetes v1.34.1." in answered and "Its certificate is not checked" in answered


def test_only_staff_connects_where_people_sign_in(settings: Settings) -> None:
    settings.LOGIN_REQUIRED = True
    cluster = connected()
    paths = ["/clusters/", f"/clusters/{cluster.pk}/"]
    stranger, visitor, staff = Client(), Client(), Client()
    visitor.force_login(member("responder", name="member"))
    staff.force_login(member("admin", name="staff"))
    for path in paths:
        assert stranger.get(path).status_code == 302
        page = visitor.get(path)
        assert page.status_code == 200 and b"kubeconfig" not in page.content
        assert visitor.post(path, {"act": "pause"}).status_code == 403
        assert staff.get(path).status_code == 200
    assert not Cluster.objects.get().paused
    assert b"Connect a cluster" in staff.get("/").content
    assert b"Connect a cluster" not in visitor.get("/").content
    assert visitor.get("/api/clusters").status_code == 200


def test_a_form_of_another_site_is_refused() -> None:
    cluster = connected()
    stranger = Client(enforce_csrf_checks=True)
    assert stranger.post("/clusters/", form("https://10.0.0.1", "connect")).status_code == 403
    assert stranger.post(f"/clusters/{cluster.pk}/", {"act": "disconnect"}).status_code == 403
    assert Cluster.objects.count() == 1


def test_a_cluster_is_changed_paused_resumed_and_given_new_credentials(client: Client, server: Server) -> None:
    cluster = connected(server.url)
    path = f"/clusters/{cluster.pk}/"
    client.post(path, {"act": "change", "how": "stored", "include": "widgets.example.com, pods", "exclude": "events"})
    cluster.refresh_from_db()
    assert (cluster.include, cluster.exclude) == (["widgets.example.com", "pods"], ["events"])
    before = bytes(cluster.secret or b"")
    client.post(path, {"act": "pause"})
    assert Cluster.objects.get().paused and b"Resume" in client.get(path).content
    client.post(path, {"act": "resume"})
    assert not Cluster.objects.get().paused
    client.post(path, {"act": "change", "how": "stored", "kubeconfig": config(server.url, {"token": "new"})})
    cluster.refresh_from_db()
    assert b'"new"' in credentials.unseal(bytes(cluster.secret or b"")) and bytes(cluster.secret or b"") != before
    assert cluster.include == []


def test_a_disconnected_cluster_leaves_its_source_as_a_recording_unless_that_is_deleted_too(client: Client) -> None:
    for delete in (False, True):
        cluster = connected()
        source = stored.opened("prod")
        Source.objects.filter(pk=source.pk).update(cluster=cluster)
        Cluster.objects.filter(pk=cluster.pk).update(source=source)
        client.post(
            f"/clusters/{cluster.pk}/",
            {"act": "disconnect", "confirmed": "yes", **({"delete": "on"} if delete else {})},
        )
        assert not Cluster.objects.exists()
        assert Source.objects.filter(pk=source.pk, ended__startswith="The cluster was disc").exists() == (not delete)
        assert client.get(f"/clusters/{cluster.pk}/").status_code == 404
    page = client.get("/").content
    assert b"The cluster was disconnected on" in page


def test_a_name_is_taken_once() -> None:
    connected()
    with pytest.raises(Refused, match="already connected"):
        connected()


def ran(*command: str) -> tuple[int, str]:
    out = StringIO()
    status = 0
    try:
        call_command("clusters", *command, stdout=out)
    except SystemExit as error:
        status = int(error.code or 0)
    return status, out.getvalue()


def test_the_command_connects_and_tells_what_the_cluster_grants(
    server: Server, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    server.refused = {("pods", "watch")}
    (tmp_path / "token").write_text(SECRET)
    file = tmp_path / "kubeconfig"
    file.write_text(config(server.url, {"tokenFile": "token"}))
    assert ran("connect", "--name=prod", f"--kubeconfig={file}", "--exclude=leases.coordination.k8s.io")[0] == 0
    errors = capsys.readouterr().err
    assert "pods may not be watched" in errors and "1 of 2 kinds may be watched" in errors
    assert SECRET not in errors
    cluster = Cluster.objects.get()
    assert SECRET.encode() in credentials.unseal(bytes(cluster.secret or b""))
    assert ran("list")[0] == 0
    assert "prod: waiting for a worker; nothing seen yet" in capsys.readouterr().out
    assert ran("pause", "prod")[0] == 0 and Cluster.objects.get().paused
    assert ran("resume", "prod")[0] == 0 and not Cluster.objects.get().paused
    assert ran("renew-secrets")[0] == 0
    assert ran("disconnect", "stage")[0] == 2
    assert ran("disconnect", "prod")[0] == 0 and not Cluster.objects.exists()


def test_the_command_connects_nothing_that_does_not_answer_unless_it_is_told_to(
    tmp_path: Path, settings: Settings, capsys: pytest.CaptureFixture[str]
) -> None:
    settings.KUBECONFIG_DIRS = (tmp_path,)
    file = tmp_path / "kubeconfig"
    file.write_text(config("http://127.0.0.1:1"))
    command = ["connect", "--name=prod", f"--kubeconfig={file}"]
    assert ran(*command)[0] == 1 and "cannot be reached" in capsys.readouterr().err
    assert ran(*command, "--context=stage", "--unchecked")[0] == 2
    assert not Cluster.objects.exists()
    assert ran(*command, "--unchecked", "--by-path")[0] == 0
    cluster = Cluster.objects.get()
    assert cluster.secret is None and cluster.reference["path"] == str(file) and cluster.reference["programs"]


def test_the_manifest_grants_what_is_watched_and_no_secrets() -> None:
    manifest = rbac.manifest(["*.example.com", "rollouts.argoproj.io", "secrets"], ["events"])
    documents = list(yaml.safe_load_all(manifest))
    assert [each["kind"] for each in documents] == [
        "Namespace", "ServiceAccount", "ClusterRole", "ClusterRoleBinding", "Secret",
    ]  # fmt: skip
    rules = {rule["apiGroups"][0]: rule for rule in documents[2]["rules"]}
    assert all(rule["verbs"] == ["get", "list", "watch"] for rule in rules.values())
    assert {"pods", "services", "configmaps", "persistentvolumeclaims"} <= set(rules[""]["resources"])
    assert not {"secrets", "events"} & set(rules[""]["resources"])
    assert rules["example.com"]["resources"] == ["*"] and rules["argoproj.io"]["resources"] == ["rollouts"]
    assert "jobs" in rules["batch"]["resources"] and "jobs" in rules["batch.volcano.sh"]["resources"]


def test_the_manifest_is_printed_without_servers(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["connect", "--print-rbac", "--include", "rollouts.argoproj.io"]) == 0
    assert "rollouts" in capsys.readouterr().out


def test_rules_say_what_they_lack() -> None:
    affected = {each.rule: each for each in affected_rules({"Pod"})}
    assert affected["pod-before-service"].wholly and not affected["missing-reference"].wholly
    assert "lease-stolen" not in affected
