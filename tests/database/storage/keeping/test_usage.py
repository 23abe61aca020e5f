"""These tests check what is said of the space that sources take, and of what retention will free."""

from datetime import timedelta
from pathlib import Path

import pytest
from django.test import Client
from django.utils import timezone
from pytest_django import Settings

from tests.database.storage.keeping.families import counts, watched
from tests.database.storage.sources import connected, ran
from tests.rows import stored
from timeline.models import Cluster, Hold, Source, Usage
from timeline.queries.sources import usage as usage_queries
from timeline.storage.entries import tables
from timeline.storage.keeping import holds, retention, usage
from timeline.storage.keeping import periods as keeping

pytestmark = pytest.mark.django_db
committed = pytest.mark.django_db(transaction=True)


def kept_of(cluster: Cluster) -> tuple[int | None, ...]:
    cluster.refresh_from_db()
    return cluster.keep_days, cluster.keep_bytes, cluster.keep_incident_days, cluster.keep_incident_minutes


def days_of(source: Source) -> int | None:
    source.refresh_from_db()
    return source.keep_days


@committed
@pytest.mark.parametrize("kept", [{"keep_days": 10}, {"keep_days": 10_000, "keep_bytes": 1}, {"keep_days": 10_000}])
def test_what_was_foreseen_is_what_is_then_freed(kept: dict[str, int]) -> None:
    source = watched(**kept)
    assert source.last
    cluster, at = Cluster.objects.get(), source.last + timedelta(days=11)
    before, size, closed = counts(source), tables.size_of(source), len(tables.closed_tables(source))
    (foreseen,) = retention.foresee(cluster, at)
    assert counts(source) == before and not foreseen.held
    retention.keep(cluster, at)
    freed = tuple(was - now for was, now in zip(before, counts(source), strict=True))
    assert (foreseen.entries, foreseen.tracks, foreseen.findings, foreseen.incidents) == freed
    assert (foreseen.entries > 0) == ("keep_bytes" in kept or kept["keep_days"] == 10)
    gone = closed - len(tables.closed_tables(source))
    assert foreseen.bytes == size - tables.size_of(source) and (foreseen.bytes > 0) == (gone > 0)


@committed
def test_sources_are_measured_once_a_day_and_kept_apart(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, settings: Settings
) -> None:
    """The command line measures them, too, foresees what retention frees, and runs it."""
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

    def retained(*arguments: str) -> str:
        assert ran(*arguments) == 0
        return capsys.readouterr().out

    settings.DATA_DIR = tmp_path
    Usage.objects.all().delete()
    Source.objects.filter(pk=empty.pk).update(keep_days=3, created=now - timedelta(days=2))
    assert "of all, " in retained("usage") and Usage.objects.count() == 2
    assert "empty" not in retained("retention", "--dry-run")
    assert "empty: the whole recording, 0 entries" in retained("retention", "--dry-run", "--within=2")
    holds.place("Case 33", "", source=source.pk)
    assert "prod: kept by a legal hold" in retained("retention", "--dry-run")
    Source.objects.filter(pk=empty.pk).update(keep_days=1)
    retained("retention")
    assert list(Source.objects.all()) == [source]


def test_the_page_shows_what_is_taken_and_places_and_lifts_holds(client: Client) -> None:
    def shown() -> str:
        return client.get("/storage/").content.decode()

    def status(source: int, **form: str) -> int:
        return client.post("/storage/", {"source": source, **form}).status_code

    cluster, fed = connected()
    source = stored.opened("a & <b>")
    assert "not measured yet" in shown()
    usage.record(timezone.now())
    assert "a &amp; &lt;b&gt;" in (text := shown()) and "Within a day, retention will free nothing." in text
    assert status(source.pk, act="hold", reason=" ") == 400
    assert status(source.pk, act="hold", reason="Case <31>") == 302
    assert "Case &lt;31&gt;." in shown()
    for odd in ("x", "36501", "9" * 30, "٣"):
        assert status(source.pk, act="keep", days=odd) == 400
    assert status(source.pk, act="keep", days="30") == 302
    assert days_of(source) == 30 and keeping.deleted_on(source) == source.created + timedelta(days=30)
    assert status(source.pk, act="unhold") == 302
    assert "It will be deleted" in shown()
    assert status(source.pk, act="unhold") == status(fed.pk, act="keep", days="3") == 400
    assert status(2**62, act="hold", reason="x") == 400
    holds.place("Case 32", "", cluster=cluster.pk)
    assert "Case 32." in shown()
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


def test_the_command_line_changes_only_what_is_given(capsys: pytest.CaptureFixture[str]) -> None:
    cluster = Cluster.objects.create(name="prod", keep_days=9, keep_bytes=10**9, keep_incident_minutes=5)
    recording = stored.opened("old")
    assert ran("keep", "--keep-incident-days=90", "prod") == 0
    assert ran("keep", "--keep-bytes=default", "prod") == 0
    assert kept_of(cluster) == (9, None, 90, 5)
    for days, kept in (("30", 30), ("default", None)):
        assert ran("keep", f"--keep-days={days}", "old") == 0
        assert days_of(recording) == kept
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
        assert ran("keep", *arguments) == 2
        assert words in " ".join(capsys.readouterr().err.split())
    assert kept_of(cluster) == (9, None, 90, 5)


def test_programs_change_the_days_of_a_recording(client: Client) -> None:
    def put(number: int, days: object, status: int) -> dict[str, int]:
        address = f"/api/sources/{number}/retention"
        answer = client.put(address, {"days": days}, content_type="application/json")
        assert answer.status_code == status, (number, days)
        found: dict[str, int] = answer.json()
        return found

    _, fed = connected()
    source = stored.opened("old")
    changed = put(source.pk, 3, 200)
    assert days_of(source) == 3
    end = keeping.deleted_on(source)
    assert end and changed == {"days": 3, "deleted_on": round(end.timestamp() * 1_000_000)}
    for number, days, status in (
        (source.pk, None, 200), (source.pk, 36_501, 422), (source.pk, "x", 422), (fed.pk, 3, 409), (2**40, 3, 404),
    ):  # fmt: skip
        put(number, days, status)
    assert days_of(source) is None


def test_the_page_of_a_cluster_places_and_lifts_its_hold_and_changes_what_is_kept(client: Client) -> None:
    cluster, _ = connected()
    page = f"/clusters/{cluster.pk}/"

    def status(**form: str) -> int:
        return client.post(page, form).status_code

    assert status(act="hold", reason=" ") == 400
    assert status(act="hold", reason="Case <40>") == 302
    assert Hold.objects.get().cluster_id == cluster.pk
    text = client.get(page).content.decode()
    assert "Case &lt;40&gt;." in text and "Lift the legal hold" in text
    assert status(act="unhold") == 302 and not Hold.objects.exists()
    assert status(act="unhold") == 400
    form = {"act": "change", "incident_days": "90", "incident_minutes": "15"}
    assert status(**form) == 302
    assert kept_of(cluster) == (None, None, 90, 15)
    text = client.get(page).content.decode()
    assert 'name="incident_days" value="90"' in text and 'name="incident_minutes" value="15"' in text
    assert status(**{**form, "incident_minutes": "0"}) == status(**{**form, "incident_days": "soon"}) == 400
