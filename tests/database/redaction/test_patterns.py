"""These tests run every regular expression of the product on texts that are made to take it long.

Whoever may create an object, send an alert or upload a file chooses such texts. One search is one call of C, in which
no other thread of the process runs. So its time must grow no faster than the text, and stay short.
"""

import ast
import functools
import gc
import importlib
import math
import pkgutil
import re
import time
import types
import warnings
from collections import deque
from collections.abc import Callable, Iterator
from itertools import chain, islice, product
from operator import itemgetter
from pathlib import Path
from re import _constants as sre  # type: ignore[attr-defined]
from re import _parser as parser  # type: ignore[attr-defined]
from typing import Any, NamedTuple, TypeGuard

import pytest

import collectors
import dashboard
import timeline
from tests import ROOT
from tests.properties import tries_all

SMALL, LARGE = 16 << 10, 128 << 10  # characters
MOST = 12  # times that the larger text may take
UNMEASURED = 0.001  # seconds; what takes less for the small text is too quick to grow much
LONGEST = 0.1  # seconds that the larger text may take
TRIES = 20  # measurements of a text; one of them has to be within the bounds
CHECKED = 8  # texts for each pattern that are measured at both lengths
PAIRS = 12  # pairs of parts that texts repeat, unless all are tried
TOKENS = 8  # different parts of a pattern that texts are made of
METHODS = ("match", "fullmatch", "search", "finditer", "findall", "sub", "subn", "split")
REPEATS = (sre.MAX_REPEAT, sre.MIN_REPEAT, sre.POSSESSIVE_REPEAT)
MADE = {  # modules that make patterns in functions, of texts that are known only later, and which they escape
    "collectors/formats/json_documents.py",
    "collectors/formats/json_items.py",
    "collectors/normalise/log_times.py",  # constants of the module, which the test above finds
    "collectors/redaction/commands.py",  # the same
    "collectors/redaction/policy.py",  # the operator's, whose ways to match are counted
    "timeline/comparing/specs.py",
}


class Found(NamedTuple):
    """This tuple is a pattern and where it is."""

    where: str
    pattern: re.Pattern[Any]
    methods: frozenset[str]  # with which it is used


def modules() -> Iterator[types.ModuleType]:
    for package in (collectors, timeline, dashboard):
        for each in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            if not each.name.endswith("__main__"):
                with warnings.catch_warnings(action="ignore"):  # of libraries
                    yield importlib.import_module(each.name)


@functools.cache
def sources() -> dict[Path, str]:
    folders = ("collectors", "timeline", "dashboard")
    return {path: path.read_text() for folder in folders for path in sorted((ROOT / folder).rglob("*.py"))}


@functools.cache
def patterns() -> tuple[Found, ...]:
    """Return the patterns that can be reached from any module: its globals, classes, functions, and what these hold."""
    used = {
        path: re.findall(rf"\b(\w+)(?:\[[^]]*\])?\.({'|'.join(METHODS)})\b", source)
        for path, source in sources().items()
    }
    found: dict[int, Found] = {}
    seen: set[int] = set()
    for module in modules():
        rest = [(f"{module.__name__}.{name}", value) for name, value in vars(module).items() if name[:2] != "__"]
        while rest:
            where, value = rest.pop()
            if isinstance(value, re.Pattern):
                name = where.rpartition(".")[2].partition(" ")[0]
                source = sources()[Path(module.__file__ or "")]
                names = {name, *re.findall(rf"for (?:\w+, )?(\w+) in {name}\b", source)}
                own = used[Path(module.__file__ or "")] if name[0] == "_" else chain(*used.values())
                methods = {method for each, method in own if each in names} or set(METHODS)
                before = found.get(id(value))
                found[id(value)] = Found(where, value, frozenset(methods | (before.methods if before else set())))
            elif id(value) not in seen and is_own(value):
                seen.add(id(value))
                rest += [(f"{where} …", each) for each in gc.get_referents(value)]
    return tuple(found.values())


def is_own(value: object) -> bool:
    """Return whether a value may hold patterns of the product: no module, and no class or function of a library."""
    if isinstance(value, types.ModuleType | str | bytes | int | float):
        return False
    if isinstance(value, dict) and "__spec__" in value:  # the globals of a module
        return False
    holder = value if isinstance(value, type | types.FunctionType) else type(value)
    return holder.__module__.partition(".")[0] in {"collectors", "timeline", "dashboard", "builtins", "re", "functools"}


def tokens(pattern: re.Pattern[Any]) -> list[str]:
    """Return parts of texts that a pattern matches: its literals, and members of its classes."""
    words: dict[str, None] = {}
    single: dict[str, None] = dict.fromkeys('"\\ a0-/\n')

    def walk(parsed: Any) -> None:
        word = ""
        for operation, argument in parsed:
            if operation is sre.LITERAL:
                word += chr(argument)
                single[chr(argument)] = None
                continue
            if word:
                words[word] = None
            word = ""
            if operation is sre.IN:
                single.update(dict.fromkeys(members(argument)))
            elif operation is sre.BRANCH:
                for each in argument[1]:
                    walk(each)
            elif operation in (*REPEATS, sre.SUBPATTERN, sre.ASSERT, sre.ASSERT_NOT):
                walk(argument[-1])
            elif operation is sre.ATOMIC_GROUP:
                walk(argument)
        if word:
            words[word] = None

    walk(parser.parse(pattern.pattern, pattern.flags))
    long = [word for word in words if len(word) > 1]
    return [*spread(long, TOKENS), *spread(list(single), TOKENS)]


def spread(values: list[Any], most: int) -> list[Any]:
    """Return at most so many of the values, from all parts of their list."""
    step = -(-len(values) // most) or 1
    return values[::step]


def members(described: Any) -> Iterator[str]:
    """Yield a few characters of a class."""
    samples = {sre.CATEGORY_SPACE: " ", sre.CATEGORY_DIGIT: "7", sre.CATEGORY_WORD: "w_"}
    for operation, argument in islice(described, 8):
        if operation is sre.LITERAL:
            yield chr(argument)
        elif operation is sre.RANGE:
            yield chr(argument[0])
        elif operation is sre.CATEGORY:
            yield from samples.get(argument, "%")


def shortest(parsed: Any) -> str:
    """Return a text that a part of a pattern matches, as far as that can be said without a search."""
    text = ""
    for operation, argument in parsed:
        if operation is sre.LITERAL:
            text += chr(argument)
        elif operation is sre.NOT_LITERAL:
            text += "a" if argument != ord("a") else "b"
        elif operation is sre.ANY:
            text += "a"
        elif operation is sre.IN:
            negated = argument[0][0] is sre.NEGATE
            outside = "".join(members(argument[1:])) if negated else ""
            text += next((each for each in "a0- :" if each not in outside), "~") if negated else next(members(argument))
        elif operation is sre.BRANCH:
            text += shortest(argument[1][0])
        elif operation in REPEATS:
            text += shortest(argument[-1]) * min(max(argument[0], 1 if argument[1] else 0), 64)
        elif operation is sre.SUBPATTERN:
            text += shortest(argument[-1])
        elif operation is sre.ATOMIC_GROUP:
            text += shortest(argument)
    return text


def beginnings(parsed: Any, before: str = "") -> Iterator[tuple[str, str]]:
    """Yield what comes before each repetition in a pattern, and what it repeats."""
    for place, (operation, argument) in enumerate(parsed):
        prefix = before + shortest(list(parsed)[:place])
        if operation in REPEATS:
            if argument[1] > 50:
                yield prefix, shortest(argument[-1])
            yield from beginnings(argument[-1], prefix)
        elif operation is sre.SUBPATTERN:
            yield from beginnings(argument[-1], prefix)
        elif operation is sre.ATOMIC_GROUP:
            yield from beginnings(argument, prefix)
        elif operation is sre.BRANCH:
            for each in argument[1]:
                yield from beginnings(each, prefix)


def shapes(pattern: re.Pattern[Any]) -> Iterator[tuple[str, str, str]]:
    """Yield what comes before, what is repeated, and what comes after in texts for a pattern."""
    parsed = parser.parse(pattern.pattern, pattern.flags)
    parts, whole = tokens(pattern), shortest(parsed)
    repeats = list(dict.fromkeys(beginnings(parsed)))[:40]
    units = dict.fromkeys([*parts, whole, whole[:-1], *(unit for _, unit in repeats), *(a + b for a, b in repeats)])
    if repeats:
        units |= dict.fromkeys(
            one + other for one, other in spread([*product(parts, parts)], TOKENS**4 if tries_all() else PAIRS)
        )
    for unit in units:
        if unit:
            yield "", unit, "\0"
    for prefix, unit in repeats:
        for suffix in ("\0", "\n", "", '"'):
            yield prefix, unit, suffix
        for each in parts[-TOKENS:]:
            yield prefix, each, "\0"


def calls(found: Found) -> list[Callable[[Any], object]]:
    pattern = found.pattern
    named = [getattr(pattern, each) for each in ("match", "fullmatch") if each in found.methods]
    if found.methods - {"match", "fullmatch"}:
        named.append(lambda text: deque(pattern.finditer(text), 0))
    return named


def seconds(call: Callable[[Any], object], text: Any) -> float:
    began = time.thread_time()
    call(text)
    return time.thread_time() - began


def slow(found: Found) -> str:
    """Return how a pattern takes too long, and "" if it does not."""
    longest: list[tuple[float, Callable[[Any], object], tuple[str, str, str]]] = []
    for shape in shapes(found.pattern):
        for call in calls(found):
            small = seconds(call, text_of(found, shape, SMALL))
            if small >= UNMEASURED:
                grows = small / max(seconds(call, text_of(found, shape, SMALL // 8)), 1e-5) > MOST
                longest.append((small * (1000 if grows else 1), call, shape))
            if small >= LONGEST and (how := grown(found, call, shape)):
                return how
    checked = sorted(longest, key=itemgetter(0))[-CHECKED:]
    return next((how for _, call, shape in checked if (how := grown(found, call, shape))), "")


def grown(found: Found, call: Callable[[Any], object], shape: tuple[str, str, str]) -> str:
    """Return how the time of one text grows too much, and "" if it does not. Other processes make single tries slow."""
    for _ in range(TRIES):
        small = max(seconds(call, text_of(found, shape, SMALL)), UNMEASURED)
        large = seconds(call, text_of(found, shape, LARGE)) if small < LONGEST else math.inf
        if large < min(MOST * small, LONGEST):
            return ""
    return f"{found.where}: {small:.4f} s, {large:.4f} s of {[part[:40] for part in shape]}"


def text_of(found: Found, shape: tuple[str, str, str], length: int) -> Any:
    before, unit, after = shape
    text = before + unit * (length // len(unit)) + after
    return text.encode("latin-1", "replace") if isinstance(found.pattern.pattern, bytes) else text


@pytest.mark.examples
def test_no_pattern_takes_longer_than_its_text_grows() -> None:
    assert len(patterns()) > 150
    assert [how for found in patterns() if (how := slow(found))] == []


def test_every_pattern_is_a_constant_of_a_module() -> None:
    """Otherwise the test above does not find it."""
    written, made = [], set()
    use = re.compile(rf"^[ ]+.*\bre\.(?:compile|{'|'.join(METHODS)})\(", re.MULTILINE)
    for path, source in sources().items():
        functions = ast.walk(ast.parse(source)) if use.search(source) else ()
        for function in (
            each for each in functions if isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
        ):
            for call in filter(is_use, ast.walk(function)):
                if isinstance(call.args[0], ast.Constant):
                    written.append(f"{path.relative_to(ROOT)}:{call.lineno}")
                else:
                    made.add(str(path.relative_to(ROOT)))
    assert written == []
    assert made == MADE


def is_use(node: ast.AST) -> TypeGuard[ast.Call]:
    """Return whether a part of a source calls a function of the module `re` with a pattern."""
    if not (
        isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and isinstance(node.func.value, ast.Name)
    ):
        return False
    return node.func.value.id == "re" and node.func.attr in ("compile", *METHODS)
