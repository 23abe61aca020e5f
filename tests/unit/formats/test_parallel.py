"""These tests read a log with two processes: the result is the same as with one."""

import errno
import json
import os
import signal
import sys
import threading
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from collectors import redaction
from collectors.formats import Skipped, parallel, read
from collectors.formats.stream import Block
from tests.inputs.events import event, pod
from tests.inputs.recordings import SAMPLE
from timeline.core.entries import Entry


@pytest.fixture(autouse=True, params=["copies of the process", "programs, because there are other threads"])
def _at_once(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parallel, "READ_ALONE", 0)
    monkeypatch.setattr(threading, "active_count", lambda: 1 if request.param.startswith("copies") else 2)


def items_of(path: Path, processes: int) -> list[Entry | Skipped]:
    items = read([(path, "log")], bodies=False, processes=processes)
    return [item for item in items if isinstance(item, Entry | Skipped)]


ALONE = items_of(SAMPLE, 1)


def test_both_read_the_same() -> None:
    helpers = []

    class Spied(parallel._Helper):
        def offer(self, block: Block) -> bool:
            helpers.append(super().offer(block))
            return helpers[-1]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(parallel, "_Helper", Spied)
        together = items_of(SAMPLE, 2)
    assert any(helpers)
    assert together == ALONE


def test_what_was_skipped_is_reported_in_the_order_of_its_lines(tmp_path: Path) -> None:
    log = tmp_path / "log"
    lines = [json.dumps(event(auditID=f"a{number}")).encode() if number % 7 else b"{broken" for number in range(3000)]
    log.write_bytes(b"\n".join(lines))
    skipped = [item for item in items_of(log, 2) if isinstance(item, Skipped)]
    assert [each.line for each in skipped] == list(range(1, 3001, 7))
    assert skipped == [item for item in items_of(log, 1) if isinstance(item, Skipped)]


def test_a_kind_that_one_line_tells_names_the_resource_on_all(tmp_path: Path) -> None:
    reference = {"resource": "widgets", "apiGroup": "x.io", "apiVersion": "v1", "namespace": "n", "name": "w"}
    gone = event(verb="delete", objectRef=reference, responseObject=None)
    made = event(objectRef=reference, responseObject={**pod(name="w"), "apiVersion": "x.io/v1", "kind": "Widget"})
    log = tmp_path / "log"
    lines = [json.dumps({**gone, "auditID": f"a{number}"}).encode() for number in range(2000)]
    lines[700] = json.dumps(made).encode()
    log.write_bytes(b"\n".join(lines))
    entries = [item for item in items_of(log, 2) if isinstance(item, Entry)]
    assert len(entries) == 2000
    assert {entry.ref.kind for entry in entries} == {"Widget"}


def test_a_helper_that_is_killed_takes_nothing_along(monkeypatch: pytest.MonkeyPatch) -> None:
    class Mortal(parallel._Helper):
        blocks = 0

        def offer(self, block: Block) -> bool:
            Mortal.blocks += 1
            if Mortal.blocks == 2:
                os.kill(self._process, signal.SIGKILL)
            return super().offer(block)

    monkeypatch.setattr(parallel, "_Helper", Mortal)
    assert items_of(SAMPLE, 2) == ALONE


def test_a_reading_that_is_given_up_ends_its_helper(monkeypatch: pytest.MonkeyPatch) -> None:
    helpers = []

    class Seen(parallel._Helper):
        def close(self) -> None:
            super().close()
            helpers.append(self._process)

    monkeypatch.setattr(parallel, "_Helper", Seen)
    items = iter(read([(SAMPLE, "log")], bodies=False, processes=2))
    for _, _ in zip(range(400), items, strict=False):
        pass
    items.close()  # type: ignore[attr-defined]
    (process,) = helpers
    with pytest.raises(ProcessLookupError):
        os.kill(process, 0)


def test_a_process_that_ignores_its_children_reads_with_helpers() -> None:
    before = signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # as whoever starts the process may have set it
    try:
        assert items_of(SAMPLE, 2) == ALONE
    finally:
        signal.signal(signal.SIGCHLD, before)


def test_a_program_that_ends_at_once_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "/bin/false")
    monkeypatch.setattr(redaction, "current", lambda: b"x" * 3_000_000)  # more than a pipe holds
    assert items_of(SAMPLE, 2) == ALONE


def open_files() -> int:
    return len([*Path("/proc/self/fd").iterdir()])


def test_this_process_reads_alone_if_the_system_starts_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*args: Any, **options: Any) -> int:
        raise BlockingIOError(errno.EAGAIN, "Resource temporarily unavailable")

    before = open_files()
    monkeypatch.setattr(os, "fork", refused)
    monkeypatch.setattr(os, "posix_spawn", refused)
    assert items_of(SAMPLE, 3) == ALONE
    assert open_files() == before


def inheritable_files() -> set[int]:
    found = set()
    for each in Path("/proc/self/fd").iterdir():
        with suppress(OSError):  # the file with which the folder is listed is closed by then
            if os.get_inheritable(int(each.name)):
                found.add(int(each.name))
    return found


def test_no_other_program_gets_the_files_of_a_helper(monkeypatch: pytest.MonkeyPatch) -> None:
    before = inheritable_files()
    during: set[int] = set()
    spawn = os.posix_spawn

    def spied(*args: Any, **options: Any) -> int:
        during.update(inheritable_files())
        return spawn(*args, **options)

    monkeypatch.setattr(os, "posix_spawn", spied)
    assert items_of(SAMPLE, 2) == ALONE
    assert during <= before
