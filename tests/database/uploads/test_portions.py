"""These tests read the files of one upload in portions, by several workers. Whoever reads what, the recording is the
same."""

import shutil
import threading
from collections.abc import Iterator, Sequence
from contextlib import closing
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.utils import timezone
from hypothesis import given
from hypothesis import strategies as st
from pytest_django import Settings

from collectors import tasks
from collectors.uploads import importing, portions, receiving
from tests.inputs.recordings import SAMPLE, lines_of
from tests.rows import stored
from timeline.models import Portion, PortionPart, Source, Upload, UploadFile

pytestmark = pytest.mark.django_db(transaction=True)
FILES = 8


def pieces(count: int = FILES) -> list[bytes]:
    """Return the sample, divided into so many files."""
    lines = lines_of(SAMPLE)
    size = -(-len(lines) // count)
    return [b"\n".join(lines[at : at + size]) + b"\n" for at in range(0, len(lines), size)]


@pytest.fixture(autouse=True)
def _small(settings: Settings) -> Iterator[None]:
    settings.PORTION_BYTES = 1024
    with connection.cursor() as cursor:
        for name in stored.tables():
            cursor.execute(f"DROP TABLE {name}")
    yield
    for file in settings.UPLOAD_DIR.glob("*"):
        shutil.rmtree(file)


def taken_up(files: Sequence[bytes]) -> Upload:
    announced = [receiving.Announced(f"audit-{number}.log", len(file)) for number, file in enumerate(files)]
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
    assert upload.source
    return upload.source


def imported(upload: Upload) -> tuple[Any, ...]:
    """Return what is stored of an import that has read everything."""
    source = source_of(upload)
    assert upload.bytes_read == upload.bytes_total
    return stored.stored_of(source), source.stored, source.redacted, upload.skipped


def imported_whole(files: Sequence[bytes], settings: Settings) -> tuple[Any, ...]:
    """Return what is stored of an import by one process."""
    kept, settings.PORTION_BYTES = settings.PORTION_BYTES, 10**9
    upload = taken_up(files)
    importing.run(upload)
    settings.PORTION_BYTES = kept
    return imported(upload)


def nothing_waits() -> bool:
    return not (Portion.objects.exists() or PortionPart.objects.exists())


@given(st.lists(st.integers(0, 100)), st.integers(1, 200))
def test_each_file_is_in_one_portion_and_the_order_stays(sizes: list[int], size: int) -> None:
    files = [UploadFile(number=number, size=each) for number, each in enumerate(sizes)]
    divided = portions.divide(files, size)
    assert [file for each in divided for file in each] == files
    assert all(sum(file.size for file in each) >= size for each in divided[:-1])
    assert all(sum(file.size for file in each[:-1]) < size for each in divided)


@pytest.mark.parametrize("helpers", [0, 3])
def test_whoever_reads_the_portions_the_recording_is_the_same(helpers: int, settings: Settings) -> None:
    files = [*pieces(), b"this is no event\n" * 3]
    expected = imported_whole(files, settings)
    upload = taken_up(files)
    threads: list[threading.Thread] = []
    asked: list[int] = []

    def ask(workers: int) -> None:
        asked.append(workers)
        threads.extend(helping(upload) for _ in range(helpers))

    importing.run(upload, ask)
    for thread in threads:
        thread.join()
    assert asked == [FILES]
    assert imported(upload) == expected
    assert nothing_waits()


def helping(upload: Upload) -> threading.Thread:
    """Return a thread that helps with an upload as the worker of another machine would."""

    def run() -> None:
        with closing(connection):
            tasks.help_import(upload.pk)

    thread = threading.Thread(target=run)
    thread.start()
    return thread


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
    assert imported(upload) == expected


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
    assert imported(upload) == expected
    assert late and nothing_waits()


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


def test_nobody_helps_with_an_import_that_has_ended() -> None:
    upload = taken_up(pieces())
    importing.run(upload)
    tasks.help_import(upload.pk)
    assert nothing_waits()
    with pytest.raises(ValueError, match="names no upload"):
        tasks.help_import("1")


def test_files_that_cannot_be_read_are_skipped_and_named() -> None:
    pieces_and_others = [pieces()[0], b"\x89PNG\r\n\x1a\n" + b"x" * 2000, *pieces()[1:]]
    upload = taken_up(pieces_and_others)
    importing.run(upload)
    source_of(upload)
    assert any(each.startswith("audit-1.log") for each in upload.skipped_examples)


def test_an_upload_of_which_nothing_can_be_read_fails_as_it_would_in_one_piece() -> None:
    upload = taken_up([b'{"auditID":"x","verb":"get"}\n' * 60] * 3)
    importing.run(upload)
    upload.refresh_from_db()
    assert upload.state == "failed"
    assert "nothing in it changes an object" in upload.error
    assert nothing_waits()


def test_the_limit_of_objects_counts_for_all_portions_together(settings: Settings) -> None:
    settings.LIMITS = settings.LIMITS._replace(objects=50)
    upload = taken_up(pieces())
    importing.run(upload)
    source = source_of(upload)
    assert any("more than 50 objects" in each for each in upload.skipped_examples)
    assert source.entries > 0


def test_what_is_cancelled_leaves_no_portion() -> None:
    upload = taken_up(pieces())
    importing.run(upload, lambda _: importing.cancel(upload))
    upload.refresh_from_db()
    assert upload.state == "cancelled"
    assert nothing_waits()
    assert not Source.objects.exists()
