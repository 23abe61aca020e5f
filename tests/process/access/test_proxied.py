"""These tests send the headers of a proxy that people have signed in at, over HTTP and WebSockets, and fake ones."""

import asyncio
from collections.abc import Iterable, Iterator

import psycopg
import pytest
from psycopg.rows import scalar_row
from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed
from websockets.typing import Origin

from dashboard.access.signing_in import attempts
from tests.clients.visitor import Visitor
from tests.patience import patient
from tests.process.access.asking import FORM, Answer, send
from tests.servers.running import Running, running

ALICE = {
    "X-Forwarded-User": "auth0|1234",
    "X-Forwarded-Preferred-Username": "alice",
    "X-Forwarded-Email": "alice@example.org",
    "X-Forwarded-Groups": "platform,payments",
}


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """A Causeline that believes 127.0.0.1, and not 127.0.0.2."""
    trusted = "127.0.0.0/8,10.0.0.0/8"
    settings = {"CAUSELINE_LOGIN": "on", "CAUSELINE_SIGN_IN_PROXIES": "127.0.0.1", "CAUSELINE_PROXIES": trusted}
    with running(tmp_path_factory.mktemp("proxied"), "web", **settings) as started:
        yield started


def visit(
    site: Running, path: str, headers: Iterable[tuple[str, str]] = ALICE.items(), source: str = "127.0.0.1"
) -> Answer:
    answer = send(site, path, headers, source=source)
    assert "causeline_session" not in str(answer.headers), "no session begins"
    return answer


def rows(site: Running, query: str) -> list[object]:
    with psycopg.connect(site.database, row_factory=scalar_row) as connection:
        return list(connection.execute(query.encode()))


def test_the_proxy_says_who_somebody_is_with_each_request(site: Running) -> None:
    for _ in range(3):
        answer = visit(site, "/rules/")
        assert answer.status == 200 and "<bdi>alice</bdi>" in answer.body and "Sign out" not in answer.body
    assert visit(site, "/api/rules").status == 200
    assert rows(site, "SELECT username FROM auth_user") == ["alice"]
    assert rows(site, "SELECT session_key FROM django_session") == []
    assert rows(site, "SELECT name FROM auth_group ORDER BY 1") == ["proxy:payments", "proxy:platform"]
    visit(site, "/rules/", (ALICE | {"X-Forwarded-Groups": "platform"}).items())
    held = "SELECT name FROM auth_group JOIN auth_user_groups ON group_id = auth_group.id"
    assert rows(site, held) == ["proxy:platform"]
    assert site.log("web").read_text().count('"event": "sign in"') == 1


def test_anybody_else_who_sends_the_headers_is_nobody(site: Running) -> None:
    assert visit(site, "/rules/", source="127.0.0.2").status == 302
    assert visit(site, "/api/rules", source="127.0.0.2").status == 401
    said = [*ALICE.items(), ("X-Forwarded-For", "127.0.0.1")]
    assert visit(site, "/api/rules", said, source="127.0.0.2").status == 401, "the address is that of the connection"


@pytest.mark.parametrize(
    "headers",
    [
        [],
        [("X-Forwarded-Preferred-Username", "alice"), ("X-Forwarded-Groups", "platform")],
        [("X-Forwarded-User", "")],
        [*ALICE.items(), ("X-Forwarded-User", "another")],
        [("X_Forwarded_User", "auth0|1234")],
        [("X-Forwarded-User", "x" * 500)],
    ],
    ids=["none", "no identifier", "empty", "twice", "underscores", "too long"],
)
def test_headers_that_identify_nobody_let_nobody_in(site: Running, headers: list[tuple[str, str]]) -> None:
    assert visit(site, "/api/rules", headers).status == 401


def test_a_socket_is_opened_by_the_headers_and_closed_when_the_account_is_deactivated(site: Running) -> None:
    address = f"ws://127.0.0.1:{site.port}/ws/uploads/"
    bob = {"X-Forwarded-User": "bob-7", "X-Forwarded-Email": "bob@example.org"}
    visit(site, "/rules/", bob.items())

    async def listen() -> int:
        async with connect(address, additional_headers=bob, origin=Origin(site.address), proxy=None) as socket:
            with psycopg.connect(site.database, autocommit=True) as connection:
                connection.execute("UPDATE auth_user SET is_active = false WHERE username = 'bob@example.org'")
            with pytest.raises(ConnectionClosed) as closed:
                async with asyncio.timeout(patient(30)):
                    while True:
                        await socket.recv()
        return closed.value.rcvd.code if closed.value.rcvd else 0

    assert asyncio.run(listen()) == 4401
    assert visit(site, "/api/rules", bob.items()).status == 401


def test_failures_count_for_the_address_that_the_nearest_proxy_names(site: Running) -> None:
    """`tests/database/access/signing_in/test_accounts.py` sends the header where no proxy is trusted."""

    def failures(forwarded: str) -> list[int]:
        visitor, body = Visitor(site.address), b"username=alice&password=wrong"
        headers = ({"X_Forwarded_For": forwarded.format(at)} for at in range(attempts.OF_A_NAME + 1))
        return [visitor.ask("POST", "/login/", body, Content_Type=FORM, **each)[0] for each in headers]

    assert failures("203.0.113.{}")[-1] == 200, "each is from somewhere else"
    assert failures("203.0.113.{}, 198.51.100.7, 10.1.2.3")[-1] == 429, "the client's own text is on the left"
    assert '"from": "198.51.100.7"' in site.log("web").read_text()
