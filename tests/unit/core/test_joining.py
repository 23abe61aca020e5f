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


def logged(
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


MADE = logged(0.5, Change.CREATED)
PLAIN = [shown(revision, 3, manager="") for revision in (9, 10)]  # by nobody knows whom
KUBELET = logged(3.6, agent="kubelet/v1.36")
BOUND, RUNS = shown(8, 0, manager="", node="a"), shown(9, 0, manager="", node="a", phase="Running")


@pytest.mark.parametrize(
    ("entries", "expected"),
    [
        pytest.param([BORN, MADE, shown(9, 3), logged(3.2)], {7: 0.5, 9: 3.2}, id="the only write of a second made it"),
        pytest.param(
            [BORN, shown(9, 3), shown(10, 3, manager="kubelet"), logged(3.2), KUBELET], {9: 3.2, 10: 3.6},
            id="the manager tells two writes apart",
        ),
        pytest.param([BORN, shown(9, 3), KUBELET], {}, id="another program than the manager did not make it"),
        pytest.param(
            [BORN, shown(9, 3), shown(10, 3), logged(3.2, named=9), shown(8, 1)], {10: 3.2},
            id="an update made the revision after the one it named",
        ),
        pytest.param([BORN, shown(9, 3), shown(10, 3), logged(3.2, named=6)], {}, id="it names an unknown revision"),
        pytest.param([BORN, shown(9, 3), shown(10, 3), logged(3.2, named=10)], {}, id="it names the last revision"),
        pytest.param([BORN, shown(9, 3), shown(10, 8), logged(3.5, named=9)], {}, id="an update that changed nothing"),
        pytest.param([BORN, shown(9, 3), logged(4.2)], {}, id="a later write did not make the change"),
        pytest.param([BORN, shown(9, 3), logged(2.9)], {}, id="nor did an earlier one"),
        pytest.param(
            [BORN, MADE, *PLAIN, logged(3.2), logged(3.6)], {7: 0.5, 9: 3.2, 10: 3.6},
            id="as many writes as changes made them in their order",
        ),
        pytest.param([BORN, MADE, *PLAIN, logged(3.2), logged(3.205)], {7: 0.5}, id="overlapping writes have no order"),
        pytest.param(
            [BORN, MADE, shown(8, 1, manager="kubelet"), *PLAIN, logged(3.2), logged(3.6)], {7: 0.5},
            id="after a change that no line explains numbers prove nothing",
        ),
        pytest.param(
            [shown(7, 0, Change.CREATED, manager=""), MADE, PLAIN[0], logged(3.2)], {7: 0.5},
            id="without any manager in the watch numbers prove nothing",
        ),
        pytest.param(
            [BORN, BOUND, RUNS, logged(0.7, action="binding", agent="kube-scheduler/v1.36")], {8: 0.7},
            id="a binding is the change that shows the node",
        ),
        pytest.param(
            [
                BORN, BOUND, RUNS,
                logged(0.7, action="binding"), logged(0.6, action="status"), logged(0.8, action="status"),
            ],
            {8: 0.7, 9: 0.8}, id="a joined change bounds the times of its neighbours",
        ),
    ],
)  # fmt: skip
def test_a_change_is_joined_to_the_write_that_surely_made_it(
    entries: list[Entry], expected: dict[int | None, float]
) -> None:
    assert times(*entries) == expected


def test_what_is_known_of_both_is_kept_in_one_entry_of_one_life() -> None:
    (life,) = joined(BORN, logged(3.2), shown(9, 3))
    _, one = life.entries
    assert (one.resource_version, one.facts, one.ref.uid) == (9, shown(9, 3).facts, "u1")
    assert (one.clock, one.client, one.identity) == (Clock.AUDIT, Client("192.0.2.7"), "3.2")
    assert not life.unplaced
    (life,) = joined(BORN, shown(9, 3), shown(10, 3), logged(3.2, named=9))
    assert [each.replaces for each in life.entries] == [None, None, 9]


def test_of_two_writes_in_a_second_nothing_is_concluded_and_nothing_is_counted_twice() -> None:
    (life,) = joined(BORN, shown(9, 3), logged(3.2), logged(3.6))
    assert [each.clock for each in life.entries] == [Clock.OBJECT] * 2
    assert [each.identity for each in life.unplaced] == ["3.2", "3.6"]


def test_a_request_for_deletion_and_the_deletion_are_two_changes() -> None:
    asked = shown(9, 3, manager="", deleting=True, asked=NOON + 3 * SECOND)
    final = shown(10, 5, manager="", deleting=True, at_once=True)
    gone = shown(11, 5, Change.DELETED, "", deleting=True, at_once=True)
    again = logged(3.5, Change.DELETED)  # it changed nothing: the deletion was requested already
    kubelet = logged(5.5, Change.DELETED, "kubelet/v1.36")
    requests = logged(3.2, Change.DELETED), kubelet
    assert times(BORN, asked, final, gone, *requests) == {9: 3.2, 11: 5.5}
    assert times(BORN, asked, final, gone, again, kubelet) == {9: 3.5, 11: 5.5}
    assert times(BORN, asked, final, gone, again, *requests) == {11: 5.5}


def test_who_removes_the_last_finalizer_ends_an_object_and_not_who_asks_for_that() -> None:
    held = shown(9, 3, manager="", deleting=True, asked=NOON + 3 * SECOND, finalizers=("f",))
    gone = shown(10, 6, Change.DELETED, "", deleting=True)
    assert times(BORN, held, gone, logged(3.2, Change.DELETED), logged(6.2, Change.DELETED, "other/v1")) == {9: 3.2}
    assert times(BORN, held, gone, logged(3.2, Change.DELETED), logged(6.5)) == {9: 3.2, 10: 6.5}


SECOND_LIFE = replace(BORN, ref=replace(REF, uid="u2"), resource_version=20)
LISTED = replace(shown(9, 0), change=Change.OBSERVED)


def test_a_watch_began_to_show_an_object_as_it_was_created() -> None:
    assert times(LISTED, MADE) == {9: 0.5}
    assert times(LISTED, logged(0.5, Change.CREATED, "other/v1")) == {}
    assert times(replace(LISTED, received=NOON + SECOND), MADE) == {}


def test_a_later_write_of_the_same_second_does_not_hide_who_created_what_a_watch_began_with() -> None:
    assert times(LISTED, shown(10, 0), MADE, logged(0.7, named=9)) == {9: 0.5, 10: 0.7}
    assert times(LISTED, shown(10, 0), MADE, logged(0.6), logged(0.7, named=9)) == {10: 0.7}


@pytest.mark.parametrize("manager", ["kubectl", ""], ids=["of the second", "of any time"])
def test_a_write_that_may_have_made_what_a_watch_began_with_made_no_later_change(manager: str) -> None:
    listed = replace(shown(9, 2), change=Change.OBSERVED)
    assert times(listed, shown(10, 2, manager=manager), logged(2.3)) == {}


@pytest.mark.parametrize(
    ("entries", "changes"),
    [
        ([replace(shown(9, 2), change=Change.OBSERVED), MADE, logged(2.4)], ["created", "modified", "observed"]),
        ([BORN, logged(200), logged(300, Change.DELETED)], ["created", "modified", "deleted"]),
    ],
    ids=["before the watch began", "after it ended"],
)
def test_what_was_written_beside_the_watch_is_part_of_the_same_life(entries: list[Entry], changes: list[str]) -> None:
    (life,) = joined(*entries)
    ordered = sorted(in_order(life.entries), key=lambda each: each.received)
    assert [each.change.value for each in ordered] == changes and not life.unplaced
    assert {each.ref.uid for each in ordered} == {"u1"}


def test_writes_belong_to_the_object_that_had_the_name_then() -> None:
    gone = replace(shown(9, 3, Change.DELETED, "", deleting=True, at_once=True), arrived=NOON + 5 * SECOND)
    again = replace(SECOND_LIFE, facts=PodFacts(created=NOON + 9 * SECOND))
    assert times(BORN, gone, again, MADE, logged(9.5, Change.CREATED)) == {7: 0.5, 20: 9.5}


def test_a_write_that_may_be_of_two_objects_belongs_to_neither() -> None:
    found = joined(BORN, SECOND_LIFE, logged(0.5))
    assert sorted(life.entries[0].ref.uid for life in found) == ["u1", "u2"]
    assert all(len(life.entries) == len(life.unplaced) == 1 for life in found)


def test_of_very_many_objects_a_write_is_kept_beside_none() -> None:
    several = [replace(BORN, ref=replace(REF, uid=f"u{at}"), resource_version=20 + at) for at in range(MANY + 1)]
    found = lives([[logged(0.5)], *([each] for each in several)], WATCHED)
    assert len(found) == len(several) + 1
    assert not any(life.unplaced for life in found)


def test_a_long_history_is_joined_in_time_that_grows_with_it() -> None:
    number = 4000
    watched = [BORN, *(shown(10 + place, 3 * (place // 2) + 1) for place in range(number))]
    writes = [MADE, *(logged(3 * (place // 2) + 1.2 + place % 2 / 2) for place in range(number))]
    began = time.process_time()
    (life,) = lives([writes, watched], NOON + number * 3 * SECOND)
    assert time.process_time() - began < 3  # it takes 0.1 s; 30 s, if each round looked at all writes again
    assert all(each.clock is Clock.AUDIT for each in life.entries)
