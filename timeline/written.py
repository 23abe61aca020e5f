"""Pure: an entry as one line of JSON that tells all of it, and back. So entries are stored, and so they are exported.

Times are microseconds since 1970, UTC; one that nothing bounds is left out. Revisions are text, as they may exceed 64
bits. `facts` is the state after the change and `sets` what a partial answer told of it, in the words of timeline/kinds;
`body` is the redacted object. What is not told is left out, and fields that are not known are passed over.
"""

from collections.abc import MutableMapping
from functools import cache
from typing import Annotated, Any

import msgspec

from timeline.entries import FOREVER, Change, Clock, Entry, Facts, Level, ObjectRef, Owner, Place, revision
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


class _Read(_Line, gc=False):
    """The same, with what depends on the kind of the object still raw."""

    facts: msgspec.Raw = msgspec.field(default_factory=msgspec.Raw)
    sets: dict[str, msgspec.Raw] = {}
    body: msgspec.Raw = msgspec.field(default_factory=msgspec.Raw)


_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(_Read).decode
_NOTHING = (b"", b"null")
Known = MutableMapping[object, Any]  # what many entries tell alike, once


def line_of(entry: Entry) -> bytes:
    """Without the end of the line."""
    own, before = entry.resource_version, entry.replaces
    return _encode(
        _Line(
            entry.ref,
            entry.change,
            entry.clock,
            entry.received,
            entry.staged if entry.staged < FOREVER else None,
            None if own is None else str(own),
            None if before is None else str(before),
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
        )
    )


def entry_of(line: bytes | memoryview, known: Known, *, bodies: bool = True) -> Entry:
    """Raises ValueError, and RecursionError, where the line is not as it should be."""
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
