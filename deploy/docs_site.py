"""Add pages that are not files in docs/ to the documentation site, and state the version, as a hook of MkDocs.

These pages are the reference of the API, the list of decisions, and some Markdown files of the repository. A link from
a page to any other file of the repository publishes that file, so that no link leads out of the site.
"""

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING

from mkdocs.structure.files import File, Files

from dashboard import __version__

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.pages import Page

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"
# Pages of the repository outside docs/, and where they are on the site.
OUTSIDE = {name: name.lower() for name in ("CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md")}
OUTSIDE["deploy/chart/causeline/README.md"] = "chart.md"
STATIC = ROOT / "dashboard/static/dashboard"
SHARED = {
    "site/logo.svg": STATIC / "logo.svg",
    "site/inter.woff2": STATIC / "vendor/inter/inter-latin-wght-normal.woff2",
    "site/jetbrains-mono.woff2": STATIC / "vendor/jetbrains-mono/jetbrains-mono-latin-wght-normal.woff2",
}
LINK = re.compile(r"(?<=\]\()(?!\w+:|#)([^)#\s]+)")
HEADING = re.compile(r"^# (?:(\d+)\. )?(.+)$", re.MULTILINE)


def on_config(config: "MkDocsConfig") -> "MkDocsConfig":
    config.copyright = f"Causeline {__version__}"
    return config


def on_files(files: Files, config: "MkDocsConfig") -> Files:
    """Add the pages and files that are not in docs/."""
    for uri, path in SHARED.items():
        files.append(File.generated(config, uri, abs_src_path=str(path)))
    for name, uri in OUTSIDE.items():
        text = (ROOT / name).read_text(encoding="utf-8")
        files.append(File.generated(config, uri, content=_moved(text, (ROOT / name).parent)))
    files.append(File.generated(config, "decisions/index.md", content=_decisions()))
    files.append(File.generated(config, "api.md", content=_api()))
    for path in sorted(_linked_outside(files)):
        files.append(File.generated(config, _published(path), abs_src_path=str(path)))
    return files


def on_page_markdown(markdown: str, page: "Page", config: "MkDocsConfig", files: Files) -> str:
    """Point links that leave docs/ to where the site publishes their target."""
    if page.file.generated_by:
        return markdown
    folder = (DOCS / page.file.src_uri).parent
    return _moved(markdown, folder, Path(page.file.src_uri).parent)


def _moved(markdown: str, folder: Path, onto: Path = Path()) -> str:
    """Return a page of `folder` with its links as they are on the site, where the page lies in the folder `onto`."""

    def moved(link: re.Match[str]) -> str:
        target = (folder / link[1]).resolve()
        if not target.is_file() or (folder.is_relative_to(DOCS) and target.is_relative_to(DOCS)):
            return link[1]  # a link that leads nowhere stays as it is, and MkDocs complains about it
        return os.path.relpath(_published(target), onto)

    return LINK.sub(moved, markdown)


def _published(target: Path) -> str:
    """Return where on the site a file of the repository is."""
    if target.is_relative_to(DOCS):
        return target.relative_to(DOCS).as_posix()
    name = target.relative_to(ROOT).as_posix()
    return OUTSIDE.get(name, f"repository/{name}")


def _linked_outside(files: Files) -> set[Path]:
    """Return the files outside docs/ that pages link to, apart from those that are pages themselves."""
    pages = [DOCS / file.src_uri for file in files.documentation_pages() if not file.generated_by]
    found: set[Path] = set()
    own = {ROOT / name for name in OUTSIDE}
    for page in [*pages, *own]:
        for link in LINK.findall(page.read_text(encoding="utf-8")):
            target = (page.parent / link).resolve()
            if target.is_file() and not target.is_relative_to(DOCS) and target not in own:
                found.add(target)
    return found


def _decisions() -> str:
    """Return a page that lists the decision records by number."""
    lines = ["# Decisions", "", "Each record says what was decided, why, and what else was considered.", ""]
    lines += ["| number | decision |", "|---|---|"]
    for path in sorted((DOCS / "decisions").glob("[0-9]*.md")):
        heading = HEADING.search(path.read_text(encoding="utf-8"))
        assert heading is not None, f"{path} has no heading"
        lines.append(f"| {heading[1]} | [{heading[2]}]({path.name}) |")
    return "\n".join(lines)


def _api() -> str:
    import django

    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "dashboard.settings")
    django.setup()
    from dashboard.web.api import api
    from deploy.api_page import page

    return page(api.get_openapi_schema(path_prefix="/api/"))
