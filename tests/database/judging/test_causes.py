"""These tests hold that findings name what is behind them, where that is proven and only there."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.test import Client
from pytest_django import DjangoDbBlocker

from collectors.analysis import analyse
from collectors.formats import Limits, Skipped, read
from dashboard.report import markdown, page
from dashboard.report.contents import of_analysis
from tests import RULES
from tests.command import causeline
from tests.markup import without_times
from tests.recordings import findings_of, observations_of, world_of
from timeline.core.entries import Entry, Request
from timeline.history.lifelines import Name
from timeline.history.world.world import World
from timeline.judging.findings import Cause
from timeline.models import Finding, Incident, Source, Track
from timeline.payloads.incidents.members import Members, Part
from timeline.pipeline import ingest
from timeline.storage import store

EXCESS = RULES / "stale-view/fires-after-its-job-was-complete.jsonl"
LEADER = RULES / "write-after-lease-lost/fires-the-old-leader-wakes-up.jsonl"


SENTENCE = (
    "job-controller created Pod report-0-r9wx8 when Job report-0 was Complete. It acted on revision 481 of Job report-0"
    "; revision 581 had been committed ≈ 0.979 s earlier, by the same controller."
)
ANCHOR = Name("batch", "Job", "nightly", "report-0")


def cause(path: Path, rule: str, *, without: type | None = None) -> Cause | None:
    observed = [each for each in observations_of(path) if without is None or not isinstance(each, without)]
    (found,) = [each for each in findings_of(world_of(observed)) if each.rule == rule]
    return found.cause


def test_an_excess_pod_names_the_old_copy_of_its_job() -> None:
    found = cause(EXCESS, "job-excess-pods")
    assert found is not None and found.rule == "stale-view"
    assert found.sentence == SENTENCE
    assert [(one.moment.stamp.resource_version, one.role) for one in found.proof] == [
        (481, "Job report-0 as the copy had it"),
        (581, "Job report-0 was Complete, which the copy lacks"),
        (621, "Pod report-0-r9wx8 created; Event report-0.18ea485fef7a8b38 names the copy"),
    ]


def caused(number: int, rule: str = "stale-view") -> Part:
    """Return a finding of an incident. It has a cause of this rule, if one is given."""
    times = [(f"{number}", number, number, False)]
    because = (rule, f"Reason {number}.") if rule else ("", "")
    of, subject = ("job-excess-pods", ANCHOR), ("Pod", f"p-{number}", "")
    harm = ("observed", "")
    return Part(
        f"{number}", *of, "error", "confirmed", *subject, "One too many", *harm, 1, times, [], [], cause=because
    )


def test_an_incident_says_for_how_many_of_its_findings_a_cause_is_proven() -> None:
    incident = Members("job-excess-pods", ANCHOR, "{anchor}")
    incident.put([caused(1, rule="")])
    assert (incident.cause, incident.caused) == ("", "")
    incident.put([caused(1)])
    assert (incident.cause, incident.caused) == ("Reason 1.", "1")
    incident.put([caused(2), caused(3)])
    assert incident.cause == "Reason 1. A cause of this kind is proven for all 3 findings."
    incident.put([caused(1, rule=""), caused(4, rule="write-after-lease-lost")])
    assert incident.cause == "Reason 2. A cause of this kind is proven for 2 of 4 findings."
    assert incident.caused == "2"
    for each in ("2", "3", "4"):
        incident.remove(each)
    assert (incident.cause, incident.caused) == ("", "")


def test_without_the_event_that_names_the_copy_no_cause_is_named() -> None:
    observed = [each for each in observations_of(EXCESS) if not (isinstance(each, Entry) and each.ref.kind == "Event")]
    (found,) = [each for each in findings_of(world_of(observed)) if each.rule == "job-excess-pods"]
    assert found.cause is None


def test_a_cause_needs_no_request_that_changed_nothing() -> None:
    assert cause(EXCESS, "job-excess-pods", without=Request) == cause(EXCESS, "job-excess-pods")


def test_findings_that_are_causes_have_none() -> None:
    for path in (EXCESS, LEADER):
        for each in findings_of(world_of(observations_of(path))):
            assert each.cause is None or each.rule == "job-excess-pods"


def test_analyze_and_reports_say_the_cause_with_its_chain() -> None:
    for options in ((), ("--findings",)):
        printed = " ".join(causeline("analyze", EXCESS, *options)[1].split())
        assert printed.count(f"Cause: {SENTENCE}") == 1
        assert printed.count("Job report-0 as the copy had it · revision 481") == 1

    contents = of_analysis(analyse([(EXCESS, EXCESS.name)], Limits()))
    written = markdown.document(contents)
    assert f"; over. Because {SENTENCE}" in written
    details = written[written.index("## Incidents") :]
    assert details.index("**Because** job-controller created Pod report-0-r9wx8 when") < details.index("**Proof**")
    assert "| Job report-0 as the copy had it | 2026-11-22 05:56:13.288902 | 481 |" in details
    whole = without_times(page.rendered(contents))
    assert whole.count(f"<strong>Because</strong> {SENTENCE}") == 1
    assert "The events that prove the cause" in whole


@pytest.fixture(scope="module")
def nightly(django_db_setup: None, django_db_blocker: DjangoDbBlocker) -> Iterator[Source]:
    """A recording of a Job that got a Pod on an old copy, and of a leader that went on writing."""
    with django_db_blocker.unblock():
        source = store.open_source("nightly")
        items = read([(EXCESS, EXCESS.name)], bodies=True)
        ingest(source, World(), (item for item in items if not isinstance(item, Skipped)))
        store.show_source(source)
    yield source
    with django_db_blocker.unblock():
        store.discard_source(source)


@pytest.mark.django_db
def test_the_pages_of_finding_and_incident_begin_with_the_cause(client: Client, nightly: Source) -> None:
    incident = Incident.objects.get(source=nightly, rule="job-excess-pods")
    behind = Finding.objects.get(source=nightly, rule="stale-view")
    job = f"/sources/{nightly.pk}/objects/{Track.objects.get(source=nightly, kind='Job').id}/"
    for address in (f"findings/{incident.caused}", f"incidents/{incident.identity}"):
        shown = without_times(client.get(f"/sources/{nightly.pk}/{address}/").content.decode())
        main = shown[shown.index('<section class="cause"') :]
        assert "<strong>Because</strong> job-controller created Pod report-0-r9wx8 when Job report-0 was Comp" in main
        assert main.index("Because") < main.index("What to do")
        chain = main[main.index('class="chain"') : main.index("</ol>")]
        assert re.findall(r"RV (\d+)", chain) == ["481", "581", "621"]
        assert (
            f'<a href="{job}?at=1795326977339062#revisions">Job report-0 was Complete, which the copy lacks</a>'
            in chain
        )
        assert "committed within 05:56:17.339062 – .345066" in chain and "system:kube-controller-manager" in chain
        assert f'href="/sources/{nightly.pk}/findings/{behind.identity}/">{behind.document["summary"]}' in main
    shown = client.get(f"/sources/{nightly.pk}/findings/{behind.identity}/").content.decode()
    assert 'class="cause"' not in shown
    caused = Finding.objects.get(source=nightly, identity=incident.caused).document["summary"]
    link = f'<a href="/sources/{nightly.pk}/findings/{incident.caused}/">{caused}</a>'
    assert f"It is the cause of {link}" in shown
    assert "It is the cause of" not in client.get(f"/sources/{nightly.pk}/findings/{incident.caused}/").content.decode()


@pytest.mark.django_db
def test_lists_of_incidents_say_their_causes(client: Client, nightly: Source) -> None:
    incident = Incident.objects.get(source=nightly, rule="job-excess-pods")
    assert incident.cause == SENTENCE
    job = f"objects/{Track.objects.get(source=nightly, kind='Job').id}/"
    for address in ("/", "/incidents/", f"/sources/{nightly.pk}/incidents/", f"/sources/{nightly.pk}/{job}"):
        assert f"<strong>Because</strong> {SENTENCE}" in client.get(address).content.decode(), address


@pytest.mark.django_db
def test_a_cause_that_is_reported_nowhere_leads_to_its_rule(client: Client, nightly: Source) -> None:
    incident = Incident.objects.get(source=nightly, rule="job-excess-pods")
    Finding.objects.filter(source=nightly, rule="stale-view").update(withdrawn=True)
    shown = client.get(f"/sources/{nightly.pk}/incidents/{incident.identity}/").content.decode()
    assert '<a href="/rules/stale-view/">About stale-view ›</a>' in shown


@pytest.mark.django_db
def test_the_api_has_causes_with_their_objects(client: Client, nightly: Source) -> None:
    (incident,) = (
        each
        for each in client.get(f"/api/sources/{nightly.pk}/incidents").json()["incidents"]
        if each["rule"] == "job-excess-pods"
    )
    assert incident["cause"].startswith("job-controller created Pod report-0-r9wx8 when")
    found = client.get(f"/api/sources/{nightly.pk}/findings/{incident['caused']}").json()["cause"]
    assert found["rule"] == "stale-view" and incident["cause"] == found["sentence"]
    assert [each["object"]["kind"] for each in found["proof"]] == ["Job", "Job", "Pod"]
