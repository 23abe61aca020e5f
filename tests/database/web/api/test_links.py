"""These tests ask the API where the link of an alert leads: to the same object as `/go`, with its incidents."""

from datetime import timedelta
from typing import Any

import pytest
from django.db.models import F
from django.test import Client
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries

from dashboard.access.tokens import tokens
from timeline.models import Cluster, Incident, Source, Symptom, Track

pytestmark = pytest.mark.django_db
GAP = 1795247520841106  # the Service ring is deleted
SECOND = 1_000_000
HOST = "http://testserver"


def resolved(client: Client, status: int = 200, **question: str | int) -> Any:
    answer = client.get("/api/resolve", question)
    assert answer.status_code == status, answer.content
    return answer.json()


@pytest.mark.parametrize("question", [{"pod": "ring-weak-0", "at": GAP + 2 * SECOND}, {"job_name": "ring"},
                                      {"service": "ring", "at": GAP}])  # fmt: skip
def test_a_link_is_resolved_to_where_it_leads(client: Client, sample: Source, question: dict[str, Any]) -> None:
    link = {"cluster": "sample", "namespace": "vol-restart", **question}
    found = resolved(client, **link)
    led = client.get("/go", link)
    assert found["match"]["url"] == HOST + led.headers["Location"]
    assert client.get(found["link"].removeprefix(HOST)).headers["Location"] == led.headers["Location"]
    assert client.get(found["match"]["object_url"].removeprefix(HOST)).status_code == 200
    assert (found["choices"], found["reason"], found["alike"]) == ([], "", [])


def test_the_incarnation_and_its_incidents_at_that_time_are_named(client: Client, sample: Source) -> None:
    match = resolved(client, namespace="vol-restart", pod="ring-weak-0", at="2026-11-21T07:52:03Z")["match"]
    pod = Track.objects.filter(source=sample, kind="Pod", name="ring-weak-0").order_by("life")[1]
    assert (match["track"], match["object"]["uid"]) == (pod.id, pod.uid)
    assert (match["incarnation"], match["incarnations"]) == (2, 4)
    assert (match["relation"], match["apart"]) == ("alive", 0)
    assert match["sentence"].startswith("Pod ring-weak-0 existed at the time of the alert")
    assert match["source"] == {"id": sample.pk, "name": "sample", "cluster": None, "live": False}
    assert match["incidents_total"] == len(match["incidents"]) > 0
    for each in match["incidents"]:
        assert each["start"] <= 1795247523 * SECOND + 60 * SECOND and each["url"].startswith(HOST)


def test_the_address_of_what_is_a_symptom_now_leads_to_its_incident(client: Client, sample: Source) -> None:
    for part in Symptom.objects.filter(source=sample).exclude(identity=F("incident")):
        known = set(Incident.objects.filter(source=sample).values_list("identity", flat=True)) - {part.identity}
        about = f"/api/sources/{sample.pk}/incidents"
        found = client.get(f"{about}/{part.identity}").json()
        assert found["id"] in known and part.identity in {each["id"] for each in found["symptoms"]}
        assert found["url"] == f"/sources/{sample.pk}/incidents/{found['id']}/"
        assert client.get(f"{about}/{part.identity}/alerts").status_code == 200
        changes = f"/api/sources/{sample.pk}/changes?incident="
        assert client.get(f"{changes}{part.identity}").json() == client.get(f"{changes}{found['id']}").json()
    assert client.get(f"/api/sources/{sample.pk}/incidents/{'f' * 16}").status_code == 404


def test_several_objects_are_a_choice_with_its_reason(client: Client, sample: Source) -> None:
    found = resolved(client, namespace="vol-restart", pod="ring-weak-0", choose=1)
    assert found["match"] is None and found["choices_total"] == len(found["choices"]) == 4
    found = resolved(client, namespace="vol-restart", job_name="ring", pod="ring-steady-99")
    assert found["match"] is None and [each["object"]["kind"] for each in found["choices"]] == ["Job"]
    assert found["reason"] == "No pod ring-steady-99 was ever seen. The link also names job ring."
    found = resolved(client, pod="ring-steady-0", at="2026-11-20T07:52:03Z")
    assert found["match"] is None and "within 2 h of the alert" in found["reason"]


def test_what_is_unknown_is_explained(client: Client, sample: Source) -> None:
    found = resolved(client, namespace="vol-restart", pod="ring-stedy-0")
    assert found["match"] is None and found["choices"] == []
    assert found["reason"].startswith("No pod ring-stedy-0 was ever seen")
    assert "ring-steady-0" in [each["object"]["name"] for each in found["alike"]]
    assert resolved(client, cluster="samples", pod="a")["clusters"] == ["sample"]


@pytest.mark.parametrize("question", [{}, {"kind": "Pod"}, {"pod": "a", "at": "soon"}, {"pod": "a\0"}, {"ip": "1.2.3"}])
def test_a_parameter_that_cannot_be_read_is_named(client: Client, question: dict[str, str]) -> None:
    assert resolved(client, 422, **question)["detail"]


def test_a_limited_token_learns_nothing_of_other_sources(client: Client, sample: Source) -> None:
    cluster = Cluster.objects.create(name="prod")
    Source.objects.create(name="prod", ready=True, cluster=cluster)
    expires = timezone.now() + timedelta(days=1)
    other, _ = tokens.issue("a", ["read"], expires=expires, cluster=cluster, by="")
    own, _ = tokens.issue("b", ["read"], expires=expires, source=sample, by="")
    for text, known in ((other, False), (own, True)):
        for question in ({"pod": "ring-steady-0"}, {"pod": "ring-steady-0", "cluster": "sample"}):
            found = client.get("/api/resolve", question, headers={"Authorization": f"Bearer {text}"}).json()
            assert bool(found["match"]) is known
            assert known or ("sample" not in found["reason"] and found["alike"] == found["clusters"] == [])


@pytest.mark.usefixtures("recorded_before")
def test_resolving_is_one_look_up(
    client: Client, sample: Source, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    with django_assert_max_num_queries(17):
        resolved(client, namespace="vol-restart", pod="ring-steady-0", at=GAP)
