"""These tests scrape a running web process: the metrics cover all processes, and agree with what was imported."""

import re
import urllib.error
import urllib.request
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone
from prometheus_client.parser import text_string_to_metric_families
from pytest_django import Settings

from dashboard.metrics import exposition, processes, requests, state
from dashboard.models import Destination, ProcessFigures
from dashboard.services.launcher import SAMPLE
from tests import ROOT
from tests.patience import eventually
from tests.running import free_port, running
from tests.visitor import Visitor
from timeline import metrics
from timeline.models import Cluster, Collector, Finding, Gap, Source, Usage

TOKEN = "the-token-of-the-metrics-of-the-tests-0123"
Samples = dict[tuple[str, frozenset[tuple[str, str]]], float]


def parsed(text: str) -> Samples:
    return {
        (sample.name, frozenset(sample.labels.items())): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def scrape(address: str, token: str = "") -> str:
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    with urllib.request.urlopen(urllib.request.Request(address, headers=headers), timeout=30) as answer:
        assert answer.headers["Content-Type"].startswith("text/plain; version=0.0.4")
        return str(answer.read().decode())


def value(samples: Samples, name: str, **labels: str) -> float:
    return samples[name, frozenset(labels.items())]


def documented() -> dict[str, tuple[str, set[str], str]]:
    """Return type, labels and meaning of each metric in docs/metrics.md."""
    text = (ROOT / "docs/metrics.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `(\w+)` \| (\w+) \| (.*?) ?\| \S+ \| (.+) \|$", text, re.MULTILINE)
    return {name: (kind, set(re.findall(r"`(\w+)`", labels)), meaning) for name, kind, labels, meaning in rows}


def _has_the_import(page: str) -> bool:
    """Return whether the worker has reported all that an import counts; it may report in the middle of it."""
    counted = (
        'causeline_judge_seconds_count{cause="import"} 1.0',
        'causeline_ingested_changes_total{how="import"}',
        'causeline_ingested_bytes_total{how="import"}',
    )
    return all(each in page for each in counted)


def test_a_scrape_of_web_agrees_with_what_a_worker_imported(tmp_path: Path) -> None:
    port = free_port()
    with running(
        tmp_path, CAUSELINE_METRICS_TOKEN=TOKEN, CAUSELINE_METRICS_PORT=str(port), PYTHONWARNINGS="ignore"
    ) as site:
        visitor = Visitor(site.address)
        content = SAMPLE.read_bytes()
        _, upload = visitor.ask("POST", "/api/uploads?name=audit.zst", content)
        eventually(lambda: visitor.ask("GET", f"/api/uploads/{upload['id']}")[1]["state"] == "done", 60)
        source = visitor.ask("GET", f"/api/uploads/{upload['id']}")[1]["source"]
        payload = visitor.ask("GET", f"/api/sources/{source}")[1]
        document = visitor.ask("GET", f"/api/sources/{source}/document")[1]

        address = f"{site.address}/metrics"
        eventually(lambda: _has_the_import(scrape(address, TOKEN)), 30)
        samples = parsed(scrape(address, TOKEN))
        label = str(source)
        assert value(samples, "causeline_source_changes_total", source=label) == payload["entries"]
        assert value(samples, "causeline_ingested_changes_total", how="import") == payload["entries"]
        assert value(samples, "causeline_ingested_bytes_total", how="import") == len(content)
        assert value(samples, "causeline_uploads", state="done") == 1
        assert value(samples, "causeline_queue_messages", queue="imports") == 0
        assert value(samples, "causeline_processes", kind="web") == 1
        assert value(samples, "causeline_processes", kind="worker") == 1
        found: dict[frozenset[tuple[str, str]], int] = {}
        for each in document["findings"]:
            key = frozenset({"source": label, "rule": each["rule"], "severity": each["severity"]}.items())
            found[key] = found.get(key, 0) + 1
        assert found and {key[1]: count for key, count in samples.items() if key[0] == "causeline_findings"} == found
        route = {"method": "GET", "route": "/api/uploads/<upload_id>"}
        assert value(samples, "causeline_http_requests_total", status="200", **route) >= 2
        assert value(samples, "causeline_http_request_seconds_count", **route) >= 2
        assert not {key for key in samples if str(upload["id"]) in dict(key[1]).get("route", "")}

        assert parsed(scrape(f"http://127.0.0.1:{port}/metrics")).keys() >= {
            key for key in samples if key[0].startswith("causeline_source")
        }
        for wrong in ("", "x" * 42):
            with pytest.raises(urllib.error.HTTPError, match="401"):
                scrape(address, wrong)
        with pytest.raises(urllib.error.HTTPError, match="401"):
            scrape(f"{site.address}/api/sources", TOKEN)
        assert visitor.ask("GET", "/metrics")[0] == 200, "whoever sees the pages sees the metrics"


@pytest.fixture
def scraped(db: None, monkeypatch: pytest.MonkeyPatch) -> Callable[[], Samples]:
    """Return a function that scrapes this process without cached answers."""
    monkeypatch.setattr(exposition, "CACHED", 0.0)
    return lambda: parsed(exposition.text().decode())


def test_every_metric_is_documented_with_type_labels_and_meaning(scraped: Callable[[], Samples]) -> None:
    cluster = Cluster.objects.create(name="prod")
    source = Source.objects.create(name="prod", ready=True, cluster=cluster)
    Cluster.objects.update(source=source)
    source.delta_set.create(sequence=1, at=timezone.now() - timedelta(seconds=9), changed={"lag": 1_500_000})
    add_finding(source)
    now = timezone.now()
    for age, size in ((1, 3), (0, 7)):
        sizes = dict.fromkeys(("chunks", "tracks", "findings", "logs", "evidence"), size)
        Usage.objects.create(source=source, day=(now - timedelta(days=age)).date(), at=now, entries=1, **sizes)
    assert value(scraped(), "causeline_source_bytes", source=str(source.pk)) == 35
    Destination.objects.create(name="pager", kind="webhook", sealed=b"")
    Collector.objects.create(cluster=cluster, holder="pod", renewed_at=timezone.now())
    for group, kind in (("", "Pod"), ("audit.k8s.io", "Event")):  # the second is of the audit log, and not counted
        Gap.objects.create(
            source=source, group=group, kind=kind, since=timezone.now(), until=timezone.now(), reason="x"
        )
    metrics.JUDGE_SECONDS.labels("live").observe(0.1)
    metrics.INGESTED_CHANGES.labels("live").inc()
    metrics.INGESTED_BYTES.labels("import").inc()
    requests.ALERTS.labels("json").inc()
    requests.REQUESTS.labels("GET", "/", "200").inc()
    requests.SECONDS.labels("GET", "/").observe(0.1)
    requests.ALERTS.labels("json").inc()
    requests.SOCKETS.labels("source").set(0)
    requests.WAITING_MESSAGES.labels("sources").set(0)
    exported = {}
    for family in text_string_to_metric_families(exposition.text().decode()):
        assert family.samples, f"{family.name} has no sample in this test"
        name = f"{family.name}_total" if family.type == "counter" else family.name
        labels = {label for sample in family.samples for label in sample.labels} - {"le"}
        exported[name] = family.type, labels, family.documentation
    assert exported == documented()
    samples = scraped()
    assert value(samples, "causeline_source_lag_seconds", source=str(source.pk)) == 1.5
    assert 9 <= value(samples, "causeline_source_silent_seconds", source=str(source.pk)) < 60
    assert value(samples, "causeline_source_gaps", source=str(source.pk)) == 1
    assert value(samples, "causeline_cluster_state", cluster="prod", state="waiting") == 1
    assert value(samples, "causeline_cluster_watched", cluster="prod") == 0


def add_finding(source: Source) -> None:
    now = timezone.now()
    about: dict[str, Any] = {"namespace": "", "subject": 1, "root": 1, "tracks": [], "document": {}, "occurrences": []}
    Finding.objects.create(source=source, identity="a", rule="r", severity="error", first=now, last=now, **about)
    Finding.objects.create(
        source=source, identity="b", rule="r", severity="error", first=now, last=now, withdrawn=True, **about
    )


def test_sources_beyond_the_bound_are_added_up(scraped: Callable[[], Samples], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(state, "SOURCES", 2)
    sources = [Source.objects.create(name=f"s{number}", ready=True, entries=10**number) for number in range(4)]
    cluster = Cluster.objects.create(name="prod", source=sources[0])
    for each in sources:
        add_finding(each)
    samples = scraped()
    changes = {
        dict(key[1])["source"]: count
        for key, count in samples.items()
        if key[0].endswith("changes_total") and "source" in dict(key[1])
    }
    assert changes == {str(sources[0].pk): 1, str(sources[3].pk): 1000, "other": 110}, cluster
    assert value(samples, "causeline_findings", source="other", rule="r", severity="error") == 2


def test_counters_of_all_processes_are_added_up_and_never_go_back(scraped: Callable[[], Samples]) -> None:
    figures = [
        ["causeline_ingested_changes_total", [["how", "elsewhere"]], 40],
        ["causeline_sockets", [["path", "elsewhere"]], 3],
    ]
    for process, age in (("one", timedelta(0)), ("two", timedelta(minutes=5)), ("three", timedelta(days=2))):
        ProcessFigures.objects.create(process=process, kind="web", reported=timezone.now() - age, figures=figures)
    for _ in range(2):
        samples = scraped()
        assert value(samples, "causeline_ingested_changes_total", how="elsewhere") == 120
        assert value(samples, "causeline_sockets", path="elsewhere") == 3, "only living processes have sockets"
        processes.fold()
    assert set(ProcessFigures.objects.values_list("process", flat=True)) >= {"one", "two", "past"}
    assert not ProcessFigures.objects.filter(process="three").exists()


@pytest.mark.django_db
def test_strangers_may_not_read_the_metrics(settings: Settings) -> None:
    settings.LOGIN_REQUIRED = True
    client = Client()
    assert client.get("/metrics").status_code == 401
    assert client.get("/metrics", headers={"Authorization": "Bearer "}).status_code == 401
    settings.METRICS_TOKEN = TOKEN
    assert client.get("/metrics", headers={"Authorization": f"Bearer {TOKEN}"}).status_code == 200
    assert client.get("/", headers={"Authorization": f"Bearer {TOKEN}"}).status_code == 302
