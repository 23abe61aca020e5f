"""These tests load rules."""

import importlib
import sys
from pathlib import Path

import pytest

from timeline.judging.rulebook import load


def test_rules_can_stand_in_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(tmp_path))
    family = tmp_path / "shelved_rules" / "storage"
    family.mkdir(parents=True)
    for module in (family.parent / "__init__.py", family / "__init__.py", family / "a_rule.py"):
        module.write_text("")
    load(importlib.import_module("shelved_rules"))
    assert "shelved_rules.storage.a_rule" in sys.modules
    for name in [each for each in sys.modules if each.startswith("shelved_rules")]:
        del sys.modules[name]
