"""These tests check how the reader of a log keeps one copy of equal texts."""

import pytest

from collectors.normalise import interning


def test_equal_texts_are_one_object_and_only_so_many_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(interning, "_TEXTS", 3)
    text = interning.Interner().text
    first = text("".join(["na", "me"]))
    assert text("".join(["na", "me"])) is first
    for number in range(3):
        text(f"other {number}")
    again = "".join(["na", "me"])
    assert text(again) is again  # the first copy was forgotten when there were too many
