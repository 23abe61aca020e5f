"""Define the shapes of the lines of JSON that `timeline/history/codec.py` writes and reads.

The names of their fields are part of the formats of stored sources and of exported recordings. It is pure.
"""

from typing import Annotated, Any

import msgspec

from timeline.core.entries import (
    FOREVER,
    Annotations,
    Change,
    Client,
    Clock,
    Intent,
    Level,
    MarkType,
    ObjectRef,
    Owner,
    Place,
    Unknown,
)

Time = Annotated[int, msgspec.Meta(ge=0, lt=FOREVER)]


class EntryLine(msgspec.Struct, omit_defaults=True, gc=False):
    """An entry as it is written."""

    ref: ObjectRef
    change: Change
    clock: Clock
    received: Time
    staged: Time | None = None
    resourceVersion: str | None = None
    replaces: str | None = None
    level: Level | None = None
    action: str = ""
    actor: str = ""
    userAgent: str = ""
    identity: str = ""
    owner: Owner | None = None
    place: Place | None = None
    facts: Any = None
    sets: Any = None
    body: Any = None
    arrived: Time = 0
    client: Client | None = None
    named: str | None = None
    intent: Intent | None = None
    misdated: Time = 0
    blind: tuple[str, ...] = ()
    annotations: Annotations = ()


class EntryRead(EntryLine, gc=False):
    """An entry as it is read. Fields whose type depends on the kind of the object stay raw JSON at first."""

    facts: msgspec.Raw = msgspec.field(default_factory=msgspec.Raw)
    sets: dict[str, msgspec.Raw] = {}
    body: msgspec.Raw = msgspec.field(default_factory=msgspec.Raw)


class MarkFields(msgspec.Struct, omit_defaults=True, gc=False):
    """A mark as it is written and read."""

    group: str
    version: str
    kind: str
    what: MarkType
    time: Time
    resourceVersion: str | None = None
    since: Time = 0
    sinceResourceVersion: str | None = None
    reason: str = ""
    other: str = ""
    namespace: str = ""


class MarkLine(msgspec.Struct, gc=False):
    mark: MarkFields


class RequestFields(msgspec.Struct, omit_defaults=True, gc=False):
    """A request as it is written and read."""

    ref: ObjectRef
    verb: str
    code: Annotated[int, msgspec.Meta(ge=0, lt=1000)]
    received: Time
    staged: Time | None = None
    reason: str = ""
    named: str | None = None
    answered: str | None = None
    action: str = ""
    since: str = ""
    match: str = ""
    initial: bool = False
    applied: bool = False
    selector: str = ""
    actor: str = ""
    userAgent: str = ""
    client: Client | None = None
    identity: str = ""
    place: Place | None = None
    misdated: Time = 0
    message: str = ""
    annotations: Annotations = ()


class RequestLine(msgspec.Struct, gc=False):
    request: RequestFields


class LogFields(msgspec.Struct, omit_defaults=True, gc=False):
    """A line of the log of a program as it is written and read."""

    log: str
    time: Time
    text: str
    level: str = ""
    unknown: Unknown = Unknown.NOTHING
    objects: tuple[str, ...] = ()
    place: Place | None = None
    misdated: Time = 0


class LogLineLine(msgspec.Struct, gc=False):
    log: LogFields
