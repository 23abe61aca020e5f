"""These tests hold that the title of an incident says of its beginning only what is proven of that."""

import pytest

from timeline.history.lifelines import Name
from timeline.judging.findings import Link, Root
from timeline.judging.incidents.partition import Episode, Piece
from timeline.payloads.incidents.titles import root_of

SECOND = 1_000_000
OLD, LOST = ("job-controller", "batch", "Job"), ("kube-system", "kcm")


def episode(root: Root, names: tuple[str, ...], since: int, until: int) -> Episode:
    """Return an episode with a symptom that begins before its root and ends after it."""
    piece = Piece("f", 0, "job-excess-pods", Name("batch", "Job", "n", "sum"), 0, 90 * SECOND, ("k",), (), ())
    return Episode("i", Link(root, "k", names, since * SECOND, until * SECOND), (piece,))


@pytest.mark.parametrize(
    ("found", "title"),
    [
        ([episode(Root.OLD_COPIES, OLD, 10, 16)], "job-controller acted on old copies of Jobs for 6 s"),
        ([episode(Root.OLD_COPIES, OLD, 10, 10)], "job-controller acted on old copies of Jobs"),
        ([episode(Root.OLD_COPIES, OLD, 10, 16)] * 2, "job-controller acted on old copies of Jobs, 2 times"),
        (
            [episode(Root.LOST_LEASE, LOST, 1, 19)],
            "The old holder of Lease kcm went on writing after it had lost it for 18 s",
        ),
    ],
)
def test_it_lasted_as_long_as_its_own_writes_and_not_as_a_symptom(found: list[Episode], title: str) -> None:
    assert root_of(found) == title
