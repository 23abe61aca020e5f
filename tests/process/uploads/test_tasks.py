"""These tests check tasks in real processes: which worker runs them, what a message may contain, and when messages
expire."""

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from celery import Celery
from django.contrib.sessions.models import Session
from django.utils import timezone

from dashboard.tasks import clear_sessions
from tests.clients.visitor import Visitor
from tests.inputs.recordings import SAMPLE
from tests.patience import eventually
from tests.servers.running import Running, running


class Trap:
    """This class creates a file when it is unpickled."""

    def __init__(self, file: Path) -> None:
        self.file = file

    def __reduce__(self) -> tuple[Any, ...]:
        return (open, (str(self.file), "w"))


def send(site: Running, name: str, queue: str, *arguments: object, **options: Any) -> None:
    """Send a message as anybody could who can write to the broker."""
    with Celery(broker=site.broker, set_as_current=False) as client:
        client.send_task(name, arguments, queue=queue, task_id=name, **options)


def test_periodic_tasks_never_wait_for_imports_and_what_is_no_number_or_has_expired_is_not_run(tmp_path: Path) -> None:
    trap = tmp_path / "sprung"
    with running(tmp_path, "web", "periodic", CAUSELINE_LOG_LEVEL="INFO") as site:
        visitor = Visitor(site.address)
        _, upload = visitor.ask("POST", "/api/uploads?name=audit.zst", SAMPLE.read_bytes())
        for _ in range(50):
            send(site, "collectors.tasks.keep", "periodic", expires=timezone.now() - timedelta(minutes=1))
        for name in ("collectors.tasks.take_up_uploads", "dashboard.tasks.clear_sessions"):
            send(site, name, "periodic")
            eventually(lambda name=name: f"Task {name}[{name}] succeeded" in log(site, "periodic"), 30)  # type: ignore[misc]
        assert "[collectors.tasks.keep] succeeded" not in log(site, "periodic")
        assert visitor.ask("GET", f"/api/uploads/{upload['id']}")[1]["state"] == "waiting"
        send(site, "collectors.tasks.import_upload", "imports", Trap(trap), serializer="pickle")
        for wrong in ("1", "1; DROP TABLE timeline_upload", -1, 1.5, True, None, [1], {"a": 1}, 2**70):
            send(site, "collectors.tasks.import_upload", "imports", wrong)
        site.start("imports")
        eventually(lambda: visitor.ask("GET", f"/api/uploads/{upload['id']}")[1]["state"] == "done", 60)
        eventually(lambda: log(site, "imports").count("names no upload by its number") >= 9, 30)
        assert "import_upload[" not in log(site, "periodic")
    assert not trap.exists()


@pytest.mark.django_db
def test_sessions_that_have_run_out_are_removed() -> None:
    Session.objects.create(session_key="old", session_data="", expire_date=timezone.now() - timedelta(1))
    Session.objects.create(session_key="new", session_data="", expire_date=timezone.now() + timedelta(1))
    clear_sessions()
    assert list(Session.objects.values_list("session_key", flat=True)) == ["new"]


def log(site: Running, part: str) -> str:
    return site.log(part).read_text(encoding="utf-8", errors="replace")
