"""This module reads the events of recorded logs, and says what rules can judge in what is left of them."""

from collections.abc import Iterable
from functools import cache
from pathlib import Path

import msgspec

from collectors.formats import Skipped
from collectors.formats.audit import read_lines
from collectors.formats.stream import Line
from collectors.gate import Limits, admit
from tests.inputs.mutations import Log, logged_at
from tests.inputs.recordings import SAMPLE, lines_of
from timeline.core.entries import Observation
from timeline.history.world.world import World
from timeline.judge import rulebook
from timeline.judging.coverage.judgeable import Answer, RuleCoverage, judgeable

ANSWERS: list[Answer] = ["cannot", "part", "can"]
READS = ("get", "list", "watch")


@cache
def log_of(path: Path) -> Log:
    lines = lines_of(path) if path.suffix == ".zst" else path.read_bytes().splitlines()
    return [msgspec.json.decode(line) for line in lines]


def sample() -> Log:
    return log_of(SAMPLE)


def observed(log: Iterable[dict[str, object]], file: str = "log") -> list[Observation]:
    lines = (Line(file, number, msgspec.json.encode(event)) for number, event in enumerate(log, 1))
    return [item for item in admit(read_lines(lines, False), Limits(), bodies=False) if not isinstance(item, Skipped)]


def at_level(level: str, log: Log) -> Log:
    """Return a log as an audit policy with less detail would have logged it."""
    return [logged_at(level, event) for event in log]


def rules_of(world: World) -> dict[str, RuleCoverage]:
    """Return what each rule can judge."""
    return {each.rule: each for each in judgeable(world, rulebook())}
