"""The timeline of the sample: its lanes, its findings, and the hands that move it."""

import re

import pytest
from playwright.sync_api import BrowserContext, Page, Route, expect

from tests.browser.conftest import Complaints, becomes, fits, settled

AWAY = "Service ring was away for ≈ 50 ms under 3 running Pods"
EARLY = "Pod ring-weak-0 was created ≈ 30 ms before its Service ring"
PODS_EARLY = "2 Pods created before Service ring"  # the incident of this finding and another


@pytest.fixture
def timeline(page: Page, recording: str) -> Page:
    page.goto(recording)
    settled(page)
    expect(page.locator("#plot .scatterlayer")).to_be_visible()
    return page


def drawn_range(page: Page) -> str:
    return page.locator("#range").inner_text()


def bars(page: Page) -> int:
    return page.locator("#plot .scatterlayer .fills path").count()


def test_it_opens_on_the_gravest_finding(timeline: Page) -> None:
    selected = timeline.locator(".finding.selected")
    expect(selected.locator("h4")).to_have_text(AWAY)
    expect(selected).to_contain_text("Service deleted")
    expect(selected).to_contain_text("07:52:00.841 · RV 582")
    expect(selected).to_contain_text("What to do")
    expect(timeline).to_have_url(re.compile(r"start=\d+&end=\d+&finding=\w+"))
    expect(timeline.get_by_role("img", name=re.compile("^Timeline from 07:52:00"))).to_have_attribute(
        "aria-label", re.compile(re.escape(AWAY))
    )


def test_lanes_stand_in_the_order_of_creation(timeline: Page) -> None:
    ring = timeline.locator(".run").first
    expect(ring.locator(".group-name")).to_have_text("vcj ring")
    numbers = [int(text) for text in ring.locator(".lane-number").all_inner_texts()]
    births = [int(text) for text in timeline.locator(".birth").all_text_contents()]
    older = [number for number in numbers if number not in births]  # the others tell the number of their first circle
    assert older == sorted(older)
    assert numbers[0] == 1
    names = ring.locator(".lane-name").all_inner_texts()
    assert names[0] == "ring"
    assert {"ring-svc", "ring-steady-0", "ring-steady-1", "ring-steady-2", "ring-weak-0"} <= set(names)
    weak = ring.locator(".lane").filter(has=timeline.locator(".lane-name", has_text=re.compile("^ring-weak-0$")))
    assert int(weak.locator(".lane-number").inner_text()) in births
    assert bars(timeline) > 0


def test_one_click_on_a_name_opens_its_object(timeline: Page) -> None:
    timeline.locator("#labels a.lane-name").first.click()
    expect(timeline).to_have_url(re.compile(r"/objects/\d+/$"))


def test_the_hole_and_the_arrow_are_drawn(timeline: Page) -> None:
    expect(timeline.locator(".pill-label")).to_have_text("Service ≈ 30 ms late")
    expect(timeline.locator(".hole-text")).to_contain_text("≈ 50 ms")
    dashed = timeline.locator("#plot path[style*='stroke-dasharray: 4px']")
    expect(dashed.first).to_be_attached()
    timeline.get_by_role("button", name=PODS_EARLY).click()
    expect(timeline.locator(".finding.selected h4")).to_have_text(EARLY)
    expect(timeline.locator(".finding.selected")).to_contain_text("RV 588")
    expect(timeline.locator(".pill-label")).to_have_text("Service ≈ 30 ms late")


def test_kinds_and_namespaces_filter_the_lanes(timeline: Page) -> None:
    timeline.locator("[data-kind=Pods]").click()
    expect(timeline.locator(".lane .badge").filter(has_not_text="pod")).to_have_count(0)
    expect(timeline.locator(".lane-name", has_text="ring-weak-0")).to_be_visible()
    timeline.get_by_role("button", name="without a change").click()
    expect(timeline.locator(".lane-name", has_text="vs-online").first).to_be_attached()
    timeline.locator("#namespace").select_option("vol-restart")
    expect(timeline.locator(".lane-name", has_text="vs-online")).to_have_count(0)
    expect(timeline).to_have_url(re.compile("kinds=Pods&namespace=vol-restart"))
    timeline.go_back()
    expect(timeline.locator(".lane-name", has_text="vs-online").first).to_be_attached()
    timeline.locator("[data-kind=Services]").click()
    expect(timeline.locator(".lane .badge", has_text="svc").first).to_be_visible()


def test_the_address_says_what_is_seen(timeline: Page, recording: str, context: BrowserContext) -> None:
    timeline.get_by_role("button", name=PODS_EARLY).click()
    timeline.locator("[data-kind=Pods]").click()
    timeline.keyboard.press("d")
    search = settled(timeline)
    other = context.new_page()
    other.goto(f"{recording}{search}")
    expect(other.locator(".finding.selected h4")).to_have_text(EARLY)
    expect(other.locator("[data-kind=Pods]")).to_have_attribute("aria-pressed", "true")
    expect(other.locator("#range")).to_have_text(drawn_range(timeline))
    names = timeline.locator(".lane-name").all_inner_texts()
    expect(other.locator(".lane-name")).to_have_text(names)


def test_keys_step_pan_zoom_and_help(timeline: Page) -> None:
    first = timeline.locator(".finding.selected h4").inner_text()
    timeline.keyboard.press("n")
    expect(timeline.locator(".finding.selected h4")).not_to_have_text(first)
    timeline.keyboard.press("p")
    expect(timeline.locator(".finding.selected h4")).to_have_text(first)
    fitted = drawn_range(timeline)
    for key in ("ArrowRight", "w"):
        before = drawn_range(timeline)
        timeline.keyboard.press(key)
        expect(timeline.locator("#range")).not_to_have_text(before)
    timeline.keyboard.press("f")
    expect(timeline.locator("#range")).to_have_text(fitted)
    timeline.keyboard.press("r")
    expect(timeline.locator("#range")).to_contain_text("07:51:3")
    timeline.keyboard.press("?")
    expect(timeline.get_by_role("dialog", name="Keys")).to_be_visible()
    timeline.keyboard.press("Escape")
    expect(timeline.get_by_role("dialog")).to_have_count(0)


def test_the_pointer_zooms_pans_and_tells(timeline: Page) -> None:
    box = timeline.locator("#figure").bounding_box()
    assert box
    timeline.mouse.move(box["x"] + 300, box["y"] + 47)
    expect(timeline.locator("#tip")).to_contain_text("Job ring")
    before = drawn_range(timeline)
    timeline.mouse.wheel(0, -200)
    expect(timeline.locator("#range")).not_to_have_text(before)
    before = drawn_range(timeline)
    timeline.mouse.down()
    timeline.mouse.move(box["x"] + 150, box["y"] + 47, steps=3)
    timeline.mouse.up()
    expect(timeline.locator("#range")).not_to_have_text(before)
    before = drawn_range(timeline)
    strip = timeline.locator("#minimap").bounding_box()
    assert strip
    timeline.mouse.click(strip["x"] + 900, strip["y"] + 30)
    expect(timeline.locator("#range")).not_to_have_text(before)


def test_zooming_out_ends_with_the_whole_recording_in_the_middle(timeline: Page) -> None:
    for _ in range(3):
        timeline.keyboard.press("d")
    for _ in range(40):
        timeline.keyboard.press("s")
    expect(timeline.locator("#range")).to_contain_text("07:51:2")
    expect(timeline.locator("#range")).to_contain_text("07:53:0")


def test_the_lanes_scroll_by_page(timeline: Page) -> None:
    timeline.keyboard.press("r")
    settled(timeline)
    timeline.keyboard.press("PageDown")
    expect(timeline.locator(".lane-name", has_text="vs-online").first).to_be_in_viewport()
    timeline.keyboard.press("PageUp")
    expect(timeline.locator(".lane-name", has_text="ring-weak-0")).to_be_in_viewport()


def test_groups_collapse(timeline: Page) -> None:
    ring = timeline.get_by_role("button", name=re.compile("vcj ring"))
    ring.click()
    expect(timeline.locator(".lane-name", has_text="ring-weak-0")).to_have_count(0)
    ring.click()
    expect(timeline.locator(".lane-name", has_text="ring-weak-0")).to_be_visible()


def test_lanes_without_a_change_are_folded_until_they_are_asked_for(timeline: Page) -> None:
    furniture = timeline.locator(".lane-name", has_text="kube-root-ca.crt")
    expect(timeline.locator(".lane-name", has_text="ring-weak-0")).to_be_visible()
    expect(furniture).to_have_count(0)
    folded = timeline.get_by_role("button", name="35 objects without a change, in all groups")
    folded.focus()
    timeline.keyboard.press("Enter")
    expect(furniture.first).to_be_attached()
    expect(timeline.locator(".lane.quiet", has=furniture).first).to_be_attached()
    expect(timeline).to_have_url(re.compile(r"unfold=(\*|%2A)"))
    timeline.wait_for_function(DRAWN_WITHOUT_COLOUR)
    timeline.go_back()
    expect(furniture).to_have_count(0)
    expect(folded).to_be_visible()


DRAWN_WITHOUT_COLOUR = "document.querySelector('#plot').data.find((trace) => trace.name === 'bars quiet')?.x.length > 0"


def test_an_arrow_whose_lane_is_out_of_sight_ends_in_a_dot(timeline: Page) -> None:
    timeline.get_by_role("button", name=PODS_EARLY).click()
    expect(timeline.locator(".pill-label")).to_have_text("Service ≈ 30 ms late")
    timeline.locator("[data-kind=Pods]").click()
    expect(timeline.locator(".lane .badge", has_text="svc")).to_have_count(0)
    expect(timeline.locator(".pill-label")).to_have_text("Service ≈ 30 ms late")
    dots = "document.querySelector('#plot').data.find(({ name }) => name === 'ends out of sight').x.join().split(',,')"
    timeline.wait_for_function(f"() => {dots}.length === 1")
    timeline.get_by_role("button", name=re.compile("vcj ring")).click()
    expect(timeline.locator(".lane-name", has_text="ring-weak-0")).to_have_count(0)
    timeline.wait_for_function(f"() => {dots}.length === 2")
    expect(timeline.locator(".pill-label")).to_have_text("Service ≈ 30 ms late")


@pytest.mark.parametrize("width", [360, 1024, 1331])
def test_nothing_moves_when_the_kinds_come_in(page: Page, recording: str, width: int) -> None:
    held: list[Route] = []
    page.set_viewport_size({"width": width, "height": 768})
    page.route(re.compile(r"/(opening|overview)\b"), lambda route: held.append(route))
    page.goto(recording)
    minimap = page.locator("#minimap")
    before = minimap.bounding_box()
    while not held:
        page.wait_for_timeout(20)
    held[0].continue_()
    expect(page.locator("[data-kind]").first).to_be_attached()
    expect(page.locator(".finding.selected")).to_be_visible()
    page.wait_for_load_state("networkidle")
    assert minimap.bounding_box() == before


def test_scrolling_brings_further_lanes(timeline: Page) -> None:
    timeline.set_viewport_size({"width": 1440, "height": 640})
    timeline.keyboard.press("r")
    settled(timeline)
    first = timeline.locator(".lane-name").first.inner_text()
    for _ in range(12):
        timeline.locator("#bench").evaluate("bench => bench.scrollBy(0, 300)")
        settled(timeline)
    expect(timeline.locator(".lane-name").first).not_to_have_text(first)
    expect(timeline).to_have_url(re.compile(r"offset=\d+"))
    assert timeline.locator(".lane").count() <= 60


def test_dark_mode_redraws_the_chart(timeline: Page) -> None:
    pod = timeline.locator("#plot .fills path").first
    light = pod.evaluate("path => getComputedStyle(path).fill")
    timeline.get_by_role("button", name="Switch between light and dark").click()
    expect(timeline.locator("html")).to_have_attribute("data-theme", "dark")
    fill = "getComputedStyle(document.querySelector('#plot .fills path')).fill"
    timeline.wait_for_function(f"(light) => {fill} !== light", arg=light)
    expect(timeline.locator("body")).to_have_css("background-color", "rgb(20, 24, 29)")


DRAWN = "() => (document.getElementById('plot').data ?? []).filter(({ x }) => x.length).map(({ name }) => name)"


def test_colours_can_say_who_wrote_what(timeline: Page) -> None:
    legend = timeline.get_by_role("group", name="Colours of actors")
    expect(legend).to_be_hidden()
    assert "bars Pods strong" in timeline.evaluate(DRAWN)
    timeline.keyboard.press("c")
    expect(timeline.get_by_role("button", name="Actors", exact=True)).to_have_attribute("aria-pressed", "true")
    expect(legend.get_by_role("button").first).to_have_text("admin")
    expect(timeline).to_have_url(re.compile("colour=actor"))
    becomes(timeline, f"() => !({DRAWN})().includes('bars Pods strong')")
    legend.get_by_role("button", name="system:kube-controller-manager").click()
    expect(timeline).to_have_url(re.compile("actor=system%3Akube-controller-manager"))
    expect(timeline.locator("#labels .lane-name").filter(has_text="ring-ntzhb")).to_have_count(1)
    expect(timeline.locator("#labels .lane-name").filter(has_text="ring-steady-0")).to_have_count(0)
    becomes(timeline, f"() => ({DRAWN})().includes('bars Leases strong')")
    legend.get_by_role("button", pressed=True).click()
    timeline.get_by_role("button", name="Actors", exact=True).click()
    expect(legend).to_be_hidden()
    assert "colour" not in settled(timeline) and "actor" not in settled(timeline)


def test_on_a_phone_findings_come_first(page: Page, recording: str) -> None:
    page.set_viewport_size({"width": 360, "height": 720})
    page.goto(recording)
    expect(page.locator(".finding.selected h4")).to_have_text(AWAY)
    expect(page.locator("#figure")).to_be_hidden()
    page.get_by_role("button", name="Timeline").click()
    expect(page.locator("#plot .scatterlayer")).to_be_visible()
    expect(page.locator(".lane-name", has_text="ring-weak-0")).to_be_visible()
    fits(page)


def test_what_is_not_there_says_so(page: Page, complaints: Complaints) -> None:
    complaints.expect("status of 404")
    page.goto("/sources/999999/")
    expect(page.get_by_role("heading", name="There is nothing here")).to_be_visible()
    page.get_by_role("link", name="All recordings").click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("recording", ignore_case=True)


@pytest.mark.parametrize(
    "address", ["", "?noise=1", "?finding=131d605c1f1d7aac&start=1795247520740000&end=1795247521200000"]
)
def test_what_is_shown_first_comes_with_one_request(page: Page, recording: str, address: str) -> None:
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.goto(recording + address)
    expect(page.locator(".finding.selected")).to_be_visible()
    page.wait_for_load_state("networkidle")
    parts = [found[1] for each in asked if (found := re.search(r"/api/sources/\d+/(\w+)", each))]
    assert parts.count("opening") == 1
    assert not {"overview", "incidents", "findings", "window"} & {*parts}


def test_it_opens_also_if_the_first_request_fails(page: Page, recording: str, complaints: Complaints) -> None:
    complaints.expect("503")
    page.route(re.compile(r"/opening\b"), lambda route: route.fulfill(status=503))
    page.goto(recording)
    expect(page.locator(".finding.selected")).to_be_visible()
    expect(page.locator("#plot .scatterlayer .fills path").first).to_be_attached()


def test_the_marks_of_a_kind_are_one_element(timeline: Page) -> None:
    marks = timeline.locator("#overlay .mark")
    expect(marks.first).to_be_attached()
    kinds = marks.evaluate_all("(all) => all.map((each) => each.dataset.mark)")
    assert "deleted" in kinds
    assert len(kinds) == len({*kinds})
    drawn = marks.evaluate_all("(all) => all.map((each) => each.getAttribute('d').split('M').length - 1)")
    assert sum(drawn) > len(kinds)  # several marks of one kind
    timeline.keyboard.press("c")  # the colours of actors
    expect(timeline.locator("#overlay .mark.inked").first).to_be_attached()
