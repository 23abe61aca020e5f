"""Read sources as a whole: their lists, and the time that they cover."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

import orjson
from django.db import connection

from timeline.core.entries import microseconds
from timeline.judging.findings import Severity
from timeline.judging.rulebook import ATTEMPTS, VERSION
from timeline.models import Source

SEVERITIES: tuple[Severity, ...] = ("error", "warning", "info")  # in the order of `Occurrence.rank`


@dataclass(frozen=True)
class SourceRow:
    id: int
    name: str
    created: datetime
    entries: int
    skipped: int
    first: datetime | None
    last: datetime | None
    judged: int  # the version of the rules that its findings are from
    given_up: bool  # whether the present version has given up judging it again
    is_live: bool  # whether a cluster feeds it
    mostly_skipped: dict[str, list[int]]  # [skipped lines, all lines] by file, of files that were mostly skipped
    errors: int  # the number of rows in its list of findings, in which one row may have several subjects
    warnings: int
    infos: int

    @property
    def outdated(self) -> bool:
        """Return whether its findings are from an older version of the rules."""
        return self.judged < VERSION


def recent_sources(limit: int = 100) -> list[SourceRow]:
    return _sources("TRUE ORDER BY source.created DESC, source.id DESC LIMIT %s", [limit])


def resting_sources(limit: int) -> list[SourceRow]:
    """Return the newest sources that no cluster feeds now."""
    fed = "EXISTS (SELECT FROM timeline_cluster WHERE source_id = source.id)"
    return _sources(f"NOT {fed} ORDER BY source.created DESC, source.id DESC LIMIT %s", [limit])


def these_sources(wanted: list[int]) -> list[SourceRow]:
    return _sources("source.id = ANY(%s)", [wanted])


def sources_before(cursor: int | None, limit: int, only: list[int] | None = None) -> list[SourceRow]:
    """Return the sources before the one whose id is the cursor; without a cursor, the newest ones. With `only`, these
    are sources with these ids."""
    chosen, values = ("", []) if only is None else ("source.id = ANY(%s) AND ", [only])
    before = 2**63 - 1 if cursor is None else cursor
    return _sources(f"{chosen}source.id < %s ORDER BY source.id DESC LIMIT %s", [*values, before, limit])


def source(source_id: int) -> SourceRow | None:
    return next(iter(_sources("source.id = %s", [source_id])), None)


def _sources(which: str, values: Sequence[int | list[int]]) -> list[SourceRow]:
    query = f"""
        SELECT id, name, created, entries, skipped, first, last, judged,
               judging = {VERSION} AND attempts >= {ATTEMPTS},
               EXISTS (SELECT FROM timeline_cluster WHERE source_id = source.id), mostly_skipped, row_counts
        FROM timeline_source source
        WHERE ready AND source.delete_after IS NULL AND {which}"""
    with connection.cursor() as cursor:
        cursor.execute(query, values)
        return [
            SourceRow(*(*row, orjson.loads(skipped), *by_rank(orjson.loads(counts))))
            for *row, skipped, counts in cursor
        ]


def by_rank(row_counts: dict[str, list[int]]) -> list[int]:
    """Return the number of errors, warnings and infos in a list of findings, from its `Source.row_counts`."""
    return [sum(counts[rank] for counts in row_counts.values()) for rank in range(len(SEVERITIES))]


def gaps(source_id: int) -> int:
    """Return the number of writes that are missing, as other writes prove. Raises Source.DoesNotExist."""
    document = Source.objects.values_list("document", flat=True).get(pk=source_id)
    return sum(kind["holes"] for kind in document.get("coverage", ()))


def extent(shown: Source | SourceRow) -> tuple[int, int]:
    """Return the range of time that a source covers, in microseconds since 1970; (0, 1) if it is empty."""
    if shown.first is None or shown.last is None:
        return 0, 1
    return microseconds(shown.first), microseconds(shown.last)
