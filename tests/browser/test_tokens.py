"""Access tokens in a real browser: one is made, copied, used and revoked."""

from playwright.sync_api import Page, expect

from tests.browser.conftest import copied
from tests.browser.test_with_axe import usable_everywhere


def test_a_token_is_made_shown_once_and_revoked(page: Page, site: str) -> None:
    page.context.grant_permissions(["clipboard-read", "clipboard-write"], origin=site)
    page.goto("/clusters/")
    page.get_by_role("link", name="Access tokens").click()
    name = "grafana"
    page.get_by_label("Name").fill(name)
    page.get_by_role("button", name="Create the token").click()
    text = page.locator("#text").inner_text()
    page.get_by_role("button", name="Copy the token").click()
    assert copied(page, text) == text
    usable_everywhere(page)
    answer = page.request.get("/api/rules", headers={"Authorization": f"Bearer {text}"})
    assert answer.ok
    page.goto("/tokens/")
    expect(page.get_by_text(text)).to_have_count(0)
    page.get_by_role("button", name=f"Revoke {name}").click()
    expect(page.get_by_role("heading", name=f"Revoke {name}?")).to_be_visible()
    page.get_by_role("button", name=f"Revoke {name}").click()
    expect(page.get_by_role("heading", name="Access tokens")).to_be_visible()
    expect(page.get_by_role("button", name=f"Revoke {name}")).to_have_count(0)
    assert page.request.get("/api/rules", headers={"Authorization": f"Bearer {text}"}).status == 401
