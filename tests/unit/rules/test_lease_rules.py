"""These tests check the rules about Leases: who holds them, for which workload, and what is not a conflict."""

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests import RULES
from tests.recordings import entries_of, findings_of, world_of
from timeline.core.entries import FOREVER, Change, Clock, Entry, Mark, MarkType, ObjectRef
from timeline.core.order import SECOND
from timeline.history.world.world import World
from timeline.judge import rulebook
from timeline.judging.findings import Finding
from timeline.judging.verdicts import Verdict
from timeline.kinds import Kind, kind_of, qualified
from timeline.kinds.deployment import Lock, WorkloadFacts
from timeline.kinds.lease import LeaseFacts

QUIET = sorted(RULES.glob("lease-*/quiet-*.jsonl"))
UNTOLD = {  # lines whose loss cannot be noticed from the others
    "quiet-clean-hand-over": "its PATCHes do not name what they replace",
    "quiet-other-holder-is-missing": "nor do these",
    "quiet-release-without-a-body-of-a-known-object": "nor do these",
    "quiet-release-without-a-body-of-an-unknown-object": "nor do these",
    "quiet-in-a-watch-of-whole-seconds": "a watch loses none",
    "quiet-replaced": "nothing but the Deployments is shown",
}
TOLD = [path for path in QUIET if path.stem not in UNTOLD]


def found_in(fixture: str) -> dict[str, Finding]:
    entries = entries_of(RULES / f"{fixture}.jsonl")
    return {each.rule: each for each in findings_of(world_of(entries)) if each.rule.startswith("lease-")}


def alarms(world: World) -> list[tuple[str, str]]:
    """Return the alarms of the Lease rules."""
    rules = [rule for rule in rulebook() if rule.id.startswith("lease-")]
    return [
        (finding.rule, finding.summary)
        for track in world.tracks()
        for rule in rules
        if qualified(track.ref.group, track.ref.kind) in rule.judges
        for finding in rule.judge(track, world)
        if finding.severity != "info"
    ]


def read_as(group: str, kind: str, **body: Any) -> tuple[Kind, Any]:
    """Return the kind, and the facts that it keeps of an object."""
    known = kind_of(group, kind)
    return known, known.facts(msgspec.json.decode(json.dumps(body), type=known.shape))


def named(path: Path) -> str:
    return f"{path.parent.name}/{path.stem}"


@pytest.mark.parametrize("path", QUIET, ids=named)
def test_what_is_benign_to_one_lease_rule_alarms_none(path: Path) -> None:
    assert alarms(world_of(entries_of(path))) == []


@pytest.mark.parametrize("path", TOLD, ids=named)
def test_no_line_that_is_lost_makes_an_alarm(path: Path) -> None:
    entries = entries_of(path)
    for lost in range(len(entries)):
        assert alarms(world_of(entries[:lost] + entries[lost + 1 :])) == [], entries[lost].place


@pytest.mark.parametrize("path", QUIET, ids=named)
def test_no_cut_makes_an_alarm(path: Path) -> None:
    entries = entries_of(path)
    for cut in range(1, len(entries)):
        assert alarms(world_of(entries[:cut])) == []
        assert alarms(world_of(entries[cut:])) == []


@pytest.mark.parametrize("path", QUIET, ids=named)
def test_no_kind_that_is_left_out_makes_an_alarm(path: Path) -> None:
    entries = entries_of(path)
    for left_out in {entry.ref.kind for entry in entries}:
        assert alarms(world_of([entry for entry in entries if entry.ref.kind != left_out])) == []


def test_two_volcano_schedulers_contend_and_the_leader_that_was_killed_is_replaced_in_time() -> None:
    # vs-online   347====...====651 (killed)
    # vs-offline                          729 ===========   16.05 s after the last renewal of a term of 15 s
    found = found_in("lease-contention/fires-volcano-schedulers")
    assert found.keys() == {"lease-contention", "lease-shared-config"}
    contention = found["lease-contention"]
    assert (contention.verdict, contention.severity) == (Verdict.EXACT, "warning")
    assert [one.moment.stamp.resource_version for one in contention.worst.proof] == [651, 729]
    assert [(each.kind, each.name) for each in contention.affects] == [
        ("Deployment", "vs-offline"),
        ("Deployment", "vs-online"),
    ]
    assert found["lease-shared-config"].subject == contention.subject


def test_schedulers_that_take_turns_steal_and_flap() -> None:
    # vs-online  1560 ==== 2391                     3350 ==== 3481
    # vs-offline                2392 ==== 3349                     3482 ====
    found = found_in("lease-contention/fires-taking-turns")
    assert {rule: finding.severity for rule, finding in found.items() if finding.severity != "info"} == {
        "lease-contention": "error",
        "lease-flapping": "warning",
        "lease-stolen": "error",
        "lease-shared-config": "warning",
    }
    assert [len(found[f"lease-{rule}"].occurrences) for rule in ("contention", "flapping", "stolen")] == [3, 1, 3]


def test_pods_of_the_scheduler_that_does_not_lead_are_affected_once_they_waited() -> None:
    contention = found_in("lease-contention/fires-pods-of-the-other-wait")["lease-contention"]
    assert contention.severity == "error"
    assert [each.name for each in contention.affects] == ["a", "b", "waits"]


def test_contention_is_inconclusive_where_the_end_of_the_first_workload_may_be_missing() -> None:
    contention = found_in("lease-contention/fires-deletion-may-be-missing")["lease-contention"]
    assert (contention.verdict, contention.severity) == (Verdict.INCONCLUSIVE, "info")


@pytest.mark.parametrize("left_out", ["", "Deployment", "ReplicaSet", "Pod"])
def test_a_lease_that_ran_out_after_its_holder_was_stopped_is_no_alarm(left_out: str) -> None:
    entries = entries_of(RULES / "lease-expired" / "fires-scaled-to-zero-and-back.jsonl")
    (found,) = findings_of(world_of([entry for entry in entries if entry.ref.kind != left_out]))
    assert (found.rule, found.severity) == ("lease-expired", "info")


def test_a_scheduler_that_replaces_another_at_once_is_no_alarm() -> None:
    found = found_in("lease-shared-config/fires-replaced-at-once")["lease-shared-config"]
    assert (found.verdict, found.severity) == (Verdict.EXACT, "info")


def test_two_schedulers_are_no_alarm_where_the_line_of_the_first_ones_deletion_may_be_lost() -> None:
    entries = entries_of(RULES / "lease-shared-config" / "quiet-replaced.jsonl")
    (found,) = findings_of(world_of([entry for entry in entries if entry.change is not Change.DELETED]))
    assert (found.verdict, found.severity) == (Verdict.INCONCLUSIVE, "info")


def test_a_watch_shows_that_two_schedulers_existed_together_although_one_of_them_was_deleted() -> None:
    """The watch does not show when the deletion was committed, but its revision is greater than that of the second."""

    def write(name: str, change: Change, revision: int, arrived: int) -> Entry:
        ref = ObjectRef("apps", "v1", "Deployment", "volcano-system", name, f"uid-of-{name}")
        facts = WorkloadFacts(created=SECOND, replicas=1, locks=(Lock("volcano-system", "volcano", (name,)),))
        return Entry(ref, change, revision, Clock.OBJECT, SECOND, FOREVER, facts, arrived=arrived)

    listed = Mark("apps", "v1", "Deployment", MarkType.LISTED, SECOND, 1)
    first, second = write("a", Change.CREATED, 10, SECOND + 40_000), write("b", Change.CREATED, 12, SECOND + 70_000)
    world = World()
    for _ in world.learn([listed, first, second, write("a", Change.DELETED, 20, 60 * SECOND)]):
        pass
    world.settle()
    (found,) = findings_of(world)
    assert (found.rule, found.verdict, found.severity) == ("lease-shared-config", Verdict.EXACT, "warning")


def test_a_take_over_within_the_term_is_stolen_whatever_clock_tells_it() -> None:
    stolen = found_in("lease-stolen/fires-within-the-term")["lease-stolen"]
    assert [one.moment.stamp.resource_version for one in stolen.worst.proof] == [1143, 1555]
    assert (stolen.verdict, stolen.severity, stolen.delay) == (Verdict.EXACT, "error", 1_047_619)
    watched = found_in("lease-stolen/fires-in-a-watch")["lease-stolen"]
    assert (watched.verdict, watched.severity) == (Verdict.BOUNDED, "error")


def test_a_holder_that_a_list_shows_later_is_no_thief() -> None:
    entries = entries_of(RULES / "lease-stolen" / "fires-within-the-term.jsonl")
    before = [entry for entry in entries if not getattr(entry.facts, "transitions", 0)]
    taken = next(entry for entry in entries if entry not in before)
    assert alarms(world_of([*before, taken]))
    listed = msgspec.structs.replace(taken, change=Change.OBSERVED, clock=Clock.OBJECT, staged=FOREVER)
    assert alarms(world_of([*before, listed])) == []


def test_a_lease_that_ran_out_is_a_warning_once_a_later_write_shows_it() -> None:
    shown = found_in("lease-expired/fires-nobody-led")["lease-expired"]
    assert (shown.verdict, shown.severity, shown.delay) == (Verdict.EXACT, "warning", 42_000_000)
    silent = found_in("lease-expired/fires-silent-to-the-end")["lease-expired"]
    assert (silent.severity, len(silent.worst.proof)) == ("info", 1)


@pytest.mark.parametrize(
    ("image", "arguments", "lock"),
    [
        ("volcanosh/vc-scheduler:v1.12.0", [], Lock("volcano-system", "volcano", ("volcano",))),
        ("registry:5000/vc-scheduler@sha256:0", ["--scheduler-name=a"], Lock("volcano-system", "volcano", ("a",))),
        (
            "vc-scheduler",
            ["--scheduler-name", "a", "--scheduler-name", "b"],
            Lock("volcano-system", "volcano", ("a", "b")),
        ),
        ("vc-scheduler", ["--lock-object-namespace=x"], Lock("x", "volcano", ("volcano",))),
        ("vc-scheduler", ["--leader-elect-resource-name", "y"], Lock("volcano-system", "y", ("volcano",))),
        ("vc-scheduler:v1.9.1", ["--scheduler-name=a"], None),
        ("vc-scheduler", ["--leader-elect=false"], None),
        ("vc-scheduler", ["--leader-elect-resource-namespace=$(NAMESPACE)"], None),
        ("vc-controller-manager", [], Lock("volcano-system", "vc-controller-manager", ("volcano",))),
        ("kube-scheduler", ["--leader-elect=true"], Lock("kube-system", "kube-scheduler", ())),
        ("kube-scheduler", ["--config=/etc/scheduler.yaml"], None),
        (
            "own",
            ["sh", "-c", "exec /bin/vc-scheduler --scheduler-name 'a' 2>&1"],
            Lock("volcano-system", "volcano", ("a",)),
        ),
        ("own", ["--leader-elect", "--scheduler-name=a"], None),
        ("own", ["--leader-elect-resource-name=y", "--leader-elect-resource-namespace=x"], Lock("x", "y", ())),
    ],
)
def test_the_arguments_of_a_container_tell_its_lock(image: str, arguments: list[str], lock: Lock | None) -> None:
    template = {"spec": {"containers": [{"image": image, "args": arguments}, {"image": "sidecar"}]}}
    for kind in ("Deployment", "StatefulSet", "DaemonSet"):
        _, facts = read_as("apps", kind, spec={"template": template})
        assert facts.locks == ((lock,) if lock else ())


def test_a_workload_tells_how_many_pods_it_wants() -> None:
    assert read_as("apps", "Deployment", spec={"replicas": 0})[1].replicas == 0
    assert read_as("apps", "StatefulSet", spec={})[1].replicas == 1
    assert read_as("apps", "DaemonSet", status={"desiredNumberScheduled": 7})[1].replicas == 7
    assert read_as("apps", "DaemonSet")[1].replicas == -1


@pytest.mark.parametrize(
    ("group", "words"),
    [
        ("", {"involvedObject": "about", "message": "text", "source": {"component": "vs"}}),
        ("events.k8s.io", {"regarding": "about", "note": "text", "reportingController": "vs"}),
        ("events.k8s.io", {"regarding": "about", "note": "text", "deprecatedSource": {"component": "vs"}}),
    ],
)
def test_both_apis_tell_the_same_of_an_event(group: str, words: dict[str, Any]) -> None:
    about = {"kind": "Lease", "apiVersion": "coordination.k8s.io/v1", "namespace": "n", "name": "l"}
    body = {word: {"about": about, "text": "a became leader"}.get(str(value), value) for word, value in words.items()}
    kind, facts = read_as(group, "Event", reason="LeaderElection", **body)
    assert (facts.message, facts.component) == ("a became leader", "vs")
    (named,) = kind.references(facts)
    assert named[:4] == ("coordination.k8s.io", "Lease", "l", "involved")
    kind, facts = read_as(group, "Event", reason="Scheduled", **body)
    assert facts == kind.facts_type()
    assert not list(kind.references(facts))


def test_the_heartbeat_of_a_node_changes_nothing_that_is_kept() -> None:
    spec = {"holderIdentity": "node-1", "leaseDurationSeconds": 40}
    beats = [
        read_as(
            "coordination.k8s.io", "Lease", metadata={"namespace": "kube-node-lease"}, spec={**spec, "renewTime": at}
        )
        for at in ("2026-11-21T07:55:36.366166Z", "2026-11-21T07:55:46.366166Z")
    ]
    assert beats[0] == beats[1]


def test_every_renewal_costs_the_same() -> None:
    """Each write is examined a fixed number of times, however many writes there are."""
    looked: dict[int, int] = {}
    for count in (500, 2_000):
        world = CountingWorld()
        for _ in world.learn(renewals(count)):
            pass
        world.settle()
        assert alarms(world) == []
        looked[count] = world.asked
    assert looked[2_000] <= 4 * looked[500] + 10


class CountingWorld(World):
    asked = 0

    def unbroken(self, *moments: Any) -> bool:
        self.asked += 1
        return super().unbroken(*moments)


def renewals(count: int) -> list[Entry]:
    ref = ObjectRef("coordination.k8s.io", "v1", "Lease", "n", "op", "uid")
    return [
        Entry(
            ref,
            Change.MODIFIED if number else Change.CREATED,
            100 + number,
            Clock.AUDIT,
            number * 2_000_000,
            number * 2_000_000 + 4_000,
            facts=LeaseFacts(holder=f"pod_{number // 8}", duration=1, transitions=number // 8, renewed=str(number)),
            replaces=99 + number if number else None,
        )
        for number in range(count)
    ]
