"""Read and write Causeline's own recordings, which keep every field of an entry.

A recording is JSON, one document a line. The first line is the header, {"schema": "causeline.recording/v4"}; each other
line is an entry, a request that changed nothing, a line of a log, or a mark of a stream, as timeline/history/codec.py
writes them. Version 1 has no requests and no lines of logs, version 2 no marks of freed spans,
and version 3 no messages of refusals.
"""

import re
from collections.abc import Iterable, Iterator
from itertools import chain

import msgspec
from msgspec.structs import replace

from collectors.formats import Format
from collectors.formats.json_items import outline
from collectors.formats.stream import NotARecording, Recording, Skipped
from collectors.gate import reason_of
from timeline.core.bounds import FAULTS, check
from timeline.core.entries import Change, Entry, Intent, LogLine, Mark, Observation, Place, Request
from timeline.core.intent import has_intent
from timeline.history.codec import Known, line_of, observation_of

VERSION = 4
_SCHEMA = "causeline.recording/v"
_HEADER = re.compile(rf'\{{"schema": ?"{re.escape(_SCHEMA)}(\d{{1,9}})"'.encode())
_PART = b',"part":true'
_QUOTED = re.compile(r" '.*'", re.DOTALL)  # a value that msgspec quotes in its message


def write(entries: Iterable[Observation]) -> Iterator[bytes]:
    """Return the lines of a recording of these entries, each with its line break."""
    return recording(map(line_of, entries))


def recording(lines: Iterable[bytes], *, part: bool = False) -> Iterator[bytes]:
    """Return the same for entries that are encoded as lines already. `part` says in the header that the reader could
    not see all of them."""
    header = b'{"schema":"%s%d"%s}' % (_SCHEMA.encode(), VERSION, _PART if part else b"")
    return (line + b"\n" for line in chain([header], lines))


def sniff(head: bytes) -> bool:
    """Return whether a head begins with the header of a recording of Causeline."""
    return outline(head).get(("schema",), b"").startswith(f'"{_SCHEMA}'.encode())


def read(recording: Recording, bodies: bool) -> Iterator[Observation | Skipped]:
    """Yield the entries of a recording. Raise NotARecording if a newer version of Causeline wrote it."""
    known: Known = {}  # one copy of each value that many entries repeat
    for line in recording.lines():
        if isinstance(line, Skipped):
            yield line
        elif header := _HEADER.match(line.data):
            if int(header[1]) > VERSION:
                raise NotARecording(
                    f"{recording.name} was written by a newer Causeline: it is version {int(header[1])} of its own"
                    f" format, and this Causeline reads version {VERSION}. Update Causeline to read it."
                )
            if _PART in line.data:
                yield Skipped(line.file, line.number, "it has only the namespaces that its reader could see")
        else:
            try:
                yield _entry(line.data, Place(line.file, line.number), bodies, known)
            except msgspec.ValidationError as error:
                field = _QUOTED.sub("", str(error))
                yield Skipped(line.file, line.number, f"a field is not as Causeline writes it: {field}")
            except FAULTS as error:
                yield Skipped(line.file, line.number, reason_of(error))


def _entry(line: bytes, here: Place, bodies: bool, known: Known) -> Observation:
    entry = observation_of(line, known)
    check(entry)
    if isinstance(entry, Mark):
        return entry
    if isinstance(entry, LogLine):
        return replace(entry, place=entry.place or here)
    if isinstance(entry, Request):
        return replace(entry, place=entry.place or here)
    wanted = entry.change is not Change.DELETED and entry.action == "" and has_intent(entry.ref.group, entry.ref.kind)
    body = entry.body if bodies or wanted else b""
    return replace(entry, place=entry.place or here, body=body, intent=_scaled(entry))


def _scaled(entry: Entry) -> Intent | None:
    """Return the number of replicas that a scaling set. What else is wanted is read from the object alone."""
    replicas = dict(entry.intent or ()).get("replicas", "") if entry.action == "scale" else ""
    return (("replicas", replicas),) if replicas.isdecimal() and len(replicas) < 11 else None


FORMAT = Format("Causeline recording", sniff, read)
