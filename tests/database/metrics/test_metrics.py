"""These tests scrape this process: each metric is documented, and those of several sources and processes are added
up."""

import re
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone
from prometheus_client.parser import text_string_to_metric_families
from pytest_django import Settings

from dashboard.metrics import exposition, processes, requests, state
from dashboard.models import Destination, ProcessFigures
from tests import ROOT
from timeline import metrics
from timeline.models import Cluster, Collector, Finding, Gap, Source, Usage

Samples = dict[tuple[str, frozenset[tuple[str, str]]], float]
TOKEN = "the-token-of-the-metrics-of-the-tests-0123"


def parsed(text: str) -> Samples:
    return {
        (sample.name, frozenset(sample.labels.items())): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def value(samples: Samples, name: str, **labels: str) -> float:
    return samples[name, frozenset(labels.items())]


def documented() -> dict[str, tuple[str, set[str], str]]:
    """Return type, labels and meaning of each metric in docs/metrics.md."""
    text = (ROOT / "docs/metrics.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `(\w+)` \| (\w+) \| (.*?) ?\| \S+ \| (.+) \|$", text, re.MULTILINE)
    return {name: (kind, set(re.findall(r"`(\w+)`", labels)), meaning) for name, kind, labels, meaning in rows}


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
