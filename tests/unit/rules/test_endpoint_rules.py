"""These tests check the rules about endpoints and load balancers: how sure and severe they are, and that missing lines
silence them."""

import random
from collections.abc import Iterable
from pathlib import Path

import pytest
from msgspec.structs import replace

from tests import RULES
from tests.recordings import SAMPLE, entries_of, findings_of, world_of
from timeline.core.entries import Change, Entry, ObjectRef
from timeline.judging.findings import Finding, Status
from timeline.judging.verdicts import Verdict

JUDGED = ("endpoints-before-service", "load-balancer-late", "pod-before-service", "service-gap")
OWN = sorted(path for rule in JUDGED[:2] for path in (RULES / rule).glob("*.jsonl"))
WHOLE = [path for path in OWN if not path.stem.endswith("not-seen")]  # fixtures without lost lines
DB_1 = "EndpointSlice db-1"
MINUTE = 60_000_000


def found_in(entries: Iterable[Entry]) -> list[Finding]:
    return [finding for finding in findings_of(world_of(entries)) if finding.rule in JUDGED]


def alarms(entries: Iterable[Entry]) -> set[tuple[str, str, str]]:
    found = [finding for finding in found_in(entries) if finding.severity != "info"]
    return {(finding.rule, finding.subject.kind, finding.subject.name) for finding in found}


def the_finding(fixture: str) -> Finding:
    (finding,) = found_in(entries_of(RULES / f"{fixture}.jsonl"))
    return finding


@pytest.mark.parametrize(
    ("fixture", "severity", "summary"),
    [
        ("slice-first", "warning", "EndpointSlice web0-x was created 0.1–0.41 s before its Service web0"),
        ("endpoints-object-first", "warning", "Endpoints db was created 2 s before its Service db"),
        ("between-two-services", "warning", f"{DB_1} was created 2 s before its Service db"),
        ("written-by-hand", "info", f"{DB_1} was created 2 s before its Service db"),
        ("no-address-ready", "info", f"{DB_1} was created 2 s before its Service db"),
        (
            "orphan-of-a-deleted-service",
            "warning",
            f"{DB_1} stood for at least 55 s without Service db and still does",
        ),
        ("orphan-until-the-next-service", "warning", f"{DB_1} stood for 30 s without Service db"),
        (
            "orphan-without-any-service",
            "warning",
            f"{DB_1} stood for at least 29 s without its Service and still does",
        ),
        ("orphan-without-addresses", "info", f"{DB_1} stood for at least 55 s without Service db and still does"),
        ("orphan-never-collected-in-time", "warning", "EndpointSlice db-x2 stood for at least 59 s without Service db"),
    ],
)
def test_endpoints_before_or_without_their_service(fixture: str, severity: str, summary: str) -> None:
    finding = the_finding(f"endpoints-before-service/fires-{fixture}")
    assert (finding.severity, finding.summary) == (severity, summary)
    assert finding.verdict is Verdict.EXACT
    assert [proof.moment.at for proof in finding.worst.proof] == sorted(each.moment.at for each in finding.worst.proof)
    assert (finding.other is None) == (fixture == "orphan-without-any-service")


@pytest.mark.parametrize(
    ("fixture", "severity", "delay", "effect"),
    [
        # app3  ==ready===4 s: address
        # app6    ==ready===================================48 s: address
        ("one-among-prompt-ones", "error", 48_112_806, "another of its class had its address within 4.2 s"),
        ("without-peers", "warning", 48_112_806, "no other of its class was seen to be served in time"),
        ("became-a-load-balancer-later", "warning", 60_000_000, "no other of its class was seen to be served in time"),
        ("local-endpoint-in-place", "warning", 588_000_000, "no other of its class was seen to be served in time"),
        ("told-by-endpoints-alone", "warning", 89_900_000, "no other of its class was seen to be served in time"),
        ("endpoints-by-hand", "info", 88_000_000, "its endpoints are managed by hand"),
    ],
)
def test_an_address_that_came_late(fixture: str, severity: str, delay: int, effect: str) -> None:
    finding = the_finding(f"load-balancer-late/fires-{fixture}")
    assert (finding.severity, finding.delay, finding.worst.effect_text) == (severity, delay, effect)
    assert (finding.verdict, finding.status) == (Verdict.EXACT, Status.CONFIRMED)


def test_an_address_that_never_came_is_suspected_until_the_service_goes() -> None:
    finding = the_finding("load-balancer-late/fires-never-came")
    assert (finding.severity, finding.status, finding.bounds) == ("warning", Status.SUSPECTED, None)
    finding = the_finding("load-balancer-late/fires-never-came-until-it-was-deleted")
    assert (finding.severity, finding.status, finding.delay) == ("warning", Status.CONFIRMED, 118_000_000)


def test_who_waited_for_the_controller_itself_is_not_late_among_prompt_ones() -> None:
    # one, two  ==ready=====================300 s: address
    # three                              ==290 s   300 s: address
    found = found_in(entries_of(RULES / "load-balancer-late/fires-before-the-controller-came.jsonl"))
    assert [(finding.subject.name, finding.severity) for finding in found] == [("one", "warning"), ("two", "warning")]


def test_a_cloud_that_takes_minutes_for_all_alike_is_no_alarm() -> None:
    found = found_in(entries_of(RULES / "load-balancer-late/fires-taken-up-by-a-slow-cloud.jsonl"))
    assert [finding.severity for finding in found] == ["info", "info"]


@pytest.mark.parametrize("fixture", ["a-write-not-shown", "an-update-not-shown"])
def test_a_write_that_may_have_brought_the_address_leaves_it_open(fixture: str) -> None:
    finding = the_finding(f"load-balancer-late/fires-{fixture}")
    assert (finding.verdict, finding.severity) == (Verdict.INCONCLUSIVE, "info")


@pytest.mark.parametrize("path", WHOLE, ids=lambda path: path.stem)
def test_a_log_cut_anywhere_raises_no_alarm_that_the_whole_does_not(path: Path) -> None:
    entries = entries_of(path)
    whole = alarms(entries)
    for cut in range(1, len(entries)):
        assert alarms(entries[:cut]) <= whole
        assert alarms(entries[cut:]) <= whole


def test_lines_lost_at_random_raise_no_alarm_that_the_whole_does_not() -> None:
    entries = entries_of(SAMPLE)
    whole = alarms(entries)
    assert whole
    for seed in range(40):
        chance = random.Random(seed)
        lost = chance.choice((0.02, 0.1, 0.3, 0.5))
        assert alarms([entry for entry in entries if chance.random() > lost]) <= whole


def test_a_log_without_some_kinds_raises_no_alarm_that_the_whole_does_not() -> None:
    entries = entries_of(SAMPLE)
    whole = alarms(entries)
    for kind in {entry.ref.kind for entry in entries}:
        assert alarms([entry for entry in entries if entry.ref.kind != kind]) <= whole


def with_losses(entries: list[Entry]) -> list[Entry]:
    """Add updates of other objects, of which some revisions are missing, also before the beginning of the log."""
    numbered = sorted((entry for entry in entries if entry.resource_version), key=lambda entry: entry.received)
    made = [other("ConfigMap", "begin", numbered[0], -MINUTE, Change.CREATED, -1, None)]
    for place, entry in enumerate(numbered):
        lost = (entry.resource_version or 0) + 1
        made.append(other(("ConfigMap", "Secret")[place % 2], f"other-{place}", entry, 0, Change.MODIFIED, 2, lost))
    return entries + made


def other(kind: str, name: str, at: Entry, later: int, change: Change, revisions: int, replaces: int | None) -> Entry:
    return replace(
        at,
        ref=ObjectRef("", "v1", kind, "n", name, f"uid-{name}"),
        change=change,
        resource_version=(at.resource_version or 0) + revisions,
        received=at.received + later,
        staged=at.staged + later,
        facts=None,
        sets=(),
        owner=None,
        replaces=replaces,
        identity=name,
    )


@pytest.mark.parametrize(
    "fixture",
    [
        "pod-before-service/fires-pod-deleted-after",  # an earlier Service may have existed
        "service-gap/fires-pod-succeeded-long-after",  # the Service may have been created again
        "endpoints-before-service/fires-orphan-of-a-deleted-service",
        "endpoints-before-service/fires-endpoints-object-first",
        "load-balancer-late/fires-without-peers",  # it may have had an earlier address
    ],
)
def test_what_rests_on_absence_is_inconclusive_where_writes_are_missing(fixture: str) -> None:
    entries = entries_of(RULES / f"{fixture}.jsonl")
    assert len(alarms(entries)) == 1
    (finding,) = found_in(with_losses(entries))
    assert (finding.verdict, finding.severity) == (Verdict.INCONCLUSIVE, "info")
    assert finding.worst.why.startswith("Inconclusive: writes")


@pytest.mark.parametrize(
    "fixture",
    [
        "service-gap/fires-pod-deleted-after",
        "endpoints-before-service/fires-between-two-services",
        "endpoints-before-service/fires-orphan-until-the-next-service",
    ],
)
def test_what_has_proof_at_both_ends_needs_no_complete_log(fixture: str) -> None:
    entries = entries_of(RULES / f"{fixture}.jsonl")
    assert len(alarms(entries)) == 1
    assert alarms(with_losses(entries)) == alarms(entries)
