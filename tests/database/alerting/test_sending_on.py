"""Incidents are reported by deliveries in the database, and sent to real servers, whatever fails."""

import base64
import hashlib
import hmac
import json
import time
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest
from django.db import connection
from django.utils import timezone
from pytest_django import Settings

from dashboard.alerting import notifying, sending
from dashboard.models import Delivery, Destination, RouteState
from tests.rows import routed
from tests.servers.answering import Receiver, closed_port, receiving
from timeline.models import Acknowledgement, Cluster, Incident, NoticedIncident, Silence, Source
from timeline.storage.judged import incidents

pytestmark = pytest.mark.django_db(transaction=True)


def delivered() -> None:
    notifying.notify()
    sending.deliver()


def again_now() -> None:
    """Let no pause before the next attempt be left."""
    Delivery.objects.update(next_at=timezone.now())
    Destination.objects.update(retry_at=None)


def test_an_incident_is_sent_as_a_signed_cloud_event(receiver: Receiver) -> None:
    source = routed.live_source()
    routed.route(routed.destination(f"{receiver.url}/hook"))
    routed.incident(source, cause="The controller acted on an old copy.")
    delivered()
    (request,) = receiver.requests
    event = json.loads(request.body)
    assert request.path == "/hook"
    assert request.headers["content-type"] == "application/cloudevents+json; charset=utf-8"
    assert event["specversion"] == "1.0" and event["id"] == request.headers["webhook-id"]
    assert event["type"] == "dev.causeline.incidents.v1" and event["source"] == "https://causeline.example.org"
    (shown,) = event["data"]["incidents"]
    assert shown["change"] == "began" and shown["severity"] == "error" and shown["owner"] == "Service/ring"
    assert shown["url"] == f"https://causeline.example.org/sources/{source.pk}/incidents/{'a' * 16}/"
    assert shown["cause"] == "The controller acted on an old copy." and shown["labels"] == {"cluster": "prod"}
    signed = f"{event['id']}.{request.headers['webhook-timestamp']}.".encode() + request.body
    digest = base64.b64encode(hmac.new(routed.SECRET.encode(), signed, hashlib.sha256).digest()).decode()
    assert request.headers["webhook-signature"] == f"v1,{digest}"
    assert abs(int(request.headers["webhook-timestamp"]) - time.time()) < 60
    routed.over(source)
    delivered()
    delivered()
    assert routed.sent() == ["began", "over"] and len(receiver.requests) == 2
    assert not NoticedIncident.objects.exists()


@pytest.mark.django_db
def test_an_incident_that_is_stored_is_noticed_in_the_same_transaction(sample: Source) -> None:
    _imported_again(sample)
    stored = set(Incident.objects.filter(source=sample).values_list("identity", flat=True))
    assert stored and set(NoticedIncident.objects.values_list("identity", flat=True)) == stored
    NoticedIncident.objects.all().delete()
    incidents.write(sample)
    assert not NoticedIncident.objects.exists()  # nothing has changed


@pytest.mark.django_db
def test_incidents_of_recordings_are_not_reported_unless_a_route_says_so(sample: Source) -> None:
    to = routed.destination("http://localhost:1/")
    routed.route(to, name="live")
    _imported_again(sample)
    notifying.notify()
    assert not Delivery.objects.exists() and not NoticedIncident.objects.exists()
    made = timezone.now() - timedelta(days=1)
    routed.route(to, name="recordings", recordings=True, since=made, grouping=[])
    _imported_again(sample)
    assert notifying.notify() == 1 and notifying.notify() == 0
    assert routed.sent("waiting") == ["began"] * Incident.objects.filter(source=sample).count()


def _imported_again(source: Source) -> None:
    Incident.objects.filter(source=source).delete()
    incidents.write(source)


def test_silences_and_acknowledgements_are_respected(receiver: Receiver) -> None:
    source = routed.live_source()
    routed.route(routed.destination(receiver.url), repeat_minutes=60)
    soon = timezone.now() + timedelta(hours=1)
    silence = Silence.objects.create(namespace="shop", reason="planned", by="", expires=soon)
    routed.incident(source)
    delivered()
    assert receiver.requests == [] and RouteState.objects.get().pending == "began"
    silence.delete()
    delivered()
    assert routed.sent() == ["began"]
    RouteState.objects.update(notified=timezone.now() - timedelta(hours=2))
    Acknowledgement.objects.create(source=source, identity="a" * 16, by="ada", note="", rank=0)
    delivered()
    assert routed.sent() == ["began"]
    Acknowledgement.objects.all().delete()
    delivered()
    assert routed.sent() == ["began", "began again"]


@pytest.fixture
def began(receiver: Receiver) -> Source:
    """A source with an incident that goes on and was reported."""
    source = routed.live_source()
    routed.route(routed.destination(receiver.url))
    routed.incident(source, open=True)
    delivered()
    return source


def test_a_source_that_ends_hands_what_was_reported_to_the_next_of_its_cluster(began: Source) -> None:
    following = Source.objects.create(name="prod", ready=True, cluster=began.cluster, last=timezone.now())
    Cluster.objects.update(source=following)
    routed.incident(following, open=True)
    delivered()
    assert routed.sent() == ["began"] and RouteState.objects.get().source_id == following.pk
    Incident.objects.filter(source=following).delete()
    delivered()
    assert routed.sent() == ["began", "over"]


def test_a_deleted_source_waits_until_nobody_can_undo_it(began: Source) -> None:
    for delete_after in (timezone.now() + timedelta(minutes=1), None):
        Source.everything.update(delete_after=delete_after)
        delivered()
    assert routed.sent() == ["began"]
    began.delete()
    delivered()
    assert routed.sent() == ["began", "over"]  # a pager would keep it open for ever
    RouteState.objects.update(since=timezone.now() - timedelta(days=2), notified=timezone.now() - timedelta(days=2))
    notifying.forget()
    assert not RouteState.objects.exists()


def test_an_incident_of_a_cluster_that_is_disconnected_is_reported_once_more(began: Source) -> None:
    Cluster.objects.update(source=None)
    for _ in range(2):
        delivered()
    first, ended = (row.messages[0] for row in Delivery.objects.order_by("pk"))
    assert (ended["change"], ended["unwatched"], ended["ended"]) == ("over", True, None)
    assert ended["when"] == "Its cluster is not watched any more, so it is not known whether it is over."
    assert (ended["url"], ended["labels"]) == (first["url"], first["labels"])  # the same alert elsewhere


def test_a_destination_that_is_down_gets_everything_later_in_order_with_the_same_keys(receiver: Receiver) -> None:
    source = routed.live_source()
    routed.route(to := routed.destination(receiver.url))
    receiver.answers, begun = [503, 503, 503], timezone.now()
    routed.incident(source)
    delivered()
    waits = Delivery.objects.get()
    assert waits.state == "waiting" and waits.answer == "It answered 503 Service Unavailable."
    assert begun + timedelta(seconds=2) < waits.next_at < timezone.now() + timedelta(seconds=6)
    sending.deliver()
    assert len(receiver.requests) == 1  # it is not tried again at once
    routed.over(source)
    for _ in range(4):
        again_now()
        delivered()
    keys = [request.headers["webhook-id"] for request in receiver.requests]
    assert len(set(keys[:4])) == 1 and keys[4] != keys[0] and len(keys) == 5
    assert routed.sent() == ["began", "over"]
    waits.refresh_from_db()
    assert (waits.attempts, waits.answer) == (4, "200 OK")
    to.refresh_from_db()
    assert to.failures == 0 and to.failing_since is None


def test_pauses_get_longer_and_the_last_attempt_is_after_a_day(receiver: Receiver) -> None:
    assert all(2.5 <= sending._backoff(1, 1800) <= 5 for _ in range(20))
    assert all(900 <= sending._backoff(50, 1800) <= 1800 for _ in range(20))
    routed.route(to := routed.destination(receiver.url))
    receiver.answers = [503, 503]
    routed.incident(routed.live_source())
    delivered()
    Delivery.objects.update(expires=timezone.now() - timedelta(seconds=1))
    again_now()
    sending.deliver()
    waits = Delivery.objects.get()
    to.refresh_from_db()
    assert waits.state == "expired" and waits.ended and to.failures == 2 and to.failing_since
    assert sending.resend(waits)
    sending.deliver()
    assert routed.sent() == ["began"]
    assert len({request.headers["webhook-id"] for request in receiver.requests}) == 1


def test_what_is_refused_or_tested_is_not_tried_again_and_does_not_hold_up_others(receiver: Receiver) -> None:
    source = routed.live_source()
    routed.route(to := routed.destination(receiver.url), grouping=["owner"])
    receiver.answers = [400]
    for identity in "ab":
        routed.incident(source, identity * 16, name=identity)
    delivered()
    assert [row.state for row in Delivery.objects.order_by("pk")] == ["refused", "sent"]
    assert sending.send_test(to).answer == "200 OK"
    assert json.loads(receiver.requests[-1].body)["data"]["incidents"][0]["change"] == "test"
    receiver.always = 503
    failed = sending.send_test(to)
    sending.deliver()
    assert (failed.state, failed.answer) == ("expired", "It answered 503 Service Unavailable.")
    assert len(receiver.requests) == 4


def test_a_destination_that_hangs_does_not_hold_up_others(receiver: Receiver, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dashboard.access.outgoing.post.__kwdefaults__", {"seconds": 1.0, "method": "POST"})
    with receiving() as slow:
        slow.always = "hang"
        routed.route(routed.destination(slow.url, name="slow"), routed.destination(receiver.url, name="fast"))
        source = routed.live_source()
        for number in range(3):
            routed.incident(source, str(number) * 16, namespace=f"n{number}")
        notifying.notify()
        begun = time.monotonic()
        sending.deliver()
        assert len(receiver.requests) == 3 and receiver.requests[-1].at - begun < 1.0
        assert len(slow.requests) == 1  # what does not answer is left alone for a while
    assert Delivery.objects.filter(state="waiting").count() == 3


def test_processes_send_a_delivery_once_and_without_a_lease_write_nothing(receiver: Receiver) -> None:
    def deliver(_: int) -> None:
        sending.deliver()
        connection.close()

    routed.route(to := routed.destination(receiver.url), grouping=["owner"])
    source = routed.live_source()
    for number in range(6):
        routed.incident(source, str(number) * 16, name=f"ring-{number}")
    notifying.notify()
    assert sending._claim(to.pk, "first") and not sending._claim(to.pk, "second")
    Destination.objects.update(busy_until=timezone.now() - timedelta(seconds=1))
    assert sending._claim(to.pk, "second")  # another process takes over
    assert not sending._attempt(Delivery.objects.all()[0], "first") and receiver.requests == []
    Destination.objects.update(busy_until=timezone.now() - timedelta(seconds=1))
    with ThreadPoolExecutor(3) as pool:
        assert len([*pool.map(deliver, range(3))]) == 3
    sending.deliver()
    assert len(receiver.requests) == len({request.headers["webhook-id"] for request in receiver.requests}) == 6


def test_nothing_secret_of_a_destination_is_stored_or_answered(settings: Settings) -> None:
    to = routed.destination(f"http://localhost:{closed_port()}/t0k3n-in-the-path")
    hosts, settings.DESTINATION_HOSTS = settings.DESTINATION_HOSTS, []
    routed.route(to)
    routed.incident(routed.live_source())
    delivered()
    row = Delivery.objects.get()
    assert row.state == "waiting" and "CAUSELINE_DESTINATION_HOSTS" in row.answer  # an operator can allow it
    settings.DESTINATION_HOSTS = hosts
    again_now()
    sending.deliver()
    row.refresh_from_db()
    assert row.answer == "It cannot be reached." and b"t0k3n" not in bytes(to.sealed)


@pytest.mark.django_db
def test_what_is_old_is_forgotten_except_what_has_to_be_known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(notifying, "_AT_ONCE", 2)
    made = routed.route(to := routed.destination("http://localhost:1/"))
    now, long_ago = timezone.now(), timezone.now() - timedelta(days=9)
    recording = Source.objects.create(name="recording", ready=True, last=now)
    for number in range(5):
        routed.incident(recording, f"{number:016x}")
    NoticedIncident.objects.all().delete()
    for source, number in [*((recording.pk, each) for each in range(5)), (recording.pk + 1, 7), (recording.pk + 1, 8)]:
        RouteState.objects.create(
            source_id=source, route=made, identity=f"{number:016x}", rank=0, since=long_ago, group=[], notified=long_ago
        )
    notifying.forget()
    assert list(RouteState.objects.values_list("source", flat=True)) == [recording.pk] * 5
    assert not Delivery.objects.exists()
    for days, refresh in ((31, False), (1, False), (1, True), (0, True)):
        old = notifying.delivery(to, [], now=now, group="g", refresh=refresh)
        old.state, old.ended = Delivery.State.SENT, now - timedelta(days=days)
        old.save()
    sending.forget()
    left = [(row.refresh, (now - row.ended).days) for row in Delivery.objects.order_by("pk") if row.ended]
    assert left == [(False, 1), (True, 0)]
