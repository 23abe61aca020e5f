"""This module has what scenes with workers that watch replays share: a web process, and what is watched."""

import os
import subprocess
import sys
import urllib.error
import urllib.request
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

from django.db import connection

from dashboard.services.program import guarded
from tests import ROOT
from tests.inputs.recordings import SAMPLE
from tests.patience import patient
from tests.rows.followed import taped
from tests.servers.running import free_port
from timeline.models import Cluster, Source
from timeline.storage import store

TAPE = taped(SAMPLE)
RESOURCES = {
    "pods", "services", "endpoints", "events", "deployments.apps", "replicasets.apps", "jobs.batch.volcano.sh",
    "podgroups.scheduling.volcano.sh", "endpointslices.discovery.k8s.io", "queues.scheduling.volcano.sh",
}  # fmt: skip


def clear() -> None:
    """Remove all clusters and sources, whose tables stay otherwise."""
    Cluster.objects.all().delete()
    for source in Source.objects.all():
        store.discard_source(source)


class Web:
    """This is a web process on the database of the test. It can be killed."""

    def __init__(self, folder: Path) -> None:
        self.port = free_port()
        self._log = folder / "web.log"
        address = urlunsplit(urlsplit(os.environ["DATABASE_URL"])._replace(path=f"/{connection.settings_dict['NAME']}"))
        self._environment = {**os.environ, "DATABASE_URL": address}
        self.start()

    def start(self) -> None:
        command = guarded([sys.executable, "-m", "dashboard.web", "--port", str(self.port)], ROOT, None)
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(command, env=self._environment, stdout=log, stderr=log)

    def kill(self) -> None:
        self._process.kill()
        self._process.wait()

    def posted(self, token: str, body: bytes) -> bool:
        """Send a batch of audit events and return whether it was accepted, as an API server that tries again does."""
        address = f"http://127.0.0.1:{self.port}/api/audit/events"
        request = urllib.request.Request(address, body, {"Authorization": f"Bearer {token}"})
        try:
            with urllib.request.urlopen(request, timeout=patient(10)) as answer:
                return bool(answer.status == 200)
        except urllib.error.HTTPError as error:
            assert error.code in (401, 429, 500, 503), error.read()
        except OSError:
            pass
        return False
