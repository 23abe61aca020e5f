"""Find entries that cannot come from one cluster. It does no I/O."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from itertools import pairwise

from timeline.core.entries import Entry
from timeline.core.machine.columns import Numbers
from timeline.history.ledger.object_entries import ObjectEntries
from timeline.history.ledger.spaces import FEW, shared


def two_clusters(objects: Callable[[], Iterable[ObjectEntries]]) -> tuple[Entry, Entry] | None:
    """Return two entries of different objects that have the same resourceVersion, if there are at least FEW such
    resourceVersions; else None.

    Kinds that may have a counter of their own are ignored. The result does not depend on the order of the objects,
    which `objects` returns each time that it is called.
    """
    repeated = repeats(entry.resource_version or 0 for entry in _revised(objects()))
    if not repeated:
        return None
    writers: dict[int, dict[str, Entry]] = defaultdict(dict)
    for entry in _revised(objects()):
        if entry.resource_version in repeated:
            writers[entry.resource_version][entry.ref.uid] = entry
    clashes = [revision for revision, by_uid in writers.items() if len(by_uid) > 1]
    if len(clashes) < FEW:
        return None
    first, second, *_ = sorted(writers[min(clashes)].values(), key=_position)
    return first, second


def repeats(revisions: Iterable[int]) -> set[int]:
    """Return the revisions that come more than once."""
    known = Numbers()
    for revision in revisions:
        known.append(revision)
    return {one for one, other in pairwise(sorted(known.values)) if one == other}


def _revised(objects: Iterable[ObjectEntries]) -> Iterator[Entry]:
    """Yield the entries with a revision of the counter that most kinds share."""
    for each in objects:
        if each.uid and shared(each.name.group, each.name.kind):
            yield from (entry for entry in each.entries.values() if entry.resource_version is not None)


def two_uids(objects: Iterable[ObjectEntries]) -> tuple[Entry, Entry] | None:
    """Return the first entry of each of the two UIDs that were observed first; None if there are fewer than two
    UIDs."""
    earliest = [min(each.entries.values(), key=_position) for each in objects if each.uid]
    if len(earliest) < 2:
        return None
    first, second, *_ = sorted(earliest, key=_position)
    return first, second


def _position(entry: Entry) -> tuple[int, int, str, str, str]:
    """Return a sort key by time that does not depend on the order of lines."""
    file = entry.place.file if entry.place else ""
    return entry.received, entry.resource_version or 0, file, entry.ref.uid, entry.identity
