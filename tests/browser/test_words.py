"""What the page says of times and lengths: the same as Python says, and never more than is known."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page

CASES = json.loads((Path(__file__).parent.parent / "lengths.json").read_text())
Within = tuple[int, int | None]  # µs before and after the drawn time
SECOND = 1_000_000
AT = 1795247551 * SECOND  # 07:52:31
WHOLE: Within = (0, SECOND)  # of an object that tells a whole second


def of(page: Page, module: str, name: str, calls: Sequence[Any]) -> Any:
    """What a function of a module answers to each of these lists of arguments."""
    call = (
        f"(calls) => import('/static/dashboard/js/{module}.js').then((its) => calls.map((each) => its.{name}(...each)))"
    )
    return page.evaluate(call, calls)


@pytest.fixture
def told(page: Page, site: str) -> Page:
    page.goto("/")
    return page


def test_a_length_is_said_as_the_shared_cases_say_it(told: Page) -> None:
    assert of(told, "state/durations", "words", [[case] for case in CASES]) == [case["words"] for case in CASES]


def test_what_lies_between_two_changes_is_as_long_as_their_clocks_tell(told: Page) -> None:
    cases: list[tuple[int, Within | None, Within | None, str]] = [
        (755, WHOLE, WHOLE, "≤ 1.1 s"),
        (0, WHOLE, WHOLE, "≤ 1 s"),
        (7 * SECOND, WHOLE, WHOLE, "6–8 s"),
        (52_954, (0, 2_290), (7_900, 0), "≈ 50 ms"),
        (52_954, (0, 0), (0, 0), "53 ms"),
        (3 * SECOND, WHOLE, (0, None), "at least 2 s"),
        (3 * SECOND, (0, None), (0, None), "an unknown time"),
        (755, None, WHOLE, "an unknown time"),
    ]
    ends = [[{"time": AT, "within": one}, {"time": AT + apart, "within": other}] for apart, one, other, _ in cases]
    lengths = of(told, "state/durations", "apart", ends)
    assert of(told, "state/durations", "words", [[each] for each in lengths]) == [words for *_, words in cases]


def test_a_change_tells_its_time_with_the_digits_of_its_clock(told: Page) -> None:
    cases: list[tuple[int, Within | None, str]] = [
        (AT, WHOLE, "07:52:31"),
        (AT + 384_112, (384_112, SECOND - 384_112), "07:52:31"),
        (AT + 384_112, (SECOND, 0), "07:52:30–07:52:32"),
        (AT, (0, None), "07:52:31"),
        (AT + 384_112, (0, 7_900), "07:52:31.384112"),
        (AT + 384_112, (0, None), "07:52:31.384112"),
        (AT, None, "07:52:31"),
    ]
    assert of(told, "state/time", "instant", [case[:2] for case in cases]) == [words for *_, words in cases]
