"""These tests check the sessions of people with accounts: where they are listed, how they end, when they lapse."""

import re
from datetime import timedelta

import pytest
from asgiref.sync import async_to_sync
from django.contrib.auth.models import User
from django.contrib.sessions.models import Session
from django.test import Client
from django.utils import timezone
from pytest_django import Settings

from dashboard.access.signing_in import rights, sessions
from dashboard.models import SignIn
from tests.people import grant

GOOD = "correct horse battery staple"
FIREFOX = "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0"
pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def accounts(settings: Settings) -> None:
    settings.LOGIN_REQUIRED = True
    for name, role in (("alice", "responder"), ("bob", "viewer"), ("ada", "admin")):
        grant(User.objects.create_user(name, password=GOOD), role)


def client_of(name: str, address: str = "192.0.2.1") -> Client:
    client = Client(REMOTE_ADDR=address, HTTP_USER_AGENT=FIREFOX)
    assert client.post("/login/", {"username": name, "password": GOOD}).status_code == 302
    return client


def unused_for(**time: float) -> None:
    """Act as if no session had been used for this time."""
    SignIn.objects.update(last_used=timezone.now() - timedelta(**time))


def is_in(client: Client) -> bool:
    return client.get("/sessions/").status_code == 200


def numbers(page: str) -> list[str]:
    return re.findall(r'name="session" value="(\d+)"', page)


def test_people_see_where_they_are_signed_in_and_end_one() -> None:
    here, there, other = client_of("alice"), client_of("alice", "198.51.100.7"), client_of("bob")
    page = here.get("/sessions/").content.decode()
    assert page.count("Firefox on Linux</strong>") == 2 and page.count("this browser") == 1
    assert "198.51.100.7" in page and "with a password" in page
    assert str(here.session.session_key) not in page and str(there.session.session_key) not in page
    (number,) = numbers(page)
    assert here.post("/sessions/", {"session": number}).status_code == 302
    assert (is_in(here), is_in(there), is_in(other)) == (True, False, True)


def test_all_others_end_at_once() -> None:
    clients = [client_of("alice") for _ in range(3)]
    clients[0].post("/sessions/")
    assert [is_in(each) for each in clients] == [True, False, False]


def test_nobody_ends_the_session_of_somebody_else_but_administrators() -> None:
    alice, bob, ada = client_of("alice"), client_of("bob"), client_of("ada")
    number = SignIn.objects.get(user__username="alice").pk
    bob.post("/sessions/", {"session": number})
    assert is_in(alice), "the number is looked for among one's own"
    assert bob.post("/sessions/", {"session": number, "person": "alice"}).status_code == 403
    assert bob.get("/sessions/", {"person": "alice"}).status_code == 403
    assert "alice</bdi></a>" in ada.get("/sessions/", {"find": "LIC"}).content.decode()
    assert numbers(ada.get("/sessions/", {"person": "alice"}).content.decode()) == [str(number)]
    ada.post("/sessions/", {"person": "alice"})
    assert (is_in(alice), is_in(ada)) == (False, True)
    assert ada.get("/sessions/", {"person": "nobody\0"}).status_code == 404


def test_an_unused_session_lapses_and_one_that_is_used_does_not(settings: Settings) -> None:
    settings.IDLE_TIME = timedelta(minutes=30)
    client = client_of("alice")
    key = client.session.session_key
    unused_for(minutes=29)
    assert is_in(client)
    unused_for(minutes=29)
    assert is_in(client), "the request before was a use"
    unused_for(minutes=31)
    answer = client.get("/sessions/")
    assert (answer.status_code, answer["Location"]) == (302, "/login/?next=/sessions/")
    assert not Session.objects.filter(pk=key).exists()


def test_what_pages_ask_for_by_themselves_is_no_use(settings: Settings) -> None:
    settings.IDLE_TIME = timedelta(minutes=30)
    client = client_of("alice")
    unused_for(minutes=20)
    assert client.get("/api/rules", headers={sessions.UNATTENDED: "yes"}).status_code == 200
    assert timezone.now() - SignIn.objects.get().last_used > timedelta(minutes=19)
    unused_for(minutes=31)
    assert client.get("/api/rules", headers={sessions.UNATTENDED: "yes"}).status_code == 401


@pytest.mark.django_db(transaction=True)  # these functions close the connection, which ends a transaction
def test_sockets_of_a_session_that_has_lapsed_are_closed_and_not_opened(settings: Settings) -> None:
    settings.IDLE_TIME = timedelta(minutes=30)
    client = client_of("alice")
    key = str(client.session.session_key)
    user = User.objects.get(username="alice")
    scope = {"session": client.session, "user": user}
    assert async_to_sync(rights.withdrawn)([key]) == set()
    assert async_to_sync(rights.listener_admitted)(scope)
    unused_for(minutes=31)
    assert async_to_sync(rights.withdrawn)([key]) == {key}
    assert not async_to_sync(rights.listener_admitted)(scope)


def test_a_session_of_an_older_version_is_listed_at_its_next_request() -> None:
    client = Client()
    client.force_login(User.objects.get(username="alice"))
    SignIn.objects.all().delete()
    assert is_in(client) and SignIn.objects.get().session_id == client.session.session_key
    assert SignIn.objects.get().way == sessions.PASSWORD


def test_the_time_of_the_last_use_is_written_once_a_minute() -> None:
    client = client_of("alice")
    before = SignIn.objects.get().last_used
    assert is_in(client) and SignIn.objects.get().last_used == before
    unused_for(minutes=2)
    assert is_in(client) and timezone.now() - SignIn.objects.get().last_used < timedelta(minutes=1)


def test_what_is_known_of_a_session_goes_with_it() -> None:
    client_of("alice").post("/logout/")
    assert not SignIn.objects.exists()
    client_of("bob")
    Session.objects.all()._raw_delete("default")  # as an older version does
    sessions.forget()
    assert not SignIn.objects.exists()


@pytest.mark.parametrize("login", ["token", "open"])
def test_without_accounts_there_is_no_such_page(login: str, settings: Settings) -> None:
    settings.LOGIN_REQUIRED, settings.TOKEN_REQUIRED = False, login == "token"
    client = Client(headers={"Authorization": f"Bearer {rights.token()}"} if login == "token" else None)
    assert client.get("/sessions/").status_code == 404
