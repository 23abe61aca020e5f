"""Query tables with SQL. Queries reach nothing else: no file, no network, no variable of this process."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from dashboard.tables.schema import NAME, TABLES

_AT_ONCE = 1000  # rows that are fetched at a time
_THREADS = 2


class Failed(Exception):
    """The query has failed. The message says why."""


class Limit(NamedTuple):
    """How much a query may take."""

    seconds: float
    megabytes: int


class Result(NamedTuple):
    columns: list[str]
    rows: Iterator[tuple[Any, ...]]


@contextmanager
def asked(folder: Path, query: str, limit: Limit) -> Iterator[Result]:
    """Run a query on the tables in a folder. Rows can be fetched as long as the context lasts. Raises Failed."""
    import duckdb
    import pyarrow.dataset

    connection = duckdb.connect(":memory:")
    late = threading.Event()

    def stop() -> None:
        late.set()
        connection.interrupt()

    timer = threading.Timer(limit.seconds, stop)
    try:
        for name in TABLES:
            connection.register(name, pyarrow.dataset.dataset(folder / f"{name}.parquet", format="parquet"))
        for setting in (
            f"threads = {_THREADS}",
            f"memory_limit = '{limit.megabytes}MB'",
            "temp_directory = ''",
            "python_enable_replacements = false",
            "enable_external_access = false",
            "lock_configuration = true",
        ):
            connection.execute(f"SET {setting}")
        timer.start()
        cursor = connection.execute(query)
        yield Result([each[0] for each in cursor.description or ()], _rows(cursor))
    except duckdb.Error as error:
        if late.is_set():
            raise Failed(f"The query took longer than {limit.seconds:g} s and was stopped; see --time-limit.") from None
        if isinstance(error, duckdb.OutOfMemoryException):
            raise Failed(f"The query needs more than {limit.megabytes} MB; see --memory-limit.") from None
        raise Failed(str(error).strip()) from None
    finally:
        timer.cancel()
        connection.close()


def _rows(cursor: Any) -> Iterator[tuple[Any, ...]]:
    if cursor.description is None:
        return
    while rows := cursor.fetchmany(_AT_ONCE):
        yield from rows


def is_exported(folder: Path) -> bool:
    """Return whether a folder holds tables that `causeline export` wrote. Raises Failed if another version wrote
    them."""
    import pyarrow
    import pyarrow.parquet as pq

    if not folder.is_dir() or not all((folder / f"{name}.parquet").is_file() for name in TABLES):
        return False
    for name in TABLES:
        try:
            about = pq.read_schema(folder / f"{name}.parquet").metadata or {}
        except (pyarrow.ArrowException, OSError) as error:
            raise Failed(f"{folder / name}.parquet cannot be read: {str(error)[:200]}") from None
        schema = about.get(b"causeline.schema", b"").decode(errors="replace")
        if schema != NAME:
            raise Failed(f"{folder} holds tables of the schema {schema[:60] or 'of another program'}, not {NAME}.")
    return True
