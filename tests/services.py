"""This pytest plugin starts a real PostgreSQL and Valkey for the tests, unless DATABASE_URL and REDIS_URL name some.

Tests below `tests/unit` need neither these nor Django: if only such tests are named, nothing is started and no settings
are read. For all others, it also sets Django up and loads `tests/fixtures.py`.

It is loaded with `-p`, so it sets the environment before pytest-django reads the settings. The servers run in a process
that ends when its standard input is closed: however pytest ends, the servers and their data are removed.

With `pytest -n`, each worker of pytest-xdist starts its own servers, so that no test is affected by what another one
does to a server. The process that only distributes the tests starts none.

To initialise PostgreSQL and to migrate a database takes five seconds of a processor. So one data directory is prepared
by the first process that needs it, and servers begin with a copy of it until the code changes that it is made with.
"""

import fcntl
import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Generator
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from tests import ROOT
from tests.patience import patient

STOP_SECONDS = 30
DISTRIBUTING = "postgresql:///each-worker-of-the-tests-starts-its-own"
WORKER = os.environ.get("PYTEST_XDIST_WORKER", "")
VALKEY_DATABASES = 5  # for one worker, of the 16 of a Valkey: one for the tests, the others for running servers
VARIABLES = {
    "CAUSELINE_SECRET_KEY": "only for the tests of Causeline, which sign nothing",
    "CAUSELINE_CREDENTIALS_KEY": "only for the tests of Causeline!",
    "CAUSELINE_LOGIN": "open",
    "DJANGO_SETTINGS_MODULE": "dashboard.settings",
}

# Hundreds of processes import the same modules, so Python may write their bytecode even if the shell forbids it.
sys.dont_write_bytecode = False
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)


_PREPARED = ROOT / ".pytest_cache" / "prepared"
# The files that decide what servers and `migrate` write, which also makes the views that limit what is read.
_MADE_OF = (
    "requirements-dev.lock", "*/migrations/*.py", "*/apps.py", "*/models.py", "timeline/models/*.py",
    "timeline/storage/*.py", "dashboard/access/**/*.py", "dashboard/services/*.py",
)  # fmt: skip

_servers: "subprocess.Popen[str] | None" = None
_data: tempfile.TemporaryDirectory[str] | None = None


def start(*options: str) -> "tuple[subprocess.Popen[str], dict[str, str]]":
    """Start PostgreSQL and Valkey. Return the process that runs both, and database_url, redis_url and data_dir."""
    process = subprocess.Popen(
        [sys.executable, "-m", "dashboard.services", *options],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,  # Ctrl-C ends only pytest; the servers end after its last test
    )
    assert process.stdout
    line = process.stdout.readline()
    if not line:
        raise pytest.UsageError("The test servers did not start; the reason stands above.")
    addresses: dict[str, str] = json.loads(line)
    return process, addresses


def stop(process: "subprocess.Popen[str]") -> None:
    """Close the standard input of the servers' process, and wait until everything has ended."""
    assert process.stdin and process.stdout
    process.stdin.close()
    process.stdout.close()
    process.wait(patient(STOP_SECONDS))


def start_prepared() -> "tuple[subprocess.Popen[str], dict[str, str]]":
    """Start servers whose database is migrated. All that they write is removed when they end."""
    return start("--copy-of", str(_prepared()))


def prepare(data_dir: Path) -> None:
    """Make a data directory whose database is migrated, as an earlier `causeline up` leaves it. Its parent exists."""
    subprocess.run(["cp", "-a", _prepared(), data_dir], check=True)


def _prepared() -> Path:
    """Return a data directory to copy, with a migrated database. It is made if none was made of these files."""
    prepared = _PREPARED / _digest()
    _PREPARED.mkdir(parents=True, exist_ok=True)
    with (_PREPARED / "lock").open("w") as lock, tempfile.TemporaryDirectory(prefix="causeline-prepared-") as folder:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not prepared.exists():
            for outdated in filter(Path.is_dir, _PREPARED.iterdir()):
                shutil.rmtree(outdated)
            process, served = start("--data-dir", data_dir := f"{folder}/data")
            addresses = {"DATABASE_URL": served["database_url"], "REDIS_URL": served["redis_url"]}
            migrate(VARIABLES | addresses | {"CAUSELINE_DATA_DIR": data_dir})
            stop(process)
            unfinished = prepared.with_suffix(".new")
            subprocess.run(["cp", "-a", data_dir, unfinished], check=True)
            unfinished.rename(prepared)
    return prepared


def _digest() -> str:
    """Return a hash of the files that a prepared data directory depends on."""
    found = hashlib.sha256(sys.version.encode())
    for file in sorted(file for pattern in _MADE_OF for file in ROOT.glob(pattern)):
        found.update(str(file.relative_to(ROOT)).encode() + b"\0" + hashlib.sha256(file.read_bytes()).digest())
    return found.hexdigest()[:32]


def started_here() -> bool:
    """Return whether the servers of DATABASE_URL and REDIS_URL were started for this process."""
    return _servers is not None


def migrate(variables: dict[str, str]) -> None:
    command = [sys.executable, "manage.py", "migrate", "-v0", "--skip-checks"]
    subprocess.run(command, cwd=ROOT, env=os.environ | variables, check=True)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_load_initial_conftests(early_config: pytest.Config) -> Generator[None]:
    """Set the environment before pytest-django reads it."""
    global _servers, _data
    if _only_units(early_config.known_args_namespace.file_or_dir):
        return (yield)
    distributes = not WORKER and bool(getattr(early_config.known_args_namespace, "numprocesses", None))
    given = {"DATABASE_URL", "REDIS_URL"} <= os.environ.keys() and os.environ["DATABASE_URL"] != DISTRIBUTING
    if distributes:
        os.environ["PYTEST_PLUGINS"] = "tests.services"  # workers load -p's plugins too late, after pytest-django
    if distributes and not given:
        os.environ |= {"DATABASE_URL": DISTRIBUTING, "REDIS_URL": "redis://each-worker-starts-its-own"}
    elif given and WORKER:
        database = VALKEY_DATABASES * int(WORKER.removeprefix("gw") or 0)
        os.environ["REDIS_URL"] = urlsplit(os.environ["REDIS_URL"])._replace(path=f"/{database}").geturl()
    elif not given:
        _servers, served = start_prepared()
        os.environ["DATABASE_URL"], os.environ["REDIS_URL"] = served["database_url"], served["redis_url"]
        os.environ["CAUSELINE_DATA_DIR"] = served["data_dir"]
    if "CAUSELINE_DATA_DIR" not in os.environ or (WORKER and not _servers):
        _data = tempfile.TemporaryDirectory(prefix="causeline-tests-")
        os.environ["CAUSELINE_DATA_DIR"] = _data.name
    for name, value in VARIABLES.items():
        os.environ.setdefault(name, value)
    result = yield
    early_config.pluginmanager.import_plugin("tests.fixtures")
    return result


def _only_units(named: list[str]) -> bool:
    """Return whether all tests that are named on the command line are below `tests/unit`."""
    paths = [Path(each.partition("::")[0]).resolve() for each in named]
    return bool(paths) and all(path.is_relative_to(ROOT / "tests" / "unit") for path in paths)


@pytest.hookimpl(trylast=True)
def pytest_unconfigure() -> None:
    """Stop the servers that were started, and remove what the tests have written."""
    if _servers:
        _remove_own(Path(os.environ["CAUSELINE_DATA_DIR"]))
        stop(_servers)
    if _data:
        _data.cleanup()


def _remove_own(data_dir: Path) -> None:
    """Remove the folders that tests have made, as the servers cannot if root started them: they run as another
    account."""
    for path in data_dir.iterdir() if data_dir.stat().st_uid != os.geteuid() else ():
        if path.lstat().st_uid == os.geteuid():
            shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()
