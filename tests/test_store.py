"""What is written: the same whatever the order and the batches, whole or not at all."""

import random
from collections.abc import Iterator
from functools import cache

import msgspec
import pytest
from django.db import connection, connections, transaction

from tests import events, stored
from tests.recordings import SAMPLE, entries_of
from timeline import store
from timeline.entries import Entry, Facts
from timeline.kinds import kind_of
from timeline.models import Entry as EntryRow
from timeline.models import Finding, Source, Track
from timeline.pipeline import ingest
from timeline.world import World

pytestmark = pytest.mark.django_db


@cache
def sample_entries() -> tuple[Entry, ...]:
    return tuple(entries_of(SAMPLE))


def ingested(entries: list[Entry], batches: int = 1) -> Source:
    source, world = stored.opened(), World()
    size = len(entries) // batches + 1
    for start in range(0, len(entries), size):
        ingest(source, world, entries[start : start + size])
    return source


def test_one_batch_or_many_make_the_same_rows(sample: Source) -> None:
    assert stored.stored_of(ingested(list(sample_entries()), batches=12)) == stored.stored_of(sample)


@pytest.mark.parametrize("seed", range(4))
def test_shuffled_and_doubled_entries_make_the_same_rows(sample: Source, seed: int) -> None:
    chance = random.Random(seed)
    entries = [*sample_entries(), *chance.sample(sample_entries(), 200)]
    chance.shuffle(entries)
    assert stored.stored_of(ingested(entries, batches=seed + 1)) == stored.stored_of(sample)


def test_a_batch_that_is_known_already_changes_nothing(sample: Source) -> None:
    source, world = stored.opened(), World()
    assert ingest(source, world, sample_entries()) == 775
    assert ingest(source, world, sample_entries()) == 0
    assert stored.stored_of(source) == stored.stored_of(sample)
    assert stored.entries_in(source) == 775


def test_every_entry_is_stored_once_with_its_object(sample: Source) -> None:
    rows = EntryRow.objects.filter(source=sample)
    assert rows.count() == sample.entries == 775
    assert list(rows.order_by("sequence").values_list("sequence", flat=True)) == list(range(1, 776))
    assert set(rows.values_list("key", flat=True)) == {
        track.id % 2**40 for track in Track.objects.filter(source=sample)
    }
    deleted = rows.get(resource_version=582)
    assert (deleted.change, deleted.received.microsecond, deleted.line) == ("deleted", 841106, 1090)


class Failure(Exception):
    pass


def failing_after(count: int) -> Iterator[Entry]:
    yield from sample_entries()[:count]
    raise Failure


@pytest.mark.django_db(transaction=True)
def test_an_error_in_the_middle_leaves_nothing() -> None:
    source = stored.opened()
    with pytest.raises(Failure):
        ingest(source, World(), failing_after(400))
    assert stored.entries_in(source) == 0
    assert stored.tracks_of(source) == []
    assert not Finding.objects.filter(source=source).exists()
    source.refresh_from_db()
    assert (source.entries, source.first, source.histogram) == (0, None, [])


@pytest.mark.django_db(transaction=True)
def test_an_error_in_a_later_batch_leaves_the_earlier_ones_as_they_were() -> None:
    source, world = stored.opened(), World()
    ingest(source, world, sample_entries()[:300])
    before = stored.stored_of(source)
    with pytest.raises(Failure):
        ingest(source, world, failing_after(700))
    assert stored.stored_of(source) == before


def test_a_lifeline_comes_back_as_the_facts_it_was(sample: Source) -> None:
    world = World()
    list(world.learn(sample_entries()))
    world.settle()
    rows = {(row.kind, row.group, row.namespace, row.name, row.uid): row for row in stored.tracks_of(sample)}
    for track in world.tracks():
        ref = track.ref
        row = rows.pop((ref.kind, ref.group, ref.namespace, ref.name, ref.uid))
        held: Facts = kind_of(ref.group, ref.kind).facts_type()
        assert len(row.lifeline) == len(track.moments)
        for (time, revision, change, action, told), moment in zip(row.lifeline, track.moments, strict=True):
            held = held if told is None else msgspec.convert(told, type(held))
            expected = moment.stamp.resource_version
            assert (time, revision) == (moment.time, None if expected is None else str(expected))
            assert (change, action, held) == (moment.change.value, moment.action, moment.facts)
    assert not rows


def one(**changes: object) -> Source:
    return ingested(events.entries_of(events.event(**changes), bodies=True))


def test_nul_characters_become_visible_ones() -> None:
    """PostgreSQL has no NUL."""
    body = {**events.pod(finalizers=["f\0"]), "status": {"phase": "Run\0ning", "message": "\0"}}
    source = one(responseObject=body, user={"username": "u\0"}, userAgent="a\0", auditID="i\0")
    assert stored.tracks_of(source)[0].lifeline[0][4]["finalizers"] == ["f\ufffd"]
    entry = EntryRow.objects.get(source=source)
    assert (entry.actor, entry.user_agent, entry.identity) == ("u\ufffd", "a\ufffd", "i\ufffd")


def test_a_revision_beyond_64_bits_is_kept_exactly() -> None:
    source = one(responseObject=events.pod(resourceVersion=str(2**128 - 1)))
    assert EntryRow.objects.get(source=source).resource_version == 2**128 - 1
    assert stored.tracks_of(source)[0].lifeline[0][1] == str(2**128 - 1)


def test_numbers_beyond_64_bits_do_not_break_a_lifeline() -> None:
    body = events.pod(annotations={"volcano.sh/job-version": "9" * 30}, generation=2**70)
    source = one(responseObject=body)
    assert stored.tracks_of(source)[0].lifeline[0][4]["generation"] == 2**70


def test_a_discarded_source_leaves_nothing() -> None:
    source = ingested(list(sample_entries()))
    name = f"timeline_entry_{source.pk}"
    assert name in stored.tables()
    store.discard_source(source)
    assert name not in stored.tables()
    assert not Track.objects.filter(source_id=source.pk or 0).exists()


@pytest.mark.django_db(transaction=True)
def test_a_source_can_come_and_go_while_another_imports() -> None:
    busy, other = store.open_source("busy"), stored.opened("other")
    beside = connections.create_connection("default")
    with transaction.atomic():
        ingest(busy, World(), sample_entries()[:50])
        try:
            with beside.cursor() as cursor:
                cursor.execute("SET lock_timeout = '1s'")
                cursor.execute(f"DROP TABLE timeline_entry_{other.pk}")
                cursor.execute("CREATE TABLE timeline_entry_0 PARTITION OF timeline_entry FOR VALUES IN (0)")
                cursor.execute("DROP TABLE timeline_entry_0")
        finally:
            beside.close()
    with connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM timeline_entry")
