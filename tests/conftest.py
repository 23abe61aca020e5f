"""These hooks hold for the tests of all layers. Tests that need Django also get the fixtures of `tests/fixtures.py`."""

import gc
import os
import signal
from collections import deque
from collections.abc import Generator
from pathlib import Path

import pytest
from hypothesis import settings

from tests import ROOT
from tests.properties import SUITE

# A shell makes its background processes ignore SIGINT, and their children inherit that. Tests send SIGINT.
signal.signal(signal.SIGINT, signal.default_int_handler)

settings.load_profile(SUITE)

BROWSER = ROOT / "tests" / "browser"

# Seconds that files take whose tests wait long for processes.
LONGEST = {
    "test_kills.py": 110, "test_launcher.py": 70, "test_collecting.py": 60, "test_watch.py": 50, "test_faults.py": 50,
    "test_high_availability.py": 45, "test_services.py": 35, "test_commands.py": 30, "test_helpers.py": 30,
    "test_conformance.py": 30, "test_portions.py": 25, "test_apprise.py": 25, "test_backups.py": 25, "test_mcp.py": 25,
    "test_tasks.py": 20, "test_alertmanager.py": 20, "test_root.py": 20, "test_slow_requests.py": 20,
    "test_replay_faults.py": 20, "test_pull_stores.py": 20, "test_probes.py": 20, "test_share_links.py": 20,
    "test_record.py": 15, "test_migrations.py": 15, "test_tutorial.py": 15,
}  # fmt: skip


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Let the workers of pytest-xdist begin with the tests that take long, so that none still runs one at the end.

    Each worker begins with its part of the list. One half of them begins with the tests that wait long. The other half
    begins with those of the browser: these use the processors meanwhile, and the fewer workers run such tests, the
    fewer start a browser and the Causeline that it looks at.
    """
    workers = int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))
    files: dict[Path, list[pytest.Item]] = {}
    for item in items:
        files.setdefault(item.path, []).append(item)
    waiting = {file: LONGEST[file.name] for file in files if file.name in LONGEST}
    looking = {file: len(files[file]) for file in files if BROWSER in file.parents}
    half = workers // 2
    shares = [*_shares(waiting, max(1, half)), *_shares(looking, max(1, workers - half))][:workers]
    first = {file for share in shares for file in share}
    others = deque(item for item in items if item.path not in first)
    ordered: list[pytest.Item] = []
    for number, share in enumerate(shares):
        end = len(ordered) + (len(items) - len(ordered)) // (workers - number)
        ordered += [item for file in share for item in files[file]]
        while len(ordered) < end and others:
            ordered.append(others.popleft())
    items[:] = ordered


def _shares(costs: dict[Path, int], count: int) -> list[list[Path]]:
    """Distribute files evenly, the most expensive ones first."""
    shares: list[list[Path]] = [[] for _ in range(count)]
    sums = [0] * count
    for file, cost in sorted(costs.items(), key=lambda each: -each[1]):
        least = sums.index(min(sums))
        shares[least].append(file)
        sums[least] += cost
    return shares


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Disable garbage collection while pytest collects the tests, because hardly any of these objects are garbage."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()


def pytest_collection_finish() -> None:
    """Exclude the collected tests from garbage collection, because thousands of them stay in memory."""
    gc.collect()
    gc.freeze()


def pytest_runtest_teardown() -> None:
    """Enable garbage collection again: commands disable it, since their process ends soon, but here the tests go on in
    the same process."""
    gc.enable()
