"""This test checks that docs/rules.md is the current catalogue of the rules."""

import pytest

from dashboard.presentation.catalogue import catalogue
from dashboard.presentation.examples import example
from tests import ROOT, RULES
from tests.clients.command import process
from tests.drawn import boxes
from timeline.judge import rulebook
from timeline.judging.rulebook import Rule


def test_the_catalogue_in_the_docs_is_current() -> None:
    written = (ROOT / "docs/rules.md").read_text(encoding="utf-8")
    assert written == catalogue(), "`make docs` writes it anew"


def test_the_command_prints_the_catalogue_with_defaults_whatever_is_set() -> None:
    printed = process("rules", "--markdown", CAUSELINE_RULE_SERVICE_GAP_TEARDOWN="7")
    assert printed == (0, catalogue(), "")


EXAMPLES = ROOT / "timeline/rules/examples"
EACH = pytest.mark.parametrize("rule", rulebook(), ids=lambda rule: rule.id)


def test_every_example_has_a_rule() -> None:
    assert {path.stem for path in EXAMPLES.glob("*.jsonl")} == {rule.id for rule in rulebook()}


@EACH
def test_an_example_is_one_of_the_rules_own_fixtures(rule: Rule) -> None:
    shown = (EXAMPLES / f"{rule.id}.jsonl").read_bytes()
    assert shown in [path.read_bytes() for path in (RULES / rule.id).glob("fires-*.jsonl")]


@EACH
def test_the_rule_finds_something_in_it_that_can_be_drawn(rule: Rule) -> None:
    drawn = example(rule)
    assert drawn and drawn.finding["rule"] == rule.id
    bars = boxes(drawn.picture, "bar")
    assert bars and drawn.picture.lanes and drawn.picture.ticks
    assert drawn.finding["proof"][0]["role"]
    assert all(0 <= float(at.rstrip("%")) <= 100 for at, _ in bars)
