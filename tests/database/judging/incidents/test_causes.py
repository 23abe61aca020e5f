"""These tests hold that findings name what is behind them, where that is proven and only there."""

import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from django.test import Client
from pytest_django import DjangoDbBlocker

from collectors.analysis import analyse
from collectors.formats import Limits
from dashboard.report import markdown, page
from dashboard.report.contents import of_analysis
from tests import RULES
from tests.command import causeline
from tests.database.storage.sources import asked, lasting, with_bodies
from tests.markup import without_times
from tests.recordings import findings_of, observations_of, world_of
from timeline.core.entries import Entry, Observation, Request
from timeline.history.lifelines import Name
from timeline.judging.findings import Cause
from timeline.models import Finding, Incident, Source, Track
from timeline.payloads.incidents.members import Members, Part

EXCESS = RULES / "stale-view/fires-after-its-job-was-complete.jsonl"
LEADER = RULES / "write-after-lease-lost/fires-the-old-leader-wakes-up.jsonl"
SENTENCE = (
    "job-controller created Pod report-0-r9wx8 when Job report-0 was Complete. It acted on revision 481 of Job report-0"
    "; revision 581 had been committed ≈ 0.979 s earlier, by the same controller."
)
ANCHOR = Name("batch", "Job", "nightly", "report-0")


def cause(without: Callable[[Observation], bool] = lambda each: False) -> Cause | None:
    """Return the cause of the excess Pod in a recording without some of what it shows."""
    observed = [each for each in observations_of(EXCESS) if not without(each)]
    (found,) = [each for each in findings_of(world_of(observed)) if each.rule == "job-excess-pods"]
    return found.cause


def test_an_excess_pod_names_the_old_copy_of_its_job() -> None:
    found = cause()
    assert found is not None and found.rule == "stale-view"
    assert found.sentence == SENTENCE
    assert [(one.moment.stamp.resource_version, one.role) for one in found.proof] == [
        (481, "Job report-0 as the copy had it"),
        (581, "Job report-0 was Complete, which the copy lacks"),
        (621, "Pod report-0-r9wx8 created; Event report-0.18ea485fef7a8b38 names the copy"),
    ]
    assert cause(without=lambda each: isinstance(each, Request)) == found  # which changed nothing
    assert cause(without=lambda each: isinstance(each, Entry) and each.ref.kind == "Event") is None


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


@pytest.mark.parametrize("path", [EXCESS, LEADER], ids=lambda path: path.stem)
def test_findings_that_are_causes_have_none(path: Path) -> None:
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
