"""These tests check what is said of children that were deleted for an earlier owner of the same name."""

import pytest

from tests import RULES
from tests.recordings import findings_of, observations_of, world_of
from tests.unit.rules.test_rules import check_fires
from timeline.core.entries import Entry

FOLDER = RULES / "stale-incarnation-delete"
TOLD = "stale-incarnation-delete/fires-its-event-names-the-one-that-is-gone"


def test_the_event_about_the_deletion_names_the_owner_that_is_gone() -> None:
    # StatefulSet db   ======X    =============
    # Pod db-1         =======x     ====X=======   Event: deleted for the first StatefulSet
    (found,) = check_fires(TOLD, "Pod/db-1")
    assert (found.severity, found.verdict) == ("error", "exact")
    assert found.other and found.other.name == "db"
    assert [each.ref.kind for each in found.occurrences[0].proof] == ["StatefulSet", "Pod"]
    assert found.cause and found.cause.rule == "stale-view"
    assert found.cause.sentence == (
        "statefulset-controller deleted Pod db-1. It acted on revision 101 of an earlier StatefulSet db, which had "
        "been deleted ≈ 9.85 s before."
    )


@pytest.mark.parametrize("lost", ["Event", "StatefulSet"])
def test_nothing_is_said_without_the_event_or_the_deletion_of_the_old_owner(lost: str) -> None:
    seen = observations_of(FOLDER.parent / f"{TOLD}.jsonl")
    left = [each for each in seen if not _is_lost(each, lost)]
    assert len(left) < len(seen)
    assert findings_of(world_of(left)) == []


def _is_lost(each: object, kind: str) -> bool:
    return isinstance(each, Entry) and each.ref.kind == kind and (kind == "Event" or each.change == "deleted")
