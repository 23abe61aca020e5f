"""These tests check the rules about endpoints and load balancers: how sure and severe they are, and that missing lines
silence them."""

from collections.abc import Iterable

import pytest
from msgspec.structs import replace

from tests import RULES
from tests.inputs.recordings import entries_of, findings_of, world_of
from timeline.core.entries import Change, Entry, ObjectRef
from timeline.judging.findings import Finding, Status
from timeline.judging.verdicts import Verdict

JUDGED = ("endpoints-before-service", "load-balancer-late", "pod-before-service", "service-gap")
DB_1 = "EndpointSlice db-1"
ALONE = "no other of its class was seen to be served in time"
MINUTE = 60_000_000


def found_in(entries: Iterable[Entry]) -> list[Finding]:
    return [finding for finding in findings_of(world_of(entries)) if finding.rule in JUDGED]


def of(fixture: str) -> list[Finding]:
    return found_in(entries_of(RULES / f"{fixture}.jsonl"))


def the_finding(fixture: str) -> Finding:
    (finding,) = of(fixture)
    return finding


@pytest.mark.parametrize(
    ("fixture", "severity", "summary"),
    [
        ("slice-first", "warning", "EndpointSlice web0-x was created 0.1–0.41 s before its Service web0"),
        ("endpoints-object-first", "warning", "Endpoints db was created 2 s before its Service db"),
        ("between-two-services", "warning", f"{DB_1} was created 2 s before its Service db"),
        ("written-by-hand", "info", f"{DB_1} was created 2 s before its Service db"),
        ("no-address-ready", "info", f"{DB_1} was created 2 s before its Service db"),
        ("orphan-of-a-deleted-service", "warning", f"{DB_1} stood for at least 55 s without Service db and still does"),
        ("orphan-until-the-next-service", "warning", f"{DB_1} stood for 30 s without Service db"),
        ("orphan-without-any-service", "warning", f"{DB_1} stood for at least 29 s without its Service and still does"),
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
        ("without-peers", "warning", 48_112_806, ALONE),
        ("became-a-load-balancer-later", "warning", 60_000_000, ALONE),
        ("local-endpoint-in-place", "warning", 588_000_000, ALONE),
        ("told-by-endpoints-alone", "warning", 89_900_000, ALONE),
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


@pytest.mark.parametrize(
    ("fixture", "severities"),
    [
        # one, two  ==ready=====================300 s: address   They waited for the controller itself.
        # three                              ==290 s   300 s: address
        ("before-the-controller-came", [("one", "warning"), ("two", "warning")]),
        # A cloud that takes minutes for all alike is no alarm.
        ("taken-up-by-a-slow-cloud", [("web", "info"), ("shop", "info")]),
    ],
)
def test_who_waited_like_all_others_is_not_late_among_prompt_ones(
    fixture: str, severities: list[tuple[str, str]]
) -> None:
    found = of(f"load-balancer-late/fires-{fixture}")
    assert [(each.subject.name, each.severity) for each in found] == severities


@pytest.mark.parametrize("fixture", ["a-write-not-shown", "an-update-not-shown"])
def test_a_write_that_may_have_brought_the_address_leaves_it_open(fixture: str) -> None:
    finding = the_finding(f"load-balancer-late/fires-{fixture}")
    assert (finding.verdict, finding.severity) == (Verdict.INCONCLUSIVE, "info")


def with_losses(entries: list[Entry]) -> list[Entry]:
    """Add updates of other objects, of which some revisions are missing, also before the beginning of the log."""
    numbered = sorted((entry for entry in entries if entry.resource_version), key=lambda entry: entry.received)
    made = [other("ConfigMap", "begin", numbered[0], -MINUTE, Change.CREATED, -1, None)]
    for place, entry in enumerate(numbered):
        lost = (entry.resource_version or 0) + 1
        made.append(other(("ConfigMap", "Secret")[place % 2], f"other-{place}", entry, 0, Change.MODIFIED, 2, lost))
    return entries + made


def other(kind: str, name: str, at: Entry, later: int, change: Change, revisions: int, replaces: int | None) -> Entry:
    ref, revision = ObjectRef("", "v1", kind, "n", name, f"uid-{name}"), (at.resource_version or 0) + revisions
    times = {"received": at.received + later, "staged": at.staged + later}
    plain = {"facts": None, "sets": (), "owner": None, "identity": name}
    return replace(at, ref=ref, change=change, resource_version=revision, replaces=replaces, **times, **plain)


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
    assert [each.severity for each in found_in(entries)] == ["warning"]
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
    whole, less = ({(each.id, each.severity) for each in found_in(of)} for of in (entries, with_losses(entries)))
    assert whole == less and [severity for _, severity in whole] == ["warning"]
