"""This module writes rows to PostgreSQL with COPY: into an empty table, or through a temporary one."""

from collections.abc import Iterable
from typing import Any

import msgspec
from django.db import connection
from psycopg import sql


def upsert(
    target: sql.Identifier, columns: tuple[str, ...], keys: tuple[str, ...], rows: Iterable[tuple[Any, ...]]
) -> list[Any]:
    """Insert the rows that are new, and update those that differ from what is stored. `keys` are the columns of the
    unique key. Return the last key column of all rows that were inserted or updated."""
    names = sql.SQL(", ").join(map(sql.Identifier, columns))
    fresh = sql.Identifier("fresh")
    others = [sql.Identifier(column) for column in columns if column not in keys]
    updates = sql.SQL(", ").join(sql.SQL("{0} = excluded.{0}").format(column) for column in others)
    before = sql.SQL(", ").join(sql.SQL("{}.{}").format(target, column) for column in others)
    after = sql.SQL(", ").join(sql.SQL("excluded.{}").format(column) for column in others)
    with connection.cursor() as cursor:
        cursor.execute(
            sql.SQL("CREATE TEMPORARY TABLE {} ON COMMIT DROP AS SELECT {} FROM {} WITH NO DATA").format(
                fresh, names, target
            )
        )
        with connection.wrap_database_errors, cursor.copy(_copy_into(fresh, columns)) as copy:
            for row in rows:
                copy.write_row(row)
        cursor.execute(
            sql.SQL(
                "INSERT INTO {0} ({1}) SELECT {1} FROM {2} ON CONFLICT ({3})"
                " DO UPDATE SET {4} WHERE ({5}) IS DISTINCT FROM ({6}) RETURNING {7}"
            ).format(
                target,
                names,
                fresh,
                sql.SQL(", ").join(map(sql.Identifier, keys)),
                updates,
                before,
                after,
                sql.SQL("{}.{}").format(target, sql.Identifier(keys[-1])),
            )
        )
        changed = [key for (key,) in cursor.fetchall()]
        cursor.execute(sql.SQL("DROP TABLE {}").format(fresh))
    return changed


def fill(target: sql.Identifier, columns: tuple[str, ...], rows: Iterable[tuple[Any, ...]]) -> None:
    """Replace all rows of a table by the given ones."""
    with connection.cursor() as cursor:
        cursor.execute(sql.SQL("DELETE FROM {}").format(target))
        with connection.wrap_database_errors, cursor.copy(_copy_into(target, columns)) as copy:
            for row in rows:
                copy.write_row(row)


def append(target: sql.Identifier, columns: tuple[str, ...], rows: Iterable[tuple[Any, ...]]) -> None:
    """Insert rows that are not in the table yet."""
    with (
        connection.cursor() as cursor,
        connection.wrap_database_errors,
        cursor.copy(_copy_into(target, columns)) as copy,
    ):
        for row in rows:
            copy.write_row(row)


def _copy_into(table: sql.Identifier, columns: tuple[str, ...]) -> sql.Composed:
    return sql.SQL("COPY {} ({}) FROM STDIN").format(table, sql.SQL(", ").join(map(sql.Identifier, columns)))


def as_json(value: Any) -> str:
    """Return a value as JSON for a jsonb column, which does not accept NUL characters: these are replaced."""
    return msgspec.json.encode(value).decode().replace("\\u0000", "\\ufffd")


def as_text(value: str) -> str:
    """Return a text for a text column, which does not accept NUL characters: these are replaced."""
    return value.replace("\0", "\ufffd")
