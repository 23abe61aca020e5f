"""These tests judge a recording with several processes: the findings are the same as with one."""

import os
import pickle
import threading

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


def document(processes: int, monkeypatch: pytest.MonkeyPatch) -> bytes:
    monkeypatch.setattr(analysis, "available_processors", lambda: processes)
    return orjson.dumps(analysis.analyse([(SAMPLE, "log")], Limits()).document())


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


def test_with_other_threads_no_process_is_copied(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(threading, "active_count", lambda: 2)
    monkeypatch.setattr(beside, "_others", lambda: [threading.current_thread()])
    monkeypatch.setattr(os, "fork", None)
    assert document(2, monkeypatch)
