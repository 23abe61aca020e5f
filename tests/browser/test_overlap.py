"""No two texts of any page or report lie over each other, however wide it is, and styles of one part reach no other."""

import json
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urldefrag, urljoin, urlsplit

import pytest
from django.urls import URLPattern, resolve
from playwright.sync_api import Browser, Page, expect

from collectors.analysis import analyse
from collectors.formats import Limits
from dashboard.report import inlining
from dashboard.report.contents import of_analysis
from dashboard.report.page import rendered
from dashboard.urls import urlpatterns
from tests.browser.conftest import SAMPLE, Complaints, settled
from tests.browser.overlap import readable_at_any_width
from tests.visitor import Visitor

RULES = Path(__file__).parents[1] / "rules"
REPORTED = [
    RULES / "missing-reference" / "fires-claim-three-seconds-late.jsonl",
    RULES / "service-gap" / "quiet-collection-deleted.jsonl",
]
LINKS = "() => [...document.querySelectorAll('a[href]')].map((link) => link.getAttribute('href'))"
OPENED = "() => document.querySelectorAll('details:not(.menu)').forEach((each) => { each.open = true; })"
DOWNLOADED = {"audit_export", "incident_picture", "report", "revision_json", "metrics", "health", "live", "logout"}
# Pages that need accounts, a connected cluster, or something to confirm. Their own tests ask the same, by `fits`.
ELSEWHERE = {
    *("access", "take_role", "login", "second_factor", "second_factor_code", "oidc", "oidc_callback"),
    *("password", "sessions", "own_tokens", "cluster", "log_store", "undo-deletion"),
}
# The rules of some style sheets that match an element of some part of the page. A nested rule says & for those around.
REACHED = """([sheets, part]) => {
  const found = [];
  const reach = (rules, parent) => {
    for (const rule of rules) {
      const selector = rule.selectorText?.replaceAll("&", parent ? `:is(${parent})` : ":root");
      const plain = selector?.replace(/::[\\\\w-]+(\\\\([^)]*\\\\))?/g, "");
      for (const each of document.querySelectorAll(part))
        if (plain && each.matches(plain)) { found.push(selector); break; }
      if (rule.cssRules?.length) reach(rule.cssRules, selector ?? parent);
    }
  };
  for (const text of sheets) {
    const sheet = new CSSStyleSheet();
    sheet.replaceSync(text);
    reach(sheet.cssRules, "");
  }
  return found;
}"""


def name_of(address: str) -> str | None:
    path = urlsplit(address).path
    return None if path.startswith(("/api/", "/static/")) else resolve(path).url_name


@pytest.fixture
def routed(site: str) -> Iterator[list[str]]:
    """The pages of a destination, and of a route to it."""
    visitor = Visitor(site)

    def made(what: str, **values: object) -> str:
        typed = {"Content_Type": "application/json"}
        status, told = visitor.ask("POST", f"/api/{what}", json.dumps({"name": "overlap", **values}).encode(), **typed)
        assert status == 201, told
        return str(told["id"])

    receiver = {"url": "http://localhost:9/", "secret": "s" * 32}
    destination = made("destinations", kind="webhook", values=receiver)
    route = made("routes", destinations=[int(destination)], enabled=False)
    yield [f"/destinations/{destination}/", f"/routes/{route}/"]
    visitor.ask("DELETE", f"/api/routes/{route}")
    visitor.ask("DELETE", f"/api/destinations/{destination}")


def test_no_two_texts_of_a_page_lie_over_each_other(
    page: Page, recording: str, routed: list[str], complaints: Complaints
) -> None:
    complaints.expect("status of 404", "Permissions policy")
    waiting = ["/", recording, *routed, "/go?name=nothing-of-that-name", "/compare/", "/shared/", "/storage/"]
    waiting += [f"{recording}delete/", "/destinations/new?kind=webhook", "/routes/new", "/alerts/"]
    found, seen = set(waiting), set[str]()
    while waiting:
        address = waiting.pop(0)
        name = name_of(address)
        if name is None or name in seen | DOWNLOADED | ELSEWHERE:
            continue
        seen.add(name)
        page.goto(address)
        if page.locator("#figure").count():
            settled(page)
        page.evaluate(OPENED)
        readable_at_any_width(page)
        links = [urldefrag(urljoin(address, link)).url for link in page.evaluate(LINKS)]
        new = [link for link in dict.fromkeys(links) if link.startswith("/") and link not in found]
        found.update(new)
        waiting += new
    pages = {each.name for each in urlpatterns if isinstance(each, URLPattern) and each.name} - DOWNLOADED - ELSEWHERE
    assert seen >= pages, f"no link leads to {sorted(pages - seen)}"


@pytest.fixture(scope="module")
def reader(browser: Browser) -> Iterator[Page]:
    """A page that has no server."""
    context = browser.new_context(offline=True, reduced_motion="reduce")
    yield context.new_page()
    context.close()


def read(page: Page, report: Path) -> None:
    page.goto(report.as_uri())
    page.evaluate(OPENED)
    expect(page.locator("#labels .lane").first).to_be_attached()


def test_no_two_texts_of_a_report_of_a_page_lie_over_each_other(
    page: Page, reader: Page, recording: str, tmp_path: Path
) -> None:
    page.goto(f"{recording}?namespace=vol-restart")
    expect(page.locator(".finding.selected")).to_be_visible()
    page.get_by_role("button", name="Report").click()
    with page.expect_download() as download:
        page.get_by_role("button", name="HTML file").click()
    download.value.save_as(tmp_path / "report.html")
    read(reader, tmp_path / "report.html")
    readable_at_any_width(reader)


@pytest.mark.parametrize("recording", [SAMPLE, *REPORTED], ids=lambda path: path.name)
def test_no_two_texts_of_a_report_of_the_command_lie_over_each_other(
    reader: Page, recording: Path, tmp_path: Path
) -> None:
    file = tmp_path / "report.html"
    file.write_text(rendered(of_analysis(analyse([(recording, recording.name)], Limits()), title=recording.name)))
    read(reader, file)
    readable_at_any_width(reader)
    sheets = {name: inlining.text(f"css/{name}.css") for name in ("timeline", "controls", "change", "document")}
    text = [sheets.pop("document")]
    assert reader.evaluate(REACHED, [list(sheets.values()), ".headline, .document, .document *"]) == []
    assert reader.evaluate(REACHED, [text, ".workbench *, .top *"]) == []
    assert reader.evaluate(REACHED, [list(sheets.values()), ".workbench *"])  # so the question is a good one
