"""Signing in, in a real browser: with an OpenID Connect provider that is a process of its own, and with a code."""

import re
import time
from collections.abc import Iterator

import pytest
from allauth.mfa.totp.internal.auth import format_hotp_value, hotp_value
from playwright.sync_api import Browser, Page, expect

from dashboard.access.signing_in import sessions
from tests.browser.conftest import Complaints, heard
from tests.browser.everyone import usable_everywhere
from tests.browser.looking import PATIENCE
from tests.rows.people import PASSWORD
from tests.servers.running import Running


@pytest.fixture
def visitor(browser: Browser, company: Running, complaints: Complaints) -> Iterator[Page]:
    """A page of somebody who has not signed in."""
    context = browser.new_context(base_url=company.address, viewport={"width": 1440, "height": 900})
    context.set_default_timeout(PATIENCE)
    with heard(context, complaints):
        yield context.new_page()
        context.close()


def sign_in(page: Page, name: str, path: str | None = None) -> None:
    """Sign in as an account, on the way to a page or where the page asks for it."""
    if path:
        page.goto(f"/login/?next={path}")
    page.get_by_label("User name").fill(name)
    page.get_by_label("Password").fill(PASSWORD)
    page.keyboard.press("Enter")
    if path:
        page.wait_for_url(f"**{path}")


def test_a_person_signs_in_with_the_provider_and_out_of_it(visitor: Page, provider: str) -> None:
    # The page of the mock loads a style sheet from another site, which may not be reached.
    visitor.context.route(
        re.compile(r"https?://(?!127\.0\.0\.1)"), lambda route: route.fulfill(body="", content_type="text/css")
    )
    asked = visitor.get_by_role("heading", name="Sign in")
    visitor.goto("/rules/")
    expect(asked).to_be_visible()
    visitor.get_by_role("link", name="Sign in with Example SSO").click()
    visitor.get_by_role("button", name="ada-7").click()
    visitor.wait_for_url("**/rules/")
    visitor.locator(".account summary").click()
    visitor.get_by_role("link", name="Your sessions").click()
    expect(visitor.get_by_text("this browser")).to_be_visible()
    expect(visitor.get_by_text("with single sign-on")).to_be_visible()
    visitor.locator(".account summary").click()
    visitor.get_by_role("button", name="Sign out").click()
    visitor.wait_for_url(f"{provider}/**")
    visitor.goto("/sessions/")
    expect(asked).to_be_visible()


def test_a_second_factor_is_set_up_and_asked_for(visitor: Page, complaints: Complaints) -> None:
    complaints.expect("400 (Bad Request)")
    visitor.goto("/second-factor/")
    usable_everywhere(visitor)
    sign_in(visitor, "bob")
    expect(visitor.get_by_alt_text("QR code")).to_be_visible()
    secret = visitor.locator("p code").inner_text().replace(" ", "")
    usable_everywhere(visitor)

    def give_code(steps: int, button: str) -> None:
        visitor.get_by_label("Code that").fill(format_hotp_value(hotp_value(secret, int(time.time()) // 30 + steps)))
        visitor.get_by_role("button", name=button).click()

    give_code(0, "Set up")
    expect(visitor.get_by_role("heading", name="Your recovery codes")).to_be_visible()
    assert len(visitor.locator("#codes").inner_text().split()) == 10
    usable_everywhere(visitor)
    visitor.get_by_role("link", name="I have kept them").click()
    expect(visitor.get_by_text("10 recovery codes left")).to_be_visible()
    visitor.goto("/sessions/")
    usable_everywhere(visitor)
    visitor.context.clear_cookies()
    visitor.goto("/rules/")
    sign_in(visitor, "bob")
    expect(visitor.get_by_role("heading", name="Second factor")).to_be_visible()
    visitor.get_by_label("Code that").fill("000000")
    visitor.get_by_role("button", name="Sign in").click()
    expect(visitor.get_by_role("alert")).to_contain_text("This is not the code")
    usable_everywhere(visitor)
    give_code(1, "Sign in")
    visitor.wait_for_url("**/rules/")


def test_a_page_that_nobody_touches_says_so(visitor: Page) -> None:
    says = "import('/static/dashboard/js/state/attended.js').then(({ unattended }) => Object.keys(unattended()))"
    visitor.clock.install()
    visitor.goto("/login/")
    assert visitor.evaluate(says) == []
    visitor.clock.fast_forward("01:30")
    assert visitor.evaluate(says) == [sessions.UNATTENDED]
    visitor.get_by_label("User name").press("a")
    assert visitor.evaluate(says) == []


def test_ending_other_sessions_closes_their_open_pages(visitor: Page, browser: Browser, company: Running) -> None:
    with browser.new_context(base_url=company.address) as elsewhere:
        there = elsewhere.new_page()
        with there.expect_websocket() as opened:
            sign_in(there, "vera", "/")
        sign_in(visitor, "vera", "/sessions/")
        with opened.value.expect_event("close"):
            visitor.get_by_role("button", name="End all others").click()
        there.goto("/rules/")
        expect(there.get_by_role("heading", name="Sign in")).to_be_visible()


def test_an_administrator_gives_and_takes_away_a_role_and_makes_a_token_for_a_script(visitor: Page) -> None:
    """With the keyboard alone, after the page was opened from the menu."""
    sign_in(visitor, "ada", "/sessions/")
    visitor.locator(".menu:visible summary").first.click()
    visitor.get_by_role("link", name="Access", exact=True).click()
    expect(visitor.get_by_role("link", name="ada", exact=True)).to_be_visible()
    usable_everywhere(visitor)
    group = "oidc:team"
    visitor.get_by_label("a group").focus()
    visitor.keyboard.press("Space")
    visitor.get_by_label("Name of the person or group").focus()
    visitor.keyboard.type(group)
    visitor.get_by_label("Role", exact=True).focus()
    visitor.keyboard.type("resp")
    visitor.keyboard.press("Enter")
    visitor.get_by_role("button", name="Give the role").press("Enter")
    expect(visitor.get_by_role("heading", name=f"The group {group}")).to_be_visible()
    expect(visitor.get_by_text("responder of everything")).to_be_visible()
    usable_everywhere(visitor)
    visitor.get_by_role("link", name="Take away responder of everything…").press("Enter")
    usable_everywhere(visitor)
    visitor.get_by_role("button", name=f"Take away responder of {group}").press("Enter")
    expect(visitor.get_by_text("The group has no role.")).to_be_visible()

    visitor.locator(".menu:visible summary").first.click()
    visitor.get_by_role("link", name="Your tokens").click()
    visitor.get_by_label("respond").check()
    visitor.get_by_label("Name", exact=True).fill("script")
    visitor.get_by_role("button", name="Create the token").click()
    expect(visitor.locator("#text")).to_have_text(re.compile("^causeline_"))
    expect(visitor.get_by_text("reads and responds to what ada may").first).to_be_visible()
    usable_everywhere(visitor)


def test_the_page_of_the_password_says_what_is_wrong(visitor: Page, complaints: Complaints) -> None:
    complaints.expect("400 (Bad Request)")
    sign_in(visitor, "carol", "/password/")
    visitor.get_by_label("Your password now").fill(PASSWORD)
    for label in "New password", "New password, again":
        visitor.get_by_label(label, exact=True).fill("tiny-one")
    visitor.get_by_role("button", name="Change the password").click()
    expect(visitor.get_by_role("alert")).to_contain_text("too short")
    usable_everywhere(visitor)


def test_a_viewer_learns_why_nothing_can_be_uploaded(visitor: Page) -> None:
    sign_in(visitor, "vera", "/")
    expect(visitor.get_by_text("This needs the role responder")).to_be_visible()
    expect(visitor.get_by_role("button", name="Choose files…")).to_have_count(0)
    transfer = "{ types: ['Files'], items: [], files: [] }"
    visitor.evaluate(f"dispatchEvent(Object.assign(new Event('drop'), {{ dataTransfer: {transfer} }}))")
    expect(visitor.locator("#trouble")).to_be_hidden()
    usable_everywhere(visitor)
