"""These tests check the sessions of people with accounts: where they are listed, how they end, when they lapse, and
that a new password ends them."""

import re
from datetime import timedelta

import pytest
from asgiref.sync import async_to_sync
from django.contrib.auth.models import User
from django.contrib.sessions.models import Session
from django.test import Client
from django.utils import timezone
from pytest_django import Settings

from dashboard.access.signing_in import attempts, rights, sessions
from dashboard.models import AuditRecord, SignIn
from tests.rows.people import PASSWORD, member

FIREFOX = "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0"
NEW = "another long enough passphrase"
pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def alice() -> User:
    return member("responder", name="alice")


def client_of(name: str = "alice", address: str = "192.0.2.1", password: str = PASSWORD) -> Client:
    client = Client(REMOTE_ADDR=address, HTTP_USER_AGENT=FIREFOX)
    assert client.post("/login/", {"username": name, "password": password}).status_code == 302
    return client


def unused_for(**time: float) -> None:
    """Act as if no session had been used for this time."""
    SignIn.objects.update(last_used=timezone.now() - timedelta(**time))


def is_in(client: Client) -> bool:
    return client.get("/sessions/").status_code == 200


def numbers(page: str) -> list[str]:
    return re.findall(r'name="session" value="(\d+)"', page)


def test_people_see_where_they_are_signed_in_and_end_one() -> None:
    member("viewer", name="bob")
    here, there, other = client_of(), client_of("alice", "198.51.100.7"), client_of("bob")
    page = here.get("/sessions/").content.decode()
    assert page.count("Firefox on Linux</strong>") == 2 and page.count("this browser") == 1
    assert "198.51.100.7" in page and "with a password" in page
    assert str(here.session.session_key) not in page and str(there.session.session_key) not in page
    (number,) = numbers(page)
    assert here.post("/sessions/", {"session": number}).status_code == 302
    assert (is_in(here), is_in(there), is_in(other)) == (True, False, True)
    others = [client_of() for _ in range(2)]
    here.post("/sessions/")
    assert [is_in(each) for each in (here, *others)] == [True, False, False]


def test_nobody_ends_the_session_of_somebody_else_but_administrators() -> None:
    for role, name in (("viewer", "bob"), ("admin", "ada")):
        member(role, name=name)
    alice, bob, ada = client_of(), client_of("bob"), client_of("ada")
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


def test_an_unused_session_lapses_and_what_pages_ask_for_by_themselves_is_no_use(settings: Settings) -> None:
    settings.IDLE_TIME = timedelta(minutes=30)
    client = client_of()
    key, begun = client.session.session_key, SignIn.objects.get().last_used
    assert is_in(client) and SignIn.objects.get().last_used == begun, "it is written once a minute"
    for _ in range(2):  # the first request is a use
        unused_for(minutes=29)
        assert is_in(client) and timezone.now() - SignIn.objects.get().last_used < timedelta(minutes=1)
    unused_for(minutes=20)
    assert client.get("/api/rules", headers={sessions.UNATTENDED: "yes"}).status_code == 200
    assert timezone.now() - SignIn.objects.get().last_used > timedelta(minutes=19)
    unused_for(minutes=31)
    assert client.get("/api/rules", headers={sessions.UNATTENDED: "yes"}).status_code == 401
    other = client_of()
    unused_for(minutes=31)
    answer = other.get("/sessions/")
    assert (answer.status_code, answer["Location"]) == (302, "/login/?next=/sessions/")
    assert not Session.objects.filter(pk__in=(key, other.session.session_key)).exists()


@pytest.mark.django_db(transaction=True)  # these functions close the connection, which ends a transaction
def test_sockets_of_a_session_that_has_lapsed_are_closed_and_not_opened(settings: Settings) -> None:
    settings.IDLE_TIME = timedelta(minutes=30)
    client = client_of()
    key = str(client.session.session_key)
    user = User.objects.get(username="alice")
    scope = {"session": client.session, "user": user}
    assert async_to_sync(rights.withdrawn)([key]) == set()
    assert async_to_sync(rights.listener_admitted)(scope)
    unused_for(minutes=31)
    assert async_to_sync(rights.withdrawn)([key]) == {key}
    assert not async_to_sync(rights.listener_admitted)(scope)


def test_what_is_known_of_a_session_goes_with_it_and_comes_with_its_next_request(alice: User) -> None:
    client = Client()
    client.force_login(alice)
    SignIn.objects.all().delete()  # a session of an older version
    assert is_in(client) and SignIn.objects.get().session_id == client.session.session_key
    assert SignIn.objects.get().way == sessions.PASSWORD
    client.logout()
    client_of().post("/logout/")
    assert not SignIn.objects.exists()
    client_of()
    Session.objects.all()._raw_delete("default")  # as an older version does
    sessions.forget()
    assert not SignIn.objects.exists()


@pytest.mark.parametrize("login", ["token", "open"])
def test_without_accounts_there_are_no_pages_about_them(login: str, settings: Settings) -> None:
    settings.LOGIN_REQUIRED, settings.TOKEN_REQUIRED = False, login == "token"
    client = Client(headers={"Authorization": f"Bearer {rights.token()}"} if login == "token" else None)
    for path in ("/sessions/", "/access/", "/password/", "/login/oidc/", "/login/oidc/callback/?code=x&state=y"):
        assert client.get(path).status_code == 404, path


def form(old: str = PASSWORD, new: str = NEW, again: str = "") -> dict[str, str]:
    return {"old_password": old, "new_password1": new, "new_password2": again or new}


def test_a_new_password_ends_all_other_sessions() -> None:
    here, there = client_of(), client_of()
    assert 'href="/password/"' in here.get("/sessions/").content.decode()
    assert here.get("/password/").status_code == 200
    assert here.post("/password/", form()).headers["Location"] == "/sessions/"
    shown = here.get("/sessions/").content.decode()
    assert shown.count("this browser") == 1 and SignIn.objects.count() == 1
    assert there.get("/sessions/").status_code == 302
    assert client_of(password=NEW).get("/sessions/").status_code == 200
    assert Client().post("/login/", {"username": "alice", "password": PASSWORD}).status_code == 200
    assert AuditRecord.objects.get(action="password").outcome == "done"


@pytest.mark.parametrize(
    ("given", "why"),
    [
        (form(old="wrong"), "Your old password was entered incorrectly"),
        (form(again="something else entirely"), "didn’t match"),
        (form(new="tiny-one"), "too short"),
        ({}, "This field is required"),
    ],
)
def test_a_refused_password_changes_nothing_and_is_not_shown(given: dict[str, str], why: str) -> None:
    client = client_of()
    answer = client.post("/password/", given)
    shown = answer.content.decode()
    assert answer.status_code == 400 and why in shown.replace("&#x27;", "'")
    assert not any(value in shown for value in given.values())
    assert User.objects.get().check_password(PASSWORD)
    assert AuditRecord.objects.get(action="password").outcome == "failed"


def test_guessing_the_old_password_is_slow() -> None:
    client = client_of()
    for _ in range(attempts.OF_A_NAME):
        assert client.post("/password/", form(old="wrong")).status_code == 400
    answer = client.post("/password/", form())
    assert answer.status_code == 429 and int(answer.headers["Retry-After"]) > 0
    assert User.objects.get().check_password(PASSWORD)


def test_who_has_no_password_here_has_no_such_page(settings: Settings, alice: User) -> None:
    client = client_of()
    settings.PASSWORDS = False
    assert client.get("/password/").status_code == 404
    assert 'href="/password/"' not in client.get("/sessions/").content.decode()
    settings.PASSWORDS = True
    alice.set_unusable_password()
    alice.save()
    client.force_login(alice)
    assert client.get("/password/").status_code == 404
    assert Client().get("/password/").status_code == 302
    assert Client().get("/login/oidc/").status_code == 404, "there is no provider"
