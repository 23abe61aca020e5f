"""Incidents: what belongs to one, what it is called, where it is stored, and when its acknowledgement ends."""

from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from collectors.analysis import analyse
from collectors.formats import Limits
from tests.following import Followed
from tests.recordings import SAMPLE, entries_of
from timeline.history.lifelines import Name
from timeline.judge import rulebook
from timeline.judging.incidents.subjects import identity, title
from timeline.models import Acknowledgement, Cluster, Finding, Incident, Silence, Source, Track
from timeline.payloads.incidents.making import incident_of, incidents_of, parts_of
from timeline.payloads.incidents.members import Members, Part
from timeline.queries.incidents import scoping
from timeline.queries.people import acknowledgements as acknowledgements_queries
from timeline.queries.window import deltas
from timeline.queries.window.view import View
from timeline.storage.judged import incidents
from timeline.storage.people import acknowledgements

RING = Name("", "Service", "vol-restart", "ring")


def analysed(path: Path = SAMPLE) -> Any:
    return analyse([(path, path.name)], Limits())


FINDINGS = analysed().findings


def test_every_rule_can_name_its_incidents() -> None:
    for rule in rulebook():
        several = title(rule.incident, RING, ["Pod"], 2, "Pod a", 2, 3)
        assert "{" not in several
        assert several[0].isupper() or several[0].isdigit()


def test_a_title_counts_subjects_of_one_kind_and_names_a_single_one() -> None:
    template = "{anchor} was away under {subjects}{times}"
    assert title(template, RING, ["Pod"], 1, "Pod a", 1, 1) == "Service ring was away under Pod a"
    assert title(template, RING, ["Pod"], 2, "Pod a", 2, 2) == "Service ring was away under 2 Pods, 2 times"
    assert title(template, RING, ["Pod", "Job"], 2, "Pod a", 2, 1) == "Service ring was away under 2 objects"


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


@given(st.permutations(list(parts_of(FINDINGS))), st.integers(0, len(FINDINGS)))
def test_findings_that_come_and_go_leave_no_trace(parts: list[Part], gone: int) -> None:
    """A live source adds findings to its incidents and removes them one by one; a recording gathers all at once."""
    members: dict[tuple[str, Name], Members] = {}
    templates = {rule.id: rule.incident for rule in rulebook()}
    for each in [*parts, *(each._replace(severity="error", name="other") for each in parts[:gone]), *parts[:gone]]:
        about = members.setdefault((each.rule, each.anchor), Members(each.rule, each.anchor, templates[each.rule]))
        about.put([each])
    assert sorted(map(incident_of, members.values())) == sorted(analysed_once())
    for each in parts[:gone]:
        members[each.rule, each.anchor].remove(each.id)
    rest = incidents_of(parts[gone:], rulebook())
    assert sorted(incident_of(each) for each in members.values() if each) == sorted(rest)


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
    assert listed(client, sample, state="over")["total"] == 5
    assert listed(client, sample, severity="info")["total"] == 3
    assert listed(client, sample, q="RING steady")["total"] == 1
    assert listed(client, sample, actor="nobody")["total"] == 0
    first = listed(client, sample, limit=3)
    rest = listed(client, sample, limit=3, cursor=first["next"])
    assert (len(first["incidents"]), len(rest["incidents"]), rest["next"]) == (3, 3, None)
    assert client.get(f"/api/sources/{sample.pk}/incidents?cursor=3").status_code == 422
    assert (
        client.get(f"/api/sources/{sample.pk}/incidents?order=time&cursor={first['next']}&limit=3").status_code == 200
    )
    assert client.get(f"/api/sources/{sample.pk}/incidents?order=newest&cursor={first['next']}").status_code == 422
    assert client.get(f"/api/sources/{sample.pk}/incidents/{'0' * 16}").status_code == 404


@pytest.mark.django_db
def test_the_rows_of_an_incident_are_its_occurrences(client: Client, sample: Source) -> None:
    for each in listed(client, sample)["incidents"]:
        rows = client.get(f"/api/sources/{sample.pk}/findings", {"incident": each["id"]}).json()
        assert rows["total"] == each["occurrences"]
        assert all(row["incidents"] == [each["id"]] for row in rows["findings"])
        assert len({found["id"] for row in rows["findings"] for found in row["findings"]}) == each["findings"]


@pytest.mark.django_db
def test_an_incident_is_in_view_only_if_an_occurrence_is(client: Client, sample: Source) -> None:
    gap = next(each for each in listed(client, sample)["incidents"] if each["rule"] == "service-gap")
    rows = client.get(f"/api/sources/{sample.pk}/findings", {"incident": gap["id"]}).json()["findings"]
    (_, ended), (began, _) = sorted((row["start"], row["end"]) for row in rows)

    def rules(start: int, end: int) -> set[str]:
        told = listed(client, sample, start=start, end=end)
        view = scoping.incidents_in_view(sample.pk, View(), start, end, limit=50, rows=50)
        assert told["total"] == len(told["incidents"]) == view.incidents_total
        assert {each["id"] for each in told["incidents"]} == {each.incident["id"] for each in view.incidents}
        return {each["rule"] for each in told["incidents"]}

    assert "service-gap" not in rules(ended + 1, began - 1)
    assert "service-gap" in rules(ended, began - 1) and "service-gap" in rules(ended + 1, began)
    assert "service-gap" in rules(gap["start"] - 1, gap["end"] + 1)
    assert rules(ended + 1, began - 1) == set()  # though the spans of two incidents reach across it


@pytest.mark.django_db
def test_the_scope_of_an_owner_has_what_names_it_or_what_it_owns(client: Client, sample: Source) -> None:
    owners = Track.objects.filter(source=sample, kind__in=["Job", "Deployment"])
    roots = dict(owners.values_list("name", "root"))

    def rules(name: str) -> list[str]:
        return sorted(each["rule"] for each in listed(client, sample, root=roots[name])["incidents"])

    assert rules("ring") == ["pod-before-service", "service-gap"]
    assert rules("vs-offline") == ["lease-contention", "lease-shared-config", "stale-write"]
    found = client.get(f"/api/sources/{sample.pk}/findings", {"scope": roots["ring"]}).json()
    assert {row["rule"] for row in found["findings"]} == {"pod-before-service", "service-gap"}
    assert listed(client, sample, root=10**9)["total"] == 0


@pytest.mark.django_db
def test_incidents_are_found_by_the_kind_and_name_of_a_subject(client: Client, sample: Source) -> None:
    assert listed(client, sample, kinds="Pods")["total"] == 2
    assert listed(client, sample, kinds="Leases,Workloads")["total"] == 3
    assert listed(client, sample, name="steady-2")["total"] == 1
    assert listed(client, sample, kinds="Pods", name="vs-o")["total"] == 0


@pytest.mark.django_db
def test_a_commit_tells_which_incidents_changed_and_which_are_gone() -> None:
    followed = Followed()
    entries = sorted(entries_of(SAMPLE), key=lambda entry: entry.staged)
    before = followed.commit([])
    followed.commit(entries)
    told = deltas.missed(followed.source.pk, before)
    assert told
    source = Source.objects.get(pk=followed.source.pk)
    assert {each["id"] for each in told["incidents"]} == set(
        Incident.objects.filter(source=source).values_list("identity", flat=True)
    )
    assert {row["incidents"][0] for row in told["findings"]} <= {each["id"] for each in told["incidents"]}
    Incident.objects.filter(source=source, rule="service-gap").delete()
    told = deltas.missed(source.pk, before)
    assert told
    assert told["incidents_gone"] == [identity("service-gap", RING)]


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
def test_a_note_that_is_too_long_is_refused_with_its_limit(client: Client, sample: Source) -> None:
    one, pages = listed(client, sample)["incidents"][0]["id"], f"/sources/{sample.pk}/incidents/"
    long = {"act": "acknowledge", "note": "x" * 2001, "incident": f"{sample.pk}.{one}"}
    for address in (pages, f"{pages}{one}/"):
        answer = client.post(address, long)
        assert answer.status_code == 400
        assert "The note has 2001 characters; 2000 are the most." in answer.content.decode()
    body = {"incidents": [one], "note": "x" * 2001}
    answer = client.post(f"/api/sources/{sample.pk}/acknowledgements", body, content_type="application/json")
    assert answer.status_code == 422 and "2000 characters" in answer.json()["detail"]
    assert not holds(client, sample, one)


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


# Silences and baselines


def silence(client: Client, **matchers: Any) -> Any:
    answer = client.post("/api/silences", {"reason": "known", **matchers}, content_type="application/json")
    assert answer.status_code == 201, answer.content
    return answer.json()


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("matchers", "rules"),
    [
        ({"rule": "service-gap"}, {"service-gap"}),
        ({"namespace": "vol-restart"}, {"service-gap", "pod-before-service"}),
        ({"owner": "ri*"}, {"service-gap", "pod-before-service"}),
        ({"owner": "r?ng", "rule": "service-gap"}, {"service-gap"}),
        ({"owner": "ri"}, set()),
        ({"owner": ".*"}, set()),
        ({"actor": "admin", "namespace": "volcano-system"}, {"lease-contention", "lease-shared-config"}),
        ({"actor": "nobody"}, set()),
    ],
)
def test_a_silence_takes_what_it_matches_out_of_the_list(
    client: Client, sample: Source, matchers: dict[str, str], rules: set[str]
) -> None:
    made = silence(client, source=sample.pk, **matchers)
    rest = listed(client, sample)
    assert {row["rule"] for row in rest["incidents"]} == {row.rule for row in analysed_once()} - rules
    assert rest["silenced"] == len(rules)
    every = listed(client, sample, silenced="true")
    assert {row["rule"] for row in every["incidents"] if row["silenced"]} == rules
    assert (every["total"], every["silenced"]) == (6, 0)
    assert client.delete(f"/api/silences/{made['id']}").status_code == 204
    assert client.delete(f"/api/silences/{made['id']}").status_code == 404
    assert listed(client, sample)["total"] == 6


@pytest.mark.django_db
def test_a_silence_must_match_something_and_end(client: Client, sample: Source) -> None:
    for wrong in ({}, {"rule": "x", "hours": 0}, {"rule": "x", "hours": 10_000}, {"rule": "x", "reason": ""}):
        body = {"reason": "known", **wrong}
        assert client.post("/api/silences", body, content_type="application/json").status_code == 422, wrong
    made = silence(client, rule="service-gap")
    ends = datetime.fromisoformat(made["expires"]) - datetime.fromisoformat(made["created"])
    assert abs(ends - timedelta(hours=2)) < timedelta(seconds=5)
    assert (made["cluster"], made["source"]) == (None, None)
    assert listed(client, sample)["silenced"] == 1
    Silence.objects.update(expires=timezone.now())
    assert listed(client, sample)["silenced"] == 0
    assert client.get("/api/silences").json() == []


@pytest.mark.django_db
def test_a_silence_of_another_source_does_not_hold(client: Client, sample: Source) -> None:
    other = Source.objects.create(name="other", ready=True)
    silence(client, source=other.pk, rule="service-gap")
    assert listed(client, sample)["silenced"] == 0


@pytest.mark.django_db
def test_a_silence_outlives_that_its_job_is_created_again(client: Client, sample: Source) -> None:
    silence(client, source=sample.pk, owner="ring", rule="service-gap")
    gap = Incident.objects.get(source=sample, rule="service-gap")
    found = Finding.objects.get(source=sample, identity=gap.worst)
    again = {**found.document, "id": "0" * 16, "subject": {**found.document["subject"], "uid": "another"}}
    found.identity, found.document = "0" * 16, again
    found.save(force_insert=True)
    incidents.write(sample, [gap.identity])
    assert listed(client, sample)["silenced"] == 1


@pytest.mark.django_db
def test_a_baseline_takes_what_is_known_out_of_the_list_until_it_gets_worse(client: Client, sample: Source) -> None:
    address = f"/api/sources/{sample.pk}/baseline"
    assert client.put(address).json() == {"incidents": 6}
    assert (listed(client, sample)["total"], listed(client, sample)["silenced"]) == (0, 6)
    incidents.write(sample)
    assert listed(client, sample)["silenced"] == 6
    gap = Incident.objects.get(source=sample, rule="service-gap")
    graver = Finding.objects.filter(source=sample, identity=gap.worst).get()
    graver.document["severity"] = "error"
    graver.save()
    incidents.write(sample, [gap.identity])
    assert [row["rule"] for row in listed(client, sample)["incidents"]] == ["service-gap"]
    assert client.delete(address).status_code == 204
    assert listed(client, sample)["total"] == 6
    assert client.delete(address).status_code == 404


@pytest.mark.django_db
@pytest.mark.parametrize(("times", "ends"), [(1, False), (3, True)])
def test_what_happens_more_often_leaves_the_baseline(client: Client, sample: Source, times: int, ends: bool) -> None:
    client.put(f"/api/sources/{sample.pk}/baseline")
    gap = Incident.objects.get(source=sample, rule="service-gap")
    again = Finding.objects.get(source=sample, identity=gap.worst)
    now = round(timezone.now().timestamp() * 1e6) + 1_000_000
    again.occurrences += [
        {**again.occurrences[-1], "group": f"later {at}", "first": now + at, "last": now + at + 1}
        for at in range(times)
    ]
    again.save()
    incidents.write(sample, [gap.identity])
    assert (listed(client, sample)["total"] == 1) is ends


@pytest.mark.django_db
def test_acknowledged_incidents_can_be_hidden_and_are_counted(client: Client, sample: Source) -> None:
    one, *_ = [row["id"] for row in listed(client, sample)["incidents"]]
    acknowledge(client, sample, one)
    rest = listed(client, sample, acknowledged="false")
    assert (rest["total"], rest["acknowledged"]) == (5, 1)
    whole = listed(client, sample)
    assert rest["findings"] + rest["acknowledged_findings"] == whole["findings"]
    assert (whole["acknowledged"], whole["acknowledged_findings"]) == (0, 0)
    assert one not in {row["id"] for row in rest["incidents"]}


@pytest.mark.django_db
def test_the_page_of_an_incident_says_what_to_do_and_takes_a_note(client: Client, sample: Source) -> None:
    gap = Incident.objects.get(source=sample, rule="service-gap")
    address = f"/sources/{sample.pk}/incidents/{gap.identity}/"
    page = client.get(address).content.decode()
    for text in (
        "Service ring was away under 3 Pods, 2 times",
        "vol-restart / Service ring",
        "2 occurrences · 3 findings",
        "What to do",
        "kubectl -n vol-restart get service ring -w --output-watch-events",
        "before the recording ends",
    ):
        assert text in page, text
    answer = client.post(address, {"act": "acknowledge", "note": "ticket 7"})
    assert (answer.status_code, answer["Location"]) == (302, f"{address}#noted")
    assert "ticket 7" in client.get(address).content.decode()
    client.post(address, {"act": "withdraw"})
    assert "ticket 7" not in client.get(address).content.decode()
    assert client.post(address, {"note": "x" * 2001}).status_code == 400
    assert client.get(f"/sources/{sample.pk}/incidents/{'0' * 16}/").status_code == 404


# All sources, and many incidents at once


@pytest.fixture
def other(sample: Source) -> Source:
    """Return a source of a connected cluster that shows the same incidents again, newer ones."""
    cluster = Cluster.objects.create(name="prod")
    source = Source.objects.create(name="prod", ready=True, cluster=cluster, last=timezone.now())
    cluster.source = source
    cluster.save()
    for found in Finding.objects.filter(source=sample):
        found.source = source
        found.save(force_insert=True)
    incidents.write(source)
    return source


@pytest.mark.django_db
def test_the_list_of_all_sources_comes_newest_first_and_page_by_page(
    client: Client, sample: Source, other: Source
) -> None:
    Incident.objects.filter(source=other, rule="service-gap").update(last=timezone.now(), open=False)
    rows: list[Any] = []
    cursor: Any = ""
    while cursor is not None:
        page = client.get("/api/incidents", {"limit": 3, "cursor": cursor}).json()
        assert page["total"] == 12
        rows += page["incidents"]
        cursor = page["next"]
    assert (rows[0]["source"], rows[0]["rule"], rows[0]["state"]) == (other.pk, "service-gap", "ongoing")
    assert len({(row["source"], row["id"]) for row in rows}) == 12
    assert [row["end"] for row in rows] == sorted((row["end"] for row in rows), reverse=True)
    ongoing = client.get("/api/incidents", {"state": "ongoing", "rule": "service-gap"}).json()
    assert [row["source"] for row in ongoing["incidents"]] == [other.pk]
    assert client.get("/api/incidents", {"cursor": "newest.1.1.0123456789abcdef"}).status_code == 422


@pytest.mark.django_db
def test_in_the_list_of_all_sources_a_silence_and_a_baseline_hold_for_their_own(
    client: Client, sample: Source, other: Source
) -> None:
    silence(client, source=other.pk, rule="service-gap")
    client.put(f"/api/sources/{sample.pk}/baseline")
    page = client.get("/api/incidents").json()
    assert (page["total"], page["silenced"]) == (5, 7)
    assert {row["source"] for row in page["incidents"]} == {other.pk}
    every = client.get("/api/incidents", {"silenced": "true"}).json()["incidents"]
    assert {row["source"] for row in every if row["silenced"]} == {sample.pk, other.pk}


@pytest.mark.django_db
def test_what_was_acknowledged_at_once_is_undone_at_once(sample: Source, other: Source) -> None:
    first = list(Incident.objects.filter(source=sample).values_list("identity", flat=True))
    acknowledgements.acknowledge_incidents(sample.pk, first[:1], "ada", "mine")
    at = acknowledgements.acknowledge_new({sample.pk: first, other.pk: first}, "bob", "all of them")
    assert acknowledgements_queries.acknowledged_at(at, "bob") == 11
    assert Acknowledgement.objects.get(source=sample, identity=first[0]).note == "mine"
    assert acknowledgements.undo(at, "eve") == 0
    assert acknowledgements.undo(at, "bob") == 11
    assert list(Acknowledgement.objects.values_list("by", flat=True)) == ["ada"]
