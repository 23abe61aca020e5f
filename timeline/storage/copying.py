"""Write rows to PostgreSQL with COPY: into a table, or through a temporary one."""

from collections.abc import Iterable, Iterator
from typing import Any

import msgspec
from django.db import connection
from psycopg import sql

_BLOCK = 512  # rows in a block of `copied`
_ESCAPED = str.maketrans({"\\": r"\\", "\t": r"\t", "\n": r"\n", "\r": r"\r"})


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
        with connection.wrap_database_errors, cursor.copy(copy_into(fresh, columns)) as copy:
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
