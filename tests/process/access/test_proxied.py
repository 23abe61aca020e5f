"""These tests send the headers of a proxy that people have signed in at, over HTTP and WebSockets, and fake ones."""

import asyncio
from collections.abc import Iterator
from http.client import HTTPConnection

import psycopg
import pytest
from psycopg.rows import scalar_row
from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed
from websockets.typing import Origin

from tests.patience import patient
from tests.running import Running, running

ALICE = {
    "X-Forwarded-User": "auth0|1234",
    "X-Forwarded-Preferred-Username": "alice",
    "X-Forwarded-Email": "alice@example.org",
    "X-Forwarded-Groups": "platform,payments",
}


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """A Causeline that believes 127.0.0.1, and not 127.0.0.2."""
    settings = {"CAUSELINE_LOGIN": "on", "CAUSELINE_SIGN_IN_PROXIES": "127.0.0.1", "CAUSELINE_PROXIES": "127.0.0.0/8"}
    with running(tmp_path_factory.mktemp("proxied"), "web", **settings) as started:
        yield started


def ask(site: Running, path: str, headers: list[tuple[str, str]], source: str = "127.0.0.1") -> tuple[int, str]:
    """Return the status and the text of an answer to a request from this address of the machine."""
    connection = HTTPConnection("127.0.0.1", site.port, timeout=60, source_address=(source, 0))
    try:
        connection.putrequest("GET", path)
        for name, value in headers:
            connection.putheader(name, value)
        connection.endheaders()
        answer = connection.getresponse()
        assert "causeline_session" not in str(answer.getheaders()), "no session begins"
        return answer.status, answer.read().decode()
    finally:
        connection.close()


def rows(site: Running, query: str) -> list[object]:
    with psycopg.connect(site.database, row_factory=scalar_row) as connection:
        return list(connection.execute(query.encode()))


def test_the_proxy_says_who_somebody_is_with_each_request(site: Running) -> None:
    for _ in range(3):
        status, page = ask(site, "/rules/", [*ALICE.items()])
        assert status == 200 and "<bdi>alice</bdi>" in page and "Sign out" not in page
    assert ask(site, "/api/rules", [*ALICE.items()])[0] == 200
    assert rows(site, "SELECT username FROM auth_user") == ["alice"]
    assert rows(site, "SELECT session_key FROM django_session") == []
    assert rows(site, "SELECT name FROM auth_group ORDER BY 1") == ["proxy:payments", "proxy:platform"]
    ask(site, "/rules/", [*{**ALICE, "X-Forwarded-Groups": "platform"}.items()])
    held = "SELECT name FROM auth_group JOIN auth_user_groups ON group_id = auth_group.id"
    assert rows(site, held) == ["proxy:platform"]
    assert site.log("web").read_text().count('"event": "sign in"') == 1


def test_anybody_else_who_sends_the_headers_is_nobody(site: Running) -> None:
    headers = [*ALICE.items()]
    assert ask(site, "/rules/", headers, source="127.0.0.2")[0] == 302
    assert ask(site, "/api/rules", headers, source="127.0.0.2")[0] == 401
    said = [*headers, ("X-Forwarded-For", "127.0.0.1")]
    assert ask(site, "/api/rules", said, source="127.0.0.2")[0] == 401, "the address is that of the connection"


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
    assert ask(site, "/api/rules", headers)[0] == 401


def test_a_socket_is_opened_by_the_headers_and_closed_when_the_account_is_deactivated(site: Running) -> None:
    address = f"ws://127.0.0.1:{site.port}/ws/uploads/"
    bob = {"X-Forwarded-User": "bob-7", "X-Forwarded-Email": "bob@example.org"}
    ask(site, "/rules/", [*bob.items()])

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
    assert ask(site, "/api/rules", [*bob.items()])[0] == 401
