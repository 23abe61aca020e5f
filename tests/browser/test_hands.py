"""What hands do on the timeline: order, pins, measure, search, filters, table, and the address that holds all."""

import json
import re
from typing import Any

import pytest
from playwright.sync_api import BrowserContext, Page, Route, expect

from tests.browser.conftest import (
    RETRIES,
    TIMELINE,
    Complaints,
    copied,
    fits,
    happens,
    imported,
    press_and_read,
    range_in_view,
    settled,
)
from tests.browser.test_with_axe import complaints_of_axe
from tests.events import event, pod
from tests.running import WITH_TOKEN

START, END = 1795247520740000, 1795247521200000  # 07:52:00.740 to .200, when Service ring was away
AWAY = "131d605c1f1d7aac"
SERVICE = "Service/vol-restart/ring"
AT_ONCE = TIMELINE + ".then(({ keys, store }) => { %s; })"  # however slow the machine is
ASKED = re.compile(r"/sources/\d+/(opening|window)\b")  # the requests that bring the first window
CROWD = 26  # Pods of one Job: so many stand as one strip


@pytest.fixture
def address(recording: str) -> str:
    return f"{recording}?start={START}&end={END}&finding={AWAY}"


@pytest.fixture
def timeline(page: Page, address: str) -> Page:
    return opened(page, address)


def opened(page: Page, address: str) -> Page:
    page.goto(address)
    settled(page)
    expect(page.locator("#figure[data-drawn]")).to_be_attached()
    expect(page.locator(".lane").first).to_be_attached()
    return page


def created(resource: str, name: str, second: int, body: Any) -> bytes:
    ref = {"resource": resource, "namespace": "n", "name": name, "apiVersion": "v1"}
    if resource == "jobs":
        ref["apiGroup"] = "batch"
    begin, end = (f"2026-11-21T07:52:{second:02d}.{part}Z" for part in ("100000", "101000"))
    told = {"requestReceivedTimestamp": begin, "stageTimestamp": end}
    return json.dumps(event(auditID=name, objectRef=ref, responseObject=body, **told)).encode() + b"\n"


@pytest.fixture(scope="module")
def crowd(site: str) -> str:
    """The path of the timeline of one Job with many Pods, created a second after each other."""
    metadata = {"name": "many", "namespace": "n", "uid": "job", "resourceVersion": "100"}
    lines = [created("jobs", "many", 0, {"apiVersion": "batch/v1", "kind": "Job", "metadata": metadata})]
    owner = {"apiVersion": "batch/v1", "kind": "Job", "name": "many", "uid": "job", "controller": True}
    for number in range(1, CROWD + 1):
        name = f"many-{number}"
        body = pod(name=name, uid=name, resourceVersion=str(100 + number), ownerReferences=[owner])
        lines.append(created("pods", name, number, body))
    return imported(site, "crowd.jsonl", b"".join(lines))


def width(page: Page) -> int:
    start, end = range_in_view(page)
    return end - start


def births(page: Page) -> dict[str, float]:
    """The middles of the creation numbers (px) on the page."""
    found = page.locator(".birth").evaluate_all(
        "all => all.map((one) => [one.dataset.number, one.getBoundingClientRect()])"
    )
    return {number: box["x"] + box["width"] / 2 for number, box in found}


# -- the axis of order ------------------------------------------------------------------------------------------------


def test_in_the_order_of_creation_each_moment_gets_equal_room(timeline: Page) -> None:
    before = births(timeline)
    timeline.get_by_role("radio", name="Order").check()
    expect(timeline).to_have_url(re.compile("axis=order"))
    expect(timeline.locator("#axis span").first).to_have_text(re.compile(r"^\d+$"))
    settled(timeline)
    shown = births(timeline)
    assert shown["15"] - shown["14"] > 2 * (before["15"] - before["14"])
    places = timeline.locator("#axis span").all_inner_texts()
    assert places == sorted(places, key=int)
    told = timeline.locator("#range").inner_text()
    timeline.keyboard.press("d")
    expect(timeline.locator("#range")).not_to_have_text(told)
    timeline.keyboard.press("a")
    timeline.keyboard.press("w")
    timeline.get_by_role("radio", name="Time").check()
    expect(timeline.locator("#axis span").first).to_have_text(re.compile(r"[.:]"))


def test_the_scale_of_order_goes_both_ways(timeline: Page) -> None:
    told = timeline.evaluate(
        """import('/static/dashboard/js/state/scale.js').then(({ orderScale, instantsOf }) => {
          const births = { time: [30, 10] }, marks = { time: [10, 5000, 99] }, bars = { start: [0], end: [7] };
          const instants = instantsOf({ start: 0, end: 4000, births, marks, bars });
          const scale = orderScale(instants);
          const round = [-500, 0, 3, 10, 64, 4000, 9000].map((time) => Math.round(scale.from(scale.to(time))));
          return { instants, places: instants.map(scale.to), middle: scale.to(20), round };
        })"""
    )
    assert told["instants"] == [0, 7, 10, 30, 99, 4000]
    assert told["places"] == [0, 1, 2, 3, 4, 5]
    assert told["middle"] == 2.5
    assert told["round"] == [-500, 0, 3, 10, 64, 4000, 9000]


def test_in_the_order_of_creation_there_is_no_room_beyond_the_ends(timeline: Page) -> None:
    ranges = timeline.evaluate(
        """Promise.all([import('/static/dashboard/js/state/store.js'), import('/static/dashboard/js/state/scale.js')])
          .then(([{ Store }, { orderScale }]) => {
            const store = new Store({ read: () => "?axis=order&start=1000&end=2000", write: () => {} });
            store.bounds = { first: 0, last: 1000000 };
            store.scale = orderScale([0, 1000, 2000, 500000, 1000000]);
            const after = (by) => { store.pan(by); return [store.start, store.end]; };
            return [after(-9), after(-9), after(1), after(99), after(99)];
          })"""
    )
    assert ranges[0] == ranges[1] == [-125_000, 500]  # the first moment stands in the middle
    assert ranges[2][0] == 500
    assert ranges[3] == ranges[4] and ranges[3][0] < 1_000_000 < ranges[3][1]


# -- lanes ------------------------------------------------------------------------------------------------------------


def test_a_pinned_lane_stays_on_top(timeline: Page) -> None:
    label = timeline.locator(f'[data-lane="{SERVICE}"]')
    label.hover()
    label.get_by_role("button", name="Keep ring on top").click()
    pins = timeline.locator("#pins")
    expect(pins.locator(".lane-name")).to_have_text(["ring"])
    expect(pins.locator(".scatterlayer .fills path").first).to_be_attached()
    expect(timeline).to_have_url(re.compile(f"pins={SERVICE}"))
    expect(timeline.locator(".pill-label")).to_have_text("Service ≈ 30 ms late")
    timeline.locator("#bench").evaluate("bench => bench.scrollBy(0, 700)")
    expect(pins.locator(".lane-name")).to_be_in_viewport()
    pins.locator(".lane-name").focus()
    timeline.keyboard.press("k")
    expect(pins).to_be_hidden()


def test_labels_lead_to_objects_and_arrow_keys_go_from_one_to_the_next(timeline: Page) -> None:
    first, second = timeline.locator("#labels .lane").nth(0), timeline.locator("#labels .lane").nth(1)
    expect(first.locator("a.lane-name")).to_have_attribute("href", re.compile(r"/sources/\d+/objects/\d+/"))
    first.locator("a").focus()
    timeline.keyboard.press("ArrowDown")
    expect(second.locator("a")).to_be_focused()
    expect(second).to_have_class(re.compile("current"))
    expect(timeline).to_have_url(re.compile("lane=ConfigMap/vol-restart/ring-svc"))
    expect(timeline.locator(".lane-hand")).to_have_count(1)
    timeline.keyboard.press("Tab")
    expect(second.get_by_role("button", name="Keep ring-svc on top")).to_be_focused()
    before = timeline.locator("#range").inner_text()
    timeline.keyboard.press("ArrowUp")
    expect(first.locator("a")).to_be_focused()
    expect(timeline.locator("#range")).to_have_text(before)


def test_many_children_stand_as_one_strip_until_it_is_opened(page: Page, crowd: str) -> None:
    opened(page, crowd)
    strip = page.locator(".lane.strip")
    expect(strip.locator(".lane-name")).to_have_text(f"{CROWD} × pod")
    expect(page.locator(".lane-name", has_text="many-3")).to_have_count(0)
    expect(page.locator(".overlay .cell", has_text=re.compile(r"^\d+$")).first).to_be_attached()
    strip.get_by_role("button").click()
    expect(page.locator(".lane-name", has_text=re.compile("^many-3$"))).to_be_visible()
    expect(page).to_have_url(re.compile("open="))
    page.reload()
    expect(page.locator(".lane.member").first).to_be_visible()
    page.locator(".lane.strip").get_by_role("button").click()
    expect(page.locator(".lane.member")).to_have_count(0)


def test_an_object_of_a_strip_that_is_looked_for_comes_on_top(page: Page, crowd: str) -> None:
    opened(page, crowd)
    page.keyboard.press("/")
    page.locator("#search").fill("many-17")
    expect(page.locator("#hits [aria-selected=true]")).to_contain_text("many-17")
    page.keyboard.press("Enter")
    expect(page.locator("#pins .lane.current .lane-name")).to_have_text("many-17")
    expect(page.locator(".lane.strip")).to_be_visible()


@pytest.mark.parametrize(("grouping", "heading"), [("kind", "Pods"), ("namespace", "vol-restart"), ("actor", "admin")])
def test_lanes_can_be_grouped_otherwise(timeline: Page, grouping: str, heading: str) -> None:
    timeline.locator("#group").select_option(grouping)
    timeline.get_by_role("button", name="in all groups").click()  # the other lanes do not change in view
    heads = timeline.locator(".group-toggle").filter(has=timeline.locator(".group-name", has_text=heading))
    expect(heads).to_have_count(2)  # first what the finding is about
    expect(heads.first).to_contain_text("around the finding")
    expect(timeline).to_have_url(re.compile(f"group={grouping}"))
    heads.last.click()
    expect(timeline.locator("#labels").get_by_role("button", name=heading, expanded=False)).to_be_visible()
    expect(timeline).to_have_url(re.compile(f"closed={heading}"))
    timeline.keyboard.press("]")
    expect(timeline.locator("#labels").get_by_role("button", name=heading, expanded=False)).to_have_count(0)


# -- events and measures ----------------------------------------------------------------------------------------------


def test_the_events_of_a_lane_are_stepped_through_and_measured(timeline: Page) -> None:
    timeline.locator(f'[data-lane="{SERVICE}"] a').focus()
    timeline.keyboard.press(".")
    expect(timeline.locator("#announce")).to_contain_text(
        "Service ring, deleted, 07:52:00.841106 UTC, revision 582, writer: admin"
    )
    expect(timeline.locator("#tip")).to_contain_text("deleted")
    expect(timeline.locator("#tip")).to_contain_text("written by ")
    timeline.keyboard.press("m")
    timeline.keyboard.press(".")
    expect(timeline.locator("#announce")).to_contain_text("Service ring, created, 07:52:00.894060 UTC")
    timeline.keyboard.press("m")
    expect(timeline.locator(".measure-label")).to_have_text("≈ 50 ms · RV 582 → 592, 10 apart")
    timeline.keyboard.press("r")  # marks are merged now, and the lane is scrolled away
    timeline.keyboard.press("PageDown")
    settled(timeline)
    expect(timeline.locator(".measure-label")).to_have_text("≈ 50 ms · RV 582 → 592, 10 apart")
    timeline.keyboard.press("Escape")
    expect(timeline.locator(".measure-label")).to_have_count(0)


def test_stepping_goes_on_past_what_is_loaded(timeline: Page) -> None:
    timeline.locator(f'[data-lane="{SERVICE}"] a').focus()
    before = timeline.locator("#range").inner_text()
    for time in ("07:52:00.841106", "07:52:00.894060"):
        timeline.keyboard.press(".")
        expect(timeline.locator("#announce")).to_contain_text(time)
    timeline.keyboard.press(".")
    expect(timeline.locator("#announce")).to_contain_text("07:52:07.1")  # the next time that it was deleted
    expect(timeline.locator("#range")).not_to_have_text(before)
    timeline.keyboard.press(",")
    expect(timeline.locator("#announce")).to_contain_text("07:52:00.894060")
    for _ in range(3):
        said = timeline.locator("#announce").inner_text()
        if re.search("07:51|no earlier event", said):
            return
        timeline.keyboard.press(",")
        expect(timeline.locator("#announce")).not_to_have_text(said)
    expect(timeline.locator("#announce")).to_contain_text(re.compile("07:51|no earlier event"))


def test_keys_that_are_pressed_while_an_event_is_looked_for_act_after_it(timeline: Page) -> None:
    timeline.locator(f'[data-lane="{SERVICE}"] a').focus()
    for time in ("07:52:00.841106", "07:52:00.894060"):
        timeline.keyboard.press(".")
        expect(timeline.locator("#announce")).to_contain_text(time)
    timeline.evaluate(AT_ONCE % "keys['.'](); keys.m()")  # the next event is not loaded: the server is asked
    expect(timeline.locator("#announce")).to_contain_text("Measuring from 07:52:07.1")


def test_dragging_with_shift_measures(timeline: Page) -> None:
    box = timeline.locator("#figure").bounding_box()
    assert box
    before = timeline.locator("#range").inner_text()
    timeline.keyboard.down("Shift")
    timeline.mouse.move(box["x"] + 100, box["y"] + 120)
    timeline.mouse.down()
    timeline.mouse.move(box["x"] + 400, box["y"] + 130, steps=4)
    timeline.mouse.up()
    timeline.keyboard.up("Shift")
    expect(timeline.locator(".measure-label")).to_contain_text(re.compile(r"^1[78]\d ms · RV \d+ → \d+, \d+ apart$"))
    expect(timeline.locator("#range")).to_have_text(before)
    timeline.mouse.click(box["x"] + 500, box["y"] + 120)
    expect(timeline.locator(".measure-label")).to_have_count(0)
    ends = [middle_of(timeline, time, SERVICE) for time in (1795247520841106, 1795247520894060)]
    timeline.keyboard.down("Shift")  # from mark to mark
    timeline.mouse.move(*ends[0])
    timeline.mouse.down()
    timeline.mouse.move(*ends[1], steps=4)
    timeline.mouse.up()
    timeline.keyboard.up("Shift")
    expect(timeline.locator(".measure-label")).to_have_text("≈ 50 ms · RV 582 → 592, 10 apart")


@pytest.mark.parametrize("view", ["group=kind&axis=order", "group=namespace&kinds=Services"])
def test_measuring_tells_the_same_however_lanes_are_grouped(page: Page, recording: str, view: str) -> None:
    opened(page, f"{recording}?start={START}&end={END}&pins={SERVICE}&{view}")
    page.locator(f'[data-lane="{SERVICE}"] a').focus()
    for key in (".", "m", ".", "m"):
        page.keyboard.press(key)
    expect(page.locator(".measure-label")).to_have_text("≈ 50 ms · RV 582 → 592, 10 apart")


# -- a change in place ------------------------------------------------------------------------------------------------


def middle_of(page: Page, time: int, lane: str) -> tuple[float, float]:
    """Where an event of a lane is on the page (px)."""
    found = page.evaluate(
        """([time, key]) => TIMELINE.then(({ parts }) => {
          const { at } = parts.picture.find(time, parts.loader.payload.lanes.findIndex((lane) => lane.key === key));
          return [at.clientX, at.clientY - 8];
        })""".replace("TIMELINE", TIMELINE),
        [time, lane],
    )
    return found[0], found[1]


def test_a_click_on_a_mark_opens_its_change_in_place(timeline: Page, recording: str) -> None:
    timeline.mouse.click(*middle_of(timeline, 1795247520841106, SERVICE))
    change = timeline.get_by_role("dialog", name="Service ring: deleted")
    expect(change).to_be_visible()
    expect(change).to_be_focused()
    for words in ("RV 582", "07:52:00.841106", "between 07:52:00.841106 and 07:52:00.849006", "vc-cm-head", "2 of 2"):
        expect(change).to_contain_text(words)
    expect(change.get_by_role("button", name="Next change of this object")).to_be_disabled()
    timeline.keyboard.press(",")
    created = timeline.get_by_role("dialog", name="Service ring: created")
    expect(created).to_contain_text("The object as it was first seen")
    expect(created.get_by_role("link", name="All its changes")).to_have_attribute("href", re.compile(r"/objects/\d+/"))
    shown = settled(timeline)
    assert re.search(r"change=\d+\.\d+", shown)
    timeline.goto(f"{recording}{shown}")  # as with a link that was shared
    expect(created).to_contain_text("1 of 2")
    timeline.keyboard.press(".")
    expect(change).to_be_visible()
    assert complaints_of_axe(timeline, ("dark", "light")) == []
    timeline.set_viewport_size({"width": 360, "height": 740})
    fits(timeline)
    expect(change).to_be_in_viewport()
    assert complaints_of_axe(timeline) == []
    change.get_by_role("button", name="Close").click()
    expect(change).to_be_hidden()
    timeline.go_back()
    expect(change).to_be_visible()


def test_enter_opens_the_change_of_the_event_and_escape_gives_the_focus_back(timeline: Page) -> None:
    label = timeline.locator(f'[data-lane="{SERVICE}"] a')
    label.focus()
    timeline.keyboard.press(".")
    expect(timeline.locator("#tip")).to_contain_text("deleted")
    timeline.keyboard.press("Enter")
    expect(timeline.get_by_role("dialog", name="Service ring: deleted")).to_be_focused()
    timeline.keyboard.press("Escape")
    expect(timeline.get_by_role("dialog")).to_have_count(0)
    expect(label).to_be_focused()
    expect(timeline.locator("circle.cursor")).to_have_count(1)
    timeline.keyboard.press("Escape")
    expect(timeline.locator("circle.cursor")).to_have_count(0)
    timeline.keyboard.press("Enter")
    expect(timeline).to_have_url(re.compile(r"/objects/\d+/$"))


# -- findings ---------------------------------------------------------------------------------------------------------


def test_the_arrow_of_a_finding_can_be_kept(timeline: Page) -> None:
    curves = "data.find((trace) => trace.name === 'arrows').x.filter((x) => x === null).length + 1"
    leading = f"document.querySelector('#plot').{curves}"
    timeline.get_by_role("button", name="2 Pods created before Service ring").click()
    for text in ("≈ 30 ms", "16–28 ms"):
        item = timeline.locator(".finding", has_text=f"{text} before")
        item.hover()
        item.get_by_role("button", name="Pin arrow").click()
    timeline.keyboard.press("r")
    expect(timeline).to_have_url(re.compile(r"arrows=\w+,\w+"))
    expect(timeline.locator(".pill-label")).to_have_count(2)
    timeline.wait_for_function(f"() => {leading} === 2")
    timeline.reload()
    expect(timeline.locator(".pill-label")).to_have_count(2)


def test_the_list_goes_on_where_it_ends(page: Page, address: str) -> None:
    def by_two(route: Route) -> None:
        route.continue_(url=re.sub(r"limit=\d+", "limit=2", route.request.url))

    page.route(re.compile(r"/incidents\?"), by_two)
    opened(page, address)
    expect(page.locator("#findings-count")).to_have_text("6 incidents · 10 findings")
    expect(page.locator(".incident").nth(3)).to_be_attached()  # what is in sight of the end brings the next page
    expect(page.locator(".part")).to_have_text(["In view · 2 incidents · 5 findings", "Not in view"])
    selected = page.locator(".finding.selected")
    seen = []
    for _ in range(9):
        key = selected.get_attribute("data-finding") or ""
        seen.append(key)
        page.keyboard.press("n")
        expect(selected).not_to_have_attribute("data-finding", key)
    assert len(set(seen)) == 9
    expect(selected).to_have_attribute("data-finding", seen[0])  # after the last one it begins again
    page.keyboard.press("p")
    expect(selected).to_have_attribute("data-finding", seen[-1])


def test_an_incident_opens_and_closes_and_keeps_its_number(timeline: Page) -> None:
    lease = timeline.locator(".incident", has_text="was held in turn")
    number = lease.locator(".number").inner_text()
    expect(lease.locator(".finding")).to_have_count(0)
    lease.get_by_role("button", name="was held in turn").click()
    expect(lease.locator(".finding.selected")).to_contain_text("held by Deployment vs-online")
    expect(timeline.locator(".incident.open")).to_have_count(1)
    expect(lease.locator(".number")).to_have_text(number)
    expect(lease.get_by_role("link", name="This incident")).to_have_attribute("href", re.compile("/incidents/"))
    lease.get_by_role("button", name="was held in turn").click()
    expect(timeline.locator(".incident.open")).to_have_count(0)
    expect(timeline).not_to_have_url(re.compile("finding="))


def test_what_somebody_knows_of_is_hidden_and_counted_but_a_link_to_it_opens_it(page: Page, recording: str) -> None:
    api = f"/api{recording.rstrip('/')}"
    held = next(
        each
        for each in page.request.get(f"{api}/incidents", max_retries=RETRIES).json()["incidents"]
        if each["rule"] == "lease-contention"
    )
    told = page.request.get(f"{api}/findings?incident={held['id']}", max_retries=RETRIES).json()["findings"]
    note = {"incidents": [held["id"]], "note": "known"}
    assert page.request.post(f"{api}/acknowledgements", data=note, headers=WITH_TOKEN, max_retries=RETRIES).ok
    try:
        page.goto(recording)
        expect(page.locator("#findings-count")).to_have_text("6 incidents · 10 findings")
        expect(page.locator(".incident")).to_have_count(5)
        hidden = page.locator("#hidden-incidents")
        expect(hidden).to_contain_text("1 acknowledged, not listed.")
        hidden.get_by_role("button", name="Show").click()
        expect(page.locator(".incident.acknowledged")).to_contain_text("was held in turn")
        expect(page.locator("#findings-count")).to_have_text("6 incidents · 10 findings")
        expect(page).to_have_url(re.compile("hidden=1"))
        hidden.get_by_role("button", name="Hide").click()
        expect(page.locator(".incident.acknowledged")).to_have_count(0)
        page.goto(f"{recording}?finding={told[0]['key']}")
        expect(page.locator(".incident.open.acknowledged .finding.selected")).to_be_visible()
        expect(page.locator("#findings-count")).to_have_text("6 incidents · 10 findings")
    finally:
        assert page.request.delete(
            f"{api}/incidents/{held['id']}/acknowledgement", headers=WITH_TOKEN, max_retries=RETRIES
        ).ok


def test_a_group_in_focus_limits_incidents_and_report(timeline: Page) -> None:
    scheduler = timeline.get_by_role("button", name="Focus").first
    scheduler.focus()
    timeline.keyboard.press("Enter")
    expect(timeline.locator("#findings-count")).to_have_text("2 incidents · 5 findings")
    chip = timeline.get_by_role("button", name="Remove the filter focus: Job ring")
    expect(chip).to_be_visible()
    expect(timeline).to_have_url(re.compile(r"focus=\d+"))  # which the report of the view takes, too
    expect(timeline.locator(".group-name")).to_have_text(["vcj ring"])  # the lanes of others are hidden
    expect(timeline.locator("#minimap .tick")).to_have_count(4)  # of 8
    timeline.locator(".incident h3 button").first.click()  # selecting what is in the scope keeps the scope
    expect(timeline.locator(".finding.selected")).to_be_visible()
    expect(chip).to_be_visible()
    chip.click()
    expect(timeline.locator("#findings-count")).to_have_text("6 incidents · 10 findings")
    expect(timeline.locator("#minimap .tick")).to_have_count(8)
    expect(timeline.locator(".group-name")).not_to_have_count(1)
    timeline.go_back()
    expect(chip).to_be_visible()


def test_the_help_names_every_key_of_the_page_and_no_other(timeline: Page) -> None:
    timeline.keyboard.press("?")
    named = timeline.get_by_role("dialog").locator("kbd").all_inner_texts()
    names = {"←": "ArrowLeft", "→": "ArrowRight", "↑": "ArrowUp", "↓": "ArrowDown", "Esc": "Escape"}
    names |= {"Page ↑": "PageUp", "Page ↓": "PageDown"}
    keys = timeline.evaluate(TIMELINE + ".then(({ keys }) => Object.keys(keys))")
    assert {names.get(each, each) for each in named} == {*keys, "z", "?"}


def test_the_order_of_a_finding_is_one_click_away(timeline: Page) -> None:
    timeline.get_by_role("button", name="See the order").click()
    expect(timeline.get_by_role("radio", name="Order")).to_be_checked()
    expect(timeline).to_have_url(re.compile("axis=order"))
    expect(timeline.locator(".pill-label")).to_be_visible()
    timeline.go_back()
    expect(timeline.get_by_role("radio", name="Time")).to_be_checked()
    timeline.keyboard.press("o")
    expect(timeline.get_by_role("radio", name="Order")).to_be_checked()


def test_a_finding_leads_to_its_page_its_rule_and_its_objects(timeline: Page) -> None:
    chosen = timeline.locator(".finding.selected")
    expect(chosen.get_by_role("link", name="About service-gap")).to_have_attribute("href", "/rules/service-gap/")
    expect(chosen.get_by_role("link", name="This finding")).to_have_attribute("href", re.compile("/findings/"))
    chosen.get_by_role("link", name="ring-steady-1").click()
    expect(timeline).to_have_url(re.compile("/sources/|/go"))


# -- search and filters -----------------------------------------------------------------------------------------------


def test_a_search_finds_objects_and_findings(timeline: Page) -> None:
    timeline.keyboard.press("/")
    field = timeline.get_by_role("combobox", name="Find an object or a finding")
    expect(field).to_be_focused()
    field.fill("ring-weak")
    hits = timeline.get_by_role("listbox", name="Search results")
    expect(hits.get_by_role("option", selected=True)).to_contain_text("ring-weak-0")
    expect(hits.get_by_role("option").filter(has_text="created ≈ 30 ms before")).to_be_visible()
    field.press("Enter")
    expect(hits).to_be_hidden()
    expect(timeline.locator(".lane.current .lane-name")).to_have_text("ring-weak-0")
    expect(timeline.locator(".lane.current")).to_be_in_viewport()
    expect(timeline).to_have_url(re.compile("lane=Pod/vol-restart/ring-weak-0"))
    field.fill("30 ms")
    option = hits.get_by_role("option").filter(has_text="created ≈ 30 ms before")
    expect(option).to_be_visible()
    field.press("ArrowUp")
    field.press("ArrowDown")
    option.click()
    expect(timeline.locator(".finding.selected")).to_contain_text("created ≈ 30 ms before")
    field.fill("pods on node-004")
    expect(hits.get_by_role("option").first).to_contain_text("on node-004")
    field.fill("controller-manager")
    hits.get_by_role("option").filter(has_text="actor of").click()
    expect(timeline).to_have_url(re.compile("actor=system%3Akube-controller-manager"))
    field.fill("nothing-of-that-name")
    expect(hits).to_contain_text("Nothing matches")
    field.press("Escape")
    expect(hits).to_be_hidden()


def test_filters_stand_in_words_and_can_be_taken_back(timeline: Page) -> None:
    timeline.get_by_role("button", name="Filter", exact=True).click()
    timeline.get_by_label("Name contains").fill("steady")
    expect(timeline.locator("#labels .lane-name")).to_have_text(["ring-steady-2", "ring-steady-1", "ring-steady-0"])
    timeline.get_by_label("Rule").select_option("service-gap")
    timeline.get_by_label("Severity").select_option("warning")
    timeline.get_by_label("Actor", exact=True).select_option("admin")
    timeline.get_by_label("Only lanes that change from here on").check()
    expect(timeline).to_have_url(re.compile("name=steady&rule=service-gap&severity=warning&actor=admin&active=1"))
    expect(timeline.locator("#findings-count")).to_have_text("1 incident · 3 findings")
    timeline.keyboard.press("Escape")
    taken = timeline.get_by_role("group", name="Filters in force")
    taken.get_by_role("button", name="only what changes from here on").click()
    expect(timeline.locator("#labels .lane-name")).to_have_count(3)
    taken.get_by_role("button", name="Clear all").click()
    expect(taken).to_be_hidden()
    expect(timeline.locator("#findings-count")).to_have_text("6 incidents · 10 findings")


def test_a_name_is_not_lost_when_another_filter_is_chosen_at_once(timeline: Page) -> None:
    timeline.get_by_role("button", name="Filter", exact=True).click()
    timeline.get_by_label("Name contains").press_sequentially("steady")
    timeline.get_by_label("Rule").focus()
    timeline.get_by_label("Rule").select_option("service-gap")
    expect(timeline).to_have_url(re.compile("name=steady&rule=service-gap"))
    expect(timeline.locator("#filter-name")).to_have_value("steady")


def test_noise_is_shown_when_it_is_asked_for(timeline: Page) -> None:
    before = timeline.locator("#lanes-count").inner_text()
    timeline.get_by_role("button", name="Filter", exact=True).click()
    timeline.get_by_label("Show noise").check()
    expect(timeline.locator("#lanes-count")).not_to_have_text(before)
    expect(timeline).to_have_url(re.compile("noise=1"))


def test_what_matches_nothing_says_so_and_offers_the_way_back(page: Page, recording: str) -> None:
    page.goto(f"{recording}?name=no-such-name")
    expect(page.locator("#notice")).to_contain_text("No object matches the filter")
    expect(page.locator("#finding-list")).to_contain_text("No incident matches the filter")
    page.locator("#notice").get_by_role("button", name="Clear the filter").click()
    expect(page.locator(".lane").first).to_be_visible()
    expect(page.locator("#notice")).to_be_hidden()


# -- fingers ----------------------------------------------------------------------------------------------------------


def test_two_fingers_zoom(timeline: Page, context: BrowserContext) -> None:
    box = timeline.locator("#figure").bounding_box()
    assert box
    fingers = context.new_cdp_session(timeline)

    def touch(kind: str, *xs: float) -> None:
        points = [{"x": box["x"] + x, "y": box["y"] + 150, "id": number} for number, x in enumerate(xs)]
        fingers.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})

    touch("touchStart", 300, 400)
    for apart in (60, 80, 100):
        touch("touchMove", 350 - apart, 350 + apart)
    touch("touchEnd")
    happens(timeline, lambda: 0.4 * (END - START) < width(timeline) < 0.6 * (END - START))
    expect(timeline.locator(".lane.current")).to_have_count(0)  # a pinch is no click


# -- the minimap ------------------------------------------------------------------------------------------------------


def test_the_minimap_stretches_moves_and_selects(timeline: Page) -> None:
    timeline.keyboard.press("r")
    expect(timeline.locator("#range")).to_contain_text("07:51:3")
    settled(timeline)
    strip = timeline.locator("#minimap").bounding_box()
    assert strip
    y = strip["y"] + 30

    def drag(start: float, end: float) -> str:
        before = timeline.locator("#range").inner_text()
        timeline.mouse.move(start, y)
        timeline.mouse.down()
        timeline.mouse.move(end, y, steps=4)
        timeline.mouse.up()
        expect(timeline.locator("#range")).not_to_have_text(before)
        settled(timeline)
        return timeline.locator("#range").inner_text()

    handle = timeline.locator("#minimap-start").bounding_box()
    assert handle
    stretched = drag(handle["x"] + 5, strip["x"] + 500)
    assert stretched.endswith(stretched.split(" – ")[1]) and "07:52:0" in stretched.split(" – ")[0]
    drag(strip["x"] + 200, strip["x"] + 300)  # outside of it: a new one
    window = timeline.locator("#minimap-window").bounding_box()
    assert window and 90 < window["width"] < 110
    drag(window["x"] + 50, window["x"] + 250)
    moved = timeline.locator("#minimap-window").bounding_box()
    assert moved and abs(moved["width"] - window["width"]) < 2 and moved["x"] - window["x"] > 190
    timeline.locator("#minimap-end").focus()
    before = timeline.locator("#minimap-end").get_attribute("aria-valuetext")
    timeline.keyboard.press("ArrowRight")
    expect(timeline.locator("#minimap-end")).not_to_have_attribute("aria-valuetext", before or "")
    settled(timeline)
    narrow = timeline.locator("#minimap-window").bounding_box()
    assert narrow and narrow["width"] > moved["width"] + 5


# -- the table --------------------------------------------------------------------------------------------------------


def test_any_view_is_a_table_too(timeline: Page) -> None:
    timeline.keyboard.press("t")
    table = timeline.get_by_role("table")
    expect(table).to_be_visible()
    expect(timeline.locator("#bench")).to_be_hidden()
    deleted = table.get_by_role("row").filter(has_text="07:52:00.841")
    expect(deleted).to_contain_text("Service")
    expect(deleted).to_contain_text("deleted")
    expect(deleted).to_contain_text("582")
    expect(deleted).to_contain_text("admin")
    expect(table.get_by_role("row").filter(has_text="ring-steady-1").first).to_contain_text("Running")
    expect(table.get_by_role("link", name="ring-weak-0").first).to_have_attribute("href", re.compile("/objects/"))
    expect(timeline).to_have_url(re.compile("table=1"))
    timeline.locator("[data-kind=Pods]").click()
    expect(table.get_by_role("row").filter(has_text="07:52:00.841")).to_have_count(0)
    before = table.locator("caption").inner_text()
    timeline.locator("body").press("d")
    expect(table.locator("caption")).not_to_have_text(before)
    timeline.get_by_role("button", name="Table").click()
    expect(timeline.locator("#bench")).to_be_visible()


# -- the address ------------------------------------------------------------------------------------------------------


def test_the_address_holds_the_whole_view(timeline: Page, address: str, context: BrowserContext) -> None:
    opened(
        timeline,
        f"{address}&axis=order&group=kind&kinds=Pods,Services&closed=Services&pins={SERVICE}"
        "&lane=Pod/vol-restart/ring-weak-0&arrows=470b8537531ff0cd",
    )
    timeline.keyboard.press("w")
    search = settled(timeline)
    other = opened(context.new_page(), f"{address.partition('?')[0]}{search}")
    for selector in (".lane-name", ".group-name", "#axis span", ".birth", ".pill-label", ".token", "#range"):
        expect(other.locator(selector)).to_have_text(timeline.locator(selector).all_text_contents())
    expect(other.locator(".lane.current .lane-name")).to_have_text("ring-weak-0")
    assert settled(other) == settled(timeline) == search


def test_the_back_button_leads_to_what_was_seen_last(timeline: Page) -> None:
    before = settled(timeline)
    seen = timeline.evaluate(AT_ONCE % "keys.d(); const seen = store.search(); keys.t(); return seen")
    assert seen != before
    expect(timeline.get_by_role("table")).to_be_visible()  # a step of the history
    timeline.evaluate(AT_ONCE % "keys.d(); history.back()")
    expect(timeline.locator("#bench")).to_be_visible()
    assert settled(timeline) == seen
    timeline.wait_for_timeout(300)  # what the page left would be written by now
    assert settled(timeline) == seen


def test_a_view_is_shared_and_reported_with_its_address(timeline: Page, context: BrowserContext) -> None:
    context.grant_permissions(["clipboard-read", "clipboard-write"])
    timeline.keyboard.press("w")
    timeline.get_by_role("button", name="Share view…").click()
    dialog = timeline.get_by_role("dialog", name="Share this view")
    press_and_read(dialog.get_by_role("button", name="Copy the address"), "Copied")
    dialog.get_by_role("button", name="Close").click()
    shared = copied(timeline, f"finding={AWAY}")
    assert shared.startswith("http") and str(START) not in shared
    timeline.get_by_role("button", name="Report").click()
    expect(timeline.get_by_label("What the timeline shows now")).to_be_checked()
    expect(timeline.locator("#report-view")).to_contain_text("UTC")
    with timeline.expect_request(lambda request: request.method == "POST") as asked:
        timeline.get_by_role("button", name="Copy as Markdown").click()
    assert asked.value.url.partition("?")[2] == shared.partition("?")[2]


# -- time zones -------------------------------------------------------------------------------------------------------


def test_all_times_follow_the_zone_that_the_reader_chooses(
    timeline: Page, context: BrowserContext, recording: str
) -> None:
    context.grant_permissions(["clipboard-read", "clipboard-write"])
    zone, axis = timeline.locator("#zone"), timeline.locator("#axis")
    expect(zone).to_have_text("UTC")
    expect(axis).to_contain_text("07:52:01.000")
    timeline.keyboard.press("z")
    expect(zone).to_have_text("Europe/Berlin +01:00")
    expect(timeline.locator("#range")).to_have_text("08:52:00.740 – 08:52:01.200")
    expect(axis).to_contain_text("08:52:01.000")
    shown = timeline.locator(".incident.open .when").first
    expect(shown).to_contain_text("08:52:00")
    expect(shown).to_have_attribute("title", "2026-11-21 08:52:00 Europe/Berlin +01:00\n2026-11-21 07:52:00 UTC")
    timeline.locator(f'[data-lane="{SERVICE}"] a').focus()
    timeline.keyboard.press(".")
    expect(timeline.locator("#announce")).to_contain_text("deleted, 08:52:00.841106 Europe/Berlin +01:00, revision 582")
    tip = timeline.locator("#tip .mono")
    expect(tip).to_have_text("08:52:00.841106 Europe/Berlin +01:00 · RV 582\n07:52:00.841106 UTC")
    timeline.keyboard.press("t")
    expect(timeline.get_by_role("columnheader", name="Time (Europe/Berlin)")).to_be_visible()
    expect(timeline.get_by_role("cell", name="08:52:00.841", exact=True).first).to_be_visible()

    timeline.locator(".incident.open").get_by_role("link", name="This incident").click()
    proof = timeline.locator(".events time").first
    expect(proof).to_have_text(re.compile(r"^08:52:00\.\d{6}$"))
    expect(timeline.get_by_role("columnheader", name="Time (Europe/Berlin)")).to_be_visible()
    expect(timeline.locator(".course-of")).to_contain_text(
        re.compile(r"since 2026-11-21 08:5\d:\d\d Europe/Berlin \+01:00")
    )
    expect(timeline.locator(".picture-axis")).to_contain_text("08:52:00")
    proof.evaluate("(element) => getSelection().selectAllChildren(element)")
    timeline.keyboard.press("ControlOrMeta+c")
    both = copied(timeline, "UTC")
    assert re.fullmatch(r"08:52:00\.(\d{6}) \(2026-11-21 07:52:00\.\1 UTC\)\s*", both)
    expect(proof).to_have_text(re.compile(r"^08:52:00\.\d{6}$"))  # as before the copy
    switch = timeline.get_by_role("button", name="Show them in UTC")
    switch.focus()
    timeline.keyboard.press("Enter")
    expect(proof).to_have_text(re.compile(r"^07:52:00\.\d{6}$"))
    expect(timeline.get_by_role("columnheader", name="Time (UTC)")).to_be_visible()


# -- states -----------------------------------------------------------------------------------------------------------


def test_what_fails_says_so_and_can_be_tried_again(page: Page, address: str, complaints: Complaints) -> None:
    complaints.expect("Failed to load resource")
    page.route(ASKED, lambda route: route.fulfill(status=500))
    page.goto(address)
    expect(page.locator("#notice")).to_contain_text("The server failed")
    page.unroute(ASKED)
    page.get_by_role("button", name="Try again").click()
    expect(page.locator("#notice")).to_be_hidden()
    expect(page.locator(".lane").first).to_be_visible()


@pytest.mark.parametrize("first", [r"/sources/\d+/(opening|window)\b", r"/api/sources/"])
def test_a_page_whose_first_requests_nobody_answered_comes_back_by_itself(
    page: Page, address: str, complaints: Complaints, first: str
) -> None:
    complaints.expect("Failed to load resource")
    page.route(re.compile(first), lambda route: route.abort())
    page.goto(address)
    expect(page.locator("#notice")).to_contain_text("cannot be reached")
    page.unroute(re.compile(first))
    expect(page.locator("#notice")).to_be_hidden()
    expect(page.locator(".lane").first).to_be_visible()
    expect(page.locator(".finding.selected")).to_be_visible()


@pytest.mark.parametrize("width", [360, 1440])
def test_the_page_stands_still_while_it_loads(newcomer: Page, address: str, width: int) -> None:
    page = newcomer
    page.add_init_script(
        "window.shifted = 0; const add = (list) => list.getEntries().forEach((each) => { shifted += each.value; });"
        "new PerformanceObserver(add).observe({ type: 'layout-shift', buffered: true })"
    )
    page.set_viewport_size({"width": width, "height": 800})
    page.goto(address)
    expect(page.locator(".finding.selected")).to_be_visible()
    page.wait_for_load_state("networkidle")
    page.wait_for_timeout(400)
    assert page.evaluate("shifted") < 0.02


def test_single_keys_can_be_switched_off(timeline: Page) -> None:
    timeline.keyboard.press("?")
    timeline.get_by_label("Single-key shortcuts").uncheck()
    timeline.keyboard.press("Escape")
    expect(timeline.get_by_role("dialog")).to_have_count(0)
    before = timeline.locator("#range").inner_text()
    timeline.keyboard.press("r")
    timeline.keyboard.press("t")
    timeline.wait_for_timeout(300)
    assert timeline.locator("#range").inner_text() == before
    expect(timeline.locator("#bench")).to_be_visible()
    timeline.keyboard.press("ArrowRight")
    expect(timeline.locator("#range")).not_to_have_text(before)


# -- the phone --------------------------------------------------------------------------------------------------------


def test_on_a_phone_objects_are_a_list_and_the_controls_are_in_a_menu(page: Page, address: str) -> None:
    page.set_viewport_size({"width": 360, "height": 740})
    page.goto(address)
    expect(page.locator(".finding.selected")).to_be_visible()
    page.get_by_role("button", name="Objects").click()
    listed = page.get_by_role("region", name="Objects in view").get_by_role("link", name="ring-weak-0")
    expect(listed).to_have_attribute("href", re.compile("/objects/"))
    expect(page.get_by_label("Lanes are grouped by")).to_be_hidden()
    page.get_by_role("button", name="More", exact=True).click()
    expect(page.get_by_role("combobox", name="Find an object or a finding")).to_be_visible()
    page.locator("[data-kind=Services]").click()
    expect(listed).to_have_count(0)
    page.keyboard.press("Escape")
    expect(page.get_by_label("Lanes are grouped by")).to_be_hidden()
    fits(page)
    page.set_viewport_size({"width": 1440, "height": 900})
    expect(page.get_by_label("Lanes are grouped by")).to_be_visible()
    expect(page.locator(".toolbar [data-kind=Services]")).to_have_attribute("aria-pressed", "true")
