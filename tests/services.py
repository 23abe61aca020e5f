"""A pytest plugin: gives the tests a real PostgreSQL and Valkey, unless DATABASE_URL and REDIS_URL name some.

It is loaded with `-p`, so it sets the environment before pytest-django reads the settings. The servers run in a
process of their own that ends when its standard input does: however pytest goes, they go, and their data with them.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

STOP_SECONDS = 30
VARIABLES = {
    "CAUSELINE_SECRET_KEY": "only for the tests of Causeline, which sign nothing",
    "CAUSELINE_CREDENTIALS_KEY": "only for the tests of Causeline!",
    "CAUSELINE_LOGIN": "open",
}


def _start() -> "subprocess.Popen[str]":
    process = subprocess.Popen(
        [sys.executable, "-m", "dashboard.services"],
        cwd=Path(__file__).parent.parent,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,  # Ctrl-C is pytest's; the servers outlive it by its last test
    )
    assert process.stdout
    line = process.stdout.readline()
    if not line:
        raise pytest.UsageError("The test servers did not start; the reason stands above.")
    served = json.loads(line)
    os.environ["DATABASE_URL"] = served["database_url"]
    os.environ["REDIS_URL"] = served["redis_url"]
    os.environ["CAUSELINE_DATA_DIR"] = served["data_dir"]
    return process


SERVERS = None if {"DATABASE_URL", "REDIS_URL"} <= os.environ.keys() else _start()
OWN_DATA = None if "CAUSELINE_DATA_DIR" in os.environ else tempfile.TemporaryDirectory(prefix="causeline-tests-")
if OWN_DATA:
    os.environ["CAUSELINE_DATA_DIR"] = OWN_DATA.name
for _name, _value in VARIABLES.items():
    os.environ.setdefault(_name, _value)


@pytest.hookimpl(trylast=True)
def pytest_unconfigure() -> None:
    """Cut the leash, and wait until everything is gone."""
    if SERVERS and SERVERS.stdin and SERVERS.stdout:
        _remove_own(Path(os.environ["CAUSELINE_DATA_DIR"]))
        SERVERS.stdin.close()
        SERVERS.stdout.close()
        SERVERS.wait(STOP_SECONDS)
    if OWN_DATA:
        OWN_DATA.cleanup()


def _remove_own(data_dir: Path) -> None:
    """Started as root, the servers have become an account, which cannot remove the folders that tests have made."""
    for path in data_dir.iterdir() if data_dir.stat().st_uid != os.geteuid() else ():
        if path.lstat().st_uid == os.geteuid():
            shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()
