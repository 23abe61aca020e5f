"""These tests import uploads whose workers fail, end, or are too slow: each becomes a complete recording once."""

import os
import signal
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from datetime import timedelta

import pytest
from django.conf import settings
from django.db import OperationalError, connection, connections
from django.db.backends.base.base import BaseDatabaseWrapper
from django.utils import timezone

from collectors import tasks
from collectors.uploads import importing, receiving, recordings
from tests.database.uploads.arriving import (
    ENTRIES,
    done_again,
    elsewhere,
    grow_old,
    imported,
    nothing_is_left,
    received,
    run,
    swept,
    taken_up,
)  # fmt: skip
from tests.inputs.recordings import SAMPLE
from tests.patience import eventually
from tests.rows import stored
from tests.rows.stored import beside
from timeline import pipeline
from timeline.core.entries import Entry
from timeline.history.world.world import World
from timeline.models import Source, Upload
from timeline.storage import store

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.usefixtures("empty_uploads", "no_old_tables"),
]
Halfway = Callable[[Callable[[], object]], None]


@pytest.fixture
def halfway(monkeypatch: pytest.MonkeyPatch) -> Halfway:
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


def test_progress_is_written_while_the_import_runs(halfway: Halfway) -> None:
    upload = received()
    seen: list[Upload] = []

    def look() -> None:
        eventually(lambda: Upload.objects.get(pk=upload.pk).entries == 206)
        seen.append(Upload.objects.select_related("source").get(pk=upload.pk))

    halfway(lambda: beside(look))
    importing.run(taken_up(upload))
    assert (seen[0].state, seen[0].entries) == ("importing", 206)
    assert seen[0].bytes_read == SAMPLE.stat().st_size  # such a small file is read at once
    assert seen[0].seen > upload.seen
    assert seen[0].source and not seen[0].source.ready


def test_a_cancelled_import_stops_within_a_second_and_leaves_nothing(halfway: Halfway) -> None:
    upload = received()
    halfway(lambda: beside(lambda: importing.cancel(upload)))
    run(upload)
    assert (upload.state, upload.source, upload.error) == ("cancelled", None, "")
    assert nothing_is_left(upload)


def test_an_upload_is_taken_up_once_and_not_if_it_is_cancelled() -> None:
    upload, cancelled = received(), received()
    assert importing.take_up(upload.pk)
    assert importing.take_up(upload.pk) is None
    importing.cancel(cancelled)
    tasks.import_upload(cancelled.pk)
    cancelled.refresh_from_db()
    assert (cancelled.state, cancelled.attempt) == ("cancelled", 0)
    assert nothing_is_left(cancelled)


@pytest.mark.parametrize("ends_first", [False, True], ids=["goes on later", "ends first"])
def test_an_attempt_that_was_taken_over_commits_nothing_and_leaves_the_file(halfway: Halfway, ends_first: bool) -> None:
    upload = received()

    def take_over() -> None:
        while Upload.objects.get(pk=upload.pk).state == "importing":  # a sign of life may arrive in between
            grow_old(upload)
            tasks.take_up_uploads()
        if ends_first:
            tasks.import_upload(upload.pk)
        else:
            taken_up(upload)

    halfway(lambda: beside(take_over))
    run(upload)
    if not ends_first:
        assert (upload.state, upload.attempt, upload.source) == ("importing", 2, None)
        assert not Source.objects.exists() and not stored.tables()
        importing.run(upload)
        upload.refresh_from_db()
    assert (upload.state, upload.attempt, upload.entries) == ("done", 2, ENTRIES)
    assert [source.pk for source in Source.objects.all()] == [upload.source_id]
    assert stored.tables() == stored.tables_of(upload.source_id)


KILLED = """
import os, signal
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


def test_an_import_that_is_killed_while_it_uses_a_file_leaves_no_file_and_is_done_again_with_the_same_rows() -> None:
    whole = imported().source
    assert whole
    upload = received()
    before = sorted(settings.DATA_DIR.iterdir())
    ended = elsewhere(KILLED, upload)
    assert ended.returncode == -signal.SIGKILL, ended.stderr
    assert sorted(settings.DATA_DIR.iterdir()) == before
    source = done_again(upload)
    assert stored.stored_of(source) == stored.stored_of(whole)
    assert set(Source.objects.all()) == {whole, source}
    assert stored.tables() == stored.tables_of(whole, source)


def test_an_import_whose_database_went_away_is_taken_up_again(
    halfway: Halfway, caplog: pytest.LogCaptureFixture
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
    assert stored.tables_of(done_again(upload)) == stored.tables()
    assert "attempt 1 failed" in caplog.text


def test_an_error_nobody_foresaw_ends_the_upload_instead_of_repeating_it(
    halfway: Halfway, caplog: pytest.LogCaptureFixture
) -> None:
    def fail() -> None:
        raise TypeError("a mistake\nwith details")

    upload = received()
    halfway(fail)
    run(upload)
    assert upload.state == "failed"
    assert upload.error == "Causeline could not take it; the worker's log says more. TypeError: a mistake"
    assert "with details" in caplog.text
    assert nothing_is_left(upload)


def test_an_upload_whose_workers_keep_dying_is_given_up() -> None:
    upload = received(state="importing", attempt=importing.ATTEMPTS)
    grow_old(upload)
    assert swept(upload) == "failed"
    assert upload.error.startswith("Its import was cut off 5 times.")
    assert not receiving.path_of(upload).exists()


def test_an_upload_waits_for_more_until_nothing_has_come_for_long() -> None:
    upload = received(state="receiving")
    grow_old(upload)
    assert swept(upload) == "receiving"
    assert receiving.path_of(upload).exists()
    Upload.objects.filter(pk=upload.pk).update(seen=timezone.now() - settings.UPLOAD_PATIENCE)
    assert swept(upload) == "failed"
    assert upload.error == "Nothing more of it has arrived for 24 hours. Upload it again."
    assert not receiving.folder_of(upload).exists()


def test_what_an_upload_went_through_is_forgotten_after_a_week_and_its_recording_stays() -> None:
    upload, waiting = imported(), received()
    for ago, left in ((tasks.FORGOTTEN - timedelta(minutes=1), {upload, waiting}), (tasks.FORGOTTEN, {waiting})):
        Upload.objects.update(seen=timezone.now() - ago)
        tasks.take_up_uploads()
        assert set(Upload.objects.all()) == left
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
    assert young.exists() and not forgotten.exists()
    assert receiving.path_of(upload).exists()


def test_what_is_abandoned_goes_when_it_is_old_and_nobody_works_on_it() -> None:
    forgotten, young, at_work, shown = (store.open_source(name) for name in ("forgotten", "young", "at work", "shown"))
    store.show_source(shown)
    long_ago = timezone.now() - 3 * settings.IMPORT_SILENCE - timedelta(seconds=1)
    Source.objects.exclude(pk=young.pk).update(created=long_ago)
    Upload.objects.create(name="u", state="importing", source=at_work)
    importing.discard_abandoned()
    assert set(Source.objects.all()) == {young, at_work, shown}
    assert not stored.tables_of(forgotten)


def test_an_upload_cancelled_while_it_arrived_is_not_queued() -> None:
    upload = received(state="cancelled")
    tasks.queue(upload)
    assert upload.state == "cancelled"
    assert not receiving.path_of(upload).exists()


QUEUE = """
from collectors import tasks
from timeline.models import Upload
tasks.queue(Upload.objects.get(pk=sys.argv[1]))
"""


def test_an_upload_waits_for_a_broker_that_is_away() -> None:
    """This runs in a process of its own, which has no connection to the broker yet."""
    upload = received(state="receiving")
    ended = elsewhere(QUEUE, upload, REDIS_URL="redis://127.0.0.1:1/0")
    assert ended.returncode == 0, ended.stderr
    assert f"upload {upload.pk} has to wait: the broker cannot be reached" in ended.stderr
    upload.refresh_from_db()
    assert upload.state == "waiting"
