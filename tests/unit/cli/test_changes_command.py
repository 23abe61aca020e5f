"""`causeline changes` says what changed before, without a server; reports from the command line do, too."""

import json
from pathlib import Path

import pytest

from dashboard.cli.__main__ import main
from tests.inputs.applied import deployment, rollout
from tests.inputs.recordings import SAMPLE

HOSTILE = "\x1b[31mred\n"


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Path:
    log = rollout()
    log.write("Deployment", "other", 80, "create", by="bob", **deployment(HOSTILE))
    log.write("Deployment", "other", 90, by=HOSTILE, **deployment(HOSTILE + "2"))
    path = tmp_path_factory.mktemp("shop") / "audit.log"
    path.write_text("".join(f"{json.dumps(line)}\n" for line in log.lines))
    return path


def test_it_lists_what_changed_before_a_time(shop: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["changes", "--before", "2026-11-21T12:01:15Z", str(shop)]) == 0
    shown = capsys.readouterr().out
    assert shown.startswith("What changed before 2026-11-21 12:01:15.000 UTC, in 30 minutes\n1. ")
    assert "Deployment web: image of web shop:1 → shop:2" in shown
    assert "ConfigMap settings: data changed" in shown
    assert "by kubectl (alice)" in shown
    words = " ".join(shown.split())
    assert "3 steps of the rollout; the last one listed: ReplicaSet web-2: replicas 1 → 2 at 12:01:11" in words
    assert "Deployment other" not in shown


def test_it_ranks_by_the_distance_from_an_object_and_ends_with_the_recording(
    shop: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["changes", "--about", "shop/deployment/web", "--output", "json", str(shop)]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["before"] == "2026-11-21T12:01:30.000000Z"
    assert [each["distance"] for each in found["changes"]] == ["object", "namespace", "object", "namespace"]
    assert found["changes"][0]["text"] == "Deployment web: image of web shop:1 → shop:2, and 1 more object"
    assert found["changes"][0]["writes"][0]["url"] == ""


def test_names_from_the_recording_cannot_change_the_terminal(shop: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["changes", "--before", "2026-11-21T12:02:00Z", str(shop)]) == 0
    shown = capsys.readouterr().out
    assert "image of web" in shown
    assert "\x1b" not in shown


def test_without_a_time_it_says_what_changed_before_each_incident(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["changes", str(SAMPLE)]) == 0
    shown = capsys.readouterr().out
    assert "Service ring was away under 3 Pods, 2 times" in shown
    assert "Job.batch.volcano.sh ring was created" in shown
    assert main(["changes", "--output", "json", "--minutes", "1440", "--limit", "1", str(SAMPLE)]) == 0
    incidents = json.loads(capsys.readouterr().out)["incidents"]
    assert {"service-gap", "lease-shared-config"} <= {each["rule"] for each in incidents}
    assert all(len(each["changes"]) == 1 and each["minutes"] == 1440 for each in incidents)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--before", "yesterday"], "yesterday is not a valid time"),
        (["--about", "web"], "names no owner"),
        (["--about", "shop/Deployment/none"], "no Deployment none was observed in shop"),
    ],
)
def test_what_is_not_understood_is_said(
    shop: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], words: str
) -> None:
    assert main(["changes", *arguments, str(shop)]) == 2
    assert words in capsys.readouterr().err


def test_the_report_of_files_says_what_changed(shop: Path, tmp_path: Path) -> None:
    target = tmp_path / "report.md"
    assert main(["report", str(SAMPLE), "-o", str(target)]) == 0
    text = target.read_text()
    assert text.count("**Changed before**") == text.count("\n### ")
    assert "ring was created" in text
