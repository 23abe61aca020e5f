"""This module defines what collectors observe: entries (changes of objects) and marks (what a watch says besides).

It is pure. Times are whole microseconds since 1970, UTC. Resource versions are Python integers, since they may exceed
64 bits.
"""

from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import Any

import msgspec

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def microseconds(moment: datetime) -> int:
    """Return the whole microseconds since 1970, without the rounding of a float. `moment` must have a time zone."""
    return (moment - _EPOCH) // timedelta(microseconds=1)


def moment(since_1970: int) -> datetime:
    """Return the UTC datetime of a time in microseconds since 1970: the inverse of `microseconds`."""
    return _EPOCH + timedelta(microseconds=since_1970)


def revision(text: str | None) -> int | None:
    """Return a resourceVersion as a number that can be compared (KEP-5504): digits without a leading zero. Return None
    for any other text."""
    if not text or len(text) > _REVISION_DIGITS or text[0] == "0":
        return None
    return int(text) if text.isascii() and text.isdecimal() else None


_REVISION_DIGITS = 39  # as many as 128 bits need, the widest that the KEP names


class ObjectRef(msgspec.Struct, frozen=True, gc=False):
    """This names an object as the findings document does. `group` is "" for core, `namespace` "" for cluster scope."""

    group: str
    version: str
    kind: str
    namespace: str
    name: str
    uid: str = ""


class Change(StrEnum):
    """An observation says that one of these happened to an object."""

    CREATED = "created"
    MODIFIED = "modified"
    DELETED = "deleted"
    OBSERVED = "observed"  # a list, or a watch that began, shows the state that the last change left, whenever that was


class Clock(StrEnum):
    """The times of an entry come from one of these clocks."""

    AUDIT = "audit"  # the audit log: the API server around the commit, in microseconds
    OBJECT = "object"  # the object: the API server before the commit, in whole seconds, without an upper bound


class Level(StrEnum):
    """An observation shows so much of a change. The names are the levels of an audit policy."""

    METADATA = "Metadata"  # only that it happened
    REQUEST = "Request"  # also the request
    FULL = "RequestResponse"  # also the object after it


FOREVER = 2**62  # instead of the latest time of a commit where no clock gives an upper bound


class Facts(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """This is the state that is kept of an object of any kind. Kinds add the fields that rules and drawing need.

    Times are microseconds, in whole seconds of the API server's clock; 0 is none.
    """

    created: int = 0  # creationTimestamp, which lies before the commit
    deleting: bool = False  # deletionTimestamp is set
    asked: int = 0  # when the deletion was requested: deletionTimestamp without the grace period
    finalizers: tuple[str, ...] = ()
    generation: int = 0
    at_once: bool = False  # the grace period is 0, so `asked` may be the time of a second request


class Owner(msgspec.Struct, frozen=True, gc=False):
    """This is the ownerReference of the controller, or the only ownerReference."""

    group: str
    version: str
    kind: str
    name: str
    uid: str


class Place(msgspec.Struct, frozen=True, gc=False):
    """This is where an entry lies in the input: the file, by the name that the user gave, and the line, from 1."""

    file: str
    line: int


_WITHIN = 999_999  # µs: a whole-second time lies at most so far before the time that it stands for


class Entry(msgspec.Struct, frozen=True, gc=False):
    """This is one observed change of one object.

    It was committed between `received` and `staged` (FOREVER where nothing bounds it). `resource_version` is the
    revision of this change, or None where the observation does not show it (level Metadata, a Status response, a
    deletion that repeats the old revision). `replaces` is the revision that it surely replaced, where the writer named
    it. `facts` is the whole state after the change, and `sets` holds single facts that a partial body shows; both may
    be missing.
    """

    ref: ObjectRef
    change: Change
    resource_version: int | None
    clock: Clock
    received: int
    staged: int
    facts: Facts | None = None
    sets: tuple[tuple[str, Any], ...] = ()
    owner: Owner | None = None
    replaces: int | None = None
    level: Level = Level.FULL
    action: str = ""  # the subresource that was written: "status", "binding", …
    actor: str = ""
    user_agent: str = ""
    identity: str = ""  # the id of the observation itself (auditID)
    place: Place | None = None
    body: bytes = b""  # the redacted object as JSON; empty where bodies are not kept
    arrived: int = 0  # when a collector received it from a watch, by the API server's clock; else 0

    @property
    def dated(self) -> bool:
        """Return whether `received` is near the commit. A watched object carries only earlier times of a modification
        or a deletion, unless its managedFields name who made it."""
        return self.clock is Clock.AUDIT or self.change is Change.CREATED or self.user_agent != ""

    @property
    def near(self) -> int:
        """Return about when it was committed: `received`, or its arrival at a collector if that is in the same
        second."""
        if self.arrived <= self.received or self.change is Change.OBSERVED or not self.dated:
            return self.received
        return min(self.arrived, self.received + _WITHIN)

    @property
    def undated(self) -> int:
        """Return when it arrived, if nothing else shows when it was committed; else 0."""
        return 0 if self.change is Change.OBSERVED or self.dated else self.arrived


class MarkType(StrEnum):
    """The watch of a kind says these things besides changes."""

    LISTED = "listed"  # every object that existed at a revision came before this mark; from here on nothing is missing
    BOOKMARK = "reached"  # every change up to a revision came before this mark
    GAP = "gap"  # nothing is known from (since, since_revision) until (time, revision)
    TOGETHER = "together"  # a comparison showed that its revisions and those of `other` are of one counter
    APART = "apart"  # a comparison showed that they are not


class Mark(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """This is what the watch of a kind said besides changes. Times are of the clock of `Entry.arrived`."""

    group: str
    version: str
    kind: str
    what: MarkType
    time: int
    revision: int | None = None
    since: int = 0
    since_revision: int | None = None
    reason: str = ""  # of a gap, as a sentence
    other: str = ""  # the kind with which it was compared, as `kinds.qualified` names it


Observation = Entry | Mark
