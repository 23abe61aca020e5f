"""These tests check the ES modules of the pages: each import exists, and the imports between wings point one way."""

import re
from pathlib import Path

import pytest

from tests import ROOT

JS = ROOT / "dashboard/static/dashboard/js"
BELOW = {  # each wing, and the wings that it may import beside itself
    "state": set[str](),
    "draw": {"state"},
    "ui": {"state", "draw"},
    "": {"state", "draw", "ui"},
    "live": {"state", "draw", "ui", ""},
    "home": {"state", "draw", "ui"},
    "report": {"state", "draw", "ui", ""},
}
MODULES = sorted(JS.rglob("*.js"))
IMPORT = re.compile(r'^import (?:\{ (?P<names>[^}]+) \} from )?"(?P<path>[./\w-]+\.js)";$', flags=re.MULTILINE)
EXPORT = re.compile(r"^export (?:async )?(?:const|class|function) (\w.*)", flags=re.MULTILINE)


def wing(module: Path) -> str:
    return module.parent.relative_to(JS).as_posix().removeprefix(".")


def imports(module: Path) -> list[tuple[Path, list[str]]]:
    """Return each imported module with the names that are taken from it."""
    return [
        (
            module.parent.joinpath(each["path"]).resolve(),
            [name.split(" as ")[0] for name in re.split(r",\s*", each["names"] or "") if name],
        )
        for each in IMPORT.finditer(module.read_text(encoding="utf-8"))
    ]


def exports(module: Path) -> list[str]:
    """Return the names that a module exports; one `export const` may define several."""
    declared = EXPORT.findall(module.read_text(encoding="utf-8"))
    return [name for each in declared for name in (re.match(r"\w+", each)[0], *re.findall(r", (\w+) = ", each))]  # type: ignore[index]


@pytest.mark.parametrize("module", MODULES, ids=lambda module: module.relative_to(JS).as_posix())
def test_imports_point_one_way_and_lead_somewhere(module: Path) -> None:
    own = wing(module)
    for imported, names in imports(module):
        assert wing(imported) in BELOW[own] | {own}, f"{imported.name} lies above {own or 'the top'}"
        exported = exports(imported)
        assert set(names) <= set(exported), f"{imported.name} exports {exported}"


def test_the_readme_names_every_wing() -> None:
    named = re.findall(r"^\| `(\w+)/` \|", (JS / "README.md").read_text(encoding="utf-8"), flags=re.MULTILINE)
    assert named == [each for each in BELOW if each]
    assert {wing(module) for module in MODULES} == set(BELOW)


def test_modules_stay_small() -> None:
    long = {
        module.name: lines
        for module in MODULES
        if (lines := len(module.read_text(encoding="utf-8").splitlines())) > 260
    }
    assert long == {}
