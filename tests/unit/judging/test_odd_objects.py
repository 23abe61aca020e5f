"""These tests read objects that do not fit their kind: of another group, without fields, or with another object's UID.

Nothing in a recording may stop its judgement.
"""

import json
import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from collectors.formats import Skipped
from tests import RULES
from tests.inputs.events import items_of
from tests.inputs.recordings import findings_of, world_of
from tests.properties import tries_all

NAMES = sorted(path.name for path in RULES.iterdir())
Event = dict[str, Any]
Change = Callable[[Event, random.Random], None]


def another_group(event: Event, chance: random.Random) -> None:
    groups = ["", "apps", "batch", "extensions", "batch.volcano.sh", "discovery.k8s.io", "example.org"]
    event["objectRef"]["apiGroup"] = chance.choice(groups)


def another_resource(event: Event, chance: random.Random) -> None:
    resources = ["pods", "jobs", "services", "leases", "deployments", "endpointslices", "events", "widgets"]
    event["objectRef"]["resource"] = chance.choice(resources)


def another_uid(event: Event, chance: random.Random) -> None:
    if (metadata := (event.get("responseObject") or {}).get("metadata")) and metadata.get("uid"):
        metadata["uid"] = chance.choice(["u1", "u2", "u3", ""])


def fewer_fields(event: Event, chance: random.Random) -> None:
    for body in ("requestObject", "responseObject"):
        _thin(event.get(body), chance)


def _thin(value: Any, chance: random.Random) -> None:
    if isinstance(value, dict):
        for key in list(value):
            roll = chance.random()
            if roll < 0.05:
                del value[key]
            elif roll < 0.08:
                value[key] = None
            else:
                _thin(value[key], chance)
    elif isinstance(value, list):
        for each in value:
            _thin(each, chance)


def changed(path: Path, change: Change, chance: random.Random) -> Iterator[Event]:
    for line in path.read_bytes().splitlines():
        event = json.loads(line)
        if event.get("objectRef") and chance.random() < 0.4:
            change(event, chance)
        yield event


CHANGES = [another_group, another_resource, another_uid, fewer_fields]


@pytest.mark.parametrize("rule", NAMES)
def test_odd_objects_are_judged_like_any(rule: str) -> None:
    for at, path in enumerate(sorted((RULES / rule).glob("*.jsonl"))):
        for change in CHANGES if tries_all() else [CHANGES[at % len(CHANGES)]]:
            items = items_of(*changed(path, change, random.Random(f"{rule} {path.name}")))
            findings_of(world_of(item for item in items if not isinstance(item, Skipped)))
