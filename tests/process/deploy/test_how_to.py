"""These tests follow the pages of docs/how-to: their files are written into a copy of the project, and their commands
run."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests import ROOT

# A permission is a decorator on a view, so its page has no files.
PAGES = sorted({*(ROOT / "docs/how-to").glob("add-*.md")} - {ROOT / "docs/how-to/add-a-permission.md"})
STEP = re.compile(r"^```(python title=(?P<file>\S+)|sh)\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)
COPIED = (
    "collectors", "dashboard", "deploy", "docs", "tests", "timeline", "README.md", "Makefile", "pyproject.toml",
    "requirements.lock",
)  # fmt: skip


def copy_of_the_project(folder: Path) -> Path:
    for name in COPIED:
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__", "browser"))
        else:
            shutil.copy2(ROOT / name, folder)
    (folder / ".venv/bin").mkdir(parents=True)
    for name in ("pytest", "causeline"):
        (folder / ".venv/bin" / name).symlink_to(Path(sys.executable).parent / name)
    (folder / ".venv/runtime").touch()  # the file tells make that everything is installed
    return folder


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.stem)
def test_following_the_page_leads_to_its_end(page: Path, tmp_path: Path) -> None:
    project = copy_of_the_project(tmp_path)
    steps = list(STEP.finditer(page.read_text(encoding="utf-8")))
    assert {bool(step["file"]) for step in steps} == {True, False}
    environment = {**os.environ, "PYTHONPATH": str(project)}
    for step in steps:
        if step["file"]:
            (project / step["file"]).write_text(step["text"], encoding="utf-8")
            continue
        command = ["sh", "-ec", step["text"].replace("/tmp/", f"{tmp_path}/")]
        done = subprocess.run(command, cwd=project, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
    written = [step["file"] for step in steps if step["file"]]
    for act in (["check"], ["format", "--check"]):
        linted = [sys.executable, "-m", "ruff", *act, "--config", str(ROOT / "pyproject.toml"), *written]
        assert subprocess.run(linted, cwd=project, check=False).returncode == 0
