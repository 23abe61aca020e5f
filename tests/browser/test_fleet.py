"""The home page as a table of many clusters and recordings: it is sorted, filtered and read by pages, and moves by
itself."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Page, expect

from tests.browser.test_with_axe import usable_everywhere
from tests.running import Running, running
from tests.visitor import Visitor


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """A Causeline with 20 clusters and 40 recordings."""
    with running(tmp_path_factory.mktemp("many"), "web") as started:
        started.manage("shell", "-c", "from tests.fleet import fill; fill(20, 40)")
        yield started


def test_the_table_can_be_used_by_everyone(page: Page, many: Running) -> None:
    page.goto(many.door)
    expect(page.get_by_role("heading", level=1)).to_contain_text("20 clusters, 40 recordings")
    expect(page.locator(".fleet-table tbody tr")).to_have_count(50)
    usable_everywhere(page)
    page.goto(f"{many.address}/clusters/")
    expect(page.get_by_role("link", name="prod-0", exact=False).first).to_be_visible()
    usable_everywhere(page)


def test_the_table_is_sorted_filtered_and_read_by_pages_with_the_keyboard(page: Page, many: Running) -> None:
    page.goto(many.door)
    rows = page.locator(".fleet-table tbody tr")
    page.get_by_role("link", name="Name", exact=True).press("Enter")
    expect(page.locator("th[aria-sort]")).to_have_text("Name")
    expect(rows.first).to_contain_text("audit-0")
    page.get_by_role("link", name="Next").press("Enter")
    expect(page.locator(".pages")).to_contain_text("Page 2 of 2")
    expect(page.locator("th[aria-sort]")).to_have_text("Name")
    page.get_by_role("searchbox", name="Name").fill("prod-1")
    page.get_by_role("searchbox", name="Name").press("Enter")
    expect(rows).to_have_count(11)
    page.get_by_role("link", name="Show all").click()
    expect(rows).to_have_count(50)


def test_what_is_sorted_and_filtered_stays_so_when_the_table_is_renewed(page: Page, many: Running) -> None:
    page.goto(many.door)
    page.goto(f"{many.address}/?sort=name&name=audit-1")
    rows = page.locator(".fleet-table tbody tr")
    expect(rows).to_have_count(11)
    number = rows.first.get_attribute("data-source")
    # The page may have been loaded when there were few of them.
    page.evaluate("document.body.classList.remove('many'); document.querySelector('h1').textContent = 'Recordings'")
    body = b'{"name": "audit-1 renamed"}'
    status, _ = Visitor(many.door).ask("PATCH", f"/api/sources/{number}", body, Content_Type="application/json")
    assert status == 200
    expect(rows.first).to_contain_text("audit-1 renamed")  # by itself
    expect(rows).to_have_count(11)
    expect(page.locator("body")).to_have_class("home many")
    expect(page.get_by_role("heading", level=1)).to_have_text("11 recordings")
    rows.first.get_by_role("button", name="Delete audit-1 renamed").click()
    expect(page.get_by_role("dialog")).to_contain_text("3 incidents")
    page.get_by_role("dialog").get_by_role("button", name="Delete").click()
    expect(rows).to_have_count(10)
    page.get_by_role("button", name="Undo: restore audit-1 renamed").click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("20 clusters, 40 recordings")
