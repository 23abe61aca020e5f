"""These fixtures are for all tests of uploads."""

import pytest
from django.db import connection

from tests.rows import stored


@pytest.fixture
def no_old_tables(transactional_db: None) -> None:
    """Drop the tables of sources that earlier tests have left, because emptying the database does not."""
    with connection.cursor() as cursor:
        for name in stored.tables():
            cursor.execute(f"DROP TABLE {name}")
