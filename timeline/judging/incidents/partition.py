"""Find out which occurrences of findings have one cause: what proof connects is one episode. It does no I/O.

Two occurrences are connected if their proofs share an event that went wrong, came late or was removed, or if they have
a link of the same key. Nothing else connects them: not that they are near in time, nor in one namespace, nor of one
owner. The result depends neither on the order of the findings nor on that in which they were found.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator
from typing import NamedTuple

from timeline.core.entries import Change, Level
from timeline.history.lifelines import Name, name_of
from timeline.judging.coverage.lines import LinkNeeds, line, need
from timeline.judging.findings import Finding, Link, Occurrence, Part, Proof, Root, Status, digest, joined
from timeline.judging.incidents import subjects
from timeline.judging.verdicts import Verdict

Apart = tuple[str, str]  # an incident, and a symptom that a person has taken out of it, by identity

SHARED_WRITE = LinkNeeds(
    "shared-write",
    "The same write",
    "what one write caused, such as a Service that came too late for several Pods",
    needs=(
        need(line(verbs="create update status delete", level=Level.METADATA)),
        need(line(verbs="delete", level=Level.METADATA), misses="deletions that findings share"),
        need(line("Service", verbs="create"), misses="Services that came too late for several objects"),
        need(line("Pod", verbs="create"), misses="Pods that several rules have findings about"),
    ),
)


class Piece(NamedTuple):
    """One occurrence of a finding, as far as it matters for what it belongs to."""

    finding: str  # the id of the finding
    number: int  # of the occurrence, from 0
    rule: str
    anchor: Name  # of the finding
    first: int  # drawn times in microseconds since 1970
    last: int
    keys: tuple[str, ...]  # occurrences with one key in common have one cause
    links: tuple[Link, ...]
    cause: tuple[str, ...]  # the name of the object that was created too late, or deleted; () without one


class Episode(NamedTuple):
    """Occurrences that proof connects, or one alone. `identity` is equal for all episodes of one cause."""

    identity: str
    root: Link | None  # what it begins with; None if no link of it says that
    pieces: tuple[Piece, ...]  # in the order of time


def pieces_of(finding: Finding) -> Iterator[Piece]:
    """Yield the occurrences of a finding, which `timeline.judge` must have judged; none if it is withdrawn."""
    if finding.status is Status.WITHDRAWN:
        return
    assert finding.anchor
    sure = finding.verdict is not Verdict.INCONCLUSIVE
    for number, each in enumerate(finding.occurrences):
        links = each.links if sure else ()
        keys = {*(link.key for link in links), *map(_key, _shared(each) if sure else ())}
        yield Piece(
            finding.id,
            number,
            finding.rule,
            finding.anchor,
            each.first,
            each.last,
            tuple(sorted(keys)),
            links,
            _cause(each),
        )


def episodes(pieces: Iterable[Piece], apart: Collection[Apart] = ()) -> list[Episode]:
    """Return the episodes of these occurrences, in the order of time. Those of a symptom that is `apart` from their
    incident are episodes of an incident of their own."""
    ordered = sorted(pieces, key=lambda each: (each.first, each.last, each.finding, each.number))
    groups: dict[int, list[Piece]] = {}
    for place, each in zip(_connected(ordered), ordered, strict=True):
        groups.setdefault(place, []).append(each)
    found = [_episode(of_it) for of_it in groups.values()]
    return [part for each in found for part in _divided(each, apart)] if apart else found


def _divided(each: Episode, apart: Collection[Apart]) -> list[Episode]:
    """Return an episode without the symptoms that are apart from its incident, and those of each of them."""
    parts: dict[str, list[Piece]] = defaultdict(list)
    for piece in each.pieces:
        symptom = subjects.identity(piece.rule, piece.anchor)
        parts[symptom if (each.identity, symptom) in apart else ""].append(piece)
    rest = parts.pop("", [])
    kept = [each._replace(pieces=tuple(rest))] if rest else []
    return kept + [Episode(symptom, None, tuple(of_it)) for symptom, of_it in parts.items()]


def _connected(pieces: list[Piece]) -> list[int]:
    """Return the place of the first occurrence to which each of these is connected."""
    parents = list(range(len(pieces)))

    def first(place: int) -> int:
        while parents[place] != place:
            parents[place] = place = parents[parents[place]]
        return place

    holders: dict[str, int] = {}
    for place, each in enumerate(pieces):
        for key in each.keys:
            one, other = sorted((first(holders.setdefault(key, place)), first(place)))
            parents[other] = one
    return [first(place) for place in range(len(pieces))]


def _episode(of_it: Iterable[Piece]) -> Episode:
    pieces = tuple(of_it)
    if links := joined(link for each in pieces for link in each.links):
        root = min(links, key=lambda each: (each.root, each.names, each.key))
        return Episode(_of_root(root), root, pieces)
    if causes := [each.cause for each in pieces if each.cause]:
        return Episode(_of_cause(min(causes)), None, pieces)
    return Episode(min(subjects.identity(each.rule, each.anchor) for each in pieces), None, pieces)


def _of_root(root: Link) -> str:
    return digest("root", root.root.name, *root.names)


def _of_cause(cause: tuple[str, ...]) -> str:
    return digest("late", *cause)


def beginning(pieces: Iterable[Piece], identity: str) -> Name | None:
    """Return the object that an incident with some of these occurrences begins with: the Lease that was lost, or the
    object that refused writes, was missing, came late or was removed. None if it begins with none of these."""
    for each in pieces:
        if each.cause and _of_cause(each.cause) == identity:
            return Name(*each.cause)
        for link in each.links:
            if _of_root(link) == identity:
                return _object(link)
    return None


def _object(root: Link) -> Name | None:
    match root.root:
        case Root.LOST_LEASE | Root.CONFIGURATION:
            return Name("coordination.k8s.io", "Lease", *root.names)
        case Root.MISSING | Root.REFUSAL:
            return Name(*root.names)
    return None  # old copies are no object


def _shared(each: Occurrence) -> Iterator[Proof]:
    return (proof for proof in (*each.proof, *each.acts) if proof.part is not Part.STATE)


def _key(proof: Proof) -> str:
    """Return a text that tells one write of an object from all others."""
    moment = proof.moment
    revision = None if moment.change is Change.OBSERVED else moment.entry.resource_version
    written = moment.entry.identity if revision is None else str(revision)
    return "\n".join((*name_of(proof.ref), proof.ref.uid, moment.change.value, written or str(moment.at)))


def _cause(each: Occurrence) -> tuple[str, ...]:
    """Return the name of the object that was created too late, or else of the one that was deleted; () without any."""
    for part, change in ((Part.LATE, Change.CREATED), (Part.REMOVED, Change.DELETED)):
        for proof in each.proof:
            if proof.part is part and proof.moment.change is change:
                return tuple(name_of(proof.ref))
    return ()
