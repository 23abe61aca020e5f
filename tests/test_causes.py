"""These tests hold that findings name what is behind them, where that is proven and only there."""

from pathlib import Path

from tests.recordings import findings_of, observations_of, world_of
from timeline.core.entries import Entry, Request
from timeline.judging.findings import Cause

RULES = Path(__file__).parent / "rules"
EXCESS = RULES / "stale-view/fires-after-its-job-was-complete.jsonl"
LEADER = RULES / "write-after-lease-lost/fires-the-old-leader-wakes-up.jsonl"


def cause(path: Path, rule: str, *, without: type | None = None) -> Cause | None:
    observed = [each for each in observations_of(path) if without is None or not isinstance(each, without)]
    (found,) = [each for each in findings_of(world_of(observed)) if each.rule == rule]
    return found.cause


def test_an_excess_pod_names_the_old_copy_of_its_job() -> None:
    found = cause(EXCESS, "job-excess-pods")
    assert found is not None and found.rule == "stale-view"
    assert found.sentence == (
        "job-controller created Pod report-0-r9wx8. It acted on revision 481 of Job report-0; revision 581 was "
        "committed ≈ 0.979 s before by itself."
    )
    assert [one.moment.stamp.resource_version for one in found.proof] == [581, 621]


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
