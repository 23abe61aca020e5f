"""These tests give lines without a UID to the object that had the name then, where only one can have had it."""

import random

from msgspec.structs import replace

from timeline.core.entries import Change, Clock, Entry, Level, ObjectRef
from timeline.history.ledger.gathering import gathered

REF = ObjectRef("", "v1", "Pod", "n", "web")


def wrote(at: int, change: Change = Change.MODIFIED, uid: str = "") -> Entry:
    """A write as a log without bodies shows it, which was answered after one microsecond."""
    ref = replace(REF, uid=uid)
    return Entry(ref, change, None, Clock.AUDIT, at, at + 1, level=Level.METADATA, identity=str(at))


def lives(*entries: Entry) -> dict[str, list[tuple[int, str]]]:
    """Return when each UID was written and how, the same in whatever order the lines were read."""
    found = []
    for seed in range(4):
        mixed = random.Random(seed).sample(entries, len(entries))
        uids = sorted({each.ref.uid for each in entries})
        groups = gathered([[each for each in mixed if each.ref.uid == uid] for uid in uids])
        found.append({g[0].ref.uid: sorted((each.received, each.change.value) for each in g) for g in groups})
    assert all(each == found[0] for each in found)
    return found[0]


def test_the_only_object_that_is_known_of_a_name_has_all_its_lines() -> None:
    entries = wrote(1, Change.CREATED), wrote(3), wrote(5, uid="u1"), wrote(7, Change.DELETED)
    assert lives(*entries) == {"u1": [(1, "created"), (3, "modified"), (5, "modified"), (7, "deleted")]}


def test_each_creation_begins_another_object() -> None:
    first = wrote(1, Change.CREATED), wrote(3, uid="u1"), wrote(5, Change.DELETED)
    second = wrote(7, Change.CREATED), wrote(9, uid="u2"), wrote(11)
    assert lives(*first, *second) == {
        "u1": [(1, "created"), (3, "modified"), (5, "deleted")],
        "u2": [(7, "created"), (9, "modified"), (11, "modified")],
    }


def test_where_two_objects_are_known_since_a_creation_nothing_is_given_away() -> None:
    entries = wrote(1, Change.CREATED), wrote(3, uid="u1"), wrote(5, uid="u2"), wrote(7)
    assert lives(*entries)[""] == [(1, "created"), (7, "modified")]


def test_what_was_under_way_during_a_creation_belongs_to_nobody() -> None:
    under_way = replace(wrote(4), staged=8)
    found = lives(wrote(1, Change.CREATED), wrote(3, uid="u1"), under_way, wrote(6, Change.CREATED), wrote(9, uid="u2"))
    assert found[""] == [(4, "modified")]


def test_an_object_of_which_no_line_has_a_uid_stays_without() -> None:
    assert lives(wrote(1, Change.CREATED), wrote(3)) == {"": [(1, "created"), (3, "modified")]}


def test_a_request_for_deletion_before_another_write_did_not_end_the_object() -> None:
    asked, final = wrote(5, Change.DELETED), wrote(9, Change.DELETED)
    assert lives(wrote(1, Change.CREATED), asked, final) == {"": [(1, "created"), (5, "modified"), (9, "deleted")]}
    assert lives(wrote(3, uid="u1"), asked, wrote(7)) == {"u1": [(3, "modified"), (5, "modified"), (7, "modified")]}
    (life,) = gathered([[asked, final]])
    assert (("deleting", True),) in {each.sets for each in life}


def test_a_deletion_before_another_creation_ended_the_object() -> None:
    entries = wrote(1, Change.CREATED), wrote(5, Change.DELETED), wrote(7, Change.CREATED)
    assert lives(*entries) == {"": [(1, "created"), (5, "deleted"), (7, "created")]}
