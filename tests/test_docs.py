"""The documents lead somewhere: links have ends, and architecture.md names every module."""

import re
from pathlib import Path

import pytest

from tests.variables import ROOT

PAGES = sorted([ROOT / "README.md", *(ROOT / "docs").rglob("*.md"), *ROOT.glob("[ct]*/*/README.md")])
LINK = re.compile(r"\]\((?!https?:)([^)#]*)(?:#([^)]*))?\)")
FENCED = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
KNOWN_BY_ITS_FOLDER = {
    "kinds",
    "rules",
    "formats",
    "stream",
    "normalise",
    "services",
    "views",
    "migrations",
    "management",
}


def anchors(page: Path) -> set[str]:
    """Of its headings, as GitHub makes them."""
    headings = re.findall(r"^#+ (.*)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_link_has_an_end(page: Path) -> None:
    for path, anchor in LINK.findall(FENCED.sub("", page.read_text(encoding="utf-8"))):
        end = (page.parent / path).resolve() if path else page
        assert end.exists(), path
        assert not anchor or anchor in anchors(end), anchor


def test_the_architecture_names_every_module() -> None:
    told = (ROOT / "docs/architecture.md").read_text(encoding="utf-8")
    for package in ("timeline", "collectors", "dashboard"):
        for module in (ROOT / package).rglob("*.py"):
            folders = set(module.relative_to(ROOT).parts[1:-1])
            if not folders & KNOWN_BY_ITS_FOLDER and module.stem not in {"__init__", "apps", "asgi", "celery", "urls"}:
                assert f"{module.name}`" in told, module
    for folder in KNOWN_BY_ITS_FOLDER - {"migrations", "management"}:
        assert f"{folder}/" in told


def test_the_audit_policy_is_the_same_wherever_it_is_shown() -> None:
    policies = [FENCED.findall((ROOT / page).read_text(encoding="utf-8")) for page in ("README.md", "docs/formats.md")]
    (ours,), (theirs,) = ([block for block in each if "kind: Policy" in block] for each in policies)
    assert ours == theirs
