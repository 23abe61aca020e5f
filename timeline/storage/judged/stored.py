"""Read findings as they are stored, and put into JSON what connects their occurrences."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from timeline.history.lifelines import Name
from timeline.judging.findings import Link, Root
from timeline.judging.incidents.partition import Piece
from timeline.payloads.incidents.occurrences import StoredFinding

if TYPE_CHECKING:
    from django.db.models import QuerySet

    from timeline.models import Finding

_COLUMNS = ("subject", "root", "document", "occurrences", "incident", "incidents", "anchor", "namespaces", "pieces")


def read(findings: "QuerySet[Finding]") -> Iterator[StoredFinding]:
    """Yield these findings."""
    for row in findings.values_list(*_COLUMNS).iterator():
        subject, root, document, occurrences, incident, incidents, anchor, namespaces, stored = row
        named = Name(*anchor) if anchor else None
        places = incidents if incidents and len(incidents) == len(occurrences) else [incident] * len(occurrences)
        pieces = _pieces(document["id"], document["rule"], named, occurrences, stored) if named else ()
        yield StoredFinding(subject, root, document, occurrences, places, named, namespaces, pieces)


def pieces(found: StoredFinding) -> list[Any] | None:
    """Return what connects the occurrences of a finding with others, as the column `Finding.pieces` has it: of each
    [keys, [[root, key, names, since, until] of each link], the name of the object that came late or was removed].

    Return None if nothing does.
    """
    if not any(each.keys or each.cause for each in found.pieces):
        return None
    return [
        [each.keys, [[int(link.root), link.key, link.names, link.since, link.until] for link in each.links], each.cause]
        for each in found.pieces
    ]


def _pieces(
    finding: str, rule: str, anchor: Name, occurrences: Sequence[dict[str, Any]], stored: list[Any] | None
) -> tuple[Piece, ...]:
    known = stored if stored and len(stored) == len(occurrences) else [((), (), ())] * len(occurrences)
    return tuple(
        Piece(
            finding,
            number,
            rule,
            anchor,
            each["first"],
            each["last"],
            tuple(keys),
            tuple(Link(Root(root), key, tuple(names), since, until) for root, key, names, since, until in links),
            tuple(cause),
        )
        for number, (each, (keys, links, cause)) in enumerate(zip(occurrences, known, strict=True))
    )
