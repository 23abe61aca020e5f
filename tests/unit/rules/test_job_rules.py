"""These tests check the rules about Jobs: how sure and severe they are, and that lost lines do not change it."""

import random
from collections.abc import Iterable
from pathlib import Path

import pytest

from tests import RULES
from tests.recordings import entries_of, findings_of, world_of
from tests.unit.rules.test_rules import check_fires
from timeline.core.entries import Entry
from timeline.judging.findings import Effect, Finding
from timeline.judging.verdicts import Verdict
from timeline.kinds.job import JobFacts

JUDGED = ("job-excess-pods", "job-finalizer-before-count", "job-double-count")
RECORDINGS = sorted(path for rule in JUDGED for path in (RULES / rule).glob("*.jsonl"))


def check_one(fixture: str, subject: str) -> Finding:
    (found,) = check_fires(fixture, subject)
    return found


def test_a_pod_created_after_its_job_was_complete() -> None:
    # Job batch0         307============Complete 330
    # Pod batch0-tz7j4      309==Succeeded 323
    # Pod batch0-xwj4x                               331===
    found = check_one("job-excess-pods/fires-after-complete", "Pod/batch0-xwj4x")
    assert (found.verdict, found.worst.effect) == (Verdict.EXACT, Effect.OBSERVED)
    assert [one.moment.stamp.resource_version for one in found.worst.proof] == [330, 331]
    assert found.delay == 38_048
    assert found.bounds == (0.021904, 0.045533)
    assert found.other and (found.other.kind, found.other.name) == ("Job", "batch0")


def test_each_pod_too_many_is_a_finding() -> None:
    check_fires("job-excess-pods/fires-two-after-complete", "Pod/batch2-p2khh", "Pod/batch2-zfqzh")


@pytest.mark.parametrize(
    ("fixture", "subject", "verdict", "severity"),
    [
        ("job-excess-pods/fires-completions-listed", "Pod/batch1-qslxk", Verdict.EXACT, "error"),
        # One completion is in the list, and the other waits for it.
        ("job-excess-pods/fires-succeeded-and-not-all-listed", "Pod/sum-c", Verdict.EXACT, "error"),
        ("job-excess-pods/fires-after-failed", "Pod/sum-b", Verdict.EXACT, "error"),
        ("job-excess-pods/fires-above-parallelism", "Pod/sum-c", Verdict.EXACT, "error"),
        ("job-excess-pods/fires-above-parallelism-never-ran", "Pod/sum-b", Verdict.EXACT, "warning"),
        # Before Kubernetes 1.26, Pods had no finalizer; a later line shows from when until when their containers ran.
        (
            "job-excess-pods/fires-without-the-tracking-finalizer",
            "Pod/to-warehouse-29552670-dxczj",
            Verdict.EXACT,
            "error",
        ),
        # The others may have finished in a line that is missing.
        ("job-excess-pods/fires-no-later-line-of-the-others", "Pod/sum-b", Verdict.INCONCLUSIVE, "info"),
        # There are only watches. Nothing contradicts that one counter counts Jobs and Pods; there is one generation.
        ("job-excess-pods/fires-in-a-watch-asked-to-end-later", "Pod/sum-b", Verdict.EXACT, "error"),
        ("job-excess-pods/fires-in-a-watch-ended-later", "Pod/sum-b", Verdict.EXACT, "error"),
        ("job-excess-pods/fires-in-a-watch-let-go-later", "Pod/sum-c", Verdict.EXACT, "error"),
        # The deletion was requested again without a grace period, and the first request was not observed.
        ("job-excess-pods/fires-in-a-watch-asked-again-at-once", "Pod/sum-b", Verdict.INCONCLUSIVE, "info"),
        # The kubelet wrote the end twice, and the first line is missing: the container had stopped before.
        ("job-excess-pods/fires-in-a-watch-end-told-twice-and-once-lost", "Pod/sum-b", Verdict.INCONCLUSIVE, "info"),
        # A generation is missing in which another parallelism may have been in force.
        (
            "job-excess-pods/fires-in-a-watch-raised-and-lowered-in-lost-lines",
            "Pod/sum-c",
            Verdict.INCONCLUSIVE,
            "info",
        ),
        ("job-finalizer-before-count/fires-no-status-written", "Pod/lost-jc84d", Verdict.EXACT, "error"),
        ("job-finalizer-before-count/fires-job-goes-on-without-it", "Pod/sum-a", Verdict.EXACT, "error"),
        ("job-finalizer-before-count/fires-counted-by-the-next-write", "Pod/sum-a", Verdict.EXACT, "error"),
        ("job-finalizer-before-count/fires-index-not-completed", "Pod/sum-0", Verdict.EXACT, "error"),
        ("job-finalizer-before-count/fires-failure-not-counted", "Pod/sum-a", Verdict.EXACT, "error"),
        ("job-finalizer-before-count/fires-removal-is-the-deletion", "Pod/sum-a", Verdict.EXACT, "error"),
        # The Job's writes have no revisions, and other writes are missing.
        ("job-finalizer-before-count/fires-nothing-known-to-be-missing", "Pod/sum-a", Verdict.INCONCLUSIVE, "info"),
        ("job-double-count/fires-listed-again", "Job/sum", Verdict.EXACT, "error"),
        ("job-double-count/fires-counter-too-high", "Job/sum", Verdict.INCONCLUSIVE, "info"),
    ],
)
def test_how_sure_and_how_bad(fixture: str, subject: str, verdict: Verdict, severity: str) -> None:
    found = check_one(fixture, subject)
    assert (found.verdict, found.severity) == (verdict, severity)


def test_of_another_controller_the_end_and_the_parallelism_hold() -> None:
    above, after = check_fires("job-excess-pods/fires-of-another-controller", "Pod/sum-c", "Pod/sum-d")
    assert "allows 2 at a time" in above.summary
    assert "was Complete" in after.summary
    assert "spec.managedBy" in after.advice[0]


def test_a_pod_counted_again_and_again_is_one_finding() -> None:
    found = check_one("job-double-count/fires-failure-counted-three-times", "Job/sum")
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


def thinned(entries: list[Entry], chance: random.Random) -> list[Entry]:
    """Return a log that has lost single lines, its beginning, its end, or consecutive lines."""
    first, last = sorted((chance.randrange(len(entries)), chance.randrange(len(entries))))
    rate = chance.choice((0.03, 0.1, 0.3, 0.5))
    return chance.choice(
        (
            [entry for entry in entries if chance.random() > rate],
            entries[first:],
            entries[:last],
            entries[:first] + entries[last:],
        )
    )


@pytest.mark.parametrize("path", RECORDINGS, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_lost_lines_raise_no_alarm(path: Path) -> None:
    entries = entries_of(path)
    whole = {finding.id for finding in findings_of(world_of(entries)) if finding.severity != "info"}
    for seed in range(25):
        lost = findings_of(world_of(thinned(entries, random.Random(seed))))
        alarms = [each for each in lost if each.severity != "info" and each.rule in JUDGED and each.id not in whole]
        assert [each.summary for each in alarms] == []


def damaged(lines: list[bytes], chance: random.Random) -> Iterable[bytes]:
    """Return a watch whose lines were lost, doubled, swapped, or repeated after the first."""
    swapped = [*lines]
    at = chance.randrange(len(lines) - 1)
    swapped[at : at + 2] = swapped[at + 1], swapped[at]
    return chance.choice(
        (
            [line for line in lines if chance.random() > 0.2],
            [line for line in lines for _ in range(chance.choice((1, 1, 2)))],
            swapped,
            chance.sample(lines, len(lines)),
            [*lines, *lines[chance.randrange(len(lines)) :]],
        )
    )


@pytest.mark.parametrize(
    "path", [path for path in RECORDINGS if "-in-a-watch-" in path.name], ids=lambda path: path.stem
)
def test_a_damaged_watch_raises_no_alarm(path: Path, tmp_path: Path) -> None:
    lines = path.read_bytes().splitlines(keepends=True)
    whole = {finding.id for finding in findings_of(world_of(entries_of(path))) if finding.severity != "info"}
    for seed in range(20):
        copy = tmp_path / f"{seed}.jsonl"
        copy.write_bytes(b"".join(damaged(lines, random.Random(seed))))
        found = findings_of(world_of(entries_of(copy)))
        alarms = [each for each in found if each.severity != "info" and each.rule in JUDGED and each.id not in whole]
        assert [each.summary for each in alarms] == [], seed
