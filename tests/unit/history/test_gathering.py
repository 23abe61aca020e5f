"""These tests give lines without a UID to the object that had the name then, where only one can have had it."""

import random

import pytest
from msgspec.structs import replace

from tests.inputs.recordings import world_of
from timeline.core.entries import FOREVER, Change, Client, Clock, Entry, Level, ObjectRef, Observation, Request
from timeline.history.ledger.gathering import gathered
from timeline.history.lifelines import Name
from timeline.history.world.recording import RecordingWorld
from timeline.kinds.pod import PodFacts

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


SECOND = 1_000_000
NOON = 1_700_000_000 * SECOND
SPACE = ObjectRef("", "v1", "Namespace", "", "work")
ONE, OTHER = Client("192.0.2.1", "cm-a", "uid-a"), Client("192.0.2.1", "cm-b", "uid-b")
AGENT = "kube-controller-manager/v1.36 (linux/amd64) kubernetes/1/job-controller"


def created(at: float, client: Client = ONE, agent: str = AGENT) -> Request:
    """A creation without a name, which took 10 ms."""
    ref = ObjectRef("", "v1", "Pod", "work", "")
    time = NOON + round(at * SECOND)
    return Request(ref, "create", 201, time, time + 10_000, user_agent=agent, client=client, identity=f"{at}")


def bound(name: str, at: float) -> Entry:
    """The first that a log shows of a Pod."""
    ref = ObjectRef("", "v1", "Pod", "work", name, f"uid of {name}")
    time = NOON + round(at * SECOND)
    return Entry(
        ref, Change.MODIFIED, None, Clock.AUDIT, time, time + 5_000, level=Level.METADATA, action="binding",
        user_agent="kube-scheduler/v1.36", identity=f"{name} {at}", client=Client("192.0.2.2"),
    )  # fmt: skip


def begun() -> Entry:
    """The creation of the namespace."""
    return Entry(SPACE, Change.CREATED, None, Clock.AUDIT, NOON - SECOND, NOON - SECOND + 9, level=Level.METADATA)


def makers(*observed: Observation) -> dict[str, tuple[str, float, float]]:
    """Return by whom each Pod was created, and the bounds in seconds after noon; in whichever order that is learned."""
    found = []
    for seed in range(4):
        mixed = random.Random(seed).sample(observed, len(observed))
        for world in world_of(mixed), world_of(*([each] for each in mixed), world=RecordingWorld()):
            births = [
                (track.ref.name, moment.entry)
                for track in world.of_kind("", "Pod")
                for moment in track.moments
                if moment.change is Change.CREATED
            ]
            found.append({
                name: (each.client.pod, (each.received - NOON) / SECOND, (each.staged - NOON) / SECOND)
                for name, each in births
                if each.client
            })  # fmt: skip
    assert found[1:] == found[:-1]
    return found[0]


@pytest.mark.parametrize(
    ("observed", "expected"),
    [
        (
            [begun(), created(1), bound("a", 1.1), created(2, OTHER), bound("b", 2.1)],
            {"a": ("cm-a", 1, 1.01), "b": ("cm-b", 2, 2.01)},
        ),
        (
            [begun(), created(1), created(1.2), bound("a", 1.3), bound("b", 1.4)],
            {"a": ("cm-a", 1, 1.21), "b": ("cm-a", 1, 1.21)},
        ),
        ([begun(), created(1), created(1.2, OTHER), bound("a", 1.3), bound("b", 1.4)], {}),
        ([begun(), created(1), created(1.2), bound("a", 1.3)], {}),
        ([begun(), created(1), bound("a", 0.5)], {}),
        ([begun(), created(1), bound("lost", 0.5), bound("a", 1.3)], {}),
        ([begun(), created(1), created(20), bound("a", 20.3), bound("b", 20.4)], {}),
        ([created(1), bound("a", 1.3)], {}),
    ],
    ids=[
        "the only creation before a Pod is seen made it", "of several by one process it is known who but not which",
        "two processes", "one is not seen", "seen before", "a creation is missing", "too long",
        "what existed before the log may be seen for the first time",
    ],
)  # fmt: skip
def test_who_created_a_pod_is_concluded_only_where_it_is_sure(
    observed: list[Observation], expected: dict[str, tuple[str, float, float]]
) -> None:
    assert makers(*observed) == expected


def test_a_watch_shows_what_was_created_when() -> None:
    ref = bound("a", 1.3).ref
    facts = PodFacts(created=NOON + SECOND)
    shown = Entry(ref, Change.CREATED, 7, Clock.OBJECT, NOON + SECOND, FOREVER, facts=facts, user_agent="kcm")
    before = PodFacts(created=NOON - 9 * SECOND)
    old = replace(shown, ref=replace(ref, name="old", uid="old"), facts=before, change=Change.OBSERVED)
    old = replace(old, resource_version=3, received=NOON)
    assert makers(begun(), created(1.1), shown, old) == {"a": ("cm-a", 1.1, 1.11)}
    assert makers(begun(), created(1.1), shown, bound("a", 1.3)) == {"a": ("cm-a", 1.1, 1.11)}


def test_of_several_components_the_program_is_known() -> None:
    other = AGENT.replace("job-", "replicaset-")
    world = world_of([begun(), created(1), created(1.2, agent=other), bound("a", 1.3), bound("b", 1.4)])
    (track,) = world.incarnations(Name("", "Pod", "work", "a"))[:1]
    assert track.first.entry.user_agent == "kube-controller-manager/v1.36"
