"""Add example recordings to the demo, and a live cluster, which is one of them replayed in a loop."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

from dashboard.services import Program, ServiceError
from dashboard.services.launcher import CAUSE, PYTHON, SAMPLE, finish, function_command

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from dashboard.services import Supervisor

CLUSTER = "demo"


def forget(supervisor: Supervisor, variables: Mapping[str, str], data_dir: Path) -> None:
    """Delete the cluster of an earlier demo, because each demo replays a new one. No worker may run yet."""
    import psycopg  # imported here, because only the demo needs it

    with psycopg.connect(variables["DATABASE_URL"]) as connection:
        known = connection.execute("SELECT 1 FROM timeline_cluster WHERE name = %s", [CLUSTER]).fetchone()
    if known:
        with (data_dir / "logs" / "demo.log").open("ab") as log:
            options = {"cluster": CLUSTER, "delete": True, "yes": True}
            command = function_command("clusters.disconnect", options)
            finish(supervisor, subprocess.Popen(command, env=variables, stdout=log, stderr=log))
    kubeconfig = _kubeconfig(data_dir)
    kubeconfig.unlink(missing_ok=True)
    kubeconfig.parent.mkdir(mode=0o700, parents=True, exist_ok=True)


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


def fill(supervisor: Supervisor, variables: Mapping[str, str], data_dir: Path, url: str) -> None:
    """Have the recordings imported and the replay connected, while workers and the replay run. Raise ServiceError."""
    options = {"recordings": [str(SAMPLE), str(CAUSE)], "url": url, "kubeconfig": str(_kubeconfig(data_dir))}
    process = subprocess.Popen(function_command("demo.fill", options), env=variables)
    if finish(supervisor, process):
        raise ServiceError("The demo could not be filled; the reason stands above.")


def _kubeconfig(data_dir: Path) -> Path:
    """Return the path of the kubeconfig, in the folder that may be read by path."""
    return data_dir / "kubeconfigs" / "demo.kubeconfig"
