"""Send queries ahead: PostgreSQL answers on another processor while this process does something else."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from django.db import connection


@contextmanager
def sent(query: str, values: Mapping[str, Any]) -> Iterator[Callable[[], list[tuple[Any, ...]]]]:
    """Send a query, and yield a function that waits for its rows. Call that function at most once, in the context.

    Other queries in the context are answered after this one.
    """
    with connection.cursor() as cursor, connection.wrap_database_errors, connection.connection.pipeline():
        cursor.execute(query, values)
        yield cursor.fetchall
