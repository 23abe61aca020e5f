"""These tests ask for the page of an incident: what it caused, and what people say is not of its cause."""

import re
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from pytest_django import DjangoDbBlocker

from dashboard.models import AuditRecord
from tests.database.storage.sources import asked, lasting, with_bodies
from tests.database.web.views.pages import page_text
from tests.unit.judging.incidents.test_causes import EXCESS
from timeline.models import Finding, Incident, Occurrence, Source, Symptom

pytestmark = pytest.mark.django_db


@pytest.fixture(scope="module")
def nightly(django_db_setup: None, django_db_blocker: DjangoDbBlocker) -> Iterator[Source]:
    """A recording of one incident with three symptoms, and no other."""
    with lasting(django_db_blocker, with_bodies(EXCESS), "nightly") as source:
        yield source


def address_of(incident: str, source: Source) -> str:
    return f"/sources/{source.pk}/incidents/{incident}/"


def test_the_page_says_what_it_caused_and_each_leads_to_its_finding(client: Client, nightly: Source) -> None:
    incident = Incident.objects.get(source=nightly)
    page = page_text(client, address_of(incident.identity, nightly))
    caused = page[page.index('id="caused"') : page.index('id="todo"')]
    assert "3 symptoms · 3 findings" in caused
    for symptom in Symptom.objects.filter(source=nightly):
        assert f'<a href="/sources/{nightly.pk}/findings/{symptom.worst}/">' in caused
        assert symptom.title in caused
    assert "from beginning to end" in page
    assert "is not proven" not in page and "What it caused" in caused
    assert "3 occurrences" in page and "3 times" not in page  # each symptom counts the same event


def test_every_screen_shows_an_incident_with_the_same_occurrence(client: Client, nightly: Source) -> None:
    before = Occurrence.objects.get(source=nightly, rule="job-excess-pods").first - timedelta(hours=1)
    Occurrence.objects.filter(source=nightly, rule="stale-view").update(rank=0, first=before)  # another error, earlier
    worst = Finding.objects.get(source=nightly, rule="job-excess-pods")
    (incident,) = asked(client, nightly, "incidents")["incidents"]
    assert (incident["worst"], incident["caused"], incident["rule"]) == (worst.identity, worst.identity, worst.rule)
    key = worst.occurrences[0]["group"]
    page = page_text(client, address_of(incident["id"], nightly))
    assert f"finding={key}" in page
    assert asked(client, nightly, "opening")["view"]["finding"] == key
    report = client.get(f"/sources/{nightly.pk}/report", {"format": "md"}).content.decode()
    assert re.search(r"- [\d-]+ [\d:.]+ – [\d:.]+ UTC: ", report)  # another occurrence, from beginning to end
    assert f"**Proof of the gravest occurrence** {worst.document['summary'][:20]}" in report
    query: dict[str, Any] = {"incident": incident["id"], "order": "gravest"}
    every = [row["key"] for row in asked(client, nightly, "findings", **query)["findings"]]
    assert every[0] == key and len(every) == 3
    paged: list[str] = []
    cursor = ""
    while len(paged) < len(every):
        answer = asked(client, nightly, "findings", **query, limit=1, cursor=cursor)
        paged += [row["key"] for row in answer["findings"]]
        cursor = answer["next"] or ""
    assert (paged, cursor) == (every, "")


def test_what_was_an_incident_leads_to_the_one_that_it_is_a_symptom_of(client: Client, nightly: Source) -> None:
    incident = Incident.objects.get(source=nightly)
    symptom = Symptom.objects.get(source=nightly, rule="job-excess-pods").identity
    for method in (client.get, client.post):
        answer = method(address_of(symptom, nightly))
        assert (answer.status_code, answer.headers["Location"]) == (302, address_of(incident.identity, nightly))
    assert client.get(f"/api/sources/{nightly.pk}/incidents/{symptom}").json()["id"] == incident.identity
    assert client.get(address_of(symptom, nightly)[:-1] + ".png").status_code == 200
    assert client.get(address_of("0" * 16, nightly)).status_code == 404


def test_the_short_name_of_an_incident_leads_to_it_everywhere(client: Client, nightly: Source) -> None:
    incident = Incident.objects.get(source=nightly)
    symptom = Symptom.objects.get(source=nightly, rule="job-excess-pods").identity
    name = client.get(f"/api/sources/{nightly.pk}/incidents").json()["incidents"][0]["name"]
    assert name == incident.identity[:6]
    here, timeline = address_of(incident.identity, nightly), f"/sources/{nightly.pk}/"
    for path in (here, "/incidents/", f"/sources/{nightly.pk}/incidents/"):
        assert f">{name}</span>" in page_text(client, path), path
    for short in (name, name[:4], symptom[:6]):
        assert client.get(address_of(short, nightly)).headers["Location"] == here, short
        assert client.get(f"/api/sources/{nightly.pk}/incidents/{short}").json()["id"] == incident.identity, short
        shown = client.get(timeline, {"incident": short, "axis": "order"})
        assert shown.headers["Location"] == f"{timeline}?incident={incident.identity}&axis=order", short
        report = client.get(f"{timeline}report", {"incident": short, "format": "md"})
        assert incident.title.partition(",")[0] in report.content.decode(), short
    Incident.objects.filter(pk=incident.pk).update(identity=f"{name}0000000000")
    other = Incident.objects.get(source=nightly)
    Incident.objects.create(**{**values(other), "identity": f"{name}1111111111"})
    assert client.get(address_of(name, nightly)).status_code == 404, "two incidents begin so"


def values(incident: Incident) -> dict[str, Any]:
    return {field.attname: getattr(incident, field.attname) for field in Incident._meta.concrete_fields if field.column}


def test_lists_fold_the_symptoms_and_count_alike(client: Client, nightly: Source) -> None:
    incident = Incident.objects.get(source=nightly)
    job = Finding.objects.get(source=nightly, rule="job-excess-pods").root
    for path in ("/", "/incidents/", f"/sources/{nightly.pk}/incidents/", f"/sources/{nightly.pk}/objects/{job}/"):
        page = page_text(client, path)
        assert "1 incident · 3 symptoms · 3 findings" in page, path
        folded = page[page.index('<details class="symptoms">') :]
        assert folded.startswith('<details class="symptoms"><summary>3 symptoms · 3 findings</summary>'), path
        assert folded.count("/findings/", 0, folded.index("</details>")) == 3, path
        assert page.count(incident.title) >= 1, path


def test_somebody_says_that_a_symptom_has_another_cause_and_undoes_it(client: Client, nightly: Source) -> None:
    incident = Incident.objects.get(source=nightly)
    excess = Symptom.objects.get(source=nightly, rule="job-excess-pods")
    here, there = address_of(incident.identity, nightly), address_of(excess.identity, nightly)
    form = {"symptom": excess.identity}
    assert f'name="symptom" value="{excess.identity}"' in page_text(client, here)
    answer = client.post(f"{here}symptoms/", form)
    assert (answer.status_code, answer.headers["Location"]) == (302, f"{here}#caused")
    page = page_text(client, here)
    assert "2 symptoms · 2 findings" in page
    assert re.search(rf'Not of this cause: <a href="{there}">[^<]+</a> \(somebody, [0-9-]+ [0-9:]+ UTC\)', page)
    assert f'Taken out of <a href="{here}">' in page_text(client, there)
    assert client.post(f"{here}symptoms/", form).status_code == 404, "it is no symptom of the incident any more"
    client.post(f"{here}symptoms/", {**form, "act": "undo"})
    assert "3 symptoms · 3 findings" in page_text(client, here)
    assert "Not of this cause" not in page_text(client, here)
    assert AuditRecord.objects.filter(action="separate").exists()


def test_a_finding_says_what_else_has_its_cause(client: Client, nightly: Source) -> None:
    excess = Finding.objects.get(source=nightly, rule="job-excess-pods")
    page = page_text(client, f"/sources/{nightly.pk}/findings/{excess.identity}/")
    assert "same cause" not in page, "all that it harmed is one Job"
    Symptom.objects.filter(source=nightly, rule="stale-view").update(name="report-1")
    Symptom.objects.filter(source=nightly, rule="stale-write").update(name="report-2")
    page = page_text(client, f"/sources/{nightly.pk}/findings/{excess.identity}/")
    kinds = dict.fromkeys(Symptom.objects.filter(source=nightly).values_list("kind", flat=True))
    assert f'{address_of(excess.incident, nightly)}#caused">same cause: ' in page, kinds


def test_what_does_no_harm_is_counted_and_one_click_away(client: Client, nightly: Source) -> None:
    Incident.objects.filter(source=nightly).update(rank=2, effect="none")
    title = Incident.objects.get(source=nightly).title
    pages = f"/sources/{nightly.pk}/incidents/"
    page = page_text(client, pages)
    assert title not in page and "1 without harm" in page and "0 incidents · 0 symptoms · 0 findings" in page
    for query in ("?harmless=true", "?severity=info"):
        assert title in page_text(client, pages + query), query
    home = page_text(client, "/")
    assert f'<a class="numbers soft" href="{pages}?harmless=true">1 without harm</a>' in home
    assert title not in home
    assert client.get(f"/api/sources/{nightly.pk}/incidents").json()["total"] == 1
    found = client.get(f"/api/sources/{nightly.pk}/incidents?harmless=false").json()
    assert (found["total"], found["harmless"]) == (0, 1)
