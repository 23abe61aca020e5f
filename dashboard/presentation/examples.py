"""Judge the example recording of each rule and draw its finding, for the catalogue."""

from functools import cache
from importlib.resources import as_file, files
from typing import Any, NamedTuple

from collectors.formats import Skipped, read
from dashboard.drawing.pictures import Picture, steps_of
from timeline.history.world.world import World
from timeline.judge import judge
from timeline.judging.rulebook import Rule
from timeline.layout.excerpt import excerpt
from timeline.payloads.findings import FindingGroupPayload
from timeline.payloads.incidents.ranges import bounds
from timeline.payloads.windows import Columns

_LANES = 6  # drawn


class Example(NamedTuple):
    finding: FindingGroupPayload
    picture: Picture


@cache
def example(rule: Rule) -> Example | None:
    """Return the finding of the rule's example with its picture; None without an example or a finding."""
    recording = files("timeline") / "rules" / "examples" / f"{rule.id}.jsonl"
    if not recording.is_file():
        return None
    world = World()
    with as_file(recording) as path:
        for _ in world.learn(
            entry for entry in read([(path, path.name)], bodies=False) if not isinstance(entry, Skipped)
        ):
            pass
    world.settle()
    drawn = excerpt(world, [found for found in judge(world, world.tracks()) if found.rule == rule.id])
    if not drawn.findings:
        return None
    group = drawn.findings[0]
    return Example(group, picture_of(group, drawn.window, rule.id))


def picture_of(group: FindingGroupPayload, columns: Columns, key: str) -> Picture:
    """Draw the lanes of the proof and the affected objects, from a little before the finding to a little after."""
    start, *_, end = bounds(group["start"], group["end"], group["proof"])
    room = max((end - start) * 2 // 5, 20_000)
    concerned = lanes_of(group, columns)
    proof: list[Any] = [*group["proof"]]  # which have the fields of an occurrence, too
    steps = steps_of(proof, group["findings"][0]["subject"], columns)
    return Picture(columns, start - room, end + room, finding=group["key"], only=concerned, key=key, steps=steps)


def lanes_of(group: FindingGroupPayload, columns: Columns) -> list[int]:
    """Return indices of lanes: of the proof, of the subjects, then of the affected objects, as many as are drawn."""
    tracks = [proof.get("track") for proof in group["proof"]]
    by_track = dict(zip(columns["bars"]["track"], columns["bars"]["lane"], strict=True))
    found = [by_track[track] for track in tracks if track in by_track]
    named = {(lane["kind"], lane["namespace"], lane["name"]): index for index, lane in enumerate(columns["lanes"])}
    refs = [each["subject"] for each in group["findings"]]
    refs += [each["other"] for each in group["findings"] if each["other"]]
    refs += [ref for each in group["findings"] for ref in each["affects"]]
    found += [named[key] for ref in refs if (key := (ref["kind"], ref["namespace"], ref["name"])) in named]
    return sorted(dict.fromkeys(found[:_LANES]))
