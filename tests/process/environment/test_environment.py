"""These tests start processes with environment variables: bad values stop them, and thresholds reach the rules."""

import os
import subprocess
import sys

import pytest

from tests import ROOT


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("CAUSELINE_SECRET_KEY", "short", "CAUSELINE_SECRET_KEY has 5 characters; it needs at least 32."),
        ("DATABASE_URL", "postgresql://u:geheim@h:zzz/d", "DATABASE_URL cannot be read as an address"),
    ],
)
def test_a_bad_value_stops_the_start_and_is_reported(name: str, value: str, message: str) -> None:
    """`tests/database/environment/` has all others."""
    command = [sys.executable, "manage.py", "check"]
    result = subprocess.run(command, cwd=ROOT, env=os.environ | {name: value}, capture_output=True, text=True)
    assert result.returncode
    assert message in result.stderr.splitlines()[-1]
    assert "geheim" not in result.stderr and "zzz" not in result.stderr


def test_commands_that_read_no_settings_do_not_import_pydantic() -> None:
    code = (
        "import sys, dashboard.cli.__main__ as c; c.main(['rules']); c.main(['analyze', '/dev/null']);"
        "sys.exit(bool({'django', 'pydantic', 'structlog', 'prometheus_client'} & sys.modules.keys()))"
    )
    clean = {name: value for name, value in os.environ.items() if not name.startswith("CAUSELINE_")}
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, env=clean, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr.decode()


def test_the_servers_take_thresholds_from_the_environment() -> None:
    code = "import dashboard.settings, timeline.judging.rulebook as r\nprint(r.settings[%r].microseconds)"
    variable = "CAUSELINE_RULE_SERVICE_GAP_TEARDOWN"
    required = {"CAUSELINE_SECRET_KEY": "x" * 32, "DATABASE_URL": "postgresql:///x", "REDIS_URL": "redis://x"}
    environment = {"PATH": "/usr/bin:/bin", variable: "7.5", **required}
    command = [sys.executable, "-c", code % variable]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "7500000\n"), done.stderr
