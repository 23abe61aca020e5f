"""These tests judge a day on which everything is as it should be, and what is left of it when lines are lost.

It has rollouts with surge, an autoscaler beside a manifest without `replicas`, Pods that fail, are evicted, drained and
deleted, a StatefulSet that is deleted and created again at once, workloads of other projects, Jobs with retries, a
hand-over of a field, requests by annotation, conflicts, and writes without effect.
"""

import random

from tests import DATA
from tests.inputs.recordings import findings_of, observations_of, world_of
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
