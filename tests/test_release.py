"""A release has one version, which everything takes from one place, and an entry in the changelog."""

import re
import subprocess
from pathlib import Path

import pytest
from packaging.version import Version

from dashboard import __version__
from dashboard.cli import __main__ as cli
from dashboard.web.api import api
from tests.variables import ROOT

HEADING = re.compile(r"^## \[(.+?)\](?: - (\d{4}-\d\d-\d\d))?$", re.MULTILINE)


def released() -> list[tuple[Version, str]]:
    """The releases that the changelog tells, newest first, each with its date."""
    (first, undated), *releases = HEADING.findall((ROOT / "CHANGELOG.md").read_text(encoding="utf-8"))
    assert (first, undated) == ("Unreleased", "")
    return [(Version(version), date) for version, date in releases]


def test_the_command_and_the_api_say_the_version(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        cli.main(["--version"])
    assert ended.value.code == 0
    assert capsys.readouterr().out == f"causeline {__version__}\n"
    assert api.get_openapi_schema(path_prefix="")["info"]["version"] == __version__


def test_the_version_is_written_in_one_file() -> None:
    files = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.split()
    written = f'"{__version__}"'
    ours = [Path(name) for name in files if name.endswith((".py", ".toml", ".yml", ".yaml", ".json", "Dockerfile"))]
    assert [str(name) for name in ours if written in (ROOT / name).read_text(encoding="utf-8")] == [
        "dashboard/__init__.py"
    ]


def test_the_changelog_tells_releases_from_the_newest_to_the_oldest() -> None:
    releases = released()
    assert releases == sorted(releases, reverse=True)
    assert len({version for version, _ in releases}) == len(releases)
    assert all(date for _, date in releases)


def test_the_version_is_the_newest_release_or_leads_to_the_next() -> None:
    newest, _ = released()[0]
    ours = Version(__version__)
    assert ours == newest or (ours.is_devrelease and ours > newest)
