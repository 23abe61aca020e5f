"""A live page goes on after whatever breaks: a server, a connection, rights; and catches up when it is shown again."""

import json
import re

from playwright.sync_api import Page, Route, expect

from tests.browser.conftest import Complaints, Worker, come_in, followed, working
from tests.browser.looking import CONNECTED, happens
from tests.rows.people import PASSWORD
from tests.servers.running import Running

WEAK = '[data-lane="Pod/vol-restart/ring-weak-0"]'


def heard_by(page: Page) -> list[str | bytes]:
    """What comes by the sockets that the page opens from now on."""
    reported: list[str | bytes] = []
    page.on("websocket", lambda socket: socket.on("framereceived", lambda frame: reported.append(frame)))
    return reported


def arrived(reported: list[str | bytes], sequence: int) -> bool:
    return any(json.loads(each).get("sequence", 0) >= sequence for each in reported)


def test_the_page_goes_on_when_the_server_comes_back(live: Page, worker: Worker, complaints: Complaints) -> None:
    complaints.expect("WebSocket connection to", "net::ERR", "Failed to load resource")
    worker.site.kill("web")
    expect(live.locator("#live")).to_have_text("reconnecting…")
    worker.do("until", worker.OVER)
    worker.site.start("web")
    expect(live.locator("#live")).to_have_text(CONNECTED)
    expect(live.locator(".incident h3", has_text=worker.AWAY)).to_be_visible()
    expect(live.locator(WEAK)).to_be_attached()


def test_who_sees_one_namespace_is_shown_nothing_else_until_the_roles_change(
    page: Page, company: Running, complaints: Complaints
) -> None:
    complaints.expect("WebSocket connection to", "Failed to load resource")
    with working(company) as worker:
        address = worker.begin()
        worker.do("grant", "nora", "vol-quiet")
        reported = heard_by(page)
        page.goto(address)
        page.get_by_label("User name").fill("nora")
        page.get_by_label("Password").fill(PASSWORD)
        page.get_by_role("button", name="Sign in", exact=True).click()
        state, quiet = page.locator("#live"), page.locator('[data-lane^="Pod/vol-quiet/"]').first
        expect(state).to_have_text(CONNECTED)
        expect(quiet).to_be_attached()
        sequence = worker.do("until", worker.OVER)
        happens(page, lambda: arrived(reported, sequence))
        assert "vol-restart" not in page.content() + "".join(map(str, reported))

        asked: list[str] = []  # by a page that loads itself anew, while no server answers

        def unanswered(route: Route) -> None:
            asked.append(route.request.method)
            route.abort()

        own = re.compile(re.escape(address))  # whatever the address says of the view
        page.route(own, unanswered)
        worker.do("grant", "nora", "vol-restart")
        happens(page, lambda: len(asked) > 1)  # it asks again and again
        assert {*asked} == {"HEAD"}
        expect(state).to_have_text("reconnecting…")
        expect(quiet).to_be_attached()
        page.unroute(own)
        expect(page.locator(WEAK)).to_be_attached()

        expect(state).to_have_text(CONNECTED)
        worker.do("sign_out")
        expect(state).to_have_text("signed out")
        expect(page.locator("#announce")).to_contain_text("Load the page again to sign in")


def test_a_page_whose_first_requests_nobody_answered_shows_a_quiet_source(
    page: Page, worker: Worker, complaints: Complaints
) -> None:
    complaints.expect("Failed to load resource")
    address = worker.begin()
    come_in(page.context, address)
    requests = re.compile("/api/sources/")
    page.route(requests, lambda route: route.abort())
    page.goto(address)
    expect(page.locator("#live")).to_have_text(CONNECTED)
    expect(page.locator("#notice")).to_contain_text("cannot be reached")
    page.unroute(requests)
    expect(page.locator("#notice")).to_be_hidden()
    expect(page.locator(WEAK)).to_be_attached()
    expect(page.locator("#follow")).to_have_attribute("aria-pressed", "true")


def test_a_hidden_page_fetches_what_it_missed_when_it_is_shown(page: Page, worker: Worker) -> None:
    hide = """(hidden) => {
      Object.defineProperty(document, "hidden", { configurable: true, get: () => hidden });
      document.dispatchEvent(new Event("visibilitychange"));
    }"""
    reported = heard_by(page)
    followed(page, worker.begin())
    expect(page.locator("#edge .scatterlayer")).to_be_visible()
    away = page.locator(".incident h3", has_text=worker.AWAY)
    page.evaluate(hide, True)
    sequence = worker.do("until", worker.OVER)
    happens(page, lambda: arrived(reported, sequence))
    page.wait_for_timeout(500)
    expect(away).to_have_count(0)
    page.evaluate(hide, False)
    expect(away).to_be_visible()
