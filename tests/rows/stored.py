"""This module compares what the tables hold of sources, without primary keys, and runs code as another process
would."""

import threading
from collections.abc import Callable
from typing import Any

from django.db import connection, connections

from timeline.history.packing import unpack
from timeline.models import Finding, Source, Track
from timeline.storage import store


def tracks_of(source: Source) -> list[Track]:
    return list(Track.objects.filter(source=source))


def stored_tracks(source: Source) -> list[tuple[Any, ...]]:
    tracks = tracks_of(source)
    names = {track.id: (track.group, track.kind, track.namespace, track.name) for track in tracks}
    rows = [
        (
            *names[track.id],
            track.uid,
            track.version,
            names[track.root],
            track.family,
            track.number,
            track.place,
            track.strip,
            track.span,
            track.changed,
            track.life.lower,
            track.life.upper,
            track.lifeline,
            track.creator,
            track.writers,
            track.clues,
        )
        for track in tracks
    ]
    return sorted(rows, key=lambda row: row[:5])


def findings_of(source: Source) -> list[dict[str, Any]]:
    names = {track.id: f"{track} {track.uid}" for track in tracks_of(source)}
    rows = []
    for row in Finding.objects.filter(source=source).order_by("identity"):
        for occurrence in row.occurrences:
            for proof in occurrence["proof"]:
                proof["track"] = names.get(proof["track"])
        rows.append(
            {
                "identity": row.identity,
                "severity": row.severity,
                "namespace": row.namespace,
                "subject": names[row.subject],
                "first": row.first,
                "last": row.last,
                "document": row.document,
                "occurrences": row.occurrences,
            }
        )
    return rows


def summary_of(source: Source) -> tuple[Any, ...]:
    source.refresh_from_db()
    return source.entries, source.first, source.last, source.histogram, source.actors


def stored_of(source: Source) -> tuple[Any, ...]:
    return summary_of(source), stored_tracks(source), findings_of(source)


def opened(name: str = "test") -> Source:
    """Return an empty source that is ready to be shown."""
    source = store.open_source(name)
    store.show_source(source)
    return source


def tables() -> set[str]:
    """Return the names of the tables that hold entries and tracks."""
    with connection.cursor() as cursor:
        names = "^timeline_(chunk|track)_[0-9]+"
        cursor.execute("SELECT relname FROM pg_class WHERE relname ~ %s AND relkind = 'r'", [names])
        return {name for (name,) in cursor}


def tables_of(*sources: Source | int | None) -> set[str]:
    """Return the names of those tables that belong to these sources."""
    keys = {str(source.pk if isinstance(source, Source) else source) for source in sources}
    return {name for name in tables() if name.split("_")[2] in keys}


def entries_in(source: Source) -> int:
    """Return the number of stored entries. Those of an unfinished import are in no partition yet."""
    counts = [
        f"SELECT coalesce(sum(cardinality(keys)), 0) FROM {name}" for name in tables_of(source) if "chunk" in name
    ]
    with connection.cursor() as cursor:
        cursor.execute(" UNION ALL ".join(counts))
        return sum(int(count) for (count,) in cursor)


def everything() -> str:
    """Return all rows of all tables as text, with what is compressed in them unpacked."""
    found = []
    with connection.cursor() as cursor:
        for query in (
            "SELECT lines FROM timeline_chunk",
            "SELECT lifeline FROM timeline_track",
            "SELECT lines FROM timeline_log_page",
        ):
            cursor.execute(query)
            found += [unpack(bytes(packed)).decode() for (packed,) in cursor]
        cursor.execute("SELECT relname FROM pg_class WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace")
        for (table,) in cursor.fetchall():
            cursor.execute(f'SELECT to_jsonb("row")::text FROM "{table}" AS "row"')
            found += [text for (text,) in cursor]
    return "\n".join(found)


def beside(act: Callable[[], object]) -> None:
    """Call a function as another process would: on a database connection of its own, whose changes are committed."""
    failures: list[BaseException] = []

    def run() -> None:
        try:
            act()
        except BaseException as error:
            failures.append(error)
        finally:
            connections.close_all()

    thread = threading.Thread(target=run)
    thread.start()
    thread.join(60)
    assert not thread.is_alive() and not failures, failures
