"""These tests write rows with COPY, and import recordings with a copy of the process."""

import os
import signal
from collections.abc import Iterator, Sequence
from datetime import timedelta

import pytest
from django.db import connection, transaction
from hypothesis import given, settings
from hypothesis import strategies as st
from psycopg import sql

from tests.database.storage.sources import ingested
from tests.inputs.recordings import SAMPLE, observations_of
from tests.rows import stored
from timeline.core.machine import beside
from timeline.models import Source
from timeline.storage import tracks
from timeline.storage.copying import copied, copy_into, upsert

pytestmark = pytest.mark.django_db
_texts = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=9)
_awkward = _texts | st.sampled_from(["\\N", "\\", "\t", "\r\n", '"', "{}", ",", "NULL", "\u2028", "\x7f", "\\."])
_rows = st.tuples(
    st.integers(-(2**63), 2**63 - 1),
    st.none() | _awkward,
    st.none() | st.binary(max_size=9),
    st.none() | st.lists(_awkward, max_size=3),
)


@settings(deadline=timedelta(seconds=5), max_examples=50)
@given(rows=st.lists(_rows, max_size=5))
def test_copied_rows_are_what_was_given(rows: Sequence[tuple[object, ...]]) -> None:
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("CREATE TEMPORARY TABLE one (number int8, text text, bytes bytea, texts text[]) ON COMMIT DROP")
        with cursor.copy(copy_into(sql.Identifier("one"), ("number", "text", "bytes", "texts"))) as copy:
            for block in copied(rows):
                copy.write(block)
        cursor.execute("SELECT number, text, bytes, texts FROM one")
        found = [(number, text, held and bytes(held), texts) for number, text, held, texts in cursor]
        cursor.execute("DROP TABLE one")
    assert found == [(number, text, held and bytes(held), texts) for number, text, held, texts in rows]  # type: ignore[call-overload]


@pytest.mark.parametrize("count", [1, 100])
def test_rows_that_are_new_or_differ_are_written_however_many_they_are(count: int) -> None:
    columns, table = ("source_id", "id", "text", "bytes", "texts"), sql.Identifier("one")
    rows = [(1, number, "\\N\t'%s", b"\0\xff", ["a,b", '"', "\\"]) for number in range(count)]
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(
            "CREATE TEMPORARY TABLE one (source_id int8, id int8, text text, bytes bytea, texts text[],"
            " PRIMARY KEY (source_id, id)) ON COMMIT DROP"
        )
        assert sorted(upsert(table, columns, ("source_id", "id"), iter(rows))) == [*range(count)]
        assert upsert(table, columns, ("source_id", "id"), rows) == []
        changed = [(1, 0, "other", None, None), *rows[1:], (1, count, "new", b"", [])]
        assert sorted(upsert(table, columns, ("source_id", "id"), changed)) == [0, count]
        assert upsert(table, columns, ("source_id", "id"), []) == []
        cursor.execute("SELECT source_id, id, text, bytes, texts FROM one ORDER BY id")
        found = [(*key, held and bytes(held), texts) for *key, held, texts in cursor]
        cursor.execute("DROP TABLE one")
    assert found == [(*key, held and bytes(held), texts) for *key, held, texts in changed]


@pytest.fixture
def copies(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Let imports use a second processor; return a list to which each copy that is made is added."""
    monkeypatch.setattr(beside, "_others", list)  # the threads of the test runner wait, and hold no locks
    monkeypatch.setattr(tracks, "_FEWEST", 1)
    monkeypatch.setattr(tracks, "available_processors", lambda: 2)
    made: list[int] = []
    fork = os.fork
    monkeypatch.setattr(os, "fork", lambda: made.append(1) or fork())  # type: ignore[func-returns-value]
    return made


def test_a_second_processor_changes_nothing_of_what_is_stored(sample: Source, copies: list[int]) -> None:
    together = ingested(observations_of(SAMPLE))
    assert stored.stored_of(together) == stored.stored_of(sample) and copies
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT tablename, count(*) FROM pg_indexes WHERE tablename ~ '^timeline_track(_[0-9]+)?$' GROUP BY 1"
        )
        assert len({count for _, count in cursor}) == 1


def test_tracks_are_written_without_a_copy_that_ended_early(
    sample: Source, copies: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    here = os.getpid()

    def killed(*given: object) -> Iterator[bytes]:
        for block in copied(*given):  # type: ignore[arg-type]
            yield block
            if os.getpid() != here:
                os.kill(os.getpid(), signal.SIGKILL)

    monkeypatch.setattr(tracks, "copied", killed)
    assert stored.stored_of(ingested(observations_of(SAMPLE))) == stored.stored_of(sample) and copies
