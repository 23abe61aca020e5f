"""These tests check the commit order, and the times at which changes are drawn."""

import random

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from timeline.core.entries import FOREVER
from timeline.core.order import CommitClock, Stamp, delay_bounds, offsets, precedes


def clock_of(log: list[Stamp]) -> CommitClock:
    return CommitClock((stamp.resource_version or 0, stamp.received, stamp.staged) for stamp in log)


@st.composite
def logs(draw: st.DrawFn) -> list[Stamp]:
    """Return stamps of a log in which each commit happened within its interval, in order of revisions."""
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
    clock = clock_of(given_order)
    drawn = [clock.drawn(*stamp[:3]) for stamp in log]
    assert drawn == sorted(drawn)
    assert all(stamp.received <= time <= stamp.staged for stamp, time in zip(log, drawn, strict=True))
    assert drawn == [clock_of(log).drawn(*stamp[:3]) for stamp in log]


@pytest.mark.parametrize(
    ("log", "expected"),
    [
        # RV 7 waits from 1 to 900 and is committed before RV 8, whose request came at 500.
        ([Stamp(7, 1, 900), Stamp(8, 500, 600)], [1, 500]),
        ([Stamp(7, 10, 20), Stamp(8, 30, 40), Stamp(7, 5_000, 5_010)], [None, 30, None]),
        # RV 7 is in an answer at 5000 that repeats it; RV 8 was answered at 40, so 7 was written before.
        ([Stamp(8, 30, 40), Stamp(7, 5_000, 5_010), Stamp(9, 60, 70)], [30, None, 60]),
    ],
    ids=[
        "a write answered late does not drag the others along",
        "a no-op that repeats an old revision moves nothing",
        "nor does a stale answer whose own write was never seen",
    ],
)
def test_drawn_times(log: list[Stamp], expected: list[int | None]) -> None:
    drawn = [clock_of(log).drawn(*stamp[:3]) for stamp in log]
    assert [time if wanted is not None else None for time, wanted in zip(drawn, expected, strict=True)] == expected


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        (Stamp(582, 900, 910), Stamp(592, 100, 110), True),  # revisions decide before clocks do
        (Stamp(592, 100, 110), Stamp(582, 900, 910), False),
        (Stamp(None, 10, 20), Stamp(None, 15, 25), None),  # without revisions, requests that overlap have no order
        (Stamp(None, 10, 20), Stamp(None, 21, 30), True),
        (Stamp(None, 21, 30), Stamp(None, 10, 20), False),
        (Stamp(5, 100, 110), Stamp(9, 100, 110, "events"), None),  # revisions of different counters are not compared
        (Stamp(9, 100, 110), Stamp(5, 200, 210, "events"), True),
        # A second was read before the commit, so the next second may have come first.
        (Stamp(None, 10_000_000, FOREVER), Stamp(None, 11_000_000, FOREVER), None),
        (Stamp(None, 10_000_000, FOREVER), Stamp(None, 12_000_000, FOREVER), True),
    ],
)
def test_what_is_known_of_an_order(one: Stamp, other: Stamp, expected: bool | None) -> None:
    assert precedes(one, other) is expected


def test_a_delay_is_known_as_an_interval() -> None:
    assert delay_bounds(Stamp(1, 841_106, 849_006), Stamp(2, 894_060, 896_460)) == (0.045054, 0.055354)
    assert delay_bounds(Stamp(1, 10, 500), Stamp(2, 20, 600))[0] == 0
    seconds = (Stamp(None, second * 1_000_000, FOREVER) for second in (10, 12))
    assert delay_bounds(*seconds) == (1.0, 3.0)


@given(logs(), st.integers(0, 40))
def test_a_clock_that_grows_draws_as_one_that_knew_all_or_refuses(log: list[Stamp], at: int) -> None:
    growing, whole = clock_of(log[:at]), clock_of(log)
    if growing.extend((stamp.resource_version or 0, stamp.received, stamp.staged) for stamp in log[at:]):
        assert [growing.drawn(*stamp[:3]) for stamp in log] == [whole.drawn(*stamp[:3]) for stamp in log]
    else:
        assert [growing.drawn(*stamp[:3]) for stamp in log[:at]] == [clock_of(log[:at]).drawn(*s[:3]) for s in log[:at]]


def test_a_revision_that_comes_late_is_not_slipped_into_a_growing_clock() -> None:
    clock = clock_of([Stamp(7, 10, 20), Stamp(9, 30, 40)])
    assert not clock.extend([(8, 15, 25)])
    assert clock.drawn(9, 30, 40) == 30


@given(
    st.lists(st.tuples(st.integers(0, 60), st.integers(0, 30), st.booleans()), min_size=1, max_size=30),
    st.randoms(use_true_random=False),
)
@example([(1, 0, False), (2, 0, True), (0, 0, False)], random.Random(0))  # the second adds no step to the clock
def test_a_clock_that_takes_in_late_commits_draws_as_one_that_knew_all_and_says_what_moved(
    commits: list[tuple[int, int, bool]], chance: random.Random
) -> None:
    """Watches run side by side: each commit may arrive after later ones, and some bring only an earlier time."""
    log = [(rev, near, near + late if undated else 0) for rev, (near, late, undated) in enumerate(commits, start=100)]
    arriving = chance.sample(log, len(log))
    growing = CommitClock()
    for count, (revision, near, _) in enumerate(arriving):
        before = {rev: growing.drawn(rev, at, FOREVER, undated) for rev, at, undated in arriving[:count]}
        above, below, since, time = growing.insert(revision, near) or (0, 0, 0, 0)
        after = {rev: growing.drawn(rev, at, FOREVER, undated) for rev, at, undated in arriving[:count]}
        moved = {rev for rev in before if before[rev] != after[rev]}
        assert moved <= set(range(above + 1, below))
        assert all(rev >= since or undated > time for rev, _, undated in log if rev in moved)
        whole = CommitClock((rev, at, FOREVER) for rev, at, _ in arriving[: count + 1])
        assert list(growing.steps()) == list(whole.steps())
        assert growing.last == whole.last


@given(logs(), st.integers(-100_000, 100_000), st.randoms(use_true_random=False))
def test_the_clock_of_another_server_is_estimated_within_what_its_neighbours_allow(
    log: list[Stamp], skew: int, chance: random.Random
) -> None:
    lines = []
    for revision, received, staged, *_ in log:
        file, shift = chance.choice([("a", 0), ("b", skew)])
        lines.append((revision or 0, file, received + shift, staged + shift))
    found = offsets(lines)
    chance.shuffle(lines)
    assert offsets(lines) == found
    assert all(abs(abs(offset) - abs(skew)) <= 400 + 50 * len(log) for offset in found.values())


def test_two_servers_whose_clocks_agree_are_left_alone_and_one_that_is_ahead_is_set_back() -> None:
    agree = [(rv, "ab"[rv % 2], rv * 100, rv * 100 + 50) for rv in range(50)]
    ahead = [(rv, file, at + 9_000 * (file == "b"), end + 9_000 * (file == "b")) for rv, file, at, end in agree]
    assert offsets(agree) == {}
    assert offsets(ahead).keys() in ({"a"}, {"b"})
    assert all(abs(abs(offset) - 9_000) < 100 for offset in offsets(ahead).values())


def test_of_three_servers_the_one_whose_clock_is_off_is_set_right_although_it_logs_the_most() -> None:
    files = "abbcbacb"
    lines = [(rv, file := files[rv % 8], rv * 100 + 9_000 * (file == "b"), 0) for rv in range(120)]
    assert offsets((rv, file, at, at + 50) for rv, file, at, _ in lines).keys() == {"b"}
