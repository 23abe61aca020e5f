"""Live sources also find what only passing time shows, however quiet a kind is: an API server may repeat the revision
of such a kind in its bookmarks for ten minutes, while others go on.

services   ──deleted 20────(20)──────(20)──────(20)──▶   bookmarks that tell no more than its own last change
slices     ────────────────────────────────────────▶
leases     ──30──31──32──33──…                           go on
"""

from typing import TYPE_CHECKING

from msgspec.structs import replace

from tests.unit.history.test_live_order import entry, mark, service, started
from timeline.core.entries import Change, Entry, Facts, MarkType, Observation, Owner
from timeline.history.world.recording import RecordingWorld
from timeline.judge import horizons, judged_again, settled, touched
from timeline.judging.findings import Finding, Status
from timeline.judging.verdicts import Verdict
from timeline.kinds.deployment import WorkloadFacts
from timeline.kinds.endpointslice import EndpointSliceFacts
from timeline.kinds.lease import LeaseFacts

if TYPE_CHECKING:
    from timeline.history.lifelines import Key


class Live:
    def __init__(self) -> None:
        self.world = RecordingWorld()
        self.found: dict[Key, list[Finding]] = {}

    def tell(self, *batch: Observation) -> list[Finding]:
        for _ in self.world.learn(batch):
            pass
        changed = self.world.settle()
        subjects = touched(self.world, changed, horizons(self.world))
        self.found.update(judged_again(self.world, subjects, lambda key: self.found.get(key, ())))
        return [settled(each, self.world) for found in self.found.values() for each in found]


def of(group: str, each: Entry) -> Entry:
    return replace(each, ref=replace(each.ref, group=group))


def renewed(revision: int, second: float) -> Entry:
    return of("coordination.k8s.io", entry("Lease", "l", revision, second, Change.MODIFIED, LeaseFacts(holder="h")))


def quiet(revision: int, second: float, *kinds: str) -> list[Observation]:
    return [mark(kind, MarkType.BOOKMARK, second, revision) for kind in kinds]


def slices_mark(second: float, revision: int) -> Observation:
    return replace(mark("EndpointSlice", MarkType.BOOKMARK, second, revision), group="discovery.k8s.io")


def test_a_slice_that_outlives_its_service_is_found_while_services_are_quiet() -> None:
    live = Live()
    facts = EndpointSliceFacts(service="s", ready=1)
    piece = of("discovery.k8s.io", entry("EndpointSlice", "s-x", 12, 2, Change.CREATED, facts))
    kinds = [replace(each, group="discovery.k8s.io") for each in started("EndpointSlice")]
    found = live.tell(*started("Service", "Pod"), *kinds, service(11, 1), piece, service(20, 10, Change.DELETED))
    assert not found
    for second in range(12, 100, 2):
        batch: list[Observation] = [renewed(20 + second, second)]
        if second % 30 == 0:
            batch += [*quiet(20, second, "Service", "Pod"), slices_mark(second, 12)]
        found = live.tell(*batch)
    (orphan,) = found
    assert (orphan.rule, orphan.subject.name, orphan.status) == ("endpoints-before-service", "s-x", Status.SUSPECTED)
    (orphan,) = live.tell(*quiet(130, 101, "Service", "Pod"), slices_mark(101, 130))
    assert (orphan.status, orphan.verdict, orphan.severity) == (Status.CONFIRMED, Verdict.EXACT, "warning")


def test_a_runaway_is_found_by_metadata_alone_while_claims_are_quiet() -> None:
    """Only the names and ownerReferences of ConfigMaps are read."""
    live = Live()
    boss = of("apps", entry("Deployment", "boss", 10, 1, Change.CREATED, WorkloadFacts(replicas=1, generation=1)))
    owner = Owner("apps", "v1", "Deployment", "boss", boss.ref.uid)
    leaked = [
        replace(entry("ConfigMap", f"boss-x{number:02}7k", 20 + number, 2, Change.CREATED, Facts()), owner=owner)
        for number in range(30)
    ]
    deployments = [replace(each, group="apps") for each in started("Deployment")]
    live.tell(*started("ConfigMap", "Pod", "PersistentVolumeClaim"), *deployments, boss, *leaked)
    found: list[Finding] = []
    for second in range(4, 100, 2):
        batch: list[Observation] = [renewed(60 + second, second)]
        if second % 30 == 0:
            batch += quiet(5, second, "PersistentVolumeClaim", "Pod")
            batch += [*quiet(49, second, "ConfigMap"), replace(quiet(10, second, "Deployment")[0], group="apps")]
        found = live.tell(*batch)
    (runaway,) = found
    assert (runaway.rule, runaway.subject.name, runaway.count) == ("runaway-creation", "boss", 30)


def test_that_both_were_wanted_who_take_a_lease_in_turn_is_told_by_deployments_that_are_quiet() -> None:
    live = Live()
    deployments = [replace(each, group="apps") for each in started("Deployment")]
    leases = [replace(each, group="coordination.k8s.io") for each in started("Lease")]
    both = [
        of("apps", entry("Deployment", name, 10 + at, 1, Change.CREATED, WorkloadFacts(replicas=1, generation=1)))
        for at, name in enumerate(("alpha", "beta"))
    ]
    live.tell(*started("Pod"), *deployments, *leases, *both)
    found: list[Finding] = []
    for turn in range(4):
        holder = f"{('alpha', 'beta')[turn % 2]}-5d8f7c9b6-x2k4z_1"
        facts = LeaseFacts(holder=holder, duration=15, transitions=turn, renewed=f"2026-11-22T00:0{turn}:00Z")
        change = Change.MODIFIED if turn else Change.CREATED
        lease = entry("Lease", "volcano", 30 + turn, 2 + 20 * turn, change, facts)
        bookmark = replace(quiet(11, 10 + 20 * turn, "Deployment")[0], group="apps")
        found = live.tell(of("coordination.k8s.io", lease), bookmark, *quiet(5, 10 + 20 * turn, "Pod"))
    (contention,) = (each for each in found if each.rule == "lease-contention")
    assert contention.verdict is Verdict.EXACT
