"""These tests parse times as people and alerts write them."""

import pytest

from dashboard.web.timestamps import parsed

MOMENT = 1_795_247_520_841_000


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("2026-11-21T07:52:00.841Z", MOMENT),
        ("2026-11-21T08:52:00.841+01:00", MOMENT),
        ("2026-11-21T08:52:00.841 01:00", MOMENT),  # from a link that does not escape the +
        ("2026-11-21 07:52:00.841", MOMENT),
        ("1795247520.841", MOMENT),
        ("1795247520841", MOMENT),
        ("1795247520841000", MOMENT),
        ("1795247520841000000", MOMENT),
        ("1795247520", MOMENT - 841_000),
        (" 2026-11-21 ", 1_795_219_200_000_000),
        ("2026-11-21 07:52:00.841 +0000 UTC", MOMENT),  # from Go's {{ .StartsAt }}
        ("2026-11-21 07:52:00.841  0000 UTC", MOMENT),
        ("2026-11-21 08:52:00.841000123 +0100 CET", MOMENT),
        ("2026-11-21 07:52:00.841 +0000 UTC m=+12.5", MOMENT),
        ("1.795247520841e+09", MOMENT),  # from a number that Go prints
        ("1.795247520841e 09", MOMENT),
        ("1.795247520841e+12", MOMENT),
    ],
)
def test_it_is_understood(text: str, moment: int) -> None:
    assert parsed(text) == moment


@pytest.mark.parametrize(
    "text", ["", "yesterday", "2026-13-45", "-5", "1.5.2", "1e99", "1e", "9" * 40, "0001-01-01T00:00Z"]
)
def test_what_is_no_moment_is_listed_with_how_to_write_one(text: str) -> None:
    with pytest.raises(ValueError, match="Write it as RFC 3339"):
        parsed(text)
