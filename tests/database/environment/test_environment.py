"""These tests check the environment variables: each value is validated before anything starts."""

from datetime import timedelta
from pathlib import Path
from typing import Any, cast

import pytest
from django.views.debug import get_default_exception_reporter_filter
from pytest_django import Settings

from dashboard import environment
from dashboard.environment import SettingError, addresses
from dashboard.environment.keeping import HOURS_AT_MOST, INCIDENT_MINUTES_AT_MOST, KEEP_BYTES_AT_MOST, KEEP_DAYS_AT_MOST
from tests import variables
from timeline import models
from timeline.judge import rulebook
from timeline.judging.rulebook import settings as thresholds

NUMBERS = variables.ranges()


def read_anew(monkeypatch: pytest.MonkeyPatch, name: str, value: str) -> None:
    """Read the settings with this variable, as at a start."""
    monkeypatch.setenv(name, value)
    environment.read()


@pytest.mark.parametrize("name", sorted(NUMBERS))
def test_a_number_is_taken_to_its_ends_and_refused_beyond(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    least, most = NUMBERS[name]
    for value in (least, most):
        read_anew(monkeypatch, name, str(value))
    for wrong in (least - 1, most + 1, -(10**9), 10**30, "nan", "inf", "1.5", "1.0", "many", "9" * 5_000):
        with pytest.raises(
            SettingError, match=rf"{name} is .*; write a whole number from {least} to {most}\."
        ) as error:
            read_anew(monkeypatch, name, str(wrong))
        assert len(str(error.value)) < 250


def test_every_time_that_is_computed_from_a_number_can_be_computed_and_a_cluster_keeps_as_much() -> None:
    longest = timedelta(days=KEEP_DAYS_AT_MOST)
    assert NUMBERS["CAUSELINE_UPLOAD_PATIENCE_HOURS"][1] * timedelta(hours=1) < longest
    assert NUMBERS["CAUSELINE_LIVE_MEMORY_HOURS"][1] <= HOURS_AT_MOST
    assert (models.KEEP_DAYS_AT_MOST, models.KEEP_BYTES_AT_MOST) == (KEEP_DAYS_AT_MOST, KEEP_BYTES_AT_MOST)
    assert models.INCIDENT_MINUTES_AT_MOST == INCIDENT_MINUTES_AT_MOST


@pytest.mark.parametrize("value", ["nan", "NaN", "inf", "-inf", "-1", "1e9", "1e300", "soon"])
def test_a_threshold_that_compares_with_nothing_is_refused(value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    rulebook()
    for variable in thresholds:
        with monkeypatch.context() as patch, pytest.raises(SettingError, match=variable):
            patch.setenv(variable, value)
            try:
                environment.rule_settings()
            finally:
                patch.delenv(variable)
                thresholds[variable].value = thresholds[variable].default


WRONG = """
    postgresql://u:geheim@h:abc/d postgresql://u:geheim@h:0/d postgresql://u:geheim@h:65536/d
    postgresql://u:geheim@h:-1/d postgresql://u:geheim/rest@h/d postgresql://u:gehe#im@h/d postgresql://u:geheim?x@h/d
    postgresql://u:12?gehe@h/d postgresql://u:12/gehe@h/d postgresql://u:12#gehe@h/d postgresql://u:gehe[im@h/d
    postgresql://u:geheim\u2100@h/d postgresql://u:geheim@h,/d postgresql://u:geheim@h:5432,i:geheim/d
    postgresql://u:geheim@h,i,j:70000/d postgresql:///d?host=/run&port=geheim postgresql:///d?host=/run&port=99999
    geheim:5432 mysql://u:geheim@h/d u:geheim@h/d
"""


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *(("DATABASE_URL", address) for address in WRONG.split()),
        *((name, "geheim") for name in ("CAUSELINE_SECRET_KEY", "CAUSELINE_CREDENTIALS_KEY", "REDIS_URL")),
    ],
)
def test_what_cannot_be_is_refused_without_showing_it(name: str, value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(SettingError, match=f"^{name} ") as message:
        read_anew(monkeypatch, name, value)
    assert "gehe" not in str(message.value)
    assert message.value.__cause__ is None and message.value.__context__ is None


def test_an_address_that_can_be_is_understood() -> None:
    found = environment.database("postgresql://u:a%2Fb%40c@db.example:6543/causeline?sslmode=require")
    assert (found["PASSWORD"], found["HOST"], found["PORT"]) == ("a/b@c", "db.example", "6543")
    socket = environment.database("postgresql:///d?host=/run&port=7000&sslmode=disable")
    assert (socket["PORT"], socket["OPTIONS"]) == ("7000", {"sslmode": "disable"})
    assert addresses.broker("redis://:a@[::1]:6379/0") == "redis://:a@[::1]:6379/0"


def test_of_several_hosts_the_one_that_takes_writes_is_used_and_one_that_vanished_is_noticed_within_seconds() -> None:
    def options(address: str) -> dict[str, Any]:
        return cast("dict[str, Any]", environment.database(address)["OPTIONS"])

    address = "postgresql://u:a%40b@one:6543,two,[::1]:7000/d?sslmode=require&connect_timeout=2"
    found = environment.database(address)
    assert (found["USER"], found["PASSWORD"], found["NAME"]) == ("u", "a@b", "d")
    assert (found["HOST"], found["PORT"]) == ("one,two,::1", "6543,5432,7000")
    wanted = {"target_session_attrs": "read-write", "sslmode": "require", "connect_timeout": "2"}
    assert wanted.items() <= options(address).items()
    assert options("postgresql://one,two/d?target_session_attrs=any")["target_session_attrs"] == "any"
    assert {"connect_timeout": "5", "tcp_user_timeout": "15000"}.items() <= options("postgresql://db/d").items()


def test_proxies_are_addresses_and_networks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CAUSELINE_PROXIES", "127.0.0.1, 10.0.0.0/8,2001:db8::/32")
    assert environment.read().proxies == ["127.0.0.1/32", "10.0.0.0/8", "2001:db8::/32"]
    for wrong in ("*", "proxy.example", "10.0.0.1/8", "10.0.0.0/99"):
        with pytest.raises(SettingError, match=r"CAUSELINE_PROXIES has .* which is neither an address nor a network"):
            read_anew(monkeypatch, "CAUSELINE_PROXIES", wrong)


def test_a_file_of_a_secret_has_to_hold_one(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    file = tmp_path / "key"
    monkeypatch.delenv("CAUSELINE_SECRET_KEY")
    monkeypatch.setenv("CAUSELINE_SECRET_KEY_FILE", str(file))
    file.write_text("k" * 32 + "\n")
    assert environment.read().secret_key == "k" * 32
    file.write_text(" \n")
    with pytest.raises(SettingError, match="CAUSELINE_SECRET_KEY is not set"):
        environment.read()
    file.write_bytes(b"\xff\xfe" * 20)
    with pytest.raises(SettingError, match="which is not text in UTF-8"):
        environment.read()


@pytest.mark.parametrize("variable", variables.settings().values(), ids=lambda variable: variable.name)
def test_an_empty_variable_is_one_that_is_not_set(
    variable: variables.Variable, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(variable.name, "")
    if variable.required:
        with pytest.raises(SettingError, match=f"^{variable.name} is not set"):
            environment.read()
    else:
        environment.read()


def test_no_secret_is_printed_or_shown_on_the_error_page(monkeypatch: pytest.MonkeyPatch, settings: Settings) -> None:
    for name in ("CAUSELINE_SECRET_KEY", "CAUSELINE_CREDENTIALS_KEY", "CAUSELINE_TOKEN"):
        monkeypatch.setenv(name, f"planted-{name}" + "x" * 32)
    for name, scheme in (("DATABASE_URL", "postgresql"), ("REDIS_URL", "redis")):
        monkeypatch.setenv(name, f"{scheme}://user:planted@host:5/d")
    assert "planted" not in repr(environment.read())
    settings.CELERY_BROKER_URL = "redis://:planted@127.0.0.1:1/0"
    shown = get_default_exception_reporter_filter().get_safe_settings()
    assert "CELERY_BROKER_URL" in shown and "planted" not in str(shown)
