"""These tests check the rules about PersistentVolumeClaims: leaked claims, and Pods that wait for objects that do not
exist."""

import pytest

from tests import RULES
from tests.inputs.recordings import entries_of, findings_of, world_of
from tests.unit.rules.test_rules import found_in
from timeline.core.entries import Change, Entry
from timeline.judging.findings import Finding
from timeline.judging.rulebook import settings
from timeline.judging.verdicts import Verdict
from timeline.payloads import documents


def the_one(fixture: str) -> Finding:
    (found,) = found_in(RULES / f"{fixture}.jsonl")
    return found


def found_among(entries: list[Entry], rule: str = "runaway-creation") -> list[Finding]:
    return [finding for finding in findings_of(world_of(entries)) if finding.rule == rule]


RETRIES = "runaway-creation/fires-volcano-retries"


def entries_in(fixture: str) -> list[Entry]:
    return entries_of(RULES / f"{fixture}.jsonl")


def test_every_retry_of_the_volcano_controller_leaks_a_claim_and_all_are_one_finding() -> None:
    # vcjob   325      366 annotated                       504 names the last claim
    # claims     328       367  369  371  373  375  378      501        500: the missing one comes
    found = the_one(RETRIES)
    assert (found.subject.kind, found.subject.name, found.other) == ("Job", "train", None)
    assert (found.severity, found.verdict, found.count) == ("error", Verdict.EXACT, 7)
    assert found.affects[0].name == "train-pvc-rxtylzrd1b0l"
    assert "train-pvc-x6isrlgxo412" not in {ref.name for ref in found.affects}
    assert [one.moment.stamp.resource_version for one in found.occurrences[0].proof] == [328, 378]
    assert documents.finding(found)["count"] == 7


def test_the_advice_looks_stops_cleans_prevents_and_verifies_with_commands_to_copy() -> None:
    look, stop, clean, compare, prevent, verify = the_one(RETRIES).advice
    assert "`kubectl -n vol-runaway describe job.batch.volcano.sh train`" in look
    assert "`kubectl -n vol-runaway delete job.batch.volcano.sh train --cascade=orphan --dry-run=server`" in stop
    assert "train-pvc-rxtylzrd1b0l train-pvc-xf93zdbu8dna" in clean and "--dry-run=server" in clean and "UID" in clean
    assert "train-pvc-x6isrlgxo412" not in clean and "dataset" not in clean
    assert '"preconditions":{"uid":"232dbc1e-ffa8-470a-b193-73fa59a1c75b"}' in compare and "dryRun=All" in compare
    assert "1.11.1" in prevent
    assert "vol-runaway" in verify


@pytest.mark.parametrize(
    ("fixture", "severity", "verdict", "count"),
    [
        # The job was seen 7 s later, and does not name the claim.
        ("fires-one-claim-left-behind", "warning", Verdict.EXACT, 1),
        # The job's Event says that the attempt failed.
        ("fires-one-attempt-failed", "warning", Verdict.EXACT, 1),
        # There are three claims for one volume and the log is complete, so two leaked even if the last one is used.
        ("fires-write-back-not-seen", "error", Verdict.EXACT, 3),
        # There are two claims for two volumes and nothing after: the line that names them may be missing.
        ("fires-nothing-else-known", "info", Verdict.INCONCLUSIVE, 2),
        # The log has no body of the job, so the number of claims that it needs is not known.
        ("fires-job-without-body", "info", Verdict.INCONCLUSIVE, 21),
        ("fires-custom-resource-config", "error", Verdict.EXACT, 25),
        ("fires-custom-resource-claims", "error", Verdict.EXACT, 25),
        # The log ends half a minute later, and Pods may still come to use them.
        ("fires-children-not-yet-used", "info", Verdict.INCONCLUSIVE, 25),
        ("fires-deployment-replica-sets", "error", Verdict.EXACT, 22),
        # Their names differ by purpose, so each of them may be needed.
        ("fires-one-for-each-of-something", "info", Verdict.EXACT, 25),
        # Jobs may use claims without Pods that are in the log.
        ("fires-own-work", "info", Verdict.EXACT, 25),
        # The last three came within the last five seconds of the log. They count as well, and it goes on.
        ("fires-until-the-log-ends", "info", Verdict.INCONCLUSIVE, 25),
    ],
)
def test_how_much_leaked_and_how_sure_that_is(fixture: str, severity: str, verdict: Verdict, count: int) -> None:
    found = the_one(f"runaway-creation/{fixture}")
    assert (found.severity, found.verdict, found.count) == (severity, verdict, count)
    assert len(found.affects) == count
    assert found.worst.open is (fixture == "fires-until-the-log-ends")


def test_a_leak_is_known_although_lines_are_missing() -> None:
    entries = entries_in(RETRIES)
    written_back = [entry for entry in entries if not (entry.ref.kind == "Job" and entry.resource_version == 504)]
    thinned = [entry for entry in entries if entry.ref.kind == "Job" or entry.resource_version in {328, 371}]
    for left, count in ((written_back, 7), (thinned, 2)):  # of eight claims for one volume, one may be in use by now
        (found,) = found_among(left)
        assert (found.severity, found.count) == ("error", count)


def test_a_deletion_that_took_its_time_is_no_earlier_than_the_revisions_before_it() -> None:
    # claim log-web-1   50010   50015 its deletion is requested, 09:05:04        50023 deleted
    # Pod web-1                                   50018 at 09:05:25    50021            the Events 50024 at 09:05:27
    found = the_one("missing-reference/fires-claim-deleted-some-time-after-the-request")
    gone, _ = documents.finding(found)["proof"]
    assert (gone["role"], gone["resource_version"]) == ("PersistentVolumeClaim deleted", "50023")
    assert (gone["time"], gone["latest"]) == ("2026-04-06T09:05:25.000000Z", None)
    # The first Event says that it was missing by 09:05:28, the last one still at 09:38:22.
    assert "waited at least 32 min 54 s for" in found.summary


def test_claims_of_which_lines_may_be_lost_are_no_alarm() -> None:
    """A line that writes them back, or that of the deletion of a claim."""
    entries = entries_in("runaway-creation/quiet-claims-written-back")
    last = max(entry.resource_version or 0 for entry in entries if entry.ref.kind == "Job")
    found = found_among([entry for entry in entries if entry.resource_version != last])
    assert {each.severity for each in found} <= {"info"}
    entries = entries_in("runaway-creation/quiet-claim-deleted-again")
    (one,) = findings_of(world_of(entry for entry in entries if entry.change is not Change.DELETED))
    assert (one.severity, one.verdict) == ("info", Verdict.INCONCLUSIVE)


@pytest.mark.parametrize(
    ("fixture", "severity", "verdict", "delay"),
    [
        ("fires-claim-three-seconds-late", "info", Verdict.EXACT, 3_046_329),
        ("fires-claim-late", "warning", Verdict.EXACT, 30_000_000),
        ("fires-vcjob-claim-late", "warning", Verdict.EXACT, 7_525_947),
        # Both creations at level Metadata are ordered by their times.
        ("fires-config-late-level-metadata", "warning", Verdict.EXACT, 12_000_000),
        ("fires-config-deleted-before", "warning", Verdict.EXACT, 100_004_000),
        ("fires-secret-away-meanwhile", "warning", Verdict.EXACT, 20_000_000),
        ("fires-secret-never", "warning", Verdict.EXACT, 64_000_000),  # the source has no Secrets, only the Events
        # An Event says that it is missing, and a complete log does not show its creation.
        ("fires-claim-never", "warning", Verdict.EXACT, 60_004_000),
        # The log is an excerpt, so only what the Events say is known.
        ("fires-vcjob-claim-never", "info", Verdict.EXACT, 4_744_398),
        # Its creation was not observed; the Events say until when it was missing.
        ("fires-secret-creation-not-observed", "warning", Verdict.EXACT, 32_000_000),
        # It was never observed, which does not prove that it never existed.
        ("fires-never-seen", "info", Verdict.INCONCLUSIVE, 60_004_000),
        # The scheduler later complained about something else, so it existed by then.
        ("fires-claim-came-unseen", "info", Verdict.EXACT, 100_000),
        ("fires-default-account-very-late", "info", Verdict.EXACT, 20_000_000),
        ("fires-pod-deleted-while-waiting", "info", Verdict.EXACT, 2_000_000),
    ],
)
def test_how_long_it_was_missing_and_how_bad_that_is(fixture: str, severity: str, verdict: Verdict, delay: int) -> None:
    found = the_one(f"missing-reference/{fixture}")
    assert (found.severity, found.verdict, found.delay) == (severity, verdict, delay)


def test_what_is_missing_is_named_also_when_it_never_came() -> None:
    found = the_one("missing-reference/fires-secret-never")
    assert found.other and (found.other.kind, found.other.name, found.other.uid) == ("Secret", "token", "")
    assert [one.role for one in found.occurrences[0].proof] == ["Pod created", "reported missing"]
    later = the_one("missing-reference/fires-secret-away-meanwhile")
    assert [one.role for one in later.occurrences[0].proof] == ["Secret deleted", "Secret created"]


def test_how_long_is_too_long_can_be_set(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(settings["CAUSELINE_RULE_MISSING_REFERENCE_GRACE"], "value", 60)
    assert the_one("missing-reference/fires-claim-late").severity == "info"
    monkeypatch.setattr(settings["CAUSELINE_RULE_RUNAWAY_CREATION_COUNT"], "value", 26)
    assert found_in(RULES / "runaway-creation/fires-custom-resource-config.jsonl") == []


def test_judging_a_vcjob_does_not_look_at_its_pods() -> None:
    world = world_of(entries_in("runaway-creation/quiet-volcano-many-claims-and-pods"))
    resolved = []
    world.children = lambda owner: resolved.append(owner) or []  # type: ignore[method-assign,func-returns-value]
    findings_of(world)
    assert not [owner for owner in resolved if owner.ref.kind == "Job"]
