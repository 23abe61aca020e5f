"""These tests connect, test, change and disconnect clusters, and check that no credentials are ever shown."""

import base64
import json
import logging
from pathlib import Path
from typing import Any

import pytest
import yaml
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from pytest_django import Settings

from collectors.watch.server import connections, credentials
from collectors.watch.server.connections import ClusterRefused
from collectors.watch.server.failures import Unusable
from tests.database.storage.sources import ran
from tests.database.watch.server.api_server import ANSWERS, SECRET, Server, config, connected
from tests.rows import stored
from tests.rows.people import member
from tests.servers.certificates import served, signed
from timeline.models import Cluster, Source

pytestmark = pytest.mark.django_db
RUNS = "The cluster runs Kubernetes v1.34.1."


def form(server: str, act: str = "check", **fields: Any) -> dict[str, Any]:
    return {"act": act, "name": "prod", "how": "stored", "kubeconfig": config(server), **fields}


def shown(client: Client, form: dict[str, Any], status: int = 200) -> str:
    """Send the form on the page of clusters, and return the page that it answers with."""
    answer = client.post("/clusters/", form)
    page = answer.content.decode()
    assert answer.status_code == status and SECRET not in page and "another-s3cret" not in page
    return page


def kept(cluster: Cluster) -> bytes:
    """Return the credentials that are stored for a cluster."""
    cluster.refresh_from_db()
    return credentials.unseal(bytes(cluster.secret or b""))


def test_credentials_are_encrypted_where_they_are_kept_and_reach_the_cluster(server: Server) -> None:
    cluster = connected(server.url)
    output = stored.everything()
    assert SECRET not in output and "another-s3cret" not in output and SECRET.encode().hex() not in output
    api = credentials.api_of(Cluster.objects.get(pk=cluster.pk))
    assert json.loads(api.get("/version")) == ANSWERS["/version"]
    api.close()
    with pytest.raises(ClusterRefused, match="already connected"):
        connected()


def test_keys_are_rotated(settings: Settings) -> None:
    key, old = settings.CREDENTIALS_KEYS[0], "o" * 40
    settings.CREDENTIALS_KEYS = [old]
    cluster = connected()
    settings.CREDENTIALS_KEYS = [key, old]
    credentials.api_of(cluster)
    assert connections.reencrypt_secrets() == 1
    settings.CREDENTIALS_KEYS = [key]
    credentials.api_of(Cluster.objects.get(pk=cluster.pk))
    with pytest.raises(Unusable, match="a key that is not in CAUSELINE_CREDENTIALS_KEY"):
        credentials.api_of(cluster)


def test_without_a_key_nothing_is_stored(settings: Settings, client: Client) -> None:
    settings.CREDENTIALS_KEYS = []
    with pytest.raises(Unusable, match="CAUSELINE_CREDENTIALS_KEY is not set"):
        connected()
    assert "CAUSELINE_CREDENTIALS_KEY is not set" in shown(client, form("https://10.0.0.1"), 400)
    assert not Cluster.objects.exists()


def test_the_page_shows_contexts_and_answers_first_and_connects_then(client: Client, server: Server) -> None:
    server.refused = {("leases", "watch"), ("services", "list"), ("services", "watch")}
    page = shown(client, form(server.url, include="widgets.example.com"))
    for words in (
        RUNS,
        "1 of 3 kinds may be watched.",
        "services may not be listed or watched: no rule.",
        "leases.coordination.k8s.io may not be watched: no rule.",
        "So the rule service-gap cannot judge: no Service.",
        "So the rule lease-stolen cannot judge: no Lease.",
        "widgets.example.com",
    ):
        assert words in page
    assert page.index('<option value="prod" selected>') < page.index('<option value="other">')
    assert not Cluster.objects.exists()
    sealed = page.partition('name="sealed" value="')[2].partition('"')[0]
    again = {"act": "connect", "name": "prod", "how": "stored", "sealed": sealed, "context": "prod"}
    answer = client.post("/clusters/", {**again, "keep_days": "7", "keep_size": "1.5", "keep_unit": "GB"})
    cluster = Cluster.objects.get(name="prod")
    assert answer.headers["Location"] == f"/clusters/{cluster.pk}/"
    assert (cluster.keep_days, cluster.keep_bytes) == (7, 1_500_000_000)
    assert cluster.reference == {"how": "stored", "path": "", "context": "prod", "server": server.url}
    assert SECRET.encode() in kept(cluster) and b"another" not in kept(cluster)


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
    assert SECRET not in caplog.text and SECRET not in stored.everything()


def test_what_is_wrong_is_reported_in_words(client: Client, server: Server) -> None:
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
        assert words in shown(client, {**form(server.url), **fields}, 400), words
    assert not Cluster.objects.exists()


def test_a_cluster_that_lets_nobody_ask_and_a_file_are_taken_as_well(client: Client, server: Server) -> None:
    file = SimpleUploadedFile("kubeconfig", config(server.url).encode())
    assert RUNS in shown(client, form(server.url, kubeconfig="", file=file))
    server.answers_reviews = False
    page = shown(client, form(server.url))
    assert "The cluster can be reached" in page and "does not answer which kinds" in page and "403" in page


def test_a_server_that_does_not_answer_or_know_us_is_named_and_can_be_connected_all_the_same(
    client: Client, server: Server
) -> None:
    page = shown(client, form("https://127.0.0.1:1"))
    assert "cannot be reached" in page and "Connect anyway" in page
    assert "401" in shown(client, form(server.url, kubeconfig=config(server.url, {"token": "stranger"})))
    client.post("/clusters/", form("https://127.0.0.1:1", "connect"))
    assert Cluster.objects.get().name == "prod"


@pytest.mark.filterwarnings("ignore::urllib3.exceptions.InsecureRequestWarning")
def test_a_server_is_trusted_by_the_authority_that_the_kubeconfig_names(
    client: Client, server: Server, tmp_path: Path
) -> None:
    certificate, private = signed(tmp_path, "cluster")
    other, _ = signed(tmp_path, "other")
    server.socket = served(certificate, private).wrap_socket(server.socket, server_side=True)
    url = server.url.replace("http:", "https:")
    for trust, words in (
        ({"certificate-authority-data": base64.b64encode(certificate.read_bytes()).decode()}, RUNS),
        ({"certificate-authority-data": base64.b64encode(other.read_bytes()).decode()}, "is not trusted"),
        ({"insecure-skip-tls-verify": True}, RUNS),
    ):
        parsed = yaml.safe_load(config(url))
        parsed["clusters"][0]["cluster"] |= trust
        page = shown(client, form(url, kubeconfig=json.dumps(parsed)))
        assert words in page
    assert "Its certificate is not checked" in page


def test_only_staff_connects_where_people_sign_in(settings: Settings) -> None:
    settings.LOGIN_REQUIRED = True
    cluster = connected()
    stranger, visitor, staff = Client(), Client(), Client()
    visitor.force_login(member("responder", name="member"))
    staff.force_login(member("admin", name="staff"))
    for path in ("/clusters/", f"/clusters/{cluster.pk}/"):
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
    client.post(path, {"act": "pause"})
    assert Cluster.objects.get().paused and b"Resume" in client.get(path).content
    client.post(path, {"act": "resume"})
    assert not Cluster.objects.get().paused
    client.post(path, {"act": "change", "how": "stored", "kubeconfig": config(server.url, {"token": "new"})})
    assert b'"new"' in kept(cluster) and cluster.include == []


def test_a_disconnected_cluster_leaves_its_source_as_a_recording_unless_that_is_deleted_too(client: Client) -> None:
    for delete in ({}, {"delete": "on"}):
        cluster = connected()
        source = stored.opened("prod")
        Source.objects.filter(pk=source.pk).update(cluster=cluster)
        Cluster.objects.filter(pk=cluster.pk).update(source=source)
        page = f"/clusters/{cluster.pk}/"
        client.post(page, {"act": "disconnect", "confirmed": "yes", **delete})
        assert not Cluster.objects.exists()
        ended = Source.objects.filter(pk=source.pk, ended__startswith="The cluster was disc")
        assert ended.exists() == (not delete)
        assert client.get(page).status_code == 404
    assert b"The cluster was disconnected on" in client.get("/").content


def test_the_command_connects_and_tells_what_the_cluster_grants(
    server: Server, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    server.refused = {("pods", "watch")}
    (tmp_path / "token").write_text(SECRET)
    file = tmp_path / "kubeconfig"
    file.write_text(config(server.url, {"tokenFile": "token"}))
    assert ran("connect", "--name=prod", f"--kubeconfig={file}", "--exclude=leases.coordination.k8s.io") == 0
    errors = capsys.readouterr().err
    assert "pods may not be watched" in errors and "1 of 2 kinds may be watched" in errors
    assert SECRET not in errors
    assert SECRET.encode() in kept(Cluster.objects.get())
    assert ran("clusters") == 0
    assert "prod: waiting for a worker; nothing seen yet" in capsys.readouterr().out
    assert ran("pause", "prod") == 0 and Cluster.objects.get().paused
    assert ran("resume", "prod") == 0 and not Cluster.objects.get().paused
    assert ran("clusters", "--renew-secrets") == 0
    assert ran("disconnect", "stage") == 2
    assert ran("disconnect", "prod") == 0 and not Cluster.objects.exists()
