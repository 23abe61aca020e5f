"""These tests hold that occurrences belong together where proof connects them, and only there."""

from collections.abc import Iterable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests import DATA
from tests.inputs.recordings import SAMPLE, findings_of, observations_of, world_of
from tests.properties import examples
from timeline.core.entries import Entry, Observation
from timeline.history.lifelines import Name
from timeline.judging.findings import Finding, Root
from timeline.judging.incidents.partition import Episode, Piece, beginning, episodes, pieces_of

STALE, LOST = DATA / "causes/stale-jobs.jsonl.zst", DATA / "causes/lease-lost.jsonl.zst"
FAMILIES, JOBS = DATA / "engine/families.jsonl.zst", DATA / "engine/jobs.jsonl.zst"
KEYS = st.lists(st.sampled_from("abcdefgh"), max_size=3, unique=True)


def episodes_of(findings: Iterable[Finding]) -> list[Episode]:
    return episodes(piece for each in findings for piece in pieces_of(each))


def found(*paths: Path) -> list[Finding]:
    return findings_of(world_of([each for path in paths for each in observations_of(path)]))


def members(found: Iterable[Episode]) -> set[frozenset[tuple[str, int]]]:
    return {frozenset((piece.finding, piece.number) for piece in each.pieces) for each in found}


def piece(number: int, keys: Iterable[str]) -> Piece:
    anchor = Name("batch", "Job", "n", f"job-{number}")
    return Piece(f"finding-{number}", 0, "job-excess-pods", anchor, number, number, tuple(keys), (), ())


@examples(200)
@given(st.lists(KEYS, max_size=12), st.randoms(use_true_random=False), st.data())
def test_the_order_does_not_matter_and_what_is_taken_away_only_splits(
    keys: list[list[str]], random: st.DataObject, data: st.DataObject
) -> None:
    pieces = [piece(number, each) for number, each in enumerate(keys)]
    whole = members(episodes(pieces))
    shuffled = list(pieces)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    assert members(episodes(shuffled)) == whole
    fewer = [each for each in pieces if data.draw(st.booleans())]
    for part in members(episodes(fewer)):
        assert any(part <= each for each in whole)
    beside = [piece(number + 100, [f"{key}'" for key in each]) for number, each in enumerate(keys)]
    apart = members(episodes([*pieces, *beside]))
    assert whole <= apart and len(apart) == 2 * len(whole)
    for one in pieces:  # those that share a key are in one episode, and each is in exactly one
        mine = [each for each in whole if (one.finding, one.number) in each]
        assert len(mine) == 1
        for other in pieces:
            if set(one.keys) & set(other.keys):
                assert (other.finding, other.number) in mine[0]


def test_all_acts_on_old_copies_of_one_watch_are_one_cause() -> None:
    (only,) = {each.identity: each for each in episodes_of(found(STALE))}.values()
    assert only.root and only.root.root is Root.OLD_COPIES and only.root.names == ("job-controller", "batch", "Job")
    assert {each.rule for each in only.pieces} == {"job-excess-pods", "stale-view", "stale-write"}
    assert len({each.anchor for each in only.pieces if each.rule == "job-excess-pods"}) == 7


def test_what_follows_from_a_lost_lease_is_one_cause_also_where_the_new_holder_did_it() -> None:
    findings = found(LOST)
    (lost,) = [each for each in episodes_of(findings) if each.root and each.root.root is Root.LOST_LEASE]
    harmed = {piece.finding for piece in lost.pieces}
    too_many = [each for each in findings if each.rule in ("job-excess-pods", "duplicate-child")]
    assert {each.id for each in too_many} <= harmed
    writers = {each.occurrences[0].proof[-1].moment.entry.client.pod for each in too_many}  # type: ignore[union-attr]
    assert writers == {"kcm-a", "kcm-b"}


def test_scenarios_side_by_side_stay_apart() -> None:
    by_anchor: dict[str, set[str]] = {}
    for each in episodes_of(found(FAMILIES)):
        for one in each.pieces:
            by_anchor.setdefault(each.identity, set()).add(f"{one.anchor.namespace}/{one.anchor.name}")
    joined = sorted(sorted(each) for each in by_anchor.values() if len(each) > 1)
    assert joined == [["pvc-runaway/dataset", "pvc-runaway/train"]]  # the job leaks claims while it waits for one


def test_a_restart_of_a_service_is_one_episode_and_another_one_of_the_same_cause() -> None:
    restarts = [each for each in episodes_of(found(SAMPLE)) if any(one.rule == "service-gap" for one in each.pieces)]
    assert len(restarts) == 2 and len({each.identity for each in restarts}) == 1
    assert all({one.rule for one in each.pieces} == {"service-gap", "pod-before-service"} for each in restarts)


def test_a_setting_and_what_follows_from_it_are_one_cause() -> None:
    (shared,) = [each for each in episodes_of(found(FAMILIES)) if each.root and each.root.root is Root.CONFIGURATION]
    rules = {"lease-contention", "lease-stolen", "lease-flapping", "lease-shared-config"}
    assert {each.rule for each in shared.pieces} == rules


def without_events(each: Observation) -> bool:
    return not (isinstance(each, Entry) and each.ref.kind == "Event")


@pytest.mark.parametrize("path", [STALE, LOST], ids=lambda path: path.name)
def test_less_evidence_only_splits(path: Path) -> None:
    less = findings_of(world_of(filter(without_events, observations_of(path))))
    subjects = {each.id: (each.rule, each.subject) for each in [*less, *found(path)]}

    def about(episodes: Iterable[Episode]) -> list[set[object]]:
        return [{subjects[piece.finding] for piece in each.pieces} for each in episodes]

    whole = about(episodes_of(found(path)))
    for part in about(episodes_of(less)):
        assert any(part <= each for each in whole)


@pytest.mark.parametrize(
    ("path", "root", "begins"),
    [
        (LOST, Root.LOST_LEASE, Name("coordination.k8s.io", "Lease", "kube-system", "kube-controller-manager")),
        (SAMPLE, Root.CONFIGURATION, Name("coordination.k8s.io", "Lease", "volcano-system", "volcano")),
        (STALE, Root.OLD_COPIES, None),
    ],
)
def test_an_incident_begins_with_the_object_of_its_root(path: Path, root: Root, begins: Name | None) -> None:
    (identity,) = {each.identity for each in episodes_of(found(path)) if each.root and each.root.root is root}
    assert beginning((piece for each in found(path) for piece in pieces_of(each)), identity) == begins


def test_an_incident_begins_with_what_was_removed_or_came_late() -> None:
    (gone,) = {
        each.identity for each in episodes_of(found(SAMPLE)) if {one.rule for one in each.pieces} & {"service-gap"}
    }
    pieces = [piece for each in found(SAMPLE) for piece in pieces_of(each)]
    assert beginning(pieces, gone) == Name("", "Service", "vol-restart", "ring")
    assert beginning(pieces, "0" * 16) is None


def test_what_merely_stood_connects_nothing() -> None:
    batch = [each for each in found(JOBS) if each.anchor and each.anchor.name == "batch2"]
    assert len(batch) == 2 and batch[0].occurrences[0].proof[0] == batch[1].occurrences[0].proof[0], "one state"
    assert len(episodes_of(batch)) == 2
