"""These tests check what people can do who see only some namespaces: what they do holds for nothing that is hidden."""

import json
from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone
from pytest_django import Settings

from dashboard.models import Grant
from tests.inputs.events import event
from tests.rows.people import grant, member
from timeline.core.entries import microseconds
from timeline.models import (
    Acknowledgement,
    Alert,
    BaselineIncident,
    Cluster,
    Finding,
    Incident,
    Silence,
    Source,
    Symptom,
    Upload,
)
from timeline.queries.incidents import lists
from timeline.storage.judged import incidents
from timeline.storage.people import acknowledgements, baselines
from timeline.storage.permitted.limits import Permitted, seeing

pytestmark = pytest.mark.django_db
MINE, OTHER = "vol-restart", "vol-quiet"  # namespaces of the sample


@pytest.fixture(autouse=True)
def accounts(settings: Settings) -> None:
    settings.LOGIN_REQUIRED, settings.TOKEN_REQUIRED = True, False


@pytest.fixture
def mine(client: Client, sample: Source) -> Client:
    """Return the browser of a responder of one namespace."""
    client.force_login(member(Grant.Role.RESPONDER, on=sample, namespaces=[MINE]))
    return client


def incidents_of_reader(sample: Source) -> tuple[list[str], list[str]]:
    """Return the identities of incidents that a reader of one namespace sees whole, and of those that involve another
    namespace, too. The sample has none of the second sort, so one of its incidents is changed into one."""
    apart = Finding.objects.filter(source=sample, rule="pod-before-service")
    apart.update(incident=Symptom.objects.get(source=sample, rule="pod-before-service").identity)
    incidents.write(sample)
    divided = Incident.objects.filter(source=sample, namespaces=[MINE]).order_by("identity")[:1].get()
    for row in Finding.objects.filter(source=sample, incident=divided.identity):
        times = {"first": microseconds(row.first), "last": microseconds(row.last)}
        about = {"document": row.document, "occurrences": row.occurrences, "subject": row.subject, "tracks": row.tracks}
        row.part, row.namespaces = {**about, **times}, [OTHER, MINE]
        row.save()
    Incident.objects.filter(pk=divided.pk).update(namespaces=[OTHER, MINE])
    with seeing(Permitted(namespaces={sample.pk: frozenset([MINE])})):
        listed = [each["id"] for each in lists.incidents(sample.pk, limit=1000)["incidents"]]
    rows = Incident.objects.filter(source=sample, identity__in=listed)
    whole = {row.identity for row in rows if row.namespaces == [MINE]}
    return [each for each in listed if each in whole], [each for each in listed if each not in whole]


def post(client: Client, path: str, body: dict[str, Any]) -> Any:
    return client.post(path, body, content_type="application/json")


def test_only_what_is_seen_whole_is_acknowledged(mine: Client, sample: Source) -> None:
    whole, partly = incidents_of_reader(sample)
    hidden = Incident.objects.filter(source=sample).exclude(identity__in=[*whole, *partly]).first()
    assert whole and partly and hidden
    path = f"/api/sources/{sample.pk}/acknowledgements"
    assert post(mine, path, {"incidents": [whole[0], hidden.identity]}).json() == {"acknowledged": 1}
    refused = post(mine, path, {"incidents": [partly[0]]})
    assert refused.status_code == 403 and "objects that you may not see" in refused.json()["detail"]
    assert [each.identity for each in Acknowledgement.objects.all()] == [whole[0]]
    assert mine.delete(f"/api/sources/{sample.pk}/incidents/{whole[0]}/acknowledgement").status_code == 204
    Acknowledgement.objects.create(source=sample, identity=partly[0], by="somebody", note="")
    assert mine.delete(f"/api/sources/{sample.pk}/incidents/{partly[0]}/acknowledgement").status_code == 404
    with seeing(Permitted(namespaces={sample.pk: frozenset([MINE])})):
        acknowledgements.acknowledge_new({sample.pk: [*whole, *partly, hidden.identity]}, "me", "")
    assert {each.identity for each in Acknowledgement.objects.filter(by="me")} == {*whole}


def test_pages_offer_to_acknowledge_what_the_role_reaches_whole(client: Client, sample: Source) -> None:
    person = member(Grant.Role.VIEWER)
    grant(person, Grant.Role.RESPONDER, on=sample, namespaces=[MINE])
    client.force_login(person)
    whole, partly = incidents_of_reader(sample)
    pages = [client.get(f"/sources/{sample.pk}/incidents/{each}/").content for each in (whole[0], partly[0])]
    assert [b'name="note"' in page for page in pages] == [True, False]
    assert [b"of which you are only a viewer" in page for page in pages] == [False, True]
    finding = Finding.objects.filter(source=sample, incident=whole[0]).values_list("identity", flat=True)[0]
    assert b'name="note"' in client.get(f"/sources/{sample.pk}/findings/{finding}/").content


def test_a_silence_matches_nothing_that_is_hidden(mine: Client, sample: Source) -> None:
    about = {"rule": "orphan-pod", "reason": "known"}
    for more, why in (
        ({}, "Choose the one that the silence is for."),
        ({"source": sample.pk}, f"Name one of them: {MINE}."),
        ({"source": sample.pk, "namespace": OTHER}, f"Name one of them: {MINE}."),
    ):
        answer = post(mine, "/api/silences", {**about, **more})
        assert answer.status_code == 422 and why in answer.json()["detail"]
    made = post(mine, "/api/silences", {**about, "source": sample.pk, "namespace": MINE})
    assert made.status_code == 201
    assert [each["reason"] for each in mine.get("/api/silences").json()] == ["known"]
    assert mine.delete(f"/api/silences/{made.json()['id']}").status_code == 204


def test_the_silences_of_others_are_shown_as_far_as_they_name_nothing_hidden(mine: Client, sample: Source) -> None:
    def silence(**about: Any) -> int:
        until = timezone.now() + timedelta(hours=1)
        return Silence.objects.create(reason="about a secret", by="admin", expires=until, **about).pk

    of_all, of_rule = silence(rule="orphan-pod"), silence(source=sample, rule="orphan-pod")
    silence(source=sample, namespace=OTHER)
    silence(source=sample, owner="secret-*")
    silence(actor="secret")
    assert {each["id"] for each in mine.get("/api/silences").json()} == {of_all, of_rule}
    assert b"secret" not in mine.get("/silences/").content
    for number in (of_all, of_rule):
        assert mine.delete(f"/api/silences/{number}").status_code == 404
    assert Silence.objects.filter(expires__gt=timezone.now()).count() == 5


def test_a_baseline_has_only_what_is_seen_whole(sample: Source) -> None:
    whole, partly = incidents_of_reader(sample)
    every = baselines.set_baseline(sample.pk, "admin")
    with seeing(Permitted(namespaces={sample.pk: frozenset([MINE])})):
        assert baselines.clear_baseline(sample.pk) == len(whole)
        assert baselines.set_baseline(sample.pk, "me") == len(whole)
    rows = BaselineIncident.objects.filter(source=sample)
    assert {row.identity for row in rows if row.by == "me"} == {*whole}
    assert rows.filter(by="admin").count() == every - len(whole) and partly
    assert rows.filter(by="admin", identity__in=partly)


def test_what_somebody_uploads_is_shown_to_that_person(mine: Client, sample: Source) -> None:
    Upload.objects.create(name="of somebody else", source=sample)
    sent = mine.post("/api/uploads?name=audit.jsonl", json.dumps(event()), "application/octet-stream")
    assert sent.status_code == 201, sent.content
    with seeing(
        Permitted(namespaces={sample.pk: frozenset([MINE])}), Upload.objects.get(pk=sent.json()["id"]).owner_id
    ):
        assert [each.name for each in Upload.objects.all()] == ["audit.jsonl"]
    assert b"of somebody else" not in mine.get("/").content


def test_an_alert_without_a_namespace_needs_the_whole_source(mine: Client, sample: Source) -> None:
    def alert(name: str, namespace: str) -> None:
        more = {"namespace": namespace, "objects_named": [], "labels": {}, "annotations": {}, "url": ""}
        times = {"started": timezone.now(), "seen": timezone.now()}
        identity = name.encode().hex()[:32].ljust(32, "0")
        Alert.objects.create(receiver="r", source=sample.pk, identity=identity, name=name, **more, **times)

    alert("of-mine", MINE)
    alert("of-another", OTHER)
    alert("of-all", "")
    content = mine.get("/alerts/").content.decode()
    assert [name in content for name in ("of-mine", "of-another", "of-all")] == [True, False, False]


@pytest.mark.parametrize("everywhere", [True, False])
def test_a_viewer_answers_only_for_what_a_responder_role_reaches_to(
    client: Client, sample: Source, *, everywhere: bool
) -> None:
    person = member(Grant.Role.VIEWER, on=None if everywhere else sample)
    grant(person, Grant.Role.RESPONDER, on=sample, namespaces=[MINE])
    client.force_login(person)
    rows = Incident.objects.filter(source=sample).order_by("identity")
    ours, others = rows.filter(namespaces=[MINE]).first(), rows.exclude(namespaces__contains=[MINE]).first()
    assert ours and others
    path = f"/api/sources/{sample.pk}"
    refused = post(client, f"{path}/acknowledgements", {"incidents": [others.identity]})
    assert refused.status_code == 403 and "only a viewer" in refused.json()["detail"]
    page = f"/sources/{sample.pk}/incidents/{others.identity}/"
    assert client.post(page, {"act": "acknowledge", "note": ""}).status_code == 403
    keys = [f"{sample.pk}.{each.identity}" for each in (ours, others)]
    assert client.post("/incidents/", {"incident": keys, "note": "known"}).status_code == 302
    assert [each.identity for each in Acknowledgement.objects.all()] == [ours.identity]
    Acknowledgement.objects.create(source=sample, identity=others.identity, by="somebody", note="")
    assert client.delete(f"{path}/incidents/{others.identity}/acknowledgement").status_code == 403
    for more in ({}, {"source": sample.pk}, {"source": sample.pk, "namespace": OTHER}):
        answer = post(client, "/api/silences", {"rule": "orphan-pod", "reason": "known", **more})
        assert answer.status_code == 422 and "You are" in answer.json()["detail"]
    mine = {"rule": "orphan-pod", "reason": "known", "source": sample.pk, "namespace": MINE}
    assert post(client, "/api/silences", mine).status_code == 201
    until = timezone.now() + timedelta(hours=1)
    held = Silence.objects.create(reason="known", by="admin", expires=until, source=sample, rule="orphan-pod")
    assert client.delete(f"/api/silences/{held.pk}").status_code == 404


def test_an_editor_of_one_cluster_cannot_watch_with_the_rights_of_the_workers(client: Client) -> None:
    cluster = Cluster.objects.create(name="dev", reference={"how": "stored"})
    page, form = f"/clusters/{cluster.pk}/", {"act": "change", "how": "in-cluster", "kubeconfig": "any"}
    client.force_login(member(Grant.Role.EDITOR, on=cluster))
    assert client.post(page, form).status_code == 403
    assert Cluster.objects.get().reference == {"how": "stored"}
    client.force_login(member(Grant.Role.EDITOR))
    assert client.post(page, form).status_code == 302
    assert Cluster.objects.get().reference["how"] == "in-cluster"
