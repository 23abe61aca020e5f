"""These tests compare live sources with their recordings: batch by batch, with takeovers by other workers, and with
other commits in between."""

from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path

import pytest
from django.db import connection, transaction
from django.test.utils import CaptureQueriesContext
from django.utils import timezone
from msgspec.structs import replace
from pytest_django import Settings

from collectors.formats import own
from tests import ENGINE
from tests.database.storage.sources import again, imported
from tests.inputs.live import batches, observations, verdicts
from tests.rows.stored import findings_of, stored_tracks
from timeline.core.entries import Change, Entry, Mark, MarkType, ObjectRef, Observation, microseconds, moment
from timeline.judge import judged
from timeline.judging.incidents.subjects import identity
from timeline.models import Acknowledgement, BaselineIncident, Cluster, Delta, Incident, Source, Track
from timeline.payloads.findings import DocumentPayload, FindingPayload
from timeline.pipeline import TwoClusters, follow
from timeline.queries.filters import IncidentFilter
from timeline.queries.incidents import lists
from timeline.queries.window.deltas import Deltas, Missed
from timeline.storage import live
from timeline.storage.entries import chunks
from timeline.storage.exports import document
from timeline.storage.judged import findings, incidents
from timeline.storage.judged.live_findings import LiveFindings
from timeline.storage.live import Live
from timeline.storage.people import acknowledgements, baselines, silences

FAMILIES, JOBS = ENGINE / "families-watch", ENGINE / "jobs-watch"
pytestmark = pytest.mark.django_db(transaction=True)


def began(*batches: Sequence[Observation]) -> Live:
    """Return a source that a worker has begun, with these batches."""
    held = live.open_again(live.begin(Cluster.objects.create(name="prod")))
    for batch in batches:
        follow(held, batch)
    return held


def watched(folder: Path, size: int, *, takeovers: bool = False, remembers: bool = False) -> Source:
    """Return the source of a recording that streams have observed.

    With `takeovers`, each batch goes to another worker. With `remembers`, that worker reads the snapshot which the one
    before has stored.
    """
    held = began()
    source = held.source
    for batch in batches(observations(folder), size):
        if remembers:
            held.snapshot_with_next_batch()
        follow(held, batch)
        if takeovers:
            held = live.open_again(again(source))
    follow(held, [])
    return source


def test_a_commit_of_one_entry_that_no_finding_concerns_needs_nine_statements() -> None:
    """Besides BEGIN and COMMIT, one each for the lock of the source, the entry, its track, its stream, the reach of the
    source, the delta, and the notification."""
    observed = observations(JOBS)
    entries = [each for each in observed if isinstance(each, Entry)][-9:]
    held = began([each for each in observed if each not in entries])
    counts = []
    for each in entries:
        with CaptureQueriesContext(connection) as asked:
            follow(held, [each])
        counts.append(len(asked))
    assert min(counts) == 9


@pytest.mark.parametrize("folder", [FAMILIES, JOBS], ids=lambda folder: folder.name)
def test_the_findings_and_the_order_of_lanes_are_those_of_the_upload(folder: Path) -> None:
    """A live source is compared kind by kind, so its order may be more certain."""
    source, upload = watched(folder, 97), imported(folder)
    found, expected = (document(each)["findings"] for each in (source, upload))
    unsure = {each["id"] for each in expected if each["verdict"] == "inconclusive"}
    assert {each["id"] for each in found} == {each["id"] for each in expected}
    sure, surely = ([each for each in one if each["id"] not in unsure] for one in (found, expected))
    assert verdicts(sure) == verdicts(surely)
    counted = again(source).row_counts
    with transaction.atomic():  # what was kept up to date commit by commit is what is derived anew
        assert findings.write_occurrences(source) == ([], [])
        assert again(source).row_counts == counted
        assert incidents.write(source) == ([], [])
    if folder == FAMILIES:
        assert lanes(source) == lanes(upload)


def lanes(source: Source) -> list[tuple[object, ...]]:
    rows = Track.objects.filter(source=source, span__isnull=False).order_by("place")
    return [(row.kind, row.namespace, row.name, row.number, bool(row.strip)) for row in rows]


@pytest.mark.parametrize(
    ("folder", "size", "takes_over"), [(FAMILIES, 10, False), (JOBS, 50, True)], ids=["one worker", "many workers"]
)
def test_its_export_gives_what_it_was(
    folder: Path, size: int, takes_over: bool, tmp_path: Path, settings: Settings
) -> None:
    settings.LIVE_MEMORY = timedelta(hours=1)
    source = watched(folder, size, takeovers=takes_over, remembers=takes_over)
    path = tmp_path / "export.jsonl"
    path.write_bytes(b"".join(own.recording(chunks.lines(source.pk))))
    exported = imported(path)
    assert comparable(document(source)) == comparable(document(exported))
    mine, other = ([row[:5] + row[11:] for row in stored_tracks(each)] for each in (source, exported))
    assert mine == other


def comparable(found: DocumentPayload) -> list[FindingPayload]:
    """Return the findings of a document without the line of the export."""
    for finding in found["findings"]:
        for proof in finding["proof"]:
            proof["file"] = proof["line"] = None
    return found["findings"]


def test_each_commit_tells_what_it_changed() -> None:
    source = watched(JOBS, 100)
    deltas = list(Delta.objects.filter(source=source).order_by("sequence"))
    first = deltas[0].sequence
    assert [delta.sequence for delta in deltas] == list(range(first, first + len(deltas)))
    assert [delta.changed["after"] for delta in deltas] == [0, *range(first, first + len(deltas) - 1)]
    assert deltas[-1].sequence == again(source).sequence
    moved = {track for delta in deltas for track in delta.changed["tracks"]}
    assert moved == set(Track.objects.filter(source=source).values_list("id", flat=True))
    assert any(delta.changed["findings"] for delta in deltas)
    assert findings_of(source)


def test_a_browser_that_saw_commits_which_the_database_has_lost_loads_the_window_again() -> None:
    """A stand-by without the last commits was promoted, or a back-up was restored: the rows are those of before."""
    first, second, third, *_ = batches(observations(FAMILIES), 40)
    held = began(first)
    source, kept = held.source, follow(held, second).sequence
    with transaction.atomic():
        follow(held, third)
        lost = held.source.sequence
        transaction.set_rollback(True)
    assert lost > kept
    ahead, known = Deltas(source.pk, lost), Deltas(source.pk, kept)
    assert ahead.read() is None  # nothing leads it back

    follow(live.open_again(again(source)), third)
    unbroken = known.read()
    assert unbroken and unbroken["sequence"] > lost
    with pytest.raises(Missed):
        ahead.read()
    assert ahead.cursor == unbroken["sequence"]


@pytest.mark.parametrize(("folder", "takes_over"), [(FAMILIES, True), (JOBS, False)])
def test_what_is_forgotten_is_not_taken_back(folder: Path, takes_over: bool, settings: Settings) -> None:
    settings.LIVE_MEMORY = timedelta(seconds=5)
    source = watched(folder, 20, takeovers=takes_over, remembers=True)
    found, expected = (document(each)["findings"] for each in (source, imported(folder)))
    assert {each["id"] for each in found} == {each["id"] for each in expected}
    if takes_over:  # who takes over reads what was written down
        known = {track.key for track in live.open_again(again(source)).world.tracks()}
        assert len(known) < Track.objects.filter(source=source).count()


@pytest.mark.parametrize("folder", [FAMILIES, JOBS], ids=lambda folder: folder.name)
def test_what_stands_can_be_asked_for_after_its_like_was_forgotten(folder: Path, settings: Settings) -> None:
    """A stream that restarts looks up existing objects; once Events had expired, this raised KeyError."""
    settings.LIVE_MEMORY = timedelta(seconds=2)
    held = began()
    for batch in batches(observations(folder), 40):
        held.snapshot_with_next_batch()
        follow(held, batch)
        for kind in held.world.seen:
            assert all(held.world.of_uid(uid) for uid in held.existing_objects(*kind))


def test_another_cluster_at_the_same_address_is_noticed() -> None:
    observed = observations(FAMILIES)
    held = began(observed)
    system = ObjectRef("", "v1", "Namespace", "", "kube-system", "another")
    some = next(each for each in observed if isinstance(each, Entry))
    known = again(held.source).stored
    with pytest.raises(TwoClusters):
        follow(held, [replace(some, ref=replace(system, uid=uid), facts=None) for uid in ("one", "another")])
    assert again(held.source).stored == known


def test_what_compares_afterwards_is_judged_anew() -> None:
    """Marks without entries can make an order exact that whole seconds leave open."""
    observed = observations(JOBS)
    compared = [each for each in observed if isinstance(each, Mark) and each.what is MarkType.TOGETHER]
    held = began([each for each in observed if each not in compared])

    def verdicts_of_excess() -> set[str]:
        found = document(held.source)["findings"]
        return {each["verdict"] for each in found if each["rule"] == "job-excess-pods"}

    assert "exact" not in verdicts_of_excess()
    follow(held, compared)
    assert verdicts_of_excess() == {"exact"}


def test_what_people_know_of_incidents_holds_after_etcd_was_restored() -> None:
    cluster = Cluster.objects.create(name="prod")
    first = watched_by(cluster)
    noted, silenced, known, *_ = [row["id"] for row in lists.incidents(first.pk)["incidents"]]
    hours = timezone.now() + timedelta(hours=2)
    acknowledgements.acknowledge_incidents(first.pk, [noted], "ada", "ticket 7")
    baselines.set_baseline(first.pk, "bob")
    BaselineIncident.objects.exclude(identity=known).delete()
    incident = Incident.objects.get(identity=silenced)
    matchers = {"namespace": "", "actor": "", "owner": incident.name, "rule": incident.rule}
    silences.create(source=first, **matchers, reason="maintenance", by="cid", expires=hours)
    before = quiet(first)
    assert (before[noted][0], before[silenced][1], before[known][1]) == ("ticket 7", "cid", "bob")
    second = watched_by(cluster)
    assert second.pk != first.pk
    assert quiet(second) == before
    third = live.begin(cluster, "etcd was restored again")
    begins = next(each for each in observations(JOBS) if isinstance(each, Entry)).received
    over = moment(begins) - timedelta(days=1)
    Incident.objects.filter(source=second, identity=noted).update(last=over, open=False)
    follow(live.open_again(third), observations(JOBS))
    assert quiet(third)[noted][0] is None
    assert "after it had been over for an hour" in Acknowledgement.objects.get(source=third, identity=noted).ended


def watched_by(cluster: Cluster) -> Source:
    """Return the next source of a cluster, in which everything happens as it did before."""
    source = live.begin(cluster, "etcd was restored")
    held = live.open_again(source)
    for batch in batches(observations(JOBS), 97):
        follow(held, batch)
    return source


def quiet(source: Source) -> dict[str, tuple[str | None, str | None]]:
    """Return the note of each incident, and who has silenced it."""
    rows = lists.incidents(source.pk, IncidentFilter(silenced=True))["incidents"]
    return {
        row["id"]: (row["acknowledged"] and row["acknowledged"]["note"], row["silenced"] and row["silenced"]["by"])
        for row in rows
    }


# Copies a finding of a source a number of times within its incident, with other subjects at other times.
_COPY = """
INSERT INTO timeline_finding
SELECT (jsonb_populate_record(row, jsonb_build_object(
    'identity', lpad(number::text, 16, 'z'),
    'document', document || jsonb_build_object('id', lpad(number::text, 16, 'z'))
        || jsonb_build_object('subject', document->'subject' || jsonb_build_object('uid', number::text)),
    'occurrences', replace(occurrences::text, '"group": "', '"group": "' || number)::jsonb
))).*
FROM timeline_finding AS row, generate_series(1, %s) AS number
WHERE source_id = %s AND identity = %s
"""
_READ = "SELECT coalesce(seq_tup_read, 0) + coalesce(idx_tup_fetch, 0) FROM pg_stat_xact_user_tables WHERE relname = %s"


def test_a_commit_reads_no_more_findings_if_the_incident_has_many() -> None:
    held = began(observations(JOBS))
    source = held.source
    track, found = next((track, of_it) for track, of_it in judged(held.world, held.world.tracks()).items() if of_it)
    read = []
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SET LOCAL enable_seqscan = off")  # a small table is read by its index, as a large one would be
        written = LiveFindings(source, held.world)
        written.write({track: found})
        cursor.execute(_COPY, [others := 300, source.pk, found[0].id])
        cursor.execute("ANALYZE timeline_finding")
        incidents.write(source)
        for advice in ("Look: one.", "Look: another."):
            cursor.execute(_READ, ["timeline_finding"])
            (before,) = cursor.fetchone()
            assert written.write({track: [replace(each, advice=(advice,)) for each in found]})["incidents"]
            cursor.execute(_READ, ["timeline_finding"])
            read.append(cursor.fetchone()[0] - before)
    assert found[0].anchor
    row = Incident.objects.get(source=source, identity=identity(found[0].rule, found[0].anchor))
    assert row.findings > others and row.advice == ["Look: another."]
    first, second = read
    # The first one after another process has changed the incident reads all of it.
    assert second < 30 < others < first, read


def test_a_deletion_that_another_worker_dates_earlier_is_stored_again_and_counts_once() -> None:
    """Only its arrival says when an object of a watch was deleted, by an estimate of the server's clock that each
    worker makes anew. The earlier time is the closer one, and what is stored has to lead to it by itself."""
    observed = observations(FAMILIES)
    deletion = next(each for each in observed if isinstance(each, Entry) and each.change is Change.DELETED)
    source, arrived = began(observed).source, deletion.arrived or 0

    def received(seconds: float) -> tuple[int, int, int]:
        """Let another worker receive the deletion; return the stored observations, the changes, and the end."""
        follow(live.open_again(again(source)), [replace(deletion, arrived=arrived + round(seconds * 1e6))])
        now, track = again(source), Track.objects.get(source=source, uid=deletion.ref.uid)
        return now.stored, now.entries, microseconds(track.life.upper) - arrived

    stored, changes, at = received(0.4)
    assert (stored, changes, at) == received(0), "a later time says nothing new"
    stored_again, changes_again, earlier = received(-0.4)
    assert (stored_again, changes_again) == (stored + 1, changes) and earlier < at
    assert received(-0.4) == received(-0.2) == (stored_again, changes_again, earlier)
