"""These tests judge a recording with several processes: the findings are the same as with one."""

import os
import pickle
import threading
from pathlib import Path

import orjson
import pytest

from collectors import analysis, judging
from collectors.formats import Limits, parallel
from tests.recordings import SAMPLE
from timeline.core.machine import beside


@pytest.fixture(autouse=True)
def _at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(judging, "_FEWEST", 0)
    monkeypatch.setattr(judging, "_PART", 3)
    monkeypatch.setattr(parallel, "READ_ALONE", 0)
    monkeypatch.setattr(threading, "active_count", lambda: 1)  # those of the tests wait, and hold no locks
    monkeypatch.setattr(beside, "_others", list)


def document(path: Path, processes: int, monkeypatch: pytest.MonkeyPatch) -> bytes:
    monkeypatch.setattr(analysis, "available_processors", lambda: processes)
    return orjson.dumps(analysis.analyse([(path, "log")], Limits()).document())


@pytest.mark.parametrize("processes", [2, 3, 5])
def test_any_number_of_processes_finds_the_same(processes: int, monkeypatch: pytest.MonkeyPatch) -> None:
    alone = document(SAMPLE, 1, monkeypatch)
    assert len(orjson.loads(alone)["findings"]) > 3
    assert document(SAMPLE, processes, monkeypatch) == alone


def test_what_a_helper_cannot_tell_is_judged_by_this_process(monkeypatch: pytest.MonkeyPatch) -> None:
    alone = document(SAMPLE, 1, monkeypatch)
    this, dumps = os.getpid(), pickle.dumps

    def torn(*arguments: object) -> bytes:
        packed = dumps(*arguments)  # type: ignore[arg-type]
        return packed if os.getpid() == this else packed[: len(packed) // 2]

    monkeypatch.setattr(pickle, "dumps", torn)
    assert document(SAMPLE, 3, monkeypatch) == alone


def test_with_other_threads_no_process_is_copied(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(threading, "active_count", lambda: 2)
    monkeypatch.setattr(beside, "_others", lambda: [threading.current_thread()])
    monkeypatch.setattr(os, "fork", None)
    assert document(SAMPLE, 2, monkeypatch)
