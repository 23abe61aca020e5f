"""Say for how many findings a cause is proven, and what joins the others to them. It does no I/O."""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping

from timeline.judging.findings import Root
from timeline.judging.incidents.partition import Piece

_LINKS = {
    Root.LOST_LEASE: "the same loss of the Lease",
    Root.CONFIGURATION: "the same configuration",
    Root.REFUSAL: "the same refusal",
    Root.OLD_COPIES: "the same old copies",
    Root.MISSING: "the same missing object",
}
_WRITE = "a shared write"
_LATER = "a root of the same name at another time"
_ORDER = [*_LINKS.values(), _WRITE, _LATER]


def with_extent(
    cause: str, proven: Collection[str], findings: Collection[str], known: Iterable[Piece], of: str = ""
) -> str:
    """Return a cause with sentences that say for how many of these findings causes of its kind are proven, and what
    joins the others.

    `proven` and `findings` are ids, and `of` says whose findings these are. `known` has the occurrences among which
    links are looked for: usually those of the whole incident.
    """
    if len(findings) == 1:
        return cause
    if len(proven) == len(findings):
        return f"{cause} A cause of this kind is proven for all {len(findings)} findings{of}."
    some = f"{len(proven)} of {len(findings)} findings{of}"
    return f"{cause} A cause of this kind is proven for {some}. {_of_others({*findings}.difference(proven), known)}"


def _of_others(others: Collection[str], known: Iterable[Piece]) -> str:
    """Return what joins findings for which no cause is proven, in a sentence."""
    pieces: dict[str, list[Piece]] = defaultdict(list)
    holders: dict[str, set[str]] = defaultdict(set)
    for each in known:
        pieces[each.finding].append(each)
        for key in each.keys:
            holders[key].add(each.finding)
    joined = Counter(filter(None, (_link(pieces[other], holders) for other in others)))
    alone = len(others) - joined.total()
    named = "the other one" if len(others) == 1 else f"the other {len(others)}"
    if not joined:
        return f"For {named}, none of this kind is proven."
    words = sorted(joined, key=_ORDER.index)
    if len(words) == 1 and not alone:
        return f"{named.capitalize()} {'is' if len(others) == 1 else 'are'} joined by {words[0]}."
    parts = [f"{joined[word]} {_be(joined[word], place)}by {word}" for place, word in enumerate(words)]
    listed = ", ".join(parts[:-1]) + (" and " if parts[1:] else "") + parts[-1]
    return f"Of {named}, {listed}{f'; for {alone}, none of this kind is proven' if alone else ''}."


def _be(number: int, place: int) -> str:
    return "" if place else "is joined " if number == 1 else "are joined "


def _link(pieces: Iterable[Piece], holders: Mapping[str, Collection[str]]) -> str:
    """Return what joins a finding with others; "" if nothing does."""
    links = sorted((link for each in pieces for link in each.links), key=lambda link: link.root)
    shared = {key for each in pieces for key in each.keys if len(holders[key]) > 1}
    if word := next((_LINKS[link.root] for link in links if link.key in shared), ""):
        return word
    return _WRITE if shared else _LATER if links else ""
