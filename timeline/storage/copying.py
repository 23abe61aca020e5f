"""Write rows to PostgreSQL: a few with the statement itself, and many with COPY."""

from collections.abc import Iterable, Iterator
from functools import cache
from itertools import chain, islice
from typing import Any

import msgspec
from django.db import connection
from psycopg import sql

_FEW = 16  # the most rows that are part of a statement; more than these cost less when they are copied
_BLOCK = 512  # rows in a block of `copied`
_ESCAPED = str.maketrans({"\\": r"\\", "\t": r"\t", "\n": r"\n", "\r": r"\r"})


def upsert(
    target: sql.Identifier, columns: tuple[str, ...], keys: tuple[str, ...], rows: Iterable[tuple[Any, ...]]
) -> list[Any]:
    """Insert the rows that are new, and update those that differ from what is stored. `keys` are the columns of the
    unique key. Return the last key column of all rows that were inserted or updated.

    A temporary table costs PostgreSQL five times as much as one row, so only many rows come through one.
    """
    rest = iter(rows)
    few = list(islice(rest, _FEW + 1))
    if not few:
        return []
    table, statement = target.as_string(None), _upserting(columns, keys)
    with connection.cursor() as cursor:
        if len(few) <= _FEW:
            row = f"({', '.join(['%s'] * len(columns))})"
            values = f"VALUES {', '.join([row] * len(few))}"
            cursor.execute(statement.format(table=table, rows=values), [*chain(*few)])
            return [key for (key,) in cursor.fetchall()]
        selected = f"SELECT {_names(columns)} FROM "
        cursor.execute(f"CREATE TEMPORARY TABLE fresh ON COMMIT DROP AS {selected}{table} WITH NO DATA")
        with connection.wrap_database_errors, cursor.copy(copy_into(sql.Identifier("fresh"), columns)) as copy:
            for each in chain(few, rest):
                copy.write_row(each)
        cursor.execute(statement.format(table=table, rows=f"{selected}fresh"))
        changed = [key for (key,) in cursor.fetchall()]
        cursor.execute("DROP TABLE fresh")
    return changed


@cache
def _upserting(columns: tuple[str, ...], keys: tuple[str, ...]) -> str:
    """Return the statement of `upsert`, in which {table} and {rows} have to be filled in."""
    others = [column for column in columns if column not in keys]
    updates = ", ".join(f"{each} = excluded.{each}" for each in map(_name, others))
    return (
        f"INSERT INTO {{table}} ({_names(columns)}) {{rows}} ON CONFLICT ({_names(keys)}) DO UPDATE SET {updates}"
        f" WHERE ({_names(others, '{table}.')}) IS DISTINCT FROM ({_names(others, 'excluded.')})"
        f" RETURNING {{table}}.{_name(keys[-1])}"
    )


def _names(columns: Iterable[str], prefix: str = "") -> str:
    return ", ".join(prefix + _name(column) for column in columns)


def _name(column: str) -> str:
    return sql.Identifier(column).as_string(None)


def append(target: sql.Identifier, columns: tuple[str, ...], rows: Iterable[tuple[Any, ...]]) -> None:
    """Insert rows that are not in the table yet."""
    with (
        connection.cursor() as cursor,
        connection.wrap_database_errors,
        cursor.copy(copy_into(target, columns)) as copy,
    ):
        for row in rows:
            copy.write_row(row)


def copy_into(table: sql.Identifier, columns: tuple[str, ...]) -> sql.Composed:
    """Return the statement that copies rows of these columns, as `copied` writes them, into a table."""
    return sql.SQL("COPY {} ({}) FROM STDIN").format(table, sql.SQL(", ").join(map(sql.Identifier, columns)))


def copied(rows: Iterable[tuple[Any, ...]]) -> Iterator[bytes]:
    """Yield rows in the text format of COPY, in blocks. A value is None, a text, bytes, a list of texts, or what `str`
    writes as PostgreSQL reads it."""
    lines: list[str] = []
    for row in rows:
        lines.append("\t".join([_copied(value) for value in row]))
        if len(lines) == _BLOCK:
            yield ("\n".join(lines) + "\n").encode()
            lines = []
    if lines:
        yield ("\n".join(lines) + "\n").encode()


def _copied(value: Any) -> str:
    if value is None:
        return r"\N"
    if isinstance(value, str):
        return value if value.isprintable() and "\\" not in value else value.translate(_ESCAPED)
    if isinstance(value, list):
        quoted = (each.replace("\\", r"\\").replace('"', r"\"") for each in value)
        return _copied("{" + ",".join(f'"{each}"' for each in quoted) + "}")
    return rf"\\x{value.hex()}" if isinstance(value, bytes) else str(value)


def as_json(value: Any) -> str:
    """Return a value as JSON for a jsonb column, which does not accept NUL characters: these are replaced."""
    return msgspec.json.encode(value).decode().replace("\\u0000", "\\ufffd")


def as_text(value: str) -> str:
    """Return a text for a text column, which does not accept NUL characters: these are replaced."""
    return value.replace("\0", "\ufffd")
