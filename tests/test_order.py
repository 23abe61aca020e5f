"""Commit order and drawn times."""

import random

from hypothesis import given
from hypothesis import strategies as st

from timeline.order import CommitClock, Stamp, delay_bounds, precedes


@st.composite
def logs(draw: st.DrawFn) -> list[Stamp]:
    """Stamps of a log in which each commit truly happened, in order of revisions, within its bracket."""
    steps = draw(
        st.lists(st.tuples(st.integers(1, 50), st.integers(0, 200), st.integers(0, 200)), min_size=1, max_size=40)
    )
    time, stamps = 10_000, []
    for revision, (step, before, after) in enumerate(steps, start=100):
        time += step
        stamps.append(Stamp(revision, time - before, time + after))
    return stamps


@given(logs(), st.randoms(use_true_random=False))
def test_drawn_times_follow_the_revisions_and_stay_in_their_brackets(log: list[Stamp], chance: random.Random) -> None:
    given_order = log + log[::2]
    chance.shuffle(given_order)
    clock = CommitClock(given_order)
    drawn = [clock.drawn(stamp) for stamp in log]
    assert drawn == sorted(drawn)
    assert all(stamp.received <= time <= stamp.staged for stamp, time in zip(log, drawn, strict=True))
    assert drawn == [CommitClock(log).drawn(stamp) for stamp in log]


def test_a_write_answered_late_does_not_drag_the_others_along() -> None:
    # RV 7 waits from 1 to 900 and is committed before RV 8, whose request came at 500.
    clock = CommitClock([Stamp(7, 1, 900), Stamp(8, 500, 600)])
    assert clock.drawn(Stamp(7, 1, 900)) == 1
    assert clock.drawn(Stamp(8, 500, 600)) == 500


def test_a_no_op_that_repeats_an_old_revision_moves_nothing() -> None:
    clock = CommitClock([Stamp(7, 10, 20), Stamp(8, 30, 40), Stamp(7, 5_000, 5_010)])
    assert clock.drawn(Stamp(8, 30, 40)) == 30


def test_a_stale_answer_whose_own_write_was_never_seen_moves_nothing() -> None:
    # RV 7 is told at 5000 by an answer that repeats it; RV 8 had been answered at 40, so 7 was written before.
    clock = CommitClock([Stamp(8, 30, 40), Stamp(7, 5_000, 5_010), Stamp(9, 60, 70)])
    assert [clock.drawn(stamp) for stamp in (Stamp(8, 30, 40), Stamp(9, 60, 70))] == [30, 60]


def test_revisions_decide_before_clocks_do() -> None:
    early, late = Stamp(582, 900, 910), Stamp(592, 100, 110)
    assert precedes(early, late) is True
    assert precedes(late, early) is False


def test_without_revisions_overlapping_requests_have_no_order() -> None:
    a, b, c = Stamp(None, 10, 20), Stamp(None, 15, 25), Stamp(None, 21, 30)
    assert precedes(a, b) is None
    assert precedes(a, c) is True
    assert precedes(c, a) is False


def test_a_delay_is_known_as_an_interval() -> None:
    assert delay_bounds(Stamp(1, 841_106, 849_006), Stamp(2, 894_060, 896_460)) == (0.045054, 0.055354)
    assert delay_bounds(Stamp(1, 10, 500), Stamp(2, 20, 600))[0] == 0
