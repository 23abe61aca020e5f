"""PostgreSQL 18 on a socket in a private folder, with its cluster below the data directory.

On Linux the server is told that its cluster is /proc/self/cwd. The guard enters the folder before it drops root, so
the account needs no way through the folder's parents, which may be root's home; all of PostgreSQL's paths are
relative to its working folder anyway.
"""

from __future__ import annotations

import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

from dashboard.services.accounts import give
from dashboard.services.errors import ServiceError, tail
from dashboard.services.program import Program, guarded
from dashboard.services.roles import DATABASE, ROLE, SUPERUSER, object_statements, pg_hba, role_statements

if TYPE_CHECKING:
    from collections.abc import Iterable

    from dashboard.services.accounts import Account
    from dashboard.services.binaries import Binaries

VERSION = "18"
PORT = 5432  # only the socket's name; nothing listens on TCP
ENVIRONMENT = {"LC_ALL": "C", "TZ": "UTC", "PATH": "/usr/bin:/bin"}  # no PG* variable of the caller's shell

SETTINGS = {
    "listen_addresses": "",
    "port": str(PORT),
    "unix_socket_permissions": "0700",
    "max_connections": "100",
    "shared_buffers": "128MB",
    "max_wal_size": "1GB",
    "wal_level": "minimal",
    "max_wal_senders": "0",
    "jit": "off",
    "dynamic_shared_memory_type": "mmap",  # a container's /dev/shm has 64 MB, and a killed server leaves its part there
    "timezone": "UTC",
    "log_timezone": "UTC",
    "log_checkpoints": "off",
}
FAST_AND_FRAGILE = {"fsync": "off", "synchronous_commit": "off", "full_page_writes": "off", "shared_buffers": "32MB"}


def url(sockets: Path, password: str) -> str:
    """A libpq URL; the port stands in it because PGPORT in the caller's shell would win otherwise."""
    return f"postgresql://{ROLE}:{quote(password)}@/{DATABASE}?host={quote(str(sockets))}&port={PORT}"


def make_cluster(cluster: Path, binaries: Binaries, account: Account | None, log: Path) -> None:
    """Create the cluster unless it is there. It is made beside its place and renamed, so it is whole or absent."""
    for unfinished in cluster.parent.glob(f"{cluster.name}.new-*"):
        shutil.rmtree(unfinished)
    if cluster.exists():
        found = (cluster / "PG_VERSION").read_text(encoding="ascii").strip()
        if found != VERSION:
            raise ServiceError(
                f"{cluster} was written by PostgreSQL {found}, this Causeline runs {VERSION}. "
                "Dump it with the version that wrote it, or choose another folder with --data-dir."
            )
        give(cluster, account)
        return
    new = Path(tempfile.mkdtemp(dir=cluster.parent, prefix=f"{cluster.name}.new-"))
    give(new, account)
    here = _here(new)
    encoding = ["--encoding=UTF8", "--locale=C", "--locale-provider=builtin", "--builtin-locale=C.UTF-8"]
    _finish(
        [str(binaries.initdb), "-D", here, "-U", SUPERUSER, "--auth=reject", "--no-instructions", *encoding],
        new,
        account,
        log,
    )
    _run_single_user(new, "postgres", [f"CREATE DATABASE {DATABASE}"], binaries, account, log)
    new.rename(cluster)


def secure(
    cluster: Path, password: str, binaries: Binaries, account: Account | None, log: Path, *, for_tests: bool
) -> None:
    """Let Causeline's role in with this password, and nobody else at all. The caller holds the cluster's lock.

    A cluster of an earlier version, which trusted everybody and whose role was superuser, is changed in place.
    pg_hba.conf is written last, so that an interrupted change is made again.
    """
    wanted = pg_hba(password)
    if (cluster / "pg_hba.conf").read_text(encoding="utf-8", errors="replace") == wanted:
        return
    for database, statements in (
        ("postgres", role_statements(password, for_tests=for_tests)),
        (DATABASE, object_statements()),
    ):
        _run_single_user(cluster, database, statements, binaries, account, log)
    write = ["/bin/sh", "-c", "umask 077 && cat >pg_hba.conf.new && mv pg_hba.conf.new pg_hba.conf"]
    _finish(write, cluster, account, log, wanted)


def lock_of(cluster: Path) -> Path:
    """The file that is locked as long as a process of the server lives."""
    return cluster.with_name(f"{cluster.name}.lock")


def leftovers_of(cluster: Path) -> list[Path]:
    """Files of a killed server that the next one would believe."""
    return [cluster / "postmaster.pid"]


def program(
    cluster: Path, sockets: Path, binaries: Binaries, account: Account | None, log: Path, *, durable: bool
) -> Program:
    """The server; `durable=False` is for data that nobody will miss."""
    settings = SETTINGS | {"unix_socket_directories": str(sockets)} | ({} if durable else FAST_AND_FRAGILE)
    options = [word for name, value in settings.items() for word in ("-c", f"{name}={value}")]
    return Program(
        name="postgres",
        command=[str(binaries.postgres), "-D", _here(cluster), *options],
        environment=ENVIRONMENT,
        folder=cluster,
        log=log,
        account=account,
        stop_signal=signal.SIGINT,  # "fast": end the sessions, write a checkpoint
        stop_seconds=5,
        death_signal=signal.SIGQUIT,  # "immediate": gone at once, recovered from the log at the next start
        lock=lock_of(cluster),
        leftovers=[*leftovers_of(cluster), sockets / f".s.PGSQL.{PORT}.lock", sockets / f".s.PGSQL.{PORT}"],
    )


def answers(address: str) -> bool:
    """True once the server takes connections."""
    import psycopg  # late: only a starting process needs it

    try:
        psycopg.connect(address, connect_timeout=2).close()
    except psycopg.OperationalError:
        return False
    return True


def _here(cluster: Path) -> str:
    return "/proc/self/cwd" if sys.platform == "linux" else str(cluster)


def _run_single_user(
    cluster: Path, database: str, statements: Iterable[str], binaries: Binaries, account: Account | None, log: Path
) -> None:
    """Run statements as superuser without a server; each is one line, as the single-user mode reads them."""
    # An earlier version may have left many tables, and each is locked until all have changed hands.
    options = ("-c", "exit_on_error=on", "-c", "max_locks_per_transaction=1024")
    command = [str(binaries.postgres), "--single", "-D", _here(cluster), *options, database]
    typed = "".join(f"{' '.join(each.split())}\n" for each in statements)
    _finish(command, cluster, account, log, typed)


def _finish(command: list[str], folder: Path, account: Account | None, log: Path, typed: str = "") -> None:
    with log.open("ab") as output:
        done = subprocess.run(
            guarded(command, folder, account),
            env=ENVIRONMENT,
            input=typed.encode(),
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            check=False,
        )
    if done.returncode:
        raise ServiceError(f"{Path(command[0]).name} failed in {folder}; its log is {log}:{tail(log)}")
