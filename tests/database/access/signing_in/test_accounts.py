"""These tests check accounts: how often one may try to sign in, which passwords are accepted, and who is an
administrator."""

import io
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.management import call_command
from django.db import connections
from django.test import Client
from hypothesis import given
from hypothesis import strategies as st

from dashboard.access.roles import grants
from dashboard.access.signing_in import attempts
from dashboard.models import FailedSignIns
from tests.database.storage.sources import ran
from tests.rows.people import PASSWORD, member

SECRET = "typed into the wrong field"
pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def alice() -> User:
    return member("responder", name="alice")


def sign_in(name: str, password: str, address: str = "192.0.2.1", **headers: Any) -> Any:
    return Client(REMOTE_ADDR=address).post("/login/", {"username": name, "password": password}, **headers)


def fails(name: str = "alice", address: str = "192.0.2.1", times: int = attempts.OF_A_NAME, **headers: Any) -> None:
    for _ in range(times):
        assert sign_in(name, "wrong", address, **headers).status_code in {200, 429}


def later(**time: float) -> None:
    """Act as if this much time had passed since the failures to sign in."""
    for row in FailedSignIns.objects.all():
        row.last -= timedelta(**time)
        row.locked_until -= timedelta(**time)
        row.save()


def test_who_fails_too_often_has_to_wait_longer_and_longer_even_with_the_right_password() -> None:
    for _ in range(attempts.OF_A_NAME):
        assert sign_in("alice", "wrong").status_code == 200
    answer = sign_in("alice", PASSWORD)
    left = int(answer["Retry-After"])
    assert answer.status_code == 429 and 50 <= left <= 60  # less on a machine that is slow
    assert f"Too many attempts to sign in failed. Wait {left} seconds, then try again." in answer.content.decode()
    later(seconds=61)
    assert sign_in("alice", "wrong").status_code == 200
    assert "Wait 2 minutes" in sign_in("alice", PASSWORD).content.decode()
    later(seconds=121)
    assert sign_in("alice", PASSWORD).status_code == 302
    assert sign_in("alice", "wrong").status_code == 200, "success has cleared the count"


def test_nobody_is_locked_out_by_somebody_elsewhere() -> None:
    fails(address="198.51.100.7", times=3 * attempts.OF_A_NAME)
    assert sign_in("alice", PASSWORD, "198.51.100.7").status_code == 429
    assert sign_in("alice", PASSWORD).status_code == 302


def test_a_header_changes_nothing_of_the_address() -> None:
    for at in range(attempts.OF_A_NAME):
        fails(times=1, headers={"X-Forwarded-For": f"203.0.113.{at}", "X-Real-IP": f"203.0.113.{at}"})
    assert sign_in("alice", PASSWORD, headers={"X-Forwarded-For": "203.0.113.99"}).status_code == 429


@pytest.mark.parametrize(
    ("spelling", "name"), [("ALICE", "alice"), (" alice ", "alice"), ("Ａlice", "alice"), ("alice\0", "alice\0")]
)
def test_other_spellings_of_a_name_count_as_the_same(spelling: str, name: str) -> None:
    """A name that no database can hold is one like any other."""
    fails(spelling)
    assert sign_in(name, PASSWORD).status_code == 429


def test_many_names_are_made_slow_too_and_ones_own_account_gives_no_allowance_back() -> None:
    for at in range(attempts.OF_AN_ADDRESS - 1):
        assert sign_in(f"user{at}", "Winter2026!").status_code == 200
        if at % 10 == 0:
            assert sign_in("alice", PASSWORD).status_code == 302
    assert sign_in("bob", "Winter2026!").status_code == 200
    assert sign_in("carol", "Winter2026!").status_code == 429
    assert sign_in("alice", PASSWORD, "198.51.100.7").status_code == 302


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


def test_nothing_typed_is_stored_or_logged(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("DEBUG")
    for _ in range(attempts.OF_A_NAME + 1):
        sign_in("alice", SECRET)
        sign_in(SECRET, SECRET)
    assert SECRET not in caplog.text
    assert "alice" in caplog.text and "of nobody here" in caplog.text
    for row in FailedSignIns.objects.values_list("name", "address"):
        assert SECRET not in str(row) and "alice" not in str(row)


@pytest.mark.django_db(transaction=True)
def test_of_many_attempts_at_the_same_time_none_slips_through() -> None:
    def attempt(_: int) -> bool:
        try:
            return attempts.begin("alice", "192.0.2.1") is None
        finally:
            connections.close_all()

    with ThreadPoolExecutor(3 * attempts.OF_A_NAME) as pool:
        assert sum(pool.map(attempt, range(3 * attempts.OF_A_NAME))) == attempts.OF_A_NAME


def test_failures_are_forgotten_after_a_day_and_removed_and_an_empty_form_is_none() -> None:
    fails(times=attempts.OF_A_NAME + 1)
    later(days=1, seconds=1)
    assert sign_in("alice", "wrong").status_code == 200
    assert set(FailedSignIns.objects.values_list("count", flat=True)) == {1}
    later(days=1, seconds=1)
    attempts.forget()
    for _ in range(2 * attempts.OF_AN_ADDRESS):
        sign_in("alice", "")
    assert not FailedSignIns.objects.exists()


def test_an_operator_lets_somebody_in_again(tmp_path: Path) -> None:
    for name in ("alice", "bob"):
        fails(name)
    call_command("causeline", "unlock", "Alice")
    assert sign_in("alice", PASSWORD).status_code == 302
    assert sign_in("bob", "wrong").status_code == 429
    call_command("causeline", "unlock", "--address=192.0.2.1")
    assert sign_in("bob", "wrong").status_code == 200
    call_command("causeline", "unlock")
    assert not FailedSignIns.objects.exists()
    assert (tmp_path / "logs/changes.log").read_text().count('action="unlock"') == 3


@pytest.fixture
def create(monkeypatch: pytest.MonkeyPatch) -> Callable[..., User]:
    def create(name: str, password: str = PASSWORD, *options: str) -> User:
        monkeypatch.setenv("CAUSELINE_PASSWORD", password)
        call_command("causeline", "createuser", *options, "--", name)
        return User.objects.get(username=name)

    return create


def test_users_have_no_role_unless_said_otherwise(create: Callable[..., User], tmp_path: Path) -> None:
    bob, ada, carol = create("bob"), create("ada", PASSWORD, "--admin"), create("carol", PASSWORD, "--role=viewer")
    assert (bob.is_staff, bob.is_superuser, bob.is_active, bob.check_password(PASSWORD)) == (False, False, True, True)
    assert [grants.read(user.pk).everywhere for user in (bob, ada, carol)] == ["", "admin", "viewer"]
    assert not User.objects.filter(is_staff=True).exists()
    log = (tmp_path / "logs/changes.log").read_text()
    assert 'action="createuser"' in log and 'user="ada" role="admin"' in log and PASSWORD not in log and 'by="' in log


def test_a_file_of_changes_that_cannot_be_written_stops_no_command(
    create: Callable[..., User], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "logs/changes.log").mkdir(parents=True)
    with caplog.at_level("INFO", "causeline.changes"):
        assert create("bob").is_active
    assert "changes.log cannot be written" in caplog.text
    assert 'action="createuser"' in caplog.text


@pytest.mark.parametrize(
    ("name", "password", "message"),
    [
        ("bob", "short", "at least 12 characters"),
        ("bob", "password1234", "too common"),
        ("bob", "739105628401", "entirely numeric"),
        ("bartholomew", "bartholomew1", "too similar to the username"),
        ("", PASSWORD, "cannot be blank"),
        ("a b", PASSWORD, "Enter a valid username"),
        ("x" * 200, PASSWORD, "at most 150 characters"),
        ("alice", PASSWORD, "already exists"),
    ],
)
def test_a_bad_name_or_password_is_refused(
    name: str, password: str, message: str, create: Callable[..., User], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit, match="1"):
        create(name, password)
    assert message in capsys.readouterr().err
    assert User.objects.count() == 1


def test_without_a_terminal_a_password_has_to_be_given(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("CAUSELINE_PASSWORD", raising=False)
    monkeypatch.setattr("sys.stdin", io.StringIO())
    assert ran("createuser", "bob") == 1
    assert "CAUSELINE_PASSWORD" in capsys.readouterr().err
