"""These tests run the scripts of the GitHub Action and of the Tekton Task, and hold the two files against what they
name. Neither GitHub nor Tekton is needed."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
import yaml

from tests import ROOT
from tests.inputs.recordings import QUIET, SAMPLE

ACTION = ROOT / "deploy/github-action/action.yml"
TASK = ROOT / "deploy/tekton/causeline-analyze.yaml"


def read(path: Path) -> Any:
    return yaml.safe_load(path.read_text(encoding="utf-8"))


def command(folder: Path) -> Path:
    """Write a program `causeline` into a folder, which runs that of this checkout."""
    folder.mkdir(parents=True)
    (folder / "python").symlink_to(sys.executable)
    program = folder / "causeline"
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m dashboard.cli "$@"\n')
    program.chmod(0o755)
    return folder


def run(shell: list[str], script: str, arguments: list[str], folder: Path, **variables: str) -> tuple[int, str]:
    """Run a script in a folder, and return its exit status and its output."""
    environment = {"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT), **variables}
    file = folder / "script"
    file.write_text(script)
    done = subprocess.run(
        [*shell, file, *arguments], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    return done.returncode, done.stdout + done.stderr


def act(folder: Path, files: str, **inputs: str) -> tuple[int, str, dict[str, str]]:
    """Run the script of the action as GitHub does; return exit status, output, and the outputs of the step."""
    temporary, given = folder / "temporary files", {"FAIL_ON": "warning", "RULES": "", "NAMESPACES": "", **inputs}
    command(temporary / "causeline/bin")
    (step,) = (each for each in read(ACTION)["runs"]["steps"] if each.get("id") == "analyze")
    assert {*step["env"]} == {"FILES", *given}
    outputs = folder / "outputs"
    outputs.touch()
    variables = {"RUNNER_TEMP": str(temporary), "GITHUB_OUTPUT": str(outputs), "FILES": files, **given}
    shell = ["bash", "--noprofile", "--norc", "-eo", "pipefail"]
    status, output = run(shell, step["run"], [], folder, **variables)
    return status, output, dict(line.split("=", 1) for line in outputs.read_text().splitlines())


def do(folder: Path, files: list[str], fail_on: str, reports: Path | None = None) -> tuple[int, str, dict[str, str]]:
    """Run the script of the task as Tekton does; return exit status, output, and the results."""
    (step,) = read(TASK)["spec"]["steps"]
    (folder / "results").mkdir()
    paths = {name: str(folder / "results" / name.lower()) for name in ("INCIDENTS", "STATUS")}
    assert {each["name"] for each in step["env"]} == {"FAIL_ON", "REPORTS", "TMPDIR", *paths}
    scratch = folder / "scratch"
    scratch.mkdir()
    script = step["script"].replace("/scratch", str(scratch))
    path = f"{command(folder / 'bin')}:{os.environ['PATH']}"
    variables = {"FAIL_ON": fail_on, "REPORTS": str(reports or ""), "PATH": path, **paths}
    status, output = run(["sh"], script, files, folder, **variables)
    assert (reports or scratch).joinpath("causeline.sarif").exists()
    return status, output, {each.name: each.read_text() for each in (folder / "results").iterdir()}


@pytest.mark.parametrize(
    ("inputs", "status", "shown"),
    [
        ({}, 1, "Service ring was away under 3 Pods"),
        ({"FAIL_ON": "error"}, 0, "Service ring was away under 3 Pods"),
        ({"RULES": "pod-before-service\n"}, 0, "1 incident · 1 symptom · 2 findings (2 info)"),
        ({"NAMESPACES": "volcano-system\n\nvol-restart\n"}, 1, "Lease volcano"),
    ],
)
def test_the_action_fails_by_severity_and_writes_both_files(
    inputs: dict[str, str], status: int, shown: str, tmp_path: Path
) -> None:
    shutil.copy(SAMPLE, tmp_path / "audit log.zst")
    ended, output, outputs = act(tmp_path, "audit log.zst\n\n", **inputs)
    assert ended == status and shown in output, output
    (found,) = json.loads(Path(outputs["sarif"]).read_text())["runs"]
    tests = ElementTree.parse(outputs["junit"])
    assert found["results"][0]["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] == "audit%20log.zst"
    assert (tests.find(".//failure") is not None) == bool(status)


def test_the_action_ends_where_the_input_is_not_understood(tmp_path: Path) -> None:
    for files, inputs in (("--note.txt", {}), ("none.log", {}), ("--note.txt", {"FAIL_ON": "$(touch here)"})):
        folder = tmp_path / f"run-{len(list(tmp_path.iterdir()))}"
        folder.mkdir()
        (folder / "--note.txt").write_text("nothing")
        status, output, outputs = act(folder, files, **inputs)
        assert (status, outputs) == (2, {}), output
        assert not (folder / "here").exists()


def test_the_action_declares_what_it_uses_and_pins_other_actions() -> None:
    text, action = ACTION.read_text(encoding="utf-8"), read(ACTION)
    assert set(re.findall(r"inputs\.([\w-]+)", text)) == {*action["inputs"]}
    assert all(each["description"] for each in (*action["inputs"].values(), *action["outputs"].values()))
    uses = re.findall(r"uses: (.*)", text.split("\nname:", 1)[1])
    assert uses and all(re.fullmatch(r"[\w/-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+", each) for each in uses), uses
    steps = action["runs"]["steps"]
    assert all(each["shell"] == "bash" and "${{" not in each["run"] for each in steps if "run" in each)
    assert "secrets" not in text
    (install,) = (each["run"] for each in steps if each.get("name") == "Install Causeline")
    (backend,) = re.findall(r"sed -n ('[^']*')", install)
    assert f"sed -n {backend} requirements-dev.lock" in (ROOT / "Dockerfile").read_text(encoding="utf-8")
    assert install.count('pip" install') == install.count("--require-hashes") + install.count("--no-deps")


@pytest.mark.parametrize(("fail_on", "status"), [("warning", 1), ("error", 0)])
def test_the_task_fails_by_severity_and_has_results(fail_on: str, status: int, tmp_path: Path) -> None:
    shutil.copy(SAMPLE, tmp_path / "audit.log.zst")
    reports = tmp_path / "reports"
    reports.mkdir()
    ended, output, results = do(tmp_path, ["audit.log.zst"], fail_on, reports)
    assert ended == status and "Service ring was away" in output, output
    assert results == {"incidents": "4", "status": str(status)}
    assert ElementTree.parse(reports / "causeline.junit").find(".//testcase") is not None


def test_the_task_needs_no_workspace_for_reports(tmp_path: Path) -> None:
    shutil.copy(QUIET, tmp_path / "audit.log")
    assert do(tmp_path, ["audit.log"], "warning")[2] == {"incidents": "0", "status": "0"}


def test_the_task_declares_what_it_uses_and_runs_without_rights() -> None:
    text, spec = TASK.read_text(encoding="utf-8"), read(TASK)["spec"]
    for sort in ("params", "workspaces", "results"):
        declared = {each["name"] for each in spec[sort]}
        assert declared == set(re.findall(rf"\$\({sort}\.([\w-]+)", text)), sort
        assert all(each["description"] for each in spec[sort])
    (step,) = spec["steps"]
    assert "$(" not in step["script"], "what a pipeline passes is no part of the script"
    context = spec["stepTemplate"]["securityContext"]
    assert context["runAsNonRoot"] and not context["allowPrivilegeEscalation"]
    assert f"--uid {context['runAsUser']} " in (ROOT / "Dockerfile").read_text(encoding="utf-8")
