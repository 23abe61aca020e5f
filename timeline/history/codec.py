"""Write an entry, a request, a line of a log or a mark as one line of JSON and read it back, for storing and exporting.

Times are microseconds since 1970, UTC; a `staged` of FOREVER is omitted. Revisions are text, since they may exceed 64
bits. `facts` is the state after the change, and `sets` holds single facts that a partial response showed; both have the
field names of timeline/kinds. `body` is the redacted object. Empty fields are omitted, and unknown fields are ignored.
"""

from collections.abc import MutableMapping
from functools import cache
from typing import Any

import msgspec

from timeline.core.entries import (
    FOREVER,
    Entry,
    Facts,
    Level,
    LogLine,
    Mark,
    Observation,
    Request,
    revision,
)
from timeline.history.line_shapes import (
    EntryLine,
    EntryRead,
    LogFields,
    LogLineLine,
    MarkFields,
    MarkLine,
    RequestFields,
    RequestLine,
)
from timeline.kinds import kind_of

_encode = msgspec.json.Encoder().encode
_decode_mark = msgspec.json.Decoder(MarkLine).decode
_decode_request = msgspec.json.Decoder(RequestLine).decode
_decode_log = msgspec.json.Decoder(LogLineLine).decode
_MARK = b'{"mark":'
_REQUEST = b'{"request":'
_LOG = b'{"log":'
_decode = msgspec.json.Decoder(EntryRead).decode
_NOTHING = (b"", b"null")
Known = MutableMapping[object, Any]  # maps each value to the first equal one, so that many entries can share it


def line_of(entry: Observation) -> bytes:
    """Return an observation as a line of JSON, without a line break."""
    if isinstance(entry, Mark):
        fields = MarkFields(
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
            entry.namespace,
        )
        return _encode(MarkLine(fields))
    if isinstance(entry, Request):
        return _encode(RequestLine(_request_fields(entry)))
    if isinstance(entry, LogLine):
        line = entry
        return _encode(
            LogLineLine(
                LogFields(
                    line.log, line.time, line.text, line.level, line.unknown, line.objects, line.place, line.misdated
                ),
            )
        )
    own, before = entry.resource_version, entry.replaces
    return _encode(
        EntryLine(
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
            entry.client,
            _text(entry.named),
            None if entry.body else entry.intent,  # with the body, it can be read from that
            entry.misdated,
            entry.blind,
            entry.annotations,
        )
    )


def _request_fields(request: Request) -> RequestFields:
    return RequestFields(
        request.ref,
        request.verb,
        request.code,
        request.received,
        request.staged if request.staged < FOREVER else None,
        request.reason,
        _text(request.named),
        _text(request.answered),
        request.action,
        request.since,
        request.match,
        request.initial,
        request.applied,
        request.selector,
        request.actor,
        request.user_agent,
        request.client,
        request.identity,
        request.place,
        request.misdated,
        request.message,
        request.annotations,
    )


def _text(revision: int | None) -> str | None:
    return None if revision is None else str(revision)


def observation_of(line: bytes | memoryview, known: Known, *, bodies: bool = True) -> Observation:
    """Return the observation that a line of JSON holds.

    Pass the same `known` for all lines, so that equal values share memory. Without `bodies`, the body is left empty.
    Raises ValueError, or RecursionError, if the line is not in the form that `line_of` writes.
    """
    if line[: len(_REQUEST)] == _REQUEST:
        return _request_of(line, known)
    if line[: len(_LOG)] == _LOG:
        log = _decode_log(line).log
        once = known.setdefault
        name = once(log.log, log.log)
        return LogLine(
            name, log.time, log.text, once(log.level, log.level), log.unknown, log.objects, log.place, log.misdated
        )
    if line[: len(_MARK)] != _MARK:
        return entry_of(line, known, bodies=bodies)
    read = _decode_mark(line).mark
    return Mark(
        read.group,
        read.version,
        read.kind,
        read.what,
        read.time,
        revision(read.resourceVersion),
        read.since,
        revision(read.sinceResourceVersion),
        read.reason,
        read.other,
        read.namespace,
    )


def _request_of(line: bytes | memoryview, known: Known) -> Request:
    read = _decode_request(line).request
    once = known.setdefault
    return Request(
        once(read.ref, read.ref),
        once(read.verb, read.verb),
        read.code,
        read.received,
        FOREVER if read.staged is None else max(read.received, read.staged),
        once(read.reason, read.reason),
        revision(read.named),
        revision(read.answered),
        once(read.action, read.action),
        read.since,
        read.match,
        read.initial,
        read.applied,
        read.selector,
        once(read.actor, read.actor),
        once(read.userAgent, read.userAgent),
        once(read.client, read.client),
        read.identity,
        read.place,
        read.misdated,
        once(read.message, read.message),
        once(read.annotations, read.annotations),
    )


def entry_of(line: bytes | memoryview, known: Known, *, bodies: bool = True) -> Entry:
    """Return the entry that a line of JSON holds. This is `observation_of` for lines that are surely entries."""
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
        FOREVER if read.staged is None else max(read.received, read.staged),
        _facts(type_of_facts).decode(read.facts) if _is_set(read.facts) else None,
        tuple((name, _set(type_of_facts, name).decode(value)) for name, value in read.sets.items()),
        once(owner, owner),
        revision(read.replaces),
        read.level or Level.FULL,
        once(read.action, read.action),
        once(read.actor, read.actor),
        once(read.userAgent, read.userAgent),
        read.identity,
        read.place,
        bytes(read.body) if bodies and _is_set(read.body) else b"",
        read.arrived,
        once(read.client, read.client),
        revision(read.named),
        once(read.intent, read.intent),
        read.misdated,
        read.blind,
        once(read.annotations, read.annotations),
    )


def _is_set(value: msgspec.Raw) -> bool:
    """Return whether a field is present and not null."""
    return len(value) > 4 or bytes(value) not in _NOTHING


@cache
def _facts(type_of_facts: type[Facts]) -> msgspec.json.Decoder[Facts]:
    return msgspec.json.Decoder(type_of_facts)


@cache
def _set(type_of_facts: type[Facts], name: str) -> msgspec.json.Decoder[Any]:
    """Return the decoder of one field of the facts. Raises ValueError if the kind has no such field."""
    for field in msgspec.structs.fields(type_of_facts):
        if field.name == name:
            return msgspec.json.Decoder(field.type)
    raise ValueError(f"{type_of_facts.__name__} has no field of one of the names in sets")
