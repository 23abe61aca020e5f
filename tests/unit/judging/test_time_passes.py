"""Live sources also find what only passing time shows, however quiet a kind is: an API server may repeat the revision
of such a kind in its bookmarks for ten minutes, while others go on.

services   ──deleted 20────(20)──────(20)──────(20)──▶   bookmarks that tell no more than its own last change
slices     ────────────────────────────────────────▶
leases     ──30──31──32──33──…                           go on
"""

from tests.unit.history.live_worlds import Judged, entry, mark, started
from tests.unit.history.test_live_order import service
from timeline.core.entries import Change, Entry, Facts, MarkType, Observation, Owner
from timeline.judging.findings import Finding, Status
from timeline.judging.verdicts import Verdict
from timeline.kinds.deployment import WorkloadFacts
from timeline.kinds.endpointslice import EndpointSliceFacts
from timeline.kinds.lease import LeaseFacts

SLICES, LEASES, APPS = "discovery.k8s.io", "coordination.k8s.io", "apps"


class Live(Judged):
    def tell(self, *batch: Observation) -> list[Finding]:
        self.commit(batch)
        return [*self.settled().values()]

    def pass_time(self, revision: int, quiet: dict[tuple[str, str], int]) -> list[Finding]:
        """Renew a Lease every two seconds, and show bookmarks of quiet kinds with these revisions every 30 seconds."""
        found: list[Finding] = []
        for second in range(12, 100, 2):
            renewed = entry("Lease", "l", revision + second, second, Change.MODIFIED, LeaseFacts(holder="h"), LEASES)
            bookmarks = [] if second % 30 else [bookmark(second, at, *kind) for kind, at in quiet.items()]
            found = self.tell(renewed, *bookmarks)
        return found


def bookmark(second: float, revision: int, group: str, kind: str) -> Observation:
    return mark(kind, MarkType.BOOKMARK, second, revision, group)


def deployment(name: str, revision: int) -> Entry:
    return entry("Deployment", name, revision, 1, Change.CREATED, WorkloadFacts(replicas=1, generation=1), APPS)


def test_a_slice_that_outlives_its_service_is_found_while_services_are_quiet() -> None:
    live = Live()
    facts = EndpointSliceFacts(service="s", ready=1)
    piece = entry("EndpointSlice", "s-x", 12, 2, Change.CREATED, facts, SLICES)
    kinds = [*started("Service", "Pod"), *started("EndpointSlice", group=SLICES)]
    assert not live.tell(*kinds, service(11, 1), piece, service(20, 10, Change.DELETED))
    (orphan,) = live.pass_time(20, {("", "Service"): 20, ("", "Pod"): 20, (SLICES, "EndpointSlice"): 12})
    assert (orphan.rule, orphan.subject.name, orphan.status) == ("endpoints-before-service", "s-x", Status.SUSPECTED)
    ends = ("", "Service"), ("", "Pod"), (SLICES, "EndpointSlice")
    (orphan,) = live.tell(*(bookmark(101, 130, *kind) for kind in ends))
    assert (orphan.status, orphan.verdict, orphan.severity) == (Status.CONFIRMED, Verdict.EXACT, "warning")


def test_a_runaway_is_found_by_metadata_alone_while_claims_are_quiet() -> None:
    """Only the names and ownerReferences of ConfigMaps are read."""
    live, boss = Live(), deployment("boss", 10)
    owner = Owner(APPS, "v1", "Deployment", "boss", boss.ref.uid)
    leaked = [
        entry("ConfigMap", f"boss-x{number:02}7k", 20 + number, 2, Change.CREATED, Facts(), owner=owner)
        for number in range(30)
    ]
    live.tell(*started("ConfigMap", "Pod", "PersistentVolumeClaim"), *started("Deployment", group=APPS), boss, *leaked)
    quiet = {("", "PersistentVolumeClaim"): 5, ("", "Pod"): 5, ("", "ConfigMap"): 49, (APPS, "Deployment"): 10}
    (runaway,) = live.pass_time(60, quiet)
    assert (runaway.rule, runaway.subject.name, runaway.count) == ("runaway-creation", "boss", 30)


def test_that_both_were_wanted_who_take_a_lease_in_turn_is_told_by_deployments_that_are_quiet() -> None:
    live = Live()
    kinds = [*started("Pod"), *started("Deployment", group=APPS), *started("Lease", group=LEASES)]
    live.tell(*kinds, deployment("alpha", 10), deployment("beta", 11))
    found: list[Finding] = []
    for turn in range(4):
        holder = f"{('alpha', 'beta')[turn % 2]}-5d8f7c9b6-x2k4z_1"
        facts = LeaseFacts(holder=holder, duration=15, transitions=turn, renewed=f"2026-11-22T00:0{turn}:00Z")
        change = Change.MODIFIED if turn else Change.CREATED
        lease, now = entry("Lease", "volcano", 30 + turn, 2 + 20 * turn, change, facts, LEASES), 10 + 20 * turn
        found = live.tell(lease, bookmark(now, 11, APPS, "Deployment"), bookmark(now, 5, "", "Pod"))
    (contention,) = (each for each in found if each.rule == "lease-contention")
    assert contention.verdict is Verdict.EXACT
