"""`make check` names the folder, the file, the circle and the word that is not as it should be."""

from pathlib import Path

import pytest

from deploy import check_shape


def test_the_code_has_its_shape() -> None:
    paths = check_shape.tracked()
    assert [*check_shape.shapes(paths), *check_shape.unpacked(paths), *check_shape.words(paths)] == []


def test_what_is_too_large_is_named() -> None:
    named = ["new has 21 modules, and may have 20."]
    assert list(check_shape.too_large({"new": 21, "small": 20}, 20, "modules")) == named


def test_a_wing_without_a_readme_and_a_word_that_is_banned_are_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(check_shape, "ROOT", tmp_path)
    monkeypatch.setattr(check_shape, "WORDS", {r"\btold\b": 0})
    path = "timeline/new/thing.py"
    (tmp_path / path).parent.mkdir(parents=True)
    (tmp_path / path).write_text('TOLD = 1\nold = Field(db_column="told")\n')
    assert next(check_shape.shapes([path])).startswith("timeline/new has no README.md")
    assert list(check_shape.words([path])) == [r"\btold\b stands in 1 lines, and may in 0: timeline/new/thing.py:1."]
