"""Find out which kinds share one counter of revisions, so that revisions order their commits.

Such a counter is called a space. This module does no I/O. See docs/decisions/0006-spaces-of-revisions.md.
"""

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Mapping, Sequence
from itertools import accumulate

from timeline.core.entries import Change, Clock, Entry, Level
from timeline.core.order import SECOND
from timeline.history.ledger.written import Write, Writes
from timeline.history.seen import GroupKind, Seen
from timeline.kinds import kind_of

FEW = 3  # how many revisions must agree to take two counters for one, or clash to take one counter for two
_SPARE = 2 * SECOND  # µs by which the clocks of two API servers may contradict the order of revisions


def calibrated(
    observed: Mapping[GroupKind, Seen], entries: Mapping[GroupKind, Sequence[Entry] | Writes]
) -> dict[GroupKind, str]:
    """Return the space of each kind; "" is the one that most kinds share.

    `observed` says how much of each kind was observed, and `entries` are all entries with a revision, by kind. Kinds
    whose revisions an audit log shows share a counter. A kind whose revisions only a watch shows shares it too, unless
    the whole-second times of changes contradict the order of its revisions and those of other kinds; then it has a
    space of its own. So has a kind that another API server may serve, as long as too few of its revisions can be
    compared.
    """
    spaces = {kind: "" if shared(*kind) else kind[1] for kind in observed}
    logged = {kind for kind, seen in observed.items() if seen.levels[Level.FULL]}
    watched = [kind for kind in observed if kind not in logged and not spaces[kind]]
    if not watched:
        return spaces
    timely: dict[GroupKind, list[tuple[int, int]]] = defaultdict(list)
    for kind, of_kind in entries.items():
        for entry in of_kind:
            if _timely(entry):
                timely[kind].append((entry.resource_version or 0, entry.received))
    watched.sort(key=lambda kind: (not _native(*kind), -len(timely[kind]), kind))
    vouched = [commit for kind in timely if kind in logged and not spaces[kind] for commit in timely[kind]]
    if not vouched and watched:
        vouched = list(timely[watched.pop(0)])
    space = ""
    while watched:
        joined = next((kind for kind in watched if _agree(vouched, timely[kind], 0 if _native(*kind) else FEW)), None)
        if joined is None:  # the kinds that are left may share another space
            joined = watched[0]
            space, vouched = kind_of(*joined).kind, []
        watched.remove(joined)
        spaces[joined] = space
        vouched += timely[joined]
    return spaces


def _timely(entry: Entry | Write) -> bool:
    """Return whether the time of an entry is that of its own change."""
    return entry.clock is Clock.AUDIT or entry.change is Change.CREATED


def shared(group: str, kind: str) -> bool:
    """Return whether a kind may use the counter that most kinds share. Events often have an etcd of their own, and so
    have aggregated APIs."""
    return kind != "Event" and not group.endswith("metrics.k8s.io")


def _native(group: str, kind: str) -> bool:
    """Return whether the API server itself serves a kind, so that it counts by one counter unless something contradicts
    that."""
    return shared(group, kind) and ("." not in group or group.endswith(".k8s.io"))


def _agree(shared: list[tuple[int, int]], own: list[tuple[int, int]], least: int) -> bool:
    """Return whether both lists of (revision, time) may count by one counter: the times contradict the order of no two
    revisions, and at least `least` revisions of `own` lie between revisions of `shared`."""
    times = sorted(shared)
    latest = list(accumulate((time for _, time in times), max))
    soonest = list(accumulate((time for _, time in reversed(times)), min))[::-1]
    between = 0
    for revision, time in own:
        at = bisect_left(times, (revision, 0))
        if (at and latest[at - 1] > time + _SPARE) or (at < len(times) and soonest[at] < time - _SPARE):
            return False
        between += 0 < at < len(times)
    return between >= least
