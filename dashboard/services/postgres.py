"""Run PostgreSQL 18 on a socket in a private folder, with its cluster below the data directory.

On Linux the server gets as its cluster /proc/self/cwd. The guard enters the folder before it drops root, so
the account does not have to enter the folder's parents, such as root's home. All of PostgreSQL's paths are
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
PORT = 5432  # part of the socket's name; the server does not listen on TCP
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
    "dynamic_shared_memory_type": "mmap",  # a container's /dev/shm has 64 MB, and a killed server frees none of it
    "timezone": "UTC",
    "log_timezone": "UTC",
    "log_checkpoints": "off",
}
# A commit reaches the kernel before it is answered, so it survives a killed server, though not a machine that fails.
FAST_AND_FRAGILE = {"fsync": "off", "full_page_writes": "off", "shared_buffers": "32MB"}


def url(sockets: Path, password: str) -> str:
    """Return a libpq URL. It contains the port, because otherwise PGPORT of the caller's shell would be used."""
    return f"postgresql://{ROLE}:{quote(password)}@/{DATABASE}?host={quote(str(sockets))}&port={PORT}"


def make_cluster(cluster: Path, binaries: Binaries, account: Account | None, log: Path) -> None:
    """Create the cluster unless it exists. It is made under another name and renamed, so it is complete or absent."""
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
    """Allow only Causeline's role, with this password, to log in. The caller holds the cluster's lock.

    A cluster of an earlier version, which trusted everybody and whose role was superuser, is changed in place.
    pg_hba.conf is written last, so that an interrupted change is repeated.
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
    """Return the file that is locked as long as a process of the server runs."""
    return cluster.with_name(f"{cluster.name}.lock")


def leftovers_of(cluster: Path) -> list[Path]:
    """Return the files that a killed server left behind and that would mislead the next one."""
    return [cluster / "postmaster.pid"]


def program(
    cluster: Path, sockets: Path, binaries: Binaries, account: Account | None, log: Path, *, durable: bool
) -> Program:
    """Return the server's program. `durable=False` is for data that may be lost."""
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
        death_signal=signal.SIGQUIT,  # "immediate": it ends at once, and recovers from its log at the next start
        lock=lock_of(cluster),
        leftovers=[*leftovers_of(cluster), sockets / f".s.PGSQL.{PORT}.lock", sockets / f".s.PGSQL.{PORT}"],
    )


def answers(address: str) -> bool:
    """Return whether the server accepts connections."""
    import psycopg  # imported here because only a process that starts servers needs it

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
    # An earlier version may have left many tables, and each is locked until all have a new owner.
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
