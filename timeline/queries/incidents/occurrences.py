"""Read the rows of the list of findings, which are derived from stored findings."""

from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import msgspec
from typing_extensions import TypedDict  # msgspec skips what is not declared, which is most of an occurrence

from timeline.core.entries import moment
from timeline.judging.findings import Severity
from timeline.models import Finding, Incident, Occurrence
from timeline.payloads.findings import FindingGroupPayload
from timeline.payloads.incidents import occurrences
from timeline.payloads.incidents.symptoms import time_of
from timeline.queries.ahead import sent
from timeline.queries.arrays import array
from timeline.queries.people.acknowledgements import acknowledged
from timeline.queries.sources.extents import SEVERITIES
from timeline.storage.judged.stored import read

# `&&` compares each of the one with each of the other, and = ANY looks up in a hash table, which takes as long for few.
_NAMED = "tracks && %(tracks)s::bigint[]"
_NAMED_OF_MANY = "EXISTS (SELECT FROM unnest(found.tracks) AS one WHERE one = ANY(%(tracks)s::bigint[]))"
_MANY = 100
# The sum keeps the query planner from reading all tracks of the lanes for each row.
_IN_LANES = """ OR EXISTS (
    SELECT FROM timeline_track AS named
    WHERE named.source_id = %(source)s AND named.id = ANY(found.tracks) AND named.lane + 0 = ANY(%(dense)s::bigint[])
)"""
# In this form PostgreSQL looks up each key in a hash table, whatever number of rows it expects to be listed.
_IS_LISTED = "(each->>'group' IN (SELECT key FROM listed)) IS TRUE"


class _Proof(TypedDict):
    time: str
    earliest: str | None
    latest: str | None
    at: int
    track: int | None


class _Drawn(TypedDict):
    """The fields of an occurrence that are drawn (see `occurrences.occurrence`)."""

    group: str
    first: int
    last: int
    hole: str
    arrow: str
    proof: list[_Proof]


Placed = tuple[int, Severity, dict[str, Any]]  # the track of the subject, the severity, and an occurrence to draw
_DRAWN = msgspec.json.Decoder(_Drawn)


def payloads(source_id: int, rows: list[Occurrence]) -> list[FindingGroupPayload]:
    """Return the payloads of these rows. A row is acknowledged if all of its findings are, and shows the latest
    note."""
    groups = _groups(source_id, rows)
    known = acknowledged(source_id, {finding["id"] for group in groups for finding in group["findings"]})
    for group in groups:
        notes = [known.get(finding["id"]) for finding in group["findings"]]
        if all(notes):
            group["acknowledged"] = max(filter(None, notes), key=lambda note: note["at"])
    return groups


def _groups(source_id: int, rows: list[Occurrence]) -> list[FindingGroupPayload]:
    """Return the payloads of these rows in the same order, without rows whose findings were deleted meanwhile."""
    identities = {identity for row in rows for identity in row.findings}
    stored = Finding.objects.filter(source=source_id, identity__in=identities)
    page, keys = f"/sources/{source_id}/findings/", {row.key for row in rows}
    derived = occurrences.rows(read(stored), page, keys)
    by_key = {row.payload["key"]: row.payload for row in derived}
    return [by_key[row.key] for row in rows if row.key in by_key]


def worst_keys(source_id: int, incidents: Collection[str]) -> dict[str, str]:
    """Return by incident the key of the row with which it is shown: of the gravest occurrence of its gravest finding
    which belongs to it."""
    rows = Incident.objects.filter(source=source_id, identity__in=incidents).values_list("identity", "worst")
    worst = dict(rows)
    stored = read(Finding.objects.filter(source=source_id, identity__in=set(worst.values())))
    by_id = {each.document["id"]: each for each in stored}
    found = {}
    for incident, finding in worst.items():
        if each := by_id.get(finding):
            own = [one for one, place in zip(each.occurrences, each.places, strict=True) if place == incident]
            found[incident] = max(map(time_of, own or each.occurrences), key=lambda time: time.weight).group
    return found


@contextmanager
def drawn(
    source_id: int, span: tuple[int, int], tracks: Collection[int], dense: Collection[int], selected: str, limit: int
) -> Iterator[Callable[[], list[Placed]]]:
    """Ask for the occurrences between two times (µs since 1970) that name any of these tracks, or any track of dense
    lanes, and for the selected one. Yield a function that waits for them.

    Each is (track of its subject, severity, occurrence), as for `Drawing.add_findings`. Errors come first; at most
    `limit` rows of the list of findings are considered.
    """
    named = _NAMED_OF_MANY if len(tracks) > _MANY else _NAMED
    query = f"""
        WITH listed AS MATERIALIZED (
            SELECT key, findings, rank, first FROM timeline_occurrence AS found
            WHERE source_id = %(source)s AND (key = %(selected)s OR first <= %(end)s AND last >= %(start)s
                AND ({named}{_IN_LANES if dense else ""}))
            ORDER BY rank, first, key LIMIT %(limit)s
        )
        SELECT key, row_number() OVER (ORDER BY rank, first, key), findings, NULL, rank FROM listed
        UNION ALL
        SELECT identity, subject, NULL, each::text, NULL
        FROM timeline_finding, jsonb_array_elements(occurrences) AS each
        WHERE source_id = %(source)s AND identity = ANY(ARRAY(SELECT unnest(findings) FROM listed)) AND {_IS_LISTED}"""
    values: dict[str, Any] = {
        "source": source_id,
        "selected": selected,
        "start": moment(span[0]),
        "end": moment(span[1]),
        "tracks": array(tracks),
        "dense": array(dense),
        "limit": limit,
    }
    with sent(query, values) as rows:
        yield lambda: _drawn(rows())


def _drawn(rows: Iterable[tuple[Any, ...]]) -> list[Placed]:
    """Return what `drawn` promises, in the order of the list of findings.

    `rows` are, in any order, (key, place in the list, identities of its findings, None, rank) of each row of the list,
    and (identity, track of its subject, None, occurrence as JSON, None) of each finding and occurrence.
    """
    listed: list[tuple[int, str, list[str], Severity]] = []
    found: dict[tuple[str, str], list[tuple[int, Any]]] = {}
    for name, number, members, text, rank in rows:
        if text is None:
            listed.append((number, name, members, SEVERITIES[rank]))
        else:
            each = _DRAWN.decode(text)
            found.setdefault((each["group"], name), []).append((number, each))
    return [
        (subject, severity, each)
        for _, key, members, severity in sorted(listed)
        for name in members
        for subject, each in found.get((key, name), ())
    ]
