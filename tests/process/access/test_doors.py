"""These tests check what a production server sends to browsers: HTTPS only, protected cookies, no script but ours."""

from collections.abc import Iterator
from http.cookies import SimpleCookie
from urllib.parse import urlencode

import pytest

from tests.process.access.asking import FORM, Answer, ask
from tests.rows.people import PASSWORD
from tests.servers.running import TOKEN, Running, running

HOST = "causeline.example.org"
FROM_PROXY = {"Host": HOST, "X_Forwarded_Proto": "https"}


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    settings = {
        "CAUSELINE_HTTPS": "on",
        "CAUSELINE_LOGIN": "on",
        "CAUSELINE_HOSTS": f"{HOST},127.0.0.1",
        "CAUSELINE_ORIGINS": f"https://{HOST}",
    }
    with running(tmp_path_factory.mktemp("site"), "web", **settings) as started:
        started.manage("causeline", "createuser", "--admin", "sre", CAUSELINE_PASSWORD=PASSWORD)
        yield started


def asked(site: Running, path: str, method: str = "GET", body: str = "", /, **headers: str) -> Answer:
    return ask(site, path, method, body, **FROM_PROXY | headers)


def signed_in(site: Running, password: str = PASSWORD, wanted: str = "", **headers: str) -> Answer:
    cookie = asked(site, "/login/").cookie("causeline_csrf")
    token = cookie.partition("=")[2]
    form = urlencode({"username": "sre", "password": password, "csrfmiddlewaretoken": token, "next": wanted})
    known = {"Cookie": cookie, "Content_Type": FORM, "Origin": f"https://{HOST}"}
    return asked(site, "/login/", "POST", form, **known | headers)


def test_a_plain_request_is_led_to_https_and_another_name_of_the_host_is_refused(site: Running) -> None:
    led = asked(site, "/login/?next=/rules/", X_Forwarded_Proto="http")
    assert (led.status, led.target) == (301, f"https://{HOST}/login/?next=/rules/")
    assert asked(site, "/login/", Host="rebound.example").status == 400


def test_browsers_learn_what_may_be_done_with_a_page(site: Running) -> None:
    headers = asked(site, "/login/").headers
    expected = {
        "Strict-Transport-Security": "max-age=31536000; includeSubDomains; preload",
        "X-Content-Type-Options": "nosniff",
        "X-Frame-Options": "DENY",
        "Referrer-Policy": "same-origin",
        "Cross-Origin-Opener-Policy": "same-origin",
    }
    assert {name: headers[name] for name in expected} == expected
    policy = dict(each.strip().partition(" ")[::2] for each in headers["Content-Security-Policy"].split(";"))
    assert (policy["default-src"], policy["script-src"], policy["frame-ancestors"]) == ("'none'", "'self'", "'none'")
    assert policy["base-uri"] == "'none'" and policy["connect-src"] == policy["form-action"] == "'self'"


def test_cookies_go_over_https_alone_and_neither_scripts_nor_caches_see_them(site: Running) -> None:
    answer = signed_in(site)
    assert answer.status == 302
    cookies = SimpleCookie()
    for each in answer.headers.get_all("Set-Cookie", []):
        cookies.load(each)
    for name in (f"causeline_session_{site.port}", f"causeline_csrf_{site.port}"):
        cookie = cookies[name]
        assert (cookie["secure"], cookie["httponly"], cookie["samesite"], cookie["domain"]) == (True, True, "Lax", "")
    assert "Cookie" in asked(site, "/", Cookie=answer.cookie("causeline_session")).headers["Vary"]


def test_nobody_comes_in_with_a_wrong_password_or_from_another_site_or_with_a_start_up_token(site: Running) -> None:
    assert signed_in(site, "wrong").status == 200
    assert signed_in(site, Origin="https://evil.example").status == 403
    assert asked(site, "/").target == "/login/?next=/"
    answer = asked(site, f"/rules/?token={TOKEN}")
    assert (answer.status, answer.target) == (302, "/rules/"), "but it leaves the address"
    assert "session" not in str(answer.headers.get_all("Set-Cookie"))
    assert asked(site, "/api/sources", Authorization=f"Bearer {TOKEN}").status == 401


def test_signing_in_leads_to_the_target_of_an_alert_s_link_and_to_no_other_site(site: Running) -> None:
    assert "evil.example" not in asked(site, "/login/?next=https://evil.example/").body
    for wanted in ("https://evil.example/", "//evil.example/", r"/\evil.example/", f"http://{HOST}/"):
        assert signed_in(site, wanted=wanted).target == "/"
    link = "/go?namespace=shop&name=web-1&at=2026-11-21T07:52:00Z"
    led = asked(site, link)
    assert (led.status, led.target) == (302, f"/login/?{urlencode({'next': link}, safe='/')}")
    assert f'name="next" value="{link.replace("&", "&amp;")}"' in asked(site, led.target).body
    assert signed_in(site, wanted=link).target == link
