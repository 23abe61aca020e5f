"""These tests run the commands of docs/tutorial.md one after the other, and compare the results with its text."""

import os
import re
import subprocess
import sys
from pathlib import Path

from dashboard.services.launcher import SAMPLE
from tests import ROOT, services

STEP = re.compile(r"^```(?P<what>sh|text)\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)


def test_the_commands_say_what_the_tutorial_says_they_do(tmp_path: Path) -> None:
    page = (ROOT / "docs/tutorial.md").read_text(encoding="utf-8")
    section = page.split("\n## 8. ")[1].split("\n## ")[0]
    environment = os.environ | {"CAUSELINE_DATA_DIR": str(tmp_path / ".causeline"), "PYTHONPATH": str(ROOT)}
    for name in ("DATABASE_URL", "REDIS_URL"):  # Causeline starts its own servers, as in the tutorial
        del environment[name]
    services.prepare(tmp_path / ".causeline")  # earlier steps of the tutorial have made and migrated it
    (tmp_path / ".venv").symlink_to(Path(sys.executable).parent.parent)

    def typed(text: str) -> str:
        command = ["sh", "-c", text]
        done = subprocess.run(
            command, cwd=tmp_path, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )
        assert done.returncode in {0, 1}, done.stdout
        return " ".join(done.stdout.split())

    said = typed(f'PATH="$PWD/.venv/bin:$PATH" causeline import "{SAMPLE}" --name volcano-restart')
    exported = ""
    steps = list(STEP.finditer(section))
    assert [step["what"] for step in steps] == ["sh", "text", "sh", "text", "sh"]
    for step in steps:
        if step["what"] == "sh":
            exported = exported or step["text"].splitlines()[0]
            said = typed(f"{exported}\n{step['text']}")
        else:
            for line in step["text"].splitlines():
                assert line in said
    assert (tmp_path / "ring-findings.json").read_text(encoding="utf-8").startswith("{")
