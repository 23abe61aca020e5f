"""These tests check accounts: how often one may try to sign in, which passwords are accepted, and who is an
administrator."""

import io
import os
import threading
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command
from django.db import connections
from django.test import Client
from django.utils import timezone
from hypothesis import given
from hypothesis import strategies as st
from pytest_django import Settings

from dashboard.access.roles import grants
from dashboard.access.signing_in import attempts
from dashboard.models import FailedSignIns
from tests.people import grant

GOOD = "correct horse battery staple"
SECRET = "typed into the wrong field"


@pytest.fixture
def alice(db: None, settings: Settings) -> User:
    settings.LOGIN_REQUIRED = True
    user = User.objects.create_user("alice", password=GOOD)
    grant(user, "responder")
    return user


def sign_in(name: str, password: str, address: str = "192.0.2.1", **headers: Any) -> Any:
    return Client(REMOTE_ADDR=address).post("/login/", {"username": name, "password": password}, **headers)


def later(**time: float) -> None:
    """Act as if this much time had passed since the failures to sign in."""
    for row in FailedSignIns.objects.all():
        row.last -= timedelta(**time)
        row.locked_until -= timedelta(**time)
        row.save()


def test_who_fails_too_often_has_to_wait_longer_and_longer_even_with_the_right_password(alice: User) -> None:
    for _ in range(attempts.OF_A_NAME):
        assert sign_in("alice", "wrong").status_code == 200
    answer = sign_in("alice", GOOD)
    assert (answer.status_code, answer["Retry-After"]) == (429, "60")
    assert "Too many attempts to sign in failed. Wait 60 seconds, then try again." in answer.content.decode()
    later(seconds=61)
    assert sign_in("alice", "wrong").status_code == 200
    assert "Wait 2 minutes" in sign_in("alice", GOOD).content.decode()
    later(seconds=121)
    assert sign_in("alice", GOOD).status_code == 302
    assert sign_in("alice", "wrong").status_code == 200, "success has cleared the count"


def test_nobody_is_locked_out_by_somebody_elsewhere(alice: User) -> None:
    for _ in range(3 * attempts.OF_A_NAME):
        sign_in("alice", "wrong", "198.51.100.7")
    assert sign_in("alice", GOOD, "198.51.100.7").status_code == 429
    assert sign_in("alice", GOOD).status_code == 302


def test_a_header_changes_nothing_of_the_address(alice: User) -> None:
    for at in range(attempts.OF_A_NAME):
        sign_in("alice", "wrong", headers={"X-Forwarded-For": f"203.0.113.{at}", "X-Real-IP": f"203.0.113.{at}"})
    assert sign_in("alice", GOOD, headers={"X-Forwarded-For": "203.0.113.99"}).status_code == 429


@pytest.mark.parametrize("spelling", ["ALICE", " alice ", "Ａlice"])
def test_other_spellings_of_a_name_count_as_the_same(alice: User, spelling: str) -> None:
    for _ in range(attempts.OF_A_NAME):
        sign_in(spelling, "wrong")
    assert sign_in("alice", GOOD).status_code == 429


def test_one_password_tried_with_many_names_is_made_slow_too(alice: User) -> None:
    for at in range(attempts.OF_AN_ADDRESS):
        assert sign_in(f"user{at}", "Winter2026!").status_code == 200
    assert sign_in("somebody-else", "Winter2026!").status_code == 429
    assert sign_in("alice", GOOD, "198.51.100.7").status_code == 302


def test_ones_own_account_does_not_give_an_address_its_allowance_back(alice: User) -> None:
    for at in range(attempts.OF_AN_ADDRESS - 1):
        sign_in(f"user{at}", "Winter2026!")
        if at % 10 == 0:
            assert sign_in("alice", GOOD).status_code == 302
    assert sign_in("alice", GOOD).status_code == 302
    assert sign_in("bob", "Winter2026!").status_code == 200
    assert sign_in("carol", "Winter2026!").status_code == 429


def test_addresses_of_one_ipv6_network_are_one() -> None:
    assert attempts.network_of("2001:db8:1:2::1") == attempts.network_of("2001:db8:1:2:ffff::9") == "2001:db8:1:2::/64"
    assert attempts.network_of("2001:db8:1:3::1") != "2001:db8:1:2::/64"
    assert attempts.network_of("::ffff:192.0.2.1") == attempts.network_of("192.0.2.1") == "192.0.2.1"
    assert attempts.network_of("fe80::1%eth0") == "fe80::/64"
    assert attempts.network_of("unix:") == attempts.network_of("") == ""


@given(st.integers(-100, 10_000), st.integers(-100, 10_000))
def test_more_failures_never_wait_less(few: int, many: int) -> None:
    few, many = sorted((few, many))
    assert timedelta() <= attempts.wait(few) <= attempts.wait(many) <= attempts.LONGEST


@pytest.mark.django_db(transaction=True)
def test_of_many_attempts_at_the_same_time_none_slips_through() -> None:
    let_through = []

    def attempt() -> None:
        try:
            if attempts.begin("alice", "192.0.2.1") is None:
                let_through.append(1)
        finally:
            connections.close_all()

    threads = [threading.Thread(target=attempt) for _ in range(3 * attempts.OF_A_NAME)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(let_through) == attempts.OF_A_NAME


def test_failures_are_forgotten_after_a_day_and_removed(alice: User) -> None:
    for _ in range(attempts.OF_A_NAME + 1):
        sign_in("alice", "wrong")
    later(days=1, seconds=1)
    assert sign_in("alice", "wrong").status_code == 200
    assert set(FailedSignIns.objects.values_list("count", flat=True)) == {1}
    later(days=1, seconds=1)
    attempts.forget()
    assert not FailedSignIns.objects.exists()


def test_nothing_typed_is_stored_or_logged(alice: User, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("DEBUG")
    for _ in range(attempts.OF_A_NAME + 1):
        sign_in("alice", SECRET)
        sign_in(SECRET, SECRET)
    assert SECRET not in caplog.text
    assert "alice" in caplog.text and "of nobody here" in caplog.text
    for row in FailedSignIns.objects.values_list("name", "address"):
        assert SECRET not in str(row) and "alice" not in str(row)


def test_a_name_that_no_database_can_hold_is_a_failure_like_any_other(alice: User) -> None:
    for _ in range(attempts.OF_A_NAME):
        assert sign_in("alice\0", GOOD).status_code == 200
    assert sign_in("alice\0", GOOD).status_code == 429


def test_an_empty_form_counts_nothing(alice: User) -> None:
    for _ in range(2 * attempts.OF_AN_ADDRESS):
        sign_in("alice", "")
    assert not FailedSignIns.objects.exists()


def test_an_operator_lets_somebody_in_again(alice: User, settings: Settings, tmp_path: Path) -> None:
    settings.DATA_DIR = tmp_path
    for _ in range(attempts.OF_A_NAME):
        sign_in("alice", "wrong")
        sign_in("bob", "wrong")
    call_command("unlock", name="Alice", stdout=io.StringIO())
    assert sign_in("alice", GOOD).status_code == 302
    assert sign_in("bob", "wrong").status_code == 429
    call_command("unlock", address="192.0.2.1", stdout=io.StringIO())
    assert sign_in("bob", "wrong").status_code == 200
    call_command("unlock", stdout=io.StringIO())
    assert not FailedSignIns.objects.exists()
    assert (tmp_path / "logs/changes.log").read_text().count('action="unlock"') == 3


def create(name: str, password: str, monkeypatch: pytest.MonkeyPatch, *options: str) -> User:
    monkeypatch.setenv("CAUSELINE_PASSWORD", password)
    call_command("createuser", name, *options, stdout=io.StringIO())
    return User.objects.get(username=name)


@pytest.fixture
def data(settings: Settings, tmp_path: Path) -> Path:
    settings.DATA_DIR = tmp_path
    return tmp_path


@pytest.mark.django_db
def test_users_have_no_role_unless_said_otherwise(monkeypatch: pytest.MonkeyPatch, data: Path) -> None:
    bob = create("bob", GOOD, monkeypatch)
    assert (bob.is_staff, bob.is_superuser, bob.is_active, bob.check_password(GOOD)) == (False, False, True, True)
    ada = create("ada", GOOD, monkeypatch, "--admin")
    carol = create("carol", GOOD, monkeypatch, "--role=viewer")
    assert [grants.read(user.pk).everywhere for user in (bob, ada, carol)] == ["", "admin", "viewer"]
    assert not User.objects.filter(is_staff=True).exists()
    log = (data / "logs/changes.log").read_text()
    assert 'action="createuser"' in log and 'user="ada" role="admin"' in log and GOOD not in log
    assert f'by="{os.environ.get("USER", "root")}"' in log or 'by="' in log


@pytest.mark.django_db
def test_a_file_of_changes_that_cannot_be_written_stops_no_command(
    monkeypatch: pytest.MonkeyPatch, data: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (data / "logs/changes.log").mkdir(parents=True)
    with caplog.at_level("INFO", "causeline.changes"):
        assert create("bob", GOOD, monkeypatch).is_active
    assert "changes.log cannot be written" in caplog.text
    assert 'action="createuser"' in caplog.text


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("name", "password", "message"),
    [
        ("bob", "short", "at least 12 characters"),
        ("bob", "password1234", "too common"),
        ("bob", "739105628401", "entirely numeric"),
        ("bartholomew", "bartholomew1", "too similar to the username"),
        ("", GOOD, "cannot be blank"),
        ("a b", GOOD, "Enter a valid username"),
        ("x" * 200, GOOD, "at most 150 characters"),
        ("alice", GOOD, "already exists"),
    ],
)
def test_a_name_or_a_password_that_is_no_good_is_refused(
    name: str, password: str, message: str, monkeypatch: pytest.MonkeyPatch, data: Path, alice: User
) -> None:
    with pytest.raises(CommandError, match=message):
        create(name, password, monkeypatch)
    assert User.objects.count() == 1
    assert not timezone.is_naive(alice.date_joined)


@pytest.mark.django_db
def test_without_a_terminal_a_password_has_to_be_given(monkeypatch: pytest.MonkeyPatch, data: Path) -> None:
    monkeypatch.delenv("CAUSELINE_PASSWORD", raising=False)
    monkeypatch.setattr("sys.stdin", io.StringIO())
    with pytest.raises(CommandError, match="CAUSELINE_PASSWORD"):
        call_command("createuser", "bob")
