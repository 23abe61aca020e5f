"""The example that the catalogue draws of each rule: one of its own fixtures, judged anew."""

from pathlib import Path

import pytest
from django.test import Client

from dashboard.examples import example
from tests.test_rules import FIXTURES
from timeline.judge import rulebook
from timeline.rulebook import Rule

EXAMPLES = Path(__file__).parent.parent / "timeline/rules/examples"
RULES = pytest.mark.parametrize("rule", rulebook(), ids=lambda rule: rule.id)


def test_every_example_has_a_rule() -> None:
    assert {path.stem for path in EXAMPLES.glob("*.jsonl")} == {rule.id for rule in rulebook()}


@RULES
def test_an_example_is_one_of_the_rules_own_fixtures(rule: Rule) -> None:
    shown = (EXAMPLES / f"{rule.id}.jsonl").read_bytes()
    assert shown in [path.read_bytes() for path in (FIXTURES / rule.id).glob("fires-*.jsonl")]


@RULES
def test_the_rule_finds_something_in_it_that_can_be_drawn(rule: Rule) -> None:
    drawn = example(rule)
    assert drawn and drawn.finding["rule"] == rule.id
    picture = drawn.picture
    assert picture.bars and picture.lanes and picture.ticks
    assert drawn.finding["proof"][0]["role"]
    assert all(0 <= float(bar.at.rstrip("%")) <= 100 for bar in picture.bars)


@RULES
def test_a_page_tells_all_of_a_rule(client: Client, rule: Rule) -> None:
    answer = client.get(f"/rules/{rule.id}/")
    told = answer.content.decode()
    assert answer.status_code == 200
    for heading in ("What it sees", "Why it matters", "Proof", "Looks alike but is benign", "What to do"):
        assert f"<h2>{heading}</h2>" in told
    assert '<figure class="picture">' in told
    listed = client.get("/rules/").content.decode()
    assert f'href="/rules/{rule.id}/"' in listed


def test_there_is_no_page_for_no_rule(client: Client) -> None:
    answer = client.get("/rules/no-such/")
    assert answer.status_code == 404
    assert "There is no rule no-such." in answer.content.decode()
