"""Pure: an entry or a mark as one line of JSON that tells all of it, and back. So they are stored, and exported.

Times are microseconds since 1970, UTC; one that nothing bounds is left out. Revisions are text, as they may exceed 64
bits. `facts` is the state after the change and `sets` what a partial answer told of it, in the words of timeline/kinds;
`body` is the redacted object. What is not told is left out, and fields that are not known are passed over.
"""

from collections.abc import MutableMapping
from functools import cache
from typing import Annotated, Any

import msgspec

from timeline.core.entries import (
    FOREVER,
    Change,
    Clock,
    Entry,
    Facts,
    Level,
    Mark,
    MarkType,
    ObjectRef,
    Observation,
    Owner,
    Place,
    revision,
)
from timeline.kinds import kind_of

_Time = Annotated[int, msgspec.Meta(ge=0, lt=FOREVER)]


class _Line(msgspec.Struct, omit_defaults=True, gc=False):
    """The names are part of the format."""

    ref: ObjectRef
    change: Change
    clock: Clock
    received: _Time
    staged: _Time | None = None
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
    arrived: _Time = 0


class _Read(_Line, gc=False):
    """The same, with what depends on the kind of the object still raw."""

    facts: msgspec.Raw = msgspec.field(default_factory=msgspec.Raw)
    sets: dict[str, msgspec.Raw] = {}
    body: msgspec.Raw = msgspec.field(default_factory=msgspec.Raw)


class _Told(msgspec.Struct, omit_defaults=True, gc=False):
    """What a mark tells; the names are part of the format."""

    group: str
    version: str
    kind: str
    what: MarkType
    time: _Time
    resourceVersion: str | None = None
    since: _Time = 0
    sinceResourceVersion: str | None = None
    reason: str = ""
    other: str = ""


class _MarkLine(msgspec.Struct, gc=False):
    mark: _Told


_encode = msgspec.json.Encoder().encode
_decode_mark = msgspec.json.Decoder(_MarkLine).decode
_MARK = b'{"mark":'
_decode = msgspec.json.Decoder(_Read).decode
_NOTHING = (b"", b"null")
Known = MutableMapping[object, Any]  # what many entries tell alike, once


def line_of(entry: Observation) -> bytes:
    """Without the end of the line."""
    if isinstance(entry, Mark):
        told = _Told(
            entry.group,
            entry.version,
            entry.kind,
            entry.what,
            entry.time,
            _text(entry.revision),
            entry.since,
            _text(entry.since_revision),
            entry.reason,
            entry.other,
        )
        return _encode(_MarkLine(told))
    own, before = entry.resource_version, entry.replaces
    return _encode(
        _Line(
            entry.ref,
            entry.change,
            entry.clock,
            entry.received,
            entry.staged if entry.staged < FOREVER else None,
            _text(own),
            _text(before),
            entry.level,
            entry.action,
            entry.actor,
            entry.user_agent,
            entry.identity,
            entry.owner,
            entry.place,
            entry.facts,
            dict(entry.sets) if entry.sets else None,
            msgspec.Raw(entry.body) if entry.body else None,
            entry.arrived,
        )
    )


def _text(revision: int | None) -> str | None:
    return None if revision is None else str(revision)


def observation_of(line: bytes | memoryview, known: Known, *, bodies: bool = True) -> Observation:
    """Raises ValueError, and RecursionError, where the line is not as it should be."""
    if line[: len(_MARK)] != _MARK:
        return entry_of(line, known, bodies=bodies)
    told = _decode_mark(line).mark
    return Mark(
        told.group,
        told.version,
        told.kind,
        told.what,
        told.time,
        revision(told.resourceVersion),
        told.since,
        revision(told.sinceResourceVersion),
        told.reason,
        told.other,
    )


def entry_of(line: bytes | memoryview, known: Known, *, bodies: bool = True) -> Entry:
    """The same where it is known to be an entry."""
    read = _decode(line)
    ref, owner = read.ref, read.owner
    type_of_facts = kind_of(ref.group, ref.kind).facts_type
    once = known.setdefault
    return Entry(
        once(ref, ref),
        read.change,
        revision(read.resourceVersion),
        read.clock,
        read.received,
        FOREVER if read.staged is None else read.staged,
        _facts(type_of_facts).decode(read.facts) if _told(read.facts) else None,
        tuple((name, _set(type_of_facts, name).decode(value)) for name, value in read.sets.items()),
        once(owner, owner),
        revision(read.replaces),
        read.level or Level.FULL,
        once(read.action, read.action),
        once(read.actor, read.actor),
        once(read.userAgent, read.userAgent),
        read.identity,
        read.place,
        bytes(read.body) if bodies and _told(read.body) else b"",
        read.arrived,
    )


def _told(value: msgspec.Raw) -> bool:
    return len(value) > 4 or bytes(value) not in _NOTHING


@cache
def _facts(type_of_facts: type[Facts]) -> msgspec.json.Decoder[Facts]:
    return msgspec.json.Decoder(type_of_facts)


@cache
def _set(type_of_facts: type[Facts], name: str) -> msgspec.json.Decoder[Any]:
    """The decoder of one fact. Raises ValueError where the kind has no such fact."""
    for field in msgspec.structs.fields(type_of_facts):
        if field.name == name:
            return msgspec.json.Decoder(field.type)
    raise ValueError(f"{type_of_facts.__name__} has no field of one of the names in sets")
