"""A timeline that is panned and zoomed: what is drawn is moved first, and drawn again when the view rests."""

import re
import time

import pytest
from playwright.sync_api import Page, Route, expect

from tests.browser.conftest import becomes, fits, settled

# The outlines of what Plotly has drawn, in pixels of the screen, and where the marks above it are.
PLACES = """() => {
  const chart = document.getElementById("figure").getBoundingClientRect();
  const cut = (path) => {
    const { left, right } = path.getBoundingClientRect();
    return [Math.max(left, chart.left), Math.min(right, chart.right)];
  };
  return [...document.querySelectorAll("#plot .fills path")].map(cut).filter(([left, right]) => right > left);
}"""
# The area of each colour that is drawn, in pixels.
AREAS = """() => [...document.querySelectorAll("#plot .fills path")].map((path) => path.getBBox())
  .map(({ x, y, width, height }) => [x, y, width, height]).filter(([, , width]) => width > 0)"""
DRAWN = "Number(document.getElementById('plot').dataset.revision)"
SLOW = 700  # ms


@pytest.fixture
def timeline(page: Page, recording: str) -> Page:
    page.goto(recording)
    settled(page)
    expect(page.locator("#plot .scatterlayer")).to_be_visible()
    page.wait_for_timeout(300)  # until the view rests
    return page


def moved(page: Page, key: str) -> None:
    frame = page.locator("#figure").get_attribute("data-drawn")
    page.keyboard.press(key)
    page.wait_for_function(f"() => document.getElementById('figure').dataset.drawn !== '{frame}'")


@pytest.mark.parametrize(("view", "keys"), [("", "d"), ("", "aws"), ("&axis=order", "d")])
def test_what_is_moved_is_where_it_is_drawn_afterwards(timeline: Page, view: str, keys: str) -> None:
    timeline.goto(timeline.url + view)
    settled(timeline)
    expect(timeline.locator("#plot .scatterlayer")).to_be_visible()
    timeline.wait_for_timeout(300)  # until the view rests
    # No other window may come: on the axis of creation order, moments have other places in it.
    timeline.route(re.compile(r"/window\?"), lambda route: None)
    before = timeline.evaluate(DRAWN)
    for key in keys:
        moved(timeline, key)
    quick = timeline.evaluate(PLACES)
    timeline.get_by_role("button", name="Switch between light and dark").click()  # draws everything again
    becomes(timeline, f"() => {DRAWN} > {before}")
    exact = timeline.evaluate(PLACES)
    assert len(quick) == len(exact) > 0
    for one, other in zip(quick, exact, strict=True):
        assert one == pytest.approx(other, abs=1.5)


def test_the_page_draws_what_plotly_would_draw_of_the_same_data(timeline: Page) -> None:
    moved(timeline, "w")
    timeline.wait_for_timeout(300)  # until it was drawn again
    written = timeline.evaluate(AREAS)
    timeline.evaluate("Plotly.redraw(document.getElementById('plot'))")
    drawn = timeline.evaluate(AREAS)
    assert len(written) == len(drawn) > 0
    for one, other in zip(written, drawn, strict=True):
        assert one == pytest.approx(other, abs=0.1)


def test_a_pan_needs_no_new_drawing_until_it_rests(timeline: Page) -> None:
    before = timeline.evaluate(DRAWN)
    for key in "dada":
        moved(timeline, key)
    assert timeline.evaluate(DRAWN) == before
    for key in "dddd":
        moved(timeline, key)
    becomes(timeline, f"() => {DRAWN} > {before}")


def test_a_window_comes_while_the_view_goes_on_moving(timeline: Page) -> None:
    timeline.keyboard.press("r")
    settled(timeline)
    answered: list[float] = []

    def answer(route: Route) -> None:
        time.sleep(SLOW / 1000)
        route.continue_()

    timeline.route(re.compile(r"/window\?"), answer)
    timeline.on(
        "requestfinished", lambda request: answered.append(time.monotonic()) if "/window?" in request.url else None
    )
    until = time.monotonic() + 4
    step = 0
    while time.monotonic() < until and not answered:
        timeline.keyboard.press("w" if step < 12 else "da"[step % 2])
        timeline.wait_for_timeout(60)
        step += 1
    assert answered


def test_an_account_is_in_the_menu_of_a_phone(page: Page, recording: str) -> None:
    page.set_viewport_size({"width": 360, "height": 720})
    page.goto(recording)
    expect(page.locator(".finding.selected")).to_be_visible()
    page.locator("#sheet-open").click()
    sheet = page.locator("#sheet")
    expect(sheet.get_by_role("button", name="Sign out")).to_be_visible()
    expect(sheet.get_by_role("button", name="Light or dark")).to_be_visible()
    fits(page)
