"""The documents lead somewhere: links have ends, and architecture.md names every module."""

import re
from collections.abc import Iterator
from itertools import count
from pathlib import Path

import pytest

from tests.variables import ROOT

ROOT_PAGES = [ROOT / name for name in ("README.md", "SECURITY.md")]
PAGES = sorted([*ROOT_PAGES, *(ROOT / "docs").rglob("*.md"), *ROOT.glob("[ct]*/*/README.md")])
LINKING = [*PAGES, ROOT / "CHANGELOG.md"]  # which speaks of commands and files as they were
LINK = re.compile(r"\]\((?!https?:)([^)#]*)(?:#([^)]*))?\)")
FENCED = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
ARCHITECTURE = ROOT / "docs/architecture.md"
SCRIPTS = "dashboard/static/dashboard/js"
KNOWN_BY_ITS_FOLDER = (
    "collectors/formats/",
    "collectors/normalise/",
    "dashboard/management/",
    "dashboard/migrations/",
    "dashboard/services/",
    "dashboard/views/",
    "timeline/kinds/",
    "timeline/migrations/",
    "timeline/rules/",
)
SAID_ELSEWHERE = {"dashboard/asgi.py", "dashboard/celery.py", "dashboard/urls.py"}
EVERYWHERE = {"__init__.py", "apps.py"}
A_FILE = re.compile(r"`([\w./*…-]+(?:\.py|\.js|/))`")
IN_THE_REPOSITORY = re.compile(r"`((?:bench|collectors|dashboard|deploy|docs|templates|tests|timeline)/[\w./*…-]+)`")


def anchors(page: Path) -> set[str]:
    """Of its headings, as GitHub makes them."""
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
    """The files and folders of this path from the top; `…` stands for any folders."""
    ends = ROOT.glob(pattern.rstrip("/").replace("…", "**"))
    return {str(end.resolve().relative_to(ROOT)) + "/" * end.is_dir() for end in ends}


def table(heading: str) -> list[tuple[str, str]]:
    """The rows of the table of the architecture that has this heading: which files, and what is said of them."""
    section = ARCHITECTURE.read_text(encoding="utf-8").split(f"\n| {heading} |", 1)[1].split("\n\n", 1)[0]
    return re.findall(r"^\| (.+?) \| (.+) \|$", section, re.MULTILINE)


def named(heading: str, top: str) -> Iterator[str]:
    """Whole paths of what a table names: names after the first are beside it, those of a row with `…` in the folder of
    the row above, and those in the words of a folder in that folder."""
    folder = top
    for files, words in table(heading):
        first, *others = A_FILE.findall(files)
        if not files.startswith("…"):
            folder = f"{top}{first}" if first.endswith("/") else f"{top}{first.rpartition('/')[0]}/"
            beside = f"{top}{first.rstrip('/').rpartition('/')[0]}/"
        else:
            beside, others = folder, [first, *others]
        yield from () if files.startswith("…") else [f"{top}{first}"]
        yield from (f"{beside}{each}" for each in others)
        if files.strip("`").endswith("/"):
            yield from (f"{folder}{each}" for each in A_FILE.findall(words) if each.endswith(".py"))


def test_the_architecture_names_every_module_by_its_whole_path() -> None:
    told = {"timeline/pipeline.py"}  # which the page begins with
    for path in named("file | its job", ""):
        ends = found(path)
        assert ends, f"{path} is named, and is not there"
        told |= ends
    for package in ("timeline", "collectors", "dashboard"):
        for module in (ROOT / package).rglob("*.py"):
            path = str(module.relative_to(ROOT))
            if (
                module.name not in EVERYWHERE
                and path not in SAID_ELSEWHERE
                and not path.startswith(KNOWN_BY_ITS_FOLDER)
            ):
                assert path in told, f"docs/architecture.md does not name {path}"
    for folder in KNOWN_BY_ITS_FOLDER:
        assert found(folder), folder
        assert folder in told or folder.endswith("migrations/"), folder


def test_what_the_architecture_tells_of_scripts_is_there() -> None:
    for path in named("module | its job", f"{SCRIPTS}/"):
        assert found(path), f"{path} is named, and is not there"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_path_that_is_named_is_there(page: Path) -> None:
    for path in IN_THE_REPOSITORY.findall(FENCED.sub("", page.read_text(encoding="utf-8"))):
        assert found(path), f"{path} is named, and is not there"


def test_the_audit_policy_is_the_same_wherever_it_is_shown() -> None:
    policies = [FENCED.findall((ROOT / page).read_text(encoding="utf-8")) for page in ("README.md", "docs/formats.md")]
    (ours,), (theirs,) = ([block for block in each if "kind: Policy" in block] for each in policies)
    assert ours == theirs
