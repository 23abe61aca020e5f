"""These tests send queries ahead and do something else while PostgreSQL answers."""

import pytest
from django.db import DataError, connection, transaction

from timeline.queries.ahead import sent

pytestmark = pytest.mark.django_db(transaction=True)
NUMBERS = "SELECT number FROM generate_series(1, %(most)s) AS number"


def one() -> int:
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1")
        number: int = cursor.fetchone()[0]
        return number


def test_rows_are_there_when_they_are_asked_for_and_other_queries_come_after_them() -> None:
    with sent(NUMBERS, {"most": 3}) as rows:
        assert one() == 1
        assert rows() == [(1,), (2,), (3,)]
        assert one() == 1
    assert one() == 1


def test_what_nobody_waited_for_does_not_disturb_the_next_query() -> None:
    with sent(NUMBERS, {"most": 100_000}):
        pass
    assert one() == 1


def test_a_query_that_fails_raises_an_error_of_django_and_leaves_the_session_usable() -> None:
    with pytest.raises(DataError), sent("SELECT 1 / %(number)s", {"number": 0}) as rows:
        rows()
    assert one() == 1
    with pytest.raises(DataError), sent("SELECT 1 / %(number)s", {"number": 0}):
        pass
    assert one() == 1


def test_a_query_within_a_transaction_sees_it_and_its_error_ends_at_a_savepoint() -> None:
    with transaction.atomic():
        with connection.cursor() as cursor:
            cursor.execute("SELECT set_config('causeline.sources', 'here', true)")
        with sent("SELECT current_setting(%(name)s)", {"name": "causeline.sources"}) as rows:
            assert rows() == [("here",)]
        with pytest.raises(DataError), transaction.atomic(), sent("SELECT 1 / %(number)s", {"number": 0}) as rows:
            rows()
        assert one() == 1


def test_an_error_of_the_caller_is_the_one_that_is_raised() -> None:
    with pytest.raises(KeyError), sent("SELECT 1 / %(number)s", {"number": 0}):
        raise KeyError
    assert one() == 1
