"""These tests build the documentation as a site: no warnings, no broken links or anchors, and nothing is fetched."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
import yaml

from dashboard import __version__
from tests import ROOT
from tests.unit.docs.test_docs import LINKING

FETCHING = {"script": "src", "img": "src", "link": "href", "iframe": "src", "source": "src"}
NAMING = (".css", ".html", ".js", ".json", ".py", ".sh", ".toml", ".yml", "Dockerfile", "Makefile")
NAMED = re.compile(r"(?<![\w/.-])docs/[\w/.-]+\.(?:md|png)")
EXTERNAL = re.compile(r"\]\(([a-z]+:[^)\s]*)\)")


class Page(HTMLParser):
    """This parser collects the links, the anchors and the fetched addresses of a page."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.links: list[str] = []
        self.anchors: set[str] = set()
        self.fetched: list[str] = []
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attributes}
        if "id" in given:
            self.anchors.add(given["id"])
        if tag == "a" and "href" in given:
            self.links.append(given["href"])
        if tag in FETCHING and FETCHING[tag] in given and given.get("rel") != "canonical":
            self.fetched.append(given[FETCHING[tag]])


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    built = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(built)]
    settings = {"CAUSELINE_SECRET_KEY": "x" * 32, "DATABASE_URL": "postgresql:///x", "REDIS_URL": "redis://x"}
    environment = {"PATH": os.environ["PATH"], "NO_MKDOCS_2_WARNING": "1", **settings}
    result = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
    assert result.returncode == 0, result.stdout + result.stderr
    return built


@pytest.fixture(scope="module")
def pages(site: Path) -> dict[Path, Page]:
    return {path: Page(path) for path in site.rglob("*.html")}


def ends(site: Path, page: Path, address: str) -> Iterator[tuple[Path, str]]:
    """Yield the file and the anchor that an address leads to, if it is on the site."""
    parts = urlsplit(address)
    if parts.scheme or parts.netloc:
        return
    start = site if parts.path.startswith("/") else page.parent
    end = (start / unquote(parts.path).lstrip("/")).resolve() if parts.path else page
    yield end / "index.html" if end.is_dir() else end, parts.fragment


def test_every_link_and_anchor_of_the_site_has_an_end(site: Path, pages: dict[Path, Page]) -> None:
    missing = [
        f"{path.relative_to(site)}: {address}"
        for path, page in pages.items()
        for address in [*page.links, *page.fetched]
        for end, anchor in ends(site, path, address)
        if not end.is_file() or (anchor and end in pages and anchor not in pages[end].anchors)
    ]
    assert not missing


def test_the_site_fetches_nothing_from_elsewhere(site: Path, pages: dict[Path, Page]) -> None:
    assert [address for page in pages.values() for address in page.fetched if urlsplit(address).netloc] == []
    for sheet in site.rglob("*.css"):
        assert not re.search(r"url\(\s*[\"']?(?:https?:)?//", sheet.read_text(encoding="utf-8")), sheet


def test_the_site_has_search_the_catalogue_the_api_and_the_version(site: Path) -> None:
    entries = json.loads((site / "search/search_index.json").read_text(encoding="utf-8"))["docs"]
    places = {entry["location"] for entry in entries}
    assert {"rules/#service-gap", "api/#get-apisources", "changelog/#010---2026-11-21", "contributing/"} <= places
    assert f"Causeline {__version__}" in (site / "index.html").read_text(encoding="utf-8")
    for record in (ROOT / "docs/decisions").glob("[0-9]*.md"):
        assert f"decisions/{record.stem}/" in places
        assert f'href="{record.stem}/"' in (site / "decisions/index.html").read_text(encoding="utf-8")


def test_make_builds_the_site_with_its_warnings() -> None:
    assert yaml.load((ROOT / "mkdocs.yml").read_text(encoding="utf-8"), yaml.BaseLoader)["strict"] == "true"
    (recipe,) = re.findall(r"mkdocs build(.*)$", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
    assert not recipe, "with --quiet MkDocs counts no warning, and a broken link passes"


def test_every_page_that_the_code_names_is_there() -> None:
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    sources = [ROOT / name for name in listed.split("\0") if name.endswith(NAMING) and not name.startswith("tests/")]
    named = {
        (page, source)
        for source in sources
        for page in NAMED.findall(source.read_text(encoding="utf-8"))
        if not (ROOT / page).is_file()
    }
    assert not named


def test_every_external_link_is_well_formed() -> None:
    for page in LINKING:
        for address in EXTERNAL.findall(page.read_text(encoding="utf-8")):
            parts = urlsplit(address)
            assert parts.scheme == "https" and re.fullmatch(r"[\w-]+(\.[\w-]+)+", parts.netloc), (page, address)
