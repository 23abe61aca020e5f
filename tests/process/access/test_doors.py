"""These tests check what a production server sends to browsers: HTTPS only, protected cookies, no script but ours."""

from collections.abc import Iterator
from http.client import HTTPConnection, HTTPMessage
from http.cookies import SimpleCookie
from urllib.parse import urlencode, urlsplit

import pytest

from tests.people import PASSWORD
from tests.running import TOKEN, Running, running

HOST = "causeline.example.org"
FROM_PROXY = {"Host": HOST, "X-Forwarded-Proto": "https"}


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    settings = {
        "CAUSELINE_HTTPS": "on",
        "CAUSELINE_LOGIN": "on",
        "CAUSELINE_HOSTS": f"{HOST},127.0.0.1",
        "CAUSELINE_ORIGINS": f"https://{HOST}",
    }
    with running(tmp_path_factory.mktemp("site"), "web", **settings) as started:
        started.manage("createuser", "--admin", "sre", CAUSELINE_PASSWORD=PASSWORD)
        yield started


def asked(site: Running, method: str, path: str, body: str = "", **headers: str) -> tuple[int, HTTPMessage, str]:
    connection = HTTPConnection(urlsplit(site.address).netloc, timeout=20)
    sent = {name.replace("_", "-"): value for name, value in headers.items()}
    connection.request(method, path, body.encode(), {**FROM_PROXY, **sent})
    answer = connection.getresponse()
    content = answer.read().decode()
    connection.close()
    return answer.status, answer.headers, content


def signed_in(
    site: Running, password: str = PASSWORD, wanted: str = "", **headers: str
) -> tuple[int, SimpleCookie, str]:
    """Return status, cookies, and the address to which the answer redirects."""
    _, head, _ = asked(site, "GET", "/login/")
    token = SimpleCookie(head["Set-Cookie"])[f"causeline_csrf_{site.port}"].value
    form = urlencode({"username": "sre", "password": password, "csrfmiddlewaretoken": token, "next": wanted})
    known = {
        "Cookie": f"causeline_csrf_{site.port}={token}",
        "Content_Type": "application/x-www-form-urlencoded",
        "Origin": f"https://{HOST}",
    }
    status, head, _ = asked(site, "POST", "/login/", form, **{**known, **headers})
    cookies = SimpleCookie()
    for each in head.get_all("Set-Cookie", []):
        cookies.load(each)
    return status, cookies, head["Location"] or ""


def test_a_plain_request_is_led_to_https(site: Running) -> None:
    status, headers, _ = asked(site, "GET", "/login/?next=/rules/", X_Forwarded_Proto="http")
    assert (status, headers["Location"]) == (301, f"https://{HOST}/login/?next=/rules/")


def test_browsers_are_told_what_may_be_done_with_a_page(site: Running) -> None:
    _, headers, _ = asked(site, "GET", "/login/")
    assert headers["Strict-Transport-Security"] == "max-age=31536000; includeSubDomains; preload"
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert headers["X-Frame-Options"] == "DENY"
    assert headers["Referrer-Policy"] == "same-origin"
    assert headers["Cross-Origin-Opener-Policy"] == "same-origin"
    policy = dict(each.strip().partition(" ")[::2] for each in headers["Content-Security-Policy"].split(";"))
    assert (policy["default-src"], policy["script-src"], policy["frame-ancestors"]) == ("'none'", "'self'", "'none'")
    assert policy["base-uri"] == "'none'" and policy["connect-src"] == policy["form-action"] == "'self'"


def test_cookies_go_over_https_alone_and_scripts_do_not_see_them(site: Running) -> None:
    status, cookies, _ = signed_in(site)
    assert status == 302
    for name in (f"causeline_session_{site.port}", f"causeline_csrf_{site.port}"):
        cookie = cookies[name]
        assert (cookie["secure"], cookie["httponly"], cookie["samesite"], cookie["domain"]) == (True, True, "Lax", "")


def test_nobody_comes_in_with_a_wrong_password_or_from_another_site(site: Running) -> None:
    assert signed_in(site, "wrong")[0] == 200
    assert signed_in(site, Origin="https://evil.example")[0] == 403
    status, headers, _ = asked(site, "GET", "/")
    assert (status, headers["Location"]) == (302, "/login/?next=/")


def test_another_name_of_the_host_is_refused(site: Running) -> None:
    assert asked(site, "GET", "/login/", Host="rebound.example")[0] == 400


def test_signing_in_leads_to_no_other_site(site: Running) -> None:
    _, _, page = asked(site, "GET", "/login/?next=https://evil.example/")
    assert "evil.example" not in page
    for wanted in ("https://evil.example/", "//evil.example/", r"/\evil.example/", f"http://{HOST}/"):
        assert signed_in(site, wanted=wanted)[2] == "/"


def test_an_alert_s_link_leads_to_its_target_after_signing_in(site: Running) -> None:
    link = "/go?namespace=shop&name=web-1&at=2026-11-21T07:52:00Z"
    status, headers, _ = asked(site, "GET", link)
    assert (status, headers["Location"]) == (302, f"/login/?{urlencode({'next': link}, safe='/')}")
    _, _, page = asked(site, "GET", headers["Location"])
    assert f'name="next" value="{link.replace("&", "&amp;")}"' in page
    assert signed_in(site, wanted=link)[2] == link


def test_a_start_up_token_counts_for_nothing_where_there_are_accounts(site: Running) -> None:
    status, headers, _ = asked(site, "GET", f"/rules/?token={TOKEN}")
    assert (status, headers["Location"]) == (302, "/rules/"), "but it leaves the address"
    assert "session" not in str(headers.get_all("Set-Cookie"))
    assert asked(site, "GET", "/api/sources", Authorization=f"Bearer {TOKEN}")[0] == 401


def test_no_cache_gives_a_page_to_somebody_else(site: Running) -> None:
    _, cookies, _ = signed_in(site)
    name = f"causeline_session_{site.port}"
    _, headers, _ = asked(site, "GET", "/", Cookie=f"{name}={cookies[name].value}")
    assert "Cookie" in headers["Vary"]
