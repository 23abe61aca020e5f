"""These tests check the pages of the catalogue of rules."""

import pytest
from django.test import Client

from timeline.judge import rulebook
from timeline.judging.rulebook import Rule


@pytest.mark.parametrize("rule", rulebook(), ids=lambda rule: rule.id)
def test_a_page_tells_all_of_a_rule(client: Client, rule: Rule) -> None:
    answer = client.get(f"/rules/{rule.id}/")
    html = answer.content.decode()
    assert answer.status_code == 200
    for heading in ("What it sees", "Why it matters", "Proof", "Looks alike but is benign", "What to do"):
        assert f"<h2>{heading}</h2>" in html
    assert '<figure class="picture">' in html
    listed = client.get("/rules/").content.decode()
    assert f'href="/rules/{rule.id}/"' in listed


def test_there_is_no_page_for_no_rule(client: Client) -> None:
    answer = client.get("/rules/no-such/")
    assert answer.status_code == 404
    assert "There is no rule no-such." in answer.content.decode()
