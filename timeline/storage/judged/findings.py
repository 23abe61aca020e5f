"""Store findings: each finding once, and a row of the list of findings for each occurrence."""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
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
from timeline.judging.incidents import subjects as incidents
from timeline.kinds import kind_of
from timeline.layout import places
from timeline.payloads import documents
from timeline.payloads.incidents import in_part, occurrences
from timeline.storage.copying import as_json, as_text, upsert

if TYPE_CHECKING:
    from django.db.models import QuerySet

FINDING = (
    "source_id", "identity", "rule", "severity", "namespace", "subject", "root", "tracks", "first", "last", "document",
    "occurrences", "withdrawn", "incident", "anchor", "namespaces", "part",
)  # fmt: skip
_OCCURRENCE = (
    "source_id", "key", "rank", "rule", "namespace", "families", "words", "tracks", "first", "last",
    "findings", "namespaces",
)  # fmt: skip
_TOGETHER = 1000  # findings of several rules whose rows are written together
_Counts = Counter[tuple[str, int]]  # how many rows each rule has of each rank of severity


def write(source: models.Source, world: World, findings: Collection[Finding]) -> None:
    """Store all findings of a recording in place of those that were stored before."""
    gone, _ = models.Finding.objects.filter(source=source).exclude(identity__in=[each.id for each in findings]).delete()
    rows = (row_of(source, world, found) for found in findings)
    if upsert(sql.Identifier("timeline_finding"), FINDING, ("source_id", "identity"), rows) or gone:
        write_occurrences(source)


def row_of(source: models.Source, world: World, found: Finding) -> tuple[Any, ...]:
    """Return the row of a finding, with the columns of `FINDING`."""
    proofs = [proof.ref for each in found.occurrences for proof in each.proof]
    named = [found.subject, *proofs, *found.affects, *([found.other] if found.other else [])]
    # A finding is shown with its subject, or, if that was not observed, with the first object of its proof.
    subject = next(track for ref in named if (track := world.track((name_of(ref), ref.uid))))
    return (
        source.pk,
        found.id,
        found.rule,
        found.severity,
        as_text(found.subject.namespace),
        world.id_of(subject.ref),
        world.id_of(places.root_of(world, subject).ref),
        sorted({number for ref in named for number in _track_numbers(ref, world)}),
        moment(found.occurrences[0].first),
        moment(found.occurrences[-1].last),
        as_json(documents.finding(found)),
        as_json([occurrences.occurrence(found, each, world.id_of) for each in found.occurrences]),
        False,
        incident_of(found),
        list(map(as_text, found.anchor or ())),
        list(map(as_text, found.namespaces)),
        _part_of(found, world),
    )


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


def incident_of(found: Finding) -> str:
    """Return the identity of the incident of a finding that `timeline.judge` has judged."""
    assert found.anchor
    return incidents.identity(found.rule, found.anchor)


def _track_numbers(ref: ObjectRef, world: World) -> Iterable[int]:
    """Return the track numbers of an object: that of its own track, or those of all incarnations of its name if its
    UID is not known."""
    if number := world.id_of(ref):
        return [number]
    return [number for track in world.incarnations(name_of(ref)) if (number := world.id_of(track.ref))]


class Stored(NamedTuple):
    """Where a stored finding is shown: its incident, and the rows of the list of findings that name it."""

    incident: str
    rows: set[str]


def where_shown(source: models.Source, identities: Collection[str]) -> dict[str, Stored]:
    """Return where these findings are shown, as far as they are stored."""
    query = """
        SELECT identity, incident, ARRAY(SELECT each->>'group' FROM jsonb_array_elements(occurrences) AS each)
        FROM timeline_finding WHERE source_id = %s AND identity = ANY(%s)"""
    with connection.cursor() as cursor:
        cursor.execute(query, [source.pk, list(identities)])
        return {identity: Stored(incident, set(rows)) for identity, incident, rows in cursor}


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
        written, gone, counts = _write_rows(source, findings, before, keys, changed)
        _count(source, counts, replaced)
        return sorted(written), gone
    written, gone, counts = set(), [], Counter()
    for rules in _blocks(findings, before):
        of_rules = _write_rows(source, findings.filter(rule__in=rules), before.filter(rule__in=rules), None, changed)
        written |= of_rules[0]
        gone += of_rules[1]
        counts += of_rules[2]
    _count(source, counts, None)
    return sorted(written), gone


def _blocks(findings: "QuerySet[models.Finding]", before: "QuerySet[models.Occurrence]") -> Iterator[list[str]]:
    """Yield the rules of findings and of rows, as many at a time as have about `_TOGETHER` findings: a row is about
    one rule."""
    counts = dict(findings.values_list("rule").annotate(number=Count("*")).order_by())
    block: list[str] = []
    size = 0
    for rule in sorted(counts.keys() | set(before.values_list("rule", flat=True).distinct())):
        if block and size + counts.get(rule, 0) > _TOGETHER:
            yield block
            block, size = [], 0
        block.append(rule)
        size += counts.get(rule, 0)
    if block:
        yield block


def _write_rows(
    source: models.Source,
    findings: "QuerySet[models.Finding]",
    before: "QuerySet[models.Occurrence]",
    keys: Collection[str] | None,
    changed: Collection[str],
) -> tuple[set[str], list[str], _Counts]:
    """Write the rows that follow from these findings in place of those before, of them only those with these keys.

    Return the keys of the rows that changed, the keys of those that were deleted, and how many rows there are now.
    """
    columns = "subject", "root", "document", "occurrences", "incident"
    stored, involved = [], {}
    for identity, namespaces, *values in findings.values_list("identity", "namespaces", *columns):
        stored.append(occurrences.StoredFinding(*values))
        involved[identity] = namespaces
    rows = occurrences.rows(stored, f"/sources/{source.pk}/findings/", keys)
    gone = list(before.exclude(key__in=[row.payload["key"] for row in rows]).values_list("key", flat=True))
    before.filter(key__in=gone).delete()
    written = upsert(
        sql.Identifier("timeline_occurrence"),
        _OCCURRENCE,
        ("source_id", "key"),
        [occurrence_row(source, row, involved) for row in rows],
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


def occurrence_row(
    source: models.Source, row: occurrences.OccurrenceRow, involved: Mapping[str, list[str] | None]
) -> tuple[Any, ...]:
    """Return the columns of `_OCCURRENCE`; `involved` has the namespaces of each finding, by its identity."""
    payload, drawn = row
    subjects = [found["subject"] for found in payload["findings"]]
    proofs = {proof["track"] for _, each in drawn for proof in each["proof"] if proof["track"]}
    return (
        source.pk,
        payload["key"],
        occurrences.rank(payload["severity"]),
        payload["rule"],
        payload["namespace"],
        sorted({kind_of(subject["group"], subject["kind"]).family for subject in subjects}),
        " ".join([payload["summary"], *(subject["name"] for subject in subjects)]).lower(),
        sorted(proofs | {subject for subject, _ in drawn}),
        moment(payload["start"]),
        moment(payload["end"]),
        list(dict.fromkeys(found["id"] for found in payload["findings"])),
        together(involved[found["id"]] for found in payload["findings"]),
    )


def together(involved: Iterable[list[str] | None]) -> list[str] | None:
    """Return the namespaces of several findings; None if those of one are not known."""
    known = list(involved)
    return None if None in known else sorted({name for each in known for name in each or ()})
