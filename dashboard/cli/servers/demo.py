"""Add a live cluster to the demo, which is its recording replayed in a loop."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

from dashboard.services import Program, ServiceError
from dashboard.services.errors import tail
from dashboard.services.launcher import PYTHON, SAMPLE, START_SECONDS, finish, function_command

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from dashboard.services import Supervisor

CLUSTER = "demo"
_KEPT = {"keep_days": 1, "keep_bytes": 100_000_000}  # limits its size if somebody leaves it running


def forget(supervisor: Supervisor, variables: Mapping[str, str], data_dir: Path) -> None:
    """Delete the cluster of an earlier demo, because each demo replays a new one. No worker may run yet."""
    _clusters(supervisor, variables, data_dir, "disconnect", cluster=CLUSTER, delete=True, yes=True)
    _kubeconfig(data_dir).unlink(missing_ok=True)
    _kubeconfig(data_dir).parent.mkdir(mode=0o700, parents=True, exist_ok=True)


def program(variables: Mapping[str, str], data_dir: Path) -> Program:
    """Return the replay as a program on a free port, which its kubeconfig names."""
    kubeconfig = _kubeconfig(data_dir)
    options = ("--loop", "--write-kubeconfig", str(kubeconfig), "--token-file", str(kubeconfig.with_suffix(".token")))
    return Program(
        name="replay",
        command=[*PYTHON, "-m", "dashboard.cli", "replay", str(SAMPLE), *options],
        environment=variables,
        folder=data_dir,
        log=data_dir / "logs" / "replay.log",
    )


def connect(supervisor: Supervisor, variables: Mapping[str, str], data_dir: Path) -> None:
    """Connect the replay once it runs. Raises ServiceError if that fails."""
    kubeconfig = _kubeconfig(data_dir)
    supervisor.wait(kubeconfig.exists, START_SECONDS, "The demo's replay does not start; see its log.")
    options = {"name": CLUSTER, "kubeconfig": str(kubeconfig), "by_path": True, **_KEPT}
    if _clusters(supervisor, variables, data_dir, "connect", **options):
        log = _log(data_dir)
        raise ServiceError(f"The demo's replayed cluster could not be connected; the log is {log}:{tail(log)}")


def _clusters(supervisor: Supervisor, variables: Mapping[str, str], data_dir: Path, act: str, **options: object) -> int:
    """Do something with clusters, with its output in a log, and return the exit status."""
    with _log(data_dir).open("ab") as log:
        running = subprocess.Popen(function_command(f"clusters.{act}", options), env=variables, stdout=log, stderr=log)
        return finish(supervisor, running)


def _kubeconfig(data_dir: Path) -> Path:
    """Return the path of the kubeconfig, in the folder that may be read by path."""
    return data_dir / "kubeconfigs" / "demo.kubeconfig"


def _log(data_dir: Path) -> Path:
    return data_dir / "logs" / "demo.log"
