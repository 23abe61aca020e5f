"""These tests join writes of a log without content to the changes that a watch shows, and only where that is sure."""

import random

import pytest
from msgspec.structs import replace

from timeline.core.entries import FOREVER, Change, Client, Clock, Entry, Facts, ObjectRef
from timeline.core.joining import joined

SECOND = 1_000_000
NOON = 1_700_000_000 * SECOND
REF = ObjectRef("", "v1", "Service", "n", "web", "u1")
NAMED = replace(REF, uid="")


def shown(revision: int, seconds: int, change: Change = Change.MODIFIED, manager: str = "kubectl") -> Entry:
    """A change as a watch shows it, which was written in this second after noon."""
    at = NOON + seconds * SECOND
    facts = Facts(created=NOON, generation=revision)
    return Entry(REF, change, revision, Clock.OBJECT, at, FOREVER, facts=facts, user_agent=manager)


def told(
    seconds: float, change: Change = Change.MODIFIED, agent: str = "kubectl/v1.36", named: int | None = None
) -> Entry:
    """A write as a log without bodies shows it, which took 10 ms."""
    at = NOON + round(seconds * SECOND)
    ref = REF if named else NAMED
    return Entry(
        ref, change, None, Clock.AUDIT, at, at + 10_000, user_agent=agent, identity=f"{seconds}", named=named,
        client=Client("192.0.2.7"),
    )  # fmt: skip


def times(*entries: Entry) -> dict[int | None, float]:
    """Return at which second after noon each revision was received, of those whose write is known."""
    first = joined([[each for each in entries if each.ref.uid == uid] for uid in ("", "u1")])
    for seed in range(5):
        mixed = random.Random(seed).sample(entries, len(entries))
        again = joined([[each for each in mixed if each.ref.uid == uid] for uid in ("", "u1")])
        assert {frozenset(group) for group in again} == {frozenset(group) for group in first}
    return {
        each.resource_version: (each.received - NOON) / SECOND
        for group in first
        for each in group
        if each.clock is Clock.AUDIT and each.resource_version
    }


def test_the_only_write_of_a_second_made_the_change() -> None:
    assert times(shown(7, 0, Change.CREATED), told(0.5, Change.CREATED), shown(9, 3), told(3.2)) == {7: 0.5, 9: 3.2}


def test_what_is_known_of_both_is_kept() -> None:
    (group,) = joined([[told(3.2)], [shown(9, 3)]])
    (one,) = group
    assert (one.resource_version, one.facts, one.ref.uid) == (9, shown(9, 3).facts, "u1")
    assert (one.clock, one.client, one.identity) == (Clock.AUDIT, Client("192.0.2.7"), "3.2")


def test_of_two_writes_in_a_second_nothing_is_concluded() -> None:
    assert times(shown(9, 3), told(3.2), told(3.6)) == {}


def test_the_manager_tells_two_writes_apart() -> None:
    kubelet = "kubelet/v1.36"
    assert times(shown(9, 3), shown(10, 3, manager="kubelet"), told(3.2), told(3.6, agent=kubelet)) == {9: 3.2, 10: 3.6}


def test_an_update_made_the_revision_after_the_one_it_named() -> None:
    found = times(shown(9, 3), shown(10, 3), told(3.2, named=9), shown(8, 1))
    assert found == {10: 3.2}
    assert joined([[], [shown(9, 3), shown(10, 3), told(3.2, named=9)]])[0][1].replaces == 9


@pytest.mark.parametrize("named", [7, 10])
def test_an_update_that_names_an_unknown_revision_or_the_last_is_joined_to_nothing(named: int) -> None:
    assert times(shown(9, 3), shown(10, 3), told(3.2, named=named)) == {}


def test_a_write_of_another_time_did_not_make_the_change() -> None:
    assert times(shown(9, 3), told(4.2)) == {} == times(shown(9, 3), told(2.9))


def test_a_watch_began_to_show_an_object_as_it_was_created() -> None:
    state = replace(shown(9, 0), change=Change.OBSERVED, user_agent="")
    assert times(state, told(0.5, Change.CREATED)) == {9: 0.5}
    assert times(state, told(0.5, Change.CREATED), told(2)) == {}
    assert times(state, told(5, Change.CREATED)) == {}
