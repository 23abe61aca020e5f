"""These tests check the credentials of clusters in running processes: no log and no answer has them, and the database
has them encrypted."""

import json
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from collectors.replay import Replay, serve
from tests.patience import eventually
from tests.recordings import SAMPLE
from tests.running import Running, running
from tests.visitor import Visitor

SECRET = "pl4nted-t0ken-of-a-service-account"


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Running]:
    with running(tmp_path, CAUSELINE_LOG_LEVEL="DEBUG") as started:
        yield started


@pytest.fixture
def replay() -> Iterator[Replay]:
    with serve([SAMPLE], token=SECRET, paused=True, bookmark_seconds=0.5) as served:
        yield served


def rows(database: str) -> str:
    """Return all rows of all tables as text."""
    found = []
    with psycopg.connect(database) as connection:
        tables = connection.execute("SELECT relname FROM pg_class WHERE relkind = 'r' AND relname LIKE 'timeline%'")
        for (table,) in tables.fetchall():
            found += [text for (text,) in connection.execute(f'SELECT to_jsonb(t)::text FROM "{table}" AS t')]
    return "\n".join(found)


def test_credentials_are_nowhere_in_clear(site: Running, replay: Replay, tmp_path: Path) -> None:
    kubeconfig = tmp_path / "kubeconfig"
    kubeconfig.write_text(json.dumps(replay.kubeconfig))
    site.manage("clusters", "connect", "--name=prod", f"--kubeconfig={kubeconfig}")
    visitor = Visitor(site.address)

    def state() -> str:
        (cluster,) = visitor.ask("GET", "/api/clusters")[1]["clusters"]
        return str(cluster["state"])

    eventually(lambda: state() == "live", seconds=30)
    source = visitor.ask("GET", "/api/clusters")[1]["clusters"][0]["source"]
    replay.control(token="another-token-that-nobody-gave-us", faults=[{"kind": "reset", "resource": "*", "count": 100}])
    replay.control(play=True)
    eventually(lambda: state() == "failing", seconds=30)
    answers = [visitor.ask("GET", path)[1] for path in ("/", "/clusters/", "/api/clusters", f"/sources/{source}/")]
    answers.append(visitor.ask("GET", f"/api/sources/{source}/health")[1])
    assert "401" in str(answers[2])
    for text in (str(answers), rows(site.database), site.log("web").read_text(), site.log("worker").read_text()):
        assert SECRET not in text
    assert "DEBUG" in site.log("worker").read_text()
