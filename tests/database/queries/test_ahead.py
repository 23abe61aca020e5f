"""These tests send queries ahead and do something else while PostgreSQL answers."""

import pytest
from django.db import DataError, connection, transaction

from timeline.queries.ahead import sent

pytestmark = pytest.mark.django_db(transaction=True)
NUMBERS, WRONG = "SELECT number FROM generate_series(1, %(most)s) AS number", "SELECT 1 / %(number)s"


def answers() -> bool:
    """Return whether the session answers another query as it should."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1")
        return bool(cursor.fetchone() == (1,))


def test_rows_are_there_when_they_are_asked_for_and_other_queries_come_after_them() -> None:
    with sent(NUMBERS, {"most": 3}) as rows:
        assert answers()
        assert rows() == [(1,), (2,), (3,)]
        assert answers()
    with sent(NUMBERS, {"most": 100_000}):  # for which nobody waits
        pass
    assert answers()


def test_a_query_that_fails_raises_an_error_of_django_and_leaves_the_session_usable() -> None:
    with pytest.raises(DataError), sent(WRONG, {"number": 0}) as rows:
        rows()
    assert answers()
    with pytest.raises(DataError), sent(WRONG, {"number": 0}):
        pass
    assert answers()
    with pytest.raises(KeyError), sent(WRONG, {"number": 0}):
        raise KeyError  # the error of the caller is the one that is raised
    assert answers()


def test_a_query_within_a_transaction_sees_it_and_its_error_ends_at_a_savepoint() -> None:
    with transaction.atomic():
        with connection.cursor() as cursor:
            cursor.execute("SELECT set_config('causeline.sources', 'here', true)")
        with sent("SELECT current_setting(%(name)s)", {"name": "causeline.sources"}) as rows:
            assert rows() == [("here",)]
        with pytest.raises(DataError), transaction.atomic(), sent(WRONG, {"number": 0}) as rows:
            rows()
        assert answers()
