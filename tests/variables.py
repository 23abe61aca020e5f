"""Finds the environment variables that Causeline's own code reads, by reading the code."""

import ast
import re
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
OURS = re.compile(r"CAUSELINE_\w+|DATABASE_URL|REDIS_URL")
READERS = {
    "text",
    "flag",
    "number",
    "choice",
    "hours",
    "networks",
    "words",
    "folders",
    "get",
    "getenv",
}  # of dashboard.environment, os.environ and os


@dataclass(frozen=True)
class Variable:
    name: str
    required: bool
    default: str | None
    """As one would write it into the environment; None when it is computed from something else."""


def constant(node: ast.expr) -> object:
    """The value of an expression of literals (`4 * 1024**3`), or None when names occur in it."""
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
    """What settings.py reads, itself or by dashboard/environment.py, by name."""
    modules = [ROOT / "dashboard/settings.py", ROOT / "dashboard/environment.py"]
    return {variable.name: variable for module in modules for variable in variables_in(module)}


def elsewhere() -> set[str]:
    """What any other module of the three packages reads."""
    packages = [ROOT / name for name in ("collectors", "dashboard", "timeline")]
    modules = [module for package in packages for module in package.rglob("*.py")]
    return {variable.name for module in modules for variable in variables_in(module) if OURS.fullmatch(variable.name)}
