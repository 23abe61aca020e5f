"""These tests tell and draw on which old copies of an object an actor acted."""

from xml.etree import ElementTree

import pytest

from dashboard.drawing.views import ViewPicture
from tests import RULES
from tests.inputs.recordings import findings_of, observations_of, world_of
from timeline.payloads.views import ViewPayload, acted_on, views, within

EXCESS = RULES / "stale-view/fires-after-its-job-was-complete.jsonl"


@pytest.fixture(scope="module")
def found() -> ViewPayload:
    world = world_of(observations_of(EXCESS))
    (owner,) = acted_on(findings_of(world), world)
    (view,) = views(owner, world, lambda track: track.ref.name.count("-"))
    return view


def test_a_view_lists_commits_and_the_acts_on_old_copies_and_is_drawn(found: ViewPayload) -> None:
    assert (found["kind"], found["name"], found["actor"]) == ("Job", "report-0", "job-controller")
    assert {"481", "581"} <= {each["resource_version"] for each in found["commits"]}
    (old,) = [each for each in found["uses"] if each["unseen"] and each["what"].startswith("created")]
    assert old["what"] == "created Pod report-0-r9wx8"
    assert (old["resource_version"], old["unseen"], old["lag"]) == ("481", "581", "≈ 0.979 s")
    assert old["matters"] == "was Complete"
    drawn = ViewPicture(found, old["unseen_at"] - 100_000, old["time"] + 100_000, old)
    root = ElementTree.fromstring(f"<div>{drawn.svg()}</div>")
    (act,) = root.findall(".//circle[@class='view-act old main']")
    (lag,) = root.findall(".//text[@class='view-lag-text']")
    assert (act.attrib["data-copied"], act.attrib["data-stood"], lag.text) == ("481", "581", "copy ≈ 0.979 s old")
    (line,) = [each for each in root.findall(".//line[@class='view-drop']") if each.attrib["x1"] == act.attrib["cx"]]
    assert int(line.attrib["y1"]) < int(line.attrib["y2"])  # what stood is above the copy
    assert drawn.levels()[0].revision == "581"


def test_a_part_of_a_view_without_an_act_on_an_old_copy_is_none(found: ViewPayload) -> None:
    first = min(each["time"] for each in found["uses"] if each["unseen"])
    assert within(found, 0, first - 1) is None
    part = within(found, first, first)
    assert part is not None and [each["time"] for each in part["uses"]] == [first]
