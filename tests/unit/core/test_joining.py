"""These tests join writes of a log without content to the changes that a watch shows, and only where that is sure."""

import random
import time
from typing import Any

import pytest
from msgspec.structs import replace

from timeline.core.entries import FOREVER, Change, Client, Clock, Entry, ObjectRef
from timeline.core.joining import Life, in_order, lives
from timeline.core.steps import MANY
from timeline.kinds.pod import PodFacts

SECOND = 1_000_000
NOON = 1_700_000_000 * SECOND
REF = ObjectRef("", "v1", "Pod", "n", "web", "u1")
NAMED = replace(REF, uid="")
WATCHED = NOON + 100 * SECOND  # until then the watch shows everything


def shown(
    revision: int, seconds: int, change: Change = Change.MODIFIED, manager: str = "kubectl", **facts: Any
) -> Entry:
    """A change as a watch shows it, which was written in this second after noon; later, if it names no manager."""
    at = NOON + seconds * SECOND
    state = PodFacts(created=NOON, generation=revision, **facts)
    return Entry(REF, change, revision, Clock.OBJECT, at, FOREVER, facts=state, user_agent=manager)


BORN = shown(7, 0, Change.CREATED)


def told(
    seconds: float,
    change: Change = Change.MODIFIED,
    agent: str = "kubectl/v1.36",
    named: int | None = None,
    action: str = "",
) -> Entry:
    """A write as a log without bodies shows it, which took 10 ms."""
    at = NOON + round(seconds * SECOND)
    ref = REF if named else NAMED
    return Entry(
        ref, change, None, Clock.AUDIT, at, at + 10_000, user_agent=agent, identity=f"{seconds}", named=named,
        client=Client("192.0.2.7"), action=action,
    )  # fmt: skip


def joined(*entries: Entry) -> list[Life]:
    """Return the lives of the name, which are the same in whatever order the entries are learned."""
    mixed = [list(entries), *(random.Random(seed).sample(entries, len(entries)) for seed in range(5))]
    uids = ("", "u1", "u2")
    found = [lives([own for uid in uids if (own := [e for e in each if e.ref.uid == uid])], WATCHED) for each in mixed]
    sorts = [{(frozenset(life.entries), frozenset(life.unplaced)) for life in each} for each in found]
    assert all(each == sorts[0] for each in sorts)
    return found[0]


def times(*entries: Entry) -> dict[int | None, float]:
    """Return at which second after noon each revision was received, of those whose write is known."""
    return {
        each.resource_version: (each.received - NOON) / SECOND
        for life in joined(*entries)
        for each in life.entries
        if each.clock is Clock.AUDIT and each.resource_version
    }


def test_the_only_write_of_a_second_made_the_change() -> None:
    assert times(BORN, told(0.5, Change.CREATED), shown(9, 3), told(3.2)) == {7: 0.5, 9: 3.2}


def test_what_is_known_of_both_is_kept_in_one_entry_of_one_life() -> None:
    (life,) = joined(BORN, told(3.2), shown(9, 3))
    _, one = life.entries
    assert (one.resource_version, one.facts, one.ref.uid) == (9, shown(9, 3).facts, "u1")
    assert (one.clock, one.client, one.identity) == (Clock.AUDIT, Client("192.0.2.7"), "3.2")
    assert not life.unplaced


def test_of_two_writes_in_a_second_nothing_is_concluded_and_nothing_is_counted_twice() -> None:
    (life,) = joined(BORN, shown(9, 3), told(3.2), told(3.6))
    assert [each.clock for each in life.entries] == [Clock.OBJECT] * 2
    assert [each.identity for each in life.unplaced] == ["3.2", "3.6"]


def test_the_manager_tells_two_writes_apart() -> None:
    changes = BORN, shown(9, 3), shown(10, 3, manager="kubelet")
    assert times(*changes, told(3.2), told(3.6, agent="kubelet/v1.36")) == {9: 3.2, 10: 3.6}


def test_another_program_than_the_manager_did_not_make_the_change() -> None:
    assert times(BORN, shown(9, 3), told(3.2, agent="kubelet/v1.36")) == {}


def test_an_update_made_the_revision_after_the_one_it_named() -> None:
    assert times(BORN, shown(9, 3), shown(10, 3), told(3.2, named=9), shown(8, 1)) == {10: 3.2}
    (life,) = joined(BORN, shown(9, 3), shown(10, 3), told(3.2, named=9))
    assert [each.replaces for each in life.entries] == [None, None, 9]


@pytest.mark.parametrize("named", [6, 10])
def test_an_update_that_names_an_unknown_revision_or_the_last_is_joined_to_nothing(named: int) -> None:
    assert times(BORN, shown(9, 3), shown(10, 3), told(3.2, named=named)) == {}


def test_an_update_that_changed_nothing_is_joined_to_nothing() -> None:
    assert times(BORN, shown(9, 3), shown(10, 8), told(3.5, named=9)) == {}


def test_a_write_of_another_time_did_not_make_the_change() -> None:
    assert times(BORN, shown(9, 3), told(4.2)) == {} == times(BORN, shown(9, 3), told(2.9))


def test_as_many_writes_as_changes_made_them_in_their_order() -> None:
    unsigned = [shown(revision, 3, manager="") for revision in (9, 10)]
    assert times(BORN, told(0.5, Change.CREATED), *unsigned, told(3.2), told(3.6)) == {7: 0.5, 9: 3.2, 10: 3.6}


def test_overlapping_writes_have_no_order() -> None:
    unsigned = [shown(revision, 3, manager="") for revision in (9, 10)]
    assert times(BORN, told(0.5, Change.CREATED), *unsigned, told(3.2), told(3.205)) == {7: 0.5}


def test_after_a_change_that_no_line_explains_numbers_prove_nothing() -> None:
    changes = [shown(8, 1, manager="kubelet"), shown(9, 3, manager=""), shown(10, 3, manager="")]
    assert times(BORN, told(0.5, Change.CREATED), *changes, told(3.2), told(3.6)) == {7: 0.5}


def test_without_any_manager_in_the_watch_numbers_prove_nothing() -> None:
    born, change = shown(7, 0, Change.CREATED, manager=""), shown(9, 3, manager="")
    assert times(born, told(0.5, Change.CREATED), change, told(3.2)) == {7: 0.5}


def test_a_binding_is_the_change_that_shows_the_node() -> None:
    bound, other = shown(8, 0, manager="", node="a"), shown(9, 0, manager="", node="a", phase="Running")
    binding = told(0.7, action="binding", agent="kube-scheduler/v1.36")
    assert times(BORN, bound, other, binding) == {8: 0.7}


def test_a_joined_change_bounds_the_times_of_its_neighbours() -> None:
    changes = [shown(8, 0, manager="", node="a"), shown(9, 0, manager="", node="a", phase="Running")]
    binding, early = told(0.7, action="binding"), told(0.6, action="status")
    assert times(BORN, *changes, binding, early, told(0.8, action="status")) == {8: 0.7, 9: 0.8}


def test_a_request_for_deletion_and_the_deletion_are_two_changes() -> None:
    asked = shown(9, 3, manager="", deleting=True, asked=NOON + 3 * SECOND)
    final = shown(10, 5, manager="", deleting=True, at_once=True)
    gone = shown(11, 5, Change.DELETED, "", deleting=True, at_once=True)
    again = told(3.5, Change.DELETED)  # it changed nothing: the deletion was requested already
    kubelet = told(5.5, Change.DELETED, "kubelet/v1.36")
    requests = told(3.2, Change.DELETED), kubelet
    assert times(BORN, asked, final, gone, *requests) == {9: 3.2, 11: 5.5}
    assert times(BORN, asked, final, gone, again, kubelet) == {9: 3.5, 11: 5.5}
    assert times(BORN, asked, final, gone, again, *requests) == {11: 5.5}


def test_who_removes_the_last_finalizer_ends_an_object_and_not_who_asks_for_that() -> None:
    held = shown(9, 3, manager="", deleting=True, asked=NOON + 3 * SECOND, finalizers=("f",))
    gone = shown(10, 6, Change.DELETED, "", deleting=True)
    assert times(BORN, held, gone, told(3.2, Change.DELETED), told(6.2, Change.DELETED, "other/v1")) == {9: 3.2}
    assert times(BORN, held, gone, told(3.2, Change.DELETED), told(6.5)) == {9: 3.2, 10: 6.5}


def test_a_watch_began_to_show_an_object_as_it_was_created() -> None:
    state = replace(shown(9, 0), change=Change.OBSERVED)
    assert times(state, told(0.5, Change.CREATED)) == {9: 0.5}
    assert times(state, told(0.5, Change.CREATED, "other/v1")) == {}
    assert times(replace(state, received=NOON + SECOND), told(0.5, Change.CREATED)) == {}


def test_a_later_write_of_the_same_second_does_not_hide_who_created_what_a_watch_began_with() -> None:
    state = replace(shown(9, 0), change=Change.OBSERVED)
    creation, update = told(0.5, Change.CREATED), told(0.7, named=9)
    assert times(state, shown(10, 0), creation, update) == {9: 0.5, 10: 0.7}
    assert times(state, shown(10, 0), creation, told(0.6), update) == {10: 0.7}


@pytest.mark.parametrize("change", [shown(10, 2), shown(10, 2, manager="")], ids=["of the second", "of any time"])
def test_a_write_that_may_have_made_what_a_watch_began_with_made_no_later_change(change: Entry) -> None:
    assert times(replace(shown(9, 2), change=Change.OBSERVED), change, told(2.3)) == {}


def test_what_was_written_before_the_watch_began_is_part_of_the_same_life() -> None:
    state = replace(shown(9, 2), change=Change.OBSERVED)
    (life,) = joined(state, told(0.5, Change.CREATED), told(2.4))
    ordered = sorted(in_order(life.entries), key=lambda each: each.received)
    assert [(each.change, each.ref.uid) for each in ordered] == [
        (Change.CREATED, "u1"), (Change.MODIFIED, "u1"), (Change.OBSERVED, "u1"),
    ]  # fmt: skip
    assert not life.unplaced


def test_what_was_written_after_the_watch_ended_is_part_of_the_same_life() -> None:
    (life,) = joined(BORN, told(200), told(300, Change.DELETED))
    ordered = sorted(life.entries, key=lambda each: each.received)
    assert [each.change for each in ordered] == [Change.CREATED, Change.MODIFIED, Change.DELETED]
    assert not life.unplaced


def test_writes_belong_to_the_object_that_had_the_name_then() -> None:
    gone = shown(9, 3, Change.DELETED, "", deleting=True, at_once=True)
    second = replace(REF, uid="u2")
    again = replace(BORN, ref=second, resource_version=20, facts=PodFacts(created=NOON + 9 * SECOND))
    writes = told(0.5, Change.CREATED), told(9.5, Change.CREATED)
    assert times(replace(BORN), replace(gone, arrived=NOON + 5 * SECOND), again, *writes) == {7: 0.5, 20: 9.5}


def test_a_write_that_may_be_of_two_objects_belongs_to_neither() -> None:
    second = replace(BORN, ref=replace(REF, uid="u2"), resource_version=20)
    found = joined(BORN, second, told(0.5))
    assert sorted(life.entries[0].ref.uid for life in found) == ["u1", "u2"]
    assert all(len(life.entries) == len(life.unplaced) == 1 for life in found)


def test_of_very_many_objects_a_write_is_kept_beside_none() -> None:
    several = [
        replace(BORN, ref=replace(REF, uid=f"u{number}"), resource_version=20 + number) for number in range(MANY + 1)
    ]
    found = lives([[told(0.5)], *([each] for each in several)], WATCHED)
    assert len(found) == len(several) + 1
    assert not any(life.unplaced for life in found)


def test_a_long_history_is_joined_in_time_that_grows_with_it() -> None:
    number = 4000
    watched = [BORN, *(shown(10 + place, 3 * (place // 2) + 1) for place in range(number))]
    logged = [told(0.5, Change.CREATED), *(told(3 * (place // 2) + 1.2 + place % 2 / 2) for place in range(number))]
    began = time.process_time()
    (life,) = lives([logged, watched], NOON + number * 3 * SECOND)
    assert time.process_time() - began < 3  # it takes 0.1 s; 30 s, if each round looked at all writes again
    assert all(each.clock is Clock.AUDIT for each in life.entries)
