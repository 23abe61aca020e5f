"""What routes have sent follows incidents into the incident that they are a part of, and rings nobody again."""

import json
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from dashboard.alerting import notifying, sending
from dashboard.alerting.destinations import alertmanager, apprise, grafana
from dashboard.alerting.messages import from_json
from dashboard.models import Delivery, Route, RouteState
from tests.rows import routed
from tests.servers.answering import Receiver
from timeline.models import Incident, Silence, Source, Symptom

pytestmark = pytest.mark.django_db(transaction=True)
ONE, OTHER, ROOT, DEEPER = ("1" * 16, "2" * 16, "a" * 16, "b" * 16)


def delivered() -> None:
    notifying.notify()
    sending.deliver()


def becomes(source: Source, identity: str, *symptoms: str, rank: int = 0, **values: Any) -> None:
    """Let incidents be symptoms of another one from now on."""
    Incident.objects.filter(source=source, identity__in=symptoms).delete()
    Symptom.objects.filter(source=source, identity__in=symptoms).delete()
    routed.incident(source, identity, rank=rank, symptoms=len(symptoms), **{"open": True, **values})
    for place, symptom in enumerate(symptoms):
        routed.symptom(source, identity, symptom, place=place, title=f"Symptom {symptom[0]}")


def events(receiver: Receiver) -> list[dict[str, Any]]:
    """Return the incidents that a webhook got, in order."""
    return [each for request in receiver.requests for each in json.loads(request.body)["data"]["incidents"]]


@pytest.fixture
def source(receiver: Receiver) -> Source:
    """A source whose incidents a webhook gets at once."""
    made = routed.live_source()
    routed.route(routed.destination(receiver.url))
    return made


def test_an_incident_that_becomes_a_symptom_is_sent_on_as_what_it_began(source: Source, receiver: Receiver) -> None:
    routed.incident(source, ONE, open=True, rank=1)
    delivered()
    becomes(source, ROOT, ONE, OTHER, rank=1, rule="stale-view", namespace="bank")
    delivered()
    assert routed.sent() == ["began"] and RouteState.objects.get().identity == ROOT
    becomes(source, ROOT, ONE, OTHER, rank=0, rule="stale-view", namespace="bank")
    delivered()
    routed.over(source, ROOT)
    delivered()
    began, worse, over = events(receiver)
    assert [each["change"] for each in (began, worse, over)] == ["began", "worse", "over"]
    assert [each["incident_id"] for each in (began, worse, over)] == [ONE, ROOT, ROOT]
    assert {each["sent_as"] for each in (began, worse, over)} == {ONE}
    assert worse["symptoms"] == [
        {"id": ONE, "severity": "error", "title": "Symptom 1"},
        {"id": OTHER, "severity": "error", "title": "Symptom 2"},
    ]
    assert not RouteState.objects.filter(begun=True).exists()


def test_a_destination_that_keeps_incidents_knows_it_by_the_same_key_to_its_end(source: Source) -> None:
    routed.incident(source, ONE, open=True, rank=1)
    delivered()
    becomes(source, ROOT, ONE, OTHER, rank=1, rule="stale-view", namespace="bank")
    routed.over(source, ROOT)
    delivered()
    began, over = (from_json(row.messages[0]) for row in Delivery.objects.order_by("pk"))
    now = timezone.now()
    first, last = (next(alertmanager._alerts(each, now)) for each in (began, over))
    assert first["labels"] == last["labels"] and last["generatorURL"] != first["generatorURL"]
    assert apprise._kept_as(began) == apprise._kept_as(over)
    assert grafana._own_tag(began) == grafana._own_tag(over)


def test_of_several_the_gravest_goes_on_and_only_what_keeps_incidents_ends_the_others(
    source: Source, receiver: Receiver
) -> None:
    silent = routed.destination(receiver.url, kind="kubernetes_event", name="forgetful")
    routed.route(silent, name="forgetful", place=2)
    routed.incident(source, ONE, open=True, rank=1)
    routed.incident(source, OTHER, open=True, rank=0)
    delivered()
    becomes(source, ROOT, OTHER, ONE)
    delivered()
    delivered()
    assert [(each["change"], each["joined"], each["sent_as"]) for each in events(receiver)] == [
        ("began", "", ONE),
        ("began", "", OTHER),
        ("over", ROOT, ONE),
    ]
    assert [each["change"] for row in silent.delivery_set.all() for each in row.messages] == ["began", "began"]
    routed.over(source, ROOT)
    delivered()
    assert [(each["change"], each["sent_as"]) for each in events(receiver)[3:]] == [("over", OTHER)]


def test_a_cause_that_becomes_part_of_a_deeper_one_is_found_by_its_symptoms(source: Source, receiver: Receiver) -> None:
    becomes(source, ROOT, ONE)
    delivered()
    Incident.objects.all().delete()
    becomes(source, DEEPER, ONE, OTHER)
    delivered()
    assert routed.sent() == ["began"] and RouteState.objects.get().identity == DEEPER
    Incident.objects.all().delete()
    Symptom.objects.all().delete()
    delivered()
    assert [each["sent_as"] for each in events(receiver)] == [ROOT, ROOT] and routed.sent() == ["began", "over"]


def test_an_incident_that_was_over_is_not_begun_again_as_a_part_of_another(source: Source) -> None:
    routed.incident(source, ONE)
    delivered()
    routed.over(source, ONE)
    delivered()
    assert routed.sent() == ["began", "over"]
    becomes(source, ROOT, ONE, OTHER)
    delivered()
    assert routed.sent() == ["began", "over"]  # before the route's time for flapping has passed


def test_a_silenced_symptom_counts_in_nothing_that_is_sent(source: Source, receiver: Receiver) -> None:
    now = timezone.now()
    Silence.objects.create(owner="known", reason="planned", by="", expires=now + timedelta(days=1))
    becomes(source, ROOT, ONE, OTHER, occurrences=5, title="The cause did all of it")
    of_it = Symptom.objects.filter(source=source, incident=ROOT)
    of_it.filter(identity=ONE).update(name="known")
    of_it.filter(identity=OTHER).update(rank=1, occurrences=2)
    delivered()
    (began,) = events(receiver)
    assert (began["severity"], began["title"], began["symptoms_total"]) == ("warning", "Symptom 2", 1)
    assert began["when"].startswith("It happened 2 times")
    of_it.filter(identity=OTHER).update(open=False, first=now - timedelta(hours=1), last=now - timedelta(hours=1))
    delivered()  # only what is silenced goes on
    assert routed.sent() == ["began", "over"]


def test_a_route_matches_a_symptom_that_no_list_shows(source: Source, receiver: Receiver) -> None:
    Route.objects.update(rule="stale-view")
    becomes(source, ROOT, *(f"{number:016x}" for number in range(25)))
    delivered()
    assert events(receiver) == []
    Symptom.objects.filter(source=source, place=24).update(rule="stale-view")
    routed.incident(source, ROOT, open=True, symptoms=25)
    delivered()
    (began,) = events(receiver)
    assert (began["symptoms_total"], len(began["symptoms"])) == (25, 10)
