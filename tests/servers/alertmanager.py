"""This module runs Debian's Alertmanager and Prometheus, unmodified, in processes of their own."""

import re
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import httpx
import yaml

from dashboard.services.program import guarded
from tests import ROOT
from tests.clients.visitor import Visitor
from tests.patience import eventually, patient
from tests.servers.processes import stop
from tests.servers.running import free_port

SECONDS = 20
TEMPLATES = Path("/usr/share/prometheus/alertmanager")  # Debian's Alertmanager reads them from nowhere else
WAIT = "100ms"  # how long Alertmanager waits for further alerts of a group before it notifies


class Alertmanager:
    """This is a running Alertmanager: its address, and what it receives and knows."""

    def __init__(self, url: str) -> None:
        self.url = url

    def tell(self, *alerts: dict[str, Any]) -> None:
        """Send alerts in the form of its API: labels, and if needed annotations, startsAt, endsAt, generatorURL."""
        httpx.post(f"{self.url}/api/v2/alerts", json=list(alerts), timeout=patient(SECONDS)).raise_for_status()

    def alerts(self) -> list[dict[str, Any]]:
        """Return the alerts that it knows and that have not ended."""
        answer = httpx.get(f"{self.url}/api/v2/alerts", timeout=patient(SECONDS)).raise_for_status()
        return list(answer.json())


def token_for_alerts(visitor: Visitor, name: str = "alertmanager") -> str:
    """Make an access token of the scope `alerts` on the page of a running Causeline, and return its text."""
    form = urlencode({"act": "create", "name": name, "scope": "alerts", "days": "30"}).encode()
    status, page = visitor.ask("POST", "/tokens/", form, Content_Type="application/x-www-form-urlencoded")
    found = re.search(rb"causeline_[\w-]{43}", page)
    assert status == 200 and found, page
    return found[0].decode()


def program(name: str) -> str:
    """Return the path of a program of Debian's packages."""
    found = shutil.which(name) or shutil.which(name, path=ROOT / ".venv/prometheus/usr/bin")
    assert found, f"{name} is missing: deploy/install-prometheus.sh installs it"
    return found


@contextmanager
def alertmanager(folder: Path, *webhooks: dict[str, Any], group_by: Sequence[str] = ("...",)) -> Iterator[Alertmanager]:
    """Run an Alertmanager that notifies these webhooks, each a `webhook_config`, at once, again, and of what ended.

    `folder` gets its configuration, data and log. Without webhooks it only keeps what it receives.
    """
    url = f"http://127.0.0.1:{free_port()}"
    waits = {"group_wait": WAIT, "group_interval": WAIT, "repeat_interval": "1s"}
    configuration = {
        "route": {"receiver": "all", "group_by": list(group_by), **waits},
        "receivers": [{"name": "all", "webhook_configs": list(webhooks)}],
    }
    file = folder / "alertmanager.yml"
    file.write_text(yaml.safe_dump(configuration))
    command = [
        *_with_templates(),
        program("prometheus-alertmanager"),
        f"--config.file={file}",
        f"--storage.path={folder / 'alertmanager'}",
        f"--web.listen-address={url.removeprefix('http://')}",
        "--cluster.listen-address=",
    ]
    with _running(command, folder / "alertmanager.log", f"{url}/-/ready"):
        yield Alertmanager(url)


@contextmanager
def prometheus(folder: Path, *scrapes: dict[str, Any]) -> Iterator[str]:
    """Run a Prometheus with these `scrape_configs`, and yield its address."""
    url = f"http://127.0.0.1:{free_port()}"
    file = folder / "prometheus.yml"
    file.write_text(yaml.safe_dump({"global": {"scrape_interval": "1s"}, "scrape_configs": list(scrapes)}))
    command = [
        program("prometheus"),
        f"--config.file={file}",
        f"--storage.tsdb.path={folder / 'prometheus'}",
        f"--web.listen-address={url.removeprefix('http://')}",
    ]
    with _running(command, folder / "prometheus.log", f"{url}/-/ready"):
        yield url


def _with_templates() -> list[str]:
    """Return the command before Alertmanager's that shows it the unpacked templates, where the machine has none."""
    if TEMPLATES.exists():
        return []
    share = str(ROOT / ".venv/prometheus/usr/share")
    shown = 'mount --bind "$0" /usr/share && exec "$@"'
    return [shutil.which("unshare") or "unshare", "-rm", "/bin/sh", "-c", shown, share]


def written(moment: datetime) -> str:
    """Return a time as Alertmanager reads it."""
    return moment.isoformat(timespec="milliseconds")


@contextmanager
def _running(command: list[str], log: Path, ready: str) -> Iterator[None]:
    with log.open("ab") as output:
        process = subprocess.Popen(guarded(command, ROOT, None), stdout=output, stderr=subprocess.STDOUT)

    def answers() -> bool:
        assert process.poll() is None, log.read_text()[-4000:]
        try:
            return httpx.get(ready, timeout=patient(5)).is_success
        except httpx.TransportError:
            return False

    try:
        eventually(answers, SECONDS)
        yield
    finally:
        stop(process, seconds=SECONDS)
