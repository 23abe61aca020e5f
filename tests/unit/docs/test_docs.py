"""These tests check the documents: every link has a target, and architecture.md names every wing."""

import ast
import re
from itertools import count
from pathlib import Path

import pytest

from tests import ROOT

ROOT_PAGES = [ROOT / name for name in ("CONTRIBUTING.md", "README.md", "SECURITY.md")]
CHART = ROOT / "deploy/chart/causeline/README.md"
PAGES = sorted([*ROOT_PAGES, *(ROOT / "docs").rglob("*.md"), *ROOT.glob("[ct]*/*/README.md"), CHART])
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


def test_the_architecture_names_every_wing_and_each_says_what_lives_there() -> None:
    text = ARCHITECTURE.read_text(encoding="utf-8")
    for package in ("timeline", "collectors", "dashboard"):
        for wing in sorted((ROOT / package).glob("*/__init__.py")):
            path = f"{wing.parent.relative_to(ROOT)}/"
            if wing.parent.name != "migrations":
                assert f"`{path}`" in text, f"docs/architecture.md does not name {path}"
                assert ast.get_docstring(ast.parse(wing.read_text(encoding="utf-8"))), f"{wing} says nothing"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_path_that_is_named_is_there(page: Path) -> None:
    for path in IN_THE_REPOSITORY.findall(FENCED.sub("", page.read_text(encoding="utf-8"))):
        assert found(path), f"{path} is named, and is not there"


def test_the_audit_policy_is_the_same_wherever_it_is_shown() -> None:
    policies = [FENCED.findall((ROOT / page).read_text(encoding="utf-8")) for page in ("README.md", "docs/formats.md")]
    (ours,), (theirs,) = ([block for block in each if "kind: Policy" in block] for each in policies)
    assert ours == theirs
