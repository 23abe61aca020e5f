"""These tests say what joins findings of an incident for which no cause is proven."""

from timeline.history.lifelines import Name
from timeline.judging.findings import Link, Root
from timeline.judging.incidents.partition import Piece
from timeline.payloads.incidents.extents import with_extent

LEASE = Link(Root.LOST_LEASE, "lease", ("n", "ctl"), 0, 1)
COPIES = Link(Root.OLD_COPIES, "copies", ("job-controller", "batch", "Job"), 0, 1)


def piece(finding: str, *links: Link, writes: tuple[str, ...] = ()) -> Piece:
    keys = (*(link.key for link in links), *writes)
    return Piece(finding, 0, "job-excess-pods", Name("batch", "Job", "n", "train"), 0, 1, keys, links, ())


def said(proven: str, findings: str, *pieces: Piece) -> str:
    return with_extent("Reason.", proven, findings, pieces).removeprefix("Reason. A cause of this kind is proven for ")


def test_all_others_are_joined_by_one_link() -> None:
    assert with_extent("Reason.", "a", "a", [piece("a")]) == "Reason."
    assert said("ab", "ab", piece("a"), piece("b")) == "all 2 findings."
    joined = [piece(name, COPIES) for name in "abc"]
    assert said("a", "ab", *joined) == "1 of 2 findings. The other one is joined by the same old copies."
    assert said("a", "abc", *joined) == "1 of 3 findings. The other 2 are joined by the same old copies."


def test_each_other_is_joined_by_the_first_link_that_it_shares() -> None:
    pieces = [
        piece("a", LEASE, COPIES),
        piece("b", COPIES, LEASE),
        piece("c", COPIES),
        piece("d", writes=("one",)),
        piece("e", writes=("one", "two")),
        piece("f", Link(Root.OLD_COPIES, "later", COPIES.names, 5, 6)),
        piece("g", writes=("three",)),
    ]
    assert said("a", "abcdefg", *pieces) == (
        "1 of 7 findings. Of the other 6, 1 is joined by the same loss of the Lease, 1 by the same old copies, 2 by a"
        " shared write and 1 by a root of the same name at another time; for 1, none of this kind is proven."
    )


def test_what_others_hold_counts_though_they_are_not_of_these_findings() -> None:
    pieces = [piece("a", writes=("one",)), piece("b", writes=("two",)), piece("x", writes=("two",))]
    assert said("a", "ab", *pieces) == "1 of 2 findings. The other one is joined by a shared write."
    assert said("a", "ab", *pieces[:2]) == "1 of 2 findings. For the other one, none of this kind is proven."
