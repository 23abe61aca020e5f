"""Causeline's own recordings: entries written down so that nothing is lost when they are read again.

JSON, one document a line. The first is the header, {"schema": "causeline.recording/v1"}; each other is an entry. Times
are microseconds since 1970, UTC; one that nothing bounds is left out. Revisions are text, as they may exceed 64 bits.
`facts` is the state after the change and `sets` what a partial answer told of it, in the words of timeline/kinds;
`body` is the redacted object. What is not told is left out, and fields that are not known are passed over.
"""

import re
from collections.abc import Iterable, Iterator
from functools import cache
from typing import Annotated, Any

import msgspec

from collectors.formats import Format
from collectors.formats.json_items import outline
from collectors.formats.refusal import reason_of
from collectors.formats.stream import NotARecording, Recording, Skipped
from collectors.normalise import revision, told
from collectors.redact import redact_json
from timeline.entries import FOREVER, Change, Clock, Entry, Facts, Level, ObjectRef, Owner, Place
from timeline.kinds import kind_of

VERSION = 1
_SCHEMA = "causeline.recording/v"
_HEADER = re.compile(rf'\{{"schema": ?"{re.escape(_SCHEMA)}(\d{{1,9}})"'.encode())
_QUOTED = re.compile(r" '.*'", re.DOTALL)  # a value that is repeated
_Time = Annotated[int, msgspec.Meta(ge=0, lt=FOREVER)]


class _Written(msgspec.Struct, gc=False):
    """An entry as it is written down. The names are part of the format."""

    ref: ObjectRef
    change: Change
    clock: Clock
    received: _Time
    staged: _Time | None = None
    resourceVersion: str | None = None
    replaces: str | None = None
    level: Level = Level.FULL
    action: str = ""
    actor: str = ""
    userAgent: str = ""
    identity: str = ""
    owner: Owner | None = None
    place: Place | None = None
    facts: msgspec.Raw = msgspec.field(default_factory=msgspec.Raw)
    sets: dict[str, msgspec.Raw] = {}
    body: msgspec.Raw = msgspec.field(default_factory=msgspec.Raw)


_written = msgspec.json.Decoder(_Written)


def write(entries: Iterable[Entry]) -> Iterator[bytes]:
    """The lines of a recording of these entries, each with its end."""
    yield b'{"schema":"%s%d"}\n' % (_SCHEMA.encode(), VERSION)
    for entry in entries:
        fields: dict[str, Any] = {
            "ref": entry.ref,
            "change": entry.change,
            "clock": entry.clock,
            "received": entry.received,
            "staged": entry.staged if entry.staged < FOREVER else None,
            "resourceVersion": entry.resource_version and str(entry.resource_version),
            "replaces": entry.replaces and str(entry.replaces),
            "level": entry.level,
            "action": entry.action,
            "actor": entry.actor,
            "userAgent": entry.user_agent,
            "identity": entry.identity,
            "owner": entry.owner,
            "place": entry.place,
            "sets": dict(entry.sets),
            "body": entry.body and msgspec.Raw(entry.body),
        }
        held = {name: value for name, value in fields.items() if value or value == 0}
        if entry.facts is not None:
            held["facts"] = entry.facts
        yield msgspec.json.encode(held) + b"\n"


def sniff(head: bytes) -> bool:
    return outline(head).get(("schema",), b"").startswith(f'"{_SCHEMA}'.encode())


def read(recording: Recording, bodies: bool) -> Iterator[Entry | Skipped]:
    """Raises NotARecording for a newer version: what it would tell, nobody here knows."""
    known: dict[object, Any] = {}  # what many entries tell alike is kept once
    for line in recording.lines():
        if isinstance(line, Skipped):
            yield line
        elif header := _HEADER.match(line.data):
            if int(header[1]) > VERSION:
                raise NotARecording(
                    f"{recording.name} was written by a newer Causeline: it is version {int(header[1])} of its own"
                    f" format, and this Causeline reads version {VERSION}. Update Causeline to read it."
                )
        else:
            try:
                yield _entry(_written.decode(line.data), Place(line.file, line.number), bodies, known)
            except msgspec.ValidationError as error:
                field = _QUOTED.sub("", str(error))
                yield Skipped(line.file, line.number, f"a field is not as Causeline writes it: {field}")
            except (ValueError, RecursionError) as error:
                yield Skipped(line.file, line.number, reason_of(error))


def _entry(written: _Written, here: Place, bodies: bool, known: dict[object, Any]) -> Entry:
    ref = written.ref
    if "\0" in "".join((ref.group, ref.version, ref.kind, ref.namespace, ref.name, ref.uid)):
        raise ValueError("a NUL character stands in the object's name")
    type_of_facts = kind_of(ref.group, ref.kind).facts_type
    return Entry(
        ref=known.setdefault(ref, ref),
        change=written.change,
        resource_version=revision(written.resourceVersion),
        clock=written.clock,
        received=written.received,
        staged=FOREVER if written.staged is None else written.staged,
        facts=_facts(type_of_facts).decode(written.facts) if told(written.facts) else None,
        sets=tuple((name, _set(type_of_facts, name).decode(value)) for name, value in written.sets.items()),
        owner=known.setdefault(written.owner, written.owner),
        replaces=revision(written.replaces),
        level=written.level,
        action=known.setdefault(written.action, written.action),
        actor=known.setdefault(written.actor, written.actor),
        user_agent=known.setdefault(written.userAgent, written.userAgent),
        identity=written.identity,
        place=written.place or here,
        body=redact_json(bytes(written.body), ref.kind) if bodies and told(written.body) else b"",
    )


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


FORMAT = Format("Causeline recording", sniff, read)
