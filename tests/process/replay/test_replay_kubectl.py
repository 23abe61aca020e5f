"""These tests run unmodified kubectl against a replay in a process of its own, as users start it."""

import json
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
from tests.clients.command import causeline
from tests.inputs.recordings import SAMPLE
from tests.patience import eventually, patient

KUBECTL = shutil.which("kubectl") or shutil.which("kubectl", path=ROOT / ".venv/kubectl/usr/bin")
COMMITS = 572  # of the sample, up to the beginning of its violations
SECONDS = 30


@pytest.fixture(scope="module")
def kubeconfig(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    file = tmp_path_factory.mktemp("replay") / "kubeconfig"
    command = [
        sys.executable,
        "-m",
        "dashboard.cli",
        "replay",
        str(SAMPLE),
        "--paused",
        "--write-kubeconfig",
        str(file),
    ]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
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


def test_objects_are_described_with_their_events_and_reported_as_yaml(kubeconfig: Path) -> None:
    namespace = ("--namespace", "vol-restart")
    service = yaml.safe_load(kubectl(kubeconfig, "get", "service", "ring", *namespace, "-o", "yaml"))
    assert (service["apiVersion"], service["kind"], service["spec"]["clusterIP"]) == ("v1", "Service", "None")
    assert int(service["metadata"]["resourceVersion"]) <= int(replay_of(kubeconfig).status()["revisions"]["services"])
    output = kubectl(kubeconfig, "describe", "pod", "ring-weak-0", *namespace)
    assert "Controlled By:" in output and "Job/ring" in output
    output = kubectl(kubeconfig, "describe", "rs", "vs-online-76bbb6958", "--namespace", "volcano-system")
    assert "SuccessfulCreate" in output


def test_fields_labels_and_permissions_can_be_asked_for(kubeconfig: Path) -> None:
    field = "involvedObject.kind=PodGroup"
    output = kubectl(kubeconfig, "get", "events", "--namespace", "vol-restart", "--field-selector", field)
    assert "Unschedulable" in output and "job/ring" not in output
    label = "volcano.sh/job-name=ring"
    output = kubectl(kubeconfig, "get", "pods", "--all-namespaces", "--selector", label, "-o", "name")
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


def test_what_cannot_be_replayed_is_said_with_the_reason(kubeconfig: Path, tmp_path: Path) -> None:
    file = tmp_path / "notes.txt"
    file.write_text("nothing of Kubernetes")
    taken = replay_of(kubeconfig).url.rpartition(":")[2]
    for arguments, expected, says in (
        ((file,), 2, "notes.txt"),
        ((SAMPLE, "--loop", "--at", "2026-11-21T07:52:00Z"), 2, "--at"),
        ((SAMPLE, "--port", taken), 1, "--port"),
    ):
        status, _, errors = causeline("replay", *arguments)
        assert status == expected and says in errors, errors
