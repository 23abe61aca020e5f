"""These tests check durations in words: they are as exact as they are known, and no more."""

import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests import ROOT
from timeline.core.durations import Length

CASES = json.loads((ROOT / "tests/lengths.json").read_text())
SIZES = {"h": 3_600_000_000, "min": 60_000_000, "s": 1_000_000, "ms": 1_000, "µs": 1}
TIMES = st.integers(0, 2 * 86_400_000_000) | st.integers(0, 2_000_000)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["words"])
def test_a_length_is_said_as_the_shared_cases_say_it(case: dict[str, int | str]) -> None:
    assert str(Length(case["least"], case["most"])) == case["words"]  # type: ignore[arg-type]


@given(TIMES, TIMES)
def test_the_middle_that_is_reported_lies_between_the_bounds(one: int, other: int) -> None:
    least, most = sorted((one, other))
    words = str(Length(least, most))
    if words.startswith("≈") and most - least >= most // 50:  # otherwise the last digit is coarser than the interval
        assert least - 1 <= microseconds(words) <= most + 1 or most >= 60_000_000


@given(TIMES, TIMES)
def test_what_is_reported_as_certain_holds_all_that_it_can_be(one: int, other: int) -> None:
    least, most = sorted((one, other))
    words = Length(least, most).certain.removeprefix("≤ ")
    low, _, high = words.rpartition("–")
    unit = words.rsplit(" ", 1)[1]
    assert microseconds(high or words) >= most
    if low:
        low = low.strip()
        assert microseconds(low if low[-1].isalpha() else f"{low} {unit}") <= least


@given(TIMES)
def test_at_least_is_never_more_than_is_known(least: int) -> None:
    assert least == 0 or microseconds(str(Length(least, None))) <= least


def microseconds(words: str) -> float:
    return sum(float(number) * SIZES[unit] for number, unit in re.findall(r"([\d.]+) (h|min|s|ms|µs)", words))
