"""These tests read the files of one upload in portions, by several workers. Whoever reads what, the recording is the
same."""

import shutil
import threading
from collections.abc import Callable, Iterator, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any

import psycopg
import pytest
from django.conf import settings
from django.db import connection
from django.utils import timezone
from hypothesis import given
from hypothesis import strategies as st
from pytest_django import Settings

from bench.larger import repeated
from collectors import tasks
from collectors.uploads import importing, portions, receiving
from tests import stored
from tests.patience import eventually
from tests.recordings import SAMPLE, lines_of
from tests.running import Running, running
from tests.visitor import Visitor
from timeline.models import Portion, PortionPart, Source, Upload

database = pytest.mark.django_db(transaction=True)
FILES = 8


def pieces(count: int = FILES) -> list[bytes]:
    """Return the sample, divided into so many files."""
    lines = lines_of(SAMPLE)
    size = -(-len(lines) // count)
    return [b"\n".join(lines[at : at + size]) + b"\n" for at in range(0, len(lines), size)]


@pytest.fixture(autouse=True)
def _small(request: pytest.FixtureRequest) -> Iterator[None]:
    if "django_db" not in {mark.name for mark in request.node.iter_markers()}:
        yield
        return
    request.getfixturevalue("settings").PORTION_BYTES = 1024
    with connection.cursor() as cursor:
        for name in stored.tables():
            cursor.execute(f"DROP TABLE {name}")
    yield
    for file in settings.UPLOAD_DIR.glob("*"):
        shutil.rmtree(file)


def taken_up(files: Sequence[bytes], names: Sequence[str] = ()) -> Upload:
    names = names or [f"audit-{number}.log" for number in range(len(files))]
    announced = [receiving.Announced(name, len(file)) for name, file in zip(names, files, strict=True)]
    upload = receiving.begin("audit", announced)
    for number, file in enumerate(files):
        receiving.path_of(upload, number).write_bytes(file)
    Upload.objects.filter(pk=upload.pk).update(state="waiting")
    claimed = importing.take_up(upload.pk)
    assert claimed
    return claimed


def source_of(upload: Upload) -> Source:
    upload.refresh_from_db()
    assert (upload.state, upload.error) == ("done", "")
    assert upload.bytes_read == upload.bytes_total
    assert upload.source
    return upload.source


def imported_whole(files: Sequence[bytes], settings: Settings) -> tuple[Any, ...]:
    """Return what is stored of an import by one process."""
    kept, settings.PORTION_BYTES = settings.PORTION_BYTES, 10**9
    upload = taken_up(files)
    importing.run(upload)
    settings.PORTION_BYTES = kept
    source = source_of(upload)
    return stored.stored_of(source), source.stored, source.redacted, upload.skipped


def nothing_waits() -> bool:
    return not (Portion.objects.exists() or PortionPart.objects.exists())


@given(st.lists(st.integers(0, 100)), st.integers(1, 200))
def test_each_file_is_in_one_portion_and_the_order_stays(sizes: list[int], size: int) -> None:
    files = [portions.UploadedFile(number, Path(), "", each) for number, each in enumerate(sizes)]
    divided = portions.divide(files, size)
    assert [file for each in divided for file in each] == files
    assert all(sum(file.size for file in each) >= size for each in divided[:-1])
    assert all(sum(file.size for file in each[:-1]) < size for each in divided)


@database
@pytest.mark.parametrize("helpers", [0, 1, 3])
def test_whoever_reads_the_portions_the_recording_is_the_same(helpers: int, settings: Settings) -> None:
    files = [*pieces(), b"this is no event\n" * 3]
    expected = imported_whole(files, settings)
    upload = taken_up(files)
    threads: list[threading.Thread] = []
    asked: list[int] = []

    def ask(workers: int) -> None:
        asked.append(workers)
        for _ in range(helpers):
            threads.append(helping(upload))

    importing.run(upload, ask)
    for thread in threads:
        thread.join()
    assert asked == [FILES]
    source = source_of(upload)
    assert (stored.stored_of(source), source.stored, source.redacted, upload.skipped) == expected
    assert nothing_waits()


def helping(upload: Upload) -> threading.Thread:
    """Return a thread that helps with an upload as the worker of another machine would."""

    def run() -> None:
        try:
            tasks.help_import(upload.pk)
        finally:
            connection.close()

    thread = threading.Thread(target=run)
    thread.start()
    return thread


@database
def test_what_helpers_have_read_before_is_taken_and_not_read_again(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = pieces()
    expected = imported_whole(files, settings)
    upload = taken_up(files)

    def read_all(_: int) -> None:
        thread = helping(upload)
        thread.join()
        assert not Portion.objects.exclude(state="read").exists()
        for number in range(len(files)):
            receiving.path_of(upload, number).write_bytes(b"nobody has to read it again")

    importing.run(upload, read_all)
    source = source_of(upload)
    assert (stored.stored_of(source), source.stored, source.redacted, upload.skipped) == expected


@database
def test_a_portion_whose_reader_is_silent_is_read_again_and_its_late_words_are_ignored(settings: Settings) -> None:
    files = pieces()
    expected = imported_whole(files, settings)
    upload = taken_up(files)
    late: list[Portion] = []

    def lose_one(_: int) -> None:
        portion = portions.claim(upload.pk)
        assert portion and portion.number == 0
        portions.store_part(portion, 0, [])
        Portion.objects.filter(upload=upload, number=0).update(seen=timezone.now() - timedelta(hours=1))
        late.append(portion)
        again = portions.claim(upload.pk)
        assert again and again.number == 0 and again.reader != portion.reader
        with pytest.raises(portions.Taken):
            portions.store_part(portion, 1, [])
        Portion.objects.filter(upload=upload, number=0).update(seen=timezone.now() - timedelta(hours=1))

    importing.run(upload, lose_one)
    source = source_of(upload)
    assert (stored.stored_of(source), source.stored, source.redacted, upload.skipped) == expected
    assert late and nothing_waits()


@database
def test_a_helper_without_the_files_gives_the_portion_back() -> None:
    upload = taken_up(pieces())

    def from_elsewhere(_: int) -> None:
        folder = receiving.folder_of(upload)
        away = folder.with_name("away")
        folder.rename(away)
        helping(upload).join()
        away.rename(folder)
        assert set(Portion.objects.values_list("state", flat=True)) == {"waiting"}

    importing.run(upload, from_elsewhere)
    source_of(upload)


@database
def test_nobody_helps_with_an_import_that_has_ended() -> None:
    upload = taken_up(pieces())
    importing.run(upload)
    tasks.help_import(upload.pk)
    assert nothing_waits()
    with pytest.raises(ValueError, match="names no upload"):
        tasks.help_import("1")


@database
def test_files_that_cannot_be_read_are_skipped_and_named() -> None:
    pieces_and_others = [pieces()[0], b"\x89PNG\r\n\x1a\n" + b"x" * 2000, *pieces()[1:]]
    upload = taken_up(pieces_and_others)
    importing.run(upload)
    source_of(upload)
    assert any(each.startswith("audit-1.log") for each in upload.skipped_examples)


@database
def test_an_upload_of_which_nothing_can_be_read_fails_as_it_would_in_one_piece() -> None:
    upload = taken_up([b'{"auditID":"x","verb":"get"}\n' * 60] * 3)
    importing.run(upload)
    upload.refresh_from_db()
    assert upload.state == "failed"
    assert "nothing in it changes an object" in upload.error
    assert nothing_waits()


@database
def test_the_limit_of_objects_counts_for_all_portions_together(settings: Settings) -> None:
    settings.LIMITS = settings.LIMITS._replace(objects=50)
    upload = taken_up(pieces())
    importing.run(upload)
    source = source_of_any(upload)
    assert any("more than 50 objects" in each for each in upload.skipped_examples)
    assert source.entries > 0


def source_of_any(upload: Upload) -> Source:
    upload.refresh_from_db()
    assert (upload.state, upload.error) == ("done", "")
    assert upload.source
    return upload.source


@database
def test_what_is_cancelled_leaves_no_portion() -> None:
    upload = taken_up(pieces())
    importing.run(upload, lambda _: importing.cancel(upload))
    upload.refresh_from_db()
    assert upload.state == "cancelled"
    assert nothing_waits()
    assert not Source.objects.exists()


def test_a_killed_helper_changes_nothing(tmp_path: Path) -> None:
    """Two import workers read one upload, and one of them is killed while it has a portion."""
    silence = {"CAUSELINE_PORTION_BYTES": "1024", "CAUSELINE_IMPORT_SILENCE_SECONDS": "3"}
    lines = lines_of(SAMPLE)
    long = b"\n".join(repeated(SAMPLE, 5)) + b"\n"  # both workers are in the middle of such a file when one is killed
    files = [long, long, *(b"\n".join(lines[at::4]) + b"\n" for at in range(4))]
    with running(tmp_path, "web", "imports", "beat", "periodic", **silence) as up:
        alone = uploaded(up, files)
        up.processes["first"] = up.processes.pop("imports")
        up.start("imports")
        both = uploaded(up, files, lambda: kill_a_reader(up))
    assert both == alone


def kill_a_reader(up: Running) -> None:
    """Kill one of the two workers when both read."""
    with psycopg.connect(up.database, autocommit=True) as rows:
        query = "SELECT count(DISTINCT reader) > 1 FROM timeline_portion WHERE state = 'reading'"
        eventually(lambda: rows.execute(query).fetchone() == (True,), 60)
    up.kill("first")


def uploaded(up: Running, files: Sequence[bytes], disturb: Callable[[], None] = lambda: None) -> tuple[Any, ...]:
    """Upload files as one recording; return how many changes, skips and findings it has in the end."""
    visitor = Visitor(up.door)
    upload = visitor.begin(*((f"audit-{number}.log", len(file)) for number, file in enumerate(files)))
    for number, file in enumerate(files):
        status, answer = visitor.put(upload["id"], file, number=number)
        assert status == 200, answer
    status, answer = visitor.ask("POST", f"/api/uploads/{upload['id']}/finish", b"")
    assert status == 200, answer
    disturb()
    with psycopg.connect(up.database, autocommit=True) as rows:
        query = "SELECT state, entries, skipped, error, source_id FROM timeline_upload WHERE id = %s"

        def row() -> tuple[Any, ...]:
            found = rows.execute(query, [upload["id"]]).fetchone()
            assert found
            return found

        eventually(lambda: row()[0] in ("done", "failed"), 120)
        *ended, source = row()
        assert ended[0] == "done", ended
        counts = "SELECT count(*), sum(length(occurrences::text)) FROM timeline_finding WHERE source_id = %s"
        left = "SELECT (SELECT count(*) FROM timeline_portion) + (SELECT count(*) FROM timeline_portion_part)"
        eventually(lambda: rows.execute(left).fetchone() == (0,))  # they are removed after the commit
        return (*ended, rows.execute(counts, [source]).fetchone())
