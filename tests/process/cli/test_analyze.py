"""These tests run `causeline analyze` and `causeline rules` in processes of their own, as pipelines do."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.clients.command import causeline, process
from tests.inputs.recordings import QUIET, SAMPLE
from tests.patience import patient


def test_a_terminal_that_does_not_speak_utf_8_gets_findings_with_their_proof_and_a_failure() -> None:
    status, output, errors = process("analyze", SAMPLE, PYTHONIOENCODING="ascii", PYTHONUTF8="0")
    assert (status, errors) == (1, "")
    assert "Service ring was away for ~ 50 ms under 3 running Pods" in output
    assert "revision 582" in output and f"{SAMPLE}:" in output
    assert "\033" not in output  # no colours in a pipe


def test_what_cannot_be_understood_is_said_and_is_no_success(tmp_path: Path) -> None:
    picture = tmp_path / "picture.png"
    picture.write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(100))
    status, output, errors = causeline("analyze", picture)
    assert (status, output) == (2, "")
    assert "PNG picture" in errors
    assert causeline("analyze", tmp_path / "missing")[0] == 2
    status, _, errors = causeline("analyze", SAMPLE, "--rule", "no-such-rule")
    assert status == 2 and "service-gap" in errors


def test_a_setting_of_a_rule_is_taken_from_the_environment() -> None:
    assert process("analyze", SAMPLE, CAUSELINE_RULE_SERVICE_GAP_TEARDOWN="soon")[0] == 2
    status, output, _ = process("rules", "service-gap", CAUSELINE_RULE_SERVICE_GAP_TEARDOWN="7")
    assert status == 0 and "CAUSELINE_RULE_SERVICE_GAP_TEARDOWN = 7 s" in output


@pytest.mark.parametrize("arguments", [["analyze", SAMPLE], ["rules"]])
def test_a_reader_that_leaves_and_a_full_disk_are_no_crash(arguments: list[str | Path]) -> None:
    command = [sys.executable, "-m", "dashboard.cli", *map(str, arguments)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout and process.stderr
        process.stdout.close()
        assert process.stderr.read() == b""
    assert process.returncode == (1 if arguments[0] == "analyze" else 0)
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, timeout=patient(60), check=False)
    assert done.returncode == 2
    assert done.stderr == b"causeline: standard output cannot be written: No space left on device.\n"


def test_ctrl_c_ends_it_in_silence(tmp_path: Path) -> None:
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    heed = "import signal, sys; signal.signal(signal.SIGINT, signal.default_int_handler)"  # CI may ignore SIGINT
    run = f"{heed}; from dashboard.cli.__main__ import main; sys.exit(main(['analyze', {str(fifo)!r}]))"
    command = [sys.executable, "-c", run]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    with process, fifo.open("wb") as log:  # opening waits until the command reads
        log.write(QUIET.read_bytes())
        log.flush()
        time.sleep(0.5)  # by then the command waits for more input
        process.send_signal(signal.SIGINT)
        assert process.communicate(timeout=patient(60)) == (b"", b"")
    assert process.returncode == 130
