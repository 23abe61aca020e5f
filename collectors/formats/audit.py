"""Read a Kubernetes audit log: lines of JSON, each an Event of `audit.k8s.io/v1`.

The API server writes them so to a file: https://kubernetes.io/docs/tasks/debug/debug-cluster/audit/
"""

from collections.abc import Iterable, Iterator

import msgspec
from msgspec.structs import replace

from collectors.formats import Format
from collectors.formats.json_items import outline
from collectors.formats.stream import Line, Recording, Skipped
from collectors.formats.waiting import Waiting
from collectors.gate import Admitted, reason_of
from collectors.normalise.audit import entries_of
from collectors.normalise.audit_event import AuditEvent
from collectors.normalise.brief_event import leaves_out
from collectors.normalise.interning import Interner
from collectors.normalise.requests import request_of
from timeline.core.bounds import FAULTS
from timeline.core.entries import Entry, Observation, Place, Request
from timeline.history.ledger.left_out import LeftOut

Observed = Entry | Request
_event = msgspec.json.Decoder(AuditEvent)


def sniff(head: bytes) -> bool:
    """Return whether one of the first lines is an audit event; a broken first line does not hide the others."""
    lines = (line for line in head.split(b"\n") if line.lstrip().startswith(b"{"))
    return ("auditID",) in outline(head) and any(b'"auditID"' in line for line in lines)


def read(recording: Recording, bodies: bool) -> Iterator[Observed | Skipped | Admitted[Observation | Skipped]]:
    """Yield the entries of an audit log, in the order of its lines, and what was skipped."""
    events = AuditEvents(bodies, left_out=recording.left_out)
    if recording.processes > 1:
        from collectors.formats.parallel import read_in_parallel

        yield from read_in_parallel(recording, events)
    else:
        yield from events.read(recording.lines())
    yield from events.unnamed_entries()


def read_lines(lines: Iterable[Line | Skipped], bodies: bool) -> Iterator[Observed | Skipped]:
    """Yield the entries of audit events, one event a line, and what was skipped."""
    events = AuditEvents(bodies)
    yield from events.read(lines)
    yield from events.unnamed_entries()


def read_events(lines: Iterable[Line | Skipped], kinds: dict[tuple[str, str], str]) -> Iterator[Observed | Skipped]:
    """Yield the entries of audit events with their objects, one event a line, and what was skipped.

    `kinds` maps (API group, resource) to the kind of resources that are not built in. It is extended by what the events
    name.
    """
    events = AuditEvents(True, kinds)
    yield from events.read(lines)
    yield from events.unnamed_entries()


Learned = tuple[dict[tuple[str, str], str], list[tuple[str, Observed]], LeftOut | None]


class AuditEvents:
    """Read the lines of one log, and keep until the end the entries that need all lines.

    With `left_out`, only its part of the log is read, and what is known of the rest is added to it.
    """

    def __init__(
        self, bodies: bool, kinds: dict[tuple[str, str], str] | None = None, left_out: LeftOut | None = None
    ) -> None:
        self.bodies = bodies
        self._left_out = left_out
        self._interner = Interner()
        if kinds is not None:
            self._interner.kind_names = kinds
        # (resource, entry): the resource's kind may be on another line.
        self._unnamed: Waiting[tuple[str, Observed]] = Waiting(_line)

    def read(self, lines: Iterable[Line | Skipped]) -> Iterator[Observed | Skipped]:
        interner, bodies = self._interner, self.bodies
        for line in lines:
            if isinstance(line, Skipped):
                yield line
                continue
            if self._left_out and leaves_out(line.data, self._left_out):
                continue
            try:
                event = _event.decode(line.data)
                if not event.auditID:
                    raise ValueError("it is not an audit event: it has no auditID")
                place = Place(line.file, line.number)
                observed: Iterable[Observed] = entries_of(event, place, bodies=bodies, interner=interner)
                if not observed and (request := request_of(event, place, interner)):
                    observed = (request,)
                if self._left_out:
                    observed = self._of_part(observed)
                for each in observed:
                    resource = event.objectRef.resource if event.objectRef else ""
                    if each.ref.kind != resource:
                        yield each
                    elif (each.ref.group, resource) in interner.kind_names:
                        yield _with_kind(each, resource, interner.kind_names)
                    else:
                        self._unnamed.add((resource, each))
            except FAULTS as error:
                yield Skipped(line.file, line.number, reason_of(error))

    def _of_part(self, observed: Iterable[Observed]) -> list[Observed]:
        """Return what was observed on one line without what the part leaves out."""
        assert self._left_out
        kept = []
        for each in observed:
            if self._left_out.part.reads(each.ref):
                kept.append(each)
            elif isinstance(each, Entry):
                self._left_out.add(each)
        self._left_out.lines += not kept and bool(observed)
        return kept

    def learned(self) -> Learned:
        """Return what a reader of other lines of the log needs, as far as it is new since the last call.

        These are the names of kinds, the entries whose kind is not known yet, and what was left out.
        """
        unnamed, self._unnamed = [*self._unnamed], Waiting(_line)
        left_out = self._left_out
        self._left_out = LeftOut(left_out.part, left_out.file) if left_out else None
        return self._interner.kind_names, unnamed, left_out

    def merge(self, learned: Learned) -> None:
        """Add what the reader of other lines has learned."""
        kind_names, unnamed, left_out = learned
        self._interner.kind_names.update(kind_names)
        if left_out and self._left_out:
            self._left_out.merge(left_out)
        for each in unnamed:
            self._unnamed.add(each)

    def unnamed_entries(self) -> Iterator[Observed]:
        """Yield the entries whose kind was not on their own line, in order of lines, now that all lines were read."""
        for resource, entry in self._unnamed:
            yield _with_kind(entry, resource, self._interner.kind_names)


def _line(unnamed: tuple[str, Observed]) -> int:
    place = unnamed[1].place
    return place.line if place else 0


def _with_kind(each: Observed, resource: str, kinds: dict[tuple[str, str], str]) -> Observed:
    """Return what was observed of a resource that is not built in with its kind from other lines; else the resource's
    name."""
    kind = kinds.get((each.ref.group, resource), resource)
    return replace(each, ref=replace(each.ref, kind=kind))


FORMAT = Format("Kubernetes audit log", sniff, read, Recording.lines, leaves_out=True)
