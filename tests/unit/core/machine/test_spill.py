"""These tests put rows and values into files, and read them again."""

from pathlib import Path
from tempfile import gettempdir

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.properties import examples
from timeline.core.machine.columns import in_order
from timeline.core.machine.spill import Spill
from timeline.core.order import CommitClock

stamps = st.tuples(st.integers(1, 40) | st.integers(2**64, 2**64 + 3), st.integers(0, 50), st.integers(0, 60))


@examples(50)
@given(st.lists(stamps))
def test_a_clock_of_many_commits_draws_like_any_other(commits: list[tuple[int, int, int]]) -> None:
    one, many = CommitClock(commits), CommitClock.of_many(commits)
    assert ([*one.steps()], one.last) == ([*many.steps()], many.last)


@examples(12)
@given(st.lists(stamps, max_size=50))
def test_rows_that_are_sorted_in_parts_are_in_order(rows: list[tuple[int, int, int]]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("timeline.core.machine.columns._RUN", 7)
        assert [*in_order(rows)] == sorted(rows)


@examples(5)
@given(st.lists(st.binary(max_size=9000), max_size=300))
def test_what_was_put_into_a_file_is_read_again(values: list[bytes]) -> None:
    with Spill(Path(gettempdir())) as spill:
        places = [spill.put(value) for value in values]
        assert [spill.get(place) for place in places] == values
