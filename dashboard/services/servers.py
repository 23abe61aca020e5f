"""Run PostgreSQL and Valkey for a data directory, at most once at a time, and publish their addresses.

The data directory contains `postgres/` and `valkey/` (the servers' own files), `logs/`, `lock` (locked while the
servers run), `database_password`, and `services.json` (the process that runs them, and the addresses with their
passwords). Only the owner of the directory can read the last two.
"""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dashboard import keys
from dashboard.services import binaries, postgres, valkey
from dashboard.services.accounts import give, server_account
from dashboard.services.errors import AlreadyServed, ServiceError
from dashboard.services.locks import try_lock

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dashboard.services.supervise import Supervisor

START_SECONDS = 60
SOCKETS_PREFIX = "causeline-"


@dataclass(frozen=True)
class Addresses:
    """The addresses of the servers of a data directory."""

    database_url: str
    redis_url: str


@contextmanager
def serving(
    data_dir: Path, supervisor: Supervisor, *, durable: bool = True, for_tests: bool = False
) -> Iterator[Addresses]:
    """Run both servers under the supervisor during the context, and stop them at its end.

    With `durable=False` they write quickly instead of safely; `for_tests` lets the database role create databases.
    Raises AlreadyServed if another process runs them, and ServiceError if they cannot be started.
    """
    data_dir = data_dir.absolute()
    try:
        data_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
        _refuse_root_in_anothers(data_dir)
        lock = os.open(data_dir / "lock", os.O_RDWR | os.O_CREAT, 0o600)
    except OSError as error:
        raise ServiceError(
            f"{data_dir} cannot be used: {error.strerror}. Choose another folder with --data-dir, "
            "or run as the user who owns it."
        ) from None
    try:
        if not try_lock(lock):
            raise AlreadyServed(data_dir, _read(data_dir).get("pid"))
        with _sockets(data_dir) as sockets:
            try:
                yield _start(data_dir, sockets, supervisor, durable=durable, for_tests=for_tests)
            finally:
                supervisor.stop()
    finally:
        os.close(lock)


def _refuse_root_in_anothers(data_dir: Path) -> None:
    """Refuse a folder of another user if this is root: its owner could put links there that redirect root's files."""
    if os.geteuid() == 0 and (owner := data_dir.stat().st_uid) != 0:
        raise ServiceError(f"{data_dir} belongs to user {owner}, and root does not write in it. Start as that user.")


def addresses_of(data_dir: Path) -> Addresses | None:
    """Return the addresses that the process serving this data directory published when its servers answered, or None"""
    state = _read(data_dir)
    return Addresses(state["database_url"], state["redis_url"]) if "redis_url" in state else None


def _start(data_dir: Path, sockets: Path, supervisor: Supervisor, *, durable: bool, for_tests: bool) -> Addresses:
    cluster, cache, logs = data_dir / "postgres", data_dir / "valkey", data_dir / "logs"
    account = server_account(cluster)
    programs = binaries.find(account)
    logs.mkdir(mode=0o700, exist_ok=True)
    cache.mkdir(mode=0o700, exist_ok=True)
    give(cache, account)
    give(sockets, account)
    postgres_log, valkey_log = logs / "postgres.log", logs / "valkey.log"
    postgres.make_cluster(cluster, programs, account, postgres_log)
    password = keys.kept(data_dir, "database_password")
    with supervisor.locked("postgres", postgres.lock_of(cluster), postgres.leftovers_of(cluster)):
        postgres.secure(cluster, password, programs, account, postgres_log, for_tests=for_tests)
    addresses = Addresses(postgres.url(sockets, password), valkey.new_url())
    supervisor.start(
        postgres.program(cluster, sockets, programs, account, postgres_log, durable=durable),
        valkey.program(cache, addresses.redis_url, programs, account, valkey_log),
    )

    def answer() -> bool:
        supervisor.refuse_deaths()
        return postgres.answers(addresses.database_url) and valkey.answers(addresses.redis_url)

    supervisor.wait(answer, START_SECONDS, f"The servers do not answer within {START_SECONDS} s; see {logs}.")
    _write(data_dir, {"pid": os.getpid(), "sockets": str(sockets), **asdict(addresses)})
    return addresses


@contextmanager
def _sockets(data_dir: Path) -> Iterator[Path]:
    """Yield a private folder with a short name: the path of a socket must be shorter than about 100 bytes.

    Its name is saved before it is used, so that the next run can remove what a killed one left.
    """
    _forget(data_dir)
    base = "/tmp" if os.access("/tmp", os.W_OK | os.X_OK) else tempfile.gettempdir()
    sockets = Path(tempfile.mkdtemp(prefix=SOCKETS_PREFIX, dir=base))
    try:
        _write(data_dir, {"pid": os.getpid(), "sockets": str(sockets)})
        yield sockets
    finally:
        _forget(data_dir)


def _forget(data_dir: Path) -> None:
    if left := _read(data_dir).get("sockets"):
        sockets = Path(left)
        if sockets.name.startswith(SOCKETS_PREFIX) and not sockets.is_symlink():
            shutil.rmtree(sockets, ignore_errors=True)
    (data_dir / "services.json").unlink(missing_ok=True)


def _read(data_dir: Path) -> dict[str, Any]:
    try:
        state: dict[str, Any] = json.loads((data_dir / "services.json").read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    return state


def _write(data_dir: Path, state: dict[str, object]) -> None:
    descriptor, name = tempfile.mkstemp(dir=data_dir, prefix="services.json.")  # mode 0600
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        json.dump(state, file)
    Path(name).replace(data_dir / "services.json")
