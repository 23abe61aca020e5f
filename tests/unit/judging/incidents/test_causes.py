"""These tests hold that findings name what is behind them, where that is proven and only there."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests import RULES
from tests.inputs.recordings import findings_of, observations_of, world_of
from timeline.core.entries import Entry, Observation, Request
from timeline.history.lifelines import Name
from timeline.judging.findings import Cause
from timeline.payloads.incidents.symptoms import Part, Symptom, Time

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
    times = [Time(f"{number}", number, number, False, "observed")]
    because = (rule, f"Reason {number}.") if rule else ("", "")
    of, subject = ("job-excess-pods", ANCHOR), ("Pod", f"p-{number}", "")
    harm = ("observed", "")
    return Part(
        f"{number}", *of, "error", "confirmed", *subject, "One too many", *harm, 1, times, [], [], cause=because
    )


def test_an_incident_says_for_how_many_of_its_findings_a_cause_is_proven() -> None:
    incident = Symptom("job-excess-pods", ANCHOR, "{anchor}")
    about, kind = "findings of job-excess-pods about Job report-0.", "A cause of this kind is proven for"
    incident.put([caused(1, rule="")])
    assert (incident.cause, incident.caused) == ("", "")
    incident.put([caused(1)])
    assert (incident.cause, incident.caused) == ("Reason 1.", "1")
    incident.put([caused(2), caused(3)])
    assert incident.cause == f"Reason 1. {kind} all 3 {about}"
    incident.put([caused(1, rule=""), caused(4, rule="write-after-lease-lost")])
    assert incident.cause == f"Reason 2. {kind} 2 of 4 {about} For the other 2, none of this kind is proven."
    assert incident.caused == "2"
    for each in ("2", "3", "4"):
        incident.remove(each)
    assert (incident.cause, incident.caused) == ("", "")


def test_of_equally_grave_findings_one_with_a_cause_is_shown_and_then_the_longest() -> None:
    incident = Symptom("job-excess-pods", ANCHOR, "{anchor}")
    long = caused(1, rule="")._replace(times=[Time("1", 1, 99, False, "observed")])
    longer = caused(3)._replace(times=[Time("3", 3, 9, False, "none"), Time("4", 20, 22, False, "observed")])
    incident.put([long, caused(2), longer])
    assert incident.findings == ["3", "2", "1"]
    assert incident.caused == incident.gravest.id
    assert incident.gravest.worst.group == "4"  # it did more harm than the longer one


@pytest.mark.parametrize("path", [EXCESS, LEADER], ids=lambda path: path.stem)
def test_findings_that_are_causes_have_none(path: Path) -> None:
    for each in findings_of(world_of(observations_of(path))):
        assert each.cause is None or each.rule == "job-excess-pods"
