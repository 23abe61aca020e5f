"""This test checks that docs/rules.md is the current catalogue of the rules."""

from dashboard.presentation.catalogue import catalogue
from tests import ROOT
from tests.command import process


def test_the_catalogue_in_the_docs_is_current() -> None:
    written = (ROOT / "docs/rules.md").read_text(encoding="utf-8")
    assert written == catalogue(), "`make docs` writes it anew"


def test_the_command_prints_the_catalogue_with_defaults_whatever_is_set() -> None:
    printed = process("rules", "--markdown", CAUSELINE_RULE_SERVICE_GAP_TEARDOWN="7")
    assert printed == (0, catalogue(), "")
