"""This pure module says what to do about a finding, in the order in which to do it.

A rule gives its advice line by line. A line begins with the word of its step (`Stop: `, `Clean: `, …); a line without
such a word belongs to the step before it. Commands are in `backticks`, ready to be copied.
"""

import re
import shlex
from collections.abc import Iterable
from typing import NamedTuple

STEPS = ("Stop", "Clean", "Prevent", "Verify")
_STEP = re.compile(rf"({'|'.join(STEPS)}): ")


class Step(NamedTuple):
    """This is one step and its lines, without the word of the step."""

    name: str
    lines: list[str]


def steps(advice: Iterable[str]) -> list[Step]:
    """Return the steps of the advice, in their order. Raises ValueError if the first line names no step."""
    by_name: dict[str, list[str]] = {}
    name = ""
    for line in advice:
        if step := _STEP.match(line):
            name = step[1]
        elif not name:
            raise ValueError(f"advice begins with no step: {line}")
        rest = line.removeprefix(f"{name}: ")
        by_name.setdefault(name, []).append(rest[0].upper() + rest[1:])
    return [Step(name, by_name[name]) for name in STEPS if name in by_name]


def ordered(advice: Iterable[str]) -> tuple[str, ...]:
    """Return each line once, in the order of the steps."""
    return tuple(sorted(dict.fromkeys(advice), key=lambda line: STEPS.index(line.partition(":")[0])))


def kubectl(namespace: str, words: str, *names: str) -> str:
    """Return a kubectl command in backticks. Each `{}` is replaced by a name, quoted for the shell."""
    quoted = words.format(*map(shlex.quote, names)) if names else words
    return f"`kubectl {f'-n {shlex.quote(namespace)} ' if namespace else ''}{quoted}`"
