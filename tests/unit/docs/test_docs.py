"""These tests check the documents: every link has a target, every command exists, with the options that they give it,
and architecture.md names every wing and stays short."""

import re
import shlex
from functools import cache
from itertools import count
from pathlib import Path

import pytest
import yaml

from collectors.watch.webhook_files import audit_policy
from dashboard.cli import __main__ as cli
from tests import ROOT
from timeline.judge import rulebook
from timeline.judging.coverage.policies import plan, text

ROOT_PAGES = [ROOT / name for name in ("CONTRIBUTING.md", "README.md", "SECURITY.md")]
CHART = ROOT / "deploy/chart/causeline/README.md"
WINGS = [*ROOT.glob("[cdt]*/*/README.md"), ROOT / "deploy/README.md"]
PAGES = sorted([*ROOT_PAGES, *(ROOT / "docs").rglob("*.md"), *WINGS, CHART])
LINKING = [*PAGES, ROOT / "CHANGELOG.md"]  # its older entries name commands and files that are gone
LINK = re.compile(r"\]\((?!https?:)([^)#]*)(?:#([^)]*))?\)")
FENCED = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
ARCHITECTURE = ROOT / "docs/architecture.md"
IN_THE_REPOSITORY = re.compile(r"`((?:bench|collectors|dashboard|deploy|docs|templates|tests|timeline)/[\w./*…-]+)`")


def anchors(page: Path) -> set[str]:
    """Return the anchors that GitHub makes of a page's headings."""
    text = FENCED.sub("", page.read_text(encoding="utf-8"))
    made: set[str] = set()
    for heading in re.findall(r"^#+ (.*)$", text, re.MULTILINE):
        anchor = re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")
        made.add(next(each for at in count() if (each := f"{anchor}-{at}" if at else anchor) not in made))
    return made


@pytest.mark.parametrize("page", LINKING, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_link_has_an_end(page: Path) -> None:
    for path, anchor in LINK.findall(FENCED.sub("", page.read_text(encoding="utf-8"))):
        end = (page.parent / path).resolve() if path else page
        assert end.exists(), path
        assert not anchor or anchor in anchors(end), anchor


def found(pattern: str) -> set[str]:
    """Return the files and folders that match this path from the top, where `…` stands for any folders."""
    ends = ROOT.glob(pattern.rstrip("/").replace("…", "**"))
    return {str(end.resolve().relative_to(ROOT)) + "/" * end.is_dir() for end in ends}


def test_the_architecture_names_every_wing_and_is_read_in_ten_minutes() -> None:
    text = ARCHITECTURE.read_text(encoding="utf-8")
    assert len(text.split()) <= 1200
    for package in ("timeline", "collectors", "dashboard"):
        for wing in sorted((ROOT / package).glob("*/__init__.py")):
            path = f"{wing.parent.relative_to(ROOT)}/"
            if wing.parent.name != "migrations":
                assert f"`{path}`" in text, f"docs/architecture.md does not name {path}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_path_that_is_named_is_there(page: Path) -> None:
    for path in IN_THE_REPOSITORY.findall(FENCED.sub("", page.read_text(encoding="utf-8"))):
        assert found(path), f"{path} is named, and is not there"


def test_the_audit_policies_are_those_that_causeline_prints() -> None:
    """The comments before them, which say what rules can judge with them, are left out."""
    shown = {page: FENCED.findall(page.read_text(encoding="utf-8")) for page in PAGES}
    policies = {page.name: block for page, blocks in shown.items() for block in blocks if "kind: Policy\n" in block}
    whole = text(plan(rulebook()))
    expected = {"README.md": whole, "formats.md": whole, "send-the-audit-log.md": audit_policy()}
    assert policies == {
        page: f"```yaml\n{printed[printed.index('apiVersion') :]}```" for page, printed in expected.items()
    }


BLOCK = re.compile(r"^```(\S*)[^\n]*\n(.*?)^```$", re.MULTILINE | re.DOTALL)
INLINE = re.compile(r"`(causeline [^`]+)`")
INLINE_TARGET = re.compile(r"`make ([a-z-]+)[^`]*`")
TARGET = re.compile(r"^make ([a-z-]+)", re.MULTILINE)
TYPED = re.compile(r"(?:^|web )(causeline [^|<>;&#\n]+)", re.MULTILINE)


def shell(text: str) -> list[str]:
    return [block for language, block in BLOCK.findall(text) if language in {"", "sh"}]


def typed(page: Path) -> list[str]:
    text = page.read_text(encoding="utf-8").replace("\\\n", " ")
    return [each for block in shell(text) for each in TYPED.findall(block)]


def spoken_of(page: Path) -> list[str]:
    return INLINE.findall(FENCED.sub("", page.read_text(encoding="utf-8")))


parser = cache(cli._parser)


def understood(*words: str) -> bool:
    try:
        parser().parse_args(words)
    except SystemExit as error:
        return error.code == 0
    return True


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_command_is_understood(page: Path) -> None:
    for command in typed(page):
        assert understood(*shlex.split(command)[1:]), command
    for command in spoken_of(page):  # in running text the file may be left out
        words = shlex.split(command)[1:]
        endings: list[list[str]] = [[], ["FILE"], ["FILE", "--output", "FILE"]]
        assert any(understood(*words, *ending) for ending in endings), command


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_service_of_compose_is_one(page: Path) -> None:
    services = yaml.safe_load((ROOT / "docker-compose.yml").read_text(encoding="utf-8"))["services"]
    for block in shell(page.read_text(encoding="utf-8")):
        for act, arguments in re.findall(r"docker compose (exec|run|logs) (.*)", block):
            named = [word for word in arguments.split() if not word.startswith("-")]
            assert named[0] in services, f"docker compose {act} {arguments}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_target_of_make_is_one(page: Path) -> None:
    targets = re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
    text = page.read_text(encoding="utf-8")
    named = [*INLINE_TARGET.findall(text), *(each for block in shell(text) for each in TARGET.findall(block))]
    assert set(named) <= set(targets)
    assert page.name != "CONTRIBUTING.md" or {"check", "hooks", "release"} <= set(named)


def test_commands_are_found() -> None:
    assert "causeline createuser --admin alice" in typed(ROOT / "README.md")
