"""Pure: one observed change of one object, and the words it is told in.

Times are whole microseconds since 1970, UTC. Resource versions are Python integers: they may exceed 64 bits.
"""

from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import Any

import msgspec

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def microseconds(moment: datetime) -> int:
    """Since 1970; whole, without the rounding of a float."""
    return (moment - _EPOCH) // timedelta(microseconds=1)


def moment(since_1970: int) -> datetime:
    """The inverse of `microseconds`."""
    return _EPOCH + timedelta(microseconds=since_1970)


def revision(text: str | None) -> int | None:
    """A revision that can be compared (KEP-5504): digits without a leading zero; None for any other text."""
    if not text or len(text) > _REVISION_DIGITS or text[0] == "0":
        return None
    return int(text) if text.isascii() and text.isdecimal() else None


_REVISION_DIGITS = 39  # of 128 bits, the widest that Kubernetes speaks of


class ObjectRef(msgspec.Struct, frozen=True, gc=False):
    """Which object, as the findings document names it. `group` is "" for core, `namespace` "" for cluster scope."""

    group: str
    version: str
    kind: str
    namespace: str
    name: str
    uid: str = ""


class Change(StrEnum):
    CREATED = "created"
    MODIFIED = "modified"
    DELETED = "deleted"
    OBSERVED = "observed"  # a list, or a watch that began: the state as the last change left it, whenever that was


class Clock(StrEnum):
    """Who wrote an entry's times."""

    AUDIT = "audit"  # the API server, microseconds, around the commit
    OBJECT = "object"  # the API server into the object itself, whole seconds, before the commit; no upper bound


class Level(StrEnum):
    """How much of the change was told, as the levels of an audit policy name it."""

    METADATA = "Metadata"  # that it happened
    REQUEST = "Request"  # what was asked for
    FULL = "RequestResponse"  # the object after it


FOREVER = 2**62  # the latest moment of a commit whose upper bound no clock tells; microseconds


class Facts(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """What every object tells by its metadata; a kind adds the fields that its rules and its drawing need."""

    created: int = 0  # creationTimestamp, microseconds; whole seconds, the API server's clock, before the commit
    deleting: bool = False  # deletionTimestamp is set
    asked: int = 0  # when the deletion was asked for, microseconds; whole seconds, the API server's clock
    finalizers: tuple[str, ...] = ()
    generation: int = 0
    at_once: bool = False  # no grace is left to it; so `asked` may be when its deletion was asked for once more


class Owner(msgspec.Struct, frozen=True, gc=False):
    """The controlling ownerReference (or the only one)."""

    group: str
    version: str
    kind: str
    name: str
    uid: str


class Place(msgspec.Struct, frozen=True, gc=False):
    """Where an entry stands in what was read: the file as the user knows it, and the line (1 is the first)."""

    file: str
    line: int


_WITHIN = 999_999  # µs of a second


class Entry(msgspec.Struct, frozen=True, gc=False):
    """One observed change of one object.

    It was committed between `received` and `staged` (FOREVER where nothing bounds it). `resource_version` is the
    revision of this very change, or None where the observation does not tell it (level Metadata, a Status answer, a
    deletion that repeats the old revision). `replaces` is the revision whose place it surely took, where the writer
    named it. `facts` is the whole state after the change; `sets` are single facts that a partial body told; both may
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
    action: str = ""  # the subresource written: "status", "binding", …
    actor: str = ""
    user_agent: str = ""
    identity: str = ""  # the observation's own id (auditID)
    place: Place | None = None
    body: bytes = b""  # the redacted object as JSON, where bodies are kept
    arrived: int = 0  # when a collector received it, by the API server's clock; 0 where nobody watched

    @property
    def dated(self) -> bool:
        """Whether its time is near its commit. Of a later change, and of a deletion, an object that was watched tells
        only times before it, unless its managedFields name who made the change."""
        return self.clock is Clock.AUDIT or self.change is Change.CREATED or self.user_agent != ""

    @property
    def near(self) -> int:
        """About when it was committed: `received`, more closely where a whole second is known and somebody watched."""
        if self.arrived <= self.received or self.change is Change.OBSERVED or not self.dated:
            return self.received
        return min(self.arrived, self.received + _WITHIN)

    @property
    def undated(self) -> int:
        """When it arrived, where nothing else tells when it was made; else 0."""
        return 0 if self.change is Change.OBSERVED or self.dated else self.arrived


class MarkType(StrEnum):
    """What a stream, the watch of one kind, tells besides changes."""

    LISTED = "listed"  # all that stood at a revision was told before this; from here on nothing is missing
    BOOKMARK = "reached"  # everything up to a revision was told
    GAP = "gap"  # nothing is known from (since, since_revision) until (time, revision)
    TOGETHER = "together"  # its revisions and those of `other` were seen to be of one counter
    APART = "apart"  # they were seen not to be


class Mark(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """One thing that a stream told besides changes. Times are those of `Entry.arrived`."""

    group: str
    version: str
    kind: str
    what: MarkType
    time: int
    revision: int | None = None
    since: int = 0
    since_revision: int | None = None
    reason: str = ""  # of a gap, a sentence
    other: str = ""  # the kind it was compared with, as `kinds.qualified` names it


Observation = Entry | Mark
