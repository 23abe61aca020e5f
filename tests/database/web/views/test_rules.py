"""These tests check the pages of the catalogue of rules."""

from django.test import Client

from timeline.judge import rulebook


def test_a_page_tells_all_of_a_rule(client: Client) -> None:
    listed = client.get("/rules/").content.decode()
    for rule in rulebook():
        assert f'href="/rules/{rule.id}/"' in listed
        answer = client.get(f"/rules/{rule.id}/")
        html = answer.content.decode()
        assert answer.status_code == 200 and '<figure class="picture">' in html, rule.id
        for heading in ("What it sees", "Why it matters", "Proof", "Looks alike but is benign", "What to do"):
            assert f"<h2>{heading}</h2>" in html, rule.id


def test_there_is_no_page_for_no_rule(client: Client) -> None:
    answer = client.get("/rules/no-such/")
    assert answer.status_code == 404
    assert "There is no rule no-such." in answer.content.decode()
