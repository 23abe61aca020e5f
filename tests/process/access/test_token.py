"""These tests check access without accounts: the start-up token admits a client, and nothing else does."""

import asyncio
import json
from collections.abc import Iterator
from http.client import HTTPConnection, HTTPMessage
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote, urlencode

import pytest
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, InvalidStatus

from dashboard import environment
from dashboard.push.consumers import UNAUTHORISED
from tests.patience import patient
from tests.running import TOKEN, Running, running
from tests.visitor import Visitor

PAGES = ("/", "/clusters/", "/rules/", "/go?name=a", "/api/docs", "/api/openapi.json", "/sources/1/report")
ENDPOINTS = ("/api/sources", "/api/clusters", "/api/uploads", "/api/sources/1/window", "/api/sources/1/recording")
HOSTILE = ("https://evil.example/", "//evil.example/", r"/\evil.example/", "http:evil.example", "javascript:alert(1)")


class Answer(NamedTuple):
    status: int
    headers: HTTPMessage
    body: str

    def cookie(self, name: str) -> str:
        cookies = [each for each in self.headers.get_all("Set-Cookie", []) if each.startswith(f"{name}_")]
        return cookies[0].partition(";")[0] if cookies else ""

    @property
    def target(self) -> str:
        return self.headers["Location"] or ""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    with running(tmp_path_factory.mktemp("site"), "web", CAUSELINE_TOKEN="", CAUSELINE_LOG_LEVEL="DEBUG") as started:
        yield started


def token_of(site: Running) -> str:
    return (site.data / "token").read_text()


def ask(site: Running, path: str, method: str = "GET", body: str = "", **headers: str) -> Answer:
    connection = HTTPConnection("127.0.0.1", site.port, timeout=20)
    sent = {name.replace("_", "-"): value for name, value in headers.items()}
    connection.request(method, path, body.encode(), sent)
    answer = connection.getresponse()
    content = answer.read().decode()
    connection.close()
    return Answer(answer.status, answer.headers, content)


def session(site: Running) -> str:
    """Return the cookie of somebody who opened the address that `causeline up` prints."""
    return ask(site, f"/?token={token_of(site)}").cookie("causeline_session")


@pytest.mark.parametrize("path", PAGES)
def test_a_stranger_is_told_how_to_get_in_and_keeps_the_target(site: Running, path: str) -> None:
    led = ask(site, path)
    assert (led.status, led.target) == (302, f"/login/?next={quote(path, safe='/')}")
    answer = ask(site, led.target)
    assert answer.status == 200
    assert "causeline token" in answer.body and path.replace("&", "&amp;") in answer.body


@pytest.mark.parametrize("path", ENDPOINTS)
def test_the_api_answers_a_stranger_with_a_problem(site: Running, path: str) -> None:
    for headers in (
        {},
        {"Authorization": "Bearer wrong"},
        {"Authorization": "Bearer "},
        {"Authorization": f"Basic {TOKEN}"},
    ):
        answer = ask(site, path, **headers)
        assert (answer.status, answer.headers["Content-Type"]) == (401, "application/problem+json")
        assert "Bearer" in json.loads(answer.body)["detail"]


def test_health_and_static_files_are_for_everybody(site: Running) -> None:
    assert ask(site, "/healthz").body == "ok"
    assert ask(site, "/static/dashboard/logo.svg").status == 200


def test_the_token_becomes_a_session_and_leaves_the_address(site: Running) -> None:
    came = ask(site, f"/go?name=a%26b&token={token_of(site)}&at=1")
    assert (came.status, came.target) == (302, "/go?name=a%26b&at=1")
    assert (came.headers["Referrer-Policy"], came.headers["Cache-Control"]) == ("no-referrer", "no-store")
    cookie = next(each for each in came.headers.get_all("Set-Cookie", []) if "session" in each)
    assert cookie.startswith(f"causeline_session_{site.port}=")
    assert "HttpOnly" in cookie and "SameSite=Lax" in cookie and "Domain" not in cookie
    known = came.cookie("causeline_session")
    assert [ask(site, path, Cookie=known).status for path in ("/", "/clusters/", "/api/sources", "/api/docs")] == [
        200
    ] * 4


@pytest.mark.parametrize("wrong", ["", "wrong", "%ff", "%E2%82%AC", "a&token=b"])
def test_a_wrong_token_leads_to_the_page_that_asks_for_it(site: Running, wrong: str) -> None:
    came = ask(site, f"/rules/?token={wrong}")
    assert (came.status, came.target) == (302, "/login/?next=%2Frules%2F&refused=yes")
    assert came.cookie("causeline_session") == ""
    assert "not the token" in ask(site, came.target).body


def test_the_token_is_found_however_its_name_is_written(site: Running) -> None:
    for name in ("%74oken", "TOKEN", "amp;token", ";token", "+token"):
        came = ask(site, f"/rules/?{name}={token_of(site)}")
        assert (came.status, came.target.partition("?")[0]) == (302, "/rules/"), name


def test_a_token_in_the_address_leads_to_no_other_site(site: Running) -> None:
    for path in (r"//evil.example/%2f..", r"/\evil.example", "//evil.example"):
        came = ask(site, f"{path}?token={token_of(site)}")
        assert not came.target.startswith(("//", "/\\", "http")), came.target


def pasted(site: Running, text: str, wanted: str, **headers: str) -> Answer:
    page = ask(site, "/login/")
    cookie = page.cookie("causeline_csrf")
    form = {"token": text, "next": wanted, "csrfmiddlewaretoken": cookie.partition("=")[2]}
    sent = {"Cookie": cookie, "Content_Type": "application/x-www-form-urlencoded", "Origin": site.address} | headers
    return ask(site, "/login/", "POST", urlencode(form), **sent)


def test_a_token_that_is_pasted_leads_on_to_the_target(site: Running) -> None:
    token = token_of(site)
    for text in (token, f" {token}\n", f"{site.address}/sources/1/?token={token}"):
        came = pasted(site, text, "/go?name=a&at=1")
        assert (came.status, came.target) == (302, "/go?name=a&at=1")
        assert ask(site, "/", Cookie=came.cookie("causeline_session")).status == 200
    assert pasted(site, "wrong", "/").status == 403
    assert pasted(site, "", "/").status == 403


@pytest.mark.parametrize("target", HOSTILE)
def test_signing_in_leads_to_no_other_site(site: Running, target: str) -> None:
    assert pasted(site, token_of(site), target).target == "/"
    assert ask(site, f"/login/?{urlencode({'next': target})}", Cookie=session(site)).target == "/"


def test_another_port_of_the_same_host_is_another_site(site: Running) -> None:
    """Browsers send it our cookies, so only its Origin differs from ours."""
    for origin in (f"http://127.0.0.1:{site.port + 1}", "http://127.0.0.1", f"https://127.0.0.1:{site.port}", "null"):
        assert pasted(site, token_of(site), "/", Origin=origin).status == 403
        known = Visitor(f"{site.address}/?token={token_of(site)}")
        status, _ = known.ask("POST", "/api/uploads?name=a", b"", Origin=origin)
        assert status == 403, origin


def test_a_name_that_was_rebound_to_us_is_refused(site: Running) -> None:
    for path in ("/", "/api/sources", "/login/"):
        assert ask(site, path, Host=f"evil.example:{site.port}", Authorization=f"Bearer {token_of(site)}").status == 400


def test_a_script_sends_the_token_in_a_header_and_needs_no_cookie(site: Running) -> None:
    known = {"Authorization": f"Bearer {token_of(site)}"}
    assert ask(site, "/api/sources", **known).status == 200
    answer = ask(site, "/api/uploads", "POST", '{"name": "a", "files": []}', Content_Type="application/json", **known)
    assert answer.status not in (401, 403), answer.body
    wrong = {"Authorization": "Bearer wrong", "Cookie": session(site)}
    assert ask(site, "/api/uploads", "POST", "{}", Content_Type="application/json", **wrong).status == 403


def test_signing_out_ends_the_session(site: Running) -> None:
    known = Visitor(f"{site.address}/?token={token_of(site)}")
    assert known.ask("GET", "/api/sources")[0] == 200
    assert known.ask("POST", "/logout/", Origin=site.address)[0] == 302
    assert known.ask("GET", "/api/sources")[0] == 401


def test_the_session_of_an_account_counts_for_nothing(site: Running) -> None:
    code = (
        "from tests.people import member; from django.test import Client; c = Client();"
        "c.force_login(member('admin', name='sre'));"
        f"open({str(site.data / 'session')!r}, 'w').write(c.cookies['causeline_session_{site.port}'].value)"
    )
    site.manage("shell", "--command", code)
    cookie = f"causeline_session_{site.port}={(site.data / 'session').read_text()}"
    assert ask(site, "/api/sources", Cookie=cookie).status == 401
    assert ask(site, "/", Cookie=cookie).status == 302


async def _closed(socket: ClientConnection) -> int:
    try:
        async with asyncio.timeout(patient(20)):
            while True:
                await socket.recv()
    except ConnectionClosed as error:
        return error.rcvd.code if error.rcvd else 0


def listen(site: Running, path: str = "", *, origin: str | None, cookie: str) -> object:
    """Return the first message, the code with which the socket is closed, or the status of a refusal."""

    async def scenario() -> object:
        headers = {"Cookie": cookie} if cookie else {}
        address = f"ws://127.0.0.1:{site.port}/ws/uploads/{path}"
        try:
            async with connect(address, origin=origin, additional_headers=headers) as socket:  # type: ignore[arg-type]
                return json.loads(await asyncio.wait_for(socket.recv(), patient(20)))["type"]
        except InvalidStatus as error:
            return error.response.status_code
        except ConnectionClosed as error:
            return error.rcvd.code if error.rcvd else 0

    return asyncio.run(scenario())


def test_a_socket_is_opened_by_our_own_pages_with_a_session(site: Running) -> None:
    known = session(site)
    assert listen(site, origin=site.address, cookie=known) == "refetch"
    assert listen(site, origin=site.address, cookie="") == UNAUTHORISED
    assert listen(site, f"?token={token_of(site)}", origin=site.address, cookie="") == UNAUTHORISED
    for origin in (
        f"http://127.0.0.1:{site.port + 1}",
        "http://127.0.0.1",
        f"https://127.0.0.1:{site.port}",
        "null",
        None,
    ):
        assert listen(site, origin=origin, cookie=known) == 403, origin


def test_who_signs_out_is_disconnected(site: Running) -> None:
    known = Visitor(f"{site.address}/?token={token_of(site)}")
    cookie = "; ".join(f"{name}={value}" for name, value in known.cookies.items())

    async def scenario() -> int:
        address = f"ws://127.0.0.1:{site.port}/ws/uploads/"
        async with connect(address, origin=site.address, additional_headers={"Cookie": cookie}) as socket:  # type: ignore[arg-type]
            await socket.recv()
            await asyncio.to_thread(known.ask, "POST", "/logout/", Origin=site.address)
            return await _closed(socket)

    assert asyncio.run(scenario()) == UNAUTHORISED


def test_the_token_is_in_no_log(site: Running) -> None:
    token = token_of(site)
    ask(site, f"/nothing/of/that/name?token={token}")
    ask(site, f"/?token={token}", Host="rebound.example")
    ask(site, f"/?token={token}", "DELETE")
    ask(site, f"/static/nothing?%74oken={token}")
    ask(site, f"/nothing?a=1&amp;Token={token}")
    ask(site, "/api/sources", Authorization=f"Bearer {token}")
    listen(site, f"?token={token}", origin=site.address, cookie="")
    listen(site, f"?token={token}", origin=None, cookie="")
    log = site.log("web").read_text()
    assert "/nothing/of/that/name" in log and "/ws/uploads/" in log
    assert token not in log
    kept = [path for path in site.data.rglob("*") if path.is_file() and token in path.read_text(errors="replace")]
    assert kept == [site.data / "token"]
    assert kept[0].stat().st_mode & 0o777 == 0o600


def test_the_token_outlives_a_restart_and_a_new_one_ends_old_sessions(tmp_path: Path) -> None:
    with running(tmp_path, "web", CAUSELINE_TOKEN="") as site:
        token, known = token_of(site), session(site)
        site.kill("web")
        site.start("web")
        assert token_of(site) == token
        assert ask(site, "/api/sources", Cookie=known).status == 200
        site.kill("web")
        (site.data / "token").unlink()
        site.start("web")
        assert token_of(site) != token
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
