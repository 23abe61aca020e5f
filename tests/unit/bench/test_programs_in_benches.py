"""Benches run programs that they hold as text. No other tool sees what these import."""

import ast
import re
from pathlib import Path

import pytest

from tests import ROOT

IMPORT = re.compile(r"^from ((?:collectors|dashboard|timeline)[\w.]*) import ([\w, ]+)$", re.MULTILINE)


def names_in(module: str) -> set[str]:
    """Return what can be imported from a module: its modules and the names that it defines or imports."""
    folder = ROOT / module.replace(".", "/")
    path = folder / "__init__.py" if folder.is_dir() else folder.with_suffix(".py")
    found = {each.stem for each in folder.glob("*")} if folder.is_dir() else set()
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        match node:
            case ast.ImportFrom() | ast.Import():
                found |= {each.asname or each.name for each in node.names}
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                found.add(node.name)
            case ast.Assign() | ast.AnnAssign():
                found |= {each.id for each in ast.walk(node) if isinstance(each, ast.Name)}
    return found


@pytest.mark.parametrize("bench", sorted((ROOT / "bench").glob("*.py")), ids=lambda path: path.stem)
def test_what_the_programs_of_a_bench_import_is_there(bench: Path) -> None:
    for node in ast.walk(ast.parse(bench.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            for module, names in IMPORT.findall(node.value):
                assert {each.split(" as ")[0].strip() for each in names.split(",")} <= names_in(module), module
