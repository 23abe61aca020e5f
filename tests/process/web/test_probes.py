"""These tests check what the probes of containers ask: whether web lives, and whether worker and beat work."""

import time
from pathlib import Path
from types import SimpleNamespace

import pytest
from celery.utils.timer2 import Timer
from django.test import Client

from collectors.watch.lease_manager import LeaseManager
from dashboard import worker_health
from dashboard.worker_health import MainLoopStep
from tests.patience import eventually
from tests.servers.running import running


def test_a_web_process_says_that_it_lives_without_asking_the_database() -> None:
    """This test has no access to a database, so asking one would fail it."""
    answer = Client(headers={"host": "127.0.0.1"}).get("/livez")
    assert (answer.status_code, answer.content) == (200, b"ok")


def test_beat_touches_the_file_while_it_works(tmp_path: Path) -> None:
    file = tmp_path / "heartbeat"
    with running(tmp_path, "beat", CAUSELINE_HEARTBEAT_FILE=str(file)):
        eventually(file.exists, 30)


def test_a_worker_that_watches_is_well_without_valkey(tmp_path: Path) -> None:
    nobody, file = "redis://127.0.0.1:1/0", tmp_path / "heartbeat"
    with running(tmp_path, "imports", REDIS_URL=nobody, CAUSELINE_HEARTBEAT_FILE=str(file)) as site:
        eventually(file.exists, 30)
        first = file.stat().st_mtime_ns
        eventually(lambda: file.stat().st_mtime_ns > first, 3 * worker_health.EVERY)
        assert "Connection refused" in site.log("imports").read_text(encoding="utf-8")


def test_a_main_loop_that_stands_still_is_noticed_but_not_one_that_connects(monkeypatch: pytest.MonkeyPatch) -> None:
    consumer = SimpleNamespace(controller=SimpleNamespace(), timer=Timer())
    step = MainLoopStep(consumer)
    assert consumer.controller.main_loop is step
    monkeypatch.setattr(worker_health, "PATIENCE", 0.01)
    assert not step.hangs(), "it was not connected yet"
    step.start(consumer)
    time.sleep(0.02)
    assert step.hangs(), "the timer of a loop that stands still notes nothing"
    step.stop(consumer)
    assert not step.hangs(), "it connects again"
    consumer.timer.stop()


def test_a_lease_manager_hangs_when_no_round_ends_until_it_is_stopped() -> None:
    manager = LeaseManager("one", lambda lease: pytest.fail(f"nothing is watched: {lease}"))
    assert not manager.hangs(60)
    time.sleep(0.002)
    assert manager.hangs(0.001)
    manager.stop()
    assert not manager.hangs(0.001)
