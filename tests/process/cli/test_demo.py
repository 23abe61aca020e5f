"""These tests run `causeline demo` in real processes: it shows a recording and a live cluster."""

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests import services
from tests.patience import eventually, patient
from tests.process.cli.test_launcher import OWN_SERVERS, causeline
from tests.processes import descendants, processes
from tests.running import free_port
from tests.visitor import Visitor

SECONDS = 60


@pytest.fixture
def data_dir() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="demo-") as folder:
        services.prepare(data := Path(folder) / "data")
        yield data


def show(data_dir: Path) -> set[str]:
    """Start the demo, wait until the cluster is live, end it, and return the names that it shows. None may be twice."""
    port = free_port()
    with causeline("demo", "--port", str(port), "--data-dir", str(data_dir), "--workers", "1", **OWN_SERVERS) as demo:
        assert demo.stdout and demo.stderr
        address = demo.stdout.readline()
        assert address.startswith(f"http://127.0.0.1:{port}/sources/1/?token="), demo.stderr.read()
        visitor = Visitor(address.strip())

        def moves() -> bool:
            (cluster,) = visitor.ask("GET", "/api/clusters")[1]["clusters"]
            return bool(cluster["state"] == "live" and cluster["health"]["entries"] > 50)

        eventually(moves, SECONDS)
        names = [source["name"] for source in visitor.ask("GET", "/api/sources")[1]["sources"]]
        everything = descendants(demo.pid)
        demo.terminate()
        assert demo.wait(patient(30)) == 0
    eventually(lambda: not everything & processes().keys(), 5)
    assert len(names) == len(set(names))
    return set(names)


def test_the_demo_shows_a_recording_and_a_live_cluster_and_begins_anew_each_time(data_dir: Path) -> None:
    names = {"demo", "volcano-restart", "one-pod-too-many"}
    assert show(data_dir) == names
    assert show(data_dir) == names
