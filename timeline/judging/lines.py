"""This pure module lets a rule declare the lines of a source that it needs: about which objects, of which requests, and
how much of each.

From a declared line follow the parts of an audit policy that log it (`Line.logged`), whether a source has it
(`judging.coverage`), and the sentences of the catalogue.
"""

from enum import StrEnum
from typing import NamedTuple

import msgspec

from timeline.core.entries import Level
from timeline.judging.remedies import group_of, resource_of


class Verb(StrEnum):
    """This enumeration lists what a line can show."""

    STATE = "state"  # an object as it stands, after a write or in a list
    CREATE = "create"
    UPDATE = "update"  # writes of anything but the status
    STATUS = "status"  # writes of the status
    DELETE = "delete"
    REFUSED = "refused"  # requests that changed nothing: the API server refused them, or the object was so already
    WATCH = "watch"  # the watch requests of clients
    EVENT = "event"  # Events whose writer names the revision of the copy on which it acted
    LOG = "log"  # the log of a program


_WRITES = ("create", "update", "patch", "delete", "deletecollection")
_VERBS = {  # the verbs of an audit policy that log a line
    Verb.STATE: ("create", "update", "patch"),
    Verb.CREATE: ("create",),
    Verb.UPDATE: ("update", "patch"),
    Verb.STATUS: ("update", "patch"),
    Verb.DELETE: ("delete", "deletecollection"),
    Verb.REFUSED: _WRITES,
    Verb.WATCH: ("list", "watch"),
    Verb.EVENT: ("create", "patch"),
    Verb.LOG: (),
}


class Logged(NamedTuple):
    """This is one part of an audit policy: requests with these verbs, about one resource, at one level at least."""

    level: Level
    verbs: tuple[str, ...]
    group: str  # "" for the core group, or with an empty resource
    resource: str  # as audit policies name it, such as "jobs" or "jobs/status"; "" for all resources


class Line(msgspec.Struct, frozen=True):
    """This stands for all lines that show any of `verbs` of objects of any of `kinds`.

    Kinds are qualified ("Pod", "Job.batch.volcano.sh"); () stands for all kinds.
    """

    kinds: tuple[str, ...] = ()
    verbs: tuple[Verb, ...] = ()
    level: Level = Level.FULL  # how much of each line must be shown; a watch and a list show bodies, as FULL does
    sent: bool = False  # whether they must say who sent the request, which only an audit log does
    by: tuple[str, ...] = ()  # the programs whose Events or logs they are; () for all programs

    @property
    def logged(self) -> tuple[Logged, ...]:
        """Return the parts of an audit policy that log these lines; none if no audit log can show them."""
        whole = [each for each in self.verbs if each is not Verb.STATUS or not self.kinds]
        verbs = tuple(dict.fromkeys(verb for each in whole for verb in _VERBS[each]))
        kinds = [(group_of(kind), resource_of(kind.partition(".")[0])) for kind in self.kinds]
        parts = [Logged(self.level, verbs, *kind) for kind in kinds or [("", "")] if verbs]
        if Verb.STATUS in self.verbs:
            parts += [Logged(self.level, _VERBS[Verb.STATUS], group, f"{resource}/status") for group, resource in kinds]
        return tuple(parts)


class Need(msgspec.Struct, frozen=True):
    """This is one thing that a rule needs: any one of these lines. Without it, the rule misses `misses`, or can judge
    nothing if that is empty."""

    lines: tuple[Line, ...]
    misses: str = ""  # as the object of a sentence, such as "Services that came back"


def need(*lines: Line, misses: str = "") -> Need:
    """Return a need for any one of these lines (see `Need`)."""
    return Need(lines, misses)


def line(*kinds: str, verbs: str, level: Level = Level.FULL, sent: bool = False) -> Line:
    """Return the lines that show what happened to objects of these kinds, or of all kinds if none are given.

    `verbs` are values of `Verb` with spaces between them, such as "create delete". Raises ValueError for others.
    """
    return Line(kinds, tuple(map(Verb, verbs.split())), level, sent)


def events(*by: str) -> Line:
    """Return the Events in which these programs, or any, name the copies on which they acted."""
    return Line(("Event",), (Verb.EVENT,), by=by, sent=True)


def log_of(*by: str) -> Line:
    """Return the lines of the logs of these programs."""
    return Line(verbs=(Verb.LOG,), by=by)


OWNERS = line(
    "Deployment", "ReplicaSet", "StatefulSet", "DaemonSet", "Job", "Job.batch.volcano.sh", verbs="state delete"
)
"""The usual owners of Pods: what becomes of them explains what becomes of their Pods. Others are custom resources."""
