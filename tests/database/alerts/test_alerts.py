"""These tests check the receivers of alerts, and that what is stored does not depend on the order of notifications."""

import random
from datetime import UTC, datetime, timedelta
from typing import Any

import orjson
import pytest
from django.db import connection
from django.test import Client
from django.utils import timezone
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.django import TestCase
from pytest_django import Settings

from collectors import readers
from collectors.alerts import parse
from dashboard.access.signing_in import rights
from dashboard.models import AccessToken, AuditRecord
from dashboard.web.api.receivers import row_of
from tests.database.access.asking import bearer, issued
from timeline.core.entries import microseconds
from timeline.models import Alert, Cluster, Source
from timeline.storage import alerts as storage

pytestmark = pytest.mark.django_db
BEGAN = datetime(2026, 11, 18, 7, tzinfo=UTC)


def token(*scopes: str, name: str = "prod", **limit: Any) -> str:
    return issued(*(scopes or ["alerts"]), name=name, **limit)


def alert(name: str = "PodDown", minutes: int = 0, lasted: int | None = None, **labels: str) -> dict[str, Any]:
    """Return an alert as Alertmanager writes it, which began some minutes after BEGAN, and lasted some minutes."""
    start = BEGAN + timedelta(minutes=minutes)
    ended = "0001-01-01T00:00:00Z" if lasted is None else (start + timedelta(minutes=lasted)).isoformat()
    return {
        "status": "firing" if lasted is None else "resolved",
        "labels": {"alertname": name, **labels},
        "annotations": {"summary": "It is down."},
        "startsAt": start.isoformat(),
        "endsAt": ended,
        "generatorURL": "https://prometheus.example/graph",
        "fingerprint": "",
    }


def send(text: str, *alerts: dict[str, Any], to: str = "alertmanager", body: bytes | None = None) -> Any:
    body = orjson.dumps({"version": "4", "alerts": alerts}) if body is None else body
    headers = {"Authorization": f"Bearer {text}"} if text else {}
    return Client().post(f"/api/receivers/{to}", body, "application/json", headers=headers)


def test_an_alert_is_stored_and_ends() -> None:
    text, of_pod = token(), dict[str, Any](pod="train-0", namespace="team-a", cluster="prod")
    answer = send(text, alert(**of_pod))
    assert (answer.status_code, answer.json()) == (200, {"received": 1})
    row = Alert.objects.get()
    assert (row.receiver, row.name, row.cluster, row.namespace) == ("prod", "PodDown", "prod", "team-a")
    assert (row.objects_named, row.started, row.ended) == (["pod/train-0"], BEGAN, None)
    assert row.labels["pod"] == "train-0" and row.annotations == {"summary": "It is down."}
    send(text, alert(lasted=5, **of_pod))
    send(text, alert(**of_pod))  # a notification that was late
    assert Alert.objects.get().ended == BEGAN + timedelta(minutes=5)
    send(text, alert(minutes=9, **of_pod))  # it fires again
    ends = Alert.objects.order_by("started").values_list("ended", flat=True)
    assert list(ends) == [row.started + timedelta(minutes=5), None]


@pytest.mark.django_db(transaction=True)
def test_nothing_is_locked_while_a_notification_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    text, read, open_ones = token(), readers.call, []

    def call(*about: Any) -> Any:
        open_ones.append(connection.in_atomic_block)
        return read(*about)

    monkeypatch.setattr(readers, "call", call)
    assert send(text, alert()).status_code == 200 and send(text, body=b"[").status_code == 422
    assert open_ones == [False, False]
    assert [each.status for each in AuditRecord.objects.all()] == [422]


def test_a_token_that_is_limited_says_whose_alerts_come(sample: Source) -> None:
    cluster = Cluster.objects.create(name="staging")
    send(token(name="one", cluster=cluster), alert(cluster="prod"))
    send(token(name="two", source=sample), alert(cluster="prod"))
    rows = {row.receiver: (row.cluster, row.source, row.labels["cluster"]) for row in Alert.objects.all()}
    assert rows == {"one": ("staging", None, "prod"), "two": ("prod", sample.pk, "prod")}


def test_old_alerts_and_too_many_are_deleted(settings: Settings) -> None:
    settings.ALERT_DAYS, settings.ALERT_COUNT = 30, 3
    now = timezone.now()
    for days in (31, 29, 3, 2, 1):
        send(token(), alert(pod=str(days)))
        Alert.objects.filter(labels__pod=str(days)).update(seen=now - timedelta(days=days))
    assert storage.forget(now) == 2
    assert sorted(Alert.objects.values_list("labels__pod", flat=True)) == ["1", "2", "3"]
    assert storage.forget(now) == 0


def test_each_form_is_received_and_what_is_not_taken_is_said() -> None:
    text = token()
    assert send(text, body=orjson.dumps({"alerts": [alert(pod="a")]}), to="grafana").json() == {"received": 1}
    plain = {"name": "BackupFailed", "starts": "2026-11-18T07:00:00Z", "labels": {"job_name": "backup-1"}}
    for body, count in (([plain, plain], 2), (plain, 1), ([], 0)):
        assert send(text, body=orjson.dumps(body), to="json").json() == {"received": count}
    answer = send(text, alert(minutes=1), alert() | {"startsAt": "soon"})
    assert answer.status_code == 422 and "$.alerts[1].startsAt" in answer.json()["detail"]
    assert send(text, body=b"\xff").status_code == 422
    # All or nothing: a sender that tries again sends all of it.
    assert sorted(Alert.objects.values_list("name", flat=True)) == ["BackupFailed", "PodDown"]


def test_who_may_send_and_that_refusals_alone_are_logged(settings: Settings, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO", "causeline.changes")
    settings.TOKEN_REQUIRED = True
    good = token()
    assert send(good, alert()).status_code == 200
    assert "/api/receivers" not in caplog.text
    for text in ("", "causeline_wrong", token("read", "audit"), rights.token()):  # the last one names no receiver
        assert send(text, alert()).status_code == 401
    assert "POST /api/receivers/alertmanager" in caplog.text and "status" in caplog.text
    assert Client().get("/api/receivers/json", headers=bearer(good)).status_code == 405
    assert Client().get("/api/sources", headers=bearer(good)).status_code == 401
    assert Alert.objects.count() == 1


class AnyOrder(TestCase):
    rows = st.builds(
        lambda pod, minutes, lasted, text: alert("a", minutes, lasted, pod=pod) | {"annotations": {"text": text}},
        st.sampled_from(["a", "b"]),
        st.sampled_from([0, 1]),
        st.sampled_from([None, None, 1, 2]),
        st.sampled_from(["x", "é", "Z", ""]),
    )

    @given(st.lists(rows, min_size=1, max_size=8), st.randoms(use_true_random=False))
    def test_any_order_and_batching_stores_the_same(self, sent: list[dict[str, Any]], chance: random.Random) -> None:
        now = timezone.now()

        def stored(batches: list[list[dict[str, Any]]]) -> list[dict[str, Any]]:
            Alert.objects.all().delete()
            for batch in batches:
                found = parse("alertmanager", orjson.dumps({"version": "4", "alerts": batch}), microseconds(now))
                storage.store("prod", [row_of(each, AccessToken(name="prod")) for each in found], now)
            columns = [field.name for field in Alert._meta.concrete_fields if field.name not in ("pk", "seen")]
            return list(Alert.objects.order_by("identity").values(*columns))

        again = [*sent, *chance.choices(sent, k=3)]
        chance.shuffle(again)
        cut = chance.randint(0, len(again))
        assert stored([[each] for each in sent]) == stored([again[:cut], again[cut:]]) == stored([sent])
