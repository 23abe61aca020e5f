"""A recording full of markup: on every page that a link leads to, nothing of it runs, it is shown as text, and no two
texts lie over each other or are cut off without a sign, however wide the page is, and axe finds nothing."""

import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from urllib.parse import quote, urldefrag, urljoin, urlsplit

import pytest
import zstandard
from django.urls import URLPattern, resolve
from playwright.sync_api import Page, Request, ViewportSize, expect

from dashboard.urls import urlpatterns
from tests.browser.conftest import Complaints, done
from tests.browser.everyone import EITHER, PHONE, WIDE, complaints_of_axe
from tests.browser.home.conftest import choose
from tests.browser.looking import LINKS, fits, happens, settled
from tests.browser.overlap import DRAWN, OPENED, readable_at_any_width
from tests.clients.visitor import Visitor
from tests.inputs.recordings import SAMPLE
from tests.properties import tries_all

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
Arrive = Callable[[str], None]
OF_A_KIND = 2  # pages of one address but for its numbers
DOWNLOADED = {"audit_export", "incident_picture", "report", "revision_json", "metrics", "health", "live", "logout"}
# Pages that need accounts, a connected cluster, or something to confirm. Their own tests ask the same, by `fits`.
ELSEWHERE = {
    *("access", "take_role", "login", "second_factor", "second_factor_code", "oidc", "oidc_callback"),
    *("password", "sessions", "own_tokens", "cluster", "log_store", "undo-deletion"),
    "change_symptom",  # which only leads back to the incident
    "silence_many",  # which a button opens; a test below
}


@pytest.fixture(scope="module")
def planted(site: str) -> Iterator[str]:
    """The path of its timeline."""
    text = zstandard.decompress(SAMPLE.read_bytes(), max_output_size=1 << 24).decode()
    for name, markup in PLANTED.items():
        text = text.replace(name, markup.replace('"', '\\"'))
    contents = {f"{IMAGE}/{SCRIPT}.jsonl": f"{text}\nnothing\n", f"{LINK}/../../{STYLE}.log": f"nothing {IMAGE}\n"}
    visitor = Visitor(site)
    upload = visitor.begin(*((name, len(each.encode())) for name, each in contents.items()), name=NAME)["id"]
    for number, content in enumerate(contents.values()):
        assert visitor.put(upload, content.encode(), number=number)[0] == 200
    address = done(visitor, visitor.ask("POST", f"/api/uploads/{upload}/finish")[1])
    yield address
    visitor.ask("DELETE", f"/api{address.rstrip('/')}")


@pytest.fixture
def routed(site: str) -> Iterator[list[str]]:
    """The pages of a destination, and of a route to it."""
    visitor = Visitor(site)

    def made(what: str, **values: object) -> str:
        body = json.dumps({"name": "overlap", **values}).encode()
        status, reported = visitor.ask("POST", f"/api/{what}", body, Content_Type="application/json")
        assert status == 201, reported
        return f"{what}/{reported['id']}"

    destination = made("destinations", kind="webhook", values={"url": "http://localhost:9/", "secret": "s" * 32})
    route = made("routes", destinations=[int(destination.rpartition("/")[2])], enabled=False)
    yield [f"/{destination}/", f"/{route}/"]
    for each in route, destination:
        visitor.ask("DELETE", f"/api/{each}")


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


def check(page: Page, sizes: Iterable[ViewportSize] = (WIDE, PHONE)) -> None:
    assert page.evaluate(INJECTED) == []
    for size in sizes:
        page.set_viewport_size(size)
        fits(page)


def kind_of(address: str) -> str:
    """An address without what makes it one of many."""
    parts = urlsplit(address)
    return re.sub(r"/([0-9]+|[0-9a-f]{12,})(?=/|$)", "/…", parts.path) + ("?" if parts.query else "")


@pytest.mark.examples
def test_nothing_planted_runs_on_any_page_and_all_texts_can_be_read(
    page: Page, arrive: Arrive, planted: str, routed: list[str], complaints: Complaints
) -> None:
    complaints.expect("Permissions policy", "status of 404")
    waiting = ["/", planted, *routed, "/go", "/rules/", "/compare/", "/shared/", "/storage/", "/alerts/", "/routes/new"]
    waiting += [f"{planted}{each}" for each in ("coverage/", "changes/?minutes=1440", "delete/")]
    waiting += ["/sources/999999/", "/go?name=nothing", f"/go?name={quote(IMAGE)}", "/destinations/new?kind=webhook"]
    found, seen, names = set(waiting), Counter[str](), set[str | None]()
    shown = ""
    while waiting:
        address = waiting.pop(0)
        path, kind = urlsplit(address).path, kind_of(address)
        if path.startswith(("/api/", "/static/")) or seen[kind] >= OF_A_KIND:
            continue
        name = resolve(path).url_name
        if name in DOWNLOADED | ELSEWHERE:
            continue
        seen[kind] += 1
        arrive(address)
        if name not in names:
            page.evaluate(OPENED)
            readable_at_any_width(page)
            assert complaints_of_axe(page, EITHER if tries_all() else ("light",)) == [], address
            names.add(name)
        check(page, (WIDE, PHONE))
        shown += page.locator("body").inner_text()
        links = [urldefrag(urljoin(address, link)).url for link in page.evaluate(LINKS)]
        mine = [link for link in links if not link.startswith("/sources/") or link.startswith(planted)]
        new = [link for link in dict.fromkeys(mine) if urlsplit(link).scheme == "" and link not in found]
        found.update(new)
        waiting += new
    for markup in (IMAGE, "<script>ran(2)", LINK):
        assert markup in shown, f"{markup} is shown nowhere"
    pages = {each.name for each in urlpatterns if isinstance(each, URLPattern) and each.name} - DOWNLOADED - ELSEWHERE
    assert names >= pages, f"no link leads to {sorted(pages - names)}"


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


def test_what_is_done_with_names_of_recordings_and_files_runs_nothing(
    page: Page, arrive: Arrive, planted: str, complaints: Complaints, tmp_path: Path
) -> None:
    complaints.expect("status of 400")
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
    path = tmp_path / "<img src=x onerror=ran(5)>.log"
    path.write_bytes(b"<script>ran(6)</script>\n")
    choose(page, path)
    expect(page.get_by_role("alert")).to_be_visible()
    expect(page.locator(".upload")).to_contain_text(path.name)
    check(page)


def test_silencing_several_incidents_runs_nothing(page: Page, arrive: Arrive, planted: str) -> None:
    arrive(f"{planted}incidents/")
    for each in page.locator("input[name='incident']").all():
        each.check()
    page.get_by_role("button", name="Silence…").click()
    expect(page).to_have_url(re.compile("/silences/many$"))
    expect(page.locator("body")).to_contain_text("<script>ran(2)")
    page.evaluate(OPENED)
    readable_at_any_width(page)
    assert complaints_of_axe(page) == []
    check(page)


def test_the_report_runs_nothing(page: Page, planted: str, tmp_path: Path, site: str) -> None:
    status, content = Visitor(site).ask("GET", f"{planted}report")
    assert status == 200
    report = tmp_path / "report.html"
    report.write_bytes(content)
    page.goto(report.as_uri())
    expect(page.locator("#plot .scatterlayer")).to_be_visible()
    expect(page.locator("body")).to_contain_text(IMAGE, use_inner_text=True)
    assert [each for each in page.evaluate(INJECTED) if "ran(" in each and not each.startswith("<script")] == []
