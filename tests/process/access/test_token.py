"""These tests check access without accounts: the start-up token admits a client, and nothing else does."""

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote, urlencode

import pytest
from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed
from websockets.typing import Origin

from dashboard import environment
from dashboard.push.consumers import UNAUTHORISED
from tests.clients.visitor import Visitor
from tests.patience import patient
from tests.process.access.asking import FORM, Answer, ask, opened
from tests.servers.running import TOKEN, Running, running

PAGES = ("/", "/clusters/", "/rules/", "/go?name=a", "/api/docs", "/api/openapi.json", "/sources/1/report")
ENDPOINTS = ("/api/sources", "/api/clusters", "/api/uploads", "/api/sources/1/window", "/api/sources/1/recording")
HOSTILE = ("https://evil.example/", "//evil.example/", r"/\evil.example/", "http:evil.example", "javascript:alert(1)")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    with running(tmp_path_factory.mktemp("site"), "web", CAUSELINE_TOKEN="", CAUSELINE_LOG_LEVEL="DEBUG") as started:
        yield started


def token_of(site: Running) -> str:
    return (site.data / "token").read_text()


def session(site: Running) -> str:
    """Return the cookie of somebody who opened the address that `causeline up` prints."""
    return ask(site, f"/?token={token_of(site)}").cookie("causeline_session")


def other_origins(site: Running) -> list[str]:
    """Return origins to which browsers send our cookies, so that only the Origin differs from ours."""
    return [f"http://127.0.0.1:{site.port + 1}", "http://127.0.0.1", f"https://127.0.0.1:{site.port}", "null"]


def pasted(site: Running, text: str, wanted: str, **headers: str) -> Answer:
    cookie = ask(site, "/login/").cookie("causeline_csrf")
    form = {"token": text, "next": wanted, "csrfmiddlewaretoken": cookie.partition("=")[2]}
    sent = {"Cookie": cookie, "Content_Type": FORM, "Origin": site.address} | headers
    return ask(site, "/login/", "POST", urlencode(form), **sent)


def test_a_stranger_gets_health_and_static_files_alone_and_learns_how_to_get_in(site: Running) -> None:
    assert ask(site, "/healthz").body == "ok"
    assert ask(site, "/static/dashboard/logo.svg").status == 200
    for path in PAGES:
        led = ask(site, path)
        assert (led.status, led.target) == (302, f"/login/?next={quote(path, safe='/')}")
        answer = ask(site, led.target)
        assert answer.status == 200
        assert "causeline token" in answer.body and path.replace("&", "&amp;") in answer.body
    for path in ENDPOINTS:
        for given in ("", "Bearer wrong", "Bearer ", f"Basic {TOKEN}"):
            answer = ask(site, path, **{"Authorization": given} if given else {})
            assert (answer.status, answer.headers["Content-Type"]) == (401, "application/problem+json")
            assert "Bearer" in json.loads(answer.body)["detail"]


def test_the_token_becomes_a_session_and_leaves_the_address(site: Running) -> None:
    came = ask(site, f"/go?name=a%26b&token={token_of(site)}&at=1")
    assert (came.status, came.target) == (302, "/go?name=a%26b&at=1")
    assert (came.headers["Referrer-Policy"], came.headers["Cache-Control"]) == ("no-referrer", "no-store")
    cookie = next(each for each in came.headers.get_all("Set-Cookie", []) if "session" in each)
    assert cookie.startswith(f"causeline_session_{site.port}=")
    assert "HttpOnly" in cookie and "SameSite=Lax" in cookie and "Domain" not in cookie
    known = came.cookie("causeline_session")
    assert {ask(site, path, Cookie=known).status for path in ("/", "/clusters/", "/api/sources", "/api/docs")} == {200}
    for name in ("%74oken", "TOKEN", "amp;token", ";token", "+token"):
        came = ask(site, f"/rules/?{name}={token_of(site)}")
        assert (came.status, came.target.partition("?")[0]) == (302, "/rules/"), name
    for path in (r"//evil.example/%2f..", r"/\evil.example", "//evil.example"):
        came = ask(site, f"{path}?token={token_of(site)}")
        assert not came.target.startswith(("//", "/\\", "http")), came.target


@pytest.mark.parametrize("wrong", ["", "wrong", "%ff", "%E2%82%AC", "a&token=b"])
def test_a_wrong_token_leads_to_the_page_that_asks_for_it(site: Running, wrong: str) -> None:
    came = ask(site, f"/rules/?token={wrong}")
    assert (came.status, came.target) == (302, "/login/?next=%2Frules%2F&refused=yes")
    assert came.cookie("causeline_session") == ""
    assert "not the token" in ask(site, came.target).body


def test_a_token_that_is_pasted_leads_on_to_the_target_and_to_no_other_site(site: Running) -> None:
    token = token_of(site)
    for text in (token, f" {token}\n", f"{site.address}/sources/1/?token={token}"):
        came = pasted(site, text, "/go?name=a&at=1")
        assert (came.status, came.target) == (302, "/go?name=a&at=1")
        assert ask(site, "/", Cookie=came.cookie("causeline_session")).status == 200
    assert pasted(site, "wrong", "/").status == pasted(site, "", "/").status == 403
    for target in HOSTILE:
        assert pasted(site, token, target).target == "/"
        assert ask(site, f"/login/?{urlencode({'next': target})}", Cookie=session(site)).target == "/"


def test_other_ports_and_rebound_names_of_this_host_are_other_sites(site: Running) -> None:
    known = Visitor(f"{site.address}/?token={token_of(site)}")
    for origin in other_origins(site):
        assert pasted(site, token_of(site), "/", Origin=origin).status == 403
        assert known.ask("POST", "/api/uploads?name=a", b"", Origin=origin)[0] == 403, origin
    for path in ("/", "/api/sources", "/login/"):
        assert ask(site, path, Host=f"evil.example:{site.port}", Authorization=f"Bearer {token_of(site)}").status == 400


def test_a_script_sends_the_token_in_a_header_and_needs_no_cookie(site: Running) -> None:
    known = {"Authorization": f"Bearer {token_of(site)}", "Content_Type": "application/json"}
    assert ask(site, "/api/sources", **known).status == 200
    answer = ask(site, "/api/uploads", "POST", '{"name": "a", "files": []}', **known)
    assert answer.status not in (401, 403), answer.body
    wrong = known | {"Authorization": "Bearer wrong", "Cookie": session(site)}
    assert ask(site, "/api/uploads", "POST", "{}", **wrong).status == 403


def test_the_session_of_an_account_counts_for_nothing(site: Running) -> None:
    code = (
        "from tests.rows.people import member; from django.test import Client; c = Client();"
        "c.force_login(member('admin', name='sre'));"
        f"open({str(site.data / 'session')!r}, 'w').write(c.cookies['causeline_session_{site.port}'].value)"
    )
    site.manage("shell", "--command", code)
    cookie = f"causeline_session_{site.port}={(site.data / 'session').read_text()}"
    assert ask(site, "/api/sources", Cookie=cookie).status == 401
    assert ask(site, "/", Cookie=cookie).status == 302


def test_a_socket_is_opened_by_our_own_pages_with_a_session(site: Running) -> None:
    known = session(site)
    assert opened(site, origin=site.address, Cookie=known) == "refetch"
    assert opened(site, origin=site.address) == UNAUTHORISED
    assert opened(site, f"?token={token_of(site)}", origin=site.address) == UNAUTHORISED
    for origin in (*other_origins(site), None):
        assert opened(site, origin=origin, Cookie=known) == 403, origin


def test_who_signs_out_has_no_session_any_more_and_is_disconnected(site: Running) -> None:
    known = Visitor(f"{site.address}/?token={token_of(site)}")
    cookie = "; ".join(f"{name}={value}" for name, value in known.cookies.items())

    async def scenario() -> int:
        address = f"ws://127.0.0.1:{site.port}/ws/uploads/"
        async with connect(address, origin=Origin(site.address), additional_headers={"Cookie": cookie}) as socket:
            await socket.recv()
            status, _ = await asyncio.to_thread(known.ask, "POST", "/logout/", Origin=site.address)
            assert status == 302
            try:
                async with asyncio.timeout(patient(20)):
                    while True:
                        await socket.recv()
            except ConnectionClosed as error:
                return error.rcvd.code if error.rcvd else 0

    assert known.ask("GET", "/api/sources")[0] == 200
    assert asyncio.run(scenario()) == UNAUTHORISED
    assert known.ask("GET", "/api/sources")[0] == 401


def test_the_token_is_in_no_log(site: Running) -> None:
    token = token_of(site)
    for path in (
        f"/nothing/of/that/name?token={token}",
        f"/static/nothing?%74oken={token}",
        f"/a?a=1&amp;Token={token}",
    ):
        ask(site, path)
    ask(site, f"/?token={token}", Host="rebound.example")
    ask(site, f"/?token={token}", "DELETE")
    ask(site, "/api/sources", Authorization=f"Bearer {token}")
    opened(site, f"?token={token}", origin=site.address)
    opened(site, f"?token={token}", origin=None)
    log = site.log("web").read_text()
    assert "/nothing/of/that/name" in log and "/ws/uploads/" in log
    assert token not in log
    kept = [path for path in site.data.rglob("*") if path.is_file() and token in path.read_text(errors="replace")]
    assert kept == [site.data / "token"]
    assert kept[0].stat().st_mode & 0o777 == 0o600


def test_a_new_token_ends_old_sessions_and_outlives_restarts(site: Running) -> None:
    """This test must run last, because the token is another one then."""
    token, known = token_of(site), session(site)
    site.kill("web")
    (site.data / "token").unlink()
    site.start("web")
    assert token_of(site) != token
    assert environment.token(site.data) == token_of(site)
    assert ask(site, "/api/sources", Cookie=known).status == 401
    assert ask(site, f"/?token={token}").cookie("causeline_session") == ""
    assert ask(site, "/api/sources", Cookie=session(site)).status == 200


@pytest.mark.parametrize(
    ("content", "mode", "message"),
    [("", 0o600, "less than 32"), ("short\n", 0o600, "less than 32"), ("x" * 64, 0o644, "Others can read")],
)
def test_a_token_that_anybody_could_guess_or_read_is_refused(
    tmp_path: Path, content: str, mode: int, message: str
) -> None:
    (tmp_path / "token").write_text(content)
    (tmp_path / "token").chmod(mode)
    with pytest.raises(environment.SettingError, match=message):
        environment.token(tmp_path)
