"""The list of recordings, and what was found in them; how they are renamed and go."""

import json

import pytest
from playwright.sync_api import APIResponse, Page, Route, expect

from tests.browser.everyone import PHONE, usable_everywhere
from tests.browser.home.conftest import chosen
from tests.browser.looking import fits, happens
from tests.clients.visitor import Visitor
from tests.servers.running import running

SHIFTS = """
() => new Promise((resolve) => {
  let total = 0;
  new PerformanceObserver((list) => { for (const each of list.getEntries()) total += each.value; })
    .observe({ type: "layout-shift", buffered: true });
  setTimeout(() => resolve(total), 800);
})
"""
HOSTILE = "audit-1 <img src=x onerror=ran(1)>".ljust(253, "x")
RENEW = "document.dispatchEvent(new Event('visibilitychange'))"


def test_it_shows_what_was_recorded_and_can_be_used_by_everyone(page: Page, recording: str) -> None:
    page.goto("/")
    row = page.locator(f"tr:has(a[href='{recording}'])")
    for words in "21 Nov 2026", "07:52:59", "775", "2 incidents · 4 symptoms · 7 findings", "2 more without harm":
        expect(row).to_contain_text(words)
    usable_everywhere(page)
    row.locator("[data-delete]").click()
    expect(page.get_by_role("dialog")).to_be_visible()
    usable_everywhere(page)
    page.keyboard.press("Escape")

    newest = page.locator("#newest a").first
    for place in row.locator("th a"), row.locator("[data-rename]"), row.locator("[data-delete]"), newest:
        place.focus()
        page.evaluate("document.querySelector('#recordings').dataset.old = 'yes'")
        page.evaluate(RENEW)
        expect(page.locator("#recordings[data-old]")).to_have_count(0)
        expect(place).to_be_focused()

    page.locator("#choose").focus()
    names = []
    for _ in range(30):
        page.keyboard.press("Tab")
        names.append(
            page.evaluate("document.activeElement.getAttribute('aria-label') ?? document.activeElement.className")
        )
    assert names[0] == "button"  # choose a folder
    # The newest incidents follow, or the field that filters the table of many recordings by name.
    beside = next(name for name in names[1:] if not name.startswith("Undo: "))  # of what was deleted a moment ago
    assert beside in ("newest-all", "newest-incident", "")
    rename = next(place for place, name in enumerate(names) if name.startswith("Rename "))
    assert names[rename + 1].startswith("Delete ")
    assert "" in names[:rename]  # the recording itself

    page.get_by_role("button", name="Switch between light and dark").click()
    expect(page.locator("html")).to_have_attribute("data-theme", "dark")
    page.set_viewport_size(PHONE)
    page.reload()
    expect(page.locator("html")).to_have_attribute("data-theme", "dark")
    expect(page.locator(".newest-incident, .fleet-table tbody tr").first).to_be_in_viewport()
    fits(page)


def test_deleting_asks_first_and_undo_has_the_focus_although_the_list_is_being_renewed(page: Page, site: str) -> None:
    row = chosen(page, "to-delete")
    dialog, delete = page.get_by_role("dialog"), row.get_by_role("button", name="Delete to-delete")
    delete.click()
    dialog.get_by_role("button", name="Keep").click()
    expect(row).to_have_count(1)
    expect(delete).to_be_focused()
    held: list[tuple[Route, APIResponse]] = []
    page.route(f"{site}/", lambda route: held.append((route, route.fetch())), times=1)
    page.evaluate(RENEW)
    happens(page, lambda: bool(held))
    delete.click()
    expect(dialog).to_contain_text("775 changes")
    expect(dialog).to_contain_text("10 findings")
    with page.expect_response("**/api/sources/*"):
        dialog.get_by_role("button", name="Delete").click()
    for route, before in held:
        route.fulfill(response=before)
    undo = page.get_by_role("button", name="Undo: restore to-delete")
    expect(undo).to_be_focused()
    expect(row).to_have_count(0)
    undo.press("Enter")
    expect(row).to_have_count(1)
    expect(undo).to_have_count(0)


def test_a_recording_is_renamed_where_it_stands_and_every_page_hears_of_it(page: Page) -> None:
    row = chosen(page, "to-rename")
    other = page.context.new_page()
    other.goto("/")
    expect(other.get_by_role("link", name="to-rename", exact=True)).to_be_visible()
    rename = row.get_by_role("button", name="Rename to-rename")
    rename.press("Enter")
    name = row.get_by_role("textbox", name="New name of to-rename")
    expect(name).to_be_focused()
    name.press("Escape")
    expect(row.get_by_role("link", name="to-rename", exact=True)).to_be_visible()
    expect(rename).to_be_focused()
    rename.press("Enter")
    name.fill("Friday's outage")
    name.press("Enter")
    for each in (row, other):
        expect(each.get_by_role("link", name="Friday's outage", exact=True)).to_be_visible()


@pytest.mark.parametrize("width", [360, 1440])
def test_nothing_moves_while_it_loads(newcomer: Page, recording: str, width: int) -> None:
    newcomer.set_viewport_size({"width": width, "height": 900})
    newcomer.goto("/")
    assert newcomer.evaluate(SHIFTS) < 0.005


def test_a_table_of_many_can_be_used_by_everyone_and_moves_by_itself(
    page: Page, tmp_path_factory: pytest.TempPathFactory
) -> None:
    with running(tmp_path_factory.mktemp("many"), "web") as many:
        page.goto(many.door)
        expect(page.get_by_role("heading", name="No recordings yet")).to_be_visible()
        for name in "Choose files…", "Choose a folder…":
            expect(page.get_by_role("button", name=name)).to_be_visible()

        many.manage("shell", "-c", "from tests.rows.fleet import fill; fill(20, 40)")
        page.goto(many.address)
        heading, rows = page.get_by_role("heading", level=1), page.locator(".fleet-table tbody tr")
        expect(heading).to_contain_text("20 clusters, 40 recordings")
        expect(rows).to_have_count(50)
        usable_everywhere(page)
        page.get_by_role("link", name="Name", exact=True).press("Enter")
        sorted_by = page.locator("th[aria-sort]")
        expect(sorted_by).to_have_text("Name")
        expect(rows.first).to_contain_text("audit-0")
        page.get_by_role("link", name="Next").press("Enter")
        expect(page.locator(".pages")).to_contain_text("Page 2 of 2")
        expect(sorted_by).to_have_text("Name")
        field = page.get_by_role("searchbox", name="Name")
        field.fill("prod-1")
        field.press("Enter")
        expect(rows).to_have_count(11)
        page.get_by_role("link", name="Show all").click()
        expect(rows).to_have_count(50)

        page.goto(f"{many.address}/?sort=name&name=audit-1")
        expect(rows).to_have_count(11)
        number = rows.first.get_attribute("data-source")
        # The page may have been loaded when there were few of them.
        page.evaluate("document.body.classList.remove('many'); document.querySelector('h1').textContent = 'Recordings'")
        body = json.dumps({"name": HOSTILE}).encode()
        visitor = Visitor(many.door)
        assert visitor.ask("PATCH", f"/api/sources/{number}", body, Content_Type="application/json")[0] == 200
        expect(rows.first).to_contain_text(HOSTILE)  # by itself
        expect(rows).to_have_count(11)
        expect(page.locator("body")).to_have_class("home many")
        expect(heading).to_have_text("11 recordings")
        usable_everywhere(page)
        rows.first.get_by_role("button", name="Delete audit-1").click()
        expect(page.get_by_role("dialog")).to_contain_text("3 incidents")
        page.get_by_role("dialog").get_by_role("button", name="Delete").click()
        expect(rows).to_have_count(10)
        page.get_by_role("button", name="Undo: restore audit-1").click()
        expect(heading).to_contain_text("20 clusters, 40 recordings")
        page.goto(f"{many.address}/clusters/")
        expect(page.get_by_role("link", name="prod-0", exact=False).first).to_be_visible()
        usable_everywhere(page)
        page.goto("about:blank")
