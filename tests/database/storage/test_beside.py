"""These tests compute in a copy of the process, and import recordings with it."""

import errno
import logging
import os
import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from datetime import timedelta

import pytest
from django.db import connection, transaction
from hypothesis import given, settings
from hypothesis import strategies as st
from psycopg import sql

from tests import stored
from tests.recordings import SAMPLE, observations_of
from timeline.core.machine import beside
from timeline.history.world.world import World
from timeline.models import Source
from timeline.pipeline import ingest
from timeline.storage import store, tracks
from timeline.storage.copying import copied, copy_into


@pytest.fixture
def _resting(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let copies be made beside the threads of the test runner, which wait, and hold no locks."""
    monkeypatch.setattr(beside, "_others", list)


_COLUMNS = ("number", "text", "bytes", "texts")


@pytest.mark.usefixtures("_resting")
def test_a_copy_of_the_process_sends_what_a_generator_yields() -> None:
    here = os.getpid()

    def numbers() -> Iterator[int]:
        assert os.getpid() != here
        yield from range(3)
        yield b"x" * 1_000_000  # type: ignore[misc]

    with beside.computed(numbers) as received:
        assert list(received) == [0, 1, 2, b"x" * 1_000_000]


@pytest.mark.usefixtures("_resting")
@pytest.mark.parametrize("end", [lambda: 1 / 0, lambda: os.kill(os.getpid(), signal.SIGKILL)])
def test_a_copy_that_ends_early_is_noticed(end: Callable[[], object]) -> None:
    def numbers() -> Iterator[int]:
        yield 1
        end()

    with beside.computed(numbers) as received:
        assert next(received) == 1
        with pytest.raises(beside.Broken):
            next(received)


@pytest.mark.usefixtures("_resting")
def test_a_copy_that_the_system_does_not_make_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused() -> int:
        raise OSError(errno.ENOMEM, "Cannot allocate memory")

    monkeypatch.setattr(os, "fork", refused)
    with beside.computed(lambda: iter([1])) as received, pytest.raises(beside.Broken):
        next(received)


def test_beside_a_thread_that_could_hold_a_lock_no_copy_is_made() -> None:
    """A copy would wait for the lock for ever."""
    lock, held, over = threading.Lock(), threading.Event(), threading.Event()

    def hold() -> None:
        with lock:
            held.set()
            over.wait()

    def numbers() -> Iterator[int]:
        with lock:
            yield 1

    thread = threading.Thread(target=hold)
    thread.start()
    held.wait()
    try:
        with beside.computed(numbers) as received, pytest.raises(beside.Broken):
            next(received)
    finally:
        over.set()
        thread.join()


def test_a_copy_is_made_once_a_thread_at_work_has_come_to_rest(monkeypatch: pytest.MonkeyPatch) -> None:
    lock, held, asked, over = (threading.Lock(), *(threading.Event() for _ in range(3)))
    others = beside._others

    def works() -> None:
        with beside.at_work(), lock:
            held.set()
            asked.wait()
        over.wait()

    def numbers() -> Iterator[bool]:
        logging.getLogger("beside").warning("a lock of logging, too")
        yield lock.acquire(blocking=False)

    thread = threading.Thread(target=works)
    monkeypatch.setattr(beside, "_others", lambda: [each for each in others() if each is thread])
    thread.start()
    held.wait()
    threading.Timer(0.05, asked.set).start()
    try:
        with beside.computed(numbers) as received:
            assert asked.is_set() and list(received) == [True]
        with monkeypatch.context() as patch, beside.at_work():  # another one that does not come to rest
            patch.setattr(beside, "_PATIENCE", 0.01)
            with beside.computed(numbers) as received, pytest.raises(beside.Broken):
                next(received)
    finally:
        over.set()
        thread.join()


@pytest.mark.usefixtures("_resting")
def test_a_copy_that_is_not_needed_any_more_ends() -> None:
    def numbers() -> Iterator[int]:
        while True:
            yield os.getpid()

    with beside.computed(numbers) as received:
        copy = next(received)
    with pytest.raises(ProcessLookupError):
        os.kill(copy, 0)


_texts = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=9)
_awkward = _texts | st.sampled_from(["\\N", "\\", "\t", "\r\n", '"', "{}", ",", "NULL", "\u2028", "\x7f", "\\."])
_rows = st.tuples(
    st.integers(-(2**63), 2**63 - 1),
    st.none() | _awkward,
    st.none() | st.binary(max_size=9),
    st.none() | st.lists(_awkward, max_size=3),
)


@pytest.mark.django_db
@settings(deadline=timedelta(seconds=5), max_examples=50)
@given(rows=st.lists(_rows, max_size=5))
def test_copied_rows_are_what_was_given(rows: Sequence[tuple[object, ...]]) -> None:
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("CREATE TEMPORARY TABLE one (number int8, text text, bytes bytea, texts text[]) ON COMMIT DROP")
        with cursor.copy(copy_into(sql.Identifier("one"), _COLUMNS)) as copy:
            for block in copied(rows):
                copy.write(block)
        cursor.execute("SELECT number, text, bytes, texts FROM one")
        found = [(number, text, held and bytes(held), texts) for number, text, held, texts in cursor]
        cursor.execute("DROP TABLE one")
    assert found == [(number, text, held and bytes(held), texts) for number, text, held, texts in rows]  # type: ignore[call-overload]


def imported() -> Source:
    source = store.open_source("test")
    ingest(source, World(), observations_of(SAMPLE))
    store.show_source(source)
    return source


@pytest.mark.django_db
@pytest.mark.usefixtures("_resting")
def test_a_second_processor_changes_nothing_of_what_is_stored(monkeypatch: pytest.MonkeyPatch) -> None:
    alone = stored.stored_of(imported())
    monkeypatch.setattr(tracks, "_FEWEST", 1)
    monkeypatch.setattr(tracks, "available_processors", lambda: 2)
    copies: list[int] = []
    fork = os.fork
    monkeypatch.setattr(os, "fork", lambda: copies.append(1) or fork())  # type: ignore[func-returns-value]
    together = imported()
    assert stored.stored_of(together) == alone and copies
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT tablename, count(*) FROM pg_indexes WHERE tablename ~ '^timeline_track(_[0-9]+)?$' GROUP BY 1"
        )
        assert len({count for _, count in cursor}) == 1


@pytest.mark.django_db
@pytest.mark.usefixtures("_resting")
def test_tracks_are_written_without_a_copy_that_ended_early(monkeypatch: pytest.MonkeyPatch) -> None:
    alone = stored.stored_of(imported())
    monkeypatch.setattr(tracks, "_FEWEST", 1)
    monkeypatch.setattr(tracks, "available_processors", lambda: 2)
    here = os.getpid()

    def killed(*given: object) -> Iterator[bytes]:
        for block in copied(*given):  # type: ignore[arg-type]
            yield block
            if os.getpid() != here:
                os.kill(os.getpid(), signal.SIGKILL)

    monkeypatch.setattr(tracks, "copied", killed)
    assert stored.stored_of(imported()) == alone
