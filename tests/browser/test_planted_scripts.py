"""A recording full of markup: on every page that a link leads to, nothing of it runs, and it is shown as text."""

import re
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import quote, urldefrag, urljoin, urlsplit

import pytest
import zstandard
from playwright.sync_api import Page, Request, expect

from dashboard.web.views.home import FLEET
from tests.browser.conftest import SAMPLE, Complaints, fits, happens, imported, settled
from tests.browser.test_with_axe import DRAWN, PHONE, WIDE
from tests.patience import patient
from tests.running import START_SECONDS
from tests.visitor import Visitor

IMAGE = "<img src=x onerror=ran(1)>"
SCRIPT = '"><script>ran(2)</script>'
STYLE = "</style><svg onload=ran(3)>"
LINK = "javascript:ran(4)"
NAME = f"{IMAGE}<script>ran(2)<script>".ljust(253, "x")
PLANTED = {
    "ring-weak-0": IMAGE,  # a Pod
    "ring-steady-0": "x" * 253,
    "ring-steady-1": "\u202egnir-ydaets",
    "ring-steady-2": "🎉" * 60,
    "vol-restart": SCRIPT,  # the namespace
    "volcano-controllers": LINK,  # who did it
    "node-003": STYLE,
    "volcano.sh/job-name": "labels/" + IMAGE,
}
INJECTED = """
() => [...document.querySelectorAll(
  "img[src='x'], [onerror], [onload], [href^='javascript'], script:not([src]):not([type='application/json'])"
)].map((element) => element.outerHTML.slice(0, 200))
"""
LINKS = "() => [...document.querySelectorAll('a[href]')].map((link) => link.getAttribute('href'))"
Arrive = Callable[[str], None]
OF_A_KIND = 3  # pages of one address but for its numbers


@pytest.fixture(scope="module")
def planted(site: str) -> Iterator[str]:
    """The path of its timeline."""
    text = zstandard.decompress(SAMPLE.read_bytes(), max_output_size=1 << 24).decode()
    for name, markup in PLANTED.items():
        text = text.replace(name, markup.replace('"', '\\"'))
    recording, other = f"{text}\nnothing\n".encode(), f"nothing {IMAGE}\n".encode()
    visitor = Visitor(site)
    files = (f"{IMAGE}/{SCRIPT}.jsonl", len(recording)), (f"{LINK}/../../{STYLE}.log", len(other))
    upload = visitor.begin(*files, name=NAME)["id"]
    for number, content in enumerate((recording, other)):
        assert visitor.put(upload, content, number=number)[0] == 200
    told = visitor.ask("POST", f"/api/uploads/{upload}/finish")[1]
    deadline = time.monotonic() + patient(START_SECONDS)
    while told["state"] in {"waiting", "importing"}:
        assert time.monotonic() < deadline
        time.sleep(0.2)
        told = visitor.ask("GET", f"/api/uploads/{upload}")[1]
    assert (told["state"], told["error"]) == ("done", "")
    yield told["url"]
    visitor.ask("DELETE", f"/api/sources/{told['source']}")


@pytest.fixture
def arrive(page: Page) -> Arrive:
    """Opens an address, and waits until the page shows everything that it asks the server for."""
    underway: set[Request] = set()
    page.on("request", lambda request: underway.add(request))
    page.on("requestfinished", lambda request: underway.discard(request))
    page.on("requestfailed", lambda request: underway.discard(request))

    def arrive(address: str) -> None:
        underway.clear()
        if urlsplit(address).path == "/":
            with page.expect_response("**/api/uploads"):  # which it asks for as soon as its WebSocket is open
                page.goto(address)
        else:
            page.goto(address)
        if page.locator("#figure").count():
            settled(page)
        happens(page, lambda: not underway)
        page.evaluate(DRAWN)

    return arrive


def check(page: Page) -> None:
    assert page.evaluate(INJECTED) == []
    for size in (WIDE, PHONE):
        page.set_viewport_size(size)
        fits(page)


def kind_of(address: str) -> str:
    """An address without what makes it one of many."""
    parts = urlsplit(address)
    return re.sub(r"/([0-9]+|[0-9a-f]{12,})(?=/|$)", "/…", parts.path) + ("?" if parts.query else "")


def test_nothing_planted_runs_on_any_page(page: Page, arrive: Arrive, planted: str, complaints: Complaints) -> None:
    complaints.expect("Permissions policy", "status of 404")
    waiting = [
        "/",
        planted,
        "/go",
        "/rules/",
        f"{planted}coverage/",
        f"{planted}changes/?minutes=1440",
        "/sources/999999/",
        f"/go?name={quote(IMAGE)}",
    ]
    found = set(waiting)
    seen: Counter[str] = Counter()
    shown = ""
    while waiting:
        address = waiting.pop(0)
        kind = kind_of(address)
        downloaded = kind.startswith("/api/") or kind.partition("?")[0].endswith(("/report", "/export", ".json"))
        if downloaded or seen[kind] >= OF_A_KIND:
            continue
        seen[kind] += 1
        arrive(address)
        check(page)
        shown += page.locator("body").inner_text()
        links = [urldefrag(urljoin(address, link)).url for link in page.evaluate(LINKS)]
        mine = [link for link in links if not link.startswith("/sources/") or link.startswith(planted)]
        new = [link for link in dict.fromkeys(mine) if urlsplit(link).scheme == "" and link not in found]
        found.update(new)
        waiting += new
    for markup in (IMAGE, "<script>ran(2)", LINK):
        assert markup in shown, f"{markup} is shown nowhere"
    assert {"/", "/sources/…/", "/sources/…/objects/…/", "/sources/…/findings/…/", "/rules/"} <= set(seen)


def test_the_table_of_many_recordings_fits_as_the_cards_of_a_few_do(
    page: Page, site: str, arrive: Arrive, planted: str
) -> None:
    added = [imported(site, f"more-{number}.jsonl.zst", SAMPLE.read_bytes()) for number in range(FLEET)]
    arrive("/")
    expect(page.locator(".fleet-table")).to_be_visible()
    check(page)
    visitor = Visitor(site)
    for address in added:
        visitor.ask("DELETE", f"/api/sources/{urlsplit(address).path.split('/')[2]}")


def test_what_is_done_with_the_timeline_runs_nothing(page: Page, arrive: Arrive, planted: str) -> None:
    arrive(planted)
    for key, shown in ("n", "plot"), ("n", "plot"), ("f", "plot"), ("]", "plot"), ("t", "table"), ("t", "plot"):
        page.keyboard.press(key)
        settled(page)
        expect(page.locator({"plot": "#plot .scatterlayer", "table": "#table table"}[shown])).to_be_visible()
    page.keyboard.press("/")
    page.keyboard.type("img")
    expect(page.get_by_role("option").first).to_contain_text("<img")
    assert page.evaluate(INJECTED) == []
    page.keyboard.press("Escape")
    for place in range(200, 800, 34):
        page.mouse.move(120, place)
        page.mouse.move(600, place)
        page.wait_for_timeout(30)
    check(page)


def test_what_is_done_with_a_recording_s_name_runs_nothing(page: Page, arrive: Arrive, planted: str) -> None:
    arrive("/")
    row = page.locator(f"tr:has(a[href='{planted}'])")
    row.locator("[data-rename]").click()
    expect(page.locator(".rename-input")).to_be_focused()
    check(page)
    page.keyboard.press("Escape")
    row.locator("[data-delete]").click()
    expect(page.get_by_role("dialog")).to_be_visible()
    check(page)
    page.get_by_role("button", name="Keep").click()


def test_the_report_runs_nothing(page: Page, planted: str, tmp_path: Path, site: str) -> None:
    status, content = Visitor(site).ask("GET", f"{planted}report")
    assert status == 200
    report = tmp_path / "report.html"
    report.write_bytes(content)
    page.goto(report.as_uri())
    expect(page.locator("#plot .scatterlayer")).to_be_visible()
    expect(page.locator("body")).to_contain_text(IMAGE, use_inner_text=True)
    assert [each for each in page.evaluate(INJECTED) if "ran(" in each and not each.startswith("<script")] == []


def test_an_upload_says_names_and_reasons_as_text(
    page: Page, arrive: Arrive, complaints: Complaints, tmp_path: Path
) -> None:
    complaints.expect("status of 400")
    path = tmp_path / "<img src=x onerror=ran(5)>.log"
    path.write_bytes(b"<script>ran(6)</script>\n")
    arrive("/")
    page.locator("#file").set_input_files(path)
    expect(page.get_by_role("alert")).to_be_visible()
    expect(page.locator(".upload")).to_contain_text("<img src=x onerror=ran(5)>.log")
    check(page)
