"""These tests change the own password of somebody with an account."""

import pytest
from django.contrib.auth.models import User
from django.test import Client
from pytest_django import Settings

from dashboard.access.signing_in import attempts
from dashboard.models import AuditRecord, SignIn
from tests.people import PASSWORD, member

pytestmark = pytest.mark.django_db
NEW = "another long enough passphrase"


@pytest.fixture(autouse=True)
def accounts(settings: Settings) -> None:
    settings.LOGIN_REQUIRED = True
    member("viewer", name="alice")


def client_of(name: str, password: str = PASSWORD) -> Client:
    client = Client(REMOTE_ADDR="192.0.2.1")
    assert client.post("/login/", {"username": name, "password": password}).status_code == 302
    return client


def form(old: str = PASSWORD, new: str = NEW, again: str = "") -> dict[str, str]:
    return {"old_password": old, "new_password1": new, "new_password2": again or new}


def test_a_new_password_ends_all_other_sessions() -> None:
    here, there = client_of("alice"), client_of("alice")
    assert 'href="/password/"' in here.get("/sessions/").content.decode()
    assert here.get("/password/").status_code == 200
    assert here.post("/password/", form()).headers["Location"] == "/sessions/"
    shown = here.get("/sessions/").content.decode()
    assert shown.count("this browser") == 1 and SignIn.objects.count() == 1
    assert there.get("/sessions/").status_code == 302
    assert client_of("alice", NEW).get("/sessions/").status_code == 200
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
    client = client_of("alice")
    answer = client.post("/password/", given)
    shown = answer.content.decode()
    assert answer.status_code == 400 and why in shown.replace("&#x27;", "'")
    assert not any(value in shown for value in given.values())
    assert User.objects.get().check_password(PASSWORD)
    assert AuditRecord.objects.get(action="password").outcome == "failed"


def test_guessing_the_old_password_is_slow() -> None:
    client = client_of("alice")
    for _ in range(attempts.OF_A_NAME):
        assert client.post("/password/", form(old="wrong")).status_code == 400
    answer = client.post("/password/", form())
    assert answer.status_code == 429 and int(answer.headers["Retry-After"]) > 0
    assert User.objects.get().check_password(PASSWORD)


def test_who_has_no_password_here_has_no_such_page(settings: Settings) -> None:
    alice, client = User.objects.get(), client_of("alice")
    settings.PASSWORDS = False
    assert client.get("/password/").status_code == 404
    assert 'href="/password/"' not in client.get("/sessions/").content.decode()
    settings.PASSWORDS = True
    alice.set_unusable_password()
    alice.save()
    client.force_login(alice)
    assert client.get("/password/").status_code == 404
    assert Client().get("/password/").status_code == 302
