"""These tests check what is said of controllers that acted on an old copy: of Pods too many, of children that were
deleted for an earlier owner, and of clients that saw the past again."""

import pytest

from tests import RULES
from tests.inputs.recordings import findings_of, observations_of, world_of
from tests.unit.rules.test_rules import check_fires
from timeline.core.entries import Entry

SURPLUS = "duplicate-child/fires-did-not-see-its-own-pods"
GONE = "stale-incarnation-delete/fires-its-event-names-the-one-that-is-gone"
ACTOR = "Actor/cassandra-operator/v0.9 (linux/amd64)"


def test_surplus_pods_that_were_deleted_again_are_counted() -> None:
    # ReplicaSet web wants 3   ===106=====107======114 (deleted)===116 (deleted)
    # Pods                     3   4      5        4               3
    (found,) = check_fires(SURPLUS, "ReplicaSet/web")
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


def test_the_old_copy_on_which_they_were_created_is_the_cause() -> None:
    (found,) = check_fires("duplicate-child/fires-on-an-old-copy", "ReplicaSet/web")
    assert found.cause and found.cause.rule == "stale-view"
    assert found.cause.sentence == (
        "replicaset-controller created Pod web-3. It acted on revision 101 of ReplicaSet web; revision 105 "
        "had been committed ≈ 0.604 s earlier, by the same controller."
    )


def test_the_event_about_the_deletion_names_the_owner_that_is_gone() -> None:
    # StatefulSet db   ======X    =============
    # Pod db-1         =======x     ====X=======   Event: deleted for the first StatefulSet
    (found,) = check_fires(GONE, "Pod/db-1")
    assert (found.severity, found.verdict) == ("error", "exact")
    assert found.other and found.other.name == "db"
    assert [each.ref.kind for each in found.occurrences[0].proof] == ["StatefulSet", "Pod"]
    assert found.cause and found.cause.rule == "stale-view"
    assert found.cause.sentence == (
        "statefulset-controller deleted Pod db-1. It acted on revision 101 of an earlier StatefulSet db, which had "
        "been deleted ≈ 9.85 s before."
    )


@pytest.mark.parametrize(
    ("fixture", "lost"), [(SURPLUS, "modified ReplicaSet web status"), (GONE, " Event "), (GONE, "deleted StatefulSet")]
)
def test_nothing_is_said_without_the_lines_on_which_it_rests(fixture: str, lost: str) -> None:
    """These are the state of the ReplicaSet before and after, the Event, and the deletion of the old owner."""
    seen = observations_of(RULES / f"{fixture}.jsonl")
    left = [
        each
        for each in seen
        if not isinstance(each, Entry) or lost not in f"{each.change} {each.ref.kind} {each.ref.name} {each.action}"
    ]
    assert len(left) < len(seen)
    assert findings_of(world_of(left)) == []


@pytest.mark.parametrize(
    ("fixture", "severity", "said"),
    [
        ("fires-and-acts-on-the-past", "warning", "it then created Pod db-0 for StatefulSet db, which was gone"),
        ("fires-and-is-refused", "info", "it then tried to update StatefulSet other, which was refused"),
    ],
)
def test_a_return_to_the_past_is_as_grave_as_what_the_client_did_then(fixture: str, severity: str, said: str) -> None:
    # watched from 106 ======   from 102 =   acts   from 107 ===
    (found,) = check_fires(f"view-went-back/{fixture}", ACTOR)
    (once,) = found.occurrences
    assert (found.severity, once.effect_text) == (severity, said)
    assert once.proof[-1].role == "acted on what it saw"


def test_an_old_copy_is_no_warning_where_the_newer_state_asks_for_the_same_act_or_a_person_has_it() -> None:
    # ReplicaSet web   4 ========= 6 ==============
    # Pods             0 1              2 3  4 5       2 and 3 on the copy that says 4
    found = check_fires("stale-view/fires-scaled-up-while-it-creates", "Pod/web-2", "Pod/web-3")
    said = "the newer state need not have led to another act"
    assert {(each.severity, each.worst.effect_text) for each in found} == {("info", said)}
    (again,) = check_fires("stale-write/fires-somebody-tries-an-old-file-again", "Deployment/web")
    assert (again.severity, again.count) == ("info", 3)
