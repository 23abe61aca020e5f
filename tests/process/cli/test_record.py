"""These tests run `causeline record`: it writes a cluster to a file without a server or a database."""

import json
import resource
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from collectors.analysis import analyse
from collectors.formats import Limits, Skipped, read
from collectors.recorder import Recorder
from collectors.replay import Replay
from collectors.watch.output import RecordingFile
from dashboard.cli.record import duration
from tests.command import process
from tests.patience import patient
from tests.reflecting import WATCH, api_of, replayed, until
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


def test_each_watch_tells_how_far_it_is_whole(replay: Replay, tmp_path: Path) -> None:
    """This also holds if the server sends no bookmarks: then a list shows only what is known already."""
    recording = Recording(replay, tmp_path / "prod.jsonl")
    until(recording.watches)
    replay.control(play=True)
    until(lambda: replay.status()["ended"])
    marks = [each for each in recording.end() if isinstance(each, Mark)]
    listed = {each.kind: each for each in marks if each.what is MarkType.LISTED}
    reached = {each.kind: each.revision for each in marks if each.what is MarkType.BOOKMARK}
    assert len(listed) == len(reached) == ALL
    assert reached["Pod"] == int(replay.status()["revisions"]["pods"])
    assert [each for each in marks if each.what in (MarkType.TOGETHER, MarkType.APART) and each.kind == "Lease"]
    assert len(recording.recorder.complete) == ALL


def test_a_gap_and_what_may_not_be_read_are_told(replay: Replay, tmp_path: Path) -> None:
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


def test_one_namespace_alone(replay: Replay, tmp_path: Path) -> None:
    replay.control(step=400)
    recording = Recording(replay, tmp_path / "prod.jsonl", namespace="vol-restart")
    until(recording.watches)
    namespaces = {each.ref.namespace for each in recording.end() if isinstance(each, Entry)}
    assert namespaces == {"vol-restart"}


def test_what_is_excluded_is_not_watched(replay: Replay, tmp_path: Path) -> None:
    recording = Recording(replay, tmp_path / "prod.jsonl", exclude=["events", "*.volcano.sh"])
    until(lambda: recording.watches(ALL - 3))
    kinds = {(each.ref.group, each.ref.kind) for each in recording.end() if isinstance(each, Entry)}
    assert ("", "Pod") in kinds
    assert not {kind for kind in kinds if "volcano" in kind[0] or kind[1] == "Event"}


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


COMMANDS: list[subprocess.Popen[str]] = []


@pytest.fixture(autouse=True)
def no_command_outlives_its_test() -> Iterator[None]:
    yield
    while COMMANDS:
        with COMMANDS.pop() as process:
            process.kill()


class Command:
    """This class runs `causeline record` as a person does."""

    def __init__(self, replay: Replay, folder: Path, *arguments: str) -> None:
        config = folder / "config"
        config.write_text(json.dumps(replay.kubeconfig))
        self.path = folder / "prod.jsonl.zst"
        command = [
            sys.executable,
            "-m",
            "dashboard.cli",
            "record",
            "--kubeconfig",
            str(config),
            "-o",
            str(self.path),
        ]
        self.process = subprocess.Popen([*command, *arguments], stderr=subprocess.PIPE, text=True)
        COMMANDS.append(self.process)

    def ended(self) -> tuple[int, str]:
        _, errors = self.process.communicate(timeout=patient(30))
        return self.process.returncode, errors


def test_ctrl_c_ends_it_nicely(replay: Replay, tmp_path: Path) -> None:
    command = Command(replay, tmp_path, "--include", "tabs.example.com")
    until(lambda: len(replay.status()["watches"]) == ALL)
    replay.control(play=True)
    until(lambda: replay.status()["ended"])
    command.process.send_signal(signal.SIGINT)
    status, said = command.ended()
    assert status == 0
    for words in ("is written:", "155 Lease", "not recorded: tabs.example.com", "causeline analyze"):
        assert words in said
    assert "last moments" not in said
    assert len([each for each in recorded(command.path) if isinstance(each, Entry)]) >= 300


def test_one_that_is_killed_leaves_all_but_its_last_second(replay: Replay, tmp_path: Path) -> None:
    command = Command(replay, tmp_path)
    until(lambda: len(replay.status()["watches"]) == ALL)
    replay.control(play=True)
    until(lambda: replay.status()["ended"])
    until(lambda: written(command.path) > 380)
    command.process.kill()
    command.ended()
    status, output, errors = process("analyze", command.path, "--fail-on", "never")
    assert (status, errors) == (0, "")
    assert "the file was cut" in output
    assert "Lease volcano was held in turn" in output


def written(path: Path) -> int:
    """Return the number of changes in a file that is being written."""
    return sum(isinstance(each, Entry) for each in read([(path, path.name)], bodies=False))


def test_it_ends_by_itself_and_overwrites_nothing(replay: Replay, tmp_path: Path) -> None:
    status, said = Command(replay, tmp_path, "--for", "3s").ended()
    assert status == 0, said
    before = (tmp_path / "prod.jsonl.zst").read_bytes()
    status, said = Command(replay, tmp_path, "--for", "3s").ended()
    assert (status, (tmp_path / "prod.jsonl.zst").read_bytes()) == (2, before)
    assert "already exists" in said


def test_a_cluster_that_cannot_be_reached_leaves_no_file(replay: Replay, tmp_path: Path) -> None:
    dead = Replay("http://127.0.0.1:9")  # a port on which nothing listens
    status, said = Command(dead, tmp_path).ended()
    assert (status, (tmp_path / "prod.jsonl.zst").exists()) == (1, False)
    assert "127.0.0.1:9 cannot be reached" in said
    assert "Traceback" not in said


def test_a_kubeconfig_that_is_none(tmp_path: Path) -> None:
    for content in ("", "a: [", "users: []", "[]", "current-context: x\ncontexts: []\nclusters: []\nusers: []"):
        (tmp_path / "config").write_text(content)
        output = tmp_path / "out.jsonl"
        status, _, said = process("record", "--kubeconfig", tmp_path / "config", "-o", output)
        assert (status, output.exists(), "Traceback" in said) == (1, False, False), said


@pytest.mark.parametrize(("text", "seconds"), [("90s", 90), ("10m", 600), ("1h30m", 5400)])
def test_durations(text: str, seconds: float) -> None:
    assert duration(text) == seconds


@pytest.mark.parametrize("text", ["", "10", "s", "1d", "-5s"])
def test_what_is_no_duration(text: str) -> None:
    with pytest.raises(ValueError, match=rf"^{text}$"):
        duration(text)
