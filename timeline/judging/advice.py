"""Divide the advice of a finding into steps, in the order in which to take them. It does no I/O.

A rule gives its advice as lines of text. A line may begin with the name of its step (`Look: `, `Stop: `, …); a line
without one belongs to the same step as the line before it. Commands are in `backticks`, ready to be copied. To look
changes nothing; to stop has a command that does.
"""

import re
import shlex
from collections.abc import Iterable
from typing import NamedTuple

from timeline.core.entries import ObjectRef

STEPS = ("Look", "Stop", "Clean", "Prevent", "Verify")
_STEP = re.compile(rf"({'|'.join(STEPS)}): ")


class Step(NamedTuple):
    """One step of the advice and its lines, without the name of the step in front of them."""

    name: str
    lines: list[str]


def steps(advice: Iterable[str]) -> list[Step]:
    """Return the steps of the advice, in the order of `STEPS`. Raises ValueError if the first line names no step."""
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
    """Return the lines of the advice without duplicates, in the order of their steps. Every line must name its step."""
    return tuple(sorted(dict.fromkeys(advice), key=lambda line: STEPS.index(line.partition(":")[0])))


def kubectl(namespace: str, words: str, *names: str) -> str:
    """Return a kubectl command in backticks. Each `{}` in `words` is replaced by one of `names`, quoted for the shell.
    `namespace` is "" for cluster-scoped objects."""
    quoted = words.format(*map(shlex.quote, names)) if names else words
    return f"`kubectl {f'-n {shlex.quote(namespace)} ' if namespace else ''}{quoted}`"


def touch_endpoints(service: ObjectRef) -> str:
    """Return the advice to touch the EndpointSlices of a Service that kube-vip has overlooked."""
    words = "annotate endpointslices -l kubernetes.io/service-name={} looked-at=again --overwrite"
    command = kubectl(service.namespace, words, service.name)
    return f"Stop: touch the EndpointSlices of the Service, so that kube-vip looks again: {command}."
