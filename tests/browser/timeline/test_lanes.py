"""The lanes of a timeline: their order, groups and pins, those of many Pods, and the table of the same."""

import json
import re
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import imported
from tests.browser.looking import TIMELINE, box_of, opened, settled
from tests.browser.timeline.conftest import SERVICE
from tests.inputs.events import event, pod

CROWD = 26  # Pods of one Job: so many stand as one strip
ORDER = re.compile("axis=order")


def births(page: Page) -> dict[str, float]:
    """The middles of the creation numbers (px) on the page."""
    found = page.locator(".birth").evaluate_all(
        "all => all.map((one) => [one.dataset.number, one.getBoundingClientRect()])"
    )
    return {number: box["x"] + box["width"] / 2 for number, box in found}


def test_in_the_order_of_creation_each_moment_gets_equal_room(timeline: Page) -> None:
    order, time = (timeline.get_by_role("radio", name=name) for name in ("Order", "Time"))
    axis, reported = timeline.locator("#axis span"), timeline.locator("#range")
    before = births(timeline)
    timeline.get_by_role("button", name="See the order").click()
    expect(order).to_be_checked()
    expect(timeline).to_have_url(ORDER)
    expect(timeline.locator(".pill-label")).to_be_visible()
    timeline.go_back()
    expect(time).to_be_checked()
    timeline.keyboard.press("o")
    expect(order).to_be_checked()
    expect(timeline).to_have_url(ORDER)
    expect(axis.first).to_have_text(re.compile(r"^\d+$"))
    settled(timeline)
    label, lane = (box_of(timeline, each) for each in (".pill-label", f'[data-lane="{SERVICE}"]'))
    assert abs(label["y"] + label["height"] / 2 - lane["y"] - lane["height"] / 2) <= lane["height"]  # the arrow's end
    shown = births(timeline)
    assert shown["15"] - shown["14"] > 2 * (before["15"] - before["14"])
    places = axis.all_inner_texts()
    assert places == sorted(places, key=int)
    range_ = reported.inner_text()
    timeline.keyboard.press("d")
    expect(reported).not_to_have_text(range_)
    timeline.keyboard.press("a")
    timeline.keyboard.press("w")
    time.check()
    expect(axis.first).to_have_text(re.compile(r"[.:]"))


def test_a_pinned_lane_stays_on_top_and_arrow_keys_go_from_one_lane_to_the_next(timeline: Page) -> None:
    label = timeline.locator(f'[data-lane="{SERVICE}"]')
    label.hover()
    label.get_by_role("button", name="Keep ring on top").click()
    pins, bench = timeline.locator("#pins"), timeline.locator("#bench")
    expect(pins.locator(".lane-name")).to_have_text(["ring"])
    expect(pins.locator(".scatterlayer .fills path").first).to_be_attached()
    expect(timeline).to_have_url(re.compile(f"pins={SERVICE}"))
    expect(timeline.locator(".pill-label")).to_have_text("Service ≈ 30 ms late")
    bench.evaluate("bench => bench.scrollBy(0, 700)")
    expect(pins.locator(".lane-name")).to_be_in_viewport()
    pins.locator(".lane-name").focus()
    timeline.keyboard.press("k")
    expect(pins).to_be_hidden()
    bench.evaluate("bench => bench.scrollTo(0, 0)")
    settled(timeline)

    first, second = timeline.locator("#labels .lane").nth(0), timeline.locator("#labels .lane").nth(1)
    expect(first.locator("a.lane-name")).to_have_attribute("href", re.compile(r"/sources/\d+/objects/\d+/"))
    first.locator("a").focus()
    timeline.keyboard.press("ArrowDown")
    expect(second.locator("a")).to_be_focused()
    expect(second).to_have_class(re.compile("current"))
    expect(timeline).to_have_url(re.compile("lane=ConfigMap/vol-restart/ring-svc"))
    expect(timeline.locator("#overlay .lane-hand")).to_have_count(1)
    timeline.keyboard.press("Tab")
    expect(second.get_by_role("button", name="Keep ring-svc on top")).to_be_focused()
    before = timeline.locator("#range").inner_text()
    timeline.keyboard.press("ArrowUp")
    expect(first.locator("a")).to_be_focused()
    expect(timeline.locator("#range")).to_have_text(before)


def created(resource: str, name: str, second: int, body: Any) -> bytes:
    ref = {"resource": resource, "namespace": "n", "name": name, "apiVersion": "v1"}
    if resource == "jobs":
        ref["apiGroup"] = "batch"
    begin, end = (f"2026-11-21T07:52:{second:02d}.{part}Z" for part in ("100000", "101000"))
    reported = {"requestReceivedTimestamp": begin, "stageTimestamp": end}
    return json.dumps(event(auditID=name, objectRef=ref, responseObject=body, **reported)).encode() + b"\n"


@pytest.fixture
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
    strip.get_by_role("button").click()
    expect(page.locator(".lane.member")).to_have_count(0)
    page.keyboard.press("/")
    page.locator("#search").fill("many-17")
    expect(page.locator("#hits [aria-selected=true]")).to_contain_text("many-17")
    page.keyboard.press("Enter")
    expect(page.locator("#pins .lane.current .lane-name")).to_have_text("many-17")
    expect(strip).to_be_visible()


def test_lanes_can_be_grouped_otherwise(timeline: Page) -> None:
    timeline.get_by_role("button", name="in all groups").click()  # the other lanes do not change in view
    for grouping, heading in ("kind", "Pods"), ("namespace", "vol-restart"), ("actor", "admin"):
        timeline.locator("#group").select_option(grouping)
        expect(timeline).to_have_url(re.compile(f"group={grouping}"))
        heads = timeline.locator(".group-toggle").filter(has=timeline.locator(".group-name", has_text=heading))
        expect(heads).to_have_count(2)  # first what the finding is about
        expect(heads.first).to_contain_text("around the finding")
        heads.last.click()
        closed = timeline.locator("#labels").get_by_role("button", name=heading, expanded=False)
        expect(closed).to_be_visible()
        expect(timeline).to_have_url(re.compile(f"closed={heading}"))
        timeline.keyboard.press("]")
        expect(closed).to_have_count(0)


def test_groups_collapse_and_lanes_without_a_change_are_folded_until_they_are_asked_for(whole: Page) -> None:
    weak, furniture = (whole.locator(".lane-name", has_text=name) for name in ("ring-weak-0", "kube-root-ca.crt"))
    ring = whole.get_by_role("button", name=re.compile("vcj ring"))
    ring.click()
    expect(weak).to_have_count(0)
    ring.click()
    expect(weak).to_be_visible()
    expect(furniture).to_have_count(0)
    folded = whole.get_by_role("button", name="35 objects without a change, in all groups")
    folded.focus()
    whole.keyboard.press("Enter")
    expect(furniture.first).to_be_attached()
    expect(whole.locator(".lane.quiet", has=furniture).first).to_be_attached()
    expect(whole).to_have_url(re.compile(r"unfold=(\*|%2A)"))
    quiet = "document.querySelector('#plot').data.find((trace) => trace.name === 'bars quiet')"
    whole.wait_for_function(f"{quiet}?.x.length > 0")  # drawn without colour
    whole.go_back()
    expect(furniture).to_have_count(0)
    expect(folded).to_be_visible()


def test_any_view_is_a_table_too(timeline: Page) -> None:
    timeline.keyboard.press("t")
    table, bench = timeline.get_by_role("table"), timeline.locator("#bench")
    expect(table).to_be_visible()
    expect(bench).to_be_hidden()
    deleted = table.get_by_role("row").filter(has_text="07:52:00.841")
    for words in "Service", "deleted", "582", "admin":
        expect(deleted).to_contain_text(words)
    expect(table.get_by_role("row").filter(has_text="ring-steady-1").first).to_contain_text("Running")
    expect(table.get_by_role("link", name="ring-weak-0").first).to_have_attribute("href", re.compile("/objects/"))
    expect(timeline).to_have_url(re.compile("table=1"))
    timeline.locator("[data-kind=Pods]").click()
    expect(deleted).to_have_count(0)
    before = table.locator("caption").inner_text()
    timeline.locator("body").press("d")
    expect(table.locator("caption")).not_to_have_text(before)
    timeline.get_by_role("button", name="Table").click()
    expect(bench).to_be_visible()


def test_texts_of_bars_and_holes_that_overlap_are_not_printed_over_each_other(timeline: Page) -> None:
    drawn = timeline.evaluate(
        TIMELINE
        + """.then(async ({ parts }) => {
          const { drawOverlay } = await import("/static/dashboard/js/draw/overlay.js");
          const scene = parts.picture.scenes.main, { bars, holes } = scene.payload;
          const twice = (columns, changed) => Object.fromEntries(Object.entries(columns).map(
            ([name, values]) => [name, [...values, ...values.map((value) => changed[name]?.(value) ?? value)]]));
          const payload = {
            ...scene.payload, holes: twice(holes, {}),
            bars: twice(bars, { start: (time) => time + 2000, end: (time) => time + 2000, track: (track) => -track }),
          };
          const host = document.getElementById("figure").appendChild(
            document.createElementNS("http://www.w3.org/2000/svg", "svg"));
          host.classList.add("overlay");
          const texts = (fixed) => {
            drawOverlay(host, { ...scene, ...fixed });
            return [...host.querySelectorAll("text:not(.birth, .pill-label text)")].map((text) => {
              const { x, y, width } = text.getBBox();
              return [text.textContent, Math.round(y), x, x + width];
            });
          };
          const alone = texts({}), both = texts({ payload });
          const first = texts({ payload: { ...payload, bars }, among: payload });
          host.remove();
          return { alone, both, first };
        })"""
    )
    for texts in drawn.values():
        for i, (words, y, left, right) in enumerate(texts):
            over = [other for other, at, start, end in texts[:i] if at == y and start < right and end > left]
            assert not over, (words, over)
    assert len(drawn["both"]) > len(drawn["alone"]) > 10
    holes = [words for words, *_ in drawn["both"] if "≈" in words]
    assert holes == [words for words, *_ in drawn["alone"] if "≈" in words] != []
    rest = {tuple(text) for text in drawn["both"]}
    assert {tuple(text) for text in drawn["first"]} <= rest  # a layer of its own has its texts at the same places
