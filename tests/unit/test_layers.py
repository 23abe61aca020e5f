"""The tests of a layer use nothing of a layer that needs more."""

import re

import pytest

from tests import ROOT

LAYERS = ["unit", "database", "process", "browser"]
IMPORTED = re.compile(r"^\s*(?:from|import) tests\.(unit|database|process|browser)\b", re.MULTILINE)


@pytest.mark.parametrize("layer", LAYERS[:-1])
def test_a_layer_imports_nothing_of_a_higher_one(layer: str) -> None:
    files = sorted((ROOT / "tests" / layer).rglob("*.py"))
    assert len(files) > 20
    higher = set(LAYERS[LAYERS.index(layer) + 1 :])
    assert [str(each) for each in files if higher & set(IMPORTED.findall(each.read_text(encoding="utf-8")))] == []
