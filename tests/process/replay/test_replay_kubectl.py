"""These tests run unmodified kubectl against a replay in a process of its own, as users start it."""

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from collectors.replay import Replay
from tests import ROOT
from tests.patience import eventually, patient
from tests.recordings import SAMPLE

KUBECTL = shutil.which("kubectl") or shutil.which("kubectl", path=ROOT / ".venv/kubectl/usr/bin")
COMMITS = 572  # of the sample, up to the beginning of its violations
SECONDS = 30


def started(*arguments: str) -> "subprocess.Popen[str]":
    command = [sys.executable, "-m", "dashboard.cli", "replay", *arguments]
    pipe = subprocess.PIPE
    return subprocess.Popen(command, cwd=ROOT, env=os.environ.copy(), stdout=pipe, stderr=pipe, text=True)


@pytest.fixture(scope="module")
def kubeconfig(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    file = tmp_path_factory.mktemp("replay") / "kubeconfig"
    with started(str(SAMPLE), "--paused", "--write-kubeconfig", str(file)) as process:
        assert process.stdout
        url = process.stdout.readline().strip()
        Replay(url).control(step=COMMITS)
        yield file
        process.send_signal(signal.SIGTERM)
        assert process.wait(patient(SECONDS)) == 0


def replay_of(kubeconfig: Path) -> Replay:
    return Replay(yaml.safe_load(kubeconfig.read_text())["clusters"][0]["cluster"]["server"])


def command_of(kubeconfig: Path, *arguments: str) -> list[str]:
    assert KUBECTL, "kubectl is missing: deploy/install-kubectl.sh installs it"
    return [KUBECTL, *arguments, "--kubeconfig", str(kubeconfig), "--cache-dir", str(kubeconfig.parent / "cache")]


def kubectl(kubeconfig: Path, *arguments: str) -> str:
    done = subprocess.run(command_of(kubeconfig, *arguments), capture_output=True, text=True, timeout=patient(SECONDS))
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_get_shows_columns_and_ages_of_that_time(kubeconfig: Path) -> None:
    lines = kubectl(kubeconfig, "get", "pods", "--namespace", "vol-restart").splitlines()
    assert lines[0].split() == ["NAME", "READY", "STATUS", "RESTARTS", "AGE"]
    assert [line.split() for line in lines if line.startswith("ring-weak-0")] == [
        ["ring-weak-0", "1/1", "Running", "0", "1s"]
    ]
    assert "node-004" in kubectl(kubeconfig, "get", "pod", "ring-weak-0", "--namespace", "vol-restart", "-o", "wide")
    everything = kubectl(kubeconfig, "get", "all", "--all-namespaces")
    for name in ("pod/ring-weak-0", "service/ring", "deployment.apps/vs-online"):
        assert name in everything
    assert "ring" in kubectl(kubeconfig, "get", "vcjob", "--all-namespaces")


def test_get_shows_the_object_as_yaml(kubeconfig: Path) -> None:
    service = yaml.safe_load(kubectl(kubeconfig, "get", "service", "ring", "--namespace", "vol-restart", "-o", "yaml"))
    assert (service["apiVersion"], service["kind"], service["spec"]["clusterIP"]) == ("v1", "Service", "None")
    assert int(service["metadata"]["resourceVersion"]) <= int(replay_of(kubeconfig).status()["revisions"]["services"])


def test_describe_tells_of_an_object_and_its_events(kubeconfig: Path) -> None:
    output = kubectl(kubeconfig, "describe", "pod", "ring-weak-0", "--namespace", "vol-restart")
    assert "Controlled By:" in output
    assert "Job/ring" in output
    output = kubectl(kubeconfig, "describe", "rs", "vs-online-76bbb6958", "--namespace", "volcano-system")
    assert "SuccessfulCreate" in output


def test_events_are_told_by_what_they_are_of(kubeconfig: Path) -> None:
    output = kubectl(
        kubeconfig, "get", "events", "--namespace", "vol-restart", "--field-selector", "involvedObject.kind=PodGroup"
    )
    assert "Unschedulable" in output
    assert "job/ring" not in output


def test_labels_and_permissions_can_be_asked_for(kubeconfig: Path) -> None:
    output = kubectl(
        kubeconfig, "get", "pods", "--all-namespaces", "--selector", "volcano.sh/job-name=ring", "-o", "name"
    )
    assert sorted(output.split()) == [f"pod/ring-{name}" for name in ("steady-0", "steady-1", "steady-2", "weak-0")]
    assert kubectl(kubeconfig, "auth", "can-i", "list", "pods").strip() == "yes"
    assert "causeline-replay" in kubectl(kubeconfig, "get", "--raw", "/version")


def test_a_watch_follows_what_is_played(kubeconfig: Path) -> None:
    """This test must run last, because it plays the recording further."""
    arguments = ("get", "pods", "--namespace", "vol-restart", "--watch", "--output-watch-events", "-o", "json")
    with subprocess.Popen(command_of(kubeconfig, *arguments), stdout=subprocess.PIPE) as process:
        assert process.stdout
        first = json.loads(process.stdout.readline())
        eventually(lambda: replay_of(kubeconfig).status()["watches"], SECONDS)
        replay_of(kubeconfig).control(step=60)
        lines = [first]
        while lines[-1]["type"] != "DELETED":
            lines.append(json.loads(process.stdout.readline()))
        process.terminate()
    assert [event["type"] for event in lines[:4]] == ["ADDED"] * 4
    assert lines[-1]["object"]["metadata"]["name"] == "ring-weak-0"


def test_what_cannot_be_replayed_is_listed_with_the_reason(tmp_path: Path) -> None:
    file = tmp_path / "notes.txt"
    file.write_text("nothing of Kubernetes")
    process = started(str(file))
    _, output = process.communicate(timeout=patient(SECONDS))
    assert process.returncode == 2
    assert "notes.txt" in output
    process = started(str(SAMPLE), "--loop", "--at", "2026-11-21T07:52:00Z")
    _, output = process.communicate(timeout=patient(SECONDS))
    assert process.returncode == 2
    assert "--at" in output
    process = started(str(SAMPLE), "--at", "yesterday")
    _, output = process.communicate(timeout=patient(SECONDS))
    assert process.returncode == 2
    assert "--at" in output


def test_a_port_that_is_taken_is_told(kubeconfig: Path) -> None:
    process = started(str(SAMPLE), "--port", replay_of(kubeconfig).url.rpartition(":")[2])
    _, output = process.communicate(timeout=patient(SECONDS))
    assert process.returncode == 1
    assert "--port" in output
