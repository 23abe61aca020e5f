"""These tests check what is said of the space that sources take, and of what retention will free."""

from datetime import timedelta
from pathlib import Path

import pytest
from django.test import Client
from django.utils import timezone
from pytest_django import Settings

from tests import stored
from tests.database.storage.test_deletion import connected, ran
from tests.database.storage.test_retention import watched
from tests.people import member
from timeline.models import Cluster, Finding, Hold, Incident, Source, Track, Usage
from timeline.queries.sources import usage as usage_queries
from timeline.storage.entries import tables
from timeline.storage.keeping import holds, retention, usage
from timeline.storage.keeping import periods as keeping

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.mark.parametrize("kept", [{"keep_days": 10}, {"keep_days": 10_000, "keep_bytes": 1}, {"keep_days": 10_000}])
def test_what_was_foreseen_is_what_is_then_freed(kept: dict[str, int]) -> None:
    source = watched(**kept)
    assert source.last
    cluster, at = Cluster.objects.get(), source.last + timedelta(days=11)
    before = stored.entries_in(source), Track.objects.count(), Finding.objects.count(), Incident.objects.count()
    size, tables_before = tables.size_of(source), len(tables.closed_tables(source))
    (foreseen,) = retention.foresee(cluster, at)
    again = stored.entries_in(source), Track.objects.count(), Finding.objects.count(), Incident.objects.count()
    assert again == before and not foreseen.held
    retention.keep(cluster, at)
    after = stored.entries_in(source), Track.objects.count(), Finding.objects.count(), Incident.objects.count()
    freed = tuple(was - now for was, now in zip(before, after, strict=True))
    assert (foreseen.entries, foreseen.tracks, foreseen.findings, foreseen.incidents) == freed
    assert (foreseen.entries > 0) == ("keep_bytes" in kept or kept["keep_days"] == 10)
    gone = tables_before - len(tables.closed_tables(source))
    assert foreseen.bytes == size - tables.size_of(source) and (foreseen.bytes > 0) == (gone > 0)


def test_a_hold_is_foreseen() -> None:
    source = watched(keep_days=1, keep_bytes=1)
    holds.place("Case 30", "", source=source.pk)
    (foreseen,) = retention.foresee(Cluster.objects.get(), timezone.now() + timedelta(days=9))
    assert foreseen == retention.Foreseen(source.pk, True, 0, 0, 0, 0, 0, None)


def test_sources_are_measured_once_a_day_and_told_apart() -> None:
    source, empty = watched(keep_days=10_000), stored.opened("empty")
    now = timezone.now()
    assert usage.record(now - timedelta(days=1)) == usage.record(now) == usage.record(now) == 2
    assert Usage.objects.filter(source=source).count() == 2
    Usage.objects.filter(source=source, day=(now - timedelta(days=1)).date()).update(chunks=0)
    rows = {row.source: row for row in usage_queries.usage()}
    large, small = rows[source.pk], rows[empty.pk]
    assert large.chunks == tables.size_of(source) and min(large.tracks, large.findings, large.evidence) > 0
    assert large.bytes == large.chunks + large.tracks + large.findings + large.logs + large.evidence > small.bytes
    assert large.growth == large.chunks and small.growth == 0
    assert large.share + small.share == pytest.approx(1)
    assert small.findings == small.logs == small.evidence == 0


def test_the_page_shows_what_is_taken_and_places_and_lifts_holds(client: Client) -> None:
    cluster, fed = connected()
    source = stored.opened("a & <b>")
    assert b"not measured yet" in client.get("/storage/").content
    usage.record(timezone.now())
    text = client.get("/storage/").content.decode()
    assert "a &amp; &lt;b&gt;" in text and "Within a day, retention will free nothing." in text
    form = {"source": source.pk}
    assert client.post("/storage/", {**form, "act": "hold", "reason": " "}).status_code == 400
    assert client.post("/storage/", {**form, "act": "hold", "reason": "Case <31>"}).status_code == 302
    assert "Case &lt;31&gt;." in client.get("/storage/").content.decode()
    assert client.post("/storage/", {**form, "act": "keep", "days": "x"}).status_code == 400
    for odd in ("36501", "9" * 30, "٣"):
        assert client.post("/storage/", {**form, "act": "keep", "days": odd}).status_code == 400
    assert client.post("/storage/", {**form, "act": "keep", "days": "30"}).status_code == 302
    source.refresh_from_db()
    assert source.keep_days == 30 and keeping.deleted_on(source) == source.created + timedelta(days=30)
    assert client.post("/storage/", {**form, "act": "unhold"}).status_code == 302
    assert "It will be deleted" in client.get("/storage/").content.decode()
    assert client.post("/storage/", {**form, "act": "unhold"}).status_code == 400
    assert client.post("/storage/", {"source": fed.pk, "act": "keep", "days": "3"}).status_code == 400
    assert client.post("/storage/", {"source": 2**62, "act": "hold", "reason": "x"}).status_code == 400
    holds.place("Case 32", "", cluster=cluster.pk)
    assert "Case 32." in client.get("/storage/").content.decode()
    assert client.get("/storage/?page=7").status_code == 200
    answer = client.get("/api/usage").json()
    assert {each["source"]: each["hold"] for each in answer["sources"]} == {source.pk: "", fed.pk: "Case 32."}
    assert answer["next"] is None
    assert client.get("/api/usage?page=0").status_code == 422


def test_the_home_page_says_what_will_be_deleted_within_a_week(client: Client) -> None:
    source, other = stored.opened("soon <gone>"), stored.opened("later")
    Source.objects.filter(pk=source.pk).update(keep_days=6)
    Source.objects.filter(pk=other.pk).update(keep_days=9)
    text = client.get("/").content.decode()
    assert text.count("will be deleted on") == 1
    assert "soon &lt;gone&gt;</bdi></a></strong> will be deleted on" in text
    holds.place("Case 34", "", source=source.pk)
    assert "will be deleted on" not in client.get("/").content.decode()


def test_only_administrators_see_and_hold(settings: Settings) -> None:
    settings.LOGIN_REQUIRED = True
    source = stored.opened("kept")
    client = Client()
    client.force_login(member("responder", name="alice"))
    assert client.get("/storage/").status_code == client.get("/api/usage").status_code == 403
    assert client.post("/storage/", {"source": source.pk, "act": "hold", "reason": "x"}).status_code == 403
    assert not Hold.objects.exists()


def test_the_command_line_measures_foresees_and_runs_retention(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, settings: Settings
) -> None:
    settings.DATA_DIR = tmp_path
    source = watched(keep_days=10_000)
    old = stored.opened("old")
    Source.objects.filter(pk=old.pk).update(keep_days=3, created=timezone.now() - timedelta(days=2))
    assert ran("retention", "usage") == 0
    assert "of all, " in capsys.readouterr().out and Usage.objects.count() == 2
    assert ran("retention", "foresee") == 0
    assert "old" not in capsys.readouterr().out
    assert ran("retention", "foresee", "--within=2") == 0
    assert "old: the whole recording, 0 entries" in capsys.readouterr().out
    holds.place("Case 33", "", source=source.pk)
    assert ran("retention", "foresee") == 0
    assert "prod: kept by a legal hold" in capsys.readouterr().out
    Source.objects.filter(pk=old.pk).update(keep_days=1)
    assert ran("retention", "run") == 0
    assert not Source.objects.filter(pk=old.pk).exists() and Source.objects.filter(pk=source.pk).exists()


def test_the_command_line_changes_only_what_is_given(capsys: pytest.CaptureFixture[str]) -> None:
    cluster = Cluster.objects.create(name="prod", keep_days=9, keep_bytes=10**9, keep_incident_minutes=5)
    recording = stored.opened("old")
    assert ran("retention", "keep", "--keep-incident-days=90", "prod") == 0
    assert ran("retention", "keep", "--keep-bytes=default", "prod") == 0
    cluster.refresh_from_db()
    kept = cluster.keep_days, cluster.keep_bytes, cluster.keep_incident_days, cluster.keep_incident_minutes
    assert kept == (9, None, 90, 5)
    assert ran("retention", "keep", "--keep-days=30", "old") == 0
    recording.refresh_from_db()
    assert recording.keep_days == 30
    assert ran("retention", "keep", "--keep-days=default", "old") == 0
    recording.refresh_from_db()
    assert recording.keep_days is None
    capsys.readouterr()
    for arguments, words in (
        (("prod",), "Say what to change"),
        (("--keep-days=0", "prod"), "at least 1"),
        (("--keep-incident-days=36501", "prod"), "kept for 0 to 36500 days"),
        (("--keep-incident-minutes=0", "prod"), "are 1 to 10080 minutes"),
        (("--keep-bytes=7", "old"), "only --keep-days"),
        (("--keep-days=36501", "old"), "from 0 to 36500"),
        (("--keep-days=3", "nothing"), "There is no recording nothing"),
    ):
        assert ran("retention", "keep", *arguments) == 2
        assert words in " ".join(capsys.readouterr().err.split())
    cluster.refresh_from_db()
    assert kept == (cluster.keep_days, None, 90, cluster.keep_incident_minutes)


def test_programs_change_the_days_of_a_recording(client: Client) -> None:
    _, fed = connected()
    source = stored.opened("old")
    answer = client.put(f"/api/sources/{source.pk}/retention", {"days": 3}, content_type="application/json")
    assert answer.status_code == 200, answer.content
    source.refresh_from_db()
    end = keeping.deleted_on(source)
    assert end and answer.json() == {"days": 3, "deleted_on": round(end.timestamp() * 1_000_000)}
    for number, days, status in (
        (source.pk, None, 200), (source.pk, 36_501, 422), (source.pk, "x", 422), (fed.pk, 3, 409), (2**40, 3, 404),
    ):  # fmt: skip
        answer = client.put(f"/api/sources/{number}/retention", {"days": days}, content_type="application/json")
        assert answer.status_code == status, (number, days)
    source.refresh_from_db()
    assert source.keep_days is None


def test_the_page_of_a_cluster_places_and_lifts_its_hold_and_changes_what_is_kept(client: Client) -> None:
    cluster, _ = connected()
    page = f"/clusters/{cluster.pk}/"
    assert client.post(page, {"act": "hold", "reason": " "}).status_code == 400
    assert client.post(page, {"act": "hold", "reason": "Case <40>"}).status_code == 302
    assert Hold.objects.get().cluster_id == cluster.pk
    text = client.get(page).content.decode()
    assert "Case &lt;40&gt;." in text and "Lift the legal hold" in text
    assert client.post(page, {"act": "disconnect", "delete": "on", "confirmed": "yes"}).status_code == 400
    assert client.post(page, {"act": "unhold"}).status_code == 302 and not Hold.objects.exists()
    assert client.post(page, {"act": "unhold"}).status_code == 400
    form = {"act": "change", "incident_days": "90", "incident_minutes": "15"}
    assert client.post(page, form).status_code == 302
    cluster.refresh_from_db()
    assert (cluster.keep_incident_days, cluster.keep_incident_minutes, cluster.keep_days) == (90, 15, None)
    text = client.get(page).content.decode()
    assert 'name="incident_days" value="90"' in text and 'name="incident_minutes" value="15"' in text
    assert client.post(page, {**form, "incident_minutes": "0"}).status_code == 400
    assert client.post(page, {**form, "incident_days": "soon"}).status_code == 400
