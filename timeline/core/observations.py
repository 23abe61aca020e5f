"""Pure: what makes two observations one change, and what the two tell together."""

from typing import Any

from msgspec.structs import replace

from timeline.core.entries import Change, Clock, Entry, Facts


def identity(entry: Entry) -> object:
    """What makes two observations of an object one change."""
    if entry.change is Change.DELETED and entry.ref.uid:
        return Change.DELETED  # it happens once, and not every observation tells its revision
    if entry.resource_version is not None:
        return entry.resource_version
    return entry.identity or (entry.change, entry.received, entry.staged)


def merged(one: Entry, other: Entry) -> Entry:
    """Two observations of one change: the clock of the API server stands before whole seconds, the first before a later
    write that repeats its revision and so wrote nothing; what it does not tell comes from the other."""
    first, second = sorted((one, other), key=_precedence)
    told: dict[str, Any] = {}
    if first.resource_version is None and second.resource_version is not None:
        told["resource_version"] = second.resource_version
    if first.facts is None and second.facts is not None:
        told["facts"] = second.facts
    if first.owner is None and second.owner is not None:
        told["owner"] = second.owner
    if first.replaces is None and second.replaces is not None and second.replaces != first.resource_version:
        told["replaces"] = second.replaces
    if first.change is Change.OBSERVED and second.change is not Change.OBSERVED:
        told["change"] = second.change
    return replace(first, **told) if told else first


def _precedence(entry: Entry) -> tuple[bool, int, int, str, str, int, int]:
    file, line = (entry.place.file, entry.place.line) if entry.place else ("", 0)
    return entry.clock is not Clock.AUDIT, entry.received, entry.staged, entry.identity, file, line, entry.arrived


def reconciled(entries: list[Entry], watched_until: int = 0) -> list[Entry]:
    """The entries of one UID, where some of an audit log tell a state and no revision beside others that tell both.

    A log and a watch have no order then, and what they tell twice would seem to come and go. Those that tell the same
    are one change. What remains of the log beside a watch, which tells each state, only says that there was a write;
    until the watch ends (microseconds), it is one that the watch tells, or one that changed nothing.
    """
    if watched_until and entries[0].ref.uid:
        entries = [entry for entry in entries if not (_bare(entry) and entry.received <= watched_until)] or entries
    loose = sorted((entry for entry in entries if _loose(entry)), key=_precedence)
    other = [entry for entry in entries if entry.clock is Clock.OBJECT and entry.resource_version is not None]
    if not loose or not other or not loose[0].ref.uid:
        return entries
    other.sort(key=lambda entry: entry.resource_version or 0)
    places: dict[Facts | None, list[int]] = {}
    for place, entry in enumerate(loose):
        places.setdefault(entry.facts, []).append(place)
    one: dict[int, Entry] = {}
    before = len(loose)
    for entry in reversed(other):  # from the last: a list tells the last state
        same = places.get(entry.facts, [])
        while same and same[-1] >= before:
            same.pop()
        if same and entry.received <= loose[same[-1]].staged:
            before = same.pop()
            one[id(entry)] = merged(loose[before], entry)
            one[id(loose[before])] = one[id(entry)]
    streamed = any(entry.change is not Change.OBSERVED for entry in other)
    rest = [replace(entry, facts=None) if streamed else entry for entry in loose if id(entry) not in one]
    return [one.get(id(entry), entry) for entry in entries if not _loose(entry)] + rest


def _loose(entry: Entry) -> bool:
    gone = entry.change is Change.DELETED
    return entry.clock is Clock.AUDIT and entry.resource_version is None and entry.facts is not None and not gone


def _bare(entry: Entry) -> bool:
    """Whether it only says that somebody wrote."""
    told = entry.resource_version is not None or entry.facts is not None or entry.sets
    return entry.clock is Clock.AUDIT and entry.change is Change.MODIFIED and not told
