"""A live source in a real browser: it moves by itself, shows what is missing, and goes on after whatever breaks."""

import itertools
import json
import re
from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import APIResponse, Page, Route, ViewportSize, expect

from tests.browser.conftest import TIMELINE, Complaints, becomes, come_in, fits, happens, range_in_view, settled
from tests.browser.test_with_axe import EVERYWHERE, PHONE, Themes, complaints_of_axe
from tests.patience import patient
from tests.people import PASSWORD
from tests.running import Running, running

AWAY = "Service ring was away under 3 Pods"
CALM = 27  # seconds after the story began; the Service goes away a little later
OVER = 50


class Worker:
    """Holds live sources, each of which tells the story of the sample, and commits when it is told to."""

    def __init__(self, site: Running) -> None:
        self.site = site
        self._process = site.beside("tests.worker")
        self._count = 0

    def do(self, deed: str, *told: Any) -> int:
        assert self._process.stdin and self._process.stdout
        self._process.stdin.write(json.dumps([deed, *told]) + "\n")
        self._process.stdin.flush()
        return int(json.loads(self._process.stdout.readline()))

    def begin(self, ago: float = CALM) -> str:
        """The address of a new source that nothing was committed to; its story began so many seconds ago."""
        self._count += 1
        return f"{self.site.address}/sources/{self.do('begin', f'prod-{self._count}', ago)}/"

    def end(self) -> None:
        assert self._process.stdin
        self._process.communicate(timeout=patient(30))


@pytest.fixture(scope="module")
def worker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Worker]:
    with running(tmp_path_factory.mktemp("live"), "web") as site:
        worker = Worker(site)
        yield worker
        worker.end()


@pytest.fixture(autouse=True)
def _pictures_come_often(page: Page) -> None:
    """For users who prefer reduced motion, the edge moves only once a second."""
    page.emulate_media(reduced_motion="no-preference")


def opened(page: Page, address: str) -> Page:
    if page.url == "about:blank":  # a second session would end the first one, which the page still uses
        come_in(page.context, address)
    page.goto(address)
    expect(page.locator("#live")).to_have_text(re.compile("^connected"))
    return page


@pytest.fixture
def live(page: Page, worker: Worker) -> Page:
    """The page of a source whose story was told up to where it becomes interesting."""
    address = worker.begin()
    worker.do("until", CALM)
    page = opened(page, address)
    expect(page.locator("#edge .scatterlayer")).to_be_visible()
    return page


def test_it_is_followed_from_the_start(live: Page) -> None:
    expect(live.get_by_role("button", name="Following live")).to_have_attribute("aria-pressed", "true")
    expect(live.locator("#live")).to_have_text(re.compile(r"^connected( · \d+\.\d s behind)?$"))
    start, end = range_in_view(live)
    assert end - start == pytest.approx(60e6, abs=2)
    expect(live).to_have_url(re.compile("follow=1"))
    before = live.locator(".overlay.edge .now").get_attribute("x1")
    expect(live.locator(".overlay.edge .now")).not_to_have_attribute("x1", before or "")


def test_a_page_that_was_drawn_before_its_edge_could_move_is_panned(page: Page, worker: Worker) -> None:
    address = worker.begin()
    worker.do("until", CALM)
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
    expect(live.locator(".incident h3", has_text=AWAY)).to_have_count(0)
    count = live.locator("#minimap .tick").count()
    live.locator('[data-lane="Service/vol-restart/ring"] a').focus()
    live.keyboard.press(",")
    expect(live.locator("#tip")).to_contain_text("created")
    live.keyboard.press("Enter")
    change = live.get_by_role("dialog", name="Service ring: created")
    expect(change.get_by_role("button", name="Next change of this object")).to_be_disabled()
    sequence = worker.do("until", OVER)
    expect(change.get_by_role("button", name="Next change of this object")).to_be_enabled()  # it was deleted
    live.keyboard.press("Escape")
    expect(live.locator(".incident h3", has_text=AWAY)).to_be_visible()
    expect(live.locator("#announce")).to_have_text(re.compile(r"^\d+ new violations$"))
    happens(live, lambda: live.locator("#minimap .tick").count() > count)
    expect(live.locator("#figure")).to_have_attribute("data-edge", str(sequence))
    expect(live.locator('[data-lane="Pod/vol-restart/ring-weak-0"]')).to_be_attached()
    live.get_by_role("button", name=AWAY).click()
    live.get_by_role("button", name="Service ring was away for ≈ 50 ms under 3 running Pods").click()
    expect(live.locator(".hole-text")).to_contain_text("≈ 50 ms")
    expect(live.get_by_role("button", name="Follow live")).to_have_attribute("aria-pressed", "false")


def test_a_new_violation_in_view_is_listed_within_a_second_and_keeps_its_number(live: Page, worker: Worker) -> None:
    live.wait_for_load_state("networkidle")
    live.evaluate(LISTED, AWAY)
    known = dict(live.locator(".incident").evaluate_all(NUMBERS))
    worker.do("until", OVER)
    expect(live.locator(".incident h3", has_text=AWAY)).to_be_visible()
    assert live.evaluate("listed - arrived") < 1_000  # from the message to the page to the row of the list
    away = live.locator(".incident", has=live.locator("h3", has_text=AWAY))
    expect(away).to_contain_text("ongoing")
    now = dict(live.locator(".incident").evaluate_all(NUMBERS))
    assert {id: number for id, number in now.items() if id in known} == known
    assert len(set(now.values())) == len(now)
    assert min(set(now.values()) - set(known.values())) > max([0, *known.values()])


NUMBERS = """(rows) =>
  rows.map((row) => [row.dataset.incident, Number(row.querySelector(".number").textContent.slice(1))])"""
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


def test_what_comes_while_a_window_is_on_its_way_is_asked_for_after_it(live: Page, worker: Worker) -> None:
    opened(live, f"{live.url.partition('?')[0]}?follow=1&namespace=volcano-system")
    expect(live.locator('[data-lane$="/vs-online"]')).to_be_attached()
    live.wait_for_load_state("networkidle")
    held: list[tuple[Route, APIResponse]] = []

    def hold(route: Route) -> None:
        if held:
            route.continue_()
        else:
            held.append((route, route.fetch()))  # it is answered before what comes next was committed

    live.route("**/window?*", hold)
    worker.do("create", "first")
    happens(live, lambda: bool(held))
    sequence = worker.do("create", "second")
    expect(live.locator("#figure")).to_have_attribute("data-edge", str(sequence))
    route, answer = held[0]
    route.fulfill(response=answer)
    expect(live.locator('[data-lane$="/first"]')).to_be_attached()
    expect(live.locator('[data-lane$="/second"]')).to_be_attached()


def test_the_newest_finding_comes_first_with_its_time_and_age(live: Page, worker: Worker) -> None:
    expect(live.locator(".incident").first).to_be_visible()
    live.wait_for_load_state("networkidle")
    known = live.locator(".incident").count()
    live.locator(".incident h3 button").last.focus()
    live.evaluate("document.activeElement.dataset.mine = 'yes'")
    worker.do("until", OVER)
    expect(live.locator(".incident h3", has_text=AWAY)).to_be_visible()
    happens(live, lambda: live.locator(".incident").count() > known)
    ends = live.locator(".incident .when [data-ago]").evaluate_all("all => all.map((each) => Number(each.dataset.ago))")
    assert ends == sorted(ends, reverse=True)
    assert live.evaluate("document.activeElement.dataset.mine") == "yes"
    first = live.locator(".incident .when").first
    expect(first).to_have_text(re.compile(r"^\d\d:\d\d:\d\d · \d+ (s|min) ago$"))
    before = first.text_content() or ""
    expect(first).not_to_have_text(before, timeout=120_000)  # minutes change once in a minute


def test_the_number_beside_a_lane_is_that_of_its_first_circle_in_the_view(live: Page, worker: Worker) -> None:
    worker.do("until", OVER)
    away = live.locator(".incident", has=live.locator("h3", has_text=AWAY))
    end = int(away.locator("[data-ago]").get_attribute("data-ago") or 0)
    service = live.locator('[data-lane="Service/vol-restart/ring"] .lane-number')
    before = service.text_content()
    address = live.url.partition("?")[0]
    opened(live, f"{address}?start={end - 1_000_000}&end={end + 9_000_000}&namespace=vol-restart")
    live.wait_for_function(NUMBERS_AGREE)
    expect(service).not_to_have_text(before or "")  # its first life lies before the view


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


TOLD = """async (path) => {
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
    document.title = "told";
  });
  socket.close();
  const after = await ask(), whole = edge.whole(after.last);
  const lasts = ({ bars: { track, end, text, open_end } }) =>
    new Map(track.map((one, i) => [one, open_end[i] ? [null, text[i]] : [end[i], ""]]));
  const truth = lasts(after);
  return [...lasts(whole)].filter(([track]) => truth.has(track)).map(([track, told]) => [told, truth.get(track)]);
}"""


def test_what_is_told_adds_up_to_what_a_window_shows(live: Page, worker: Worker) -> None:
    live.keyboard.press("l")
    live.evaluate(f"() => {{ window.told = ({TOLD})(location.pathname); }}")
    expect(live).to_have_title("told")
    for step in range(40):
        worker.do("until", CALM + 0.5 * (step + 1))
        live.wait_for_timeout(20)
    live.evaluate("(sequence) => window.arrived(sequence)", worker.do("touch"))
    pairs = live.evaluate("() => window.told")
    assert len(pairs) > 20
    assert [pair for pair in pairs if pair[0] != pair[1]] == []


def test_turning_back_pauses_and_a_key_follows_again(live: Page) -> None:
    live.keyboard.press("a")
    button = live.get_by_role("button", name="Follow live")
    expect(button).to_have_attribute("aria-pressed", "false")
    expect(live.locator("#announce")).to_have_text("Paused: you moved the view.")
    held = range_in_view(live)
    live.wait_for_timeout(1200)
    assert range_in_view(live) == held
    live.keyboard.press("l")
    expect(live.get_by_role("button", name="Following live")).to_have_attribute("aria-pressed", "true")
    start, end = range_in_view(live)
    assert start > held[0]
    assert end - start == pytest.approx(held[1] - held[0], abs=2)
    live.keyboard.press("l")
    expect(button).to_have_attribute("aria-pressed", "false")


EDGE_IS_NEAR_THE_RIGHT = """() => {
    const [line, figure] = [".overlay.edge .now", "#figure"].map((each) => document.querySelector(each));
    const [at, room] = [line, figure].map((each) => each?.getBoundingClientRect());
    return at && room && (at.x - room.x) / room.width > 0.8 && (at.x - room.x) / room.width < 1;
}"""  # asked in the page: the line is drawn anew all the time


def test_who_zooms_at_the_edge_goes_on_following(live: Page) -> None:
    start, end = range_in_view(live)
    for _ in range(4):
        live.keyboard.press("w")
    expect(live.get_by_role("button", name="Following live")).to_be_visible()
    now = range_in_view(live)
    assert now[1] - now[0] < (end - start) / 2
    happens(live, lambda: range_in_view(live)[1] > now[1])
    later = range_in_view(live)
    assert later[1] - later[0] == pytest.approx(now[1] - now[0], abs=2)
    expect(live.get_by_role("button", name="Following live")).to_be_visible()
    live.wait_for_function(EDGE_IS_NEAR_THE_RIGHT)


def test_keys_zoom_around_the_edge_while_nothing_is_drawn(live: Page) -> None:
    widths = live.evaluate(
        """Promise.all(["state/store", "live/following"].map((name) => import(`/static/dashboard/js/${name}.js`)))
          .then(([{ Store }, { Following }]) => {
            const store = new Store({ read: () => "?start=0&end=60000000&follow=1", write: () => {} });
            let edge = 54e6;
            store.bounds = { first: 0, last: edge };
            const following = new Following({ store, edge: () => edge, onChange: () => {} });
            return [0, 3e6, 3e6, 3e6].map((later) => {
              store.bounds.last = edge += later;
              store.zoom(0.75);
              return following.on && Math.round((store.view().end - store.view().start) / 1e6);
            });
          })"""
    )
    assert widths == [45, 34, 25, 19]


def test_an_address_with_a_range_stays_there(live: Page, worker: Worker) -> None:
    start, _ = range_in_view(live)
    address = f"{live.url.partition('?')[0]}?start={start}&end={start + 10_000_000}"
    opened(live, address)
    expect(live.get_by_role("button", name="Follow live")).to_be_visible()
    worker.do("until", OVER)
    expect(live.locator(".incident h3", has_text=AWAY)).to_be_visible()
    assert range_in_view(live) == (start, start + 10_000_000)


def test_a_gap_is_hatched_and_told(live: Page, worker: Worker) -> None:
    expect(live.get_by_role("link", name="complete · no gaps")).to_be_visible()
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


def test_a_source_without_an_entry_says_so(page: Page, worker: Worker) -> None:
    opened(page, worker.begin())
    expect(page.locator("#notice")).to_have_text("Connected. Nothing has been observed yet.")
    expect(page.locator("#range")).to_be_hidden()
    assert complaints_of_axe(page) == []
    worker.do("until", CALM)
    expect(page.locator("#edge .scatterlayer")).to_be_visible()
    expect(page.locator("#notice")).to_be_hidden()
    expect(page.get_by_role("button", name="Following live")).to_be_visible()
    expect(page.locator("#range")).to_be_visible()


STANDS_STILL = """async () => {
    const at = () => document.querySelector(".overlay.edge .now")?.getAttribute("x1");
    const before = at();
    await new Promise((resolve) => setTimeout(resolve, 600));
    return at() === before;
}"""  # the edge, for longer than the time between two of its steps


def test_how_the_collection_stands_is_said(live: Page, worker: Worker) -> None:
    worker.do("cluster", {"state": "failing", "error": "connection refused"})
    expect(live.locator("#live")).to_have_text(re.compile("^cluster not reachable"))
    expect(live.locator("#live")).to_have_attribute("title", "connection refused")
    expect(live.get_by_role("link", name="not complete now")).to_be_visible()
    expect(live.locator("#toolbar .pill.complete")).to_have_count(0)
    expect(live.locator("#follow")).to_have_text("Following, no changes arrive")
    expect(live.locator("#announce")).to_contain_text("connection refused")
    becomes(live, STANDS_STILL)
    worker.do("cluster", {"state": "live", "paused": True})
    expect(live.locator("#live")).to_have_text("collection paused")
    expect(live.get_by_role("link", name="not complete now")).to_be_visible()
    worker.do("cluster", {"paused": False})
    expect(live.locator("#live")).to_have_text(re.compile("^connected"))
    expect(live.get_by_role("link", name="complete · no gaps")).to_be_visible()
    expect(live.locator("#follow")).to_have_text("Following live")


def test_the_page_goes_on_when_the_server_comes_back(live: Page, worker: Worker, complaints: Complaints) -> None:
    complaints.expect("WebSocket connection to", "net::ERR", "Failed to load resource")
    worker.site.kill("web")
    expect(live.locator("#live")).to_have_text("reconnecting…")
    worker.do("until", OVER)
    worker.site.start("web")
    expect(live.locator("#live")).to_have_text(re.compile("^connected"))
    expect(live.locator(".incident h3", has_text=AWAY)).to_be_visible()
    expect(live.locator('[data-lane="Pod/vol-restart/ring-weak-0"]')).to_be_attached()


@pytest.fixture(scope="module")
def company(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Worker]:
    """A worker beside a Causeline with accounts: sre administers, and vera has no role yet."""
    with running(tmp_path_factory.mktemp("login"), "web", CAUSELINE_LOGIN="on") as site:
        site.manage("createuser", "--admin", "sre", CAUSELINE_PASSWORD=PASSWORD)
        site.manage("createuser", "vera", CAUSELINE_PASSWORD=PASSWORD)
        worker = Worker(site)
        yield worker
        worker.end()


def sign_in(page: Page, address: str, name: str) -> None:
    page.goto(address)
    page.get_by_label("User name").fill(name)
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Sign in").click()
    expect(page.locator("#live")).to_have_text(re.compile("^connected"))


def test_who_sees_one_namespace_is_shown_nothing_else_until_the_roles_change(
    page: Page, company: Worker, complaints: Complaints
) -> None:
    complaints.expect("WebSocket connection to", "Failed to load resource")
    address = company.begin()
    company.do("grant", "vera", "vol-quiet")
    company.do("until", CALM)
    told: list[str | bytes] = []
    page.on("websocket", lambda socket: socket.on("framereceived", lambda frame: told.append(frame)))
    sign_in(page, address, "vera")
    expect(page.locator('[data-lane^="Pod/vol-quiet/"]').first).to_be_attached()
    sequence = company.do("until", OVER)
    happens(page, lambda: any(json.loads(each).get("sequence", 0) >= sequence for each in told))
    assert "vol-restart" not in page.content() + "".join(map(str, told))
    company.do("grant", "vera", "vol-restart")
    expect(page.locator('[data-lane="Pod/vol-restart/ring-weak-0"]')).to_be_attached()
    page.context.clear_cookies()


def test_a_page_whose_rights_change_while_no_server_answers_waits_for_it(
    page: Page, company: Worker, complaints: Complaints
) -> None:
    complaints.expect("WebSocket connection to", "Failed to load resource")
    address = company.begin()
    company.do("grant", "vera", "vol-quiet")
    company.do("until", OVER)
    sign_in(page, address, "vera")
    expect(page.locator('[data-lane^="Pod/vol-quiet/"]').first).to_be_attached()
    asked: list[str] = []

    def unanswered(route: Route) -> None:
        asked.append(route.request.method)
        route.abort()

    own = re.compile(re.escape(address))  # whatever the address says of the view
    page.route(own, unanswered)
    company.do("grant", "vera", "vol-restart")
    happens(page, lambda: len(asked) > 1)  # it asks again and again
    assert {*asked} == {"HEAD"}
    expect(page.locator("#live")).to_have_text("reconnecting…")
    expect(page.locator('[data-lane^="Pod/vol-quiet/"]').first).to_be_attached()
    page.unroute(own)
    expect(page.locator('[data-lane="Pod/vol-restart/ring-weak-0"]')).to_be_attached()
    page.context.clear_cookies()


def test_a_page_whose_first_requests_nobody_answered_shows_a_quiet_source(
    page: Page, worker: Worker, complaints: Complaints
) -> None:
    complaints.expect("Failed to load resource")
    address = worker.begin()
    worker.do("until", CALM)
    come_in(page.context, address)
    page.route(re.compile("/api/sources/"), lambda route: route.abort())
    page.goto(address)
    expect(page.locator("#live")).to_have_text(re.compile("^connected"))
    expect(page.locator("#notice")).to_contain_text("cannot be reached")
    page.unroute(re.compile("/api/sources/"))
    expect(page.locator("#notice")).to_be_hidden()
    expect(page.locator('[data-lane="Pod/vol-restart/ring-weak-0"]')).to_be_attached()
    expect(page.locator("#follow")).to_have_attribute("aria-pressed", "true")


def test_who_is_signed_out_is_told(page: Page, company: Worker, complaints: Complaints) -> None:
    complaints.expect("WebSocket connection to", "Failed to load resource")
    address = company.begin()
    company.do("until", CALM)
    sign_in(page, address, "sre")
    company.do("sign_out")
    expect(page.locator("#live")).to_have_text("signed out")
    expect(page.locator("#announce")).to_contain_text("Load the page again to sign in")


def test_the_source_that_ends_says_why(live: Page, worker: Worker) -> None:
    worker.do("end", "The revisions of the cluster went back: it was restored.")
    expect(live.locator("#live")).to_have_text("ended")
    expect(live.locator("#live")).to_have_attribute("title", re.compile("it was restored"))
    live.reload()
    expect(live.locator(".toolbar")).to_contain_text("it was restored")
    expect(live.locator("#follow")).to_have_count(0)
    expect(live.locator("#plot .scatterlayer")).to_be_visible()


def test_a_hidden_page_fetches_what_it_missed_when_it_is_shown(live: Page, worker: Worker) -> None:
    hide = """(hidden) => {
      Object.defineProperty(document, "hidden", { configurable: true, get: () => hidden });
      document.dispatchEvent(new Event("visibilitychange"));
    }"""
    told: list[str | bytes] = []
    live.on("websocket", lambda socket: socket.on("framereceived", lambda frame: told.append(frame)))
    opened(live, live.url)
    expect(live.locator("#edge .scatterlayer")).to_be_visible()
    live.evaluate(hide, True)
    sequence = worker.do("until", OVER)
    happens(live, lambda: any(json.loads(each).get("sequence") == sequence for each in told))
    live.wait_for_timeout(500)
    expect(live.locator(".incident h3", has_text=AWAY)).to_have_count(0)
    live.evaluate(hide, False)
    expect(live.locator(".incident h3", has_text=AWAY)).to_be_visible()


def test_who_wants_little_motion_gets_little(page: Page, worker: Worker) -> None:
    page.emulate_media(reduced_motion="reduce")
    address = worker.begin()
    worker.do("until", CALM)
    opened(page, address)
    expect(page.locator(".overlay.edge .now")).to_be_attached()
    positions = """async () => {
      const seen = new Set(), end = performance.now() + 2500;
      while (performance.now() < end) {
        seen.add(document.querySelector(".overlay.edge .now").getAttribute("x1"));
        await new Promise((resolve) => setTimeout(resolve, 20));
      }
      return seen.size;
    }"""
    page.wait_for_load_state("networkidle")
    happens(page, lambda: page.evaluate(positions) <= 4)  # a step of the view may fall into the first


@EVERYWHERE
def test_it_can_be_used_by_everyone(page: Page, worker: Worker, size: ViewportSize, themes: Themes) -> None:
    page.emulate_media(color_scheme=themes[0])
    page.set_viewport_size(size)
    address = worker.begin()
    worker.do("until", OVER)
    worker.do("gap", "Pod", 10, 20)
    opened(page, address)
    expect(page.locator(".incident h3", has_text=AWAY)).to_be_visible()
    assert complaints_of_axe(page, themes) == []
    fits(page)
    expect(page.get_by_role("button", name="Following live")).to_be_in_viewport(ratio=1)
    expect(page.locator("#live")).to_be_in_viewport(ratio=1)
    if size == PHONE:
        page.get_by_role("button", name="Timeline").click()
        expect(page.locator(".overlay.edge .now")).to_be_attached()
        assert complaints_of_axe(page, themes) == []


def test_a_recording_loads_nothing_of_it(page: Page, recording: str) -> None:
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.on("websocket", lambda socket: asked.append(socket.url))
    page.goto(recording)
    settled(page)
    assert not [url for url in asked if "/live/" in url or "/ws/" in url]
    expect(page.locator("#follow")).to_have_count(0)


def test_an_incident_that_may_have_ended_is_asked_for_once_a_minute(live: Page) -> None:
    told = live.evaluate(
        """import("/static/dashboard/js/state/incidentsList.js").then(async ({ IncidentsList }) => {
          const one = { id: "a", severity: "error", state: "ongoing", start: 0, end: 0, findings: 1, times: [] };
          let asked = 0;
          const page = { incidents: [one], next: null, total: 1, findings: 1, order: "newest", acknowledged: 0 };
          const list = new IncidentsList({ incidents: async () => (asked++, { ...page, silenced: 0 }) });
          await list.load({});
          const told = [];
          for (const minutes of [1, 5, 6, 6.5, 7]) {
            told.push(list.outdated(minutes * 60e6));
            await list.load({});
          }
          return [told, asked];
        })"""
    )
    assert told == [[False, False, True, False, True], 3]
