"""List the findings and the incidents of a world in memory, as `timeline.queries.incidents` lists those of a database.

The module is pure. Times are microseconds since 1970, UTC.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence

from timeline.core.entries import ObjectRef
from timeline.history.lifelines import Name, Track, name_of
from timeline.history.world.world import World
from timeline.judging.findings import Finding
from timeline.judging.incidents.partition import beginning
from timeline.judging.incidents.subjects import distinct_title
from timeline.payloads import documents
from timeline.payloads.findings import FindingGroupPayload, VerdictName
from timeline.payloads.incidents import making, occurrences
from timeline.payloads.incidents.making import Incident, InView, Places
from timeline.payloads.incidents.occurrences import StoredFinding

Number = Callable[[Track], int]


def stored(
    world: World, findings: Iterable[Finding], number: Number, places: Places, span: tuple[int, int] | None = None
) -> list[StoredFinding]:
    """Return findings as they are stored, with the occurrences that overlap a span, or with all. `number` returns the
    numbers of objects."""

    def number_of(ref: ObjectRef) -> int | None:
        track = world.track((name_of(ref), ref.uid))
        return number(track) if track else None

    result = []
    for found in findings:
        shown = [
            (each, place)
            for each, place in zip(found.occurrences, places[found.id], strict=True)
            if span is None or (each.first <= span[1] and each.last >= span[0])
        ]
        result.append(
            StoredFinding(
                number(subject := _subject(world, found)),
                number(root_of(world, subject)),
                documents.finding(found),
                [occurrences.occurrence(found, each, number_of) for each, _ in shown],
                [place for _, place in shown],
                found.anchor,
            )
        )
    return result


def rows(findings: Iterable[StoredFinding]) -> list[FindingGroupPayload]:
    """Return the list of findings, the gravest first."""
    return [row.payload for row in occurrences.rows(findings)]


def incidents(every: Sequence[Incident], found: Sequence[FindingGroupPayload]) -> list[InView]:
    """Return the incidents that rows of the list of findings belong to. The rows are in order, the gravest first; of
    each incident, its gravest occurrence comes first."""
    verdict_of = {finding["id"]: finding["verdict"] for row in found for finding in row["findings"]}
    rows_of: dict[str, list[FindingGroupPayload]] = {}
    findings_of: dict[str, set[str]] = {}
    named = {each.id: {*each.findings} for each in every}
    for row in found:
        for identity in row["incidents"]:
            rows_of.setdefault(identity, []).append(row)
            own = {finding["id"] for finding in row["findings"]} & named[identity]
            findings_of.setdefault(identity, set()).update(own)
    found_in: dict[str, set[str]] = {}
    for each in every:
        found_in.setdefault(each.title, set()).add(each.gravest.anchor.namespace)
    return [
        _in_view(
            each,
            distinct_title(each.title, each.gravest.anchor.namespace, found_in[each.title]),
            next(verdict_of[finding] for finding in each.findings if finding in verdict_of),
            findings_of[each.id],
            sorted(rows_of[each.id], key=lambda row: row["key"] != each.worst.worst.group),
        )
        for each in every
        if each.id in rows_of
    ]


def _in_view(
    each: Incident, title: str, verdict: VerdictName, findings: set[str], found: list[FindingGroupPayload]
) -> InView:
    shown = {symptom.id for symptom in each.symptoms if not findings.isdisjoint(symptom.findings)}
    row = making.row(each, verdict)
    row["title"] = title
    row["symptoms"] = [symptom for symptom in row["symptoms"] if symptom["id"] in shown]
    return InView(row, len(shown), len(findings), len(found), found, _beginning(each))


def _beginning(each: Incident) -> Name:
    """Return the object that an incident begins with, or else what its gravest symptom is about."""
    pieces = (piece for episode in each.episodes for piece in episode.pieces)
    return beginning(pieces, each.id) or each.gravest.anchor


def named(found: Finding) -> Iterator[ObjectRef]:
    """Yield the objects whose lanes show a finding."""
    yield found.subject
    yield from (proof.ref for each in found.occurrences for proof in each.proof)
    if found.other:
        yield found.other


def root_of(world: World, track: Track) -> Track:
    """Return the first incarnation of the name at the end of a track's chain of owners."""
    return world.incarnations(world.root(track).name)[0]


def _subject(world: World, found: Finding) -> Track:
    """Return the track with which a finding is shown: its subject, or, if that was not observed, the first object of
    its proof."""
    tracks = (world.track((name_of(ref), ref.uid)) for ref in named(found))
    return next(track for track in tracks if track)
