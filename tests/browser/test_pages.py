"""The pages beside the timeline, in a real browser: usable by everyone, at any width, whatever names say."""

import json
import re
import urllib.request
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, ViewportSize, expect

from tests.browser.conftest import Complaints, copied, fits, imported, press_and_read
from tests.browser.test_with_axe import PHONE, SIZES, WIDE, complaints_of_axe
from tests.running import WITH_TOKEN

FIXTURE = Path(__file__).parents[1] / "rules/service-gap/fires-plain-pods.jsonl"
HOSTILE = "<img src=x onerror=alert(1)>\u202eثلاثة" + "n" * 200
PAGES = ("object", "change", "finding", "changes", "coverage", "rules", "rule", "go", "unknown", "missing")
NO_PAGE = "404"  # which the browser complains about


def asked(site: str, path: str) -> Any:
    with urllib.request.urlopen(urllib.request.Request(f"{site}{path}", headers=WITH_TOKEN)) as answer:
        return json.load(answer)


@pytest.fixture(scope="module")
def addresses(site: str, recording: str) -> dict[str, str]:
    return addresses_of(site, recording, "service-gap")


def addresses_of(site: str, recording: str, rule: str) -> dict[str, str]:
    api = f"/api{recording}"
    group = asked(site, f"{api}findings?rule={rule}")["findings"][0]
    finding = asked(site, f"{api}findings/{group['findings'][0]['id']}")
    subject = next(each for each in finding["objects"] if each["role"] == "subject")
    revisions = asked(site, f"{api}tracks/{subject['track']}/revisions?bodies=1")["revisions"]
    change = next(each["sequence"] for each in revisions if each["body"])
    return {
        "object": subject["url"],
        "change": f"{subject['url']}{change}/",
        "finding": finding["url"],
        "changes": f"{recording}changes/?finding={finding['id']}",
        "coverage": f"{recording}coverage/",
        "rules": "/rules/",
        "rule": f"/rules/{rule}/",
        "go": "/go?name=ring-weak-0",
        "unknown": "/go?name=nothing-of-that-name",
        "missing": f"{recording}objects/999999999/",
    }


@pytest.mark.parametrize("name", PAGES)
def test_axe_finds_nothing_and_nothing_is_too_wide(
    page: Page, addresses: dict[str, str], complaints: Complaints, name: str
) -> None:
    complaints.expect(NO_PAGE)
    page.goto(addresses[name])
    for size, themes in SIZES:
        page.set_viewport_size(size)
        expect(page.locator("h1")).to_be_visible()
        fits(page)
        assert complaints_of_axe(page, themes) == [], size


def test_on_a_phone_the_menu_leads_on_by_keyboard(page: Page, addresses: dict[str, str]) -> None:
    page.set_viewport_size(PHONE)
    page.goto(addresses["finding"])
    menu = page.locator(".menu:not(.account) summary")
    menu.focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("navigation", name="Site, in the menu")).to_be_visible()
    assert complaints_of_axe(page) == []
    page.keyboard.press("Escape")
    expect(page.get_by_role("navigation", name="Site, in the menu")).to_be_hidden()
    expect(menu).to_be_focused()
    page.keyboard.press("Enter")
    page.get_by_role("link", name="Rules").last.click()
    expect(page.get_by_role("heading", name="Rules", exact=True)).to_be_visible()


def test_commands_and_links_are_copied(page: Page, addresses: dict[str, str]) -> None:
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.goto(addresses["finding"])
    press_and_read(page.get_by_role("button", name="Copy the command").first, "Copied")
    assert copied(page, "kubectl").startswith("kubectl -n vol-restart ")
    page.get_by_role("button", name="Copy link").click()
    assert copied(page, "http").endswith(addresses["finding"])
    page.goto(addresses["change"])
    page.get_by_role("button", name="Copy YAML").click()
    assert copied(page, "apiVersion").startswith("apiVersion: v1\n")


def test_a_finding_is_acknowledged_and_the_list_tells_so(page: Page, addresses: dict[str, str]) -> None:
    page.goto(addresses["finding"])
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


def test_the_timeline_leads_to_what_changed_in_the_part_that_is_shown(page: Page, addresses: dict[str, str]) -> None:
    start = addresses["coverage"].removesuffix("coverage/")
    page.goto(f"{start}?start=1795247510000000&end=1795247520000000")
    expect(page.locator("#labels")).to_contain_text("ring")
    mark = page.locator("#axis-changes a", has_text="▲").first
    expect(mark).to_have_attribute("title", "ConfigMap calm0-svc was deleted, and 2 more objects · vc-cm-head")
    expect(mark).to_have_attribute("href", re.compile(r"/objects/\d+/\?at=\d+#revisions$"))
    page.get_by_role("link", name="What changed", exact=True).click()
    panel = page.get_by_role("dialog", name="What changed")
    expect(panel.locator("li").first).to_contain_text("ConfigMap calm0-svc was deleted, and 2 more objects")
    expect(panel.locator("li a").first).to_have_attribute("href", re.compile(r"/objects/\d+/\?at=\d+#revisions$"))
    page.keyboard.press("Escape")
    expect(panel).to_be_hidden()
    expect(page.locator("#changed")).to_be_focused()
    page.keyboard.press("Enter")
    panel.get_by_role("link", name="All of them").click()
    expect(page).to_have_url(re.compile(r"/changes/\?before=1795247520000000&minutes=1$"))
    expect(page.locator("time").first).to_have_text("2026-11-21 07:52:00 UTC")


def test_an_alert_leads_to_the_group_of_its_owner(page: Page, addresses: dict[str, str]) -> None:
    page.goto("/go?namespace=vol-restart&kind=po&name=ring-steady-0")
    expect(page.locator(".finding.selected")).to_contain_text("Service ring was away")
    expect(page.locator("#labels")).to_contain_text("ring-steady-0")


@pytest.fixture(scope="module")
def hostile(site: str) -> dict[str, str]:
    """Of a recording in which names, labels and messages would like to be markup."""
    told = FIXTURE.read_text(encoding="utf-8").replace('"ring', f'"{HOSTILE}')
    told = told.replace('"selector":{', '"selector":{"<script>alert(2)</script>":"</pre><script>alert(3)</script>",')
    return addresses_of(site, imported(site, "hostile.jsonl", told.encode()), "service-gap")


@pytest.mark.parametrize("name", ["object", "change", "finding", "coverage"])
def test_names_are_never_markup(page: Page, hostile: dict[str, str], name: str) -> None:
    page.on("dialog", lambda dialog: pytest.fail(f"a script ran: {dialog.message}"))
    page.set_viewport_size(PHONE)
    page.goto(hostile[name])
    expect(page.locator("main")).to_be_visible()
    fits(page)
    assert page.locator("img[src=x]").count() == 0
    if name != "coverage":
        expect(page.locator("h1")).to_contain_text("<img src=x onerror=alert(1)>")
    assert complaints_of_axe(page) == []


@pytest.mark.parametrize("size", [WIDE, PHONE])
def test_the_report_is_copied_as_markdown(
    page: Page, context: BrowserContext, recording: str, size: ViewportSize
) -> None:
    context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.set_viewport_size(size)
    page.goto(f"{recording}?namespace=vol-restart")
    expect(page.locator(".finding.selected")).to_be_attached()
    if size == PHONE:
        page.locator("#sheet-open").click()
    page.get_by_role("button", name="Report").click()
    expect(page.locator("#report-view")).to_contain_text("namespace vol-restart")
    fits(page)
    page.get_by_role("radio", name="The whole recording").check()
    page.get_by_label("Your note").fill("See OPS-7 @everyone")
    press_and_read(page.locator("#report-copy"), "Copied")
    text = copied(page, "# Report of ")
    assert "> See OPS-7 `@everyone`" in text and "**6 incidents · 10 findings**" in text
    page.keyboard.press("Escape")
    expect(page.locator("#report-dialog")).to_be_hidden()


def test_the_report_of_the_view_is_a_file_that_needs_no_server(
    page: Page, browser: Browser, recording: str, tmp_path: Path
) -> None:
    page.goto(recording)
    expect(page.locator(".finding.selected")).to_be_visible()
    page.get_by_role("button", name="Report").click()
    assert complaints_of_axe(page) == []
    page.get_by_label("Your note").fill("Restarted by hand.\n<b>OPS-7</b>")
    with page.expect_download() as download:
        page.get_by_role("button", name="HTML file").click()
    file = tmp_path / "report.html"
    download.value.save_as(file)
    told: list[str] = []
    alone = browser.new_context(offline=True)
    reader = alone.new_page()
    reader.on("console", lambda message: told.append(message.text))
    reader.on("pageerror", lambda error: told.append(str(error)))
    reader.goto(file.as_uri())
    expect(reader.locator("#labels")).to_contain_text("ring-steady-0")
    expect(reader.locator(".note")).to_contain_text("<b>OPS-7</b>")
    expect(reader.locator(".scope").first).to_contain_text("This report is narrowed to: part 2026-11-21 07:52:0")
    expect(reader.locator(".finding.selected")).to_contain_text("Service ring was away")
    alone.close()
    assert told == []
