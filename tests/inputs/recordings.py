"""This module reads recordings into entries and worlds, and judges them."""

from collections.abc import Iterable
from pathlib import Path

import zstandard

from collectors.formats import Skipped, read
from tests import ROOT, RULES
from timeline.core.entries import Entry, Observation
from timeline.history.world.world import World
from timeline.judge import judge
from timeline.judging.findings import Finding

SAMPLE = ROOT / "dashboard" / "samples" / "volcano-restart.jsonl.zst"
QUIET = RULES / "service-gap" / "quiet-collection-deleted.jsonl"
"""A small recording in which nothing is wrong."""


def entries_of(path: Path) -> list[Entry]:
    """Return all entries of a recording of which nothing may be skipped."""
    return [item for item in observations_of(path) if isinstance(item, Entry)]


def observations_of(path: Path) -> list[Observation]:
    """Return everything that a recording shows, of which nothing may be skipped."""
    items = list(read([(path, path.name)], bodies=False))
    skipped = [item for item in items if isinstance(item, Skipped)]
    assert not skipped, skipped
    return [item for item in items if not isinstance(item, Skipped)]


def lines_of(path: Path) -> list[bytes]:
    """Return the lines of a file that zstd has compressed."""
    return zstandard.ZstdDecompressor().stream_reader(path.read_bytes()).read().splitlines()


def world_of(*batches: Iterable[Observation], world: World | None = None) -> World:
    """Return a world, a new one if none is given, that has learned the batches one after the other, and was settled
    after each of them."""
    world = world or World()
    for batch in batches:
        for _ in world.learn(batch):
            pass
        world.settle()
    return world


def findings_of(world: World) -> list[Finding]:
    return judge(world, world.tracks())
