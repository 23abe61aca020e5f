"""What a live page adds up from messages is what a window shows, and it asks for no more than it needs."""

import itertools
import re

from playwright.sync_api import APIResponse, Page, Route, expect

from tests.browser.conftest import Worker, followed
from tests.browser.looking import happens, range_in_view

NUMBERS_AGREE = """() => {
    const lanes = [...document.querySelectorAll("#labels [data-lane]")].map((lane) => {
      const box = lane.getBoundingClientRect();
      const number = lane.querySelector(".lane-number").textContent;
      return { number, middle: (box.top + box.bottom) / 2, circles: [] };
    });
    for (const birth of document.querySelectorAll(".overlay .birth")) {
      const box = birth.getBoundingClientRect();
      const lane = lanes.find(({ middle }) => Math.abs(middle - (box.top + box.bottom) / 2) < 8);
      lane?.circles.push({ x: box.left, number: birth.dataset.number });
    }
    const drawn = lanes.filter(({ circles }) => circles.length);
    const first = ({ circles }) => circles.sort((one, other) => one.x - other.x)[0].number;
    return drawn.some(({ number }) => number) && drawn.every((lane) => first(lane) === lane.number);
}"""
REPORTED = """async (path) => {
  const { Edge } = await import("/static/dashboard/js/live/edge.js");
  const source = path.match(/sources\\/(\\d+)/)[1];
  const shown = location.search.slice(1).replace("follow=1", "");
  const ask = async () => (await fetch(`/api/sources/${source}/window?limit=200&noise=1&${shown}`)).json();
  const edge = new Edge(), before = await ask();
  edge.take(before);
  const socket = new WebSocket(`ws://${location.host}/ws/sources/${source}/?cursor=${before.sequence}`);
  let last = before.sequence, until = Infinity;
  await new Promise((done) => {
    const look = () => last >= until && done();
    window.arrived = (sequence) => { until = sequence; look(); };  // its message may be here already
    socket.addEventListener("message", ({ data }) => {
      const message = JSON.parse(data);
      if (message.type !== "delta") return;
      edge.add(message);
      last = message.sequence;
      look();
    });
    document.title = "reported";
  });
  socket.close();
  const after = await ask(), whole = edge.whole(after.last);
  const lasts = ({ bars: { track, end, text, open_end } }) =>
    new Map(track.map((one, i) => [one, open_end[i] ? [null, text[i]] : [end[i], ""]]));
  const truth = lasts(after);
  return [...lasts(whole)].filter(([track]) => truth.has(track)).map(([track, last]) => [last, truth.get(track)]);
}"""


def test_the_edge_moves_without_a_window_being_asked_for(live: Page, worker: Worker) -> None:
    """Only a step of the view draws everything and asks for a window: a change of a lane that is there does neither."""
    asked: list[str] = []  # the start of each window
    live.on("request", lambda request: asked.extend(re.findall(r"/window\?.*\bstart=(\d+)", request.url)))

    def state() -> tuple[object, ...]:
        return range_in_view(live), live.locator("#figure").get_attribute("data-drawn"), len(asked)

    def edge_alone_moved() -> bool:
        """Return whether a change moved the edge and nothing else; a step of the view may come between."""
        live.wait_for_load_state("networkidle")
        before = state()
        sequence = worker.do("touch")
        expect(live.locator("#figure")).to_have_attribute("data-edge", str(sequence))
        return state() == before

    tried = (edge_alone_moved() for _ in range(30))
    assert sum(itertools.islice(filter(None, tried), 3)) == 3
    live.wait_for_timeout(2_000)  # a window for a change is asked for a second later at most
    assert all(one != next_one for one, next_one in itertools.pairwise(asked)), "a window of a view that had not moved"


def test_what_comes_while_a_window_is_on_its_way_is_asked_for_after_it(page: Page, worker: Worker) -> None:
    followed(page, f"{worker.begin()}?follow=1&namespace=volcano-system")
    expect(page.locator('[data-lane$="/vs-online"]')).to_be_attached()
    page.wait_for_load_state("networkidle")
    held: list[tuple[Route, APIResponse]] = []

    def hold(route: Route) -> None:
        if held:
            route.continue_()
        else:
            held.append((route, route.fetch()))  # it is answered before what comes next was committed

    page.route("**/window?*", hold)
    worker.do("create", "first")
    happens(page, lambda: bool(held))
    sequence = worker.do("create", "second")
    expect(page.locator("#figure")).to_have_attribute("data-edge", str(sequence))
    route, answer = held[0]
    route.fulfill(response=answer)
    for name in "first", "second":
        expect(page.locator(f'[data-lane$="/{name}"]')).to_be_attached()


def test_an_address_with_a_range_stays_there_and_numbers_are_those_of_the_first_circles(
    live: Page, worker: Worker
) -> None:
    address = live.url.partition("?")[0]
    start, _ = range_in_view(live)
    followed(live, f"{address}?start={start}&end={start + 10_000_000}")
    expect(live.get_by_role("button", name="Follow live")).to_be_visible()
    worker.do("until", worker.OVER)
    away = live.locator(".incident", has=live.locator("h3", has_text=worker.AWAY))
    expect(away).to_be_visible()
    assert range_in_view(live) == (start, start + 10_000_000)

    number = live.locator('[data-lane="Service/vol-restart/ring"] .lane-number')
    followed(live, f"{address}?follow=1")
    expect(number).to_be_attached()
    before = number.text_content()
    end = int(away.locator("[data-ago]").get_attribute("data-ago") or 0)
    followed(live, f"{address}?start={end - 1_000_000}&end={end + 9_000_000}&namespace=vol-restart")
    live.wait_for_function(NUMBERS_AGREE)
    expect(number).not_to_have_text(before or "")  # its first life lies before the view


def test_what_is_reported_adds_up_to_what_a_window_shows(live: Page, worker: Worker) -> None:
    live.keyboard.press("l")
    live.evaluate(f"() => {{ window.reported = ({REPORTED})(location.pathname); }}")
    expect(live).to_have_title("reported")
    for step in range(40):
        worker.do("until", worker.CALM + 0.5 * (step + 1))
        live.wait_for_timeout(20)
    live.evaluate("(sequence) => window.arrived(sequence)", worker.do("touch"))
    pairs = live.evaluate("() => window.reported")
    assert len(pairs) > 20
    assert [pair for pair in pairs if pair[0] != pair[1]] == []
