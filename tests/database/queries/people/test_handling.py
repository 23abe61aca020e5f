"""What people say of incidents: that they know them, that they are silent for a while, and that they were there
before. It is said on pages and by the API, and holds until an incident gets worse."""

import re
from datetime import datetime, timedelta
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from tests.database.queries.incidents.listing import (
    GAP,
    TITLE,
    gap_of,
    happen,
    listed,
    of,
    page,
    rules,
    silence,
    titles,
    worsen,
)
from tests.database.storage.sources import asked
from tests.rows.people import member
from tests.unit.judging.incidents.test_incidents import expected
from timeline.models import Acknowledgement, Finding, Incident, Silence, Source
from timeline.queries.people import acknowledgements as acknowledgements_queries
from timeline.storage.judged import incidents
from timeline.storage.people import acknowledgements

pytestmark = pytest.mark.django_db
ROSE = "Its severity rose from warning to error."


@pytest.fixture
def gap(sample: Source) -> Incident:
    return gap_of(sample)


def acknowledge(client: Client, source: Source, *identities: str, note: str = "known", status: int = 200) -> Any:
    address = f"/api/sources/{source.pk}/acknowledgements"
    answer = client.post(address, {"incidents": identities, "note": note}, content_type="application/json")
    assert answer.status_code == status, answer.content
    return answer.json()


def holds(client: Client, source: Source, incident: str) -> bool:
    return asked(client, source, f"incidents/{incident}")["acknowledged"] is not None


# Acknowledgements


def test_many_are_acknowledged_at_once_hidden_and_counted_and_one_is_withdrawn(client: Client, sample: Source) -> None:
    one, other, *_ = [row["id"] for row in listed(client, sample)["incidents"]]
    assert acknowledge(client, sample, one, other, "0" * 16)["acknowledged"] == 2
    whole, rest = listed(client, sample), listed(client, sample, acknowledged="false")
    assert [row["id"] for row in whole["incidents"] if row["acknowledged"]] == [one, other]
    assert {row["id"] for row in rest["incidents"]} == {row["id"] for row in whole["incidents"]} - {one, other}
    assert (rest["total"], rest["acknowledged"]) == (2, 2)
    assert rest["findings"] + rest["acknowledged_findings"] == whole["findings"]
    assert (whole["acknowledged"], whole["acknowledged_findings"]) == (0, 0)
    address = f"/api/sources/{sample.pk}/incidents/{one}/acknowledgement"
    assert [client.delete(address).status_code for _ in range(2)] == [204, 404]
    assert (holds(client, sample, one), holds(client, sample, other)) == (False, True)


def test_on_the_page_many_are_acknowledged_and_that_is_undone(client: Client, sample: Source) -> None:
    rows = Incident.objects.filter(source=sample, namespace="vol-restart")
    chosen = [f"{sample.pk}.{row.identity}" for row in rows]
    answer = client.post(of(sample), {"act": "acknowledge", "incident": [*chosen, "999.0"], "note": "ticket 7"})
    assert answer.status_code == 302
    shown = page(client, answer["Location"])
    assert "1 incident acknowledged." in shown
    assert "1 acknowledged ·" in shown  # who has acknowledged something sees the rest
    assert len(TITLE.findall(shown)) == 1
    assert "2 more without harm" in shown
    every = page(client, of(sample), acknowledged="true")
    assert len(re.findall(r"acknowledged at .* UTC: ticket 7", every)) == 1
    client.post(answer["Location"], {"act": "undo"})
    assert len(titles(client, of(sample), harmless="true")) == 4
    assert not Acknowledgement.objects.exists()
    client.post(f"{of(sample)}?namespace=vol-restart", {"act": "acknowledge", "all": "1", "note": ""})
    assert Acknowledgement.objects.count() == 1  # all that the filter shows
    assert GAP not in titles(client, of(sample))
    client.post("/incidents/", {"act": "acknowledge", "all": "1"})
    assert "Nothing new: every incident is acknowledged or silenced, or did no harm." in page(client, of(sample))


def test_what_was_acknowledged_at_once_is_undone_at_once_by_who_did_it(sample: Source) -> None:
    first = list(Incident.objects.filter(source=sample).values_list("identity", flat=True))
    acknowledgements.acknowledge_incidents(sample.pk, first[:1], "ada", "mine")
    at = acknowledgements.acknowledge_new({sample.pk: first}, "bob", "all of them")
    assert acknowledgements_queries.acknowledged_at(at, "bob") == 3
    assert Acknowledgement.objects.get(source=sample, identity=first[0]).note == "mine"
    assert acknowledgements.undo(at, "eve") == 0
    assert acknowledgements.undo(at, "bob") == 3
    assert list(Acknowledgement.objects.values_list("by", flat=True)) == ["ada"]


def test_only_who_has_acknowledged_something_does_not_see_it_at_first(
    client: Client, sample: Source, gap: Incident, settings: Any
) -> None:
    settings.LOGIN_REQUIRED = True
    for name in ("ada", "bob"):
        client.force_login(member("responder", name=name))
        if name == "ada":
            client.post(of(sample), {"act": "acknowledge", "incident": f"{sample.pk}.{gap.identity}"})
        assert (GAP in titles(client, of(sample))) is (name == "bob")
    assert "acknowledged by ada at" in page(client, of(sample))


def test_a_note_that_is_too_long_is_refused_with_its_limit(client: Client, sample: Source, gap: Incident) -> None:
    long = {"act": "acknowledge", "note": "x" * 2001, "incident": f"{sample.pk}.{gap.identity}"}
    for address in (of(sample), f"{of(sample)}{gap.identity}/"):
        answer = client.post(address, long)
        assert answer.status_code == 400
        assert "The note has 2001 characters; 2000 are the most." in answer.content.decode()
    assert "2000 characters" in acknowledge(client, sample, gap.identity, note="x" * 2001, status=422)["detail"]
    assert not holds(client, sample, gap.identity)


def test_the_page_of_an_incident_says_what_to_do_and_takes_a_note(
    client: Client, sample: Source, gap: Incident
) -> None:
    address = f"{of(sample)}{gap.identity}/"
    shown = page(client, address)
    for text in (
        GAP,
        "vol-restart / Service ring",
        "4 occurrences · 5 findings",
        "What to do",
        "kubectl -n vol-restart get service ring -w --output-watch-events",
        "before the recording ends",
    ):
        assert text in shown, text
    answer = client.post(address, {"act": "acknowledge", "note": "ticket 7"})
    assert (answer.status_code, answer["Location"]) == (302, f"{address}#noted")
    assert "ticket 7" in page(client, address)
    client.post(address, {"act": "withdraw"})
    assert "ticket 7" not in page(client, address)
    assert client.get(f"{of(sample)}{'0' * 16}/").status_code == 404


def test_an_acknowledgement_ends_when_the_incident_gets_graver(client: Client, sample: Source, gap: Incident) -> None:
    acknowledge(client, sample, gap.identity)
    incidents.write(sample)
    assert holds(client, sample, gap.identity)
    worsen(gap)
    assert not holds(client, sample, gap.identity)
    assert Acknowledgement.objects.get(source=sample, identity=gap.identity).ended == ROSE
    shown = page(client, f"{of(sample)}{gap.identity}/")
    assert re.search(rf"cknowledged it at .* UTC\. {re.escape(ROSE)}", shown) and "Acknowledge…" in shown
    acknowledge(client, sample, gap.identity)
    assert holds(client, sample, gap.identity)


@pytest.mark.parametrize(("minutes", "ends"), [(59, False), (61, True)])
def test_it_ends_when_the_incident_comes_back_after_an_hour(
    client: Client, sample: Source, gap: Incident, minutes: int, ends: bool
) -> None:
    acknowledge(client, sample, gap.identity)
    happen(gap, round(gap.last.timestamp() * 1e6) + minutes * 60_000_000)
    assert holds(client, sample, gap.identity) is not ends


def test_findings_that_were_all_acknowledged_before_there_were_incidents_acknowledge_theirs(
    client: Client, sample: Source, gap: Incident
) -> None:
    findings = Finding.objects.filter(source=sample, incident=gap.identity).values_list("identity", flat=True)
    *known, last = findings
    for identities, held in ((known, False), ([last], True)):
        for identity in identities:
            Acknowledgement.objects.create(source=sample, identity=identity, by="ada", note="ticket 7")
        Incident.objects.filter(source=sample).delete()
        incidents.write(sample)
        assert holds(client, sample, gap.identity) is held


# Silences


def form(gap: Incident) -> str:
    return f"/silences/new?source={gap.source_id}&incident={gap.identity}"


@pytest.mark.parametrize(
    ("matchers", "silenced"),
    [
        ({"rule": "service-gap"}, {"service-gap"}),
        ({"namespace": "vol-restart"}, {"service-gap", "pod-before-service"}),
        ({"owner": "ri*"}, {"service-gap", "pod-before-service"}),
        ({"owner": "r?ng", "rule": "service-gap"}, {"service-gap"}),
        ({"owner": "ri"}, set()),
        ({"owner": ".*"}, set()),
        ({"actor": "admin", "namespace": "volcano-system"}, {"lease-contention", "lease-shared-config"}),
        ({"actor": "vc-cm-head (admin)", "rule": "service-gap"}, {"service-gap"}),
        ({"actor": "dmin"}, set()),
        ({"actor": "nobody"}, set()),
    ],
)
def test_a_silence_takes_what_it_matches_out_of_the_list(
    client: Client, sample: Source, matchers: dict[str, Any], silenced: set[str]
) -> None:
    made = silence(client, source=sample.pk, **matchers)
    rest = listed(client, sample)
    every = listed(client, sample, silenced="true")
    symptoms = [(one["rule"], one["silenced"]) for row in every["incidents"] for one in row["symptoms"]]
    assert {rule for rule, quiet in symptoms if quiet} == silenced
    assert {rule for rule, quiet in symptoms if not quiet} == {each.rule for each in expected()} - silenced
    gone = [row for row in every["incidents"] if all(one["silenced"] for one in row["symptoms"])]
    assert [row["id"] for row in every["incidents"] if row["silenced"]] == [row["id"] for row in gone]
    assert (rest["total"], rest["silenced"]) == (4 - len(gone), len(gone))
    for row in every["incidents"]:  # what is silenced counts in no title and no severity
        heard = [one for one in row["symptoms"] if not one["silenced"]] or row["symptoms"]
        assert row["severity"] == heard[0]["severity"]
        assert len(heard) > 1 or row["title"] == heard[0]["title"] or row["silenced"]
    assert (every["total"], every["silenced"]) == (4, 0)
    assert [client.delete(f"/api/silences/{made['id']}").status_code for _ in range(2)] == [204, 404]
    assert listed(client, sample)["total"] == 4


def test_a_silence_must_match_something_and_end_and_is_of_one_source_or_all(client: Client, sample: Source) -> None:
    wrong: dict[str, Any]
    for wrong in ({}, {"rule": "x", "hours": 0}, {"rule": "x", "hours": 10_000}, {"rule": "x", "reason": ""}):
        silence(client, 422, **wrong)
    silence(client, source=Source.objects.create(name="other", ready=True).pk, owner="ring")
    assert listed(client, sample)["silenced"] == 0
    made = silence(client, owner="ring")
    ends = datetime.fromisoformat(made["expires"]) - datetime.fromisoformat(made["created"])
    assert abs(ends - timedelta(hours=2)) < timedelta(seconds=5)
    assert (made["cluster"], made["source"]) == (None, None)
    assert listed(client, sample)["silenced"] == 1
    Silence.objects.update(expires=timezone.now())
    assert listed(client, sample)["silenced"] == 0
    assert client.get("/api/silences").json() == []


def test_the_form_of_a_silence_begins_with_what_the_incident_is_and_says_what_it_matches(
    client: Client, gap: Incident
) -> None:
    shown = page(client, form(gap))
    for text in ('value="vol-restart"', 'value="ring"', "<strong>1 incident</strong>", GAP):
        assert text in shown
    assert '<option value="2" selected>2 hours</option>' in shown
    for fields, words in (
        ({"namespace": "volcano-*", "owner": "volcan?"}, "It matches no incident"),
        ({"owner": "volcan?"}, "<strong>1 incident</strong>"),
    ):
        assert words in client.post("/silences/new", {"act": "preview", **fields}).content.decode()


def test_on_pages_a_silence_takes_incidents_out_of_the_lists_and_is_expired(
    client: Client, sample: Source, gap: Incident
) -> None:
    fields = {"act": "silence", "source": sample.pk, "scope": "one", "owner": "ri*", "reason": "nightly", "hours": "8"}
    answer = client.post(form(gap), fields)
    assert (answer.status_code, answer["Location"]) == (302, f"{of(sample)}{gap.identity}/")
    assert "Silenced until" in page(client, answer["Location"])
    shown = page(client, of(sample))
    assert "1 silenced ·" in shown and GAP not in shown
    assert "silenced until" in page(client, of(sample), silenced="true")
    silences = page(client, "/silences/")
    assert "recording sample" in silences and "7 h 59 min left" in silences
    client.post("/silences/", {"act": "expire", "silence": Silence.objects.get().pk})
    silences = page(client, "/silences/")
    assert "No silence holds now." in silences and "Ended</h2>" in silences
    assert GAP in page(client, of(sample))


def test_selected_incidents_get_a_silence_each_and_the_page_of_one_ends_it(client: Client, sample: Source) -> None:
    every = Incident.objects.filter(source=sample)
    keys = [f"{sample.pk}.{each.identity}" for each in every]
    form = client.post("/silences/many", {"incident": [*keys, keys[0], f"{sample.pk}.{'0' * 16}"], "act": "preview"})
    assert f"Silence {len(keys)}</button>" in form.content.decode()
    refused = client.post("/silences/many", {"incident": keys, "act": "silence", "hours": "2"})
    assert (refused.status_code, Silence.objects.count()) == (400, 0), "it has no reason"
    said = {"incident": keys, "act": "silence", "hours": "2", "reason": "maintenance"}
    assert client.post("/silences/many", said).headers["Location"] == "/silences/"
    assert Silence.objects.count() == len(keys)
    assert listed(client, sample)["total"] == 0
    one = gap_of(sample)
    here = f"{of(sample)}{one.identity}/"
    known = asked(client, sample, f"incidents/{one.identity}")["silenced"]["silence"]
    assert f'name="silence" value="{known}"' in page(client, here)
    back = client.post("/silences/", {"silence": known, "source": sample.pk, "incident": one.identity})
    assert back.headers["Location"] == here
    assert "End silence" not in page(client, here) and listed(client, sample)["total"] == 1
    assert client.post("/silences/many", {"act": "silence"}).headers["Location"] == "/incidents/"


def test_a_silence_that_cannot_be_is_refused_and_the_form_kept(client: Client, gap: Incident) -> None:
    fields = {"act": "silence", "rule": "service-gap", "reason": "because", "hours": "2"}
    for wrong, problem in (
        ({"reason": ""}, "Give a reason"),
        ({"rule": ""}, "it would match everything"),
        ({"hours": "0"}, "Choose how long"),
        ({"hours": "nan"}, "Choose how long"),
    ):
        answer = client.post(form(gap), {**fields, **wrong})
        assert answer.status_code == 400
        assert problem in answer.content.decode()
    assert not Silence.objects.exists()


def test_a_silence_outlives_that_its_job_is_created_again(client: Client, sample: Source, gap: Incident) -> None:
    """The Pods of the Job have the same names again, and other UIDs."""
    silence(client, source=sample.pk, owner="ring")
    found = Finding.objects.get(source=sample, identity=gap.worst)
    found.identity = found.document["id"] = "0" * 16
    found.document["subject"]["uid"] = "another"
    found.save(force_insert=True)
    incidents.write(sample, [gap.identity])
    again = gap_of(sample)
    assert (again.identity, again.subjects, again.findings) == (gap.identity, gap.subjects + 1, gap.findings + 1)
    assert listed(client, sample)["silenced"] == 1


# Baselines


def test_a_baseline_takes_what_is_known_out_of_the_lists_until_it_gets_worse(
    client: Client, sample: Source, gap: Incident
) -> None:
    address, api = f"/sources/{sample.pk}/baseline/", f"/api/sources/{sample.pk}/baseline"
    assert client.put(api).json() == {"incidents": 4}
    assert client.delete(api).status_code == 204
    assert listed(client, sample)["total"] == 4
    assert client.delete(api).status_code == 404
    assert "The 4 incidents that are known now leave the lists" in page(client, address)
    client.post(address, {"act": "set"})
    assert "4 incidents</a> are still in it" in page(client, address)
    assert "4 silenced ·" in page(client, of(sample))
    incidents.write(sample)
    assert (listed(client, sample)["total"], listed(client, sample)["silenced"]) == (0, 4)
    worsen(gap)
    assert rules(client, sample) == ["pod-before-service", "service-gap"]
    assert titles(client, of(sample)) == [GAP]
    shown = page(client, address)
    assert "3 incidents</a> are still in it" in shown and ROSE in shown
    assert ROSE in page(client, f"{of(sample)}{gap.identity}/")
    client.post(address, {"act": "clear"})
    assert len(titles(client, of(sample), harmless="true")) == 4


@pytest.mark.parametrize(("times", "ends"), [(1, False), (3, True)])
def test_what_happens_more_often_leaves_the_baseline(
    client: Client, sample: Source, gap: Incident, times: int, ends: bool
) -> None:
    client.put(f"/api/sources/{sample.pk}/baseline")
    now = round(timezone.now().timestamp() * 1e6) + 1_000_000
    happen(gap, *range(now, now + times))
    assert (listed(client, sample)["total"] == 1) is ends
