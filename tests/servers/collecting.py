"""This module runs collectors in processes of their own, which tests kill."""

import json
import os
import signal
import subprocess
import sys
from datetime import timedelta
from pathlib import Path

from django.utils import timezone

from collectors.replay import Replay
from collectors.replay.serving import kubeconfig
from dashboard.access.tokens import tokens
from dashboard.services.program import guarded
from tests import ROOT
from tests.servers.processes import kill
from timeline.models import Cluster


def awaited(name: str = "collected") -> Cluster:
    """Create the row of a cluster that a collector watches."""
    return Cluster.objects.create(name=name, reference={"how": "collector"})


def token_of(cluster: Cluster) -> str:
    """Return the text of a token with which collectors of a cluster may send."""
    text, _ = tokens.issue(
        "collector", ["collect"], expires=timezone.now() + timedelta(days=1), cluster=cluster, by="tests"
    )
    return text


class Collecting:
    """This class is a collector of one cluster, with a buffer of its own."""

    def __init__(self, folder: Path, name: str, port: int, cluster: Cluster, replay: Replay, **settings: str) -> None:
        folder = folder / name
        folder.mkdir()
        self.buffer = folder / "buffer"
        self._log = folder / "log"
        token, config = folder / "token", folder / "kubeconfig.json"
        token.write_text(token_of(cluster))
        config.write_text(json.dumps(kubeconfig(replay.url)))
        self._command = [sys.executable, "-m", "dashboard.cli", "collect", "--kubeconfig", str(config)]
        without_servers = {name: value for name, value in os.environ.items() if not name.endswith("_URL")}
        self._environment = {
            **without_servers,
            "CAUSELINE_COLLECT_URL": f"http://127.0.0.1:{port}",
            "CAUSELINE_COLLECT_CLUSTER": str(cluster.pk),
            "CAUSELINE_COLLECT_TOKEN_FILE": str(token),
            "CAUSELINE_COLLECT_BUFFER_DIR": str(self.buffer),
            **settings,
        }
        self.start()

    def start(self) -> None:
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(
                guarded(self._command, ROOT, None), env=self._environment, stdout=log, stderr=log
            )

    def kill(self) -> None:
        """Kill it at once, as `kill -9` does."""
        kill(self._process)

    def stop(self) -> int:
        """Stop it as Kubernetes does, and return its exit status."""
        self._process.terminate()
        return self._process.wait(30)

    def freeze(self) -> None:
        self._process.send_signal(signal.SIGSTOP)

    def thaw(self) -> None:
        self._process.send_signal(signal.SIGCONT)

    @property
    def log(self) -> str:
        return self._log.read_text()

    @property
    def buffered(self) -> int:
        """Return how many batches wait on disk."""
        return len(list(self.buffer.glob("*.batch")))
