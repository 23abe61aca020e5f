"""These tests check the receivers of alerts, and that what is stored does not depend on the order of notifications."""

import random
from datetime import UTC, datetime, timedelta
from typing import Any

import orjson
import pytest
from django.db import connection
from django.test import Client
from django.utils import timezone
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.django import TestCase
from pytest_django import Settings

from collectors import readers
from collectors.alerts import parse
from dashboard.access.signing_in import rights
from dashboard.access.tokens import tokens
from dashboard.models import AccessToken, AuditRecord
from dashboard.web.api.receivers import row_of
from timeline.core.entries import microseconds
from timeline.models import Alert, Cluster, Source
from timeline.storage import alerts as storage

pytestmark = pytest.mark.django_db
BEGAN = datetime(2026, 11, 18, 7, tzinfo=UTC)


def token(*scopes: str, name: str = "prod", **limit: Any) -> str:
    expires = timezone.now() + timedelta(days=1)
    text, _ = tokens.issue(name, scopes or ["alerts"], expires=expires, by="alice", **limit)
    return text


def alert(name: str = "PodDown", minutes: int = 0, lasted: int | None = None, **labels: str) -> dict[str, Any]:
    """Return an alert as Alertmanager writes it, which began some minutes after BEGAN, and lasted some minutes."""
    start = BEGAN + timedelta(minutes=minutes)
    end = None if lasted is None else start + timedelta(minutes=lasted)
    return {
        "status": "firing" if end is None else "resolved",
        "labels": {"alertname": name, **labels},
        "annotations": {"summary": "It is down."},
        "startsAt": start.isoformat(),
        "endsAt": end.isoformat() if end else "0001-01-01T00:00:00Z",
        "generatorURL": "https://prometheus.example/graph",
        "fingerprint": "",
    }


def send(text: str, *alerts: dict[str, Any], to: str = "alertmanager", body: bytes | None = None) -> Any:
    body = orjson.dumps({"version": "4", "alerts": alerts}) if body is None else body
    headers = {"Authorization": f"Bearer {text}"} if text else {}
    return Client().post(f"/api/receivers/{to}", body, "application/json", headers=headers)


def test_an_alert_is_stored_and_ends() -> None:
    text = token()
    answer = send(text, alert(pod="train-0", namespace="team-a", cluster="prod"))
    assert (answer.status_code, answer.json()) == (200, {"received": 1})
    row = Alert.objects.get()
    assert (row.receiver, row.name, row.cluster, row.namespace) == ("prod", "PodDown", "prod", "team-a")
    assert (row.objects_named, row.started, row.ended) == (["pod/train-0"], BEGAN, None)
    assert row.labels["pod"] == "train-0" and row.annotations == {"summary": "It is down."}
    send(text, alert(pod="train-0", namespace="team-a", cluster="prod", lasted=5))
    send(text, alert(pod="train-0", namespace="team-a", cluster="prod"))  # a notification that was late
    assert Alert.objects.get().ended == BEGAN + timedelta(minutes=5)
    send(text, alert(pod="train-0", namespace="team-a", cluster="prod", minutes=9))  # it fires again
    assert list(Alert.objects.order_by("started").values_list("ended", flat=True)) == [
        row.started + timedelta(minutes=5),
        None,
    ]


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


def test_each_form_is_received() -> None:
    text = token()
    assert send(text, body=orjson.dumps({"alerts": [alert(pod="a")]}), to="grafana").json() == {"received": 1}
    plain = {"name": "BackupFailed", "starts": "2026-11-18T07:00:00Z", "labels": {"job_name": "backup-1"}}
    assert send(text, body=orjson.dumps([plain, plain]), to="json").json() == {"received": 2}
    assert send(text, body=orjson.dumps(plain), to="json").json() == {"received": 1}
    assert sorted(Alert.objects.values_list("name", flat=True)) == ["BackupFailed", "PodDown"]
    assert send(text, body=b"[]", to="json").json() == {"received": 0}


def test_who_may_send(settings: Settings) -> None:
    for text in ("", "causeline_wrong", token("read", "audit")):
        assert send(text, alert()).status_code == 401
    settings.TOKEN_REQUIRED = True
    assert send(rights.token(), alert()).status_code == 401  # the start-up token names no receiver
    assert send(token(), alert()).status_code == 200
    assert Client().get("/api/receivers/json", headers={"Authorization": f"Bearer {token()}"}).status_code == 405
    assert Client().get("/api/sources", headers={"Authorization": f"Bearer {token()}"}).status_code == 401
    assert Alert.objects.count() == 1


def test_a_receiver_says_what_it_does_not_take() -> None:
    text = token()
    answer = send(text, alert(), alert() | {"startsAt": "soon"})
    assert answer.status_code == 422 and "$.alerts[1].startsAt" in answer.json()["detail"]
    assert not Alert.objects.exists()  # all or nothing: a sender that tries again sends all of it
    assert send(text, body=b"\xff").status_code == 422


def test_a_token_that_is_limited_says_whose_alerts_come(sample: Source) -> None:
    cluster = Cluster.objects.create(name="staging")
    send(token(name="one", cluster=cluster), alert(cluster="prod"))
    send(token(name="two", source=sample), alert(cluster="prod"))
    rows = {row.receiver: (row.cluster, row.source, row.labels["cluster"]) for row in Alert.objects.all()}
    assert rows == {"one": ("staging", None, "prod"), "two": ("prod", sample.pk, "prod")}


def test_the_change_log_has_only_what_was_refused(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO", "causeline.changes")
    send(token(), alert())
    assert "/api/receivers" not in caplog.text
    send("causeline_wrong", alert())
    assert "POST /api/receivers/alertmanager" in caplog.text and "status" in caplog.text


def test_old_alerts_and_too_many_are_deleted(settings: Settings) -> None:
    settings.ALERT_DAYS, settings.ALERT_COUNT = 30, 3
    now = timezone.now()
    for days in (31, 29, 3, 2, 1):
        send(token(), alert(pod=str(days)))
        Alert.objects.filter(labels__pod=str(days)).update(seen=now - timedelta(days=days))
    assert storage.forget(now) == 2
    assert sorted(Alert.objects.values_list("labels__pod", flat=True)) == ["1", "2", "3"]
    assert storage.forget(now) == 0


_rows = st.builds(
    lambda pod, minutes, lasted, text: alert(pod=pod, minutes=minutes, lasted=lasted) | {"annotations": {"text": text}},
    st.sampled_from(["a", "b"]),
    st.sampled_from([0, 1]),
    st.sampled_from([None, None, 1, 2]),
    st.sampled_from(["x", "é", "Z", ""]),
)


class AnyOrder(TestCase):
    @settings(max_examples=25, deadline=None)
    @given(st.lists(_rows, min_size=1, max_size=8), st.randoms(use_true_random=False))
    def test_any_order_repetition_and_batching_stores_the_same(
        self, sent: list[dict[str, Any]], chance: random.Random
    ) -> None:
        receiver = AccessToken(name="prod")
        now = timezone.now()

        def stored(batches: list[list[dict[str, Any]]]) -> list[dict[str, Any]]:
            Alert.objects.all().delete()
            for batch in batches:
                body = orjson.dumps({"version": "4", "alerts": batch})
                found = parse("alertmanager", body, microseconds(now))
                storage.store("prod", [row_of(each, receiver) for each in found], now)
            columns = [field.name for field in Alert._meta.concrete_fields if field.name not in ("pk", "seen")]
            return list(Alert.objects.order_by("identity").values(*columns))

        again = [*sent, *chance.choices(sent, k=3)]
        chance.shuffle(again)
        cut = chance.randint(0, len(again))
        assert stored([[each] for each in sent]) == stored([again[:cut], again[cut:]]) == stored([sent])
