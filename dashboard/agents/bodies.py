"""Read the objects of one name again from recordings, and list their changes with what each made of them.

This module does no I/O but for reading the files. All objects are redacted when they are read.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec

from collectors.formats import Limits, named, read
from dashboard.agents.reader import Payload
from dashboard.presentation.differences import difference
from timeline.core.entries import Change, Entry
from timeline.history.lifelines import Moment, Name, Track, name_of
from timeline.layout.bodies import Work
from timeline.payloads.objects import Attribution
from timeline.payloads.revisions import revision_payload

Bodies = dict[tuple[int | str, bool], bytes]  # the key is what identifies the change, and whether it is a deletion


class Compared(NamedTuple):
    """One change of an object, with the last body that was observed before it."""

    moment: Moment
    entry: Entry
    before: bytes
    between: int
    attribution: Attribution = "uid"


def read_again(files: Sequence[tuple[Path, str]], limits: Limits, name: Name) -> Bodies:
    """Return the redacted objects of all changes of a name, as JSON. Raises OSError if the files are gone."""
    found: Bodies = {}
    for item in read(named(files), bodies=True, limits=limits):
        if isinstance(item, Entry) and item.body and name_of(item.ref) == name:
            found.setdefault(_key(item), item.body)
    return found


def changes(track: Track, found: Bodies) -> list[Compared]:
    """Return the changes of a track in commit order."""
    listed: list[Compared] = []
    before, between = b"", 0
    for moment in track.moments:
        body = found.get(_key(moment.entry), b"")
        entry = msgspec.structs.replace(moment.entry, body=body)
        listed.append(Compared(moment, entry, before, between))
        before, between = (body, 0) if body else (before, between + bool(before))
    return listed


def payload(track: Track, at: int, listed: Sequence[Compared], work: Work) -> Payload:
    """Return a change of a track as the API lists it, with its difference as far as `work` allows."""
    each = listed[at]
    change = revision_payload(at, each.moment.time, each.entry)
    return {
        **change,
        "attribution": each.attribution,
        "writers": [],
        "difference": difference(each, withheld=False, work=work),
        "url": "",
    }


def _key(entry: Entry) -> tuple[int | str, bool]:
    known = (
        entry.resource_version or entry.identity or (f"{entry.place.file}:{entry.place.line}" if entry.place else "")
    )
    return known, entry.change is Change.DELETED
