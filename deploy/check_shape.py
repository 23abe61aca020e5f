"""Check the shape of the code: `python -m deploy.check_shape`, which is a part of `make check`.

No folder has more than 20 modules side by side except catalogues, no file has more than 400 lines, no modules import
each other in a circle, each wing has a README, a wheel has all packages, and some words are not used.
"""

import re
import subprocess
import sys
import tomllib
from collections import Counter
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import grimp  # which comes with import-linter

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = ("collectors", "dashboard", "timeline")
MODULES, LINES, README_LINES = 20, 400, 40
# Folders of one-file things, to which somebody adds one more. A README or a how-to says how.
CATALOGUES = {"bench", "collectors/formats", "timeline/rules", "timeline/migrations", "dashboard/migrations"}
# What is not written in code, on pages and in documents: how often it still is.
WORDS = {
    r"\btold\b": 1,  # the one is the name of a column in a view of the database
    r'"""This (class|module|package|tuple)\b': 0,  # a docstring says what its thing does, not that it is a class
}
WORDED = re.compile(
    r"(?!.*(migrations/|vendor/|samples/))(collectors|dashboard|timeline|templates|docs)/.*\.(py|js|html|md)$"
)
EXCEPTIONS = re.compile(r"db_column=\"\w+\"|db_table=\"\w+\"")


def tracked() -> list[str]:
    """Return the paths of all files that git knows or will know, from the top."""
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT, capture_output=True, text=True, check=True,
    )  # fmt: skip
    return [path for path in listed.stdout.splitlines() if (ROOT / path).is_file()]


def too_large(sizes: dict[str, int], limit: int, what: str) -> Iterator[str]:
    """Yield a sentence for each size that is over its limit."""
    for path, size in sorted(sizes.items()):
        if size > limit:
            yield f"{path} has {size} {what}, and may have {limit}."


def unpacked(paths: list[str]) -> Iterator[str]:
    """Yield the packages that no wheel would have, because pyproject.toml does not list them."""
    listed = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["setuptools"]["packages"]
    folders = {Path(path).parent for path in paths if path.startswith(PACKAGES) and path.endswith("/__init__.py")}
    for name in sorted({".".join(folder.parts) for folder in folders} - {*listed}):
        yield f"pyproject.toml does not list the package {name}, so that no wheel would have it."


def shapes(paths: list[str]) -> Iterator[str]:
    """Yield what is wrong with the sizes of folders and files, and with the READMEs of wings."""
    modules = [Path(path) for path in paths if path.endswith(".py")]
    widths = Counter(str(path.parent) for path in modules if path.name != "__init__.py")
    yield from too_large({name: widths[name] for name in widths if name not in CATALOGUES}, MODULES, "modules")
    lines = {str(path): len((ROOT / path).read_text(encoding="utf-8").splitlines()) for path in modules}
    yield from too_large({path: size for path, size in lines.items() if "/migrations/" not in path}, LINES, "lines")
    wings = {path.parent for path in modules if len(path.parts) == 3 and path.parts[0] in PACKAGES}
    for wing in sorted(wings - {Path(each) for each in CATALOGUES if each.endswith("migrations")}):
        readme = ROOT / wing / "README.md"
        if not readme.exists():
            yield f"{wing} has no README.md that says what lives there, what may not, and how to add one."
        elif len(readme.read_text(encoding="utf-8").splitlines()) > README_LINES:
            yield f"{wing}/README.md has more than {README_LINES} lines."


def circles() -> Iterator[str]:
    """Yield a circle of modules that import each other, if there is one. What only types need counts, too."""
    graph = grimp.build_graph(*PACKAGES, cache_dir=None)
    try:
        TopologicalSorter({each: graph.find_modules_directly_imported_by(each) for each in graph.modules}).prepare()
    except CycleError as error:
        yield f"These modules import each other in a circle: {' ← '.join(error.args[1])}."


def words(paths: list[str]) -> Iterator[str]:
    """Yield where a word is used that is not to be used."""
    for word, listed in WORDS.items():
        places = [
            f"{path}:{number}"
            for path in paths
            if WORDED.match(path)
            for number, line in enumerate((ROOT / path).read_text(encoding="utf-8").splitlines(), 1)
            if re.search(word, EXCEPTIONS.sub("", line), re.IGNORECASE)
        ]
        if len(places) > listed:
            yield f"{word} stands in {len(places)} lines, and may in {listed}: {', '.join(places)}."


def main() -> int:
    """Print what is wrong; return how many things are."""
    paths = tracked()
    wrong = [*shapes(paths), *unpacked(paths), *circles(), *words(paths)]
    print(*wrong, sep="\n", file=sys.stderr)
    return min(len(wrong), 1)


if __name__ == "__main__":
    sys.exit(main())
