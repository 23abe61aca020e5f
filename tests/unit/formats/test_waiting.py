"""What waits for the end of a log comes back in the order of its lines."""

from operator import itemgetter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collectors.formats.waiting import Waiting
from tests.properties import examples


@examples(25)
@given(late=st.lists(st.integers(0, 30), max_size=60))
def test_items_are_in_the_order_of_their_lines(late: list[int]) -> None:
    items = [(number + by, number) for number, by in enumerate(late)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("collectors.formats.waiting._TOGETHER", 7)
        waiting: Waiting[tuple[int, int]] = Waiting(itemgetter(0))
        for item in items:
            waiting.add(item)
        assert [*waiting] == sorted(items, key=itemgetter(0))
