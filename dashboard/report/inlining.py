"""Put the pages' style sheets, scripts, fonts and pictures into one file, and allow only these by hash.

The modules stay as they are on the server: each becomes a function that returns what others import of it.
"""

import base64
import hashlib
import re
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path

STATIC = Path(__file__).parent.parent / "static/dashboard"

_IMPORT = re.compile(r'^import (?:\{ (?P<names>[^}]+) \} from )?"(?P<path>[./\w-]+\.js)";$', flags=re.MULTILINE)
_EXPORT = re.compile(r"^export (?=(?:async )?(?:const|class|function)\b)", flags=re.MULTILINE)
_LEFT = re.compile(r"^(?:import|export)\b.*", flags=re.MULTILINE)
_WORDS = re.compile(r"\w+")
_URL = re.compile(r'url\("([^"]+)"\)')
_TYPES = {".woff2": "font/woff2", ".svg": "image/svg+xml"}


def text(name: str) -> str:
    return (STATIC / name).read_text(encoding="utf-8")


def data_url(path: Path) -> str:
    return f"data:{_TYPES[path.suffix]};base64,{base64.b64encode(path.read_bytes()).decode()}"


def styles(names: Iterable[str]) -> str:
    """Return the style sheets one after the other, with their fonts inlined."""

    def held(name: str) -> str:
        folder = (STATIC / name).parent
        return _URL.sub(lambda found: f'url("{data_url(folder / found[1])}")', text(name))

    return "".join(map(held, names))


def script(name: str) -> str:
    """Return a script that can stand between script tags. Raises ValueError for one that would end them."""
    code = text(name)
    if "</script" in code or "<!--" in code:
        raise ValueError(f"{name} cannot stand inside a page")
    return code


def module(entry: str, instead: Mapping[str, str]) -> str:
    """Return a module and all its imports as one script. `instead` maps some modules to their replacements."""
    codes: dict[str, str] = {}  # in the order in which they run
    wanted: dict[str, set[str]] = {}

    def visit(name: str) -> None:
        code = script(name)
        for found in _IMPORT.finditer(code):
            path = _imported(name, found["path"], instead)
            names = [each.split(" as ")[0].strip() for each in (found["names"] or "").split(",")]
            wanted.setdefault(path, set()).update(filter(None, names))
            if path not in codes:
                visit(path)
        codes[name] = _EXPORT.sub("", _IMPORT.sub(lambda found: _taken(name, found, instead), code))

    visit(entry)
    parts = []
    for name, code in codes.items():
        if left := _LEFT.search(code):
            raise ValueError(f"{name}: not of a form that can be put into one file: {left[0]}")
        given = ", ".join(sorted(wanted.get(name, ())))
        parts.append(f"const {_variable(name)} = (() => {{\n{code}return {{ {given} }};\n}})();\n")
    return "".join(parts)


@cache
def modules(entry: str) -> tuple[str, ...]:
    """Return the names of a module and of all its imports, so that a page can load them in parallel."""
    found = {entry: None}
    for each in _IMPORT.finditer(text(entry)):
        found |= dict.fromkeys(modules(_imported(entry, each["path"], {})))
    return tuple(found)


def _imported(importer: str, path: str, instead: Mapping[str, str]) -> str:
    name = (STATIC / importer).parent.joinpath(path).resolve().relative_to(STATIC.resolve()).as_posix()
    return instead.get(name, name)


def _taken(importer: str, found: re.Match[str], instead: Mapping[str, str]) -> str:
    variable = _variable(_imported(importer, found["path"], instead))
    return f"const {{ {found['names'].replace(' as ', ': ')} }} = {variable};" if found["names"] else ""


def _variable(name: str) -> str:
    return "_".join(_WORDS.findall(name.removesuffix(".js")))


def policy(scripts: Iterable[str], sheets: Iterable[str]) -> str:
    """Return a content security policy that allows these scripts and styles, and no network."""

    def hashes(texts: Iterable[str]) -> str:
        return " ".join(
            f"'sha256-{base64.b64encode(hashlib.sha256(each.encode()).digest()).decode()}'" for each in texts
        )

    return "; ".join(
        [
            "default-src 'none'",
            f"script-src {hashes(scripts)}",
            f"style-src-elem {hashes(sheets)}",
            "style-src-attr 'unsafe-inline'",
            "img-src data:",
            "font-src data:",
            "base-uri 'none'",
            "form-action 'none'",
        ]
    )
