"""These tests scrape a running web process: the metrics cover all processes, and agree with what was imported."""

import urllib.error
import urllib.request
from collections import Counter

import pytest

from dashboard.services.launcher import SAMPLE
from tests.clients.visitor import Visitor
from tests.database.metrics.test_metrics import Samples, parsed, value
from tests.patience import eventually
from tests.process.conftest import METRICS_TOKEN
from tests.servers.running import Running


def scrape(address: str, token: str = "") -> str:
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    with urllib.request.urlopen(urllib.request.Request(address, headers=headers), timeout=30) as answer:
        assert answer.headers["Content-Type"].startswith("text/plain; version=0.0.4")
        return str(answer.read().decode())


def reported(address: str) -> Samples:
    """Return the metrics when the worker has reported all imports, also that of the test before this one, which is of
    the same file. It counts the bytes of an import last."""
    found: Samples = {}

    def all_are() -> bool:
        found.clear()
        found.update(parsed(scrape(address, METRICS_TOKEN)))
        done = found.get(("causeline_uploads", frozenset({("state", "done")})), 0)
        sent = found.get(("causeline_ingested_bytes_total", frozenset({("how", "import")})), 0)
        return sent >= done * SAMPLE.stat().st_size

    eventually(all_are, 60)
    return found


def test_a_scrape_of_web_agrees_with_what_a_worker_imported(observed: Running) -> None:
    visitor, address = Visitor(observed.address), f"{observed.address}/metrics"
    visitor.ask("GET", "/api/uploads/1")  # so that its route is counted already
    content, before = SAMPLE.read_bytes(), reported(address)
    _, upload = visitor.ask("POST", "/api/uploads?name=audit.zst", content)
    eventually(lambda: visitor.ask("GET", f"/api/uploads/{upload['id']}")[1]["state"] == "done", 60)
    source = visitor.ask("GET", f"/api/uploads/{upload['id']}")[1]["source"]
    payload = visitor.ask("GET", f"/api/sources/{source}")[1]
    document = visitor.ask("GET", f"/api/sources/{source}/document")[1]

    def grown(name: str, **labels: str) -> float:
        """Return by how much a metric has grown; the worker reports in the middle of an import, too."""
        key = name, frozenset(labels.items())
        return parsed(scrape(address, METRICS_TOKEN)).get(key, 0) - before.get(key, 0)

    eventually(lambda: grown("causeline_judge_seconds_count", cause="import") == 1, 30)
    assert grown("causeline_ingested_changes_total", how="import") == payload["entries"]
    assert grown("causeline_ingested_bytes_total", how="import") == len(content)
    assert grown("causeline_uploads", state="done") == 1
    route = {"method": "GET", "route": "/api/uploads/<upload_id>"}
    assert grown("causeline_http_requests_total", status="200", **route) >= 2
    assert grown("causeline_http_request_seconds_count", **route) >= 2
    samples = parsed(scrape(address, METRICS_TOKEN))
    label = str(source)
    assert value(samples, "causeline_source_changes_total", source=label) == payload["entries"]
    assert value(samples, "causeline_queue_messages", queue="imports") == 0
    assert (
        value(samples, "causeline_processes", kind="web") == value(samples, "causeline_processes", kind="worker") == 1
    )
    counted = Counter((each["rule"], each["severity"]) for each in document["findings"])
    for (rule, severity), count in counted.items():
        assert value(samples, "causeline_findings", source=label, rule=rule, severity=severity) == count
    assert counted and not [key for key in samples if f"uploads/{upload['id']}" in dict(key[1]).get("route", "")]

    alone = f"http://127.0.0.1:{observed.environment['CAUSELINE_METRICS_PORT']}/metrics"
    assert parsed(scrape(alone)).keys() >= {key for key in samples if key[0].startswith("causeline_source")}
    for where, wrong in ((address, ""), (address, "x" * 42), (f"{observed.address}/api/sources", METRICS_TOKEN)):
        with pytest.raises(urllib.error.HTTPError, match="401"):
            scrape(where, wrong)
    assert visitor.ask("GET", "/metrics")[0] == 200, "whoever sees the pages sees the metrics"
