"""Routes in a real browser: a destination and a route are made, tried and disabled; the deliveries are listed."""

from playwright.sync_api import Page, expect

from tests.answering import receiving
from tests.browser.test_with_axe import usable_everywhere


def test_a_route_is_made_and_tried(page: Page, site: str) -> None:
    name = "pager"
    page.goto("/incidents/")
    page.get_by_role("link", name="Routes").click()
    with receiving() as receiver:
        page.get_by_label("New destination").select_option("webhook")
        page.get_by_role("button", name="Continue…").click()
        page.get_by_label("Name").fill(name)
        page.get_by_label("Address").fill(f"{receiver.url}/hook")
        page.get_by_label("Secret").fill("s" * 32)
        usable_everywhere(page)
        page.get_by_role("button", name="Save").click()
        page.get_by_role("button", name=f"Send a test message to {name}").click()
        expect(page.get_by_role("status")).to_contain_text("sent. 200 OK")
        assert [each.path for each in receiver.requests] == ["/hook"]
    page.get_by_role("link", name="New route…").click()
    page.get_by_label("Name", exact=True).fill(name)
    page.get_by_role("checkbox", name=name).check()
    page.get_by_text("Quiet hours").click()
    page.get_by_label("Saturday").check()
    usable_everywhere(page)
    page.get_by_role("button", name="Save").click()
    page.get_by_role("button", name=f"Disable {name}").click()
    expect(page.get_by_role("button", name=f"Enable {name}")).to_be_visible()
    usable_everywhere(page)
    page.get_by_role("link", name="Deliveries").click()
    expect(page.get_by_text(f"to {name}")).to_be_visible()
    usable_everywhere(page)
