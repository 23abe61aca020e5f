"""These tests add an audit log to what the watches of a live source have shown: causes are found as in a recording.
They also find what only passing time shows, however quiet a kind is: an API server may repeat the revision of such a
kind in its bookmarks for ten minutes, while others go on.

services   ──deleted 20────(20)──────(20)──────(20)──▶   bookmarks that tell no more than its own last change
slices     ────────────────────────────────────────▶
leases     ──30──31──32──33──…                           go on
"""

import random
from collections.abc import Iterable
from pathlib import Path

import pytest
from msgspec.structs import replace

from tests import RULES
from tests.inputs.live import batches
from tests.inputs.recordings import findings_of, observations_of, world_of
from tests.unit.history.live_worlds import Judged, entry, mark, started, taken_over
from tests.unit.history.test_live_order import service
from timeline.core.entries import (
    FOREVER,
    Change,
    Clock,
    Entry,
    Facts,
    Level,
    Mark,
    MarkType,
    Observation,
    Owner,
    Request,
)
from timeline.core.order import SECOND
from timeline.history.streams import PASSES
from timeline.judge import judged
from timeline.judging.findings import Finding, Status
from timeline.judging.incidents.partition import episodes, pieces_of
from timeline.judging.verdicts import Verdict
from timeline.kinds.deployment import WorkloadFacts
from timeline.kinds.endpointslice import EndpointSliceFacts
from timeline.kinds.lease import LeaseFacts

EXCESS = RULES / "stale-view/fires-after-its-job-was-complete.jsonl"
LEADER = RULES / "write-after-lease-lost/fires-the-old-leader-wakes-up.jsonl"


def watched(log: Iterable[Observation]) -> list[Observation]:
    """Return what the watches of a live source would have shown of the changes that an audit log shows."""
    entries = sorted((each for each in log if isinstance(each, Entry)), key=lambda each: each.resource_version or 0)
    kinds = sorted({(each.ref.group, each.ref.kind) for each in entries})
    start = min(each.received for each in entries) - SECOND
    shown: list[Observation] = []
    for group, kind in kinds:
        together = [Mark(group, "v1", kind, MarkType.TOGETHER, start - 10 - n, other="Pod") for n in range(PASSES)]
        shown += [*together, Mark(group, "v1", kind, MarkType.LISTED, start, 1)]
    for each in entries:
        second = each.received // SECOND * SECOND
        arrived = each.received + SECOND // 10
        plain = {"actor": "", "client": None, "identity": "", "place": None, "action": "", "replaces": None}
        shown.append(replace(each, clock=Clock.OBJECT, received=second, staged=FOREVER, arrived=arrived, **plain))
    last = max(each.received for each in entries) + SECOND // 5
    revision = max(each.resource_version or 0 for each in entries)
    return shown + [Mark(group, "v1", kind, MarkType.BOOKMARK, last, revision) for group, kind in kinds]


def followed(*batches: Iterable[Observation]) -> Judged:
    live = Judged(followed=True)
    for batch in batches:
        live.commit(batch)
    return live


def causes(findings: Iterable[Finding]) -> set[tuple[str, str, str, str]]:
    return {(each.rule, each.subject.name, each.status, each.cause.rule if each.cause else "") for each in findings}


def together(findings: Iterable[Finding]) -> set[tuple[str, frozenset[tuple[str, int]]]]:
    """Return what belongs to each incident."""
    found = episodes(piece for each in findings for piece in pieces_of(each))
    return {(each.identity, frozenset((piece.finding, piece.number) for piece in each.pieces)) for each in found}


@pytest.mark.parametrize("path", [EXCESS, LEADER], ids=["old copy", "lost Lease"])
@pytest.mark.parametrize("size", [1, 7, 10_000])
def test_an_audit_log_that_is_added_gives_the_findings_of_the_recording(path: Path, size: int) -> None:
    log = observations_of(path)
    live = followed(watched(log))
    found_on_requests = {"stale-view", "write-after-lease-lost"}
    assert not any(each.cause or each.rule in found_on_requests for each in live.findings().values())
    for batch in batches(random.Random(size).sample(log, len(log)), size):
        live.commit(batch)
    assert live.world.live
    expected = causes(findings_of(world_of(log)))
    assert causes(live.findings().values()) == expected
    assert found_on_requests & {rule for rule, *_ in expected}
    live.commit(log)
    assert causes(live.findings().values()) == expected
    exported = findings_of(world_of([*watched(log), *log]))
    assert causes(exported) == expected
    assert together(live.findings().values()) == together(exported)


def test_who_takes_over_knows_what_the_log_showed() -> None:
    log = observations_of(EXCESS)
    live, again = followed([*watched(log), *log]), Judged(followed=True)
    taken_over(live.world, again.world)
    again.found = judged(again.world, again.world.tracks())
    assert causes(again.findings().values()) == causes(live.findings().values())
    assert {kind: seen.levels for kind, seen in again.world.seen.items()} == {
        kind: seen.levels for kind, seen in live.world.seen.items()
    }


def without_bodies(log: Iterable[Observation]) -> list[Observation]:
    """Return a log as it is at level Metadata: updates name what they replace, creations and patches not even a UID."""
    no_body = {"resource_version": None, "facts": None, "sets": (), "owner": None, "replaces": None}
    return [
        replace(
            each, ref=each.ref if each.replaces else replace(each.ref, uid=""), named=each.replaces,
            level=Level.METADATA, **no_body,
        )
        if isinstance(each, Entry)
        else each
        for each in log
    ]  # fmt: skip


def test_whichever_comes_first_the_same_is_found_with_a_log_without_bodies() -> None:
    log = observations_of(LEADER)
    shown, bare = watched(log), without_bodies(log)
    found = set()
    for seed in range(4):
        rest = [*shown[10:], *bare]
        live = followed(shown[:10], *batches(random.Random(seed).sample(rest, len(rest)), 5), ())
        found.add(frozenset(causes(live.findings().values())))
    (one,) = found
    assert "write-after-lease-lost" in {rule for rule, *_ in one}


def unnamed(each: Entry) -> Observation:
    """Return the creation of a Pod as a log without bodies shows it: without the name."""
    if each.change is not Change.CREATED or each.ref.kind != "Pod":
        return each
    return Request(
        replace(each.ref, name="", uid=""), "create", 201, each.received, each.staged, user_agent=each.user_agent,
        actor=each.actor, client=each.client, identity=each.identity,
    )  # fmt: skip


def test_a_log_without_names_of_pods_gives_causes_beside_watches() -> None:
    log = observations_of(EXCESS)
    bare = [unnamed(each) if isinstance(each, Entry) else each for each in without_bodies(log)]
    assert any(isinstance(each, Request) and each.verb == "create" and not each.ref.name for each in bare)
    alone = findings_of(world_of([*watched(log)]))
    assert [each.cause for each in alone if each.rule == "job-excess-pods"] == [None]
    beside = findings_of(world_of([*watched(log), *bare]))
    (found,) = [each for each in beside if each.rule == "job-excess-pods"]
    assert found.cause and found.cause.rule == "stale-view"


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


def test_that_both_were_wanted_who_take_a_lease_in_turn_is_known_by_deployments_that_are_quiet() -> None:
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
