"""The timeline of the sample as it opens: on its gravest finding, with one request, on a phone and in the dark."""

import re

import pytest
from playwright.sync_api import Page, Route, expect

from tests.browser.everyone import EITHER, PHONE, WIDE, complaints_of_axe
from tests.browser.looking import becomes, fits, opened, settled

AWAY = "Service ring was away for ≈ 50 ms under 3 running Pods"
EARLY = "Pod ring-weak-0 was created ≈ 30 ms before its Service ring"
PODS_EARLY = "2 Pods created before Service ring"  # the incident of this finding and another
LATE = "Service ≈ 30 ms late"
FILTERED = "name=ring&colour=actor&pins=Service/vol-restart/ring&lane=Service/vol-restart/ring"
DRAWN = "() => (document.getElementById('plot').data ?? []).filter(({ x }) => x.length).map(({ name }) => name)"


def test_it_opens_on_the_gravest_finding(page: Page, recording: str) -> None:
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.on("websocket", lambda socket: asked.append(socket.url))
    for question in "?noise=1", "?finding=131d605c1f1d7aac&start=1795247520740000&end=1795247521200000", "":
        asked.clear()
        opened(page, recording + question)
        expect(page.locator(".finding.selected")).to_be_visible()
        page.wait_for_load_state("networkidle")
        parts = [found[1] for each in asked if (found := re.search(r"/api/sources/\d+/(\w+)", each))]
        assert parts.count("opening") == 1, question
        assert not {"overview", "incidents", "findings", "window"} & {*parts}, question
    assert not [url for url in asked if "/live/" in url or "/ws/" in url]
    expect(page.locator("#follow")).to_have_count(0)
    selected = page.locator(".finding.selected")
    expect(selected.locator("h4")).to_have_text(AWAY)
    title = page.locator(".incident.open h3")
    expect(title).to_contain_text("Service ring was away under 3 Pods")
    expect(title).to_be_in_viewport(ratio=1)
    expect(page.locator(".incident.open > .verdicts .pill").first).to_have_text("over")
    for words in "Service deleted", "07:52:00.841 · RV 582", "What to do":
        expect(selected).to_contain_text(words)
    expect(page).to_have_url(re.compile(r"start=\d+&end=\d+&finding=\w+"))
    picture = page.get_by_role("img", name=re.compile("^Timeline from 07:52:00"))
    expect(picture).to_have_attribute("aria-label", re.compile(re.escape(AWAY)))


def test_lanes_stand_in_the_order_of_creation_and_marks_of_a_kind_are_one_element(whole: Page) -> None:
    ring = whole.locator(".run").first
    expect(ring.locator(".group-name")).to_have_text("vcj ring")
    numbers = [int(text) for text in ring.locator(".lane-number").all_inner_texts()]
    births = [int(text) for text in whole.locator(".birth").all_text_contents()]
    older = [number for number in numbers if number not in births]  # the others tell the number of their first circle
    assert older == sorted(older)
    assert numbers[0] == 1
    names = ring.locator(".lane-name").all_inner_texts()
    assert names[0] == "ring"
    assert {"ring-svc", "ring-steady-0", "ring-steady-1", "ring-steady-2", "ring-weak-0"} <= set(names)
    weak = ring.locator(".lane").filter(has=whole.locator(".lane-name", has_text=re.compile("^ring-weak-0$")))
    assert int(weak.locator(".lane-number").inner_text()) in births
    expect(whole.locator("#plot .scatterlayer .fills path").first).to_be_attached()
    marks = whole.locator("#overlay .mark")
    expect(marks.first).to_be_attached()
    kinds = marks.evaluate_all("(all) => all.map((each) => each.dataset.mark)")
    assert "deleted" in kinds
    assert len(kinds) == len({*kinds})
    drawn = marks.evaluate_all("(all) => all.map((each) => each.getAttribute('d').split('M').length - 1)")
    assert sum(drawn) > len(kinds)  # several marks of one kind
    whole.locator("#labels a.lane-name").first.click()
    expect(whole).to_have_url(re.compile(r"/objects/\d+/$"))


def test_the_hole_and_the_arrow_are_drawn_and_end_in_a_dot_where_a_lane_is_out_of_sight(whole: Page) -> None:
    late = whole.locator(".pill-label")
    expect(late).to_have_text(LATE)
    expect(whole.locator(".hole-text")).to_contain_text("≈ 50 ms")
    expect(whole.locator("#plot path[style*='stroke-dasharray: 4px']").first).to_be_attached()
    whole.get_by_role("button", name=PODS_EARLY).click()
    expect(whole.locator(".finding.selected h4")).to_have_text(EARLY)
    expect(whole.locator(".finding.selected")).to_contain_text("RV 588")
    expect(late).to_have_text(LATE)
    whole.locator("[data-kind=Pods]").click()
    expect(whole.locator(".lane .badge", has_text="svc")).to_have_count(0)
    expect(late).to_have_text(LATE)
    dots = "document.querySelector('#plot').data.find(({ name }) => name === 'ends out of sight').x.join().split(',,')"
    whole.wait_for_function(f"() => {dots}.length === 1")
    whole.get_by_role("button", name=re.compile("vcj ring")).click()
    expect(whole.locator(".lane-name", has_text="ring-weak-0")).to_have_count(0)
    whole.wait_for_function(f"() => {dots}.length === 2")
    expect(late).to_have_text(LATE)


@pytest.mark.parametrize("width", [1024, 1331])
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


@pytest.mark.parametrize("width", [360, 1024, 1440])
def test_the_page_stands_still_while_it_loads(newcomer: Page, address: str, width: int) -> None:
    newcomer.add_init_script(
        "window.shifted = 0; const add = (list) => list.getEntries().forEach((each) => { shifted += each.value; });"
        "new PerformanceObserver(add).observe({ type: 'layout-shift', buffered: true })"
    )
    newcomer.set_viewport_size({"width": width, "height": 800})
    newcomer.goto(address)
    expect(newcomer.locator(".finding.selected")).to_be_visible()
    newcomer.wait_for_load_state("networkidle")
    newcomer.wait_for_timeout(400)
    assert newcomer.evaluate("shifted") < 0.02


def test_colours_follow_the_theme_and_can_say_who_wrote_what(whole: Page) -> None:
    light = whole.locator("#plot .fills path").first.evaluate("path => getComputedStyle(path).fill")
    whole.get_by_role("button", name="Switch between light and dark").click()
    expect(whole.locator("html")).to_have_attribute("data-theme", "dark")
    fill = "getComputedStyle(document.querySelector('#plot .fills path')).fill"
    whole.wait_for_function(f"(light) => {fill} !== light", arg=light)
    expect(whole.locator("body")).to_have_css("background-color", "rgb(20, 24, 29)")
    legend = whole.get_by_role("group", name="Colours of actors")
    actors = whole.get_by_role("button", name="Colour by actor", exact=True)
    expect(legend).to_be_hidden()
    assert "bars Pods strong" in whole.evaluate(DRAWN)
    whole.keyboard.press("c")
    expect(actors).to_have_attribute("aria-pressed", "true")
    expect(legend.get_by_role("button").first).to_have_text("admin")
    expect(whole).to_have_url(re.compile("colour=actor"))
    expect(whole.locator("#overlay .mark.inked").first).to_be_attached()
    becomes(whole, f"() => !({DRAWN})().includes('bars Pods strong')")
    legend.get_by_role("button", name="system:kube-controller-manager").click()
    expect(whole).to_have_url(re.compile("actor=system%3Akube-controller-manager"))
    expect(whole.locator("#labels .lane-name").filter(has_text="ring-ntzhb")).to_have_count(1)
    expect(whole.locator("#labels .lane-name").filter(has_text="ring-steady-0")).to_have_count(0)
    becomes(whole, f"() => ({DRAWN})().includes('bars Leases strong')")
    legend.get_by_role("button", pressed=True).click()
    actors.click()
    expect(legend).to_be_hidden()
    assert "colour" not in settled(whole) and "actor" not in settled(whole)


def test_on_a_phone_findings_come_first_objects_are_a_list_and_the_controls_are_in_a_menu(
    page: Page, address: str
) -> None:
    page.set_viewport_size(PHONE)
    page.goto(f"{address}&{FILTERED}")
    expect(page.locator(".finding.selected h4")).to_have_text(AWAY)
    expect(page.locator("#figure")).to_be_hidden()
    assert complaints_of_axe(page) == []
    page.get_by_role("button", name="Timeline").click()
    expect(page.locator("#plot .scatterlayer")).to_be_visible()
    expect(page.locator(".lane-name", has_text="ring-weak-0")).to_be_visible()
    fits(page)
    assert complaints_of_axe(page) == []
    page.get_by_role("button", name="Objects").click()
    listed = page.get_by_role("region", name="Objects in view").get_by_role("link", name="ring-weak-0")
    expect(listed).to_have_attribute("href", re.compile("/objects/"))
    grouping = page.get_by_label("Lanes are grouped by")
    expect(grouping).to_be_hidden()
    page.get_by_role("button", name="More", exact=True).click()
    for name in "Sign out", "Light or dark":
        expect(page.locator("#sheet").get_by_role("button", name=name)).to_be_visible()
    fits(page)
    page.locator("[data-kind=Services]").click()
    expect(listed).to_have_count(0)
    search = page.get_by_role("combobox", name="Find an object or a finding")
    search.fill("ring")
    expect(page.get_by_role("option").first).to_be_visible()
    assert complaints_of_axe(page) == []
    search.press("Escape")
    page.get_by_role("button", name="Filter", exact=True).click()
    expect(page.get_by_role("textbox", name="Name contains")).to_be_visible()
    assert complaints_of_axe(page) == []
    page.keyboard.press("Escape")
    page.keyboard.press("Escape")
    expect(grouping).to_be_hidden()
    fits(page)
    page.set_viewport_size(WIDE)
    expect(grouping).to_be_visible()
    expect(page.locator(".toolbar [data-kind=Services]")).to_have_attribute("aria-pressed", "true")


def test_everything_that_opens_on_the_timeline_can_be_used_by_everyone(page: Page, address: str) -> None:
    opened(page, f"{address}&rule=service-gap&actor=admin&{FILTERED}")
    expect(page.locator(".incident").first).to_be_visible()
    expect(page.locator("#pins .lane")).to_be_visible()
    page.locator("#search").fill("ring")
    expect(page.get_by_role("option").first).to_be_visible()
    assert complaints_of_axe(page, EITHER) == []
    page.locator("#search").press("Escape")
    page.get_by_role("button", name="Filter", exact=True).click()
    expect(page.get_by_role("textbox", name="Name contains")).to_be_visible()
    assert complaints_of_axe(page, EITHER) == []
    page.keyboard.press("Escape")
    page.keyboard.press("?")
    expect(page.get_by_role("dialog", name="Keys")).to_be_visible()
    assert complaints_of_axe(page, EITHER) == []
    page.keyboard.press("Escape")
    page.get_by_role("button", name="Table").click()
    expect(page.get_by_role("table")).to_be_visible()
    assert complaints_of_axe(page, EITHER) == []
