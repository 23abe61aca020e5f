"""A live source in a real browser: it moves by itself, and tells what is committed and how the collection stands."""

import re

import pytest
from playwright.sync_api import Page, Route, expect

from tests.browser.conftest import Worker, come_in, followed
from tests.browser.everyone import EITHER, PHONE, complaints_of_axe
from tests.browser.looking import CONNECTED, TIMELINE, becomes, fits, happens, range_in_view

FOLLOWING = "Following live"
SERVICE = '#labels [data-lane="Service/vol-restart/ring"]'
NAMES = "(rows) => rows.map((row) => [row.dataset.incident, row.querySelector('.incident-name').textContent])"
LISTED = """(title) => {
  window.arrived = window.listed = null;
  const list = document.getElementById("finding-list");
  TIMELINE.then(({ parts }) => {
    const put = parts.list.putIncident.bind(parts.list);
    parts.list.putIncident = (incident) => {
      if (incident.title.includes(title)) window.arrived ??= performance.now();
      return put(incident);
    };
  });
  new MutationObserver(() => {
    if (list.textContent.includes(title)) window.listed ??= performance.now();
  }).observe(list, { childList: true, subtree: true });
}""".replace("TIMELINE", TIMELINE)
EDGE_IS_NEAR_THE_RIGHT = """() => {
    const [line, figure] = [".overlay.edge .now", "#figure"].map((each) => document.querySelector(each));
    const [at, room] = [line, figure].map((each) => each?.getBoundingClientRect());
    return at && room && (at.x - room.x) / room.width > 0.8 && (at.x - room.x) / room.width < 1;
}"""  # asked in the page: the line is drawn anew all the time
STANDS_STILL = """async () => {
    const at = () => document.querySelector(".overlay.edge .now")?.getAttribute("x1");
    const before = at();
    await new Promise((resolve) => setTimeout(resolve, 600));
    return at() === before;
}"""  # the edge, for longer than the time between two of its steps
PLACES_OF_THE_EDGE = """async () => {
    const seen = new Set(), end = performance.now() + 2500;
    while (performance.now() < end) {
      seen.add(document.querySelector(".overlay.edge .now").getAttribute("x1"));
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    return seen.size;
}"""


def test_it_is_followed_from_the_start_until_somebody_turns_back(live: Page) -> None:
    following = live.get_by_role("button", name=FOLLOWING)
    expect(following).to_have_attribute("aria-pressed", "true")
    expect(live.locator("#live")).to_have_text(re.compile(r"^connected( · \d+\.\d s behind)?$"))
    start, end = range_in_view(live)
    assert end - start == pytest.approx(60e6, abs=2)
    expect(live).to_have_url(re.compile("follow=1"))
    edge = live.locator(".overlay.edge .now")
    expect(edge).not_to_have_attribute("x1", edge.get_attribute("x1") or "")

    for _ in range(4):
        live.keyboard.press("w")  # around the edge
    expect(following).to_be_visible()
    now = range_in_view(live)
    assert now[1] - now[0] < (end - start) / 2
    happens(live, lambda: range_in_view(live)[1] > now[1])
    later = range_in_view(live)
    assert later[1] - later[0] == pytest.approx(now[1] - now[0], abs=2)
    expect(following).to_be_visible()
    becomes(live, EDGE_IS_NEAR_THE_RIGHT)

    live.keyboard.press("a")
    paused = live.get_by_role("button", name="Follow live")
    expect(paused).to_have_attribute("aria-pressed", "false")
    expect(live.locator("#announce")).to_have_text("Paused: you moved the view.")
    held = range_in_view(live)
    live.wait_for_timeout(1200)
    assert range_in_view(live) == held
    live.keyboard.press("l")
    expect(following).to_have_attribute("aria-pressed", "true")
    start, end = range_in_view(live)
    assert start > held[0]
    assert end - start == pytest.approx(held[1] - held[0], abs=2)
    live.keyboard.press("l")
    expect(paused).to_have_attribute("aria-pressed", "false")


def test_a_page_that_was_drawn_before_its_edge_could_move_is_panned(page: Page, worker: Worker) -> None:
    address = worker.begin()
    held: list[Route] = []
    page.route(re.compile(r"/live/live[^/]*\.js"), lambda route: held.append(route))
    page.route_web_socket(re.compile("."), lambda socket: None)  # else changes would let the page be drawn anew
    come_in(page.context, address)
    page.goto(address, wait_until="commit")
    figure = page.locator("#figure")
    expect(figure).to_have_attribute("data-drawn", re.compile("^[1-9]"))
    (route,) = held
    route.continue_()
    expect(page.get_by_role("button", name="Following")).to_have_attribute("aria-pressed", "true")
    before = figure.get_attribute("data-drawn")
    page.keyboard.press("d")
    expect(figure).not_to_have_attribute("data-drawn", before or "")


def test_what_is_committed_is_drawn_and_said(live: Page, worker: Worker) -> None:
    away = live.locator(".incident h3", has_text=worker.AWAY)
    expect(away).to_have_count(0)
    count = live.locator("#minimap .tick").count()
    live.locator('[data-lane="Service/vol-restart/ring"] a').focus()
    live.keyboard.press(",")
    expect(live.locator("#tip")).to_contain_text("created")
    live.keyboard.press("Enter")
    change = live.get_by_role("dialog", name="Service ring: created")
    following = change.get_by_role("button", name="Next change of this object")
    expect(following).to_be_disabled()
    sequence = worker.do("until", worker.OVER)
    expect(following).to_be_enabled()  # it was deleted
    live.keyboard.press("Escape")
    expect(away).to_be_visible()
    expect(live.locator("#announce")).to_have_text(re.compile(r"^\d+ new violations$"))
    happens(live, lambda: live.locator("#minimap .tick").count() > count)
    expect(live.locator("#figure")).to_have_attribute("data-edge", str(sequence))
    expect(live.locator('[data-lane="Pod/vol-restart/ring-weak-0"]')).to_be_attached()
    live.get_by_role("button", name=worker.AWAY).click()
    live.get_by_role("button", name="Service ring was away for ≈ 50 ms under 3 running Pods").click()
    expect(live.locator(".hole-text")).to_contain_text("≈ 50 ms")
    expect(live.get_by_role("button", name="Follow live")).to_have_attribute("aria-pressed", "false")


def test_a_new_violation_comes_first_within_a_second_and_nothing_else_in_the_list_changes(
    live: Page, worker: Worker
) -> None:
    incidents, when = live.locator(".incident"), live.locator(".incident .when").first
    expect(incidents.first).to_be_visible()
    live.wait_for_load_state("networkidle")
    live.evaluate(LISTED, worker.AWAY)
    known = dict(incidents.evaluate_all(NAMES))
    last = live.locator(".incident h3 button").last
    last.evaluate("(button) => (button.dataset.mine = 'yes')")
    worker.do("until", worker.OVER)
    away = live.locator(".incident", has=live.locator("h3", has_text=worker.AWAY))
    expect(away).to_be_visible()
    assert live.evaluate("listed - arrived") < 1_000  # from the message to the page to the row of the list
    expect(away).to_contain_text("ongoing")
    happens(live, lambda: incidents.count() > len(known))
    now = dict(incidents.evaluate_all(NAMES))
    assert {id: name for id, name in now.items() if id in known} == known
    assert len(set(now.values())) == len(now)
    assert all(id.startswith(name) for id, name in now.items())
    ends = live.locator(".incident .when [data-ago]").evaluate_all("all => all.map((each) => Number(each.dataset.ago))")
    assert ends == sorted(ends, reverse=True)
    expect(live.locator("[data-mine]")).to_have_count(1)
    expect(when).to_have_text(re.compile(r"^\d\d:\d\d:\d\d · \d+ (s|min) ago$"))
    expect(when).not_to_have_text(when.text_content() or "")  # minutes change once in a minute


def test_rows_keep_their_places_while_the_focus_is_on_the_list(live: Page, worker: Worker) -> None:
    incidents, changed = live.locator(".incident"), live.get_by_role("button", name=re.compile(r"^\d+ changed$"))
    expect(incidents.first).to_be_visible()
    live.wait_for_load_state("networkidle")
    live.locator(".incident h3 button").last.focus()
    expect(changed).to_be_hidden()
    listed = "(rows) => rows.map((row) => row.dataset.incident)"
    before = incidents.evaluate_all(listed)
    worker.do("until", worker.OVER)
    expect(changed).to_be_visible()
    assert incidents.evaluate_all(listed) == before
    expect(live.locator(".incident h3 button").last).to_be_focused()
    changed.click()
    expect(changed).to_be_hidden()
    expect(live.locator(".incident h3", has_text=worker.AWAY)).to_be_visible()


def test_the_lane_under_the_pointer_stays_where_it_is(live: Page, worker: Worker) -> None:
    live.locator(SERVICE).hover()
    top = f"document.querySelector('{SERVICE}').getBoundingClientRect().top"  # asked in the page: labels are made anew
    before = live.evaluate(top)
    sequence = worker.do("until", worker.OVER)
    expect(live.locator("#figure")).to_have_attribute("data-edge", str(sequence))
    expect(live.locator('[data-lane="Pod/vol-restart/ring-weak-0"]')).to_be_attached()
    live.wait_for_load_state("networkidle")
    assert live.evaluate(top) == pytest.approx(before, abs=1)


def test_how_the_collection_stands_is_said_and_a_gap_is_hatched(live: Page, worker: Worker) -> None:
    said, follow = live.locator("#live"), live.locator("#follow")
    whole, incomplete = (live.get_by_role("link", name=name) for name in ("complete · no gaps", "not complete now"))
    expect(whole).to_be_visible()
    worker.do("cluster", {"state": "failing", "error": "connection refused"})
    expect(said).to_have_text(re.compile("^cluster not reachable"))
    expect(said).to_have_attribute("title", "connection refused")
    expect(incomplete).to_be_visible()
    expect(live.locator("#toolbar .pill.complete")).to_have_count(0)
    expect(follow).to_have_text("Following, no changes arrive")
    expect(live.locator("#announce")).to_contain_text("connection refused")
    becomes(live, STANDS_STILL)
    worker.do("cluster", {"state": "live", "paused": True})
    expect(said).to_have_text("collection paused")
    expect(incomplete).to_be_visible()
    worker.do("cluster", {"paused": False})
    expect(said).to_have_text(CONNECTED)
    expect(whole).to_be_visible()
    expect(follow).to_have_text(FOLLOWING)

    worker.do("gap", "ConfigMap", 10, 20)
    expect(live.get_by_role("link", name="complete except for 1 gap")).to_be_visible()
    live.reload()
    expect(live.locator("#plot .scatterlayer")).to_be_visible()
    live.keyboard.press("r")  # everything is in view, and nothing moves any more
    expect(live.get_by_role("button", name="Follow live")).to_be_visible()
    range_in_view(live)
    hatched = live.locator(".overlay .gap")
    expect(hatched.first).to_be_attached()

    def pointed_at() -> bool:
        """Point at it, if it is not just drawn anew, and return whether the page says why."""
        box = hatched.first.bounding_box()
        if box:
            live.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
        return bool(box) and "Not observed: The watch was away." in (live.locator("#tip").text_content() or "")

    happens(live, pointed_at)
    live.keyboard.press("t")
    expect(live.locator("#table caption")).to_contain_text("ConfigMap was not observed from")
    live.keyboard.press("t")

    worker.do("end", "The revisions of the cluster went back: it was restored.")
    expect(said).to_have_text("ended")
    expect(said).to_have_attribute("title", re.compile("it was restored"))
    live.reload()
    expect(live.locator(".toolbar")).to_contain_text("it was restored")
    expect(follow).to_have_count(0)
    expect(live.locator("#plot .scatterlayer")).to_be_visible()


def test_a_source_without_an_entry_says_so_and_who_wants_little_motion_gets_little(page: Page, worker: Worker) -> None:
    page.emulate_media(reduced_motion="reduce")
    followed(page, worker.begin(until=None))
    notice, shown = page.locator("#notice"), page.locator("#range")
    expect(notice).to_have_text("Connected. Nothing has been observed yet.")
    expect(shown).to_be_hidden()
    assert complaints_of_axe(page) == []
    worker.do("until", worker.CALM)
    expect(page.locator("#edge .scatterlayer")).to_be_visible()
    expect(notice).to_be_hidden()
    expect(page.get_by_role("button", name=FOLLOWING)).to_be_visible()
    expect(shown).to_be_visible()
    expect(page.locator(".overlay.edge .now")).to_be_attached()
    page.wait_for_load_state("networkidle")
    happens(page, lambda: page.evaluate(PLACES_OF_THE_EDGE) <= 4)  # a step of the view may fall into the first


def test_it_can_be_used_by_everyone(page: Page, worker: Worker) -> None:
    address = worker.begin(until=worker.OVER)
    worker.do("gap", "Pod", 10, 20)
    followed(page, address)
    expect(page.locator(".incident h3", has_text=worker.AWAY)).to_be_visible()
    assert complaints_of_axe(page, EITHER) == []
    fits(page)
    page.set_viewport_size(PHONE)
    fits(page)
    assert complaints_of_axe(page) == []
    for each in page.get_by_role("button", name=FOLLOWING), page.locator("#live"):
        expect(each).to_be_in_viewport(ratio=1)
    page.get_by_role("button", name="Timeline").click()
    expect(page.locator(".overlay.edge .now")).to_be_attached()
    assert complaints_of_axe(page) == []
