"""These tests put sources and clusters under a legal hold: nobody and nothing deletes what a hold keeps."""

from datetime import timedelta
from pathlib import Path

import pytest
from django.test import Client
from django.utils import timezone
from pytest_django import Settings

from collectors import tasks
from collectors.watch.server import connections
from tests.database.storage.sources import connected, end_the_minute, ran
from tests.rows import stored
from timeline.models import Cluster, Hold, Source
from timeline.storage.keeping import deletion, holds
from timeline.storage.keeping import periods as keeping

pytestmark = pytest.mark.django_db


def test_what_is_held_is_not_deleted_by_hand_and_the_refusal_says_why(client: Client) -> None:
    source = stored.opened("kept")
    holds.place("Case 17", "ada", source=source.pk)
    with pytest.raises(holds.Held, match=r"UTC by ada: Case 17\. Nothing of it can be deleted"):
        deletion.delete_source(source.pk)
    for answer in (client.delete(f"/api/sources/{source.pk}"), client.post(f"/sources/{source.pk}/delete/")):
        assert answer.status_code == 409 and b"Case 17" in answer.content
    assert ran("delete", "--yes", "kept") == 2
    holds.lift(source=source.pk)
    assert deletion.delete_source(source.pk)


def test_a_hold_of_a_cluster_keeps_its_sources_even_when_it_is_disconnected(client: Client) -> None:
    cluster, source = connected()
    holds.place("Case 18", "", cluster=cluster.pk)
    answer = client.post(f"/clusters/{cluster.pk}/", {"act": "disconnect", "delete": "on", "confirmed": "yes"})
    assert answer.status_code == 400 and b"Case 18" in answer.content
    assert ran("disconnect", "prod", "--delete", "--yes") == 2
    connections.disconnect(cluster)
    end_the_minute()
    tasks.remove_deleted()
    assert not Cluster.everything.exists()
    kept = holds.of_source(source.pk)
    assert kept and (kept.reason, kept.source_id) == ("Case 18.", source.pk)
    with pytest.raises(holds.Held):
        deletion.delete_source(source.pk)


def test_an_empty_reason_and_a_deleted_source_are_refused() -> None:
    source = stored.opened("kept")
    with pytest.raises(ValueError, match="Say why"):
        holds.place(" \0 ", "", source=source.pk)
    deletion.delete_source(source.pk)
    with pytest.raises(Source.DoesNotExist):
        holds.place("too late", "", source=source.pk)
    assert holds.lift(source=source.pk) is None and not Hold.objects.exists()


@pytest.mark.parametrize(("own", "usual", "gone"), [(3, 0, True), (None, 3, True), (0, 3, False), (None, 0, False)])
def test_recordings_go_after_their_days_unless_held(
    settings: Settings, own: int | None, usual: int, gone: bool
) -> None:
    settings.RECORDING_DAYS = usual
    now = timezone.now()
    old, held, young = (stored.opened(name) for name in ("old", "held", "young"))
    Source.objects.update(keep_days=own)
    Source.objects.exclude(pk=young.pk).update(created=now - timedelta(days=3, seconds=1))
    holds.place("Case 19", "", source=held.pk)
    assert [each.pk for each in keeping.expired(now)] == ([old.pk] if gone else [])
    announced = [(each.pk, each.name) for each, _ in keeping.announced(now)]
    assert announced == ([(old.pk, "old"), (young.pk, "young")] if gone else [])
    tasks.keep()
    left = set(Source.objects.values_list("pk", flat=True))
    assert left == {held.pk, young.pk} | (set() if gone else {old.pk})


def test_what_a_cluster_fed_counts_from_its_last_change() -> None:
    now = timezone.now()
    source = stored.opened("was live")
    columns = {"created": now - timedelta(days=9), "last": now - timedelta(days=2), "keep_days": 3}
    Source.objects.filter(pk=source.pk).update(sequence=7, **columns)
    source.refresh_from_db()
    assert not keeping.expired(now).exists()
    assert source.last and keeping.deleted_on(source) == source.last + timedelta(days=3)
    assert keeping.expired(now + timedelta(days=1, seconds=1)).exists()


def test_the_command_line_holds_a_recording_and_a_cluster(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, settings: Settings
) -> None:
    settings.DATA_DIR = tmp_path
    source = stored.opened("kept")
    cluster, fed = connected()
    assert ran("hold", "--reason", "Case 20", "kept") == 0
    assert ran("hold", "--reason", "Case 21", "prod") == 0
    assert Hold.objects.get(source=source.pk).reason == "Case 20."
    assert Hold.objects.get(cluster=cluster.pk).reason == "Case 21."
    Source.objects.filter(pk=fed.pk).update(name="fed")
    assert ran("unhold", "fed") == 2
    assert "the hold of its cluster" in capsys.readouterr().err
    assert ran("hold", "--reason", " ", "kept") == 2
    assert ran("unhold", "kept") == ran("unhold", "prod") == 0
    assert not Hold.objects.exists()
    assert ran("unhold", "kept") == ran("hold", "--reason", "x", "nothing") == 2
