"""This module lists the environment variables that Causeline reads: the declared ones, and what other code reads."""

import ast
import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from dashboard.environment.declarations import Settings
from dashboard.environment.sources import range_of, variable_of
from tests import ROOT

OURS = re.compile(r"CAUSELINE_\w+|DATABASE_URL|REDIS_URL")
READERS = {"text", "get", "getenv"}  # functions of dashboard.environment, os.environ and os


@dataclass(frozen=True)
class Variable:
    name: str
    required: bool
    default: str | None
    """As one would write it into the environment; None when it is computed from something else."""
    meaning: str = ""
    """The sentence of a declared setting."""


def constant(node: ast.expr) -> object:
    """Return the value of an expression of literals (`4 * 1024**3`), or None if it contains names."""
    if any(isinstance(part, ast.Name | ast.Call | ast.Attribute) for part in ast.walk(node)):
        return None
    return eval(compile(ast.Expression(node), "<default>", "eval"))


def written(value: object) -> str | None:
    if isinstance(value, bool):
        return "on" if value else "off"
    return None if value is None else str(value)


def variables_in(path: Path) -> list[Variable]:
    found = []
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        match node:
            case ast.Call(
                func=ast.Attribute(attr=reader) | ast.Name(id=reader), args=[ast.Constant(value=str(name)), *rest]
            ) if reader in READERS and OURS.fullmatch(name):
                required = not rest and reader not in {"get", "getenv"}
                found.append(Variable(name, required, written(constant(rest[0])) if rest else None))
            case ast.Subscript(
                value=ast.Attribute(attr="environ"), slice=ast.Constant(value=str(name)), ctx=ast.Load()
            ):
                found.append(Variable(name, True, None))
    return found


def settings() -> dict[str, Variable]:
    """Return the settings that `dashboard/environment/declarations.py` declares, by name."""
    declared = {}
    for field_name, field in Settings.model_fields.items():
        name = variable_of(field_name, field)
        default = None if field.is_required() else str(field.default)
        declared[name] = Variable(name, field.is_required(), default, field.description or "")
    return declared


def ranges() -> dict[str, tuple[int, int]]:
    """Return the least and the greatest value of each declared number, by variable."""
    found = {variable_of(name, field): range_of(field) for name, field in Settings.model_fields.items()}
    return {name: bounds for name, bounds in found.items() if bounds}


@cache
def elsewhere() -> set[str]:
    """Return the names of variables that modules of the three packages read directly."""
    packages = [ROOT / name for name in ("collectors", "dashboard", "timeline")]
    modules = [module for package in packages for module in package.rglob("*.py")]
    return {variable.name for module in modules for variable in variables_in(module) if OURS.fullmatch(variable.name)}
