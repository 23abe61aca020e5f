"""What the environment may say: each value is looked at before anything starts."""

import os
import subprocess
import sys
from datetime import timedelta
from pathlib import Path

import pytest
from django.views.debug import get_default_exception_reporter_filter
from pytest_django import Settings

import dashboard.settings  # noqa: F401
from dashboard import environment
from dashboard.environment import SettingError
from tests.variables import ROOT
from timeline import models
from timeline.judge import rulebook
from timeline.judging.rulebook import settings as thresholds

NUMBERS = dict(environment.ranges)  # which importing the settings has filled


def read_anew(monkeypatch: pytest.MonkeyPatch, name: str, value: str) -> None:
    """The functions of the environment that read this variable, as a start runs them."""
    monkeypatch.setenv(name, value)
    least, most = environment.ranges[name]
    environment.number(name, least, least, most)


@pytest.mark.parametrize("name", sorted(NUMBERS))
def test_a_number_is_taken_to_its_ends_and_refused_beyond(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    least, most = NUMBERS[name]
    for value in (least, most):
        read_anew(monkeypatch, name, str(value))
    for wrong in (least - 1, most + 1, -(10**9), 10**30, "nan", "inf", "1.5", "many", "9" * 5_000):
        with pytest.raises(SettingError, match=rf"{name} is .*; write a whole number from {least} to {most}\.") as told:
            read_anew(monkeypatch, name, str(wrong))
        assert len(str(told.value)) < 250


def test_every_time_that_is_computed_from_a_number_can_be_computed() -> None:
    longest = timedelta(days=environment.KEEP_DAYS_AT_MOST)
    assert environment.ranges["CAUSELINE_UPLOAD_PATIENCE_HOURS"][1] * timedelta(hours=1) < longest
    assert environment.ranges["CAUSELINE_LIVE_MEMORY_HOURS"][1] * timedelta(hours=1) < longest


def test_a_cluster_may_keep_what_the_settings_may() -> None:
    kept = models.KEEP_DAYS_AT_MOST, models.KEEP_BYTES_AT_MOST
    assert kept == (environment.KEEP_DAYS_AT_MOST, environment.KEEP_BYTES_AT_MOST)


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


@pytest.mark.parametrize(
    ("name", "value", "told"),
    [
        ("CAUSELINE_LOG_LEVEL", "LOUD", "CAUSELINE_LOG_LEVEL is 'LOUD'; write one of DEBUG, INFO, WARNING, ERROR."),
        ("CAUSELINE_SECRET_KEY", "short", "CAUSELINE_SECRET_KEY has 5 characters; it needs at least 32."),
        ("CAUSELINE_KEEP_DAYS", "0", "CAUSELINE_KEEP_DAYS is 0; write a whole number from 1 to 36500."),
        ("CAUSELINE_KEEP_DAYS", "-1", "CAUSELINE_KEEP_DAYS is -1; write a whole number from 1 to 36500."),
        ("CAUSELINE_KEEP_DAYS", "1000000000", "CAUSELINE_KEEP_DAYS is 1000000000; write a whole number"),
        ("CAUSELINE_UPLOAD_PATIENCE_HOURS", "999999999999", "CAUSELINE_UPLOAD_PATIENCE_HOURS is 999999999999; write"),
        ("DATABASE_URL", "postgresql://u:geheim@h:zzz/d", "DATABASE_URL cannot be read as an address"),
        ("REDIS_URL", "redis://:geheim@h:99999/0", "REDIS_URL cannot be read as an address"),
    ],
)
def test_a_bad_value_stops_the_start_and_is_told(name: str, value: str, told: str) -> None:
    command = [sys.executable, "manage.py", "check"]
    result = subprocess.run(command, cwd=ROOT, env=os.environ | {name: value}, capture_output=True, text=True)
    assert result.returncode
    assert told in result.stderr.splitlines()[-1]
    assert "geheim" not in result.stderr and "zzz" not in result.stderr


@pytest.mark.parametrize(
    "address",
    [
        "postgresql://u:geheim@h:abc/d",
        "postgresql://u:geheim@h:0/d",
        "postgresql://u:geheim@h:65536/d",
        "postgresql://u:geheim@h:-1/d",
        "postgresql://u:geheim/rest@h/d",
        "postgresql://u:gehe#im@h/d",
        "postgresql://u:geheim?x@h/d",
        "postgresql://u:12?gehe@h/d",
        "postgresql://u:12/gehe@h/d",
        "postgresql://u:12#gehe@h/d",
        "postgresql://u:gehe[im@h/d",
        "postgresql://u:geheim\u2100@h/d",
        "postgresql:///d?host=/run&port=geheim",
        "postgresql:///d?host=/run&port=99999",
        "geheim:5432",
        "mysql://u:geheim@h/d",
        "u:geheim@h/d",
        "",
    ],
)
def test_an_address_that_cannot_be_is_refused_without_showing_it(address: str) -> None:
    with pytest.raises(SettingError, match=r"^DATABASE_URL ") as told:
        environment.database(address)
    assert "gehe" not in str(told.value)
    assert told.value.__cause__ is None and told.value.__context__ is None


def test_an_address_that_can_be_is_understood() -> None:
    found = environment.database("postgresql://u:a%2Fb%40c@db.example:6543/causeline?sslmode=require")
    assert (found["PASSWORD"], found["PORT"], found["OPTIONS"]) == ("a/b@c", "6543", {"sslmode": "require"})
    assert environment.database("postgresql:///d?host=/run&port=7000")["PORT"] == "7000"
    assert environment.broker("redis://:a@[::1]:6379/0") == "redis://:a@[::1]:6379/0"


def test_proxies_are_addresses_and_networks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CAUSELINE_PROXIES", "127.0.0.1, 10.0.0.0/8,2001:db8::/32")
    assert environment.networks("CAUSELINE_PROXIES", "") == ["127.0.0.1/32", "10.0.0.0/8", "2001:db8::/32"]
    for wrong in ("*", "proxy.example", "10.0.0.1/8", "10.0.0.0/99"):
        monkeypatch.setenv("CAUSELINE_PROXIES", wrong)
        with pytest.raises(SettingError, match=r"CAUSELINE_PROXIES has .* which is neither an address nor a network"):
            environment.networks("CAUSELINE_PROXIES", "")


def test_a_file_of_a_secret_has_to_hold_one(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    file = tmp_path / "key"
    monkeypatch.delenv("CAUSELINE_SECRET_KEY")
    monkeypatch.setenv("CAUSELINE_SECRET_KEY_FILE", str(file))
    file.write_text("k" * 32 + "\n")
    assert environment.secret_key() == "k" * 32
    file.write_text(" \n")
    with pytest.raises(SettingError, match="CAUSELINE_SECRET_KEY is not set"):
        environment.secret_key()
    file.write_bytes(b"\xff\xfe" * 20)
    with pytest.raises(SettingError, match="which is not text in UTF-8"):
        environment.secret_key()


def test_the_error_page_shows_no_password_of_an_address(settings: Settings) -> None:
    settings.CELERY_BROKER_URL = "redis://:a-password-of-the-broker@127.0.0.1:1/0"
    shown = get_default_exception_reporter_filter().get_safe_settings()
    assert "CELERY_BROKER_URL" in shown and "a-password-of-the-broker" not in str(shown)
