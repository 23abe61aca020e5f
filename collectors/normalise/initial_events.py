"""Decide which objects of a recorded watch existed when it began, and which changed afterwards. It does no I/O.

A watch begins with an ADDED event for each existing object, and a recording by kubectl does not say where these end.
They come in the order of names; later events come in the order of resourceVersions, each greater than all before. So an
object existed already while events come in the order of names, and again whenever a resourceVersion or an object is
repeated: then the watch was started anew. An object that may be either counts as existing, which is the cautious
choice.
"""

from collections import defaultdict
from collections.abc import Iterator
from typing import NamedTuple

from msgspec.structs import replace

from collectors.normalise.objects import ObservedObject, Signature, signed_by
from timeline.core.entries import Change, Entry

_SIGNED = ("Lease",)  # kinds whose every write leaves the same managedFields: one writer, within one second


class _Trace(NamedTuple):
    """Hashes of an object, by which it is recognised when it comes again, and who wrote it last."""

    managers: int  # of its managedFields
    content: int  # of everything but the resourceVersion; 0 if it is not needed
    signature: Signature | None


class _Stream:
    """Keep track of the watch of one kind: which objects exist, and whether it has listed all of them."""

    def __init__(self) -> None:
        self.listing = True  # whether an added object may have existed before the watch
        self.last = ""  # the last name, while names come in order
        self.highest = 0  # the highest resourceVersion so far
        self.held_creations: list[Entry] = []  # creations, if the watch does not turn out to have been restarted
        self.live: dict[str, _Trace] = {}  # key of each object that exists -> its hashes

    def added(self, entry: Entry, created: bool, trace: _Trace) -> Iterator[Entry]:
        """Yield the entry of an ADDED event as OBSERVED, or hold it back as a creation until that is certain."""
        own_version, name, key = entry.resource_version, _name(entry), _key(entry)
        repeated = own_version is None or own_version <= self.highest or key in self.live
        if repeated:
            yield from self.release(Change.OBSERVED)
            self.listing = True
        if repeated or (self.listing and name > self.last):
            self.last = name
            created = False
        else:
            self.listing = False
        self.live[key] = trace
        self.highest = max(self.highest, own_version or 0)
        if created:
            self.held_creations.append(entry)
        else:
            yield replace(entry, change=Change.OBSERVED)

    def changed(self, entry: Entry, trace: _Trace) -> Iterator[Entry]:
        """Yield the entry of a MODIFIED or DELETED event."""
        yield from self.initial_events_ended(entry.resource_version)
        key = _key(entry)
        previous_trace = self.live.pop(key, None)
        if entry.change is not Change.DELETED:
            self.live[key] = trace
            if previous_trace and entry.change is Change.MODIFIED and entry.ref.kind not in _SIGNED:
                entry = replace(entry, user_agent=signed_by(trace.signature, previous_trace.signature))
        yield entry

    def initial_events_ended(self, resource_version: int | None) -> Iterator[Entry]:
        """Note another event than ADDED: all existing objects were listed before it. Yield the held creations."""
        self.listing = False
        self.highest = max(self.highest, resource_version or 0)
        yield from self.release(Change.CREATED)

    def release(self, change: Change) -> Iterator[Entry]:
        """Yield the held creations with this change."""
        held_creations, self.held_creations = self.held_creations, []
        for entry in held_creations:
            yield replace(entry, change=change)


class InitialEvents:
    """Decide about the observed objects of one recording, in the order in which they are in it."""

    def __init__(self) -> None:
        self._streams: dict[tuple[str, str], _Stream] = defaultdict(_Stream)

    def watch_event(self, observed: ObservedObject) -> Iterator[Entry]:
        """Yield an entry whose type of change the watch recorded; CREATED stands for ADDED."""
        entry = observed.entry
        trace = _Trace(hash(observed.managers), 0, observed.signature)
        if entry.change is Change.CREATED:
            yield from self._stream(entry).added(entry, observed.pristine, trace)
        else:
            yield from self._stream(entry).changed(entry, trace)

    def plain_object(self, observed: ObservedObject, content: int) -> Iterator[Entry]:
        """Yield an object that was recorded as it was, without an event; `content` is a hash of all but its
        resourceVersion.

        A deletion repeats the object with a new resourceVersion, or shows it without its last finalizer; any other
        change alters something, if only the managedFields. Without managedFields, the entry says only that the object
        was observed, or that its last finalizer was removed.
        """
        entry = observed.entry
        if not observed.managers:
            yield replace(entry, change=Change.DELETED) if observed.ended else entry
            return
        stream, trace = self._stream(entry), _Trace(hash(observed.managers), content, observed.signature)
        previous_trace = stream.live.get(_key(entry))
        if previous_trace is None or entry.resource_version is None or entry.resource_version <= stream.highest:
            yield from stream.added(entry, observed.pristine, trace)
        elif trace[:2] == previous_trace[:2] or observed.ended:
            yield from stream.changed(replace(entry, change=Change.DELETED, user_agent=""), trace)
        else:
            yield from stream.changed(replace(entry, change=Change.MODIFIED), trace)

    def bookmark(self, group: str, kind: str, resource_version: int | None, ends_replay: bool) -> Iterator[Entry]:
        """Note that every change up to a resourceVersion was delivered, and yield what was held until then."""
        stream = self._streams[group, kind]
        if ends_replay:
            yield from stream.release(Change.OBSERVED)
        yield from stream.initial_events_ended(resource_version)

    def interrupted(self) -> Iterator[Entry]:
        """Note that the watch ended; if other events follow, the watch was started anew."""
        yield from self.remaining()
        for stream in self._streams.values():
            stream.listing, stream.last = True, ""

    def remaining(self) -> Iterator[Entry]:
        """Yield the entries that were held back, at the end of the recording."""
        for stream in self._streams.values():
            yield from stream.release(Change.CREATED)

    def _stream(self, entry: Entry) -> _Stream:
        return self._streams[entry.ref.group, entry.ref.kind]


def _name(entry: Entry) -> str:
    """Return the name as it is in the keys of etcd, which orders objects by it."""
    return f"{entry.ref.namespace}/{entry.ref.name}" if entry.ref.namespace else entry.ref.name


def _key(entry: Entry) -> str:
    return entry.ref.uid or _name(entry)
