"""These tests let Debian's Alertmanager and Prometheus talk with Causeline, as processes of their own."""

import subprocess
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx
import pytest
import yaml
from django.test import Client
from django.utils import timezone
from pytest_django import Settings

from collectors.hosts import allowed_hosts
from dashboard.access.tokens import tokens
from dashboard.alerting import notifying, sending
from dashboard.models import Delivery, RouteState
from tests import ROOT
from tests.clients.visitor import Visitor
from tests.patience import eventually, patient
from tests.process.conftest import METRICS_TOKEN
from tests.rows import routed
from tests.servers.alertmanager import alertmanager, program, prometheus, token_for_alerts, written
from tests.servers.answering import LOCALHOST, receiving
from tests.servers.running import WITH_TOKEN, Running
from timeline.models import Alert


def test_alertmanager_posts_alerts_that_fire_and_end(observed: Running, tmp_path: Path) -> None:
    token = token_for_alerts(Visitor(observed.address))
    authorization = {"authorization": {"credentials": token}}
    address = f"{observed.address}/api/receivers/alertmanager"
    webhook = {"url": address, "send_resolved": True, "http_config": authorization}

    def stored() -> list[dict[str, Any]]:
        answer = httpx.get(f"{observed.address}/api/alerts?limit=100", headers=WITH_TOKEN, timeout=patient(10))
        return list(answer.raise_for_status().json()["alerts"])

    began = datetime.now(UTC) - timedelta(minutes=5)
    alerts = [
        {
            "labels": {"alertname": "PodDown", "pod": f"train-{number}", "odd": "é \n\t<b>"},
            "annotations": {"summary": "It is down."},
            "startsAt": written(began),
            "generatorURL": "https://prometheus.example/graph?g0.expr=up",
        }
        for number in range(30)
    ]
    with alertmanager(tmp_path, webhook, group_by=["alertname"]) as other:
        other.tell(*alerts)
        eventually(lambda: len(stored()) == 30, 30)
        known = {each["labels"]["pod"]: each for each in stored()}
        one = known["train-7"]
        assert (one["state"], one["receiver"], one["labels"]["odd"]) == ("firing", "alertmanager", "é \n\t<b>")
        assert one["start"] // 1000 == int(began.timestamp() * 1000)
        assert one["link"] == "https://prometheus.example/graph?g0.expr=up"
        latest = max(each["seen"] for each in known.values())
        eventually(lambda: min(each["seen"] for each in stored()) > latest, 30)
        ended = datetime.now(UTC)
        other.tell(*({**each, "endsAt": written(ended)} for each in alerts))
        eventually(lambda: {each["state"] for each in stored()} == {"resolved"}, 30)
        assert len(stored()) == 30  # notified again and again, each is one alert
        assert {each["end"] // 1000 for each in stored()} == {int(ended.timestamp() * 1000)}


def test_the_configuration_of_the_how_to_is_one(tmp_path: Path) -> None:
    how_to = (ROOT / "docs/how-to/link-and-receive-alerts.md").read_text(encoding="utf-8")
    whole, part = (
        how_to.split(f"```yaml\n# {name}\n")[1].split("```")[0]
        for name in ("alertmanager.yaml", "in the route that exists")
    )
    given = yaml.safe_load(whole)
    given["route"] |= yaml.safe_load(part)
    for number, configuration in enumerate((yaml.safe_load(whole), given)):
        file = tmp_path / f"{number}.yml"
        file.write_text(yaml.safe_dump(configuration))
        reported = subprocess.run([program("amtool"), "check-config", str(file)], capture_output=True, text=True)
        assert reported.returncode == 0, reported.stderr


def test_prometheus_scrapes_the_metrics(observed: Running, tmp_path: Path) -> None:
    target = {"targets": [observed.address.removeprefix("http://")]}
    authorization = {"credentials": METRICS_TOKEN}
    scrape = {"job_name": "causeline", "authorization": authorization, "static_configs": [target]}
    with prometheus(tmp_path, scrape) as other:

        def value(query: str) -> list[str]:
            answer = httpx.get(f"{other}/api/v1/query", params={"query": query}, timeout=patient(10)).json()
            return [each["value"][1] for each in answer["data"]["result"]]

        eventually(lambda: value('up{job="causeline"}') == ["1"])
        eventually(lambda: value("count({__name__=~'causeline_.+'}) > bool 20") == ["1"])


@pytest.mark.django_db(transaction=True)
def test_incidents_become_alerts_of_alertmanager_and_come_back_as_our_own(tmp_path: Path, settings: Settings) -> None:
    settings.DESTINATION_HOSTS = allowed_hosts([LOCALHOST])
    settings.CREDENTIALS_KEYS = ["k" * 32]
    settings.ADDRESS = "https://causeline.example.org"
    source = routed.live_source()

    def tell() -> None:
        notifying.notify()
        sending.deliver()

    with receiving() as back, alertmanager(tmp_path, {"url": f"{back.url}/back"}) as other:
        to = routed.destination(other.url.replace("127.0.0.1", "localhost"), "alertmanager")
        routed.route(to)
        routed.incident(source, rank=1, open=True, cause="The controller acted on an old copy.")
        tell()
        eventually(lambda: len(other.alerts()) == 1)
        (alert,) = other.alerts()
        assert alert["labels"] == {
            "alertname": "service-gap",
            "severity": "warning",
            "cluster": "prod",
            "namespace": "shop",
            "owner": "Service/ring",
            "causeline_incident": "a" * 16,
        }
        assert alert["annotations"]["summary"] == "Service ring was deleted while its Pods were running"
        assert alert["annotations"]["cause"] == "The controller acted on an old copy."
        assert alert["generatorURL"] == f"https://causeline.example.org/sources/{source.pk}/incidents/{'a' * 16}/"
        ends = datetime.fromisoformat(alert["endsAt"])
        assert ends - timezone.now() > timedelta(minutes=20)

        RouteState.objects.update(refreshed=timezone.now() - timedelta(minutes=6))
        tell()  # it goes on, and would end in Alertmanager if it were not sent again
        eventually(lambda: datetime.fromisoformat(other.alerts()[0]["endsAt"]) > ends)
        assert Delivery.objects.filter(refresh=True, state="sent").count() == 1

        routed.incident(source, rank=0, open=True)  # the severity is a label, so this is another alert
        tell()
        eventually(lambda: [each["labels"]["severity"] for each in other.alerts()] == ["error"])
        assert sending.send_test(to).answer == "200 OK"
        routed.over(source)
        tell()
        eventually(lambda: other.alerts() == [])

        eventually(lambda: len(back.requests) > 1)
        text, _ = tokens.issue("am", ["alerts"], expires=timezone.now() + timedelta(days=1), by="test")
        answer = Client().post(
            "/api/receivers/alertmanager",
            back.requests[0].body,
            content_type="application/json",
            headers={"Authorization": f"Bearer {text}"},
        )
        assert answer.json() == {"received": 0} and not Alert.objects.exists()
