"""These tests check a release: its version is in one place, the changelog has an entry for it, and it has an SBOM."""

import json
import re
import shutil
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import yaml
from packaging.version import Version

from dashboard import __version__
from dashboard.cli import __main__ as cli
from dashboard.web.api import api
from deploy import sbom
from tests import ROOT

MADE = datetime(2026, 11, 22, tzinfo=UTC)
HEADING = re.compile(r"^## \[(.+?)\](?: - (\d{4}-\d\d-\d\d))?$", re.MULTILINE)


def released() -> list[tuple[Version, str]]:
    """Return version and date of each release in the changelog, newest first."""
    (first, undated), *releases = HEADING.findall((ROOT / "CHANGELOG.md").read_text(encoding="utf-8"))
    assert (first, undated) == ("Unreleased", "")
    return [(Version(version), date) for version, date in releases]


def test_the_command_and_the_api_say_the_version(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        cli.main(["--version"])
    assert ended.value.code == 0
    assert capsys.readouterr().out == f"causeline {__version__}\n"
    assert api.get_openapi_schema(path_prefix="")["info"]["version"] == __version__


def test_the_version_is_written_by_hand_in_one_file() -> None:
    """`make chart` copies it into the Helm chart and the manifests; tests/process/chart/test_valid.py compares them."""
    files = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.split()
    written = f'"{__version__}"'
    by_hand = [
        name for name in files if not name.startswith(("deploy/chart/causeline/Chart.yaml", "deploy/manifests/"))
    ]
    ours = [Path(name) for name in by_hand if name.endswith((".py", ".toml", ".yml", ".yaml", ".json", "Dockerfile"))]
    assert [str(name) for name in ours if written in (ROOT / name).read_text(encoding="utf-8")] == [
        "dashboard/__init__.py"
    ]


def test_the_changelog_tells_releases_from_the_newest_to_the_oldest_and_the_version_is_the_newest_or_next() -> None:
    releases = released()
    assert releases == sorted(releases, reverse=True)
    assert len({version for version, _ in releases}) == len(releases)
    assert all(date for _, date in releases)
    newest, ours = releases[0][0], Version(__version__)
    assert ours == newest or (ours.is_devrelease and ours > newest)


@pytest.fixture(scope="module")
def bom() -> dict[str, Any]:
    document: dict[str, Any] = json.loads(sbom.document(ROOT, __version__, MADE))
    return document


def test_the_sbom_is_of_this_version_and_says_when_it_was_made(bom: dict[str, Any]) -> None:
    assert (bom["bomFormat"], bom["specVersion"]) == ("CycloneDX", "1.6")
    assert bom["metadata"]["component"]["purl"] == f"pkg:pypi/causeline@{__version__}"
    assert bom["metadata"]["timestamp"] == MADE.isoformat()
    assert json.loads(sbom.document(ROOT, __version__, MADE)) == bom


def test_the_sbom_names_every_package_that_is_installed_with_its_files(bom: dict[str, Any]) -> None:
    lock = (ROOT / "requirements-all.lock").read_text(encoding="utf-8")
    pinned = dict(re.findall(r"^([a-z0-9-]+)(?:\[\S+\])?==([^\s;]+)", lock, re.MULTILINE))
    packages = {each["purl"]: each for each in bom["components"] if each["purl"].startswith("pkg:pypi/")}
    assert set(packages) == {f"pkg:pypi/{name}@{version}" for name, version in pinned.items()}
    hashes = [
        each["content"]
        for package in packages.values()
        for reference in package["externalReferences"]
        for each in reference["hashes"]
    ]
    assert sorted(hashes) == sorted(re.findall("--hash=sha256:([0-9a-f]+)", lock))


def test_the_sbom_names_every_vendored_file_with_version_licence_and_hash(bom: dict[str, Any]) -> None:
    declared = {
        each["properties"][0]["value"]: (
            each["version"], each["licenses"][0]["license"]["id"], each["hashes"][0]["content"]
        )
        for each in bom["components"]
        if each["purl"].startswith("pkg:npm/")
    }  # fmt: skip
    notes = {about.parent: json.loads(about.read_text("utf-8")) for about in (ROOT / sbom.VENDOR).glob("*/VENDOR.json")}
    assert declared == {
        str((folder / note["file"]).relative_to(ROOT)): (note["version"], note["licence"], note["sha256"])
        for folder, note in notes.items()
    }
    assert "pkg:npm/plotly.js-cartesian-dist-min@" in " ".join(each["purl"] for each in bom["components"])


def test_the_sbom_says_what_needs_what(bom: dict[str, Any]) -> None:
    needs = {each["ref"]: set(each.get("dependsOn", ())) for each in bom["dependencies"]}
    assert {"celery", "django"} <= needs["causeline"]
    assert any(each.startswith("plotly.js-cartesian-dist-min#") for each in needs["causeline"])
    assert "kombu" not in needs["causeline"]
    assert "kombu" in needs["celery"]
    reached: set[str] = set()
    waiting = ["causeline"]
    while waiting:
        if (each := waiting.pop()) not in reached:
            reached.add(each)
            waiting.extend(needs[each])
    assert reached == {"causeline", *(each["bom-ref"] for each in bom["components"])}


def test_the_licence_of_what_is_installed_here_is_known(bom: dict[str, Any]) -> None:
    unknown = {each["name"] for each in bom["components"] if not each.get("licenses")}
    assert unknown <= {"async-timeout", "colorama", "httpx2-jsfetch", "pywin32", "tzdata"} | {"resvg-py"}, (
        "what other Pythons and systems need is not installed here, and the metadata of resvg-py names no licence"
    )


def test_an_sbom_that_breaks_the_schema_is_not_written(tmp_path: Path) -> None:
    lock = (ROOT / "requirements-all.lock").read_text(encoding="utf-8")
    (tmp_path / "requirements-all.lock").write_text(lock, encoding="utf-8")
    broken = tmp_path / sbom.VENDOR / "plotly"
    shutil.copytree(ROOT / sbom.VENDOR / "plotly", broken, ignore=shutil.ignore_patterns("*.js"))
    note = json.loads((broken / "VENDOR.json").read_text(encoding="utf-8"))
    (broken / "VENDOR.json").write_text(json.dumps(note | {"sha256": "not a hash"}), encoding="utf-8")
    with pytest.raises(sbom.NotValid, match="not a hash"):
        sbom.document(tmp_path, __version__, MADE)


def test_the_hooks_run_what_make_check_runs_and_pre_commit_takes_them() -> None:
    config = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text(encoding="utf-8"))
    entries = [hook["entry"] for repo in config["repos"] for hook in repo["hooks"]]
    (targets,) = re.findall(r"^check: ([\w ]+) ##", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
    assert entries == [f"make --no-print-directory {target}" for target in targets.split()]
    command = [sys.executable, "-m", "pre_commit", "validate-config", ".pre-commit-config.yaml"]
    result = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert result.returncode == 0, result.stdout + result.stderr


@pytest.mark.parametrize("form", sorted((ROOT / ".github/ISSUE_TEMPLATE").glob("*.yml")), ids=lambda form: form.stem)
def test_an_issue_form_is_one_that_github_takes(form: Path) -> None:
    said = yaml.safe_load(form.read_text(encoding="utf-8"))
    assert said["name"] and said["description"]
    asked = [field for field in said["body"] if field["type"] != "markdown"]
    assert {field["type"] for field in asked} <= {"textarea", "input", "dropdown", "checkboxes"}
    assert len({field["id"] for field in asked}) == len(asked) == len({field["attributes"]["label"] for field in asked})
    assert any(field.get("validations", {}).get("required") for field in asked)
