"""These tests judge batch after batch only what each batch affects, and a recording with several processes: the
findings equal those of judging all at once."""

import os
import pickle
import random
import threading
from collections.abc import Sequence
from functools import cache
from pathlib import Path

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from collectors import analysis, judging
from collectors.formats import Limits, parallel
from tests import RULES
from tests.inputs.recordings import SAMPLE, entries_of, findings_of, world_of
from tests.properties import examples
from timeline.core.entries import Entry, Observation
from timeline.core.machine import beside
from timeline.history.world.recording import RecordingWorld
from timeline.judge import judged, judged_again, touched
from timeline.judging.findings import Finding

FIXTURES = sorted((RULES).glob("*/*.jsonl"))


@cache
def recorded(path: Path) -> tuple[list[Entry], list[Finding]]:
    entries = entries_of(path)
    return entries, findings_of(world_of(entries))


def judged_in(batches: Sequence[Sequence[Observation]]) -> list[Finding]:
    """Return the findings as a live source keeps them: after each batch, what is found with each affected subject
    replaces what was found with it before."""
    world = RecordingWorld()
    stored = judged(world, ())
    for batch in batches:
        for _ in world.learn(batch):
            pass
        stored.update(judged_again(world, touched(world, world.settle()), lambda key: stored.get(key, ())))
        for gone in [key for key in stored if not world.track(key)]:
            del stored[gone]
    found = {each.id: each for of_it in stored.values() for each in of_it}
    return sorted(found.values(), key=lambda each: (each.occurrences[0].first, each.rule, each.id))


def cut(entries: list[Entry], chance: random.Random, shuffled: bool) -> list[list[Entry]]:
    if shuffled:
        entries = chance.sample(entries, len(entries))
    ends = sorted(chance.sample(range(1, len(entries)), min(len(entries) - 1, chance.randint(1, 12))))
    return [entries[start:end] for start, end in zip([0, *ends], [*ends, len(entries)], strict=True)]


@examples(4)
@given(path=st.sampled_from(FIXTURES), seed=st.integers(0, 2**32), shuffled=st.booleans())
def test_in_batches_the_same_is_found(path: Path, seed: int, shuffled: bool) -> None:
    entries, expected = recorded(path)
    if len(entries) > 1:
        assert judged_in(cut(entries, random.Random(seed), shuffled)) == expected


@examples(1)
@given(seed=st.integers(0, 2**32), shuffled=st.booleans())
def test_of_a_whole_recording_the_same_is_found(seed: int, shuffled: bool) -> None:
    entries, expected = recorded(SAMPLE)
    assert judged_in(cut(entries, random.Random(seed), shuffled)) == expected


@pytest.fixture
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(judging, "_FEWEST", 0)
    monkeypatch.setattr(judging, "_PART", 3)
    monkeypatch.setattr(parallel, "READ_ALONE", 0)
    monkeypatch.setattr(threading, "active_count", lambda: 1)  # those of the tests wait, and hold no locks
    monkeypatch.setattr(beside, "_others", list)


def document(processes: int, monkeypatch: pytest.MonkeyPatch) -> bytes:
    monkeypatch.setattr(analysis, "available_processors", lambda: processes)
    return orjson.dumps(analysis.analyse([(SAMPLE, "log")], Limits()).document())


@pytest.mark.usefixtures("at_once")
def test_any_number_of_processes_finds_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    alone = document(1, monkeypatch)
    assert len(orjson.loads(alone)["findings"]) > 3
    assert document(2, monkeypatch) == document(5, monkeypatch) == alone
    this, dumps = os.getpid(), pickle.dumps

    def torn(*arguments: object) -> bytes:
        packed = dumps(*arguments)  # type: ignore[arg-type]
        return packed if os.getpid() == this else packed[: len(packed) // 2]

    monkeypatch.setattr(pickle, "dumps", torn)
    assert document(3, monkeypatch) == alone  # what a helper cannot tell is judged by this process


@pytest.mark.usefixtures("at_once")
def test_with_other_threads_no_process_is_copied(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(threading, "active_count", lambda: 2)
    monkeypatch.setattr(beside, "_others", lambda: [threading.current_thread()])
    monkeypatch.setattr(os, "fork", None)
    assert document(2, monkeypatch)
