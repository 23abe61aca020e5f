"""A timeline that is panned, zoomed and scrolled: what is drawn is moved first, and drawn again when the view rests."""

import re
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from playwright.sync_api import BrowserContext, Page, Route, expect

from tests.browser.everyone import complaints_of_axe
from tests.browser.looking import becomes, box_of, happens, opened, range_in_view, settled
from tests.browser.timeline.conftest import END, START

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


def moved(page: Page, key: str) -> None:
    frame = page.locator("#figure").get_attribute("data-drawn")
    page.keyboard.press(key)
    page.wait_for_function(f"() => document.getElementById('figure').dataset.drawn !== '{frame}'")


@contextmanager
def changed(page: Page, selector: str = "#range") -> Iterator[None]:
    """What is done within it changes what an element says."""
    reported = page.locator(selector)
    before = reported.inner_text()
    yield
    expect(reported).not_to_have_text(before)


@pytest.mark.parametrize(("view", "keys"), [("", "aws"), ("?axis=order", "d")])
def test_what_is_moved_is_where_it_is_drawn_afterwards(page: Page, recording: str, view: str, keys: str) -> None:
    opened(page, recording + view)
    page.wait_for_timeout(300)  # until the view rests
    # No other window may come: on the axis of creation order, moments have other places in it.
    page.route(re.compile(r"/window\?"), lambda route: None)
    before = page.evaluate(DRAWN)
    for key in keys:
        moved(page, key)
    quick = page.evaluate(PLACES)
    page.get_by_role("button", name="Switch between light and dark").click()  # draws everything again
    becomes(page, f"() => {DRAWN} > {before}")
    exact = page.evaluate(PLACES)
    assert len(quick) == len(exact) > 0
    for one, other in zip(quick, exact, strict=True):
        assert one == pytest.approx(other, abs=1.5)


def test_a_pan_needs_no_new_drawing_until_it_rests(whole: Page) -> None:
    whole.wait_for_timeout(300)  # until the view rests
    before = whole.evaluate(DRAWN)
    for key in "dada":
        moved(whole, key)
    assert whole.evaluate(DRAWN) == before
    for key in "dddd":
        moved(whole, key)
    becomes(whole, f"() => {DRAWN} > {before}")
    whole.wait_for_timeout(600)  # the lanes are updated when the view has rested for 400 ms
    settled(whole)
    written = whole.evaluate(AREAS)
    whole.evaluate("Plotly.redraw(document.getElementById('plot'))")
    drawn = whole.evaluate(AREAS)  # the page has drawn what Plotly would draw of the same data
    assert len(written) == len(drawn) > 0
    for one, other in zip(written, drawn, strict=True):
        assert one == pytest.approx(other, abs=0.1)


def test_a_window_comes_while_the_view_goes_on_moving(whole: Page) -> None:
    whole.keyboard.press("r")
    settled(whole)
    answered: list[float] = []

    def answer(route: Route) -> None:
        time.sleep(SLOW / 1000)
        route.continue_()

    whole.route(re.compile(r"/window\?"), answer)
    whole.on(
        "requestfinished", lambda request: answered.append(time.monotonic()) if "/window?" in request.url else None
    )
    until = time.monotonic() + 4
    step = 0
    while time.monotonic() < until and not answered:
        whole.keyboard.press("w" if step < 12 else "da"[step % 2])
        whole.wait_for_timeout(60)
        step += 1
    assert answered


def test_keys_and_the_pointer_step_pan_and_zoom(whole: Page) -> None:
    reported, selected = whole.locator("#range"), whole.locator(".finding.selected h4")
    with changed(whole, ".finding.selected h4"):
        first = selected.inner_text()
        whole.keyboard.press("n")
    whole.keyboard.press("p")
    expect(selected).to_have_text(first)
    fitted = reported.inner_text()
    for key in ("ArrowRight", "w"):
        with changed(whole):
            whole.keyboard.press(key)
    whole.keyboard.press("f")
    expect(reported).to_have_text(fitted)
    settled(whole)

    box = box_of(whole, "#figure")
    whole.mouse.move(box["x"] + 300, box["y"] + 47)
    expect(whole.locator("#tip")).to_contain_text("Job ring")
    with changed(whole):
        whole.mouse.wheel(0, -200)
    with changed(whole):
        whole.mouse.down()
        whole.mouse.move(box["x"] + 150, box["y"] + 47, steps=3)
        whole.mouse.up()
    strip = box_of(whole, "#minimap")
    with changed(whole):
        whole.mouse.click(strip["x"] + 900, strip["y"] + 30)

    for key in "ddd" + 40 * "s":
        whole.keyboard.press(key)
    expect(reported).to_contain_text("07:51:2")  # zooming out ends with the whole recording in the middle
    expect(reported).to_contain_text("07:53:0")


def test_dragging_zooms_and_each_view_is_a_step_of_the_history(timeline: Page) -> None:
    box = box_of(timeline, "#figure")
    views = [range_in_view(timeline)]

    def drag(start: float, end: float, *, key: str = "") -> tuple[int, int]:
        """The view afterwards."""
        if key:
            timeline.keyboard.down(key)
        timeline.mouse.move(box["x"] + start * box["width"], box["y"] + 150)
        timeline.mouse.down()
        timeline.mouse.move(box["x"] + end * box["width"], box["y"] + 160, steps=4)
        band = timeline.locator(".zoom-band").count()
        timeline.mouse.up()
        if key:
            timeline.keyboard.up(key)
        assert band == (timeline.locator("#stage.pans").count() == (key == "Shift"))
        return range_in_view(timeline)

    def width(view: tuple[int, int]) -> int:
        return view[1] - view[0]

    views.append(drag(0.75, 0.25))
    assert width(views[1]) == pytest.approx(width(views[0]) / 2, rel=0.02)
    assert views[1][0] == pytest.approx(views[0][0] + width(views[0]) / 4, abs=width(views[0]) / 50)
    views.append(drag(0.5, 0.25, key="Shift"))
    assert width(views[2]) == pytest.approx(width(views[1]), rel=0.02) and views[2][0] > views[1][0]
    timeline.wait_for_timeout(1100)  # a movement is over when the view has rested for a second
    for _ in range(5):
        timeline.mouse.wheel(0, -60)
    timeline.keyboard.press("+")
    timeline.keyboard.press("-")
    happens(timeline, lambda: width(range_in_view(timeline)) < width(views[2]))
    for view in reversed(views):
        timeline.go_back()
        happens(timeline, lambda view=view: range_in_view(timeline) == view)  # type: ignore[misc]
    timeline.go_forward()
    happens(timeline, lambda: range_in_view(timeline) == views[1])

    timeline.keyboard.press("g")
    timeline.get_by_role("radio", name="pans").check()
    timeline.keyboard.press("Escape")
    assert width(drag(0.5, 0.25)) == pytest.approx(width(views[1]), rel=0.02)
    timeline.reload()
    settled(timeline)
    assert width(drag(0.25, 0.75, key="Shift")) == pytest.approx(width(views[1]) / 2, rel=0.05)


def test_a_time_that_is_typed_or_chosen_is_shown(timeline: Page) -> None:
    menu, text = timeline.get_by_role("form", name="Time"), timeline.get_by_label("Go to a time or a range")
    said, reported = menu.get_by_role("status"), timeline.locator("#range")
    reported.click()
    expect(text).to_be_focused()
    text.fill("soon")
    text.press("Enter")
    expect(said).to_contain_text("not a time that is known")
    text.fill("07:52:10 to 07:52:20")
    expect(said).to_have_text("2026-11-21 07:52:10.000 to 07:52:20.000 UTC")
    expect(menu.get_by_label("From")).to_have_value("2026-11-21T07:52:10")
    assert complaints_of_axe(timeline) == []
    text.press("Enter")
    expect(menu).to_be_hidden()
    expect(reported).to_have_text("07:52:10.000 – 07:52:20.000")
    timeline.keyboard.press("g")
    menu.get_by_label("From").fill("2026-11-21T07:52:15.500")
    menu.get_by_role("button", name="Show").click()
    expect(reported).to_have_text("07:52:15.500 – 07:52:20.000")
    timeline.keyboard.press("z")
    expect(reported).to_have_text("08:52:15.500 – 08:52:20.000")
    timeline.keyboard.press("g")
    expect(menu).to_contain_text("read in Europe/Berlin")
    text.fill("08:52:30")
    expect(said).to_have_text("2026-11-21 08:52:30.000 Europe/Berlin +01:00")
    text.press("Enter")
    expect(reported).to_have_text("08:52:27.750 – 08:52:32.250")
    expect(timeline.locator(".axis .moment")).to_have_text("08:52:30")
    expect(timeline.locator(".axis .alert")).to_have_count(0)  # only a link tells of an alert
    timeline.keyboard.press("/")
    timeline.keyboard.type("09:30:01")
    expect(timeline.locator("#hits [aria-selected=true]")).to_contain_text("Go to")
    timeline.keyboard.press("Enter")
    expect(said).to_contain_text("after the last change, which was at 2026-11-21 08:52:5")
    expect(text).to_have_attribute("aria-invalid", "true")
    text.press("Enter")
    expect(menu).to_be_visible()
    text.press("Escape")
    expect(reported).to_have_text("08:52:27.750 – 08:52:32.250")
    timeline.go_back()
    expect(reported).to_have_text("08:52:15.500 – 08:52:20.000")


def test_the_lanes_scroll_and_further_ones_are_brought(whole: Page) -> None:
    whole.keyboard.press("r")
    expect(whole.locator("#range")).to_contain_text("07:51:3")
    settled(whole)
    whole.keyboard.press("PageDown")
    expect(whole.locator(".lane-name", has_text="vs-online").first).to_be_in_viewport()
    whole.keyboard.press("PageUp")
    expect(whole.locator(".lane-name", has_text="ring-weak-0")).to_be_in_viewport()
    whole.set_viewport_size({"width": 1440, "height": 640})
    settled(whole)
    first = whole.locator(".lane-name").first.inner_text()
    for _ in range(12):
        whole.locator("#bench").evaluate("bench => bench.scrollBy(0, 300)")
        settled(whole)
    expect(whole.locator(".lane-name").first).not_to_have_text(first)
    expect(whole).to_have_url(re.compile(r"offset=\d+"))
    assert whole.locator(".lane").count() <= 60


def test_two_fingers_zoom(timeline: Page, context: BrowserContext) -> None:
    box = box_of(timeline, "#figure")
    fingers = context.new_cdp_session(timeline)

    def touch(kind: str, *xs: float) -> None:
        points = [{"x": box["x"] + x, "y": box["y"] + 150, "id": number} for number, x in enumerate(xs)]
        fingers.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})

    def zoomed() -> bool:
        start, end = range_in_view(timeline)
        return 0.4 * (END - START) < end - start < 0.6 * (END - START)

    touch("touchStart", 300, 400)
    for apart in (60, 80, 100):
        touch("touchMove", 350 - apart, 350 + apart)
    touch("touchEnd")
    happens(timeline, zoomed)
    expect(timeline.locator(".lane.current")).to_have_count(0)  # a pinch is no click


def test_the_minimap_stretches_moves_and_selects(timeline: Page) -> None:
    reported = timeline.locator("#range")
    timeline.keyboard.press("r")
    expect(reported).to_contain_text("07:51:3")
    settled(timeline)
    strip = box_of(timeline, "#minimap")

    def drag(start: float, end: float) -> dict[str, float]:
        """The window afterwards."""
        with changed(timeline):
            timeline.mouse.move(start, strip["y"] + 30)
            timeline.mouse.down()
            timeline.mouse.move(end, strip["y"] + 30, steps=4)
            timeline.mouse.up()
        settled(timeline)
        return box_of(timeline, "#minimap-window")

    drag(box_of(timeline, "#minimap-start")["x"] + 5, strip["x"] + 500)
    assert "07:52:0" in reported.inner_text().split(" – ")[0]
    window = drag(strip["x"] + 200, strip["x"] + 300)  # outside of it: a new one
    assert 90 < window["width"] < 110
    moved = drag(window["x"] + 50, window["x"] + 250)
    assert abs(moved["width"] - window["width"]) < 2 and moved["x"] - window["x"] > 190
    end = timeline.locator("#minimap-end")
    end.focus()
    before = end.get_attribute("aria-valuetext")
    timeline.keyboard.press("ArrowRight")
    expect(end).not_to_have_attribute("aria-valuetext", before or "")
    settled(timeline)
    assert box_of(timeline, "#minimap-window")["width"] > moved["width"] + 5
