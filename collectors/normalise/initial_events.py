"""Pure: which objects of a watch stood when it began, and what happened to the others under its eyes.

A watch begins with everything that stands, told as if it were being added, and no line says where that ends. kubectl
tells it in the order of names; what follows comes in the order of revisions, each greater than all before. So an object
was there already while the order of names lasts, and whenever a revision or an object comes again: then the watch was
begun anew. What may be either counts as there: that is the safe side.
"""

from collections import defaultdict
from collections.abc import Iterator
from typing import NamedTuple

from msgspec.structs import replace

from collectors.normalise.objects import ObservedObject
from timeline.core.entries import Change, Entry

_SIGNED = ("Lease",)  # every write leaves one: the same writer, in the same second


class _Trace(NamedTuple):
    """By what an object is known when it comes again: hashes."""

    managers: int
    content: int  # of everything but the revision; 0 where it is not needed


class _Stream:
    """What was seen of one kind."""

    def __init__(self) -> None:
        self.listing = True  # what is added may still have stood before
        self.last = ""  # the name that came last in the order of names
        self.highest = 0  # resource version
        self.held_creations: list[Entry] = []  # creations, unless the watch turns out to have begun anew
        self.live: dict[str, _Trace] = {}

    def added(self, entry: Entry, created: bool, trace: _Trace) -> Iterator[Entry]:
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
        yield from self.initial_events_ended(entry.resource_version)
        key = _key(entry)
        previous_version = self.live.pop(key, None)
        if entry.change is not Change.DELETED:
            self.live[key] = trace
            if previous_version and previous_version.managers == trace.managers and entry.ref.kind not in _SIGNED:
                entry = replace(entry, user_agent="")  # as a binding does, it left no sign of who made it, and when
        yield entry

    def initial_events_ended(self, resource_version: int | None) -> Iterator[Entry]:
        """Something else than an addition was told: everything that stood had been told before."""
        self.listing = False
        self.highest = max(self.highest, resource_version or 0)
        yield from self.release(Change.CREATED)

    def release(self, change: Change) -> Iterator[Entry]:
        held_creations, self.held_creations = self.held_creations, []
        for entry in held_creations:
            yield replace(entry, change=change)


class InitialEvents:
    """The sightings of one recording, in the order in which it tells them."""

    def __init__(self) -> None:
        self._streams: dict[tuple[str, str], _Stream] = defaultdict(_Stream)

    def watch_event(self, observed: ObservedObject) -> Iterator[Entry]:
        """An entry whose change the watch told: CREATED stands for ADDED."""
        entry = observed.entry
        trace = _Trace(hash(observed.managers), 0)
        if entry.change is Change.CREATED:
            yield from self._stream(entry).added(entry, observed.pristine, trace)
        else:
            yield from self._stream(entry).changed(entry, trace)

    def plain_object(self, observed: ObservedObject, content: int) -> Iterator[Entry]:
        """An object without a word about what happened to it; `content` is a hash of all but its revision.

        A deletion shows the old object under a new revision; any other change leaves its mark, if only in its
        managedFields. Where these are not shown nothing is sure but what was seen.
        """
        entry = observed.entry
        if not observed.managers:
            yield entry
            return
        stream, trace = self._stream(entry), _Trace(hash(observed.managers), content)
        previous_version = stream.live.get(_key(entry))
        if previous_version is None or entry.resource_version is None or entry.resource_version <= stream.highest:
            yield from stream.added(entry, observed.pristine, trace)
        elif trace == previous_version:
            yield from stream.changed(replace(entry, change=Change.DELETED, user_agent=""), trace)
        else:
            yield from stream.changed(replace(entry, change=Change.MODIFIED), trace)

    def bookmark(self, group: str, kind: str, resource_version: int | None, ends_replay: bool) -> Iterator[Entry]:
        """Everything up to a revision was told."""
        stream = self._streams[group, kind]
        if ends_replay:
            yield from stream.release(Change.OBSERVED)
        yield from stream.initial_events_ended(resource_version)

    def interrupted(self) -> Iterator[Entry]:
        """The watch ended: what follows, if anything, begins anew."""
        yield from self.remaining()
        for stream in self._streams.values():
            stream.listing, stream.last = True, ""

    def remaining(self) -> Iterator[Entry]:
        """What was held back, at the end."""
        for stream in self._streams.values():
            yield from stream.release(Change.CREATED)

    def _stream(self, entry: Entry) -> _Stream:
        return self._streams[entry.ref.group, entry.ref.kind]


def _name(entry: Entry) -> str:
    """As etcd orders its keys."""
    return f"{entry.ref.namespace}/{entry.ref.name}" if entry.ref.namespace else entry.ref.name


def _key(entry: Entry) -> str:
    return entry.ref.uid or _name(entry)
