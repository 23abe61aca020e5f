"""These tests check the columns of the tables that kubectl shows."""

import pytest

from collectors.replay.tables.columns import _age_text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0, "0s"), (119, "119s"), (187, "3m7s"), (600, "10m"), (3 * 3600, "3h"), (5 * 3600 + 60, "5h1m"), (90_000, "25h")],
)
def test_ages_are_written_as_kubectl_writes_them(seconds: int, text: str) -> None:
    born = 1_795_250_000
    assert _age_text("2026-11-21T08:33:20Z", (born + seconds) * 1_000_000) == text
    assert _age_text(None, 0) == "<unknown>"
