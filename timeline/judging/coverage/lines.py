"""Let a rule declare the lines of a source that it needs: objects or requests, and how much of each has to be seen. It
does no I/O.

From a declared line follow the parts of an audit policy that log it (`Line.logged`), whether a source has it
(`judging.coverage.judgeable`), and the sentences of the catalogue.
"""

from typing import NamedTuple

import msgspec

from timeline.core.entries import WRITES, Level
from timeline.history.shown import Verb
from timeline.kinds import group_of, resource_of

CREATORS = ("Job", "ReplicaSet", "StatefulSet", "DaemonSet")
"""The kinds whose controllers record Events about the children that they create and delete."""
USUAL = ("Deployment", "ReplicaSet", "StatefulSet", "DaemonSet", "Job", "Pod", "Service", "ConfigMap", "Node")
"""The kinds whose changes a source of a busy cluster shows, for rules that judge objects of all kinds."""
SELDOM_OWN = ("Pod", "Job", "Job.batch.volcano.sh", "Event", "EndpointSlice", "Endpoints", "Lease", "Secret")
"""Kinds with many objects that own nothing, or only what other rules judge."""
_VERBS = {  # the verbs of an audit policy that log a line
    Verb.STATE: ("create", "update", "patch"),
    Verb.CREATE: ("create",),
    Verb.UPDATE: ("update", "patch"),
    Verb.STATUS: ("update", "patch"),
    Verb.DELETE: ("delete", "deletecollection"),
    Verb.EVENT: ("create", "patch"),
    Verb.CONFLICT: WRITES,
    Verb.VAIN: WRITES,
    Verb.WATCH: ("list", "watch"),
    Verb.OWNED: (),
    Verb.LOG: (),
}


WORDS = {  # what lines show: in the singular, and in the plural
    Verb.STATE: ("change", "changes"),
    Verb.CREATE: ("creation", "creations"),
    Verb.UPDATE: ("update", "updates"),
    Verb.STATUS: ("write of the status", "writes of the status"),
    Verb.DELETE: ("deletion", "deletions"),
    Verb.EVENT: (
        "Event in which a controller names the copy on which it acted",
        "Events in which controllers name the copies on which they acted",
    ),
    Verb.CONFLICT: ("write that was refused because of a conflict", "writes that were refused because of a conflict"),
    Verb.VAIN: ("write that was refused otherwise, or changed nothing", "other writes that changed nothing"),
    Verb.WATCH: ("watch request", "watch requests of clients"),
    Verb.LOG: ("log", "logs"),
}
OF_OBJECTS = frozenset({Verb.STATE, Verb.CREATE, Verb.UPDATE, Verb.STATUS, Verb.DELETE})
"""The verbs of lines that show changes of objects."""


class Logged(NamedTuple):
    """One part of an audit policy: requests with these verbs, about one resource, at one level at least."""

    level: Level
    verbs: tuple[str, ...]
    group: str  # "" for the core group, or with an empty resource
    resource: str  # as audit policies name it, such as "jobs" or "jobs/status"; "" for all resources


class Line(msgspec.Struct, frozen=True):
    """All lines that show any of `verbs` of objects of any of `kinds`.

    Kinds are qualified ("Pod", "Job.batch.volcano.sh"). With `others`, objects of all other kinds count as well, and
    `kinds` are those whose lines a source should show.
    """

    kinds: tuple[str, ...]
    verbs: tuple[Verb, ...]
    level: Level = Level.FULL  # how much of each line must be shown; a watch and a list show bodies, as FULL does
    sent: bool = False  # whether they must say who sent the request, which only an audit log does
    others: bool = False
    by: tuple[str, ...] = ()  # the programs whose Events or logs they are; () for all programs

    @property
    def logged(self) -> tuple[Logged, ...]:
        """Return the parts of an audit policy that log these lines; none if no audit log can show them."""
        whole = [each for each in self.verbs if each is not Verb.STATUS or self.others]
        verbs = tuple(dict.fromkeys(verb for each in whole for verb in _VERBS[each]))
        kinds = [] if self.others else [(group_of(kind), resource_of(kind.partition(".")[0])) for kind in self.kinds]
        parts = [Logged(self.level, verbs, *kind) for kind in kinds or [("", "")] if verbs]
        if Verb.STATUS in self.verbs:
            parts += [Logged(self.level, _VERBS[Verb.STATUS], group, f"{resource}/status") for group, resource in kinds]
        return tuple(parts)


class Need(msgspec.Struct, frozen=True):
    """One thing that a rule needs: any one of these lines. Without it, the rule misses `misses`, or can judge nothing
    if that is empty."""

    lines: tuple[Line, ...]
    misses: str = ""  # as the object of a sentence, such as "Services that came back"


class LinkNeeds(msgspec.Struct, frozen=True):
    """What a source has to show so that links of one sort can be proven, which join what one cause did.

    `coverage.links` lists all sorts.
    """

    id: str
    title: str  # what the links are: "The same write"
    joins: str  # what they join to one cause, as a sentence without its stop
    needs: tuple[Need, ...]
    recordings: bool = False  # as in `Rule`
    times: bool = False

    @property
    def kinds(self) -> tuple[str, ...]:
        """Return the kinds that its needs name, without Events."""
        named = (kind for each in self.needs for line in each.lines for kind in line.kinds if kind != "Event")
        return tuple(dict.fromkeys(named))


def need(*lines: Line, misses: str = "") -> Need:
    """Return a need for any one of these lines (see `Need`)."""
    return Need(lines, misses)


def line(*kinds: str, verbs: str, level: Level = Level.FULL, sent: bool = False, others: bool = False) -> Line:
    """Return the lines that show what happened to objects of these kinds (see `Line`), or of all kinds if none are
    given.

    `verbs` are values of `Verb` with spaces between them, such as "create delete". Raises ValueError for others.
    """
    return Line(kinds, tuple(map(Verb, verbs.split())), level, sent, others or not kinds)


def events(*by: str) -> Line:
    """Return the Events in which these programs, or any, name the copies on which they acted."""
    return Line(("Event",), (Verb.EVENT,), by=by)


def log_of(*by: str) -> Line:
    """Return the lines of the logs of these programs."""
    return Line((), (Verb.LOG,), by=by)


OWNERS = line(
    "Deployment", "ReplicaSet", "StatefulSet", "DaemonSet", "Job", "Job.batch.volcano.sh", verbs="state delete"
)
"""The usual owners of Pods: what becomes of them explains what becomes of their Pods. Others are custom resources."""
