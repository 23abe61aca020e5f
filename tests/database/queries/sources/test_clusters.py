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
from tests.database.storage.sources import asked, ran
from tests.inputs.recordings import SAMPLE
from tests.rows import stored
from tests.rows.people import member
from timeline.history.world.world import World
from timeline.judge import rulebook
from timeline.models import Cluster, Delta, Gap, Source, Stream
from timeline.payloads import documents
from timeline.queries.sources import clusters as cluster_queries
from timeline.queries.sources import extents
from timeline.queries.sources import live as live_sources
from timeline.queries.sources.gaps import gaps as gaps_of
from timeline.storage import store

pytestmark = pytest.mark.django_db
SERVER = "https://10.0.0.1:6443"


def ago(seconds: float) -> datetime:
    return datetime.now(UTC) - timedelta(seconds=seconds)


def fed(name: str = "prod", **columns: Any) -> tuple[Cluster, Source]:
    """Return a cluster that a worker watches, and its source."""
    held: dict[str, Any] = {"state": "live", "holder": "worker-1", "expires_at": ago(-86_400)}
    held["reference"] = {"how": "stored", "path": "", "context": "admin", "server": SERVER}
    cluster = Cluster.objects.create(name=name, **{**held, **columns})
    source = stored.opened(name)
    document = documents.source_document(World(), rulebook())
    Source.objects.filter(pk=source.pk).update(cluster=cluster, entries=1234, document=document)
    cluster.source = source
    cluster.save()
    return cluster, source


def watched(source: Source, resource: str = "pods", group: str = "", **columns: Any) -> Stream:
    usual = {"version": "v1", "kind": "Pod", "state": "watching", "watermark": 2**70, "entries": 7}
    usual["watermark_at"] = ago(0)
    return Stream.objects.create(source=source, resource=resource, group=group, **{**usual, **columns})


def missed(source: Source, since: float = 90, until: float = 60, *, now: datetime | None = None, **columns: Any) -> Gap:
    """Store a gap between two times, in seconds before now."""
    now = now or ago(0)
    times = {"since": now - timedelta(seconds=since), "until": now - timedelta(seconds=until)}
    usual = {"group": "", "kind": "Pod", "since_revision": 5, "revision": 9, "reason": "The collector was down."}
    return Gap.objects.create(source=source, **times, **{**usual, **columns})


def health_of(client: Client, source: Source) -> Any:
    return asked(client, source, "health")


def page(client: Client, address: str) -> str:
    return client.get(address).content.decode()


def test_a_watch_that_fails_or_was_begun_anew_is_reported_on_the_page_in_the_api_and_in_the_terminal(
    client: Client, capsys: pytest.CaptureFixture[str]
) -> None:
    cluster, source = fed()
    begun_anew = "The watch failed within Causeline 2 times and was begun anew (KeyError)."
    watched(source, error=begun_anew)
    watched(source, "jobs", "batch", kind="Job", state="failing", error="An answer is larger than 64 MiB.")
    streams = {each["resource"]: each for each in health_of(client, source)["streams"]}
    assert (streams["pods"]["state"], streams["pods"]["error"]) == ("watching", begun_anew)
    assert streams["jobs"]["state"] == "failing"
    call_command("causeline", "clusters")
    for shown in (page(client, f"/clusters/{cluster.pk}/"), " ".join(capsys.readouterr().out.split())):
        assert begun_anew in shown and "An answer is larger than 64 MiB." in shown


def test_the_health_of_a_live_source_tells_each_stream_and_each_gap(client: Client) -> None:
    cluster, source = fed()
    watched(source)
    reached = ago(40)
    watched(source, "jobs", "batch", kind="Job", watermark_at=reached)
    watched(source, "leases", "coordination.k8s.io", kind="Lease", state="forbidden", watermark=None, watermark_at=None)
    missed(source)
    health = health_of(client, source)
    assert (health["state"], health["cluster"], health["holder"]) == ("live", cluster.pk, "worker-1")
    assert health["lag"] is None and health["silent"] is None
    assert health["reached"] == pytest.approx(reached.timestamp() * 1e6, abs=1)
    streams = [(each["resource"], each["state"], each["gaps"]) for each in health["streams"]]
    assert streams == [("pods", "watching", 1), ("jobs", "watching", 0), ("leases", "forbidden", 0)]
    assert health["streams"][0]["watermark"] == str(2**70)
    (gap,) = health["gaps"]
    assert (health["gaps_total"], health["outages"]) == (1, 1)
    assert (gap["reason"], gap["since_revision"], gap["revision"]) == ("The collector was down.", "5", "9")
    coverage = page(client, f"/sources/{source.pk}/coverage/")
    for words in (str(2**70), "The collector was down.", "30 s", 'id="gaps"'):
        assert words in coverage, words


def test_rate_and_lag_are_those_of_the_last_half_minute(client: Client) -> None:
    _, source = fed()
    for sequence, (before, entries) in enumerate(((100, 9000), (20, 200), (5, 100))):
        changed = {"tracks": [], "findings": [], "gone": [], "entries": entries, "lag": 1000 * entries}
        Delta.objects.create(source=source, sequence=sequence, at=ago(before), changed=changed)
    health = health_of(client, source)
    assert health["rate"] == pytest.approx(10, abs=0.5)
    assert health["lag"] == 0.2
    assert health["silent"] == pytest.approx(5, abs=1)
    home = page(client, "/")
    assert "200 ms" in home and "s ago" in home


@pytest.mark.parametrize(
    ("columns", "state"),
    [
        ({}, "live"),
        ({"state": "failing"}, "failing"),
        ({"expires_at": datetime(2026, 1, 1, tzinfo=UTC)}, "waiting"),
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


PLACES = ("10.0.0.1", ":6443", "/srv/keys", "arn:aws", "Kubeconfig")
ERRORS = (
    "/srv/keys/prod.yaml cannot be read where Causeline runs: Permission denied.",
    "/srv/keys/token is no file.",
    f"{SERVER} cannot be reached.",
    "dial tcp 10.0.0.1:6443: connect: connection refused",
)


def test_only_administrators_see_where_a_cluster_and_its_kubeconfig_are(settings: Settings) -> None:
    settings.LOGIN_REQUIRED = True
    reference = {"how": "path", "path": "/srv/keys/prod.yaml", "context": "arn:aws:eks:eu-1:1:cluster/prod"}
    cluster, source = fed(state="failing", error=ERRORS[0], reference={**reference, "server": SERVER})
    for number, error in enumerate(ERRORS):
        watched(source, f"things-{number}", state="failing", error=error)
        missed(source, kind=f"Thing{number}", reason=error)
    visitor, admin = Client(), Client()
    visitor.force_login(member("responder", name="member"))
    admin.force_login(member("admin", name="admin"))
    own = f"/sources/{source.pk}/"
    pages = ("/", "/clusters/", f"/clusters/{cluster.pk}/", own, f"{own}coverage/")
    for path in (*pages, "/api/clusters", f"/api{own}health", f"/api{own}window"):
        assert not [place for place in PLACES if place in page(visitor, path)], path
    assert "failing" in page(visitor, "/clusters/") and "Kubeconfig" in page(admin, "/clusters/")
    start, end = (int(ago(each).timestamp() * 1e6) for each in (10_000, 0))
    gaps = str(gaps_of(Source.objects.get(pk=source.pk), start, end, 1))
    assert all(words in gaps for words in ("cannot be read", "is no file", "cannot be reached", "refused"))
    assert not [place for place in PLACES if place in str(live_sources.live_health([source.pk])) + gaps]
    (reported,) = admin.get("/api/clusters").json()["clusters"]
    assert (reported["server"], reported["path"]) == (SERVER, "/srv/keys/prod.yaml")
    assert reported["error"] == ERRORS[0] and ERRORS[0] in page(admin, "/")


def test_a_recording_has_no_health(client: Client) -> None:
    source = stored.opened()
    asked(client, source, "health", 404)
    assert client.get("/api/sources/999999/health").status_code == 404
    assert cluster_queries.health(source.pk) is None


def test_sources_of_one_cluster_lead_to_each_other(client: Client) -> None:
    cluster, before = fed()
    after = stored.opened("prod, epoch 2")
    why = "Its revisions went back: etcd was restored."
    document = documents.source_document(World(), rulebook())
    Source.objects.filter(pk=before.pk).update(ended=why)
    Source.objects.filter(pk=after.pk).update(cluster=cluster, document=document)
    Cluster.objects.filter(pk=cluster.pk).update(source=after)
    ended, follows = health_of(client, before), health_of(client, after)
    assert (ended["state"], ended["ended"]) == ("ended", why)
    assert (ended["next"]["source"], ended["previous"]) == (after.pk, None)
    assert (follows["previous"]["url"], follows["next"]) == (f"/sources/{before.pk}/", None)
    for one, other in ((before, after), (after, before)):
        for address in ("", "coverage/"):
            assert f'href="/sources/{other.pk}/"' in page(client, f"/sources/{one.pk}/{address}")
    assert "Its revisions went back" in page(client, f"/sources/{before.pk}/coverage/")


def test_the_home_page_shows_clusters_above_recordings(client: Client) -> None:
    _, source = fed(error="The API server answered 503.", error_at=ago(0), state="failing")
    watched(source, state="failing", error="Connection reset.")
    missed(source)
    other = stored.opened("uploaded")
    home = page(client, "/")
    live, rest = home.index('id="live"'), home.index('id="recordings"')
    assert live < home.index(f"/sources/{source.pk}/") < rest < home.index(f"/sources/{other.pk}/")
    for words in ("failing", "worker-1", "The API server answered 503.", "Connection reset.", "1 kind, 1 failing"):
        assert words in home[live:rest], words
    assert f"/sources/{source.pk}/" not in home[rest:]


def test_a_cluster_that_nothing_is_known_of_yet_is_shown(client: Client) -> None:
    reference = {"how": "in-cluster", "server": "https://kubernetes.default.svc"}
    Cluster.objects.create(name="new", reference=reference)
    home = page(client, "/")
    assert "waiting for a worker" in home and "No worker watches this cluster yet" in home
    assert "No recordings yet" in home


def test_gaps_that_overlap_are_reported_as_one(client: Client) -> None:
    _, source = fed()
    now = ago(0)
    missed(source, now=now)
    missed(source, 95, now=now, kind="Job", group="batch", reason="Job: the server no longer knew.")
    missed(source, 20, 10, now=now)
    health = health_of(client, source)
    assert (health["gaps_total"], health["outages"]) == (3, 2)
    newest, older = clusters.outages(health["gaps"])
    assert (newest.kinds, newest.length, older.kinds, older.length) == ("Pod", "10 s", "2 kinds", "35 s")
    assert sorted(older.reasons) == ["The collector was down.", "The server no longer knew."]
    assert [each.kind for each in older.missed] == ["Pod", "Job.batch"]
    coverage = page(client, f"/sources/{source.pk}/coverage/")
    assert "2 kinds" in coverage and "revisions 5 – 9" in coverage


def test_nothing_is_imported_into_a_source_that_is_fed(capsys: pytest.CaptureFixture[str]) -> None:
    fed()
    assert ran("import", str(SAMPLE), "--name=prod") == 2
    assert "a cluster feeds prod" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("server", "said"), [("http://10.0.0.1", True), ("http://127.0.0.1:1", False), ("https://a", False)]
)
def test_an_address_without_tls_is_reported(server: str, said: bool) -> None:
    answered = access_checks.sentences(AccessReport("v1.34.1", "It does not answer."), {"server": server})
    assert any("http://" in each for each in answered) == said


def test_a_recording_is_listed_with_what_was_found_and_has_no_gaps(client: Client, sample: Source) -> None:
    hidden = store.open_source("not ready yet")
    listed = {row.id: row for row in extents.recent_sources()}
    assert hidden.pk not in listed
    row = listed[sample.pk]
    assert (row.name, row.entries, row.errors, row.warnings, row.infos) == ("sample", 775, 0, 4, 5)
    assert extents.source(hidden.pk) is None
    assert 'id="gaps"' not in page(client, f"/sources/{sample.pk}/coverage/")
