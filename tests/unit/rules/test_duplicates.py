"""These tests check what is said of Pods that a controller created beyond what was asked for, and deleted again."""

from pathlib import Path

from tests import RULES
from tests.recordings import entries_of, findings_of, world_of
from tests.unit.rules.test_rules import check_fires, found_in
from timeline.core.entries import Entry

FIRES = RULES / "duplicate-child/fires-did-not-see-its-own-pods.jsonl"


def judged(path: Path, left_out: str = "") -> list[str]:
    entries = [each for each in entries_of(path) if not left_out or not _names(each, left_out)]
    return [each.rule for each in findings_of(world_of(entries))]


def _names(entry: Entry, words: str) -> bool:
    return words in f"{entry.change} {entry.ref.kind} {entry.ref.name} {entry.action} "


def test_surplus_pods_that_were_deleted_again_are_counted() -> None:
    # ReplicaSet web wants 3   ===106=====107======114 (deleted)===116 (deleted)
    # Pods                     3   4      5        4               3
    (found,) = check_fires("duplicate-child/fires-did-not-see-its-own-pods", "ReplicaSet/web")
    assert (found.severity, found.verdict, found.count) == ("warning", "exact", 2)
    assert found.summary == "ReplicaSet web got 2 Pods more than the 3 that it asks for"
    assert [each.name for each in found.affects] == ["web-3", "web-4"]
    (once,) = found.occurrences
    assert [(each.role, each.ref.name) for each in once.proof] == [
        ("asks for 3", "web"),
        ("first surplus Pod created", "web-3"),
        ("last surplus Pod created", "web-4"),
        ("first one deleted", "web-1"),
    ]


def test_it_rests_on_the_state_of_the_replica_set_before_and_after() -> None:
    assert judged(FIRES) == ["duplicate-child"]
    assert judged(FIRES, "modified ReplicaSet web status") == []


def test_the_old_copy_on_which_they_were_created_is_the_cause() -> None:
    (found,) = found_in(RULES / "duplicate-child/fires-on-an-old-copy.jsonl")
    assert found.cause and found.cause.rule == "stale-view"
    assert found.cause.sentence == (
        "replicaset-controller created Pod web-3. It acted on revision 101 of ReplicaSet web; revision 105 "
        "had been committed ≈ 0.604 s earlier, by the same controller."
    )
