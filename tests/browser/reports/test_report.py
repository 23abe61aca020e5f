"""The report as it lies on a disk: opened from its file, with no server and no network."""

import re
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Literal

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, ViewportSize, expect

from collectors.analysis import analyse
from collectors.formats import Limits
from dashboard.report import inlining
from dashboard.report.contents import of_analysis
from dashboard.report.page import rendered
from tests import RULES
from tests.browser.conftest import lent
from tests.browser.everyone import EITHER, PHONE, WIDE, complaints_of_axe
from tests.browser.looking import PATIENCE, fits
from tests.browser.overlap import OPENED, readable_at_any_width
from tests.browser.timeline.test_first_view import AWAY, EARLY, LATE, PODS_EARLY
from tests.inputs.recordings import QUIET, SAMPLE

CLAIM = RULES / "missing-reference" / "fires-claim-three-seconds-late.jsonl"
RESTART = RULES / "service-gap" / "fires-volcano-restart-pod.jsonl"
EVIL = "</script><img src=x onerror=alert(1)><!--"
ARROWS = "() => document.querySelector('#plot').data?.find((trace) => trace.name === 'arrows')?.x?.length > 0"
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

Open = Callable[..., Page]


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Callable[[Path], str]:
    """Writes the report of a recording, each once; the address of the file. A report is one already."""
    folder = tmp_path_factory.mktemp("reports")

    def write(recording: Path) -> str:
        file = recording if recording.suffix == ".html" else folder / f"{recording.name}.html"
        if not file.exists():
            analysis = analyse([(recording, recording.name)], Limits())
            file.write_text(rendered(of_analysis(analysis, title=recording.name)), encoding="utf-8")
        return file.as_uri()

    return write


@pytest.fixture(scope="module")
def offline(browser: Browser, written: Callable[[Path], str]) -> Iterator[BrowserContext]:
    """Yield a browser context without a network. One of its pages stays open, so that scripts are compiled once."""
    context = browser.new_context(offline=True, reduced_motion="reduce", timezone_id="Europe/Berlin")
    context.set_default_timeout(PATIENCE)
    context.new_page().goto(written(SAMPLE))
    yield context
    context.close()


@pytest.fixture
def opened(offline: BrowserContext, written: Callable[[Path], str]) -> Iterator[Open]:
    """Opens the report of a recording. In the end, nothing may have been asked for but the file, nor complained of."""
    files, asked, reported = set[str](), set[str](), list[str]()

    def show(
        recording: Path = SAMPLE, size: ViewportSize = WIDE, theme: Literal["light", "dark"] = "light", anchor: str = ""
    ) -> Page:
        page = offline.new_page()
        page.set_viewport_size(size)
        page.emulate_media(color_scheme=theme)
        page.on("request", lambda request: asked.add(request.url.partition("#")[0]))
        page.on("pageerror", lambda error: reported.append(str(error)))
        page.on("console", lambda message: reported.append(message.text))
        page.on("dialog", lambda dialog: reported.append(dialog.message))
        files.add(written(recording))
        page.goto(written(recording) + anchor)
        return page

    with lent(offline):
        yield show
    assert {address for address in asked if not address.startswith("data:")} == files
    assert reported == []


def test_it_is_drawn_and_can_be_used_by_everyone(opened: Open) -> None:
    page = opened(theme="dark")
    expect(page.locator(".finding.selected h4")).to_have_text(AWAY)
    expect(page.locator("#plot .scatterlayer .fills path").first).to_be_attached()
    expect(page.locator(".pill-label")).to_have_text(LATE)
    page.wait_for_function(ARROWS)
    fits(page)
    assert complaints_of_axe(page, EITHER) == []


def test_on_a_phone_the_summary_comes_first(opened: Open) -> None:
    page = opened(size=PHONE)
    expect(page.locator(".sentences li").first).to_be_in_viewport()
    fits(page)
    assert complaints_of_axe(page) == []
    page.get_by_role("link", name="Details").nth(0).click()
    expect(page.locator(".full").filter(has_text=AWAY).locator("h3")).to_be_in_viewport()
    page.locator(".occurrence").filter(has_text=AWAY).get_by_role("button", name="Show on the timeline").click()
    expect(page.locator(".pill-label")).to_be_in_viewport()
    page.wait_for_function(ARROWS)
    assert complaints_of_axe(page) == []


def test_a_finding_is_shown_on_the_timeline(opened: Open) -> None:
    page = opened()
    page.locator(".symptom").filter(has_text=PODS_EARLY).locator("h4 button").click()
    expect(page.locator(".finding.selected h4")).to_have_text(EARLY)
    expect(page.locator(".pill-label")).to_have_text(LATE)
    before = page.locator("#range").inner_text()
    other = page.locator(".occurrence").filter(has_text="was away for 43–58 ms")
    other.locator("summary").click()
    other.get_by_role("button", name="Show on the timeline").click()
    expect(page.locator(".finding.selected h4")).to_contain_text("was away for 43–58 ms")
    expect(page.locator("#range")).not_to_have_text(before)
    expect(page.locator("#figure")).to_be_in_viewport()
    proof = other.locator(".events time").first
    expect(proof).to_have_text(re.compile(r"^07:52:0"))
    page.get_by_role("button", name="Show them in your time zone, Europe/Berlin").click()
    expect(proof).to_have_text(re.compile(r"^08:52:0"))
    expect(page.locator("#zone")).to_have_text("Europe/Berlin +01:00")
    expect(page.locator("#summary")).to_contain_text(
        re.compile(r"From 2026-11-21 08:52:00\.841 to 08:52:07\.232 Europe/Berlin")
    )
    page.locator('[data-lane="Service/vol-restart/ring"] .lane-name').focus()
    page.keyboard.press(".")
    page.keyboard.press("Enter")
    change = page.get_by_role("dialog", name="Service ring: deleted")
    expect(change).to_contain_text("RV ")
    expect(change).to_contain_text("A report does not hold the objects")
    page.reload()
    expect(page.locator(".finding.selected h4")).to_contain_text("was away for 43–58 ms")
    expect(change).to_be_visible()


def test_keys_kinds_and_measures_work_without_a_server(opened: Open) -> None:
    page = opened()
    expect(page.locator(".pill-label")).to_be_visible()
    page.locator('[data-lane="Service/vol-restart/ring"]').first.click()
    page.evaluate("document.querySelector('#bench').focus({ preventScroll: true })")
    for key in (".", "m", ".", "m"):
        page.keyboard.press(key)
    expect(page.locator(".measure-label")).to_contain_text(re.compile("· RV .* apart"))
    page.keyboard.press("Escape")
    page.keyboard.press("r")
    expect(page.locator("#range")).to_contain_text("07:51:3")
    page.locator("[data-kind=Pods]").click()
    expect(page.locator(".lane .badge").filter(has_not_text="pod")).to_have_count(0)
    expect(page.locator(".lane-name", has_text="ring-weak-0")).to_be_visible()
    other = page.locator(".lane-name", has_text="vs-online")
    page.locator("#namespace").select_option("vol-restart")
    expect(other).to_have_count(0)
    page.go_back()
    expect(other.first).to_be_attached()
    page.locator("[data-kind=Pods]").click()
    page.keyboard.press("n")
    expect(page.locator(".finding.selected")).to_have_count(1)
    page.locator(".incident").filter(has_text="elect on Lease volcano").locator("h3 button").click()
    expect(page.locator(".lane-name").first).to_have_text("vs-offline")  # what proves a finding stands on top
    for place, name in enumerate(("deploy vs-offline", "deploy vs-online")):
        expect(page.locator(".group-name").nth(place)).to_have_text(name)


def test_an_anchor_opens_what_it_leads_to(opened: Open) -> None:
    page = opened()
    info = page.locator(".full.info").first
    expect(info.locator(".events").first).to_be_hidden()
    anchor = info.get_attribute("id")
    page = opened(anchor=f"#{anchor}")
    expect(page.locator(f"#{anchor} .reasons").first).to_be_in_viewport()
    expect(page.locator(f"#{anchor} .events").first).to_be_visible()
    page.locator(f"#{anchor}").get_by_role("link", name=re.compile("^lease-|^pod-|^stale-")).click()
    expect(page.locator(".rule[open]")).to_have_count(1)
    expect(page.locator(".rule[open]")).to_contain_text("Looks alike but is benign")


def test_no_name_becomes_markup(opened: Open, tmp_path: Path) -> None:
    recording = tmp_path / f"{EVIL.replace('/', '')}.jsonl"
    recording.write_bytes(RESTART.read_bytes().replace(b"ring-steady-0", EVIL.encode()).replace(b'"admin"', b'"<b>x"'))
    page = opened(recording)
    expect(page.locator(".lane-name", has_text=EVIL)).to_be_visible()
    expect(page.locator("#finding-list")).to_contain_text(EVIL)
    expect(page.locator("#summary .sentences")).to_contain_text("written by vc-cm-head (<b>x)")
    expect(page.locator(".full").first).to_contain_text(EVIL)
    expect(page.locator(".full .events").first).to_contain_text("<b>x")
    expect(page.locator("h1")).to_contain_text("<script><img")
    assert page.locator("img[src=x], .document b").count() == 0


def test_a_recording_without_findings_is_drawn_whole(opened: Open) -> None:
    page = opened(QUIET)
    expect(page.locator(".headline")).to_contain_text("No ordering violation found")
    expect(page.locator("#plot .scatterlayer .fills path").first).to_be_attached()
    expect(page.locator("#finding-list")).to_contain_text("No ordering violation found")


def test_paper_is_light_and_holds_everything_with_a_landscape_page_for_the_figure(opened: Open) -> None:
    page = opened(theme="dark")
    expect(page.locator(".pill-label")).to_be_visible()
    sizes = re.findall(rb"/MediaBox \[0 0 (\d+)[.\d]* (\d+)", page.pdf(prefer_css_page_size=True))
    portrait, landscape = (b"594", b"841"), (b"841", b"594")
    assert sizes[:3] == [portrait, landscape, portrait] and set(sizes[2:]) == {portrait}
    page.emulate_media(media="print", color_scheme="dark")
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    closed = page.locator("details:not([open])")
    expect(closed).to_have_count(0)
    expect(page.locator("#findings")).to_be_hidden()
    expect(page.locator("body")).to_have_css("background-color", "rgb(255, 255, 255)")
    page.wait_for_function("() => document.querySelector('#figure').clientWidth < 1030")
    expect(page.locator(".pill-label")).to_be_visible()
    page.evaluate("dispatchEvent(new Event('afterprint'))")
    expect(closed).not_to_have_count(0)


def test_events_that_are_too_close_in_time_are_drawn_in_their_order(opened: Open) -> None:
    page = opened(CLAIM)
    expect(page.get_by_role("radio", name="Order")).to_be_checked()
    expect(page.locator(".axis-why")).to_contain_text("The figure therefore shows the order of the changes")
    expect(page.locator("#overlay .births")).to_have_count(1)
    circles = re.findall(r"M([\d.]+) ", page.locator("#overlay .births").get_attribute("d") or "")
    assert len(circles) == 3
    left = sorted(map(float, circles))
    assert all(later - earlier > 40 for earlier, later in pairwise(left))
    page.get_by_role("radio", name="Time").check()
    page.wait_for_function("location.hash.length > 1 && !location.hash.includes('axis=order')")


def test_without_scripts_the_findings_can_be_read(browser: Browser, written: Callable[[Path], str]) -> None:
    context = browser.new_context(java_script_enabled=False, viewport=WIDE)
    page = context.new_page()
    page.goto(written(SAMPLE))
    expect(page.locator(".no-script")).to_be_visible()
    expect(page.locator(".occurrence").filter(has_text=AWAY).locator(".events")).to_be_visible()
    context.close()


def check(page: Page) -> None:
    page.evaluate(OPENED)
    expect(page.locator("#labels .lane").first).to_be_attached()
    readable_at_any_width(page)


@pytest.mark.parametrize("recording", [SAMPLE, CLAIM, QUIET], ids=lambda path: path.name)
def test_no_two_texts_lie_over_each_other_and_styles_of_one_part_reach_no_other(opened: Open, recording: Path) -> None:
    page = opened(recording)
    check(page)
    sheets = {name: inlining.text(f"css/{name}.css") for name in ("timeline", "controls", "change", "document")}
    text = [sheets.pop("document")]
    assert page.evaluate(REACHED, [list(sheets.values()), ".headline, .document, .document *"]) == []
    assert page.evaluate(REACHED, [text, ".workbench *, .top *"]) == []
    assert page.evaluate(REACHED, [list(sheets.values()), ".workbench *"])  # so the question is a good one


def test_a_report_of_the_view_is_a_file_that_needs_no_server(
    page: Page, opened: Open, recording: str, tmp_path: Path
) -> None:
    page.goto(f"{recording}?namespace=vol-restart")
    expect(page.locator(".finding.selected")).to_be_visible()
    page.get_by_role("button", name="Report").click()
    assert complaints_of_axe(page) == []
    expect(page.get_by_role("radio", name="The open incident")).to_be_checked()
    page.get_by_role("radio", name="What the timeline shows now").check()
    page.get_by_label("Your note").fill("Restarted by hand.\n<b>OPS-7</b>")
    with page.expect_download() as download:
        page.get_by_role("button", name="HTML file").click()
    download.value.save_as(tmp_path / "report.html")
    reader = opened(tmp_path / "report.html")
    expect(reader.locator("#labels")).to_contain_text("ring-steady-0")
    expect(reader.locator(".note")).to_contain_text("<b>OPS-7</b>")
    for words in "This report is narrowed to: ", "part 2026-11-21 07:52:0":
        expect(reader.locator(".scope").first).to_contain_text(words)
    expect(reader.locator(".finding.selected")).to_contain_text("Service ring was away")
    check(reader)
