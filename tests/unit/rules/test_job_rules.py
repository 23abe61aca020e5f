"""These tests check the rules about Jobs: how sure and severe they are, and that lost lines do not change it."""

import pytest

from tests.unit.rules.test_rules import check_fires
from timeline.judging.findings import Effect, Finding
from timeline.judging.verdicts import Verdict
from timeline.kinds.job import JobFacts


def check(fixture: str, *subjects: str) -> list[Finding]:
    rule, _, name = fixture.partition("/")
    return check_fires(f"job-{rule}/fires-{name}", *subjects)


def test_a_pod_created_after_its_job_was_complete() -> None:
    # Job batch0         307============Complete 330
    # Pod batch0-tz7j4      309==Succeeded 323
    # Pod batch0-xwj4x                               331===
    (found,) = check("excess-pods/after-complete", "Pod/batch0-xwj4x")
    assert (found.verdict, found.worst.effect) == (Verdict.EXACT, Effect.OBSERVED)
    assert [one.moment.stamp.resource_version for one in found.worst.proof] == [330, 331]
    assert found.delay == 38_048
    assert found.bounds == (0.021904, 0.045533)
    assert found.other and (found.other.kind, found.other.name) == ("Job", "batch0")
    check("excess-pods/two-after-complete", "Pod/batch2-p2khh", "Pod/batch2-zfqzh")  # each is a finding


@pytest.mark.parametrize(
    ("fixture", "subject", "verdict", "severity"),
    [
        ("excess-pods/completions-listed", "Pod/batch1-qslxk", Verdict.EXACT, "error"),
        # One completion is in the list, and the other waits for it.
        ("excess-pods/succeeded-and-not-all-listed", "Pod/sum-c", Verdict.EXACT, "error"),
        ("excess-pods/after-failed", "Pod/sum-b", Verdict.EXACT, "error"),
        ("excess-pods/above-parallelism", "Pod/sum-c", Verdict.EXACT, "error"),
        ("excess-pods/above-parallelism-never-ran", "Pod/sum-b", Verdict.EXACT, "warning"),
        # Before Kubernetes 1.26, Pods had no finalizer; a later line shows from when until when their containers ran.
        (
            "excess-pods/without-the-tracking-finalizer",
            "Pod/to-warehouse-29552670-dxczj",
            Verdict.EXACT,
            "error",
        ),
        # The others may have finished in a line that is missing.
        ("excess-pods/no-later-line-of-the-others", "Pod/sum-b", Verdict.INCONCLUSIVE, "info"),
        # There are only watches. Nothing contradicts that one counter counts Jobs and Pods; there is one generation.
        ("excess-pods/in-a-watch-asked-to-end-later", "Pod/sum-b", Verdict.EXACT, "error"),
        ("excess-pods/in-a-watch-ended-later", "Pod/sum-b", Verdict.EXACT, "error"),
        ("excess-pods/in-a-watch-let-go-later", "Pod/sum-c", Verdict.EXACT, "error"),
        # The deletion was requested again without a grace period, and the first request was not observed.
        ("excess-pods/in-a-watch-asked-again-at-once", "Pod/sum-b", Verdict.INCONCLUSIVE, "info"),
        # The kubelet wrote the end twice, and the first line is missing: the container had stopped before.
        ("excess-pods/in-a-watch-end-told-twice-and-once-lost", "Pod/sum-b", Verdict.INCONCLUSIVE, "info"),
        # A generation is missing in which another parallelism may have been in force.
        (
            "excess-pods/in-a-watch-raised-and-lowered-in-lost-lines",
            "Pod/sum-c",
            Verdict.INCONCLUSIVE,
            "info",
        ),
        ("finalizer-before-count/no-status-written", "Pod/lost-jc84d", Verdict.EXACT, "error"),
        ("finalizer-before-count/job-goes-on-without-it", "Pod/sum-a", Verdict.EXACT, "error"),
        ("finalizer-before-count/counted-by-the-next-write", "Pod/sum-a", Verdict.EXACT, "error"),
        ("finalizer-before-count/index-not-completed", "Pod/sum-0", Verdict.EXACT, "error"),
        ("finalizer-before-count/failure-not-counted", "Pod/sum-a", Verdict.EXACT, "error"),
        ("finalizer-before-count/removal-is-the-deletion", "Pod/sum-a", Verdict.EXACT, "error"),
        # The Job's writes have no revisions, and other writes are missing.
        ("finalizer-before-count/nothing-known-to-be-missing", "Pod/sum-a", Verdict.INCONCLUSIVE, "info"),
        ("double-count/listed-again", "Job/sum", Verdict.EXACT, "error"),
        ("double-count/counter-too-high", "Job/sum", Verdict.INCONCLUSIVE, "info"),
    ],
)
def test_how_sure_and_how_bad(fixture: str, subject: str, verdict: Verdict, severity: str) -> None:
    (found,) = check(fixture, subject)
    assert (found.verdict, found.severity) == (verdict, severity)


def test_of_another_controller_the_end_and_the_parallelism_hold() -> None:
    above, after = check("excess-pods/of-another-controller", "Pod/sum-c", "Pod/sum-d")
    assert "allows 2 at a time" in above.summary
    assert "was Complete" in after.summary
    assert "spec.managedBy" in after.advice[0]


def test_a_pod_counted_again_and_again_is_one_finding() -> None:
    (found,) = check("double-count/failure-counted-three-times", "Job/sum")
    assert found.other and found.other.name == "sum-a"
    assert [[one.role for one in each.proof] for each in found.occurrences] == [
        ["Pod listed", "counted", "listed again"]
    ] * 2


@pytest.mark.parametrize(
    ("completed", "failed", "index", "expected"),
    [
        ("0-2,5", "", 1, True),
        ("0-2,5", "", 5, True),
        ("0-2,5", "", 4, False),
        ("", "3", 3, True),
        ("", "", 0, False),
        ("what", "-", 0, False),
    ],
)
def test_an_index_is_found_in_ranges(completed: str, failed: str, index: int, expected: bool) -> None:
    assert JobFacts(completed_indexes=completed, failed_indexes=failed).settled(index) is expected
