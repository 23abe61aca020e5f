"""An order of lanes that is updated change by change equals the order that is computed from the whole recording.

batches   ──[ Pod ]──[ Service ]──[ Pod, its owner ]──▶   arranged after each, as for a live source
whole     ──────────────────────────────────────────▶   arranged once, as for a recording
"""

import random
from collections.abc import Iterable, Sequence
from functools import cache
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests import ENGINE
from tests.inputs.live import batches, observations
from tests.inputs.recordings import SAMPLE, findings_of, observations_of, world_of
from tests.properties import examples
from tests.unit.history.test_live_order import side_by_side
from timeline.core.entries import Observation
from timeline.history.lifelines import Key, Name
from timeline.history.world.recording import RecordingWorld
from timeline.layout import strips
from timeline.layout.arrangement import Arrangement
from timeline.layout.excerpt import excerpt
from timeline.layout.live_arrangement import LiveArrangement
from timeline.layout.places import Group, Lane, Ranks, Strip
from timeline.models import Source
from timeline.payloads.windows import WindowPayload
from timeline.queries.window import windows


@cache
def watched(name: str) -> list[Observation]:
    return observations(ENGINE / name)


class Order(NamedTuple):
    """This is an order of lanes without the stored positions, between which a live source leaves gaps."""

    lanes: list[tuple[list[Key], Key, list[int], bool]]
    strips: list[tuple[Key, list[list[Key]]]]


def order_of(arrangement: Arrangement | LiveArrangement) -> Order:
    def lives(lane: Lane) -> list[Key]:
        return [track.key for track in lane.tracks]

    def row(lane: Lane) -> tuple[list[Key], Key, list[int], bool]:
        return lives(lane), lane.root.key, lane.numbers, bool(lane.strip)

    def strip(each: Strip) -> tuple[Key, list[list[Key]]]:
        assert {lane.strip for lane in each.lanes} == {each.place}
        return each.owner.key, [lives(lane) for lane in each.lanes]

    return Order([row(lane) for lane in arrangement.lanes()], [strip(each) for each in arrangement.strips()])


@examples(4)
@given(name=st.sampled_from(["jobs-watch", "families-watch"]), seed=st.integers(0, 2**32), size=st.integers(40, 900))
def test_it_is_the_same_order_whatever_came_first(name: str, seed: int, size: int) -> None:
    world = RecordingWorld()
    kept = LiveArrangement(world)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(strips, "CROWD", 3)  # strips would need more lanes than these recordings have
        observed = side_by_side(watched(name), random.Random(seed))
        for number, batch in enumerate(batches(observed, size)):
            for _ in world.learn(batch):
                pass
            kept.arrange(world.settle())
            if number % 4 == 0:
                assert order_of(kept) == order_of(Arrangement(world))
        assert order_of(kept) == order_of(Arrangement(world))


def test_what_is_reported_to_have_moved_is_all_that_moved() -> None:
    """The database holds what was last written of each lane and strip, and is not read before the next change."""
    world = RecordingWorld()
    stored: dict[Key, tuple[int, int, int, Key]] = {}
    written: dict[int, int] = {}
    kept = LiveArrangement(world)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(strips, "CROWD", 3)
        for batch in batches(side_by_side(watched("families-watch"), random.Random(7)), 120):
            for _ in world.learn(batch):
                pass
            moved = kept.arrange(world.settle())
            for lane in moved.lanes:
                for track, number in zip(lane.tracks, lane.numbers, strict=True):
                    stored[track.key] = lane.place, lane.strip, number, lane.root.key
            for place in moved.dissolved:
                del written[place]
            written.update({strip.place: len(strip.lanes) for strip in moved.strips})
            assert stored == {
                track.key: (lane.place, lane.strip, number, lane.root.key)
                for lane in kept.lanes()
                for track, number in zip(lane.tracks, lane.numbers, strict=True)
            }
            assert written == {strip.place: len(strip.lanes) for strip in kept.strips()}


def entered(times: Iterable[int]) -> int:
    """Enter groups whose roots began at these times, and check their ranks; return how often one was moved."""
    ranks, groups, stored, moved = Ranks(), list[Group](), dict[int, int](), 0
    for time in times:
        name = Name("", "Node", "", f"{len(groups):05}")
        groups.append(Group(name, (time, 0, name, ""), 0))
        others = ranks.enter(groups[-1])
        moved += len(others)
        stored[id(groups[-1])] = groups[-1].rank
        stored.update((id(each), each.rank) for each in others)
    in_order = [each.rank for each in sorted(groups, key=lambda each: each.head)]
    assert in_order == sorted(set(in_order))
    assert min(in_order, default=1) > 0
    assert stored == {id(each): each.rank for each in groups}  # whatever was moved was returned
    return moved


@given(st.lists(st.integers(0, 50), max_size=300))
def test_groups_that_are_found_late_get_ranks_in_between(times: list[int]) -> None:
    entered(times)


@pytest.mark.parametrize("times", [range(3000), range(3000, 0, -1), [time // 30 * 30 - time for time in range(3000)]])
def test_a_group_that_is_found_late_moves_few_others(times: Sequence[int]) -> None:
    """All groups in the order of their beginnings, in the opposite order, and in short runs in the opposite order."""
    assert entered(times) < 16 * len(times)


@pytest.mark.django_db
def test_the_report_and_the_page_show_the_same(sample: Source) -> None:
    """Both assemble their windows in `timeline.layout.assembly`. Ids of tracks and groups differ by design."""
    world = world_of(observations_of(SAMPLE))
    # The page hides the lanes of Nodes at first, and with them what was found about a Node.
    report = excerpt(world, [each for each in findings_of(world) if each.subject.kind != "Node"]).window
    page = windows.window(sample.pk, limit=400)
    shown = {lane["key"] for lane in report["lanes"]}
    assert shown == {lane["key"] for lane in page["lanes"]}
    assert _drawn(report) == _drawn(page)


def _drawn(window: WindowPayload) -> object:
    lanes = window["lanes"]
    names = {group["key"]: (group["label"], group["namespace"], group["lanes"]) for group in window["groups"]}
    holes, arrows, births = window["holes"], window["arrows"], window["births"]
    dots = window["dots"]
    return (
        [(lane["key"], lane["subtitle"], lane["number"], names[lane["group"]]) for lane in lanes],
        [(group["label"], group["first"], group["short"]) for group in window["groups"]],
        sorted(zip(holes["lane"], holes["start"], holes["end"], holes["text"], holes["finding"], strict=True)),
        sorted(zip(arrows["from_lane"], arrows["from_time"], arrows["to_lane"], arrows["to_time"], strict=True)),
        sorted(zip(dots["lane"], dots["time"], dots["severity"], strict=True)),
        sorted(zip(births["lane"], births["time"], births["number"], strict=True)),
    )
