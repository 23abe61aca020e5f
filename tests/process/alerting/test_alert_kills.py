"""This test kills the web process and PostgreSQL while alerts arrive: what was answered with 200 is stored."""

import os
import signal
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import httpx
import psycopg

from dashboard.services.servers import addresses_of
from tests.alertmanager import token_for_alerts
from tests.patience import eventually, patient
from tests.process.uploads.test_kills import Up, up
from tests.processes import descendants, processes
from tests.visitor import Visitor

__all__ = ["up"]
SENDERS = 3
SECONDS = 120
WHO = ("dashboard.web", "/bin/postgres")  # what is killed, in this order


def alert(sender: int, number: int) -> dict[str, Any]:
    labels = {"alertname": "PodDown", "pod": f"train-{sender}-{number}"}
    return {"status": "firing", "labels": labels, "startsAt": "2026-11-18T07:00:00Z"}


def test_what_was_answered_is_stored_whatever_is_killed(up: Up, tmp_path: Path) -> None:
    token = token_for_alerts(Visitor(up.url))
    address = f"{up.url.partition('?')[0].rstrip('/')}/api/receivers/alertmanager"
    answered: list[str] = []
    failed = threading.Event()
    over = threading.Event()

    def send(sender: int) -> None:
        """Send alerts one after another, each until it is answered with 200, as Alertmanager tries again."""
        headers = {"Authorization": f"Bearer {token}"}
        for number in range(100_000):
            body = {"version": "4", "alerts": [alert(sender, number)]}
            while not over.is_set():
                with suppress(httpx.TransportError):
                    if httpx.post(address, json=body, headers=headers, timeout=patient(10)).status_code == 200:
                        answered.append(body["alerts"][0]["labels"]["pod"])  # type: ignore[index]
                        break
                failed.set()
                time.sleep(0.05)
            if over.is_set():
                return

    def kill(name: str) -> None:
        table = processes()
        for pid in descendants(up.pid):
            if name in table.get(pid, (0, ""))[1]:
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)

    senders = [threading.Thread(target=send, args=(number,)) for number in range(SENDERS)]
    for sender in senders:
        sender.start()
    try:
        for name in WHO:
            failed.clear()
            before = len(answered)
            eventually(lambda before=before: len(answered) > before + 10, SECONDS)  # type: ignore[misc]
            kill(name)
            eventually(failed.is_set, SECONDS)
        before = len(answered)
        eventually(lambda: len(answered) > before + 10, SECONDS)
    finally:
        over.set()
        for sender in senders:
            sender.join()
    addresses = addresses_of(tmp_path / "data")
    assert addresses
    with psycopg.connect(addresses.database_url) as connection:
        rows = connection.execute("SELECT labels ->> 'pod', count(*) FROM timeline_alert GROUP BY 1").fetchall()
    assert set(answered) <= {pod for pod, _ in rows}
    assert {count for _, count in rows} == {1}
