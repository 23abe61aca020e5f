"""The events of a lane: stepped through, measured between, and opened in place."""

import re

from playwright.sync_api import Page, expect

from tests.browser.everyone import EITHER, complaints_of_axe
from tests.browser.looking import TIMELINE, box_of, fits, opened, settled
from tests.browser.timeline.conftest import AT_ONCE, CREATED, DELETED, END, SERVICE, START

MEASURED = "≈ 50 ms · RV 582 → 592, 10 apart"


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


def drag_with_alt(page: Page, start: tuple[float, float], end: tuple[float, float]) -> None:
    page.keyboard.down("Alt")
    page.mouse.move(*start)
    page.mouse.down()
    page.mouse.move(*end, steps=4)
    page.mouse.up()
    page.keyboard.up("Alt")


def test_the_events_of_a_lane_are_stepped_through_and_measured(timeline: Page) -> None:
    announced, tip, label = (timeline.locator(each) for each in ("#announce", "#tip", ".measure-label"))
    timeline.locator(f'[data-lane="{SERVICE}"] a').focus()
    timeline.keyboard.press(".")
    expect(announced).to_contain_text("Service ring, deleted, 07:52:00.841106 UTC, revision 582, writer: admin")
    expect(tip).to_contain_text("deleted")
    expect(tip).to_contain_text("written by ")
    timeline.keyboard.press("m")
    timeline.keyboard.press(".")
    expect(announced).to_contain_text("Service ring, created, 07:52:00.894060 UTC")
    timeline.keyboard.press("m")
    expect(label).to_have_text(MEASURED)
    timeline.keyboard.press("r")  # marks are merged now, and the lane is scrolled away
    timeline.keyboard.press("PageDown")
    settled(timeline)
    expect(label).to_have_text(MEASURED)
    timeline.keyboard.press("Escape")
    expect(label).to_have_count(0)


def test_stepping_goes_on_past_what_is_loaded_and_keys_that_are_pressed_meanwhile_act_after_it(timeline: Page) -> None:
    announced = timeline.locator("#announce")
    timeline.locator(f'[data-lane="{SERVICE}"] a').focus()
    before = timeline.locator("#range").inner_text()
    for time in ("07:52:00.841106", "07:52:00.894060"):
        timeline.keyboard.press(".")
        expect(announced).to_contain_text(time)
    timeline.evaluate(AT_ONCE % "keys['.'](); keys.m()")  # the next event is not loaded: the server is asked
    expect(announced).to_contain_text("Measuring from 07:52:07.1")  # the next time that it was deleted
    expect(timeline.locator("#range")).not_to_have_text(before)
    timeline.keyboard.press(",")
    expect(announced).to_contain_text("07:52:00.894060")
    first = re.compile("07:51|no earlier event")
    for _ in range(3):
        said = announced.inner_text()
        if first.search(said):
            break
        timeline.keyboard.press(",")
        expect(announced).not_to_have_text(said)
    expect(announced).to_contain_text(first)


def test_dragging_with_alt_measures(timeline: Page) -> None:
    label = timeline.locator(".measure-label")
    box, before = box_of(timeline, "#figure"), timeline.locator("#range").inner_text()
    drag_with_alt(timeline, (box["x"] + 100, box["y"] + 120), (box["x"] + 400, box["y"] + 130))
    expect(label).to_contain_text(re.compile(r"^1[78]\d ms · RV \d+ → \d+, \d+ apart$"))
    expect(timeline.locator("#range")).to_have_text(before)
    timeline.mouse.click(box["x"] + 500, box["y"] + 120)
    expect(label).to_have_count(0)
    drag_with_alt(timeline, middle_of(timeline, DELETED, SERVICE), middle_of(timeline, CREATED, SERVICE))
    expect(label).to_have_text(MEASURED)  # from mark to mark


def test_measuring_tells_the_same_however_lanes_are_grouped(page: Page, recording: str) -> None:
    for view in "group=kind&axis=order", "group=namespace&kinds=Services":
        opened(page, f"{recording}?start={START}&end={END}&pins={SERVICE}&{view}")
        page.locator(f'[data-lane="{SERVICE}"] a').focus()
        for key in (".", "m", ".", "m"):
            page.keyboard.press(key)
        expect(page.locator(".measure-label")).to_have_text(MEASURED)


def test_a_click_on_a_mark_opens_its_change_in_place(timeline: Page, recording: str) -> None:
    timeline.mouse.click(*middle_of(timeline, DELETED, SERVICE))
    change, created = (timeline.get_by_role("dialog", name=f"Service ring: {each}") for each in ("deleted", "created"))
    expect(change).to_be_focused()
    for words in ("RV 582", "07:52:00.841106", "between 07:52:00.841106 and 07:52:00.849006", "vc-cm-head", "2 of 2"):
        expect(change).to_contain_text(words)
    expect(change.get_by_role("button", name="Next change of this object")).to_be_disabled()
    timeline.keyboard.press(",")
    expect(created).to_contain_text("The object as it was first seen")
    expect(created.get_by_role("link", name="All its changes")).to_have_attribute("href", re.compile(r"/objects/\d+/"))
    shown = settled(timeline)
    assert re.search(r"change=\d+\.\d+", shown)
    timeline.goto(f"{recording}{shown}")  # as with a link that was shared
    expect(created).to_contain_text("1 of 2")
    timeline.keyboard.press(".")
    expect(change).to_be_visible()
    assert complaints_of_axe(timeline, EITHER) == []
    timeline.set_viewport_size({"width": 360, "height": 740})
    fits(timeline)
    expect(change).to_be_in_viewport()
    assert complaints_of_axe(timeline) == []
    change.get_by_role("button", name="Close").click()
    expect(change).to_be_hidden()
    timeline.go_back()
    expect(change).to_be_visible()


def test_enter_opens_the_change_of_the_event_and_escape_gives_the_focus_back(timeline: Page) -> None:
    label, cursor = timeline.locator(f'[data-lane="{SERVICE}"] a'), timeline.locator("circle.cursor")
    label.focus()
    timeline.keyboard.press(".")
    expect(timeline.locator("#tip")).to_contain_text("deleted")
    timeline.keyboard.press("Enter")
    expect(timeline.get_by_role("dialog", name="Service ring: deleted")).to_be_focused()
    timeline.keyboard.press("Escape")
    expect(timeline.get_by_role("dialog")).to_have_count(0)
    expect(label).to_be_focused()
    expect(cursor).to_have_count(1)
    timeline.keyboard.press("Escape")
    expect(cursor).to_have_count(0)
    timeline.keyboard.press("Enter")
    expect(timeline).to_have_url(re.compile(r"/objects/\d+/$"))
