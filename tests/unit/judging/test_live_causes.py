"""These tests add an audit log to what the watches of a live source have shown: causes are found as in a recording."""

import random
from collections.abc import Iterable
from pathlib import Path

import pytest
from msgspec.structs import replace

from tests import RULES
from tests.live import batches
from tests.recordings import findings_of, observations_of, world_of
from tests.unit.history.live_worlds import Judged, taken_over
from timeline.core.entries import FOREVER, Change, Clock, Entry, Level, Mark, MarkType, Observation, Request
from timeline.core.order import SECOND
from timeline.history.streams import PASSES
from timeline.judge import judged
from timeline.judging.findings import Finding

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
    assert causes(findings_of(world_of([*watched(log), *log]))) == expected  # as in its export


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
