"""These tests let Debian's Alertmanager and Prometheus talk with Causeline, as processes of their own."""

from pathlib import Path

import httpx

from tests.alertmanager import alertmanager, prometheus
from tests.patience import eventually, patient
from tests.running import running

METRICS = "only-for-the-tests-of-metrics-0123456789"


def test_alertmanager_keeps_what_it_is_told(tmp_path: Path) -> None:
    with alertmanager(tmp_path) as other:
        other.tell({"labels": {"alertname": "PodDown", "pod": "train-0"}})
        eventually(lambda: [each["labels"]["pod"] for each in other.alerts()] == ["train-0"])


def test_prometheus_scrapes_the_metrics(tmp_path: Path) -> None:
    with running(tmp_path, "web", CAUSELINE_METRICS_TOKEN=METRICS) as causeline:
        target = causeline.address.removeprefix("http://")
        scrape = {
            "job_name": "causeline",
            "authorization": {"credentials": METRICS},
            "static_configs": [{"targets": [target]}],
        }
        with prometheus(tmp_path, scrape) as other:

            def value(query: str) -> list[str]:
                answer = httpx.get(f"{other}/api/v1/query", params={"query": query}, timeout=patient(10)).json()
                return [each["value"][1] for each in answer["data"]["result"]]

            eventually(lambda: value('up{job="causeline"}') == ["1"])
            eventually(lambda: value("count({__name__=~'causeline_.+'}) > bool 20") == ["1"])
