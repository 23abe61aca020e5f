"""This module makes recordings of which readers of one namespace may see a part. Whatever is hidden from them contains
a canary word."""

import json
import re
from collections.abc import Iterable
from typing import Any

from django.db import transaction

from collectors.formats import Skipped, read
from tests import RULES
from tests.inputs.recordings import SAMPLE
from timeline.core.entries import Entry, Observation, Request
from timeline.history.codec import line_of, observation_of
from timeline.history.world.world import World
from timeline.judging.findings import namespace_of
from timeline.models import Finding, Incident, Source
from timeline.pipeline import ingest
from timeline.storage import store
from timeline.storage.judged import incidents

CANARY = "canarygull"  # in all that belongs to what is hidden
_HIDDEN = ("vol-quiet", "volcano-system", "kube-system", "workload")  # the others only take time
CROSSING = RULES / "write-after-lease-lost/fires-the-old-leader-wakes-up.jsonl"


def hide(observations: Iterable[Observation], shown: str) -> list[Observation]:
    """Put the canary word into each name, UID, actor and text of what is outside of the namespace `shown`. What
    observations in this namespace name, too, such as the Node of a Pod, keeps its name."""
    seen: list[Observation] = []
    hidden: list[Entry | Request] = []
    for each in observations:
        if isinstance(each, Entry | Request):
            (seen if namespace_of(each.ref) == shown else hidden).append(each)
    hidden = [each for each in hidden if each.ref.namespace in _HIDDEN or each.ref.kind in ("Node", "Namespace")]
    known = b"\n".join(map(line_of, seen)).decode()
    words = {word for each in hidden for word in (each.ref.namespace, each.ref.name, each.ref.uid)}
    words = {word for word in words if len(word) > 3 and word not in known}
    pattern = re.compile("|".join(map(re.escape, sorted(words, key=len, reverse=True))))
    made = [_hidden(each, pattern) for each in hidden]
    return [*seen, *made]


def _hidden(observation: Observation, words: "re.Pattern[str]") -> Observation:
    line: dict[str, Any] = _replaced(json.loads(line_of(observation)), words)
    fields = line.get("request", line)
    for name in ("actor", "userAgent", "identity"):
        fields[name] = f"{CANARY} {fields.get(name, '')}"
    if "body" in line:
        line["body"] = _marked(line["body"])
    return observation_of(json.dumps(line).encode(), {})


def _replaced(value: Any, words: "re.Pattern[str]") -> Any:
    if isinstance(value, dict):
        return {key: _replaced(each, words) for key, each in value.items()}
    if isinstance(value, list):
        return [_replaced(each, words) for each in value]
    return words.sub(lambda found: CANARY + found[0], value) if isinstance(value, str) else value


def _marked(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _marked(each) for key, each in value.items()}
    if isinstance(value, list):
        return [_marked(each) for each in value]
    return f"{CANARY}-{value}" if isinstance(value, str) else value


def shown_alone(name: str, shown: str) -> Source:
    """Import what the sample has of one namespace, without the Namespace object and the rest."""
    items = read([(SAMPLE, SAMPLE.name)], bodies=True)
    source = store.open_source(name)
    ingest(
        source, World(), (each for each in items if isinstance(each, Entry | Request) and each.ref.namespace == shown)
    )
    store.show_source(source)
    return source


def partly_hidden(name: str, shown: str, crossing: bool = False) -> Source:
    """Import the sample, or a recording of which a finding crosses namespaces, with what is outside of `shown`
    hidden."""
    path = CROSSING if crossing else SAMPLE
    items = read([(path, path.name)], bodies=True)
    source = store.open_source(name)
    ingest(source, World(), hide((each for each in items if not isinstance(each, Skipped)), shown))
    store.show_source(source)
    return source


def joined_in_part(name: str, shown: str) -> Source:
    """Import the sample with what is outside of `shown` hidden, and let all its findings have one cause, which is
    hidden. The sample has no such incident, so the findings are changed."""
    source = partly_hidden(name, shown)
    root = Incident.objects.exclude(root="").get(source=source)
    Finding.objects.filter(source=source).update(incident=root.identity, incidents=None)
    with transaction.atomic():
        incidents.write(source)
    return source
