"""These tests show what is behind findings: in the terminal, in reports, on pages, and in the API."""

import re
from collections.abc import Iterator

import pytest
from django.test import Client
from pytest_django import DjangoDbBlocker

from collectors.analysis import analyse
from collectors.formats import Limits
from dashboard.report import markdown, page
from dashboard.report.contents import of_analysis
from tests.clients.command import causeline
from tests.clients.markup import without_times
from tests.database.storage.sources import asked, lasting, with_bodies
from tests.unit.judging.incidents.test_causes import EXCESS, SENTENCE
from timeline.models import Finding, Incident, Source, Track


def test_analyze_and_reports_say_the_cause_with_its_chain() -> None:
    for options in ((), ("--findings",)):
        printed = " ".join(causeline("analyze", EXCESS, *options)[1].split())
        assert printed.count(f"Cause: {SENTENCE}") == 1
        assert printed.count("Job report-0 as the copy had it · revision 481") == 1
    contents = of_analysis(analyse([(EXCESS, EXCESS.name)], Limits()))
    written = markdown.document(contents)
    assert f"; over. Behind one of its symptoms: {SENTENCE}" in written
    details = written[written.index("## Incidents") :]
    assert details.index("**Behind one of its symptoms:** job-controller created") < details.index("**Proof of the")
    assert "| Job report-0 as the copy had it | 2026-11-22 05:56:13.288902 | 481 |" in details
    whole = without_times(page.rendered(contents))
    assert whole.count(f"<strong>Behind one of its symptoms:</strong> {SENTENCE}") == 1
    assert "The events that prove the cause" in whole


@pytest.fixture(scope="module")
def nightly(django_db_setup: None, django_db_blocker: DjangoDbBlocker) -> Iterator[Source]:
    """A recording of a Job that got a Pod on an old copy."""
    with lasting(django_db_blocker, with_bodies(EXCESS), "nightly") as source:
        yield source


@pytest.mark.django_db
def test_pages_begin_with_the_cause_and_lead_to_it(client: Client, nightly: Source) -> None:
    def shown(address: str) -> str:
        return without_times(client.get(address).content.decode())

    incident = Incident.objects.get(source=nightly, rule="job-excess-pods")
    behind = Finding.objects.get(source=nightly, rule="stale-view")
    pages = f"/sources/{nightly.pk}"
    job = f"{pages}/objects/{Track.objects.get(source=nightly, kind='Job').id}/"
    for address in (f"{pages}/findings/{incident.caused}/", f"{pages}/incidents/{incident.identity}/"):
        main = shown(address)
        main = main[main.index('<section class="cause"') :]
        assert f"<strong>Because</strong> {SENTENCE[:60]}" in main
        assert main.index("Because") < main.index("What to do")
        chain = main[main.index('class="chain"') : main.index("</ol>")]
        assert re.findall(r"RV (\d+)", chain) == ["481", "581", "621"]
        link = f'<a href="{job}?at=1795326977339062#revisions">Job report-0 was Complete, which the copy lacks</a>'
        assert link in chain
        assert "committed within 05:56:17.339062 – .345066" in chain and "system:kube-controller-manager" in chain
        assert f'href="{pages}/findings/{behind.identity}/">{behind.document["summary"]}' in main
    caused = Finding.objects.get(source=nightly, identity=incident.caused).document["summary"]
    whole = shown(f"{pages}/findings/{behind.identity}/")
    assert 'class="cause"' not in whole
    assert f'It is the cause of <a href="{pages}/findings/{incident.caused}/">{caused}</a>' in whole
    assert "It is the cause of" not in shown(f"{pages}/findings/{incident.caused}/")
    assert incident.cause == SENTENCE
    for address in ("/", "/incidents/", f"{pages}/incidents/", job):  # lists of incidents
        assert f"<strong>Because</strong> {SENTENCE}" in shown(address), address
    Finding.objects.filter(pk=behind.pk).update(withdrawn=True)  # it is reported nowhere
    assert '<a href="/rules/stale-view/">About stale-view ›</a>' in shown(f"{pages}/incidents/{incident.identity}/")


@pytest.mark.django_db
def test_the_api_has_causes_with_their_objects(client: Client, nightly: Source) -> None:
    listed = asked(client, nightly, "incidents")["incidents"]
    (incident,) = (each for each in listed if each["rule"] == "job-excess-pods")
    found = asked(client, nightly, f"findings/{incident['caused']}")["cause"]
    assert found["rule"] == "stale-view" and incident["cause"] == found["sentence"] == SENTENCE
    assert [each["object"]["kind"] for each in found["proof"]] == ["Job", "Job", "Pod"]
