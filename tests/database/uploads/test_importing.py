"""These tests import uploads: each becomes a recording, with what was skipped, or says why not."""

import os
import threading
from pathlib import Path
from types import SimpleNamespace

import pytest
import zstandard
from django.db import connection
from django.test import Client

from collectors.uploads import importing, receiving, recordings
from tests.database.uploads.arriving import ENTRIES, imported, nothing_is_left, received, run
from tests.inputs.recordings import SAMPLE, lines_of
from tests.rows import stored
from timeline.core.machine import beside as copies
from timeline.storage import tracks

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.usefixtures("empty_uploads", "no_old_tables"),
]


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
    found = {(row["severity"], row["document"]["rule"]) for row in stored.findings_of(source)}
    assert ("warning", "service-gap") in found and "pod-before-service" in {rule for _, rule in found}
    assert not receiving.path_of(upload).exists()
    importing.cancel(upload)  # too late
    upload.refresh_from_db()
    assert upload.state == "done" and upload.source


def test_a_recording_is_called_as_its_file_without_the_endings() -> None:
    for name, title in (
        ("audit.jsonl.zst", "audit"),
        ("audit-2026.11.21.log.gz", "audit-2026.11.21"),
        ("prod.eu-west", "prod.eu-west"),
        (".zst", ".zst"),
        ("<b>a</b>", "b>"),
        ("recording", "recording"),
    ):
        assert recordings.title(name) == title


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
    for page in ("/", f"/sources/{source.pk}/coverage/", f"/sources/{source.pk}/report"):
        assert sentence in client.get(page).text, page
    assert client.get(f"/api/sources/{source.pk}/coverage").json()["mostly_skipped"] == {"a.log": [7, 10]}
    most = imported(content + b"\n" + broken, "b.log").source
    assert most and most.skipped == 7
    assert "lines were skipped, so" not in client.get(f"/sources/{most.pk}/coverage/").text


@pytest.mark.parametrize(
    ("content", "skipped", "words"),
    [
        (
            b'{"auditID":"x","verb":"get"}\n',
            0,
            ["audit.log: nothing in it changes an object, so there was nothing to judge.", "RequestResponse"],
        ),
        (
            b'{"auditID":"x","verb":\n',
            1,
            ["The first reason: audit.log line 1: not JSON: Input data was truncated."],
        ),
        (b'{"auditID":"x"}\n' * 5 + b'{"auditID":""}\n' * 100, 100, ["audit.log"]),
    ],
    ids=["no change", "nothing of use", "many reasons"],
)
def test_a_log_without_a_change_fails_and_says_why(content: bytes, skipped: int, words: list[str]) -> None:
    upload = imported(content, name="audit.log")
    assert (upload.state, upload.skipped) == ("failed", skipped)
    assert len(upload.skipped_examples) == min(skipped, importing.EXAMPLES)
    assert all(each in upload.error for each in words)
    assert nothing_is_left(upload)


def test_a_file_that_has_gone_fails_clearly() -> None:
    upload = received()
    receiving.path_of(upload).unlink()
    run(upload)
    assert (upload.state, upload.source) == ("failed", None)
    assert "No such file" in upload.error
    assert nothing_is_left(upload)


FULL = """
CREATE FUNCTION full_disk() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE 'could not extend file "base/1/2": No space left on device' USING ERRCODE = '53100';
END $$;
CREATE TRIGGER full_disk BEFORE UPDATE OF histogram ON timeline_source FOR EACH ROW EXECUTE FUNCTION full_disk();
"""


def test_a_full_disk_of_the_database_is_reported_and_the_space_given_back() -> None:
    with connection.cursor() as cursor:
        cursor.execute(FULL)
    try:
        upload = imported()
    finally:
        with connection.cursor() as cursor:
            cursor.execute("DROP FUNCTION full_disk CASCADE")
    assert (upload.state, upload.attempt, upload.source) == ("failed", 1, None)
    assert upload.error.startswith("The disk of the database is full. Nothing was imported")
    assert nothing_is_left(upload)
    assert imported().state == "done"


def test_where_the_database_lies_is_known_of_our_own_alone(tmp_path: Path) -> None:
    assert recordings.database_folder("/tmp/sockets", tmp_path) is None  # a PostgreSQL of the machine itself
    (tmp_path / "postgres").mkdir()
    assert recordings.database_folder("/tmp/sockets", tmp_path) == tmp_path / "postgres"
    assert recordings.database_folder("db.example", tmp_path) is None  # a left-over folder
    assert recordings.database_folder("", tmp_path) is None


@pytest.mark.parametrize("ours", [True, False], ids=["where our database is", "where no database is"])
def test_an_import_ends_before_the_disk_of_the_database_is_full(monkeypatch: pytest.MonkeyPatch, ours: bool) -> None:
    upload = received()
    monkeypatch.setattr(recordings, "_EVERY", 100)
    monkeypatch.setattr(recordings, "database_folder", lambda host, data_dir: data_dir if ours else None)
    monkeypatch.setattr("shutil.disk_usage", lambda _: SimpleNamespace(free=(1 << 26) if ours else 0))
    run(upload)
    if ours:
        assert (upload.state, upload.attempt, upload.source) == ("failed", 1, None)
        assert upload.error.startswith("The disk is nearly full, 64 MiB are free. Nothing was imported")
        assert nothing_is_left(upload)
    else:
        assert (upload.state, upload.error) == ("done", "")


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
