"""These tests check what is stored: the same whatever the order and the batches, and completely or not at all."""

import random
from collections.abc import Iterator
from functools import cache

import msgspec
import pytest
from django.db import connections, transaction
from msgspec.structs import replace

from tests.database.storage.sources import ingested
from tests.inputs import events
from tests.inputs.live import batches
from tests.inputs.recordings import SAMPLE, observations_of, world_of
from tests.rows import stored
from tests.unit.history.test_evidence import evidence
from timeline.core.entries import Entry, Facts, Observation
from timeline.history.world.world import World
from timeline.kinds import kind_of
from timeline.models import Chunk, Finding, Occurrence, Source, Track
from timeline.pipeline import ingest
from timeline.storage import store
from timeline.storage.entries import chunks
from timeline.storage.judged import findings

pytestmark = pytest.mark.django_db


@cache
def sample_observations() -> tuple[Observation, ...]:
    return tuple(observations_of(SAMPLE))


@cache
def sample_entries() -> tuple[Entry, ...]:
    return tuple(each for each in sample_observations() if isinstance(each, Entry))


def requests_in(source: Source) -> int:
    """Return how many requests that changed nothing a source has. They are stored first."""
    return source.stored - len(list(chunks.entries(source.pk)))


@pytest.mark.parametrize("seed", [0, 2])
def test_shuffled_and_doubled_entries_make_the_same_rows(sample: Source, seed: int) -> None:
    chance = random.Random(seed)
    observations = [*sample_observations(), *chance.sample(sample_observations(), 200)]
    chance.shuffle(observations)
    source = ingested(*batches(observations, len(observations) // (seed + 1) + 1))
    assert stored.stored_of(source) == stored.stored_of(sample)
    assert evidence(world_of(chunks.observations(source.pk))) == evidence(world_of(sample_observations()))


def test_many_batches_make_the_same_rows_and_one_that_is_known_changes_nothing(sample: Source) -> None:
    source, world = stored.opened(), World()
    changes = [ingest(source, world, batch) for batch in batches(sample_observations(), 120)]
    assert len(changes) > 10 and sum(changes) == 775
    assert ingest(source, world, sample_observations()) == 0
    assert stored.stored_of(source) == stored.stored_of(sample)
    assert source.stored == stored.entries_in(source) == sample.stored


def test_every_entry_comes_back_as_it_was_and_those_of_certain_tracks_and_times_are_found(sample: Source) -> None:
    rows, before = list(chunks.entries(sample.pk)), requests_in(sample)
    assert [row.sequence for row in rows] == list(range(before + 1, sample.stored + 1))
    assert {row.key for row in rows} == {track.id % 2**40 for track in stored.tracks_of(sample)}
    assert sorted((row.entry for row in rows), key=repr) == sorted(sample_entries(), key=repr)
    keys = {row.key for row in rows[::100]}
    start, end = (rows[at].entry.received for at in (200, 500))
    assert list(chunks.entries(sample.pk, keys)) == [row for row in rows if row.key in keys]
    assert list(chunks.entries(sample.pk, after=before + 70)) == rows[70:]
    within = [row for row in rows if start <= row.entry.received <= end]
    assert list(chunks.entries(sample.pk, start=start, end=end)) == within
    some = [row for row in rows[300:] if row.key in keys and row.entry.received <= end]
    assert list(chunks.entries(sample.pk, keys, after=before + 300, end=end)) == some
    assert list(chunks.entries(sample.pk, [])) == []
    assert [row.entry.body for row in chunks.entries(sample.pk, bodies=False)] == [b""] * len(rows)


def test_a_chunk_holds_no_more_than_it_may_and_a_discarded_source_leaves_nothing() -> None:
    body = b'{"text":"%s"}' % (b"x" * 100_000)
    source = ingested([replace(entry, body=body) for entry in sample_entries()[:20]])
    assert [len(keys) for keys in Chunk.objects.filter(source=source).values_list("keys", flat=True)] == [10] * 2
    assert all(row.entry.body == body for row in chunks.entries(source.pk))
    key = source.pk
    assert stored.tables_of(key)
    store.discard_source(source)
    assert not stored.tables_of(key) and not Track.objects.filter(source_id=key).exists()


class Failure(Exception):
    pass


def failing_after(count: int) -> Iterator[Entry]:
    yield from sample_entries()[:count]
    raise Failure


@pytest.mark.django_db(transaction=True)
def test_an_error_in_the_middle_leaves_nothing_of_a_batch_and_earlier_ones_as_they_were() -> None:
    source, world = stored.opened(), World()
    with pytest.raises(Failure):
        ingest(source, World(), failing_after(400))
    assert stored.entries_in(source) == 0
    assert stored.tracks_of(source) == []
    assert not Finding.objects.filter(source=source).exists()
    source.refresh_from_db()
    assert (source.entries, source.first, source.histogram) == (0, None, [])
    ingest(source, world, sample_entries()[:300])
    before = stored.stored_of(source)
    with pytest.raises(Failure):
        ingest(source, world, failing_after(700))
    assert stored.stored_of(source) == before


def test_a_lifeline_comes_back_as_the_facts_it_was(sample: Source) -> None:
    rows = {(row.kind, row.group, row.namespace, row.name, row.uid): row for row in stored.tracks_of(sample)}
    for track in world_of(sample_entries()).tracks():
        ref = track.ref
        row = rows.pop((ref.kind, ref.group, ref.namespace, ref.name, ref.uid))
        held: Facts = kind_of(ref.group, ref.kind).facts_type()
        assert len(row.lifeline) == len(track.moments)
        for stored_moment, at in zip(row.lifeline, track.moments, strict=True):
            time, revision, change, action, within, writer, value = stored_moment
            held = held if value is None else msgspec.convert(value, type(held))
            expected = at.stamp.resource_version
            assert (time, revision) == (at.time, None if expected is None else str(expected))
            drawn = track.kind.drawn(at.facts)
            assert (change, action, writer, held) == (at.change.value, at.action, at.entry.writer, drawn)
            earliest, latest = at.committed
            assert within == [time - earliest, None if latest is None else latest - time]
    assert not rows


def test_nul_and_numbers_beyond_64_bits_are_stored() -> None:
    """PostgreSQL cannot store NUL, which becomes a visible character where it is no line."""
    about = {"finalizers": ["f\0"], "resourceVersion": str(2**128 - 1), "generation": 2**70}
    body = events.pod(**about, annotations={"volcano.sh/job-version": "9" * 30})
    body["status"] = {"phase": "Run\0ning", "message": "\0"}
    event = events.event(responseObject=body, user={"username": "u\0"}, userAgent="a\0", auditID="i\0")
    source = ingested(events.entries_of(event, bodies=True))
    ((_, _, entry),) = chunks.entries(source.pk)
    assert (entry.actor, entry.user_agent, entry.identity) == ("u\0", "a\0", "i\0")
    assert entry.resource_version == 2**128 - 1
    (moment,) = stored.tracks_of(source)[0].lifeline
    assert moment[1] == str(2**128 - 1)
    assert (moment[-1]["finalizers"], moment[-1]["generation"]) == (["f\ufffd"], 2**70)


def test_many_findings_are_listed_rule_by_rule(sample: Source, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = list(Occurrence.objects.filter(source=sample).order_by("key").values())
    counts = Source.objects.values_list("row_counts", flat=True).get(pk=sample.pk)
    monkeypatch.setattr(findings, "_TOGETHER", 1)
    assert findings.write_occurrences(sample) == ([], [])
    gone = [each["key"] for each in whole if each["rule"] == "stale-write"]
    Finding.objects.filter(source=sample, rule="stale-write").delete()
    changed, left = findings.write_occurrences(sample)
    assert (changed, sorted(left)) == ([], sorted(gone))
    others = Source.objects.values_list("row_counts", flat=True).get(pk=sample.pk)
    assert {**others, "stale-write": counts["stale-write"]} == counts
    Occurrence.objects.filter(source=sample).delete()
    written, _ = findings.write_occurrences(sample)
    rows = list(Occurrence.objects.filter(source=sample).order_by("key").values())
    assert rows == [each for each in whole if each["key"] in written]
    assert len(written) + len(gone) == len(whole)


@pytest.mark.django_db(transaction=True)
def test_a_source_can_come_and_go_while_another_imports() -> None:
    busy, other = store.open_source("busy"), stored.opened("other")
    going = sorted(stored.tables_of(other))
    beside = connections.create_connection("default")
    with transaction.atomic():
        ingest(busy, World(), sample_entries()[:50])
        try:
            with beside.cursor() as cursor:
                cursor.execute("SET lock_timeout = '1s'")
                for table in going:
                    cursor.execute(f"DROP TABLE {table}")
                cursor.execute("CREATE TABLE chunk PARTITION OF timeline_chunk FOR VALUES FROM (0, 0) TO (0, 1)")
                cursor.execute("DROP TABLE chunk")
        finally:
            beside.close()
    assert not Chunk.objects.filter(source=other).exists()
