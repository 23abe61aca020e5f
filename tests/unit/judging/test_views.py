"""These tests hold what is known of an actor's copies of an object, and of how far its watch had come; also against
what a real controller manager was really shown, and when.

Its recording is of one whose watch of Jobs a proxy held back by 3 s for a while. `view.jsonl.zst` has each line of that
watch with the time at which the client got it.
"""

import random
from collections.abc import Iterator
from datetime import datetime
from functools import cache

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests import DATA, RULES
from tests.inputs.recordings import lines_of, observations_of, world_of
from tests.properties import examples
from timeline.core.entries import (
    FOREVER,
    Change,
    Client,
    Clock,
    Entry,
    Facts,
    ObjectRef,
    Observation,
    Request,
    microseconds,
)
from timeline.history.lifelines import Track
from timeline.history.world.world import World
from timeline.judging.copies.actor_copies import ActorCopies, copies_of
from timeline.judging.copies.staleness import StaleAct, stale_acts

EXCESS = RULES / "stale-view/fires-after-its-job-was-complete.jsonl"

SECOND = 1_000_000
START = 1_790_000_000 * SECOND
OBJECT = ObjectRef("example.com", "v1", "Widget", "n", "web", "u1")
KIND = ObjectRef("example.com", "v1", "Widget", "", "", "")
MINE, OTHER = Client(pod="ctl", pod_uid="p1"), Client(pod="cli", pod_uid="p2")


def write(second: float, revision: int, *, by: Client = OTHER, named: int | None = None) -> Entry:
    time = START + int(second * SECOND)
    change = Change.CREATED if named is None and revision == 100 else Change.MODIFIED
    client = {"user_agent": "ctl/v1", "client": by, "identity": f"w{revision}"}
    return Entry(OBJECT, change, revision, Clock.AUDIT, time, time + 1000, Facts(), replaces=named, **client)  # type: ignore[arg-type]


def refused(second: float, named: int) -> Request:
    time = START + int(second * SECOND)
    kept = {"user_agent": "ctl/v1", "client": MINE, "identity": f"r{second} {named}"}
    return Request(OBJECT, "update", 409, time, time + 1000, reason="Conflict", named=named, **kept)  # type: ignore[arg-type]


def watch(second: float, since: int | None, until: float | None = None, *, agent: str = "ctl/v1") -> Request:
    time = START + int(second * SECOND)
    end = FOREVER if until is None else START + int(until * SECOND)
    kept = {"user_agent": agent, "client": MINE, "identity": f"s{second} {since} {until}"}
    return Request(KIND, "watch", 200, time, end, since="" if since is None else str(since), **kept)  # type: ignore[arg-type]


def view_in(world: World) -> ActorCopies:
    owner = world.of_uid("u1")
    assert owner is not None
    (found,) = [each for each in copies_of(owner, world) if each.actor.process == "p1"]
    return found


def view(*observed: Observation) -> ActorCopies:
    return view_in(world_of(observed))


def at(found: ActorCopies, second: float) -> tuple[int | None, int | None]:
    return found.at(START + int(second * SECOND))


CHANGED = (write(0, 100), write(10, 110), write(20, 120), write(30, 130))


def test_a_copy_proves_what_the_watch_had_shown_when_the_request_came() -> None:
    found = view(*CHANGED, watch(1, 100), refused(25, 110))
    assert (at(found, 0.5), at(found, 5), at(found, 24)) == ((None, None), (100, None), (100, None))
    assert at(found, 26) == (110, None)


def test_the_next_watch_bounds_from_above_what_the_one_before_had_shown() -> None:
    found = view(*CHANGED, watch(1, 100, 40), watch(41, 120), refused(25, 110))
    assert (at(found, 5), at(found, 39)) == ((100, 120), (110, 120))
    assert at(found, 42) == (120, None)


def test_what_a_process_wrote_itself_proves_nothing_about_its_watch() -> None:
    found = view(write(0, 100), write(10, 110, by=MINE, named=100), watch(1, 100), refused(25, 110), write(30, 130))
    assert at(found, 26) == (100, None)
    assert [each.revision for each in found.uses] == [100, 110]


def test_a_watch_that_goes_back_begins_anew() -> None:
    found = view(*CHANGED, watch(1, 100, 40), refused(25, 120), watch(41, 110))
    assert (at(found, 39), at(found, 40.5), at(found, 42)) == ((120, None), (None, None), (110, None))


def test_two_watches_that_could_be_meant_give_no_bounds() -> None:
    assert view(*CHANGED, watch(1, 100), watch(2, 100), refused(25, 110)).bounds == ()
    assert view(*CHANGED, watch(1, 100), watch(2, 100, agent="ctl/metadata"), refused(25, 110)).bounds == ()


def test_without_a_logged_watch_only_the_copies_are_known() -> None:
    found = view(*CHANGED, refused(25, 110), refused(15, 110))
    assert found.bounds == ()
    assert [(each.revision, str(each.lag)) for each in found.uses] == [(110, "None"), (110, "5 s")]
    assert found.worst == found.uses[1].lag


def test_a_creation_rests_on_the_copy_that_its_event_names() -> None:
    world = world_of(observations_of(EXCESS))
    (job,) = [each for each in world.tracks() if each.ref.kind == "Job"]
    (found,) = [each for each in copies_of(job, world) if each.actor.component == "job-controller"]
    (excess,) = [each for each in found.uses if each.what == "created Pod report-0-r9wx8"]
    assert (excess.revision, str(excess.lag), excess.child and excess.child.ref.name) == (
        481, "≈ 0.979 s", "report-0-r9wx8",
    )  # fmt: skip
    assert excess.unseen is not None and excess.unseen.stamp.resource_version == 581


MOMENTS = st.integers(0, 400).map(lambda tenth: tenth / 10)
REVISIONS = st.sampled_from([100, 110, 120, 130])
OBSERVED = st.lists(
    st.one_of(
        st.builds(watch, MOMENTS, st.one_of(st.none(), REVISIONS), st.one_of(st.none(), MOMENTS)),
        st.builds(refused, MOMENTS, REVISIONS),
    ),
    max_size=12,
)


@examples(50)
@given(observed=OBSERVED, draw=st.data())
def test_bounds_never_cross_and_depend_on_no_order(observed: list[Request], draw: st.DataObject) -> None:
    known: list[Observation] = [*CHANGED, refused(39.95, 100), *observed]
    found = view(*known)
    assert all(each.least is None or each.most is None or each.least <= each.most for each in found.bounds)
    assert all(each.start < each.end for each in found.bounds)
    for before, after in zip(found.bounds, found.bounds[1:], strict=False):
        assert before.end <= after.start
    shuffled = draw.draw(st.permutations([*known, *observed]))
    assert repr(view(*shuffled)) == repr(found)


CONTROLLER = "kube-controller-manager"


class Shown(msgspec.Struct):
    """This is one line of the watch that the client got: an object at a revision, or a bookmark, which has no UID."""

    rv: str
    out: datetime
    type: str
    uid: str = ""

    @property
    def time(self) -> int:
        return microseconds(self.out)


@cache
def observed() -> list[Observation]:
    return observations_of(DATA / "shown/recording.jsonl.zst")


@cache
def shown() -> list[Shown]:
    return [msgspec.json.decode(line, type=Shown) for line in lines_of(DATA / "shown/view.jsonl.zst")]


@cache
def whole() -> World:
    return world_of(observed())


def views(world: World) -> Iterator[tuple[Track, ActorCopies]]:
    for job in world.of_kind("batch", "Job"):
        for view in copies_of(job, world):
            if view.actor.user_agent.startswith(CONTROLLER):
                yield job, view


def stale(world: World) -> list[StaleAct]:
    return [act for track in world.tracks() for act in stale_acts(track, world)]


def check_bounds(world: World) -> int:
    """Check that each bound of the client's watch holds, and return how many were checked."""
    bounds = [bound for _, view in views(world) for bound in view.bounds]
    for bound in bounds:
        assert bound.least is None or bound.most is None or bound.least <= bound.most
        for each in shown():
            if each.type != "BOOKMARK" and bound.least is not None and int(each.rv) <= bound.least:
                assert each.time <= bound.start, "it is said to have been shown before it was"
            if bound.most is not None and int(each.rv) > bound.most:
                assert not bound.start <= each.time < bound.end, "it was shown although it is said not to have been"
    return len(bounds)


def test_each_bound_holds_against_what_the_client_was_shown() -> None:
    assert check_bounds(whole()) >= 70


@pytest.mark.parametrize("seed", range(2))
def test_each_bound_holds_whatever_lines_are_missing(seed: int) -> None:
    chance = random.Random(seed)
    check_bounds(world_of([each for each in observed() if chance.random() < 0.5 + seed / 10]))


def test_each_copy_was_shown_before_or_is_the_clients_own_write() -> None:
    times = {(each.uid, int(each.rv)): each.time for each in reversed(shown())}
    own, copies = 0, 0
    for job, view in views(whole()):
        written = {each.stamp.resource_version for each in job.moments if each.user_agent.startswith(CONTROLLER)}
        for use in view.uses:
            copies += 1
            if times.get((job.ref.uid, use.revision), use.sure + 1) > use.sure:
                assert use.revision in written
                own += 1
    assert copies >= 240 and own < copies / 10


def test_each_act_on_an_old_copy_rests_on_the_newest_that_the_client_had_been_shown() -> None:
    found = stale(whole())
    assert len(found) >= 17
    for each in found:
        of_job = [(int(line.rv), line.time) for line in shown() if line.uid == each.owner.ref.uid]
        assert max(revision for revision, time in of_job if time <= each.act.recorded) == each.act.revision
        assert all(time > each.done.entry.received for revision, time in of_job if revision > each.act.revision)
