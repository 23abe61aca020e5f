"""Pure: what to do about a finding, in the order in which it is done.

A rule gives its advice line by line. A line begins with the word of its step (`Stop: `, `Clean: `, …); one that
does not goes on with the step before. Commands stand in `backticks`, ready to be copied.
"""

import re
import shlex
from collections.abc import Iterable
from typing import NamedTuple

STEPS = ("Stop", "Clean", "Prevent", "Verify")
_STEP = re.compile(rf"({'|'.join(STEPS)}): ")


class Step(NamedTuple):
    name: str
    lines: list[str]


def steps(advice: Iterable[str]) -> list[Step]:
    """The steps that the advice tells of, in their order. Raises ValueError where its first line names none."""
    found: dict[str, list[str]] = {}
    name = ""
    for line in advice:
        if told := _STEP.match(line):
            name = told[1]
        elif not name:
            raise ValueError(f"advice begins with no step: {line}")
        rest = line.removeprefix(f"{name}: ")
        found.setdefault(name, []).append(rest[0].upper() + rest[1:])
    return [Step(name, found[name]) for name in STEPS if name in found]


def ordered(advice: Iterable[str]) -> tuple[str, ...]:
    """Each line once, in the order of the steps."""
    return tuple(sorted(dict.fromkeys(advice), key=lambda line: STEPS.index(line.partition(":")[0])))


def kubectl(namespace: str, words: str, *names: str) -> str:
    """A command between backticks; names are quoted where a shell would read more into them, and stand at `{}`."""
    quoted = words.format(*map(shlex.quote, names)) if names else words
    return f"`kubectl {f'-n {shlex.quote(namespace)} ' if namespace else ''}{quoted}`"
