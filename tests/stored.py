"""What the tables hold of a source, told without the keys that rows happen to have."""

from typing import Any

from django.db import connection

from timeline.models import Finding, Source, Track


def tracks_of(source: Source) -> list[tuple[Any, ...]]:
    tracks = list(Track.objects.filter(source=source))
    names = {track.key: (track.group, track.kind, track.namespace, track.name) for track in tracks}
    told = [
        (
            *names[track.key],
            track.uid,
            track.version,
            names[track.root],
            track.family,
            track.number,
            track.lane_number,
            track.root_rank,
            track.life.lower,
            track.life.upper,
            track.lifeline,
        )
        for track in tracks
    ]
    return sorted(told, key=lambda row: row[:5])


def findings_of(source: Source) -> list[dict[str, Any]]:
    names = {track.pk: f"{track} {track.uid}" for track in Track.objects.filter(source=source)}
    told = []
    for row in Finding.objects.filter(source=source).order_by("identity"):
        for occurrence in row.occurrences:
            for proof in occurrence["proof"]:
                proof["track"] = names.get(proof["track"])
        told.append(
            {
                "identity": row.identity,
                "severity": row.severity,
                "namespace": row.namespace,
                "subject": names[row.subject_id],
                "first": row.first,
                "last": row.last,
                "document": row.document,
                "occurrences": row.occurrences,
            }
        )
    return told


def summary_of(source: Source) -> tuple[Any, ...]:
    source.refresh_from_db()
    return source.entries, source.first, source.last, source.histogram


def stored_of(source: Source) -> tuple[Any, ...]:
    return summary_of(source), tracks_of(source), findings_of(source)


def tables() -> set[str]:
    """Names of the tables that hold entries."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT relname FROM pg_class WHERE relname ~ '^timeline_entry_[0-9]+$' AND relkind = 'r'")
        return {name for (name,) in cursor}


def entries_in(source: Source) -> int:
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT count(*) FROM timeline_entry_{source.pk}")  # its table is no partition while it imports
        return int(cursor.fetchone()[0])
