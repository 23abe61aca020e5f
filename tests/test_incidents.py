"""Incidents: what belongs to one, what it is called, where it is stored, and when its acknowledgement ends."""

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.test import Client
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from collectors.analysis import analyse
from collectors.formats import Limits
from tests.recordings import SAMPLE
from timeline.history.lifelines import Name
from timeline.judge import rulebook
from timeline.judging.incidents import identity, title
from timeline.models import Acknowledgement, Finding, Incident, Source
from timeline.payloads.incidents import incidents_of, parts_of
from timeline.storage import incidents

RING = Name("", "Service", "vol-restart", "ring")


def analysed(path: Path = SAMPLE) -> Any:
    return analyse([(path, path.name)], Limits())


FINDINGS = analysed().findings


def test_every_rule_can_name_its_incidents() -> None:
    for rule in rulebook():
        several = title(rule.incident, RING, [("Pod", "a"), ("Pod", "b")], 2, 3)
        assert "{" not in several
        assert several[0].isupper() or several[0].isdigit()


def test_a_title_counts_subjects_of_one_kind_and_names_a_single_one() -> None:
    template = "{anchor} was away under {subjects}{times}"
    assert title(template, RING, [("Pod", "a")], 1, 1) == "Service ring was away under Pod a"
    assert title(template, RING, [("Pod", "a"), ("Pod", "b")], 2, 2) == "Service ring was away under 2 Pods, 2 times"
    assert title(template, RING, [("Pod", "a"), ("Job", "b")], 2, 1) == "Service ring was away under 2 objects"


def test_what_happened_to_several_pods_of_one_service_is_one_incident() -> None:
    gap, *others = [each for each in analysed().incidents() if each.rule == "service-gap"]
    assert not others
    assert gap.title == "Service ring was away under 3 Pods, 2 times"
    assert (gap.severity, gap.subjects, len(gap.findings), len(gap.times), gap.open) == ("warning", 3, 3, 2, False)
    assert gap.names == ["ring-steady-0", "ring-steady-1", "ring-steady-2"]
    assert gap.id == identity("service-gap", RING)


def test_an_object_that_is_created_again_stays_in_its_incident() -> None:
    found = next(each for each in FINDINGS if each.rule == "service-gap")
    again = replace(found, subject=replace(found.subject, uid="another"))
    assert again.id != found.id
    (incident,) = incidents_of(parts_of([found, again]), rulebook())
    assert (incident.subjects, len(incident.findings)) == (2, 2)


def test_an_incident_goes_on_if_an_occurrence_had_not_ended_when_the_recording_ended() -> None:
    ongoing = {each.rule for each in analysed().incidents() if each.open}
    assert ongoing == {"lease-shared-config"}


@given(st.permutations(FINDINGS))
def test_the_order_of_findings_leaves_no_trace(findings: list[Any]) -> None:
    assert incidents_of(parts_of(findings), rulebook()) == analysed_once()


def analysed_once() -> Any:
    return incidents_of(parts_of(FINDINGS), rulebook())


# The stored ones


def listed(client: Client, source: Source, **query: Any) -> Any:
    answer = client.get(f"/api/sources/{source.pk}/incidents", query)
    assert answer.status_code == 200, answer.content
    return answer.json()


@pytest.mark.django_db
def test_the_list_tells_what_analyze_tells(client: Client, sample: Source) -> None:
    told = listed(client, sample, order="gravest")
    rows = [
        (row["id"], row["title"], row["severity"], row["findings"], row["occurrences"]) for row in told["incidents"]
    ]
    assert rows == [
        (each.id, each.title, each.severity, len(each.findings), len(each.times)) for each in analysed_once()
    ]
    assert (told["total"], told["findings"]) == (len(rows), len(FINDINGS))
    assert told["incidents"][0] == client.get(f"/api/sources/{sample.pk}/incidents/{rows[0][0]}").json()


@pytest.mark.django_db
def test_it_is_filtered_and_comes_page_by_page(client: Client, sample: Source) -> None:
    rules = [row["rule"] for row in listed(client, sample, namespace="vol-restart")["incidents"]]
    assert sorted(rules) == ["pod-before-service", "service-gap"]
    assert [row["rule"] for row in listed(client, sample, state="ongoing")["incidents"]] == ["lease-shared-config"]
    assert listed(client, sample, state="over")["total"] == 3
    assert listed(client, sample, severity="info")["total"] == 1
    assert listed(client, sample, q="RING steady")["total"] == 1
    assert listed(client, sample, actor="nobody")["total"] == 0
    first = listed(client, sample, limit=3)
    rest = listed(client, sample, limit=3, cursor=first["next"])
    assert (len(first["incidents"]), len(rest["incidents"]), rest["next"]) == (3, 1, None)
    assert client.get(f"/api/sources/{sample.pk}/incidents?cursor=3").status_code == 422
    assert (
        client.get(f"/api/sources/{sample.pk}/incidents?order=time&cursor={first['next']}&limit=3").status_code == 200
    )
    assert client.get(f"/api/sources/{sample.pk}/incidents?order=newest&cursor={first['next']}").status_code == 422
    assert client.get(f"/api/sources/{sample.pk}/incidents/{'0' * 16}").status_code == 404


def acknowledge(client: Client, source: Source, *identities: str) -> int:
    address = f"/api/sources/{source.pk}/acknowledgements"
    answer = client.post(address, {"incidents": identities, "note": "known"}, content_type="application/json")
    assert answer.status_code == 200, answer.content
    return int(answer.json()["acknowledged"])


def holds(client: Client, source: Source, incident: str) -> bool:
    return client.get(f"/api/sources/{source.pk}/incidents/{incident}").json()["acknowledged"] is not None


@pytest.mark.django_db
def test_many_are_acknowledged_at_once_and_one_is_withdrawn(client: Client, sample: Source) -> None:
    one, other, *_ = [row["id"] for row in listed(client, sample)["incidents"]]
    assert acknowledge(client, sample, one, other, "0" * 16) == 2
    assert [row["id"] for row in listed(client, sample)["incidents"] if row["acknowledged"]] == [one, other]
    assert client.delete(f"/api/sources/{sample.pk}/incidents/{one}/acknowledgement").status_code == 204
    assert client.delete(f"/api/sources/{sample.pk}/incidents/{one}/acknowledgement").status_code == 404
    assert (holds(client, sample, one), holds(client, sample, other)) == (False, True)


@pytest.mark.django_db
def test_an_acknowledgement_ends_when_the_incident_gets_graver(client: Client, sample: Source) -> None:
    gap = Incident.objects.get(source=sample, rule="service-gap")
    acknowledge(client, sample, gap.identity)
    incidents.write(sample)
    assert holds(client, sample, gap.identity)
    graver = Finding.objects.filter(source=sample, identity=gap.worst).get()
    graver.document["severity"] = "error"
    graver.save()
    incidents.write(sample, [gap.identity])
    assert not holds(client, sample, gap.identity)
    ended = Acknowledgement.objects.get(source=sample, identity=gap.identity).ended
    assert ended == "Its severity rose from warning to error."
    acknowledge(client, sample, gap.identity)
    assert holds(client, sample, gap.identity)


@pytest.mark.django_db
@pytest.mark.parametrize(("over", "ends"), [(timedelta(minutes=59), False), (timedelta(minutes=61), True)])
def test_it_ends_when_the_incident_comes_back_after_an_hour(
    client: Client, sample: Source, over: timedelta, ends: bool
) -> None:
    gap = Incident.objects.get(source=sample, rule="service-gap")
    acknowledge(client, sample, gap.identity)
    again = Finding.objects.get(source=sample, identity=gap.worst)
    later = round(gap.last.timestamp() * 1e6) + over // timedelta(microseconds=1)
    again.occurrences.append({**again.occurrences[-1], "group": "later", "first": later, "last": later + 1})
    again.save()
    incidents.write(sample, [gap.identity])
    assert holds(client, sample, gap.identity) is not ends


@pytest.mark.django_db
def test_findings_that_were_all_acknowledged_before_there_were_incidents_acknowledge_theirs(
    client: Client, sample: Source
) -> None:
    gap = Incident.objects.get(source=sample, rule="service-gap")
    findings = list(Finding.objects.filter(source=sample, incident=gap.identity).values_list("identity", flat=True))
    for known in findings[:-1]:
        Acknowledgement.objects.create(source=sample, identity=known, by="ada", note="ticket 7")
    Incident.objects.filter(source=sample).delete()
    incidents.write(sample)
    assert not holds(client, sample, gap.identity)
    Acknowledgement.objects.create(source=sample, identity=findings[-1], by="bob", note="too")
    Incident.objects.filter(source=sample).delete()
    incidents.write(sample)
    assert holds(client, sample, gap.identity)


@pytest.mark.django_db
def test_an_incident_goes_when_its_last_finding_is_withdrawn(sample: Source) -> None:
    gap = Incident.objects.get(source=sample, rule="service-gap")
    Finding.objects.filter(source=sample, incident=gap.identity).update(withdrawn=True)
    assert incidents.write(sample, [gap.identity]) == ([], [gap.identity])
    assert not Incident.objects.filter(source=sample, rule="service-gap").exists()
