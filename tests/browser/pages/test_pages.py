"""The pages beside the timeline, in a real browser: usable by everyone, at any width, and leading to each other."""

import hashlib
import json
import re
from typing import Any

import pytest
from playwright.sync_api import BrowserContext, Page, expect

from tests.browser.conftest import Complaints
from tests.browser.everyone import AXE, PHONE, complaints_of_axe, usable_everywhere
from tests.browser.looking import copied, fits, opened, press_and_read
from tests.browser.overlap import readable_at_any_width
from tests.clients.visitor import Visitor


@pytest.fixture(scope="module")
def addresses(site: str, recording: str) -> dict[str, str]:
    visitor = Visitor(site)

    def asked(path: str) -> Any:
        return visitor.ask("GET", f"/api{path}")[1]

    group = asked(f"{recording}findings?rule=service-gap")["findings"][0]
    finding = asked(f"{recording}findings/{group['findings'][0]['id']}")
    subject = next(each for each in finding["objects"] if each["role"] == "subject")
    revisions = asked(f"{recording}tracks/{subject['track']}/revisions?bodies=1")["revisions"]
    change = next(each["sequence"] for each in revisions if each["body"])
    return {
        "object": subject["url"],
        "change": f"{subject['url']}{change}/",
        "finding": finding["url"],
        "changes": f"{recording}changes/?finding={finding['id']}",
        "coverage": f"{recording}coverage/",
        "rules": "/rules/",
        "rule": "/rules/service-gap/",
        "go": "/go?name=ring-weak-0",
        "unknown": "/go?name=nothing-of-that-name",
        "of another time": "/go?namespace=vol-restart&pod=ring-weak-0&at=2026-11-23T07:52:33Z",
        "of no time": "/go?namespace=vol-restart&pod=r&at=x",
        "missing": f"{recording}objects/999999999/",
    }


def test_axe_finds_nothing_and_nothing_is_too_wide(
    page: Page, addresses: dict[str, str], complaints: Complaints
) -> None:
    complaints.expect("404", "400 (Bad Request)")
    for address in addresses.values():
        page.goto(address)
        expect(page.locator("h1")).to_be_attached()
        usable_everywhere(page)


def test_the_description_of_the_api_is_a_page_like_the_others(page: Page) -> None:
    page.goto("/api/docs")
    expect(page.locator(".opblock").first).to_be_visible()
    usable_everywhere(page)
    expect(page.locator("html")).not_to_have_class("dark-mode")
    page.get_by_role("button", name="Switch between light and dark").click()
    expect(page.locator("html")).to_have_class("dark-mode")
    operation = page.get_by_role("button", name=re.compile("Show Source"))
    operation.press("Enter")
    expect(page.get_by_text("Return one recording or live source.")).to_be_visible()
    usable_everywhere(page)
    readable_at_any_width(page)
    page.get_by_role("navigation", name="Site", exact=True).get_by_role("link", name="Recordings").click()
    expect(page.get_by_role("heading", name="Recordings", exact=True)).to_be_visible()


def rename(site: str, recording: str, name: str) -> None:
    body = json.dumps({"name": name}).encode()
    status, _ = Visitor(site).ask("PATCH", f"/api{recording.rstrip('/')}", body, Content_Type="application/json")
    assert status == 200


def test_the_header_of_a_timeline_has_room_for_a_long_name_and_folds_what_is_rare(
    page: Page, recording: str, site: str
) -> None:
    name = "production-eu-west-1.platform.example-company"
    rename(site, recording, name)
    page.set_viewport_size({"width": 1280, "height": 720})
    opened(page, recording)
    crumb, menu = page.locator(".crumbs [aria-current]"), page.get_by_label("Menu", exact=True)
    expect(crumb).to_have_text(name)
    assert crumb.evaluate("(name) => name.scrollWidth <= name.clientWidth")
    readable_at_any_width(page)
    menu.click()
    expect(page.get_by_role("link", name="Actors", exact=True)).to_be_visible()
    assert complaints_of_axe(page) == []
    page.get_by_role("button", name="Keys and marks").click()
    expect(page.get_by_role("dialog", name="Keys and marks")).to_be_visible()
    page.keyboard.press("Escape")
    expect(menu).to_be_focused()
    page.set_viewport_size(PHONE)
    crumb.hover()
    expect(crumb).to_have_attribute("title", name)
    rename(site, recording, "volcano-restart")


def test_on_a_phone_the_menu_leads_on_by_keyboard(page: Page, addresses: dict[str, str]) -> None:
    page.set_viewport_size(PHONE)
    page.goto(addresses["finding"])
    menu, site = page.locator(".menu:not(.account) summary"), page.get_by_role("navigation", name="Site, in the menu")
    menu.focus()
    page.keyboard.press("Enter")
    expect(site).to_be_visible()
    assert complaints_of_axe(page) == []
    page.keyboard.press("Escape")
    expect(site).to_be_hidden()
    expect(menu).to_be_focused()
    page.keyboard.press("Enter")
    page.get_by_role("link", name="Rules").last.click()
    expect(page.get_by_role("heading", name="Rules", exact=True)).to_be_visible()


def test_commands_and_links_are_copied_and_a_finding_is_acknowledged(page: Page, addresses: dict[str, str]) -> None:
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.goto(addresses["change"])
    page.get_by_role("button", name="Copy YAML").click()
    assert copied(page, "apiVersion").startswith("apiVersion: v1\n")
    page.goto(addresses["finding"])
    press_and_read(page.get_by_role("button", name="Copy the command").first, "Copied")
    assert copied(page, "kubectl").startswith("kubectl -n vol-restart ")
    page.get_by_role("button", name="Copy link").click()
    assert copied(page, "http").endswith(addresses["finding"])
    page.get_by_label("Note").fill("OPS-7: the restart policy is being changed")
    page.get_by_role("button", name="Acknowledge").click()
    expect(page.locator(".note")).to_contain_text("OPS-7")
    expect(page.locator(".verdicts")).to_contain_text("acknowledged")
    assert complaints_of_axe(page) == []
    page.get_by_role("button", name="Remove acknowledgement").click()
    expect(page.get_by_label("Note")).to_be_visible()


def test_the_pages_lead_to_each_other(page: Page, addresses: dict[str, str]) -> None:
    page.goto(addresses["finding"])
    page.locator(".lives a").first.click()
    expect(page).to_have_url(re.compile(r"/objects/\d+/$"))
    page.get_by_role("link", name="Service ring was away").first.click()
    expect(page).to_have_url(re.compile(r"/incidents/[0-9a-f]{16}/$"))
    page.locator(".rows a").first.click()
    expect(page).to_have_url(re.compile(r"/findings/[0-9a-f]{16}/$"))
    page.get_by_role("link", name="About service-gap").click()
    expect(page).to_have_url(re.compile(r"/rules/service-gap/$"))
    page.go_back()
    page.get_by_role("link", name="Show on the timeline").click()
    expect(page.locator(".finding.selected")).to_contain_text("Service ring was away")


def test_the_timeline_leads_to_what_changed_in_the_part_that_is_shown(page: Page, recording: str) -> None:
    opened(page, f"{recording}?start=1795247510000000&end=1795247520000000")
    deleted, revisions = "ConfigMap calm0-svc was deleted, and 2 more objects", r"/objects/\d+/\?at=\d+#revisions$"
    mark = page.locator("#axis-changes a", has_text="▲").first
    expect(mark).to_have_attribute("title", f"{deleted} · vc-cm-head")
    expect(mark).to_have_attribute("href", re.compile(revisions))
    page.get_by_role("link", name="What changed", exact=True).click()
    panel = page.get_by_role("dialog", name="What changed")
    expect(panel.locator("li").first).to_contain_text(deleted)
    expect(panel.locator("li a").first).to_have_attribute("href", re.compile(revisions))
    page.keyboard.press("Escape")
    expect(panel).to_be_hidden()
    expect(page.locator("#changed")).to_be_focused()
    page.keyboard.press("Enter")
    panel.get_by_role("link", name="All of them").click()
    expect(page).to_have_url(re.compile(r"/changes/\?before=1795247520000000&minutes=1$"))
    expect(page.locator("time").first).to_have_text("2026-11-21 07:52:00 UTC")


def test_what_changed_ends_where_the_alert_of_a_link_or_the_selected_incident_begins(
    page: Page, recording: str
) -> None:
    opened(page, f"{recording}?start=1795247510000000&end=1795247530000000&at=1795247520000000")
    page.get_by_role("link", name="What changed", exact=True).click()
    panel = page.get_by_role("dialog", name="What changed")
    expect(panel).to_contain_text("In the 30 minutes before the alert, 07:52:00.000 UTC;")
    every = panel.get_by_role("link", name="All of them")
    expect(every).to_have_attribute("href", re.compile(r"/changes/\?before=1795247520000000&minutes=30$"))
    page.locator(".incident", has_text="Service ring was away").get_by_role("button").first.click()
    expect(panel).to_contain_text("before the selected incident began, 07:")
    expect(every).to_have_attribute("href", re.compile(r"/changes/\?incident=[0-9a-f]{16}&minutes=30$"))
    every.click()
    expect(page.get_by_role("link", name=re.compile("Service ring was away")).first).to_be_visible()


def test_the_report_is_copied_as_markdown_on_a_phone(page: Page, context: BrowserContext, recording: str) -> None:
    context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.set_viewport_size(PHONE)
    page.goto(f"{recording}?namespace=vol-restart")
    expect(page.locator(".finding.selected")).to_be_attached()
    page.locator("#sheet-open").click()
    page.get_by_role("button", name="Report").click()
    expect(page.locator("#report-view")).to_contain_text("namespace vol-restart")
    fits(page)
    page.get_by_role("radio", name="The whole recording").check()
    page.get_by_label("Your note").fill("See OPS-7 @everyone")
    press_and_read(page.locator("#report-copy"), "Copied")
    text = copied(page, "# Report of ")
    assert "> See OPS-7 `@everyone`" in text and "**4 incidents · 6 symptoms · 10 findings**" in text
    page.keyboard.press("Escape")
    expect(page.locator("#report-dialog")).to_be_hidden()


def test_axe_is_what_its_project_published() -> None:
    about = json.loads((AXE / "VENDOR.json").read_text(encoding="utf-8"))
    assert hashlib.sha256((AXE / about["file"]).read_bytes()).hexdigest() == about["sha256"]
