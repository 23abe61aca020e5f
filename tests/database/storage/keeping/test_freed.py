"""These tests check what is known of times of which retention has deleted the changes."""

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from pathlib import Path

import pytest
from django.db import connection, transaction
from django.test import Client

from collectors.formats import read
from collectors.formats.own import recording
from tests.database.storage.keeping.families import watched
from tests.inputs.recordings import findings_of, world_of
from tests.rows import stored
from timeline.core.entries import Entry, Mark, microseconds
from timeline.history.freed import Span
from timeline.models import Cluster, FreedSpan, Source
from timeline.queries.sources import live
from timeline.queries.window import windows
from timeline.queries.window.overview import overview
from timeline.storage import store
from timeline.storage.entries import chunks, tables
from timeline.storage.keeping import freed, retention
from timeline.storage.permitted.limits import Permitted, seeing


@pytest.mark.django_db(transaction=True)
def test_an_export_after_retention_says_that_its_beginning_was_deleted(tmp_path: Path, client: Client) -> None:
    source = watched(keep_days=10_000)
    assert source.first and source.last
    found = {each.id for each in findings_of(world_of(chunks.observations(source.pk)))}
    Cluster.objects.update(keep_bytes=tables.size_of(source) * 2 // 3)
    for _ in range(2):
        retention.keep(Cluster.objects.get(), source.last + timedelta(seconds=1))
    (span,) = freed.spans(source.pk)
    assert span.since < microseconds(source.first) < span.until
    exported = tmp_path / "export.jsonl"
    exported.write_bytes(b"".join(recording(chunks.lines(source.pk))))
    observed = [each for each in read([(exported, "export")], bodies=True) if isinstance(each, Entry | Mark)]
    world = world_of(observed)
    assert world.freed.spans == [span]
    assert {each.id for each in findings_of(world)} <= found
    assert "" in windows.window(source.pk, span.since, span.until)["gaps"]["kind"]
    page = client.get(f"/sources/{source.pk}/coverage/").content.decode()
    assert "What was deleted" in page and live.gap_count(source.pk) == 0
    assert FreedSpan.objects.count() == 1


@pytest.mark.django_db(transaction=True)
def test_a_span_is_added_while_a_worker_holds_the_source() -> None:
    """Retention adds it while it keeps a table locked that the worker wants next, so neither may wait for the other."""
    source, span = stored.opened(), Span(10, 20)

    def add() -> None:
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute("SET LOCAL lock_timeout = '1s'")
            freed.add(source, [span])
        connection.close()

    with transaction.atomic():
        store.hold(source, Source.objects.get(pk=source.pk).stored)
        with ThreadPoolExecutor(1) as thread:
            thread.submit(add).result()
    assert freed.spans(source.pk) == [span]


@pytest.mark.django_db
def test_readers_of_some_namespaces_see_one_span_that_covers_all(sample: Source) -> None:
    """The times between freed spans are those of incidents, which may be in namespaces that they do not see."""
    freed.add(sample, [Span(10, 20), Span(30, 40), Span(60, 70)])
    with seeing(Permitted(whole=frozenset({sample.pk}))):
        assert freed.spans(sample.pk) == [(10, 20), (30, 40), (60, 70)]
    with seeing(Permitted(namespaces={sample.pk: frozenset({"vol-restart"})})):
        assert freed.spans(sample.pk) == [(10, 70)]
        marks = [line for line in chunks.lines(sample.pk) if b'"freed"' in line]
        assert len(marks) == 1 and b'"since":10' in marks[0]
        assert overview(sample.pk)["freed"] == [(10, 70)]
    with seeing(Permitted(namespaces={sample.pk + 1: frozenset({"vol-restart"})})):
        assert freed.spans(sample.pk) == []
