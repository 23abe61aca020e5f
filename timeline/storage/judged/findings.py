"""Store findings: each finding once, a row of the list of findings for each occurrence, and the incidents."""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

from django.db import connection
from django.db.models import Count
from psycopg import sql

from timeline import models
from timeline.core.entries import ObjectRef, moment
from timeline.history.lifelines import name_of
from timeline.history.world.world import World
from timeline.judge import rulebook
from timeline.judging.findings import Finding
from timeline.kinds import kind_of
from timeline.layout.places import root_of
from timeline.payloads.incidents import in_part, occurrences
from timeline.payloads.incidents.making import Places, incidents_of, places_of_findings
from timeline.payloads.incidents.occurrences import StoredFinding
from timeline.payloads.incidents.symptoms import part
from timeline.storage.copying import as_json, as_text, upsert
from timeline.storage.judged import incidents
from timeline.storage.judged.stored import pieces, read

if TYPE_CHECKING:
    from django.db.models import QuerySet

    from timeline.payloads.incidents.symptoms import Part

FINDING = (
    "source_id", "identity", "rule", "severity", "namespace", "subject", "root", "tracks", "first", "last", "document",
    "occurrences", "withdrawn", "incident", "incidents", "anchor", "namespaces", "part", "pieces",
)  # fmt: skip
_OCCURRENCE = (
    "source_id", "key", "rank", "rule", "namespace", "families", "words", "tracks", "first", "last",
    "findings", "namespaces",
)  # fmt: skip
_TOGETHER = 1000  # findings of several rules whose rows are written together
_Counts = Counter[tuple[str, int]]  # how many rows each rule has of each rank of severity


def write(source: models.Source, world: World, findings: Collection[Finding]) -> None:
    """Store all findings of a recording in place of those that were stored before, with the rows and the incidents that
    follow from them."""
    models.Finding.objects.filter(source=source).exclude(identity__in=[each.id for each in findings]).delete()
    by_rule: dict[str, list[Finding]] = {}
    for each in findings:
        by_rule.setdefault(each.rule, []).append(each)
    parts: list[Part] = []
    places = places_of_findings(findings, incidents.apart(source))

    def stored_of(rules: list[str]) -> list[StoredFinding]:
        """Store the findings of these rules, and return them as they are stored."""
        _, now = put(source, world, [each for rule in rules for each in by_rule.get(rule, ())], places)
        parts.extend(map(part, now.values()))
        return [*now.values()]

    _write_all(source, {rule: len(of_rule) for rule, of_rule in by_rule.items()}, stored_of, ())
    before = models.Incident.objects.filter(source=source)
    incidents.store(source, incidents_of(parts, rulebook(), places), {each.identity: each for each in before})


def put(
    source: models.Source, world: World, findings: Iterable[Finding], places: Places
) -> tuple[list[str], dict[str, StoredFinding]]:
    """Store these findings. Return the identities of those that are new or changed, and by identity all as they are
    stored. `places` says to which incidents they belong."""
    now: dict[str, StoredFinding] = {}
    rows = (_row_of(source, world, found, places.get(found.id, ()), now) for found in findings)
    return upsert(sql.Identifier("timeline_finding"), FINDING, ("source_id", "identity"), rows), now


def _row_of(
    source: models.Source, world: World, found: Finding, of_incidents: Sequence[str], now: dict[str, StoredFinding]
) -> tuple[Any, ...]:
    """Return the row of a finding, with the columns of `FINDING`, and add the finding as it is stored to `now`."""
    proofs = [proof.ref for each in found.occurrences for proof in each.proof]
    named = [found.subject, *proofs, *found.affects, *([found.other] if found.other else [])]
    # A finding is shown with its subject, or, if that was not observed, with the first object of its proof.
    subject = next(track for ref in named if (track := world.track((name_of(ref), ref.uid))))
    numbers = world.number(subject), world.number(root_of(world, subject))
    stored = now[found.id] = occurrences.stored(found, world.id_of, *numbers, of_incidents)
    connected = pieces(stored)
    return (
        source.pk,
        found.id,
        found.rule,
        found.severity,
        as_text(found.subject.namespace),
        stored.subject,
        stored.root,
        sorted({number for ref in named for number in _track_numbers(ref, world)}),
        moment(found.occurrences[0].first),
        moment(found.occurrences[-1].last),
        as_json(stored.document),
        as_json(stored.occurrences),
        False,
        *in_incidents(of_incidents),
        list(map(as_text, found.anchor or ())),
        list(map(as_text, found.namespaces)),
        _part_of(found, world),
        as_json(connected) if connected else None,
    )


def move(source: models.Source, places: Places) -> None:
    """Store to which incidents these findings belong now, which have not changed themselves."""
    rows = [(*in_incidents(of_it), source.pk, identity) for identity, of_it in places.items()]
    with connection.cursor() as cursor:
        cursor.executemany(
            "UPDATE timeline_finding SET incident = %s, incidents = %s::varchar[]"
            " WHERE source_id = %s AND identity = %s",
            rows,
        )


def in_incidents(places: Sequence[str]) -> tuple[str, list[str] | None]:
    """Return the columns `incident` and `incidents` of a finding from the incident of each occurrence."""
    return (places[0] if places else ""), (list(places) if len(set(places)) > 1 else None)


def _part_of(found: Finding, world: World) -> str | None:
    """Return the column `part` of a finding; None if it needs none, or if nothing of it is left."""
    namespace = found.subject.namespace
    if not namespace or found.namespaces == [namespace]:
        return None
    part = in_part.finding(found, _titles()[found.rule], world.id_of)
    return as_json(part) if part else None


@cache
def _titles() -> dict[str, str]:
    return {rule.id: rule.title for rule in rulebook()}


def _track_numbers(ref: ObjectRef, world: World) -> Iterable[int]:
    """Return the track numbers of an object: that of its own track, or those of all incarnations of its name if its
    UID is not known."""
    if number := world.id_of(ref):
        return [number]
    return [number for track in world.incarnations(name_of(ref)) if (number := world.id_of(track.ref))]


class Stored(NamedTuple):
    """Where a stored finding is shown: its incidents, and the rows of the list of findings that name it."""

    incidents: set[str]
    rows: set[str]


def where_shown(source: models.Source, identities: Collection[str]) -> dict[str, Stored]:
    """Return where these findings are shown, as far as they are stored."""
    query = """
        SELECT identity, coalesce(incidents, ARRAY[incident]),
               ARRAY(SELECT each->>'group' FROM jsonb_array_elements(occurrences) AS each)
        FROM timeline_finding WHERE source_id = %s AND identity = ANY(%s)"""
    with connection.cursor() as cursor:
        cursor.execute(query, [source.pk, list(identities)])
        return {identity: Stored({*incidents} - {""}, set(rows)) for identity, incidents, rows in cursor}


def involved(source: models.Source, keys: Collection[str]) -> dict[str, list[str]]:
    """Return the namespaces that these rows of the list of findings involve, by key, as far as they are known."""
    rows = models.Occurrence.objects.filter(source=source, key__in=keys, namespaces__isnull=False)
    return {key: namespaces or [] for key, namespaces in rows.values_list("key", "namespaces")}


def write_occurrences(
    source: models.Source, keys: Collection[str] | None = None, changed: Collection[str] = ()
) -> tuple[list[str], list[str]]:
    """Write the rows of the list of findings anew from the stored findings: those with these keys, or all.

    `changed` are the identities of findings that changed, whose rows count as changed; with keys, also of all findings
    that a row may name newly. Return the keys of the rows that changed, and the keys of those that were deleted.
    """
    before = models.Occurrence.objects.filter(source=source)
    findings = models.Finding.objects.filter(source=source, withdrawn=False)
    if keys is not None:
        before = before.filter(key__in=keys)
        named = {identity for members in before.values_list("findings", flat=True) for identity in members}
        findings = findings.filter(identity__in=named.union(changed))
        replaced = Counter(before.values_list("rule", "rank"))
        written, gone, counts = _write_rows(source, read(findings), before, keys, changed)
        _count(source, counts, replaced)
        return sorted(written), gone
    of_rules: dict[str, int] = dict(findings.values_list("rule").annotate(number=Count("*")).order_by())
    return _write_all(source, of_rules, lambda rules: read(findings.filter(rule__in=rules)), changed)


def _write_all(
    source: models.Source,
    counts: Mapping[str, int],
    stored_of: Callable[[list[str]], Iterable[StoredFinding]],
    changed: Collection[str],
) -> tuple[list[str], list[str]]:
    """Write all rows of the list of findings, as `write_occurrences` does. A row is about one rule: `counts` says how
    many findings each rule has, and `stored_of` returns those of some rules."""
    before = models.Occurrence.objects.filter(source=source)
    written: set[str] = set()
    gone: list[str] = []
    total: _Counts = Counter()
    for rules in _blocks(counts.keys() | set(before.values_list("rule", flat=True).distinct()), counts):
        of_rules = _write_rows(source, stored_of(rules), before.filter(rule__in=rules), None, changed)
        written |= of_rules[0]
        gone += of_rules[1]
        total += of_rules[2]
    _count(source, total, None)
    return sorted(written), gone


def _blocks(rules: Iterable[str], counts: Mapping[str, int]) -> Iterator[list[str]]:
    """Yield as many of these rules at a time as have about `_TOGETHER` findings."""
    block: list[str] = []
    size = 0
    for rule in sorted(rules):
        if block and size + counts.get(rule, 0) > _TOGETHER:
            yield block
            block, size = [], 0
        block.append(rule)
        size += counts.get(rule, 0)
    if block:
        yield block


def _write_rows(
    source: models.Source,
    findings: Iterable[StoredFinding],
    before: "QuerySet[models.Occurrence]",
    keys: Collection[str] | None,
    changed: Collection[str],
) -> tuple[set[str], list[str], _Counts]:
    """Write the rows that follow from these findings in place of those before, of them only those with these keys.

    Return the keys of the rows that changed, the keys of those that were deleted, and how many rows there are now.
    """
    rows = occurrences.rows(findings, keys=keys)
    gone = list(before.exclude(key__in=[row.payload["key"] for row in rows]).values_list("key", flat=True))
    before.filter(key__in=gone).delete()
    written = upsert(
        sql.Identifier("timeline_occurrence"),
        _OCCURRENCE,
        ("source_id", "key"),
        [_occurrence_row(source, row) for row in rows],
    )
    affected = {row.payload["key"] for row in rows if any(each["id"] in changed for each in row.payload["findings"])}
    counts = Counter((row.payload["rule"], occurrences.rank(row.payload["severity"])) for row in rows)
    return {*written, *affected}, gone, counts


def _count(source: models.Source, counts: _Counts, replaced: _Counts | None) -> None:
    """Store the numbers of rows of the list of findings: these in place of the `replaced` ones, or of all if that is
    None. The source must be locked."""
    of_source = models.Source.everything.filter(pk=source.pk)
    before: dict[str, list[int]] = {} if replaced is None else of_source.values_list("row_counts", flat=True).get()
    change = Counter(counts)
    change.subtract(replaced or {})
    after = {rule: list(of_rule) for rule, of_rule in before.items()}
    for (rule, rank), number in change.items():
        after.setdefault(rule, [0, 0, 0])[rank] += number
    after = {rule: of_rule for rule, of_rule in after.items() if any(of_rule)}
    if replaced is None or after != before:
        of_source.update(row_counts=after)


def drop_occurrences(source: models.Source, before: datetime) -> None:
    """Delete the rows of the list of findings that ended before a time, and count the others anew."""
    rows = models.Occurrence.objects.filter(source=source)
    if rows.filter(last__lt=before).delete()[0]:
        models.Source.everything.filter(pk=source.pk).update(row_counts=counted(rows))


def counted(rows: "QuerySet[models.Occurrence]") -> dict[str, list[int]]:
    """Return the numbers of these rows of the list of findings, as `Source.row_counts` has them."""
    counts: dict[str, list[int]] = {}
    for rule, rank, number in rows.values_list("rule", "rank").annotate(number=Count("*")).order_by():
        counts.setdefault(rule, [0, 0, 0])[rank] = number
    return counts


def _occurrence_row(source: models.Source, row: occurrences.OccurrenceRow) -> tuple[Any, ...]:
    """Return the columns of `_OCCURRENCE`."""
    payload, drawn, namespaces = row
    subjects = [found["subject"] for found in payload["findings"]]
    proofs = {proof["track"] for _, each in drawn for proof in each["proof"] if proof["track"]}
    return (
        source.pk,
        payload["key"],
        occurrences.rank(payload["severity"]),
        payload["rule"],
        as_text(payload["namespace"]),
        sorted({as_text(kind_of(subject["group"], subject["kind"]).family) for subject in subjects}),
        as_text(" ".join([payload["summary"], *(subject["name"] for subject in subjects)]).lower()),
        sorted(proofs | {subject for subject, _ in drawn}),
        moment(payload["start"]),
        moment(payload["end"]),
        list(dict.fromkeys(found["id"] for found in payload["findings"])),
        None if namespaces is None else list(map(as_text, namespaces)),
    )
