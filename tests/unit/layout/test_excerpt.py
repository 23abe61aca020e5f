"""These tests check the excerpt of a recording that a report without a server shows."""

from functools import cache

import pytest

from tests.inputs.recordings import SAMPLE, entries_of, findings_of, world_of
from timeline.history.world.world import World
from timeline.judging.findings import Finding
from timeline.layout import excerpt as excerpts
from timeline.layout.excerpt import Excerpt, excerpt


@cache
def world() -> World:
    return world_of(entries_of(SAMPLE))


@cache
def findings() -> list[Finding]:
    return findings_of(world())


def drawn_with(monkeypatch: pytest.MonkeyPatch, **limits: int) -> Excerpt:
    for name, limit in limits.items():
        monkeypatch.setattr(excerpts, name, limit)
    return excerpt(world(), findings())


def names(drawn: Excerpt) -> list[str]:
    return [lane["name"] for lane in drawn.window["lanes"]]


def marks(drawn: Excerpt) -> int:
    return sum(len(drawn.window[columns]["lane"]) for columns in ("bars", "marks", "births"))


def test_a_small_recording_is_drawn_whole() -> None:
    drawn = excerpt(world(), findings())
    assert len(drawn.window["lanes"]) == drawn.lanes == drawn.window["lanes_total"]
    assert {lane["family"] for lane in drawn.window["lanes"]}.isdisjoint({"Events", "Cluster"})
    assert dict(drawn.overview["namespaces"])["vol-restart"] > 10
    ring = drawn.window["groups"][0]
    numbers = [lane["number"] for lane in drawn.window["lanes"] if lane["group"] == ring["key"]]
    assert numbers == sorted(numbers) and len(numbers) == ring["lanes"]


def test_lanes_that_findings_concern_come_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(excerpts, "LANES", 12)
    gap = [found for found in findings() if found.rule == "service-gap"]
    drawn = excerpt(world(), gap)
    assert len(names(drawn)) == 12 < drawn.lanes
    assert {"ring-steady-0", "ring-steady-1", "ring-steady-2", "ring"} <= set(names(drawn))
    kinds = {lane["kind"] for lane in drawn.window["lanes"] if lane["name"] == "ring"}
    assert {"Service", "Job"} <= kinds  # the owner is shown, too
    assert all(lane["namespace"] == "vol-restart" for lane in drawn.window["lanes"])  # its relatives follow
    assert drawn.window["groups"][0]["lanes"] > 12  # the heading also counts lanes that are left out
    arrows = drawn.window["arrows"]
    assert all(lane >= 0 for lane in arrows["from_lane"] + arrows["to_lane"])


def test_there_is_room_for_so_many_marks(monkeypatch: pytest.MonkeyPatch) -> None:
    drawn = drawn_with(monkeypatch, MARKS=60)
    assert 30 < marks(drawn) <= 60
    assert len(drawn.findings) == len(excerpt(world(), findings()).findings)


def test_one_lane_cannot_push_the_others_out(monkeypatch: pytest.MonkeyPatch) -> None:
    whole, drawn = excerpt(world(), findings()), drawn_with(monkeypatch, LANE_MARKS=6)
    assert len(names(drawn)) == len(names(whole))
    assert drawn.window["merged"] > whole.window["merged"]
    deaths = [each.window["marks"]["mark"].count("deleted") for each in (whole, drawn)]
    assert deaths[0] == deaths[1] > 0


def test_only_the_namespaces_asked_for_are_drawn() -> None:
    drawn = excerpt(world(), [], ["vol-restart"])
    assert {lane["namespace"] for lane in drawn.window["lanes"]} == {"vol-restart"}
    assert drawn.lanes == len(names(drawn))
