"""Embedded timelines and share links in a real browser: without cookies, in a frame of another site and as pages."""

import re
from collections.abc import Iterator
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser.conftest import Complaints, Worker, context_of, heard
from tests.browser.everyone import EITHER, PHONE, complaints_of_axe, usable_everywhere
from tests.browser.looking import CONNECTED, PATIENCE, copied, happens
from tests.servers.answering import Receiver

UNMOVED = "Blocked autofocusing"  # a dialog that is closed names the button that has the focus when it opens


@pytest.fixture
def stranger(browser: Browser, complaints: Complaints) -> Iterator[Page]:
    """A browser that has never signed in, and in the end has no cookie."""
    context = browser.new_context(viewport={"width": 1440, "height": 800}, reduced_motion="reduce")
    context.set_default_timeout(PATIENCE)
    complaints.expect(UNMOVED)
    with heard(context, complaints):
        yield context.new_page()
        context.close()


@pytest.fixture
def owner(browser: Browser, worker: Worker) -> Iterator[Page]:
    """A browser of somebody who is signed in and may copy."""
    context = context_of(browser, worker.site.address, reduced_motion="reduce")
    context.grant_permissions(["clipboard-read", "clipboard-write"], origin=worker.site.address)
    yield context.new_page()
    context.close()


def copied_from(page: Page, button: str, name: str, make: str, copy: str, part: str) -> str:
    """Make a link in the dialog that a button opens, and return it as it was copied."""
    page.get_by_role("button", name=button).click()
    dialog = page.get_by_role("dialog", name=name)
    dialog.get_by_label("Expires after").select_option("1 day")
    dialog.get_by_role("button", name=make).click()
    dialog.get_by_role("button", name=copy).click()
    assert complaints_of_axe(page, EITHER) == []
    return copied(page, part)


def shared(page: Page, button: str, name: str) -> str:
    return copied_from(page, button, name, "Create a link", "Copy the link", "causeline_link_")


def test_a_live_timeline_moves_in_a_frame_of_another_site(
    owner: Page, worker: Worker, elsewhere: list[Receiver], stranger: Page, complaints: Complaints
) -> None:
    named, other = elsewhere
    owner.goto(worker.begin())
    expect(owner.locator("#live")).to_have_text(CONNECTED)
    owner.get_by_label("Menu", exact=True).click()
    html = copied_from(owner, "Embed", "Embed this view", "Create the address", "Copy the HTML", "<iframe")
    named.body = other.body = f"<!doctype html><title>Elsewhere</title>{html}".encode()
    stranger.goto(named.url)
    frame = stranger.frame_locator("iframe")
    away = frame.locator(".incident h3", has_text=worker.AWAY)
    expect(frame.locator("#live")).to_have_text(CONNECTED)
    expect(away).to_have_count(0)
    worker.do("until", worker.OVER)
    expect(away).to_be_visible()
    expect(frame.get_by_role("navigation", name="Site")).to_have_count(0)
    assert stranger.context.cookies() == []
    with stranger.context.expect_page() as opened:
        frame.get_by_role("link", name="All ›").click()
    expect(opened.value).to_have_url(re.compile("/login/"))
    assert "view_token" not in opened.value.url

    stranger.set_viewport_size(PHONE)
    (address,) = re.findall(r'src="([^"]+)"', html)
    stranger.goto(address.replace("&amp;", "&"))
    expect(stranger.locator("#live")).to_be_attached()
    expect(stranger.locator(".incident").first).to_be_visible()
    assert complaints_of_axe(stranger, EITHER) == []
    assert "view_token" not in worker.site.log("web").read_text()

    complaints.expect("frame-ancestors", "Failed to load")
    stranger.goto(other.url)
    happens(stranger, lambda: any("frame-ancestors" in each for each in complaints.seen))


def test_links_show_a_timeline_and_an_incident_until_they_are_revoked(
    owner: Page, worker: Worker, stranger: Page, complaints: Complaints
) -> None:
    complaints.expect("status of 403")  # when a page is loaded again whose link is over
    address = worker.begin(until=worker.OVER)
    owner.goto(address)
    timeline_link = shared(owner, "Share view…", "Share this view")
    listed = owner.request.get(f"/api{urlsplit(address).path}incidents").json()["incidents"]
    owner.goto(next(each["url"] for each in listed if worker.AWAY in each["title"]))
    expect(owner.get_by_role("heading", level=1)).to_contain_text(worker.AWAY)
    incident_link = shared(owner, "Share…", "Share this incident")

    stranger.goto(timeline_link)
    expect(stranger.locator("#live")).to_have_text(CONNECTED)
    expect(stranger.locator(".incident h3", has_text=worker.AWAY)).to_be_visible()
    expect(stranger.get_by_text("shared by start-up token")).to_be_visible()
    expect(stranger.get_by_role("navigation", name="Site")).to_have_count(0)
    other = stranger.context.new_page()
    other.goto(incident_link)
    expect(other.get_by_role("heading", level=1)).to_contain_text(worker.AWAY)
    expect(other.locator("main a[href]:not([href^='#'])")).to_have_count(0)
    usable_everywhere(stranger, other)
    assert stranger.context.cookies() == []

    owner.get_by_role("button", name="Close").click()
    owner.goto("/shared/")
    expect(owner.get_by_text("opened 1 time")).to_have_count(2)
    usable_everywhere(owner)
    for _ in range(2):
        owner.get_by_role("button", name="Revoke the link").first.click()
        owner.get_by_role("button", name="Revoke").click()
    for each in (stranger, other):
        expect(each.get_by_role("heading", name="This link is over")).to_be_visible()
    assert "causeline_link_" not in worker.site.log("web").read_text()
