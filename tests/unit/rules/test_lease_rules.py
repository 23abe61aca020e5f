"""These tests check the rules about Leases: who holds them, for which workload, and what is not a conflict."""

import json
import shlex
from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from tests import RULES
from tests.inputs.recordings import entries_of, findings_of, world_of
from timeline.core.entries import FOREVER, Change, Clock, Entry, Mark, MarkType, ObjectRef
from timeline.core.order import SECOND
from timeline.history.world.world import World
from timeline.judging.findings import Finding
from timeline.judging.verdicts import Verdict
from timeline.kinds import Kind, kind_of
from timeline.kinds.deployment import Lock, WorkloadFacts
from timeline.kinds.lease import LeaseFacts


def found_in(fixture: str) -> dict[str, Finding]:
    entries = entries_of(RULES / f"lease-{fixture}.jsonl")
    return {each.rule[6:]: each for each in findings_of(world_of(entries)) if each.rule.startswith("lease-")}


def found_without(fixture: str, left_out: Callable[[Entry], bool]) -> Finding:
    entries = entries_of(RULES / f"lease-{fixture}.jsonl")
    (found,) = findings_of(world_of([entry for entry in entries if not left_out(entry)]))
    return found


def alarms(world: World) -> list[str]:
    return [each.summary for each in findings_of(world) if each.severity != "info"]


def read_as(group: str, kind: str, **body: Any) -> tuple[Kind, Any]:
    """Return the kind, and the facts that it keeps of an object."""
    known = kind_of(group, kind)
    return known, known.facts(msgspec.json.decode(json.dumps(body), type=known.shape))


def test_two_volcano_schedulers_contend_and_the_leader_that_was_killed_is_replaced_in_time() -> None:
    # vs-online   347====...====651 (killed)
    # vs-offline                          729 ===========   16.05 s after the last renewal of a term of 15 s
    found = found_in("contention/fires-volcano-schedulers")
    assert found.keys() == {"contention", "shared-config"}
    contention = found["contention"]
    assert (contention.verdict, contention.severity) == (Verdict.EXACT, "warning")
    assert [one.moment.stamp.resource_version for one in contention.worst.proof] == [651, 729]
    both = [("Deployment", "vs-offline"), ("Deployment", "vs-online")]
    assert [(each.kind, each.name) for each in contention.affects] == both
    assert found["shared-config"].subject == contention.subject


def test_schedulers_that_take_turns_steal_and_flap() -> None:
    # vs-online  1560 ==== 2391                     3350 ==== 3481
    # vs-offline                2392 ==== 3349                     3482 ====
    found = {rule: each for rule, each in found_in("contention/fires-taking-turns").items() if each.severity != "info"}
    assert {rule: (each.severity, len(each.occurrences)) for rule, each in found.items()} == {
        "contention": ("error", 3), "flapping": ("warning", 1), "stolen": ("error", 3), "shared-config": ("warning", 1),
    }  # fmt: skip


def test_pods_of_the_scheduler_that_does_not_lead_are_affected_once_they_waited() -> None:
    contention = found_in("contention/fires-pods-of-the-other-wait")["contention"]
    assert contention.severity == "error"
    assert [each.name for each in contention.affects] == ["a", "b", "waits"]


@pytest.mark.parametrize(
    ("fixture", "verdict", "severity", "delay"),
    [
        # The end of the first workload may be missing.
        ("contention/fires-deletion-may-be-missing", Verdict.INCONCLUSIVE, "info", None),
        # One scheduler replaces another at once.
        ("shared-config/fires-replaced-at-once", Verdict.EXACT, "info", None),
        # A take-over within the term is stolen, whatever clock tells it.
        ("stolen/fires-within-the-term", Verdict.EXACT, "error", 1_047_619),
        ("stolen/fires-in-a-watch", Verdict.BOUNDED, "error", None),
        # A Lease that ran out is a warning once a later write shows it.
        ("expired/fires-nobody-led", Verdict.EXACT, "warning", 42_000_000),
        ("expired/fires-silent-to-the-end", None, "info", None),
    ],
)
def test_how_sure_and_how_bad(fixture: str, verdict: Verdict | None, severity: str, delay: int | None) -> None:
    found = found_in(fixture)[fixture.partition("/")[0]]
    assert verdict in (None, found.verdict) and found.severity == severity and delay in (None, found.delay)
    proof = [one.moment.stamp.resource_version for one in found.worst.proof]
    assert proof == [1143, 1555] or fixture != "stolen/fires-within-the-term"
    assert (len(proof) == 1) == (fixture == "expired/fires-silent-to-the-end")


@pytest.mark.parametrize("left_out", ["", "Deployment", "ReplicaSet", "Pod"])
def test_a_lease_that_ran_out_after_its_holder_was_stopped_is_no_alarm(left_out: str) -> None:
    found = found_without("expired/fires-scaled-to-zero-and-back", lambda entry: entry.ref.kind == left_out)
    assert (found.rule, found.severity) == ("lease-expired", "info")


def test_two_schedulers_are_no_alarm_where_the_line_of_the_first_ones_deletion_may_be_lost() -> None:
    found = found_without("shared-config/quiet-replaced", lambda entry: entry.change is Change.DELETED)
    assert (found.verdict, found.severity) == (Verdict.INCONCLUSIVE, "info")


def test_a_watch_shows_that_two_schedulers_existed_together_although_one_of_them_was_deleted() -> None:
    """The watch does not show when the deletion was committed, but its revision is greater than that of the second."""

    def write(name: str, change: Change, revision: int, arrived: int) -> Entry:
        ref = ObjectRef("apps", "v1", "Deployment", "volcano-system", name, f"uid-of-{name}")
        facts = WorkloadFacts(created=SECOND, replicas=1, locks=(Lock("volcano-system", "volcano", (name,)),))
        return Entry(ref, change, revision, Clock.OBJECT, SECOND, FOREVER, facts, arrived=arrived)

    listed = Mark("apps", "v1", "Deployment", MarkType.LISTED, SECOND, 1)
    first, second = write("a", Change.CREATED, 10, SECOND + 40_000), write("b", Change.CREATED, 12, SECOND + 70_000)
    (found,) = findings_of(world_of([listed, first, second, write("a", Change.DELETED, 20, 60 * SECOND)]))
    assert (found.rule, found.verdict, found.severity) == ("lease-shared-config", Verdict.EXACT, "warning")


def test_a_holder_that_a_list_shows_later_is_no_thief() -> None:
    entries = entries_of(RULES / "lease-stolen" / "fires-within-the-term.jsonl")
    before = [entry for entry in entries if not getattr(entry.facts, "transitions", 0)]
    taken = next(entry for entry in entries if entry not in before)
    assert alarms(world_of([*before, taken]))
    listed = msgspec.structs.replace(taken, change=Change.OBSERVED, clock=Clock.OBJECT, staged=FOREVER)
    assert alarms(world_of([*before, listed])) == []


def lock(name: str = "volcano", *schedulers: str, space: str = "volcano-system") -> Lock:
    return Lock(space, name, schedulers)


@pytest.mark.parametrize(
    ("image", "arguments", "expected"),
    [
        ("volcanosh/vc-scheduler:v1.12.0", "", lock("volcano", "volcano")),
        ("registry:5000/vc-scheduler@sha256:0", "--scheduler-name=a", lock("volcano", "a")),
        ("vc-scheduler", "--scheduler-name a --scheduler-name b", lock("volcano", "a", "b")),
        ("vc-scheduler", "--lock-object-namespace=x", lock("volcano", "volcano", space="x")),
        ("vc-scheduler", "--leader-elect-resource-name y", lock("y", "volcano")),
        ("vc-scheduler:v1.9.1", "--scheduler-name=a", None),
        ("vc-scheduler", "--leader-elect=false", None),
        ("vc-scheduler", "--leader-elect-resource-namespace=$(NAMESPACE)", None),
        ("vc-controller-manager", "", lock("vc-controller-manager", "volcano")),
        ("kube-scheduler", "--leader-elect=true", lock("kube-scheduler", space="kube-system")),
        ("kube-scheduler", "--config=/etc/scheduler.yaml", None),
        ("own", "sh -c \"exec /bin/vc-scheduler --scheduler-name 'a' 2>&1\"", lock("volcano", "a")),
        ("own", "--leader-elect --scheduler-name=a", None),
        ("own", "--leader-elect-resource-name=y --leader-elect-resource-namespace=x", lock("y", space="x")),
    ],
)
def test_the_arguments_of_a_container_tell_its_lock(image: str, arguments: str, expected: Lock | None) -> None:
    template = {"spec": {"containers": [{"image": image, "args": shlex.split(arguments)}, {"image": "sidecar"}]}}
    for kind in ("Deployment", "StatefulSet", "DaemonSet"):
        _, facts = read_as("apps", kind, spec={"template": template})
        assert facts.locks == ((expected,) if expected else ())


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


class CountingWorld(World):
    asked = 0

    def unbroken(self, *moments: Any) -> bool:
        self.asked += 1
        return super().unbroken(*moments)


def test_every_renewal_costs_the_same() -> None:
    """Each write is examined a fixed number of times, however many writes there are."""
    ref = ObjectRef("coordination.k8s.io", "v1", "Lease", "n", "op", "uid")
    looked: dict[int, int] = {}
    for count in (500, 2_000):
        renewals = [
            Entry(
                ref, Change.MODIFIED if at else Change.CREATED, 100 + at, Clock.AUDIT, at * 2 * SECOND,
                at * 2 * SECOND + 4_000, replaces=99 + at if at else None,
                facts=LeaseFacts(holder=f"pod_{at // 8}", duration=1, transitions=at // 8, renewed=str(at)),
            )
            for at in range(count)
        ]  # fmt: skip
        world = CountingWorld()
        assert alarms(world_of(renewals, world=world)) == []
        looked[count] = world.asked
    assert looked[2_000] <= 4 * looked[500] + 10
