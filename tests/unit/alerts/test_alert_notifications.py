"""These tests parse notifications of alerts, of all senders and of hostile ones."""

import re
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from collectors.alerts import Invalid, Kind, Notification, parse
from collectors.alerts.notifications import ALERTS
from collectors.alerts.objects import LABELS, named_objects
from tests import ROOT

NOW = 1_795_000_000_000_000  # 2026-11-18
STARTED = "2026-11-18T07:00:00.123456789Z"


def alert(**changed: Any) -> dict[str, Any]:
    """Return an alert as Alertmanager writes it."""
    labels = {"alertname": "PodDown", "namespace": "team-a", "pod": "train-0", "cluster": "prod"}
    return {
        "status": "firing", "labels": labels, "annotations": {"summary": "It is down."}, "startsAt": STARTED,
        "endsAt": "0001-01-01T00:00:00Z", "generatorURL": "http://prometheus.example:9090/graph?g0.expr=up",
        "fingerprint": "c0ffee", **changed,
    }  # fmt: skip


def of_alertmanager(*alerts: Any, **changed: Any) -> dict[str, Any]:
    return {"version": "4", "groupKey": "{}", "truncatedAlerts": 0, "alerts": list(alerts), **changed}


def parsed(kind: Kind, body: Any) -> list[Notification]:
    return parse(kind, body if isinstance(body, bytes) else orjson.dumps(body), NOW)


def one(**changed: Any) -> Notification:
    (found,) = parsed("alertmanager", of_alertmanager(alert(**changed)))
    return found


def test_alertmanager() -> None:
    ended = alert(status="resolved", startsAt="2026-11-18T06:00:00Z", endsAt="2026-11-18T08:00:00+01:00")
    firing, resolved = parsed("alertmanager", of_alertmanager(alert(), ended))
    named = firing.name, firing.cluster, firing.namespace, firing.objects
    assert named == ("PodDown", "prod", "team-a", ("pod/train-0",))
    assert firing.annotations == {"summary": "It is down."} and firing.fingerprint == "c0ffee"
    assert firing.url == "http://prometheus.example:9090/graph?g0.expr=up"
    assert (firing.started, firing.ended) == (1_794_985_200_123_457, None)
    assert resolved.ended == 1_794_985_200_000_000
    assert resolved.identity != firing.identity  # it fired another time


def test_grafana() -> None:
    documented = alert(  # as in the example of Grafana's documentation
        labels={"alertname": "High memory usage", "team": "blue", "zone": "us-1"}, fingerprint="c6eadffa33fcdf37",
        annotations={"summary": "This alert was triggered", "runbook_url": "https://myrunbook.com/1234"},
        startsAt="2021-10-12T09:51:03.157076+02:00", dashboardURL="", panelURL="", values={"B": 44.2394, "C": 1},
        generatorURL="https://play.grafana.org/alerting/1afz29v7z/edit",
        silenceURL="https://play.grafana.org/alerting/silence/new?alertmanager=grafana",
    )  # fmt: skip
    link = "https://grafana.example/d/abc?viewPanel=2"
    panel = alert(generatorURL="", panelURL=link, values={"B": 3.5}, silenceURL="")
    body = {"receiver": "causeline", "status": "firing", "orgId": 1, "version": "1", "title": "[FIRING:1]",
            "groupKey": "{}:{}", "truncatedAlerts": 0, "state": "alerting", "message": "**Firing**",
            "commonLabels": {}}  # fmt: skip
    found, other = parsed("grafana", {**body, "alerts": [documented, panel]})
    assert (found.name, found.started, found.ended) == ("High memory usage", 1_634_025_063_157_076, None)
    assert found.url == documented["generatorURL"]
    assert (other.url, other.labels["pod"]) == (link, "train-0")


def test_plain_json() -> None:
    body = {"name": "BackupFailed", "starts": "2026-11-18T07:00:00Z", "labels": {"job_name": "backup-1"}}
    [alone] = parsed("json", body)
    first, second = parsed("json", [body, {**body, "status": "resolved", "ends": "2026-11-18T07:10:00Z"}])
    assert alone == first and alone.name == alone.labels["alertname"] == "BackupFailed"
    assert first.identity == second.identity
    assert (first.ended, second.ended) == (None, first.started + 600_000_000)


def test_the_example_of_the_how_to() -> None:
    how_to = (ROOT / "docs/how-to/link-and-receive-alerts.md").read_text(encoding="utf-8")
    [example] = re.findall(r"--data '(\{\"name\".*\})'", how_to)
    [found] = parse("json", example.encode(), 2 * NOW)
    assert (found.name, found.cluster, found.objects) == ("BackupFailed", "prod", ("job/backup-28",))


def test_what_makes_two_notifications_one_alert() -> None:
    first, labels = one().identity, alert()["labels"]
    assert first == one(annotations={}, labels={"alertname": "Other"}).identity  # of the same fingerprint
    assert first not in {one(fingerprint="decaf").identity, one(startsAt="2026-11-18T07:01:00Z").identity}
    by_labels = one(fingerprint="", labels=labels).identity
    assert by_labels == one(fingerprint="", labels=dict(reversed(labels.items()))).identity
    assert by_labels != one(fingerprint="", labels={**labels, "x": ""}).identity


@pytest.mark.parametrize(
    ("body", "where"),
    [
        (b"", "The body is not JSON"),
        (b'{"version":"4","alerts":[]} x', "The body is not JSON"),
        (b'{"version":"\xff"}', "The body is not JSON"),
        (b'{"version":"4","x":' + b"[" * 100_000, "The body is nested too deeply"),
        ([], "Expected `object`, got `array`"),
        (of_alertmanager(version="3"), "$.version"),
        (of_alertmanager(*[alert()] * (ALERTS + 1)), f"Expected `array` of length <= {ALERTS} - at `$.alerts`"),
        (of_alertmanager(alert(), 3), "$.alerts[1]"),
        ({"status": "maybe"}, "$.alerts[0].status"),
        ({"labels": {"pod": 3}}, "$.alerts[0].labels[...]"),
        ({"labels": {"": "x"}}, "`key` in `$.alerts[0].labels`"),
        ({"labels": {"x" * 257: "x"}}, "`key` in `$.alerts[0].labels`"),
        ({"labels": {"x": "x" * 4097}}, "length <= 4096 - at `$.alerts[0].labels[...]`"),
        ({"labels": {f"x{i}": "" for i in range(101)}}, "$.alerts[0].labels"),
        ({"annotations": {"x": "x" * 16_385}}, "$.alerts[0].annotations[...]"),
        ({"fingerprint": "x" * 129}, "$.alerts[0].fingerprint"),
        ({"startsAt": "yesterday"}, "$.alerts[0].startsAt"),
        ({"startsAt": "2026-11-18T07:00:00"}, "$.alerts[0].startsAt"),
        ({"startsAt": "0001-01-01T00:00:00Z"}, "a time after 1970 - at `$.alerts[0].startsAt`"),
        ({"startsAt": "2026-12-18T07:00:00Z"}, "not in the future - at `$.alerts[0].startsAt`"),
        ({"status": "resolved"}, "the resolved alert ended - at `$.alerts[0].endsAt`"),
        ({"status": "resolved", "endsAt": "2026-11-18T06:59:00Z"}, "not before startsAt"),
        ({"status": "resolved", "endsAt": "9999-11-18T06:59:00Z"}, "$.alerts[0].endsAt"),
    ],
    ids=lambda value: None if isinstance(value, str) else "body",
)
def test_what_is_refused_says_where(body: Any, where: str) -> None:
    """A body without alerts is what an alert has instead of something usual."""
    of_one = isinstance(body, dict) and "alerts" not in body
    with pytest.raises(Invalid) as refused:
        parsed("alertmanager", of_alertmanager(alert(**body)) if of_one else body)
    assert where in str(refused.value)


@pytest.mark.parametrize(
    ("body", "where"),
    [
        ({"name": "x", "start": STARTED}, "unknown field `start`"),
        ([{"name": "x", "starts": STARTED}, {"name": "x"}], "`starts` - at `$[1]`"),
        ({"name": "x", "starts": STARTED, "status": "resolved"}, "at `$.ends`"),
    ],
)
def test_plain_json_refuses_names_that_it_does_not_know(body: Any, where: str) -> None:
    with pytest.raises(Invalid) as refused:
        parsed("json", body)
    assert where in str(refused.value)


@given(st.binary(max_size=200), st.sampled_from(["alertmanager", "grafana", "json"]))
def test_any_bytes_are_parsed_or_refused(body: bytes, kind: Kind) -> None:
    try:
        parse(kind, body, NOW)
    except Invalid as error:
        assert str(error).endswith(".")


def test_control_characters_and_credentials_are_replaced() -> None:
    labels = {"alertname": "x\x00\x1b[31m", "a\x07": "b", "password": "hunter22", "url": "https://me:hunter22@db/x"}
    found = one(labels=labels, annotations={"text": "first\r\nsecond\tthird\u2028"}, fingerprint="\x00")
    assert found.name == "x\ufffd\ufffd[31m" and found.labels["a\ufffd"] == "b"
    assert found.annotations == {"text": "first\nsecond\tthird\ufffd"} and found.fingerprint == "\ufffd"
    assert "hunter22" not in str(found)


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ("https://me:hunter22@prometheus.example/graph?x=1", "https://prometheus.example/graph?x=1"),
        ("https://prometheus.example/?token=abcdefgh12345", "https://prometheus.example/?token=[redacted]"),
        ("javascript:alert(1)", ""),
        ("data:text/html,x", ""),
        ("//prometheus.example/", ""),
        ("http:///graph", ""),
        ("http://[::1/", ""),
        ("http://a b/", ""),
        ("http://a/\nb", ""),
        ("http://a/" + "x" * 9000, ""),
    ],
)
def test_only_links_that_a_person_may_follow_are_kept(given: str, kept: str) -> None:
    assert one(generatorURL=given).url == kept


@pytest.mark.parametrize(
    ("labels", "namespace", "objects"),
    [
        ({"alertname": "x", "severity": "page", "job": "apiserver"}, "", ()),
        ({"uid": "1b4e28ba", "pod": "a"}, "", ("uid/1b4e28ba", "pod/a")),
        ({"kind": "HelmRelease", "name": "web"}, "", ("helmrelease/web",)),
        ({"name": "what cAdvisor calls a container"}, "", ()),
        ({"ip": "fd00::01", "instance": "10.0.0.1:9100"}, "", ("ip/fd00::1", "ip/10.0.0.1")),
        ({"instance": "node-3:9100"}, "", ("node/node-3",)),
        ({"pod": "x" * 254, "node": "a\nb", "service": " "}, "", ()),
        (
            {"namespace": "monitoring", "pod": "metrics-0", "exported_namespace": "team", "exported_pod": "train-0"},
            "team", ("pod/train-0",),
        ),
        (
            {"namespace": "monitoring", "pod": "state-metrics-0", "exported_namespace": "team", "job_name": "train"},
            "team", ("job/train",),
        ),
        ({"namespace": "a", "pod": "b", "exported_job": "c"}, "a", ("pod/b",)),
    ],
)  # fmt: skip
def test_which_objects_labels_name(labels: dict[str, str], namespace: str, objects: tuple[str, ...]) -> None:
    assert named_objects(labels) == (namespace, objects)


def test_each_label_names_its_kind_in_the_order_of_links() -> None:
    namespace, objects = named_objects(dict.fromkeys(reversed(LABELS), "x"))
    assert (namespace, objects) == ("", tuple(f"{kind}/x" for kind in LABELS.values()))
