"""These tests check what rules say of their fixtures: how sure, how severe and how long. `test_conformance.py` checks
that they fire, and that benign look-alikes stay quiet."""

from pathlib import Path

import pytest
from msgspec.structs import replace

from tests import RULES
from tests.inputs.recordings import entries_of, findings_of, observations_of, world_of
from timeline.core.durations import duration
from timeline.core.entries import Change, Level
from timeline.history.shown import Verb
from timeline.judge import rulebook
from timeline.judging.coverage.lines import Logged
from timeline.judging.findings import Effect, Finding
from timeline.judging.rulebook import rule as declared
from timeline.judging.verdicts import Verdict

HEADINGS = ["What it sees", "Why it matters", "Proof", "Looks alike but is benign", "What to do"]
FIRES = sorted(RULES.glob("*/fires-*.jsonl"))
QUIET = sorted(RULES.glob("*/quiet-*.jsonl"))


def named(path: Path) -> str:
    return f"{path.parent.name}/{path.stem}"


def found_in(path: Path) -> list[Finding]:
    return [finding for finding in findings_of(world_of(observations_of(path))) if finding.rule == path.parent.name]


def check_fires(fixture: str, *subjects: str) -> list[Finding]:
    found = found_in(RULES / f"{fixture}.jsonl")
    assert sorted(f"{each.subject.kind}/{each.subject.name}" for each in found) == sorted(subjects)
    return found


def test_every_rule_has_a_page_and_fixtures_and_every_fixture_a_rule() -> None:
    rules = rulebook()
    assert len({rule.id for rule in rules}) == len(rules)
    assert {path.name for path in RULES.iterdir()} == {rule.id for rule in rules}
    for rule in rules:
        assert [line[3:] for line in rule.page.splitlines() if line.startswith("## ")] == HEADINGS
        assert len(list((RULES / rule.id).glob("fires-*.jsonl"))) >= 1
        assert len(list((RULES / rule.id).glob("quiet-*.jsonl"))) >= 2


def test_no_rule_is_registered_that_does_not_declare_which_lines_it_needs() -> None:
    with pytest.raises(TypeError, match="Rule silent must declare which lines it needs"):
        declared("silent", judges=("Pod",), incident="{subjects}", harm="{count}")
    assert "silent" not in {each.id for each in rulebook()}


def test_from_each_line_that_a_rule_needs_follows_what_a_policy_has_to_log() -> None:
    found = {
        (each.id, line.verbs): line.logged for each in rulebook() for needed in each.needs for line in needed.lines
    }
    assert all(logged for (_, verbs), logged in found.items() if Verb.LOG not in verbs)
    assert found["service-gap", (Verb.STATUS,)] == (Logged(Level.FULL, ("update", "patch"), "", "pods/status"),)
    assert found["job-finalizer-before-count", (Verb.UPDATE, Verb.DELETE)] == (
        Logged(Level.FULL, ("update", "patch", "delete", "deletecollection"), "", "pods"),
    )
    assert found["view-went-back", (Verb.WATCH,)] == (Logged(Level.METADATA, ("list", "watch"), "", ""),)
    assert {each.group for each in found["job-excess-pods", (Verb.STATE,)]} == {"batch"}


def test_pod_before_service_on_a_restarted_pod() -> None:
    # ring-steady-n  ========================
    # Service ring   =====582     592========   the second one came 31 ms after the Pod
    # ring-weak-0    ===580   588============
    first, second = check_fires("pod-before-service/fires-volcano-restart-pod", "Pod/ring-weak-0", "Pod/ring-weak-0")
    assert (first.verdict, first.worst.effect, first.severity) == (Verdict.EXACT, Effect.NONE, "info")
    assert [one.moment.stamp.resource_version for one in first.occurrences[0].proof] == [588, 592]
    assert first.delay == 30_755
    assert first.bounds == (0.0274, 0.033155)
    assert first.subject.uid != second.subject.uid


def test_service_gap_counts_the_gaps_of_a_pod() -> None:
    found = check_fires("service-gap/fires-volcano-restart-pod", *(f"Pod/ring-steady-{n}" for n in range(3)))
    for finding in found:
        assert [each.hole for each in finding.occurrences] == ["none · ≈ 50 ms", "none · 43–58 ms"]
        assert finding.bounds == (0.045054, 0.055354)
        assert finding.severity == "warning"


def test_pod_before_service_is_a_warning_once_its_container_ran_and_an_error_once_it_failed() -> None:
    ran = check_fires("pod-before-service/fires-container-first", *(f"Pod/ring2-{n}" for n in range(3)))
    (failed,) = check_fires("pod-before-service/fires-container-failed", "Pod/ring2-0")
    assert [each.severity for each in (*ran, failed)] == ["warning"] * 3 + ["error"]


@pytest.mark.parametrize(
    ("fixture", "verdict", "severity", "delay"),
    [
        # The container ended because its Pod was deleted, not because its names were missing.
        ("pod-before-service/fires-pod-deleted-after", Verdict.EXACT, "warning", 10_000_000),
        ("service-gap/fires-pod-deleted-after", Verdict.EXACT, "warning", 2_000_000),
        # The node's clock is minutes behind, so it cannot prove that the container started before the Service existed.
        ("pod-before-service/fires-node-clock-behind", Verdict.EXACT, "info", 5_000_000),
        # At level Metadata it is not known whether the earlier Service still existed when the Pod was created.
        ("pod-before-service/fires-created-while-service-went", Verdict.INCONCLUSIVE, "info", 4_500_000),
        # The clocks of two API servers contradict the revisions.
        ("pod-before-service/fires-clocks-contradict-revisions", Verdict.EXACT, "info", 0),
        ("service-gap/fires-clocks-contradict-revisions", Verdict.EXACT, "warning", 0),
        # There are two gaps, one of them with uncertain order: the certain one is reported.
        ("service-gap/fires-one-gap-of-two-is-sure", Verdict.EXACT, "warning", 2_000_000),
        ("service-gap/fires-binding-seen-first", Verdict.EXACT, "warning", 2_000_000),
        # The Service exists until its finalizer is removed.
        ("service-gap/fires-service-with-finalizer", Verdict.EXACT, "warning", 3_000_000),
        # Without a hostname it has no DNS name under the Service.
        ("pod-before-service/fires-pod-without-hostname", Verdict.EXACT, "info", 5_000_000),
        # A gap that does not end counts until the end of the Pod, not until the end of the log.
        ("service-gap/fires-pod-succeeded-long-after", Verdict.EXACT, "warning", 590_000_000),
    ],
)
def test_how_sure_how_bad_and_how_long(fixture: str, verdict: Verdict, severity: str, delay: int) -> None:
    (found,) = check_fires(fixture, "Pod/ring-0")
    assert (found.verdict, found.severity, found.delay) == (verdict, severity, delay)
    assert all(each.length >= 0 for each in found.occurrences)


def test_kinds_of_one_api_server_share_a_counter_unless_times_contradict_that() -> None:
    # Services  before 50002     50007  50008--50009
    # Pod web-0   50003  50004  50005            50010
    (found,) = check_fires("service-gap/fires-in-a-short-watch-of-two-kinds", "Pod/web-0")
    assert (found.verdict, found.severity, found.bounds) == (Verdict.EXACT, "warning", (0.0, 5.0))
    went, _ = found.worst.proof
    assert went.moment.committed == (went.moment.time, None)  # the deletion carries no time of its own
    assert went.moment.committed[0] > went.moment.entry.received  # nor is it that of the object's creation
    entries = entries_of(RULES / "service-gap" / "fires-in-a-short-watch-of-two-kinds.jsonl")
    # In another etcd, the Pod, created a minute before the last Service, has a higher revision than that.
    pods = [each for each in entries if each.ref.kind == "Pod"]
    elsewhere = [replace(each, resource_version=(each.resource_version or 0) + 10_000) for each in pods]
    elsewhere[0] = replace(elsewhere[0], change=Change.CREATED)
    (found,) = findings_of(world_of([each for each in entries if each not in pods] + elsewhere))
    assert (found.verdict, found.severity) == (Verdict.INCONCLUSIVE, "info")


def test_lives_without_uids_have_findings_of_their_own() -> None:
    first, second = check_fires("pod-before-service/fires-without-uids", "Pod/ring-0", "Pod/ring-0")
    assert first.id != second.id


@pytest.mark.parametrize(
    ("microseconds", "words"),
    [
        (7, "7 µs"),
        (53_400, "53 ms"),
        (999_600, "1 s"),
        (4_200_000, "4.2 s"),
        (185_000_000, "3 min 5 s"),
        (120_000_000, "2 min"),
        (7_800_000_000, "2 h 10 min"),
    ],
)
def test_a_duration_reads_as_a_person_says_it(microseconds: int, words: str) -> None:
    assert duration(microseconds) == words


def test_writes_that_were_let_through_unchecked_are_only_an_info() -> None:
    (found,) = found_in(RULES / "webhook-not-ready" / "fires-let-through-unchecked.jsonl")
    assert found.severity == "info"


@pytest.mark.parametrize(("bundles", "severity"), [(1, "info"), (0, "warning")])
def test_some_seconds_until_the_first_ca_bundle_are_only_an_info(bundles: int, severity: str, tmp_path: Path) -> None:
    log = (RULES / "ca-bundle-stale" / "fires-certificate-before-bundle.jsonl").read_bytes()
    path = tmp_path / "ca-bundle-stale" / "audit.log"
    path.parent.mkdir()
    path.write_bytes(log.replace(b'"caBundle":', b'"other":', bundles))
    (found,) = found_in(path)
    assert found.severity == severity
