"""These tests check the example of each rule in the catalogue: it is one of the rule's own fixtures."""

import pytest

from dashboard.presentation.examples import example
from tests import ROOT, RULES
from timeline.judge import rulebook
from timeline.judging.rulebook import Rule

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
    picture = drawn.picture
    assert picture.bars and picture.lanes and picture.ticks
    assert drawn.finding["proof"][0]["role"]
    assert all(0 <= float(bar.at.rstrip("%")) <= 100 for bar in picture.bars)
