"""These tests check the credentials of clusters in running processes: no log and no answer has them, and the database
has them encrypted."""

import json
from pathlib import Path
from typing import Any

import psycopg

from collectors.replay import serve
from tests.clients.visitor import Visitor
from tests.inputs.recordings import SAMPLE
from tests.patience import eventually
from tests.servers.running import Running

SECRET = "pl4nted-t0ken-of-a-service-account"


def rows(database: str) -> str:
    """Return all rows of all tables as text."""
    found = []
    with psycopg.connect(database) as connection:
        tables = connection.execute("SELECT relname FROM pg_class WHERE relkind = 'r' AND relname LIKE 'timeline%'")
        for (table,) in tables.fetchall():
            found += [text for (text,) in connection.execute(f'SELECT to_jsonb(t)::text FROM "{table}" AS t')]
    return "\n".join(found)


def test_credentials_are_nowhere_in_clear(observed: Running, tmp_path: Path) -> None:
    kubeconfig, visitor = tmp_path / "kubeconfig", Visitor(observed.address)

    def cluster() -> dict[str, Any]:
        clusters: list[dict[str, Any]] = visitor.ask("GET", "/api/clusters")[1]["clusters"]
        return next(each for each in clusters if each["name"] == "planted")

    with serve([SAMPLE], token=SECRET, paused=True, bookmark_seconds=0.5) as replay:
        kubeconfig.write_text(json.dumps(replay.kubeconfig))
        observed.manage("causeline", "connect", "--name=planted", f"--kubeconfig={kubeconfig}")
        eventually(lambda: cluster()["state"] == "live", seconds=30)
        source = cluster()["source"]
        resets = [{"kind": "reset", "resource": "*", "count": 100}]
        replay.control(token="another-token-that-nobody-gave-us", faults=resets)
        replay.control(play=True)
        eventually(lambda: cluster()["state"] == "failing", seconds=30)
        paths = ("/", "/clusters/", "/api/clusters", f"/sources/{source}/", f"/api/sources/{source}/health")
        answers = {path: visitor.ask("GET", path)[1] for path in paths}
    assert "401" in str(answers["/api/clusters"])
    logs = [observed.log(part).read_text() for part in ("web", "worker")]
    for text in (str(answers), rows(observed.database), *logs):
        assert SECRET not in text
    assert '"level": "DEBUG"' in logs[1]
    observed.manage("causeline", "disconnect", "--delete", "--yes", "planted")
