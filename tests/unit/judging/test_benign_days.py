"""These tests judge days on which everything is as it should be, and what is left of them when lines are lost.

The first has rollouts with surge, an autoscaler beside a manifest without `replicas`, Pods that fail, are evicted,
drained and deleted, a StatefulSet that is deleted and created again at once, workloads of other projects, Jobs with
retries, a hand-over of a field, requests by annotation, conflicts, and writes without effect. The second one, which
tests/inputs/sound makes, has a sound twin of what each rule about admission, nodes, workloads and objects reports.
"""

import json
import random
from pathlib import Path

import pytest

from tests import DATA
from tests.inputs.recordings import findings_of, observations_of, world_of
from tests.inputs.sound.day import day
from timeline.core.entries import Observation

DAY = DATA / "benign-day.jsonl.zst"


def alarms(observed: list[Observation]) -> list[str]:
    return [each.summary for each in findings_of(world_of(observed)) if each.severity != "info"]


def test_a_day_without_harm_raises_no_alarm() -> None:
    observed = observations_of(DAY)
    assert len(observed) > 250
    assert alarms(observed) == []
    for seed in range(2):  # nor do lost lines
        chance = random.Random(seed)
        left = [each for each in observed if chance.random() < 0.4 + seed / 2]
        assert alarms(chance.sample(left, len(left))) == []


ALLOWED = {
    # Each was refused for less than a second, and its next try succeeded.
    ("ca-bundle-stale", "guard-new"),
    ("kind-not-served", "topics.kafka.example.com"),
    ("namespace-not-furnished", "team"),
    ("quota-conflict", "compute"),
    # A node that restarts with another label does refuse a Pod.
    ("refused-by-node", "api-1-a"),
}
"""What the second day may tell as an info: something was refused, and nothing came of it."""


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The audit log of the second day; the folder `watch` beside it has its watches."""
    cluster, path = day(), tmp_path_factory.mktemp("sound") / "audit.jsonl"
    path.write_bytes(b"\n".join(cluster.lines))
    (path.parent / "watch").mkdir()
    for kind, lines in cluster.watches.items():
        (path.parent / "watch" / f"{kind.lower()}s.jsonl").write_bytes(b"\n".join(lines))
    return path


def test_a_day_of_kept_orders_raises_no_alarm(sound: Path) -> None:
    observed = observations_of(sound)
    assert len(observed) > 500
    found = findings_of(world_of(observed))
    assert {(each.rule, each.subject.name) for each in found} == ALLOWED
    assert {each.severity for each in found} == {"info"}
    for seed in range(3):
        chance = random.Random(seed)
        left = [each for each in observed if chance.random() < 0.3 + seed * 0.3]
        assert alarms(chance.sample(left, len(left))) == []


def test_a_day_of_kept_orders_raises_no_alarm_without_bodies(sound: Path, tmp_path: Path) -> None:
    lines = [json.loads(line) for line in sound.read_bytes().splitlines()]
    short = [
        {key: value for key, value in line.items() if key not in ("requestObject", "responseObject")}
        | {"level": "Metadata"}
        for line in lines
    ]
    path = tmp_path / "metadata.jsonl"
    path.write_text("\n".join(map(json.dumps, short)))
    assert alarms(observations_of(path)) == []


def test_a_day_of_kept_orders_raises_no_alarm_in_watches(sound: Path) -> None:
    watched = [each for path in sorted((sound.parent / "watch").iterdir()) for each in observations_of(path)]
    assert len(watched) > 500
    assert alarms(watched) == []
    assert alarms([*observations_of(sound), *watched]) == []


@pytest.mark.parametrize("first", range(5))
def test_a_day_of_kept_orders_raises_no_alarm_where_the_log_begins_later(sound: Path, first: int) -> None:
    observed = observations_of(sound)
    assert alarms(observed[first * len(observed) // 5 :]) == []
    assert alarms(observed[: first * len(observed) // 5]) == []
