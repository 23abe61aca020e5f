"""Embedded timelines and share links in a real browser: without cookies, in a frame of another site and as pages."""

import re
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser.conftest import PATIENCE, Complaints, context_of, copied, fits, happens, heard
from tests.browser.test_live import AWAY, CALM, OVER, Worker
from tests.browser.test_with_axe import EITHER, PHONE, complaints_of_axe
from tests.running import running

UNMOVED = "Blocked autofocusing"  # a dialog that is closed names the button that has the focus when it opens


class _Site(ThreadingHTTPServer):
    """This is a site of somebody else: one page with whatever HTML it was given."""

    daemon_threads = True
    html = ""

    @property
    def address(self) -> str:
        return f"http://localhost:{self.server_address[1]}"


class _Handler(BaseHTTPRequestHandler):
    server: _Site

    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.end_headers()
        self.wfile.write(f"<!doctype html><title>Elsewhere</title>{self.server.html}".encode())

    def log_message(self, *_: Any) -> None:
        """Log nothing."""


@pytest.fixture(scope="module")
def sites() -> Iterator[tuple[_Site, _Site]]:
    """A site that an operator has named, and one that nobody has."""
    with _Site(("127.0.0.1", 0), _Handler) as named, _Site(("127.0.0.1", 0), _Handler) as other:
        threads = [
            threading.Thread(target=each.serve_forever, kwargs={"poll_interval": 0.05}) for each in (named, other)
        ]
        for thread in threads:
            thread.start()
        yield named, other
        for each, thread in zip((named, other), threads, strict=True):
            each.shutdown()
            thread.join()


@pytest.fixture(scope="module")
def worker(tmp_path_factory: pytest.TempPathFactory, sites: tuple[_Site, _Site]) -> Iterator[Worker]:
    allowed = {"CAUSELINE_EMBED_ANCESTORS": sites[0].address}
    with running(tmp_path_factory.mktemp("embedding"), "web", **allowed) as site:
        worker = Worker(site)
        yield worker
        worker.end()


@pytest.fixture
def stranger(browser: Browser, complaints: Complaints) -> Iterator[Page]:
    """A browser that has never signed in."""
    context = browser.new_context(viewport={"width": 1440, "height": 800}, reduced_motion="reduce")
    context.set_default_timeout(PATIENCE)
    complaints.expect(UNMOVED)
    with heard(context, complaints):
        yield context.new_page()
        context.close()


def test_a_live_timeline_moves_in_a_frame_of_another_site(
    browser: Browser, worker: Worker, sites: tuple[_Site, _Site], stranger: Page, complaints: Complaints
) -> None:
    named, other = sites
    address = worker.begin()
    worker.do("until", CALM)
    context = context_of(browser, worker.site.address, reduced_motion="reduce")
    context.grant_permissions(["clipboard-read", "clipboard-write"], origin=worker.site.address)
    page = context.new_page()
    page.goto(address)
    expect(page.locator("#live")).to_have_text(re.compile("^connected"))
    page.get_by_role("button", name="Embed").click()
    dialog = page.get_by_role("dialog", name="Embed this view")
    dialog.get_by_label("Expires after").select_option("1 day")
    dialog.get_by_role("button", name="Create the address").click()
    dialog.get_by_role("button", name="Copy the HTML").click()
    named.html = other.html = copied(page, "<iframe")
    assert complaints_of_axe(page, EITHER) == []
    context.close()

    stranger.goto(named.address)
    frame = stranger.frame_locator("iframe")
    expect(frame.locator("#live")).to_have_text(re.compile("^connected"))
    expect(frame.locator(".incident h3", has_text=AWAY)).to_have_count(0)
    worker.do("until", OVER)
    expect(frame.locator(".incident h3", has_text=AWAY)).to_be_visible()
    expect(frame.get_by_role("navigation", name="Site")).to_have_count(0)
    expect(frame.get_by_role("link", name="All ›")).to_be_visible()
    assert stranger.context.cookies() == []
    with stranger.context.expect_page() as opened:
        frame.get_by_role("link", name="All ›").click()
    expect(opened.value).to_have_url(re.compile("/login/"))
    assert "view_token" not in opened.value.url

    stranger.set_viewport_size(PHONE)
    (address,) = re.findall(r'src="([^"]+)"', named.html)
    stranger.goto(address.replace("&amp;", "&"))
    expect(stranger.locator("#live")).to_be_attached()
    expect(stranger.locator(".incident").first).to_be_visible()
    assert complaints_of_axe(stranger, EITHER) == []
    assert "view_token" not in worker.site.log("web").read_text()

    complaints.expect("frame-ancestors", "Failed to load")
    stranger.goto(other.address)
    happens(stranger, lambda: any("frame-ancestors" in each for each in complaints.seen))


def test_links_show_a_timeline_and_an_incident_until_they_are_revoked(
    browser: Browser, worker: Worker, stranger: Page, complaints: Complaints
) -> None:
    complaints.expect("status of 403")  # when a page is loaded again whose link is over
    address = worker.begin()
    worker.do("until", OVER)
    context = context_of(browser, worker.site.address, reduced_motion="reduce")
    context.grant_permissions(["clipboard-read", "clipboard-write"], origin=worker.site.address)
    page = context.new_page()
    page.goto(address)
    timeline_link = _shared(page, "Share view…", "Share this view")
    listed = page.request.get(f"/api{urlsplit(address).path}incidents").json()["incidents"]
    page.goto(next(each["url"] for each in listed if AWAY in each["title"]))
    expect(page.get_by_role("heading", level=1)).to_contain_text(AWAY)
    incident_link = _shared(page, "Share…", "Share this incident")

    stranger.goto(timeline_link)
    expect(stranger.locator("#live")).to_have_text(re.compile("^connected"))
    expect(stranger.locator(".incident h3", has_text=AWAY)).to_be_visible()
    expect(stranger.get_by_text("shared by start-up token")).to_be_visible()
    expect(stranger.get_by_role("navigation", name="Site")).to_have_count(0)
    assert complaints_of_axe(stranger, EITHER) == []
    other = stranger.context.new_page()
    other.goto(incident_link)
    expect(other.get_by_role("heading", level=1)).to_contain_text(AWAY)
    assert other.locator("main a[href]:not([href^='#'])").count() == 0
    assert complaints_of_axe(other, EITHER) == []
    for each in (stranger, other):
        each.set_viewport_size(PHONE)
        fits(each)
        assert complaints_of_axe(each) == []
    assert stranger.context.cookies() == []

    page.get_by_role("button", name="Close").click()
    page.goto("/shared/")
    expect(page.get_by_text("opened 1 time")).to_have_count(2)
    assert complaints_of_axe(page, EITHER) == []
    for _ in range(2):
        page.get_by_role("button", name="Revoke the link").first.click()
        page.get_by_role("button", name="Revoke").click()
    page.set_viewport_size(PHONE)
    fits(page)
    for each in (stranger, other):
        expect(each.get_by_role("heading", name="This link is over")).to_be_visible()
    assert "causeline_link_" not in worker.site.log("web").read_text()
    context.close()


def _shared(page: Page, button: str, name: str) -> str:
    """Make a link in the dialog that a button opens, and return it as it was copied."""
    page.get_by_role("button", name=button).click()
    dialog = page.get_by_role("dialog", name=name)
    dialog.get_by_label("Expires after").select_option("1 day")
    dialog.get_by_role("button", name="Create a link").click()
    dialog.get_by_role("button", name="Copy the link").click()
    assert complaints_of_axe(page, EITHER) == []
    return copied(page, "causeline_link_")
