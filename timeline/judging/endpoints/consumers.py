"""Read from the logs of consumers of endpoints what they did with the endpoints of each Service. It does no I/O.

Consumers write what they do for people to read, so each of them needs patterns of its own. Those of kube-vip are from
its source: https://github.com/kube-vip/kube-vip/tree/v0.8.9/pkg/manager
"""

import re
from collections.abc import Iterator, Sequence
from enum import Enum
from itertools import pairwise
from typing import NamedTuple

from timeline.core.entries import LogLine
from timeline.history.lifelines import Name
from timeline.history.world.world import World

KUBE_VIP = "kube-vip"


class Step(Enum):
    """What a consumer does for a Service, as far as its log says it."""

    HANDLED = "handled"  # it looked at usable endpoints of the Service and did nothing
    KNOWN = "known"  # it had the Service in its table, so that endpoints which come from now on are used
    SERVED = "served"  # it announced the Service, or began to elect who does it
    STOPPED = "stopped"  # it no longer has to serve the Service, or ends
    DELETED = "deleted"  # the Service was deleted


class Taken(NamedTuple):
    """One step of a consumer, with the line that shows it."""

    step: Step
    line: LogLine


_OBJECT = r"(?P<namespace>[a-z0-9-]+)/(?P<name>[a-z0-9.-]+)"
_IN_BRACKETS = r"\[(?P<name>[a-z0-9.-]+)\],? (?:in )?namespace:? \[(?P<namespace>[a-z0-9-]+)\]"
_WATCHER = r"\[endpoint(?:slice)?s watcher\] service " + _OBJECT + r": local endpoint\(s\) \[\d+\], known good "
_STARTS = re.compile(r"Starting kube-vip\.io \[")
# With these modes, kube-vip announces a Service once it handles a usable endpoint of it, and says so.
_ANNOUNCES = re.compile(r".*, Mode: \[(?:BGP|RT|Routing Table)\]|\[endpoint(?:slice)?s\] added (?:BGP host|route)\b")
_STEPS = (
    (Step.SERVED, re.compile(_WATCHER + r"\[[^\]]*\], active election \[true\]")),
    (Step.HANDLED, re.compile(_WATCHER + r"\[[^\]]+\], active election \[false\]")),
    (Step.SERVED, re.compile(r"\[endpoint(?:slice)?s\] added (?:BGP host|route)\b.*, service: " + _OBJECT)),
    (Step.SERVED, re.compile(r"\(svc(?:s)? election\) service " + _IN_BRACKETS)),
    (Step.KNOWN, re.compile(r"\(svcs\) will update \[" + _OBJECT + r"\]")),
    (Step.STOPPED, re.compile(r"\[endpoint(?:slice)?s\] stopping watching for " + _IN_BRACKETS)),
    (Step.DELETED, re.compile(r"\(svcs\) \[" + _OBJECT + r"\] has been deleted")),
)


class Run(NamedTuple):
    """What one process of a consumer did for one Service, until it stopped serving it or wrote its last line.

    Only processes whose start stands in the log have runs: others may have done what is missing before the log begins.
    """

    steps: Sequence[Taken]  # in order
    until: int  # when it stopped to serve the Service, the next process began, or the log ends
    ended: bool  # whether something says that it ended; otherwise the log ends with it, or with the end of its process

    @property
    def overlooked(self) -> tuple[LogLine, LogLine, int] | None:
        """Return the line that shows how endpoints were dropped, the later line that shows that the Service was known
        only then, and for how long nothing was done since the first, in microseconds; None if they do not show that."""
        handled = known = None
        for step, line in self.steps:
            if step is Step.SERVED or (step is Step.KNOWN and handled is None):
                return None  # if it knew the Service before the endpoints, it had another reason to do nothing
            if step is Step.HANDLED:
                handled = handled or line
            elif step is Step.KNOWN:
                known = known or line
        return (handled, known, self.until - handled.time) if handled and known else None


def runs(world: World) -> dict[Name, list[Run]]:
    """Return the runs of all consumers by the Service that they were about, in the order of the logs and in time."""
    found: dict[Name, list[Run]] = {}
    for _, lines in world.logs():
        for run, until, is_last in _processes(lines):
            if any(_ANNOUNCES.match(line.text) for line in run):
                _add_runs(found, run, until, is_last)
    return found


def _add_runs(found: dict[Name, list[Run]], lines: Sequence[LogLine], until: int, is_last: bool) -> None:
    """Add the runs of one process; `until` is when the next one began or the log ends, and `is_last` which of both."""
    taken = [(*found_in, line) for line in lines if (found_in := _taken(line))]
    # A process that ends stops to serve all Services, so after these lines it does nothing else.
    ending = max((number for number, (_, step, _) in enumerate(taken) if step is not Step.STOPPED), default=-1)
    steps: dict[Name, list[Taken]] = {}
    for number, (name, step, line) in enumerate(taken):
        steps.setdefault(name, []).append(Taken(step, line))
        if step in (Step.STOPPED, Step.DELETED):
            found.setdefault(name, []).append(Run(steps.pop(name), line.time, ended=number <= ending or not is_last))
    for name, of_name in steps.items():
        found.setdefault(name, []).append(Run(of_name, until, ended=not is_last))


def _processes(lines: Sequence[LogLine]) -> Iterator[tuple[Sequence[LogLine], int, bool]]:
    """Yield the lines of each process whose start stands in a log, when the next one began or the log ends, and whether
    it is the last one."""
    starts = [number for number, line in enumerate(lines) if _STARTS.match(line.text)]
    for start, end in pairwise([*starts, len(lines)]):
        yield lines[start:end], lines[min(end, len(lines) - 1)].time, end == len(lines)


def _taken(line: LogLine) -> tuple[Name, Step] | None:
    if line.text[:1] not in "[(":
        return None
    for step, pattern in _STEPS:
        if found := pattern.match(line.text):
            return Name("", "Service", found["namespace"], found["name"]), step
    return None
