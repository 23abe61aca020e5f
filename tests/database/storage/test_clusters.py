"""These tests check how connected clusters are shown: on the home page, by the API, and on the pages of their
sources."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.core.management import call_command
from django.test import Client
from pytest_django import Settings

from collectors.watch.access import AccessReport
from dashboard.presentation.clusters import access_checks
from dashboard.presentation.clusters import states as clusters
from tests import stored
from tests.people import member
from tests.recordings import SAMPLE
from timeline.history.world.world import World
from timeline.judge import rulebook
from timeline.models import Cluster, Delta, Gap, Source, Stream
from timeline.payloads import documents
from timeline.queries.sources import clusters as cluster_queries
from timeline.queries.sources import live as live_sources
from timeline.queries.sources.gaps import gaps as gaps_of

pytestmark = pytest.mark.django_db
NOW = datetime.now(UTC)


@pytest.fixture(autouse=True)
def now(monkeypatch: pytest.MonkeyPatch) -> None:
    """Set NOW when a test runs, because a long run collects the tests minutes before."""
    monkeypatch.setitem(globals(), "NOW", datetime.now(UTC))


def fed(name: str = "prod", **columns: Any) -> tuple[Cluster, Source]:
    """Return a cluster that a worker watches, and its source."""
    held: dict[str, Any] = {"state": "live", "holder": "worker-1", "expires_at": NOW + timedelta(seconds=60)}
    held["reference"] = {"how": "stored", "path": "", "context": "admin", "server": "https://10.0.0.1:6443"}
    cluster = Cluster.objects.create(name=name, **{**held, **columns})
    source = stored.opened(name)
    document = documents.source_document(World(), rulebook())
    Source.objects.filter(pk=source.pk).update(cluster=cluster, entries=1234, document=document)
    cluster.source = source
    cluster.save()
    return cluster, source


def watched(source: Source, resource: str = "pods", group: str = "", **columns: Any) -> Stream:
    usual = {"version": "v1", "kind": "Pod", "state": "watching", "watermark": 2**70, "watermark_at": NOW, "entries": 7}
    return Stream.objects.create(source=source, resource=resource, group=group, **{**usual, **columns})


def missed(source: Source, **columns: Any) -> Gap:
    since, until = NOW - timedelta(seconds=90), NOW - timedelta(seconds=60)
    usual = {"group": "", "kind": "Pod", "since": since, "until": until, "since_revision": 5, "revision": 9}
    return Gap.objects.create(source=source, **{**usual, "reason": "The collector was down.", **columns})


def health_of(client: Client, source: Source) -> Any:
    answer = client.get(f"/api/sources/{source.pk}/health")
    assert answer.status_code == 200, answer.content
    return answer.json()


def test_a_watch_that_fails_or_was_begun_anew_is_told_on_the_page_in_the_api_and_in_the_terminal(
    client: Client, capsys: pytest.CaptureFixture[str]
) -> None:
    cluster, source = fed()
    begun_anew = "The watch failed within Causeline 2 times and was begun anew (KeyError)."
    watched(source, error=begun_anew)
    watched(source, "jobs", "batch", kind="Job", state="failing", error="An answer is larger than 64 MiB.")
    streams = {each["resource"]: each for each in health_of(client, source)["streams"]}
    assert (streams["pods"]["state"], streams["pods"]["error"]) == ("watching", begun_anew)
    assert streams["jobs"]["state"] == "failing"
    page = client.get(f"/clusters/{cluster.pk}/").content.decode()
    call_command("clusters", "list")
    for shown in (page, " ".join(capsys.readouterr().out.split())):
        assert begun_anew in shown and "An answer is larger than 64 MiB." in shown


def test_the_health_of_a_live_source_tells_each_stream_and_each_gap(client: Client) -> None:
    cluster, source = fed()
    watched(source)
    watched(source, "jobs", "batch", kind="Job", watermark_at=NOW - timedelta(seconds=40))
    watched(source, "leases", "coordination.k8s.io", kind="Lease", state="forbidden", watermark=None, watermark_at=None)
    missed(source)
    health = health_of(client, source)
    assert (health["state"], health["cluster"], health["holder"]) == ("live", cluster.pk, "worker-1")
    assert health["lag"] is None and health["silent"] is None
    assert health["reached"] == pytest.approx((NOW.timestamp() - 40) * 1e6, abs=1e6)
    assert [(each["resource"], each["state"], each["gaps"]) for each in health["streams"]] == [
        ("pods", "watching", 1),
        ("jobs", "watching", 0),
        ("leases", "forbidden", 0),
    ]
    assert health["streams"][0]["watermark"] == str(2**70)
    (gap,) = health["gaps"]
    assert (health["gaps_total"], health["outages"]) == (1, 1)
    assert (gap["reason"], gap["since_revision"], gap["revision"]) == ("The collector was down.", "5", "9")


def test_rate_and_lag_are_those_of_the_last_half_minute(client: Client) -> None:
    _, source = fed()
    now = datetime.now(UTC)
    for sequence, (ago, entries) in enumerate(((100, 9000), (20, 200), (5, 100))):
        changed = {"tracks": [], "findings": [], "gone": [], "entries": entries, "lag": 1000 * entries}
        Delta.objects.create(source=source, sequence=sequence, at=now - timedelta(seconds=ago), changed=changed)
    health = health_of(client, source)
    assert health["rate"] == pytest.approx(10, abs=0.5)
    assert health["lag"] == 0.2
    assert health["silent"] == pytest.approx(5, abs=1)
    page = client.get("/").content.decode()
    assert "200 ms" in page and "s ago" in page


@pytest.mark.parametrize(
    ("columns", "state"),
    [
        ({}, "live"),
        ({"state": "failing"}, "failing"),
        ({"expires_at": NOW - timedelta(days=1)}, "waiting"),
        ({"expires_at": None, "holder": "", "state": "waiting"}, "waiting"),
        ({"paused": True}, "paused"),
        ({"state": "waiting"}, "connecting"),
    ],
)
def test_what_a_worker_wrote_that_is_gone_is_not_believed(client: Client, columns: dict[str, Any], state: str) -> None:
    _, source = fed(**columns)
    (cluster,) = client.get("/api/clusters").json()["clusters"]
    assert cluster["state"] == cluster["health"]["state"] == health_of(client, source)["state"] == state
    assert bool(cluster["holder"]) == (state != "waiting")


PLACES = ("10.0.0.1", ":6443", "/srv/keys", "arn:aws")
ERRORS = (
    "/srv/keys/prod.yaml cannot be read where Causeline runs: Permission denied.",
    "/srv/keys/token is no file.",
    "https://10.0.0.1:6443 cannot be reached.",
    "dial tcp 10.0.0.1:6443: connect: connection refused",
)


@pytest.mark.parametrize("error", ERRORS)
def test_only_administrators_are_told_where_a_cluster_and_its_kubeconfig_are(settings: Settings, error: str) -> None:
    settings.LOGIN_REQUIRED = True
    _, source = fed(
        state="failing",
        error=error,
        reference={
            "how": "path",
            "path": "/srv/keys/prod.yaml",
            "context": "arn:aws:eks:eu-1:1234:cluster/prod",
            "server": "https://10.0.0.1:6443",
        },
    )
    watched(source, state="failing", error=error)
    missed(source, reason=error)
    visitor, admin = Client(), Client()
    visitor.force_login(member("responder", name="member"))
    admin.force_login(member("admin", name="admin"))
    page = f"/sources/{source.pk}/"
    for path in ("/", "/api/clusters", f"/api{page}health", page, f"{page}coverage/", f"/api{page}window"):
        html = visitor.get(path).content.decode()
        assert not [place for place in PLACES if place in html], path
    start, end = (int((NOW + timedelta(seconds=each)).timestamp() * 1e6) for each in (-100, 0))
    gaps = str(gaps_of(Source.objects.get(pk=source.pk), start, end, 1))
    assert "cannot" in gaps or "is no file" in gaps or "refused" in gaps
    assert not [place for place in PLACES if place in str(live_sources.live_health([source.pk])) + gaps]
    (cluster,) = admin.get("/api/clusters").json()["clusters"]
    assert (cluster["server"], cluster["path"]) == ("https://10.0.0.1:6443", "/srv/keys/prod.yaml")
    assert cluster["error"] == error and error in admin.get("/").content.decode()


def test_a_recording_has_no_health(client: Client) -> None:
    source = stored.opened()
    assert client.get(f"/api/sources/{source.pk}/health").status_code == 404
    assert client.get("/api/sources/999999/health").status_code == 404
    assert cluster_queries.health(source.pk) is None


def test_sources_of_one_cluster_lead_to_each_other(client: Client) -> None:
    cluster, before = fed()
    after = stored.opened("prod, epoch 2")
    Source.objects.filter(pk=after.pk).update(document=documents.source_document(World(), rulebook()))
    Source.objects.filter(pk=before.pk).update(ended="Its revisions went back: etcd was restored.")
    Source.objects.filter(pk=after.pk).update(cluster=cluster)
    Cluster.objects.filter(pk=cluster.pk).update(source=after)
    ended, follows = health_of(client, before), health_of(client, after)
    assert (ended["state"], ended["ended"]) == ("ended", "Its revisions went back: etcd was restored.")
    assert (ended["next"]["source"], ended["previous"]) == (after.pk, None)
    assert (follows["previous"]["url"], follows["next"]) == (f"/sources/{before.pk}/", None)
    assert f'<a href="/sources/{after.pk}/">' in client.get(f"/sources/{before.pk}/").content.decode()
    assert f'<a href="/sources/{before.pk}/">' in client.get(f"/sources/{after.pk}/").content.decode()
    page = client.get(f"/sources/{before.pk}/coverage/").content.decode()
    assert "Its revisions went back" in page and f'href="/sources/{after.pk}/"' in page
    assert f'href="/sources/{before.pk}/"' in client.get(f"/sources/{after.pk}/coverage/").content.decode()


def test_the_home_page_shows_clusters_above_recordings(client: Client) -> None:
    _, source = fed(error="The API server answered 503.", error_at=NOW, state="failing")
    watched(source, state="failing", error="Connection reset.")
    missed(source)
    other = stored.opened("uploaded")
    page = client.get("/").content.decode()
    live, rest = page.index('id="live"'), page.index('id="recordings"')
    assert live < page.index(f"/sources/{source.pk}/") < rest < page.index(f"/sources/{other.pk}/")
    for words in ("failing", "worker-1", "The API server answered 503.", "Connection reset.", "1 kind, 1 failing"):
        assert words in page[live:rest], words
    assert f"/sources/{source.pk}/" not in page[rest:]


def test_a_cluster_that_nothing_is_known_of_yet_is_shown(client: Client) -> None:
    reference = {"how": "in-cluster", "server": "https://kubernetes.default.svc"}
    Cluster.objects.create(name="new", reference=reference)
    page = client.get("/").content.decode()
    assert "waiting for a worker" in page and "No worker watches this cluster yet" in page
    assert "No recordings yet" in page


def test_coverage_tells_watermarks_and_gaps_with_their_reasons(client: Client, sample: Source) -> None:
    _, source = fed()
    watched(source)
    missed(source)
    page = client.get(f"/sources/{source.pk}/coverage/").content.decode()
    assert str(2**70) in page and "The collector was down." in page and "30 s" in page
    assert 'id="gaps"' in page
    assert 'id="gaps"' not in client.get(f"/sources/{sample.pk}/coverage/").content.decode()


def test_a_source_that_is_fed_cannot_be_deleted(client: Client) -> None:
    cluster, source = fed()
    refused = client.delete(f"/api/sources/{source.pk}")
    assert refused.status_code == 409 and "Disconnect" in refused.json()["detail"]
    cluster.delete()
    assert client.delete(f"/api/sources/{source.pk}").status_code == 204


def test_gaps_that_overlap_are_told_as_one(client: Client) -> None:
    _, source = fed()
    missed(source)
    begun = NOW - timedelta(seconds=95)
    missed(source, kind="Job", group="batch", since=begun, reason="Job: the server no longer knew.")
    missed(source, since=NOW - timedelta(seconds=20), until=NOW - timedelta(seconds=10))
    health = health_of(client, source)
    assert (health["gaps_total"], health["outages"]) == (3, 2)
    newest, older = clusters.outages(health["gaps"])
    assert (newest.kinds, newest.length, older.kinds, older.length) == ("Pod", "10 s", "2 kinds", "35 s")
    assert sorted(older.reasons) == ["The collector was down.", "The server no longer knew."]
    assert [each.kind for each in older.missed] == ["Pod", "Job.batch"]
    page = client.get(f"/sources/{source.pk}/coverage/").content.decode()
    assert "2 kinds" in page and "revisions 5 – 9" in page


def test_nothing_is_imported_into_a_source_that_is_fed(capsys: pytest.CaptureFixture[str]) -> None:
    fed()
    with pytest.raises(SystemExit) as ended:
        call_command("import_recording", str(SAMPLE), name="prod")
    assert ended.value.code == 2
    assert "a cluster feeds prod" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("server", "said"), [("http://10.0.0.1", True), ("http://127.0.0.1:1", False), ("https://a", False)]
)
def test_an_address_without_tls_is_told(server: str, said: bool) -> None:
    answered = access_checks.sentences(AccessReport("v1.34.1", "It does not answer."), {"server": server})
    assert any("http://" in each for each in answered) == said
