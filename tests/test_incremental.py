"""These tests judge batch after batch only what each batch affects: the findings equal those of judging all at once."""

import random
from collections.abc import Sequence
from functools import cache
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.properties import examples
from tests.recordings import SAMPLE, entries_of, findings_of, world_of
from timeline.core.entries import Entry
from timeline.history.recording import RecordingWorld
from timeline.history.world import World
from timeline.judge import judge, touched
from timeline.judging.findings import Finding

FIXTURES = sorted((Path(__file__).parent / "rules").glob("*/*.jsonl"))


@cache
def recorded(path: Path) -> tuple[list[Entry], list[Finding]]:
    entries = entries_of(path)
    return entries, findings_of(world_of(entries))


def judged_in(batches: Sequence[list[Entry]]) -> list[Finding]:
    """Return the findings as they are stored: those of the affected subjects replace the earlier ones after each
    batch."""
    world = RecordingWorld()
    stored: dict[str, Finding] = {}
    for batch in batches:
        for _ in world.learn(batch):
            pass
        subjects = touched(world, world.settle())
        judged = {world.id_of(track.ref) for track in subjects}
        kept = {key: each for key, each in stored.items() if _stored_with(each, world) not in judged}
        stored = kept | {each.id: each for each in judge(world, subjects)}
    return sorted(stored.values(), key=lambda each: (each.occurrences[0].first, each.rule, each.id))


def _stored_with(found: Finding, world: World) -> int:
    refs = [found.subject, *(proof.ref for each in found.occurrences for proof in each.proof)]
    return next(number for ref in refs if (number := world.id_of(ref)))


def cut(entries: list[Entry], chance: random.Random, shuffled: bool) -> list[list[Entry]]:
    if shuffled:
        entries = chance.sample(entries, len(entries))
    ends = sorted(chance.sample(range(1, len(entries)), min(len(entries) - 1, chance.randint(1, 12))))
    return [entries[start:end] for start, end in zip([0, *ends], [*ends, len(entries)], strict=True)]


@pytest.mark.parametrize("path", FIXTURES, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_line_by_line_the_same_is_found(path: Path) -> None:
    entries, expected = recorded(path)
    assert judged_in([[entry] for entry in entries]) == expected


@examples(40)
@given(path=st.sampled_from(FIXTURES), seed=st.integers(0, 2**32), shuffled=st.booleans())
def test_in_batches_the_same_is_found(path: Path, seed: int, shuffled: bool) -> None:
    entries, expected = recorded(path)
    if len(entries) > 1:
        assert judged_in(cut(entries, random.Random(seed), shuffled)) == expected


@examples(5)
@given(seed=st.integers(0, 2**32), shuffled=st.booleans())
def test_of_a_whole_recording_the_same_is_found(seed: int, shuffled: bool) -> None:
    entries, expected = recorded(SAMPLE)
    assert judged_in(cut(entries, random.Random(seed), shuffled)) == expected
