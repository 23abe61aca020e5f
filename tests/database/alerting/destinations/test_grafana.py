"""These tests check Grafana's annotations: those that Grafana asks for, and those that are written into Grafana."""

import json
import threading
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from django.test import Client
from django.utils import timezone

from dashboard.alerting.destinations import grafana, kinds
from dashboard.alerting.messages import DestinationRefused, Message, Unreachable
from tests.database.access.asking import bearer, issued
from tests.servers.answering import closed_port
from timeline.models import Cluster, Finding, Incident, Occurrence, Silence, Source

GAP = 1795247520841106  # µs: the Service ring is deleted
RANGE = {"from": str(GAP // 1000 - 1000), "to": str(GAP // 1000 + 1000)}


def asked(client: Client, **question: str | int) -> Any:
    answer = client.get("/api/annotations", {**RANGE, **question})
    assert answer.status_code == 200, answer.content
    return answer.json()


@pytest.mark.django_db
def test_what_happened_in_a_range_of_time_is_a_table(client: Client, sample: Source) -> None:
    found = asked(client, source=sample.pk)
    between = Occurrence.objects.filter(source=sample, first__lte=datetime.fromtimestamp(GAP / 1e6 + 1, UTC),
                                        last__gte=datetime.fromtimestamp(GAP / 1e6 - 1, UTC))  # fmt: skip
    assert len(found) == between.count() > 0
    assert [each["timeEnd"] for each in found] == sorted((each["timeEnd"] for each in found), reverse=True)
    gap = next(each for each in found if each["rule"] == "service-gap")
    assert gap["time"] == GAP // 1000 and gap["timeEnd"] - gap["time"] < 100
    assert gap["title"].startswith("Service ring was away")
    assert gap["tags"] == "causeline,warning,service-gap,vol-restart,sample"
    assert client.get(gap["url"].removeprefix("http://testserver")).status_code == 200


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("question", "some"),
    [
        ({"from": "soon"}, 422), ({"from": "2", "to": "1"}, 422), ({"limit": "1001"}, 422), ({"severity": "x"}, 422),
        ({"rule": "service-gap"}, True), ({"rule": "none"}, False), ({"namespace": "vol-restart"}, True),
        ({"severity": "info", "rule": "service-gap"}, False), ({"cluster": "sample"}, True),
        ({"from": "2026-11-21T07:52:00Z", "to": "2026-11-21T07:52:01Z"}, True), ({"from": "0", "to": "1"}, False),
    ],
)  # fmt: skip
def test_annotations_are_filtered(client: Client, sample: Source, question: dict[str, str], some: int) -> None:
    answer = client.get("/api/annotations", {**RANGE, **question})
    assert answer.status_code == 422 if some == 422 else bool(answer.json()) is some


@pytest.mark.django_db
def test_only_what_a_token_sees_and_what_still_has_findings_is_answered(client: Client, sample: Source) -> None:
    cluster = Cluster.objects.create(name="prod")
    for limit, status, some in (({"cluster": cluster}, 404, False), ({"source": sample}, 200, True)):
        sent = bearer(issued("read", **limit))
        assert bool(client.get("/api/annotations", RANGE, headers=sent).json()) is some
        named = client.get("/api/annotations", {**RANGE, "source": "sample"}, headers=sent)
        assert named.status_code == status
    before = len(asked(client))
    gone = Finding.objects.filter(source=sample, rule="service-gap")
    incidents = set(gone.values_list("incident", flat=True))
    gone.delete()
    Incident.objects.filter(source=sample, identity__in=incidents).delete()
    assert len(asked(client)) < before


@pytest.mark.django_db
def test_the_answer_is_bounded_and_has_no_silenced_incidents(client: Client, sample: Source) -> None:
    whole = {"from": "0", "to": "9999-01-01T00:00:00Z"}
    every = asked(client, **whole)
    assert asked(client, limit=1, **whole) == every[:1]
    Silence.objects.create(rule="service-gap", reason="x", by="", expires=timezone.now() + timedelta(hours=1))
    left = [each for each in every if each["rule"] != "service-gap"]
    assert asked(client, **whole) == left != every
    assert asked(client, limit=len(left), **whole) == left, "silenced ones take no place"


SECRET = "glsa_abcdefghijklmnopqrstuvwxyz012345_deadbeef"


class _Grafana(ThreadingHTTPServer):
    """This server speaks the part of Grafana's annotations API that is used, as its documentation describes it."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.kept: dict[int, dict[str, Any]] = {}
        self.asked: list[str] = []
        self.broken: list[int] = []  # statuses of the next answers to changes, which are carried out all the same

    @property
    def url(self) -> str:
        return f"http://localhost:{self.server_address[1]}"


class _Handler(BaseHTTPRequestHandler):
    server: _Grafana

    def _answer(self, status: int, body: Any) -> None:
        content = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def _body(self) -> Any:
        self.server.asked.append(f"{self.command} {self.path}")
        if self.headers["Authorization"] != f"Bearer {SECRET}":
            return self._answer(401, {"message": "Invalid API key"})
        return json.loads(self.rfile.read(int(self.headers.get("Content-Length") or 0)) or "{}")

    def do_GET(self) -> None:
        if self._body() is None:
            return
        query = parse_qs(urlsplit(self.path).query)
        found = [{"id": number, **each} for number, each in self.server.kept.items()
                 if set(query["tags"]) <= set(each["tags"])]  # fmt: skip
        self._answer(200, found[: int(query["limit"][0])])

    def do_POST(self) -> None:
        if (body := self._body()) is None:
            return
        self.server.kept[number := len(self.server.kept) + 1] = body
        status = self.server.broken.pop() if self.server.broken else 200
        self._answer(status, {"message": "Annotation added", "id": number})

    def do_PATCH(self) -> None:
        if (body := self._body()) is None:
            return
        self.server.kept[int(self.path.rpartition("/")[2])] |= body
        self._answer(200, {"message": "Annotation patched"})

    def log_message(self, *_: Any) -> None:
        """Log nothing."""


@pytest.fixture
def server() -> Iterator[_Grafana]:
    with _Grafana() as started:
        thread = threading.Thread(target=started.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        yield started
        started.shutdown()
        thread.join()


def config(server: _Grafana, **more: str) -> dict[str, str]:
    return {"url": f"{server.url}/", "token": SECRET, **more}


def message(**more: Any) -> Message:
    about: dict[str, Any] = {
        "key": "k", "change": "began", "title": "Service ring was away <script>", "severity": "error",
        "url": "https://causeline.example/sources/1/incidents/0123456789abcdef/?a=1&b=2", "when": "Since 07:52.",
        "rule": "service-gap", "namespace": "shop", "source": "prod", "incident": (1, "0123456789abcdef"),
        "started": datetime(2026, 11, 21, 7, 52, tzinfo=UTC),
    }  # fmt: skip
    return Message(**(about | more))


def test_an_incident_is_one_annotation_that_ends_with_it(server: _Grafana) -> None:
    assert kinds()["grafana"] is grafana  # type: ignore[comparison-overlap]
    assert grafana.send(config(server), [message()], key="a") == "1 added"
    (kept,) = server.kept.values()
    assert kept["time"] == kept["timeEnd"] == 1795247520000
    assert kept["tags"] == ["causeline", "causeline:1:0123456789abcdef", "error", "service-gap", "shop", "prod"]
    assert "&lt;script&gt;" in kept["text"] and "a=1&amp;b=2" in kept["text"] and "dashboardUID" not in kept
    over = message(change="over", ended=datetime(2026, 11, 21, 7, 59, tzinfo=UTC), severity="warning")
    assert grafana.send(config(server), [over], key="b") == "1 changed"
    (kept,) = server.kept.values()
    assert (kept["time"], kept["timeEnd"]) == (1795247520000, 1795247940000) and "warning" in kept["tags"]


def test_what_is_sent_again_is_not_added_again(server: _Grafana) -> None:
    server.broken = [502]
    with pytest.raises(Unreachable):
        grafana.send(config(server), [message()], key="a")
    other = message(incident=(1, "f" * 16))
    assert grafana.send(config(server, dashboard="abc"), [message(), other], key="a") == "1 added, 1 changed"
    assert len(server.kept) == 2 and server.kept[2]["dashboardUID"] == "abc"


def test_what_cannot_work_is_refused_and_the_token_is_never_shown(server: _Grafana) -> None:
    for wrong in ({"url": "http://other.example"}, {"token": "a b"}, {"token": ""}, {"dashboard": "a/b"}):
        with pytest.raises(DestinationRefused):
            grafana.check(config(server, **wrong))
    with pytest.raises(Unreachable, match="401") as refused:
        grafana.send(config(server, token=f"{SECRET}x"), [message()], key="a")
    assert SECRET not in str(refused.value) and not server.kept
    with pytest.raises(Unreachable):
        grafana.send(config(server, url=f"http://localhost:{closed_port()}"), [message()], key="a")
