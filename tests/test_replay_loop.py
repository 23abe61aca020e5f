"""These tests play a recording in a loop: each lap is a new life of the cluster, and happens at the present time."""

import json
import time
import urllib.request
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from collectors.replay import Replay, serve
from collectors.replay.commits import Tape, tape
from collectors.replay.loop import Loop
from tests.recordings import SAMPLE, entries_of, findings_of, world_of
from timeline.core.entries import microseconds, moment
from timeline.kinds import seconds

KINDS = ("/api/v1/pods", "/api/v1/services", "/apis/batch.volcano.sh/v1alpha1/jobs")
HOUR = 3_600_000_000  # µs


@pytest.fixture(scope="module")
def sample() -> Tape:
    return tape([(SAMPLE, SAMPLE.name)])


def laps_of(replay: Replay, path: str, laps: int) -> list[dict[str, Any]]:
    """Return what a watch receives until this number of laps is over."""
    query = "watch=1&resourceVersion=1&allowWatchBookmarks=true&timeoutSeconds=60"
    received = []
    with urllib.request.urlopen(f"{replay.url}{path}?{query}", timeout=60) as answer:
        for line in answer:
            event = json.loads(line)
            if event["type"] == "BOOKMARK":
                laps -= 1
                if not laps:
                    break
            else:
                received.append(event)
    return received


def test_each_lap_is_a_life_of_its_own(sample: Tape) -> None:
    with serve(sample, speed="max", loop=True) as replay:
        received = laps_of(replay, KINDS[0], 2)
    lives = defaultdict(list)
    for event in received:
        lives[event["object"]["metadata"]["uid"]].append(event["type"])
    assert {events[0] for events in lives.values()} == {"ADDED"}
    assert {events[-1] for events in lives.values()} == {"DELETED"}
    names = [event["object"]["metadata"]["name"] for event in received if event["type"] == "ADDED"]
    assert names[: len(names) // 2] == names[len(names) // 2 :]
    assert len(lives) == len(names)
    revisions = [int(event["object"]["metadata"]["resourceVersion"]) for event in received]
    assert revisions == sorted(set(revisions))


def test_owners_are_those_of_the_same_lap(sample: Tape) -> None:
    with serve(sample, speed="max", loop=True) as replay, ThreadPoolExecutor() as pool:
        pods, jobs = pool.map(lambda path: laps_of(replay, path, 2), (KINDS[0], KINDS[2]))
    known = {event["object"]["metadata"]["uid"] for event in jobs}
    owners = {
        owner["uid"]
        for event in pods
        for owner in event["object"]["metadata"].get("ownerReferences", ())
        if owner["apiVersion"].startswith("batch.volcano.sh")
    }
    assert owners
    assert owners <= known


def test_it_happens_now(sample: Tape) -> None:
    started = time.time_ns() // 1000
    with serve(sample, speed="max", loop=True) as replay:
        received = laps_of(replay, KINDS[1], 1)
    length = sample.ends - sample.begins
    for event in received:
        created = seconds(event["object"]["metadata"]["creationTimestamp"])
        assert started - 2_000_000 <= created <= started + length + HOUR
        assert "2026-11-21T07:5" not in json.dumps(event)


def test_a_lap_raises_what_the_recording_raises(sample: Tape, tmp_path: Path) -> None:
    """Each rule gives the same findings for every lap: neither its end nor its beginning is a violation."""

    def found(commits: list[Any]) -> list[tuple[str, str]]:
        for resource in sample.resources:
            lines = [
                b'{"type":"%b","object":%b}\n' % (commit.change.encode(), commit.body)
                for commit in commits
                if commit.resource == resource
            ]
            (tmp_path / f"{resource.name}.jsonl").write_bytes(b"".join(lines))
        world = world_of(entry for file in sorted(tmp_path.iterdir()) for entry in entries_of(file))
        return sorted((finding.rule, finding.subject.name) for finding in findings_of(world))

    laps, now = Loop(sample), microseconds(moment(sample.ends)) + HOUR
    first, second = laps.lap(0, now), laps.lap(1, now + HOUR)
    one = found(first.take(0, len(first.times)))
    assert one
    assert found(first.take(0, len(first.times)) + second.take(0, len(second.times))) == sorted(one * 2)
