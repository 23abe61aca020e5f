"""These tests import uploads: each becomes a complete recording once, whatever happens to its worker."""

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from datetime import timedelta
from pathlib import Path
from types import SimpleNamespace
from urllib.parse import urlsplit

import pytest
import zstandard
from django.conf import settings
from django.db import OperationalError, connection, connections
from django.db.backends.base.base import BaseDatabaseWrapper
from django.test import Client
from django.utils import timezone
from pytest_django import Settings

from collectors import tasks
from collectors.formats import Limits, NotARecording
from collectors.uploads import importing, receiving, recordings
from tests import DATA, stored
from tests.patience import eventually, patient
from tests.recordings import SAMPLE, lines_of
from tests.stored import beside
from timeline import pipeline
from timeline.core.entries import Entry
from timeline.core.machine import beside as copies
from timeline.history.world.world import World
from timeline.models import Finding, Source, Track, Upload
from timeline.storage import store, tracks

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("empty_uploads")]
ENTRIES = 775  # in the sample


def received(content: bytes | None = None, name: str = "audit.jsonl.zst") -> Upload:
    """Return an upload whose file has arrived. Without content it is the sample."""
    content = SAMPLE.read_bytes() if content is None else content
    upload = receiving.begin(name, [receiving.Announced(name, len(content))])
    receiving.path_of(upload).write_bytes(content)
    Upload.objects.filter(pk=upload.pk).update(state="waiting")
    return upload


def taken_up(upload: Upload) -> Upload:
    claimed = importing.take_up(upload.pk)
    assert claimed
    return claimed


def imported(content: bytes | None = None, name: str = "audit.jsonl.zst") -> Upload:
    upload = received(content, name)
    importing.run(taken_up(upload))
    upload.refresh_from_db()
    return upload


@pytest.fixture(autouse=True)
def _no_old_tables() -> None:
    """Drop the tables of sources that earlier tests have left, because emptying the database does not."""
    with connection.cursor() as cursor:
        for name in stored.tables():
            cursor.execute(f"DROP TABLE {name}")


def nothing_is_left() -> bool:
    return not (Source.objects.exists() or Track.objects.exists() or Finding.objects.exists() or stored.tables())


@pytest.fixture
def halfway(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[], object]], None]:
    """Return a function that makes something happen once in the middle of the next import, which is slowed down for
    it."""

    def arrange(act: Callable[[], object]) -> None:
        pending = [act]
        reports = 0
        report = importing.Progress._report

        def counted(progress: importing.Progress, connection: BaseDatabaseWrapper) -> None:
            nonlocal reports
            report(progress, connection)
            reports += 1

        def wait_for_reports() -> None:
            before = reports
            with suppress(AssertionError):  # what is arranged may end them
                eventually(lambda: reports > before + 1, 3 * importing.REPORT_EVERY)

        def watched(entries: Iterable[Entry]) -> Iterator[Entry]:
            for number, entry in enumerate(entries):
                if number == 400 and pending:
                    pending.pop()()
                    wait_for_reports()
                yield entry

        def ingest(source: Source, world: World, entries: Iterable[Entry]) -> int:
            return pipeline.ingest(source, world, watched(entries))

        monkeypatch.setattr(recordings, "ingest", ingest)
        monkeypatch.setattr(importing.Progress, "_report", counted)

    return arrange


def test_a_recording_is_imported_whole() -> None:
    upload = imported()
    assert (upload.state, upload.error, upload.attempt) == ("done", "", 1)
    assert (upload.entries, upload.skipped, upload.bytes_read) == (ENTRIES, 0, upload.bytes_total)
    source = upload.source
    assert source and source.ready
    assert (source.name, source.entries, source.skipped) == ("audit", ENTRIES, 0)
    assert source.first and source.last and source.first < source.last
    assert sum(source.histogram) > 0
    assert stored.entries_in(source) == source.stored >= ENTRIES
    severities = sorted(row["severity"] + " " + row["document"]["rule"] for row in stored.findings_of(source))
    assert "warning service-gap" in severities
    assert any("pod-before-service" in each for each in severities)
    assert not receiving.path_of(upload).exists()


@pytest.mark.parametrize(
    ("name", "title"),
    [
        ("audit.jsonl.zst", "audit"),
        ("audit-2026.11.21.log.gz", "audit-2026.11.21"),
        ("prod.eu-west", "prod.eu-west"),
        (".zst", ".zst"),
        ("<b>a</b>", "b>"),
        ("recording", "recording"),
    ],
)
def test_a_recording_is_called_as_its_file_without_the_endings(name: str, title: str) -> None:
    assert recordings.title(name) == title


@pytest.mark.parametrize("name", ["watch/pods.jsonl.zst", "pods.yaml.zst", "services-w.json.zst", "dump.txt.zst"])
def test_a_recording_of_any_format_is_imported(name: str) -> None:
    upload = imported((DATA / "objects" / name).read_bytes(), name)
    assert (upload.state, upload.error) == ("done", "")
    assert Track.objects.filter(source=upload.source_id).count() > 1


def test_what_was_skipped_is_counted_and_shown_with_reasons() -> None:
    text = zstandard.decompress(SAMPLE.read_bytes(), max_output_size=1 << 24).splitlines()
    text[1080:1080] = [b"this is no event", b'{"auditID":"x","verb":"create"']
    upload = imported(b"\n".join(text), name="audit.log")
    assert (upload.state, upload.entries, upload.skipped) == ("done", ENTRIES, 2)
    assert upload.skipped_examples == [
        "audit.log line 1081: not JSON: JSON is malformed: invalid character (byte 4)",
        "audit.log line 1082: not JSON: Input data was truncated",
    ]
    assert upload.source and upload.source.skipped == 2


def test_a_recording_of_which_most_was_skipped_says_so_on_its_pages(client: Client) -> None:
    broken = b'{"kind": "Event", "auditID": "cut\n' * 7
    content = b"\n".join(line for line in lines_of(SAMPLE) if b'"verb":"create"' in line)
    few = b"\n".join(content.splitlines()[:3]) + b"\n"
    source = imported(few + broken, "a.log").source
    assert source
    sentence = "a.log: 7 of 10 lines were skipped, so what was found says little of it"
    pages = ["/", f"/sources/{source.pk}/coverage/", f"/sources/{source.pk}/report"]
    for page in pages:
        assert sentence in client.get(page).text, page
    assert client.get(f"/api/sources/{source.pk}/coverage").json()["mostly_skipped"] == {"a.log": [7, 10]}
    most = imported(content + b"\n" + broken, "b.log").source
    assert most and most.skipped == 7
    assert "lines were skipped, so" not in client.get(f"/sources/{most.pk}/coverage/").text


def test_a_cut_recording_is_imported_up_to_the_cut() -> None:
    content = SAMPLE.read_bytes()
    upload = imported(content[: len(content) // 2], name="audit.zst")
    assert upload.state == "done"
    assert 100 < upload.entries < ENTRIES
    assert "audit.zst: the compressed data ends too early" in upload.skipped_examples[-1]


def test_only_the_first_reasons_are_kept() -> None:
    upload = imported(b'{"auditID":"x"}\n' * 5 + b'{"auditID":""}\n' * 100)
    assert upload.state == "failed"
    assert (upload.skipped, len(upload.skipped_examples)) == (100, importing.EXAMPLES)


def test_a_log_that_changes_no_object_fails_and_says_what_to_log() -> None:
    upload = imported(b'{"auditID":"x","verb":"get"}\n', name="audit.log")
    assert upload.state == "failed"
    assert upload.error.startswith("audit.log: nothing in it changes an object, so there was nothing to judge.")
    assert "RequestResponse" in upload.error
    assert nothing_is_left()
    assert not receiving.path_of(upload).exists()


def test_a_log_of_which_nothing_can_be_used_fails_with_the_first_reason() -> None:
    upload = imported(b'{"auditID":"x","verb":\n', name="audit.log")
    assert upload.error.endswith("The first reason: audit.log line 1: not JSON: Input data was truncated.")
    assert nothing_is_left()


def test_a_file_that_has_gone_fails_clearly() -> None:
    upload = received()
    receiving.path_of(upload).unlink()
    importing.run(taken_up(upload))
    upload.refresh_from_db()
    assert (upload.state, upload.source) == ("failed", None)
    assert "No such file" in upload.error
    assert nothing_is_left()


def test_progress_is_written_while_the_import_runs(halfway: Callable[[Callable[[], object]], None]) -> None:
    upload = received()
    seen: list[Upload] = []

    def look() -> None:
        eventually(lambda: Upload.objects.get(pk=upload.pk).entries == 211)
        seen.append(Upload.objects.select_related("source").get(pk=upload.pk))

    halfway(lambda: beside(look))
    importing.run(taken_up(upload))
    assert (seen[0].state, seen[0].entries) == ("importing", 211)
    assert seen[0].bytes_read == SAMPLE.stat().st_size  # such a small file is read at once
    assert seen[0].seen > upload.seen
    assert seen[0].source and not seen[0].source.ready


def test_a_cancelled_import_stops_within_a_second_and_leaves_nothing(
    halfway: Callable[[Callable[[], object]], None],
) -> None:
    upload = received()
    halfway(lambda: beside(lambda: importing.cancel(upload)))
    importing.run(taken_up(upload))
    upload.refresh_from_db()
    assert (upload.state, upload.source, upload.error) == ("cancelled", None, "")
    assert nothing_is_left()
    assert not receiving.path_of(upload).exists()


def test_an_upload_that_has_ended_cannot_be_cancelled() -> None:
    upload = imported()
    importing.cancel(upload)
    upload.refresh_from_db()
    assert upload.state == "done"
    assert upload.source


def test_a_cancelled_upload_is_not_taken_up() -> None:
    upload = received()
    importing.cancel(upload)
    tasks.import_upload(upload.pk)
    upload.refresh_from_db()
    assert (upload.state, upload.attempt) == ("cancelled", 0)
    assert nothing_is_left()


def test_an_upload_is_taken_up_once() -> None:
    upload = received()
    assert importing.take_up(upload.pk)
    assert importing.take_up(upload.pk) is None


def grow_old(upload: Upload) -> None:
    Upload.objects.filter(pk=upload.pk).update(seen=timezone.now() - 2 * settings.IMPORT_SILENCE)
    Source.objects.update(created=timezone.now() - 6 * settings.IMPORT_SILENCE)


def give_back(upload: Upload) -> None:
    """Take the upload from its worker as if that had ended. A sign of life may arrive in between, so this is
    repeated."""
    while Upload.objects.get(pk=upload.pk).state == "importing":
        grow_old(upload)
        tasks.take_up_uploads()


def test_an_attempt_that_was_taken_over_commits_nothing_and_leaves_the_file(
    halfway: Callable[[Callable[[], object]], None],
) -> None:
    upload = received()

    def take_over() -> None:
        give_back(upload)
        taken_up(upload)

    halfway(lambda: beside(take_over))
    importing.run(taken_up(upload))
    upload.refresh_from_db()
    assert (upload.state, upload.attempt, upload.source) == ("importing", 2, None)
    assert nothing_is_left()
    importing.run(upload)
    upload.refresh_from_db()
    assert (upload.state, upload.entries) == ("done", ENTRIES)


def test_the_successor_may_end_first(halfway: Callable[[Callable[[], object]], None]) -> None:
    upload = received()

    def overtake() -> None:
        give_back(upload)
        tasks.import_upload(upload.pk)

    halfway(lambda: beside(overtake))
    importing.run(taken_up(upload))
    upload.refresh_from_db()
    assert (upload.state, upload.attempt, upload.entries) == ("done", 2, ENTRIES)
    assert [source.pk for source in Source.objects.all()] == [upload.source_id]
    assert stored.tables() == stored.tables_of(upload.source_id)


class Crash(BaseException):
    """This exception is not caught by any code."""


def crash() -> None:
    raise Crash


def test_an_import_that_crashed_is_done_again_with_the_same_rows(
    halfway: Callable[[Callable[[], object]], None],
) -> None:
    whole = imported()
    assert whole.source
    upload = received()
    halfway(crash)
    with pytest.raises(Crash):
        importing.run(taken_up(upload))
    upload.refresh_from_db()
    assert upload.state == "importing"
    tasks.take_up_uploads()
    upload.refresh_from_db()
    assert upload.state == "importing"  # the worker may only be slow
    grow_old(upload)
    tasks.take_up_uploads()
    upload.refresh_from_db()
    assert upload.state == "waiting"
    tasks.import_upload(upload.pk)
    upload.refresh_from_db()
    assert (upload.state, upload.attempt) == ("done", 2)
    assert upload.source and stored.stored_of(upload.source) == stored.stored_of(whole.source)
    assert {source.pk for source in Source.objects.all()} == {whole.source_id, upload.source_id}
    assert stored.tables() == stored.tables_of(whole.source_id, upload.source_id)


KILLED = """
import os, signal, sys
import django
django.setup()
from collectors.uploads import importing, recordings
from timeline.core.machine.spill import Spill
recordings.IN_MEMORY = 5
put = Spill.put
def killed_after_some(spill, value):
    place = put(spill, value)
    if place > 10_000:
        spill._write()
        assert spill._file is not None
        os.kill(os.getpid(), signal.SIGKILL)
    return place
Spill.put = killed_after_some
importing.run(importing.take_up(int(sys.argv[1])))
"""


def test_an_import_that_is_killed_while_it_uses_a_file_leaves_no_file_and_is_done_again() -> None:
    whole = imported()
    assert whole.source
    upload = received()
    before = sorted(settings.DATA_DIR.iterdir())
    url = urlsplit(os.environ["DATABASE_URL"])._replace(path=f"/{connection.settings_dict['NAME']}").geturl()
    own = {"DATABASE_URL": url, "DJANGO_SETTINGS_MODULE": "dashboard.settings"}
    command = [sys.executable, "-c", KILLED, str(upload.pk)]
    ended = subprocess.run(command, env=os.environ | own, capture_output=True, text=True, timeout=patient(60))
    upload.refresh_from_db()
    assert ended.returncode == -signal.SIGKILL, (ended.stderr, upload.error)
    assert sorted(settings.DATA_DIR.iterdir()) == before
    upload.refresh_from_db()
    assert upload.state == "importing"
    grow_old(upload)
    tasks.take_up_uploads()
    tasks.import_upload(upload.pk)
    upload.refresh_from_db()
    assert (upload.state, upload.attempt) == ("done", 2)
    assert upload.source and stored.stored_of(upload.source) == stored.stored_of(whole.source)
    assert stored.tables() == stored.tables_of(whole.source_id, upload.source_id)


def test_an_import_whose_database_went_away_is_taken_up_again(
    halfway: Callable[[Callable[[], object]], None], caplog: pytest.LogCaptureFixture
) -> None:
    upload = received()
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_backend_pid()")
        (backend,) = cursor.fetchone()

    def cut() -> None:
        with connections["default"].cursor() as other:
            other.execute("SELECT pg_terminate_backend(%s)", [backend])

    halfway(lambda: beside(cut))
    with pytest.raises(OperationalError):
        importing.run(taken_up(upload))
    connection.close()
    upload.refresh_from_db()
    assert (upload.state, upload.error) == ("importing", "")
    assert receiving.path_of(upload).exists()
    grow_old(upload)
    tasks.take_up_uploads()
    tasks.import_upload(upload.pk)
    upload.refresh_from_db()
    assert (upload.state, upload.attempt, upload.entries) == ("done", 2, ENTRIES)
    assert stored.tables() == stored.tables_of(upload.source_id)
    assert "attempt 1 failed" in caplog.text


def test_an_error_nobody_foresaw_ends_the_upload_instead_of_repeating_it(
    halfway: Callable[[Callable[[], object]], None], caplog: pytest.LogCaptureFixture
) -> None:
    def fail() -> None:
        raise TypeError("a mistake\nwith details")

    upload = received()
    halfway(fail)
    importing.run(taken_up(upload))
    upload.refresh_from_db()
    assert upload.state == "failed"
    assert upload.error == "Causeline could not take it; the worker's log says more. TypeError: a mistake"
    assert "with details" in caplog.text
    assert nothing_is_left()
    assert not receiving.path_of(upload).exists()


def test_a_full_disk_of_the_database_is_told_and_the_space_given_back() -> None:
    with connection.cursor() as cursor:
        cursor.execute(FULL)
    try:
        upload = imported()
    finally:
        with connection.cursor() as cursor:
            cursor.execute("DROP FUNCTION full_disk CASCADE")
    assert (upload.state, upload.attempt, upload.source) == ("failed", 1, None)
    assert upload.error.startswith("The disk of the database is full. Nothing was imported")
    assert nothing_is_left()
    assert not receiving.path_of(upload).exists()
    assert imported().state == "done"


FULL = """
CREATE FUNCTION full_disk() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE 'could not extend file "base/1/2": No space left on device' USING ERRCODE = '53100';
END $$;
CREATE TRIGGER full_disk BEFORE UPDATE OF histogram ON timeline_source FOR EACH ROW EXECUTE FUNCTION full_disk();
"""


def test_where_the_database_lies_is_known_of_our_own_alone(tmp_path: Path) -> None:
    assert recordings.database_folder("/tmp/sockets", tmp_path) is None  # a PostgreSQL of the machine itself
    (tmp_path / "postgres").mkdir()
    assert recordings.database_folder("/tmp/sockets", tmp_path) == tmp_path / "postgres"
    assert recordings.database_folder("db.example", tmp_path) is None  # a left-over folder
    assert recordings.database_folder("", tmp_path) is None


def test_an_import_goes_on_with_a_full_disk_where_the_database_is_elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recordings, "_EVERY", 100)
    monkeypatch.setattr(recordings, "database_folder", lambda host, data_dir: None)
    upload = received()
    monkeypatch.setattr("shutil.disk_usage", lambda _: SimpleNamespace(free=0))
    importing.run(taken_up(upload))
    upload.refresh_from_db()
    assert (upload.state, upload.error) == ("done", "")


def test_an_import_ends_before_the_disk_is_full(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recordings, "_EVERY", 100)
    monkeypatch.setattr(recordings, "database_folder", lambda host, data_dir: data_dir)
    room = [1 << 40, 1 << 26]
    monkeypatch.setattr("shutil.disk_usage", lambda _: SimpleNamespace(free=room.pop(0)))
    upload = imported()
    assert (upload.state, upload.attempt, upload.source) == ("failed", 1, None)
    assert upload.error.startswith("The disk is nearly full, 64 MiB are free. Nothing was imported")
    assert nothing_is_left()


def test_an_upload_whose_workers_keep_dying_is_given_up() -> None:
    upload = received()
    Upload.objects.filter(pk=upload.pk).update(state="importing", attempt=importing.ATTEMPTS)
    grow_old(upload)
    tasks.take_up_uploads()
    upload.refresh_from_db()
    assert upload.state == "failed"
    assert upload.error.startswith("Its import was cut off 5 times.")
    assert not receiving.path_of(upload).exists()


def test_an_upload_waits_for_more_until_nothing_has_come_for_long() -> None:
    upload = received()
    Upload.objects.filter(pk=upload.pk).update(state="receiving")
    grow_old(upload)
    tasks.take_up_uploads()
    upload.refresh_from_db()
    assert upload.state == "receiving"
    assert receiving.path_of(upload).exists()
    Upload.objects.filter(pk=upload.pk).update(seen=timezone.now() - settings.UPLOAD_PATIENCE)
    tasks.take_up_uploads()
    upload.refresh_from_db()
    assert (upload.state, upload.error) == (
        "failed",
        "Nothing more of it has arrived for 24 hours. Upload it again.",
    )
    assert not receiving.folder_of(upload).exists()


def test_what_an_upload_went_through_is_forgotten_after_a_week_and_its_recording_stays() -> None:
    upload = imported()
    waiting = received()
    Upload.objects.update(seen=timezone.now() - tasks.FORGOTTEN + timedelta(minutes=1))
    tasks.take_up_uploads()
    assert Upload.objects.count() == 2
    Upload.objects.update(seen=timezone.now() - tasks.FORGOTTEN)
    tasks.take_up_uploads()
    assert [each.pk for each in Upload.objects.all()] == [waiting.pk]
    assert [source.pk for source in Source.objects.all()] == [upload.source_id]


def test_what_lies_about_and_belongs_to_no_upload_goes_when_it_is_old() -> None:
    upload = received()
    forgotten, young = settings.UPLOAD_DIR / "1000000", settings.UPLOAD_DIR / "1000001"
    for folder in (forgotten, young):
        folder.mkdir()
        (folder / "0").touch()
    for folder in (forgotten, receiving.folder_of(upload)):
        os.utime(folder, (0, 0))
    tasks.take_up_uploads()
    assert not forgotten.exists()
    assert young.exists()
    assert receiving.path_of(upload).exists()


def test_what_is_abandoned_goes_when_it_is_old_and_nobody_works_on_it() -> None:
    forgotten, young, at_work = (store.open_source(name) for name in ("forgotten", "young", "at work"))
    long_ago = timezone.now() - 3 * settings.IMPORT_SILENCE - timedelta(seconds=1)
    Source.objects.exclude(pk=young.pk).update(created=long_ago)
    Upload.objects.create(name="u", state="importing", source=at_work)
    shown = imported().source
    assert shown
    importing.discard_abandoned()
    assert {source.pk for source in Source.objects.all()} == {young.pk, at_work.pk, shown.pk}
    assert not stored.tables_of(forgotten)


def test_an_upload_cancelled_while_it_arrived_is_not_queued() -> None:
    upload = received()
    Upload.objects.filter(pk=upload.pk).update(state="cancelled")
    tasks.queue(upload)
    assert upload.state == "cancelled"
    assert not receiving.path_of(upload).exists()


QUEUE = """
import sys, django
django.setup()
from collectors import tasks
from timeline.models import Upload
tasks.queue(Upload.objects.get(pk=sys.argv[1]))
"""


def test_an_upload_waits_for_a_broker_that_is_away() -> None:
    """This runs in a process of its own, which has no connection to the broker yet."""
    upload = received()
    Upload.objects.filter(pk=upload.pk).update(state="receiving")
    url = urlsplit(os.environ["DATABASE_URL"])._replace(path=f"/{connection.settings_dict['NAME']}").geturl()
    away = {"DATABASE_URL": url, "REDIS_URL": "redis://127.0.0.1:1/0", "DJANGO_SETTINGS_MODULE": "dashboard.settings"}
    command = [sys.executable, "-c", QUEUE, str(upload.pk)]
    ended = subprocess.run(
        command, env=os.environ | away, capture_output=True, text=True, timeout=patient(30), check=True
    )
    assert f"upload {upload.pk} has to wait: the broker cannot be reached" in ended.stderr
    upload.refresh_from_db()
    assert upload.state == "waiting"


def test_a_file_that_cannot_be_understood_is_refused_before_it_is_queued(tmp_path: Path) -> None:
    path = tmp_path / "picture"
    path.write_bytes(b"\x89PNG")
    with pytest.raises(NotARecording, match="PNG picture"):
        receiving.check([(path, "picture.png")])
    assert not Upload.objects.exists()


def test_a_line_over_the_limit_is_skipped(settings: Settings) -> None:
    settings.LIMITS = Limits(line_bytes=6_000)
    upload = imported()
    assert upload.state == "done"
    assert 0 < upload.skipped < ENTRIES
    assert "longer than 6000 bytes; CAUSELINE_LINE_LIMIT_BYTES" in upload.skipped_examples[0]


def test_a_copy_of_the_process_helps_while_the_progress_of_an_import_is_written(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A copy is made where all threads of the import are at rest; those of the test runner always are."""
    runner, others, fork = set(threading.enumerate()), copies._others, os.fork
    monkeypatch.setattr(copies, "_others", lambda: [each for each in others() if each not in runner])
    monkeypatch.setattr(tracks, "_FEWEST", 1)
    monkeypatch.setattr(tracks, "available_processors", lambda: 2)
    made: list[int] = []
    monkeypatch.setattr(os, "fork", lambda: made.append(1) or fork())  # type: ignore[func-returns-value]
    assert imported().state == "done"
    assert made
