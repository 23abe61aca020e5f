"""These tests check the wheel, which holds all that runs and nothing else, the lock files, and the repository's top
level."""

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tomllib
import venv
import zipfile
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, files
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from dashboard import __version__
from deploy import install, release
from tests import ROOT
from tests.patience import patient
from tests.unit.formats.test_otlp_format import logs, message

TOP_LEVEL = {
    ".ci", ".dockerignore", ".github", ".gitignore", ".pre-commit-config.yaml", "CHANGELOG.md", "CONTRIBUTING.md",
    "Dockerfile", "LICENSE", "Makefile", "README.md", "SECURITY.md", "bench", "collectors", "dashboard", "deploy",
    "docker-compose.yml", "docs", "manage.py", "mkdocs.yml", "pyproject.toml", "requirements-dev.lock",
    "requirements-all.lock", "requirements.lock", "templates", "tests", "timeline",
}  # fmt: skip
BUILT_FROM = (
    "collectors", "dashboard", "templates", "timeline", "LICENSE", "README.md", "pyproject.toml",
    "requirements-all.lock",
)  # fmt: skip
MADE = datetime(2026, 11, 22, tzinfo=UTC)


def tracked() -> list[str]:
    return subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.split("\n")


def run(command: list[str | Path], folder: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run a command in a folder without a checkout, and with only PATH of this process's environment."""
    env = {"PATH": os.environ["PATH"], "HOME": str(folder), **environment}
    return subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, timeout=patient(120))


@pytest.fixture(scope="module")
def dist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a release of a copy of this checkout, since building leaves files behind."""
    source, dist = tmp_path_factory.mktemp("source"), tmp_path_factory.mktemp("dist")
    for name in BUILT_FROM:
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, source / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(ROOT / name, source)
    release.build(source, dist, MADE)
    return dist


@pytest.fixture(scope="module")
def wheel(dist: Path) -> Path:
    (built,) = dist.glob("*.whl")
    return built


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the programs of an environment with the wheel, which sees the packages of this environment but not the
    checkout."""
    folder = tmp_path_factory.mktemp("installed")
    programs = with_wheel(folder, wheel)
    # Python does not search a path from a .pth file for further .pth files, so the checkout is not visible.
    (site_of(folder) / "dependencies.pth").write_text(sysconfig.get_path("purelib"), encoding="utf-8")
    return programs


@pytest.fixture(scope="module")
def without_extras(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the programs of an environment with the wheel, which sees the packages of requirements.lock alone."""
    folder = tmp_path_factory.mktemp("without_extras")
    programs = with_wheel(folder, wheel)
    site, packages = site_of(folder), Path(sysconfig.get_path("purelib"))
    for name in pins("requirements.lock"):
        try:
            parts = {each.parts[0] for each in files(name) or ()}
        except PackageNotFoundError:  # it is for another Python or system
            continue
        for part in parts - {"..", "__pycache__"}:
            if not (site / part).exists():
                (site / part).symlink_to(packages / part)
    return programs


def with_wheel(folder: Path, wheel: Path) -> Path:
    """Make an environment that has the wheel alone, and return the folder of its programs."""
    venv.create(folder / "venv")
    programs = folder / "venv/bin"
    pip: list[str | Path] = [sys.executable, "-m", "pip", "--python", programs / "python"]
    result = run([*pip, "install", "--no-deps", "--no-index", wheel], folder)
    assert result.returncode == 0, result.stdout + result.stderr
    return programs


def site_of(folder: Path) -> Path:
    return Path(sysconfig.get_path("purelib", vars={"base": str(folder / "venv"), "platbase": str(folder / "venv")}))


def in_installed(programs: Path, code: str) -> list[str]:
    """Run Python code in the environment whose programs are given, and return the lines that it prints."""
    settings = {"CAUSELINE_SECRET_KEY": "x" * 32, "DATABASE_URL": "postgresql:///x", "REDIS_URL": "redis://x"}
    settings["DJANGO_SETTINGS_MODULE"] = "dashboard.settings"
    result = run([programs / "python", "-c", code], programs.parent.parent, **settings)
    assert result.returncode == 0, result.stderr
    return result.stdout.splitlines()


def test_a_release_is_a_wheel_an_sdist_an_sbom_and_their_hashes(dist: Path) -> None:
    name = f"causeline-{__version__}"
    files = {f"{name}-py3-none-any.whl", f"{name}.tar.gz", f"{name}.cdx.json"}
    assert {file.name for file in dist.iterdir()} == files | {release.SUMS}
    sums = [line.split("  ") for line in (dist / release.SUMS).read_text(encoding="utf-8").splitlines()]
    assert {name: hashlib.sha256((dist / name).read_bytes()).hexdigest() for name in files} == {
        name: digest for digest, name in sums
    }


def test_the_wheel_holds_the_three_packages_their_licences_and_nothing_else(wheel: Path) -> None:
    assert wheel.name.startswith(f"causeline-{__version__}-")
    names = set(zipfile.ZipFile(wheel).namelist())
    tops = {name.split("/")[0] for name in names if ".dist-info/" not in name}
    assert tops == {"collectors", "dashboard", "timeline"}
    shipped = re.compile(r"(collectors|dashboard|timeline|templates)/(?!.*README\.md$)")
    ours = {name for name in tracked() if shipped.match(name) and (ROOT / name).exists()}
    assert {re.sub("^templates/", "dashboard/templates/", name) for name in ours} - names == set()
    licences = ["LICENSE", *(str((about.parent / "LICENSE").relative_to(ROOT)) for about, _, _ in vendored())]
    for licence in licences:
        assert any(name.endswith(f".dist-info/licenses/{licence}") for name in names), licence


def test_the_installed_command_explains_itself_says_its_version_and_writes_a_report(
    installed: Path, tmp_path: Path
) -> None:
    assert "demo" in run([installed / "causeline", "--help"], tmp_path).stdout
    assert run([installed / "causeline", "--version"], tmp_path).stdout == f"causeline {__version__}\n"
    recording = ROOT / "tests/rules/service-gap/quiet-collection-deleted.jsonl"
    result = run([installed / "causeline", "report", recording, "-o", tmp_path / "report.html"], tmp_path)
    assert result.returncode == 0, result.stderr
    assert f"Causeline {__version__}, with plotly.js" in (tmp_path / "report.html").read_text(encoding="utf-8")


def test_the_command_of_a_checkout_is_that_of_the_package() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    module, function = project["scripts"]["causeline"].split(":")
    assert f"from {module} import {function};" in install.CODE


INSPECT = """
import dashboard, django, importlib.resources
django.setup()
from django.contrib.staticfiles import finders
from django.template.loader import get_template
print(dashboard.__file__, get_template('home.html').origin.name, *map(finders.find, %r), sep="\\n")
print(*sorted(file.name for file in (importlib.resources.files('dashboard') / 'samples').iterdir()))
"""


def test_the_installed_code_templates_static_files_and_samples_are_not_those_of_the_checkout(installed: Path) -> None:
    files = [str((about.parent / file).relative_to(ROOT / "dashboard/static")) for about, file, _ in vendored()]
    *found, samples = in_installed(installed, INSPECT % files)
    assert len(found) == 2 + len(files)
    assert all(path.startswith(str(installed.parent)) for path in found)
    assert samples.split() == sorted(path.name for path in (ROOT / "dashboard/samples").iterdir())


IMPORT_ALL = """
import django, importlib, pkgutil
django.setup()
for top in ("collectors", "dashboard", "timeline"):
    for each in pkgutil.walk_packages(importlib.import_module(top).__path__, f"{top}."):
        if not each.name.endswith("__main__"):
            try:
                importlib.import_module(each.name)
            except ModuleNotFoundError as error:
                print(each.name, error.name)
"""
ASK_FOR_EXTRAS = """
import asyncio, django, os
os.environ["CAUSELINE_LOGIN"] = "open"
django.setup()
from dashboard.agents.http import Mcp
from dashboard.alerting.destinations import kinds
from dashboard.alerting.messages import NotAllowed
apprise = kinds()["apprise"]
try:
    apprise.check({"url": "json://hooks.example.org"})
except NotAllowed as error:
    print(error)
print(apprise.FIELDS[0].hint)

async def answer(message):
    print(message.get("status", ""), message.get("body", b"").decode())

scope = {"type": "http", "method": "POST", "path": "/mcp", "query_string": b"", "headers": [(b"host", b"localhost")]}
asyncio.run(Mcp(None)(scope, None, answer))
"""


def test_without_extras_only_what_needs_them_cannot_be_imported(without_extras: Path) -> None:
    assert in_installed(without_extras, IMPORT_ALL) == [
        "dashboard.agents.tools mcp",
        "dashboard.alerting.apprise_process apprise",
    ]


def test_what_needs_an_extra_says_what_to_install(without_extras: Path, tmp_path: Path) -> None:
    sample = ROOT / "dashboard/samples/one-pod-too-many.jsonl.zst"
    protobuf = tmp_path / "logs.binpb"
    protobuf.write_bytes(message(logs({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "web"}})))
    recent = ("--cluster", "prod", "--since", "1h", "--to", tmp_path / "log", "--yes")
    asked: dict[str, list[str | Path]] = {
        "mcp": ["mcp", sample],
        "tables": ["export", sample, "--format", "parquet", "-o", tmp_path / "tables"],
        "otlp": ["analyze", protobuf],
        "cloudwatch": ["pull", "--from", "cloudwatch", *recent, "--set", "region=eu-central-1"],
        "object-storage": ["pull", "--from", "s3", *recent, "--set", "url=s3://bucket/path"],
    }
    for extra, command in asked.items():
        result = run([without_extras / "causeline", *command], tmp_path)
        assert result.returncode not in (0, 130), extra
        assert f"pip install 'causeline[{extra}]'" in result.stderr, result.stderr
        assert "Traceback" not in result.stderr
    check, hint, status, body = in_installed(without_extras, ASK_FOR_EXTRAS)
    assert "pip install 'causeline[apprise]'" in check and "pip install 'causeline[apprise]'" in hint
    assert status.strip() == "501" and "pip install 'causeline[mcp]'" in body


def test_without_extras_recordings_are_analysed_and_reported(without_extras: Path, tmp_path: Path) -> None:
    sample = ROOT / "dashboard/samples/one-pod-too-many.jsonl.zst"
    commands: list[list[str | Path]] = [["analyze", sample], ["report", sample, "-o", tmp_path / "report.html"]]
    for command in commands:
        result = run([without_extras / "causeline", *command], tmp_path)
        assert result.returncode in (0, 1) and "Traceback" not in result.stderr, result.stderr
    assert (tmp_path / "report.html").stat().st_size > 100_000


def vendored() -> list[tuple[Path, str, str]]:
    """Return the note of each vendored file, and the name and hash that it has there."""
    abouts = sorted((ROOT / "dashboard/static/dashboard/vendor").glob("*/VENDOR.json"))
    read = [(about, json.loads(about.read_text(encoding="utf-8"))) for about in abouts]
    return [(about, said["file"], said["sha256"]) for about, said in read]


def test_the_vendored_files_are_what_their_notes_say() -> None:
    assert vendored()
    for about, file, digest in vendored():
        assert hashlib.sha256((about.parent / file).read_bytes()).hexdigest() == digest, file


def test_the_top_level_is_tidy() -> None:
    tops = {name.split("/")[0] for name in tracked() if name}
    assert tops | {"bench"} == TOP_LEVEL


def pins(lock: str) -> dict[str, str]:
    text = (ROOT / lock).read_text(encoding="utf-8")
    return dict(re.findall(r"^([a-z0-9-]+)==([^\s;]+)", text, re.MULTILINE))


def test_the_locks_agree_pin_every_file_and_name_no_index() -> None:
    runtime, everything, dev = (pins(f"requirements{name}.lock") for name in ("", "-all", "-dev"))
    assert runtime.items() <= everything.items() <= dev.items()
    assert {"apprise", "boto3", "duckdb", "mcp", "opentelemetry-proto"} <= everything.keys() - runtime.keys()
    assert "pytest" in dev.keys() - runtime.keys()
    for lock in ("requirements.lock", "requirements-all.lock", "requirements-dev.lock"):
        text = (ROOT / lock).read_text(encoding="utf-8")
        assert "://" not in text
        blocks = re.split(r"^(?=[a-z0-9])", text, flags=re.MULTILINE)[1:]
        names = {each.partition("==")[0] for each in blocks}
        assert names == pins(lock).keys()  # another Python may have another version
        assert all("--hash=sha256:" in block for block in blocks)


def test_the_locks_hold_what_pyproject_asks_for() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    base, extras = project["project"]["dependencies"], project["project"]["optional-dependencies"]
    one_by_one = [each for packages in extras.values() for each in packages if not each.startswith("causeline[")]
    for lock, asked in (
        ("requirements.lock", base),
        ("requirements-all.lock", base + one_by_one),
        ("requirements-dev.lock", base + one_by_one + project["dependency-groups"]["dev"]),
    ):
        locked = pins(lock)
        for requirement in map(Requirement, asked):
            assert requirement.specifier.contains(locked[requirement.name], prereleases=True), requirement
