"""These tests run `causeline record`: it writes a cluster to a file without a server or a database."""

import json
import resource
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from collectors.analysis import analyse
from collectors.formats import Limits, Skipped, read
from collectors.recorder import Recorder
from collectors.replay import Replay
from collectors.watch.output import RecordingFile
from dashboard.cli.record import duration
from tests.clients.command import causeline
from tests.clients.reflecting import WATCH, api_of, replayed, until
from tests.patience import patient
from timeline.core.entries import Entry, Mark, MarkType
from timeline.judging.verdicts import Verdict

ALL = 7  # the number of resources in the recording


@pytest.fixture
def replay() -> Iterator[Replay]:
    with replayed(bookmark_seconds=3600) as running:
        yield running


class Recording:
    """This class runs a recorder in a thread."""

    def __init__(self, replay: Replay, path: Path, **options: Any) -> None:
        self.path = path
        self.stop = threading.Event()
        self.recorder = Recorder(
            api_of(replay, read=10.0), RecordingFile(path), **{"completion_seconds": 10.0, **options}
        )
        self.thread = threading.Thread(target=self.recorder.run, args=(self.stop,), daemon=True)
        self.thread.start()

    def watches(self, count: int = ALL) -> bool:
        return [state for state, _ in list(self.recorder.states.values())].count("watching") == count

    def end(self) -> list[Entry | Mark]:
        self.stop.set()
        self.thread.join(patient(15))
        assert not self.thread.is_alive()
        return recorded(self.path)


def recorded(path: Path) -> list[Entry | Mark]:
    items = list(read([(path, path.name)], bodies=True))
    assert not [item for item in items if isinstance(item, Skipped)]
    return [item for item in items if isinstance(item, Entry | Mark)]


def findings(path: Path) -> set[tuple[str, ...]]:
    """Return the findings with exact order. Those that measure time depend on the speed of the replay."""
    found = analyse([(path, path.name)], Limits()).findings
    return {
        (each.rule, each.subject.uid, each.other.uid if each.other else "", each.verdict.value, each.status.value)
        for each in found
        if each.verdict is Verdict.EXACT
    }


@pytest.mark.parametrize("name", ["prod.jsonl", "prod.jsonl.zst"])
def test_what_was_recorded_gives_the_findings_of_the_cluster(name: str, replay: Replay, tmp_path: Path) -> None:
    recording = Recording(replay, tmp_path / name)
    until(recording.watches)
    replay.control(play=True)
    until(lambda: replay.status()["ended"])
    items = recording.end()
    changed = {(each.ref.uid, each.resource_version) for each in items if isinstance(each, Entry)}
    assert changed == {(each.ref.uid, each.resource_version) for each in recorded(WATCH) if isinstance(each, Entry)}
    assert findings(recording.path) == findings(WATCH) != set()
    # Each watch tells how far it is whole. Without bookmarks of the server, a list shows only what is known already.
    marks = [each for each in items if isinstance(each, Mark)]
    listed = {each.kind: each for each in marks if each.what is MarkType.LISTED}
    reached = {each.kind: each.revision for each in marks if each.what is MarkType.BOOKMARK}
    assert len(listed) == len(reached) == len(recording.recorder.complete) == ALL
    assert reached["Pod"] == int(replay.status()["revisions"]["pods"])
    assert [each for each in marks if each.what in (MarkType.TOGETHER, MarkType.APART) and each.kind == "Lease"]


def test_a_gap_and_what_may_not_be_read_are_reported(replay: Replay, tmp_path: Path) -> None:
    replay.control(deny=["leases"])
    recording = Recording(replay, tmp_path / "prod.jsonl")
    until(lambda: recording.watches(ALL - 1))
    replay.control(faults=[{"kind": "gone-in-stream", "resource": "pods"}])
    until(lambda: recording.recorder.gaps)
    until(lambda: recording.watches(ALL - 1))
    items = recording.end()
    assert [each.kind for each in items if isinstance(each, Mark) and each.what is MarkType.GAP] == ["Pod"]
    states = {each.resource: state for each, (state, _) in recording.recorder.states.items()}
    assert states["leases"] == "forbidden"


def test_one_namespace_alone_without_what_is_excluded(replay: Replay, tmp_path: Path) -> None:
    chosen: dict[str, Any] = {"namespace": "vol-restart", "exclude": ["events", "*.volcano.sh"]}
    recording = Recording(replay, tmp_path / "prod.jsonl", **chosen)
    until(lambda: recording.watches(ALL - 3))
    replay.control(play=True)
    until(lambda: replay.status()["ended"])
    refs = [each.ref for each in recording.end() if isinstance(each, Entry)]
    assert {each.namespace for each in refs} == {"vol-restart"}
    assert "Pod" in {each.kind for each in refs}
    assert not [each for each in refs if "volcano" in each.group or each.kind == "Event"]


def test_a_history_that_is_restored_ends_it(replay: Replay, tmp_path: Path) -> None:
    recording = Recording(replay, tmp_path / "prod.jsonl")
    until(recording.watches)
    replay.control(step=300)
    until(lambda: sum(recording.recorder.entries.values()) > 300)
    replay.control(restore=20)
    time.sleep(0.5)  # wait, so that the reset does not hit the next connection of this test
    until(lambda: not recording.thread.is_alive())
    assert "restored" in recording.recorder.ended
    assert recorded(recording.path)


def test_a_disk_that_is_full_ends_it(replay: Replay, tmp_path: Path) -> None:
    replay.control(step=300)
    full = tmp_path / "prod.jsonl"
    limit = resource.getrlimit(resource.RLIMIT_FSIZE)
    ignored = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, limit[1]))
    try:
        recording = Recording(replay, full)
        until(lambda: not recording.thread.is_alive())
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limit)
        signal.signal(signal.SIGXFSZ, ignored)
    assert "cannot be written" in recording.recorder.ended
    assert any(isinstance(each, Entry) for each in read([(full, full.name)], bodies=False))


def arguments(replay: Replay, folder: Path) -> list[str]:
    """Return how a person records the cluster into a file of this folder."""
    config = folder / "config"
    config.write_text(json.dumps(replay.kubeconfig))
    return ["record", "--kubeconfig", str(config), "-o", str(folder / "prod.jsonl.zst")]


@contextmanager
def command(replay: Replay, folder: Path, *more: str) -> Iterator[subprocess.Popen[str]]:
    """Run `causeline record` until everything that is replayed is watched and played."""
    line = [sys.executable, "-m", "dashboard.cli", *arguments(replay, folder), *more]
    with subprocess.Popen(line, stderr=subprocess.PIPE, text=True) as process:
        try:
            until(lambda: len(replay.status()["watches"]) == ALL)
            replay.control(play=True)
            until(lambda: replay.status()["ended"])
            yield process
        finally:
            process.kill()


def test_ctrl_c_ends_it_nicely_and_nothing_is_overwritten(replay: Replay, tmp_path: Path) -> None:
    path = tmp_path / "prod.jsonl.zst"
    with command(replay, tmp_path, "--include", "tabs.example.com") as process:
        process.send_signal(signal.SIGINT)
        said = process.communicate(timeout=patient(30))[1]
        assert process.returncode == 0
    for words in ("is written:", "155 Lease", "not recorded: tabs.example.com", "causeline analyze"):
        assert words in said
    assert "last moments" not in said
    assert len([each for each in recorded(path) if isinstance(each, Entry)]) >= 300
    before = path.read_bytes()
    status, _, said = causeline(*arguments(replay, tmp_path))
    assert (status, path.read_bytes()) == (2, before)
    assert "already exists" in said


def test_one_that_is_killed_leaves_all_but_its_last_second(replay: Replay, tmp_path: Path) -> None:
    def written() -> int:
        return sum(isinstance(each, Entry) for each in read([(path, path.name)], bodies=False))

    path = tmp_path / "prod.jsonl.zst"
    with command(replay, tmp_path) as process:
        until(lambda: written() > 380)
        process.kill()
    status, output, errors = causeline("analyze", path, "--fail-on", "never")
    assert (status, errors) == (0, "")
    assert "the file was cut" in output
    assert "Lease volcano was held in turn" in output


def test_it_ends_by_itself_when_its_time_is_over(replay: Replay, tmp_path: Path) -> None:
    assert causeline(*arguments(replay, tmp_path), "--for", "2s")[0] == 0
    assert (tmp_path / "prod.jsonl.zst").exists()


def test_what_cannot_be_reached_or_used_leaves_no_file(tmp_path: Path) -> None:
    dead = arguments(Replay("http://127.0.0.1:9"), tmp_path)  # a port on which nothing listens
    status, _, said = causeline(*dead)
    assert (status, "127.0.0.1:9 cannot be reached" in said) == (1, True), said
    for content in ("", "a: [", "users: []", "[]", "current-context: x\ncontexts: []\nclusters: []\nusers: []"):
        (tmp_path / "config").write_text(content)
        status, _, said = causeline(*dead)
        assert (status, "Traceback" in said) == (1, False), said
    assert not (tmp_path / "prod.jsonl.zst").exists()


def test_durations() -> None:
    assert [duration(text) for text in ("90s", "10m", "1h30m")] == [90, 600, 5400]
    for text in ("", "10", "s", "1d", "-5s"):
        with pytest.raises(ValueError, match=rf"^{text}$"):
            duration(text)
