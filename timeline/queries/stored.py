"""Entries as they are stored, of certain tracks or of a stretch of time."""

from collections.abc import Collection, Iterator
from typing import Any, NamedTuple

import zstandard
from django.db import connection

from timeline.entries import FOREVER, Change, Clock, Entry, ObjectRef, Place, microseconds, moment

_COLUMNS = "sequence, key, resource_version, change, received, staged, action, actor, user_agent, identity, file, line"
_NOBODY = ObjectRef("", "", "", "", "")
_PAGE = 1000


class Stored(NamedTuple):
    sequence: int  # in its source, from 1; in the order of storing
    key: int  # of its track
    entry: Entry


def stored(
    source_id: int,
    keys: Collection[int] | None = None,
    *,
    after: int = 0,
    start: int | None = None,
    end: int | None = None,
    bodies: bool = True,
) -> Iterator[Stored]:
    """Those of certain tracks, behind a place in the sequence, received in a range of time; all where none is given."""
    query = f"SELECT {_COLUMNS}{', body' if bodies else ''} FROM timeline_entry WHERE source_id = %(source)s"
    query += " AND sequence > %(after)s"
    query += " AND key = ANY(%(keys)s)" if keys is not None else ""
    query += " AND received >= %(start)s" if start is not None else ""
    query += " AND received <= %(end)s" if end is not None else ""
    values: dict[str, Any] = {"source": source_id, "after": after, "keys": keys and list(keys)}
    values |= {"start": moment(start or 0), "end": moment(end or 0), "limit": _PAGE}
    while True:
        with connection.cursor() as cursor:
            cursor.execute(f"{query} ORDER BY sequence LIMIT %(limit)s", values)
            rows = cursor.fetchall()
        for row in rows:
            yield Stored(row[0], row[1], _entry(*row[2:]))
        if len(rows) < _PAGE:
            return
        values["after"] = rows[-1][0]


def _entry(
    own: int | None,
    change: str,
    received: Any,
    staged: Any,
    action: str,
    actor: str,
    user_agent: str,
    identity: str,
    file: str,
    line: int,
    body: bytes = b"",
) -> Entry:
    begun, ended = microseconds(received), microseconds(staged)
    bounded = ended > begun or bool(identity)
    return Entry(
        _NOBODY,
        Change(change),
        None if own is None else int(own),
        Clock.AUDIT if bounded else Clock.OBJECT,
        begun,
        ended if bounded else FOREVER,
        action=action,
        actor=actor,
        user_agent=user_agent,
        identity=identity,
        place=Place(file, line) if file else None,
        body=zstandard.ZstdDecompressor().decompress(bytes(body)) if body else b"",
    )
