"""Find out when two observations show the same change, and merge them. It does no I/O.

See docs/decisions/0008-one-change-seen-twice.md.
"""

from typing import Any

from msgspec.structs import replace

from timeline.core.entries import Change, Clock, Entry, Facts


def identity(entry: Entry) -> object:
    """Return a hashable value that is equal for two observations of one object if they show the same change."""
    if entry.change is Change.DELETED and entry.ref.uid:
        return Change.DELETED  # a UID is deleted only once, and not every observation shows the revision of that
    if entry.resource_version is not None:
        return entry.resource_version
    return entry.identity or (entry.change, entry.received, entry.staged)


def merged(one: Entry, other: Entry) -> Entry:
    """Return one entry for two observations of one change. Fields that the preferred one lacks come from the other.

    An observation with the times of an audit log is preferred to one with the whole seconds of an object, and the
    earlier one to the later one, because a later request that returns the same revision wrote nothing.
    """
    first, second = sorted((one, other), key=precedence)
    added: dict[str, Any] = {}
    if first.resource_version is None and second.resource_version is not None:
        added["resource_version"] = second.resource_version
    if first.facts is None and second.facts is not None:
        added["facts"] = second.facts
    if first.intent is None and second.intent is not None:
        added["intent"] = second.intent
    if first.owner is None and second.owner is not None:
        added["owner"] = second.owner
    if first.replaces is None and second.replaces is not None and second.replaces != first.resource_version:
        added["replaces"] = second.replaces
    if not first.actor and second.actor and (first.clock is second.clock or second.misdated):
        added["actor"] = second.actor  # an admission webhook was asked by whom
    if first.clock is Clock.AUDIT and first.client is None and second.client is not None:
        added["client"] = second.client
    if not first.annotations and second.annotations:
        added["annotations"] = second.annotations
    if first.named is None and second.named is not None and first.resource_version is None:
        added["named"] = second.named
    if first.change is Change.OBSERVED and second.change is not Change.OBSERVED:
        added["change"] = second.change
    return replace(first, **added) if added else first


def precedence(entry: Entry) -> tuple[bool, bool, int, int, str, str, int, int]:
    """Return a sort key that puts the preferred observation of a change first. It does not depend on the order in
    which lines were read."""
    file, line = (entry.place.file, entry.place.line) if entry.place else ("", 0)
    misdated = entry.misdated != 0
    return (
        misdated,
        entry.clock is not Clock.AUDIT,
        entry.received,
        entry.staged,
        entry.identity,
        file,
        line,
        entry.arrived,
    )


def reconciled(entries: list[Entry]) -> list[Entry]:
    """Return the entries of one UID, after merging entries of an audit log into entries of a watch or list that show
    the same change.

    Some entries of an audit log show a state but no revision. They have no common order with those of a watch, so a
    change that both show would seem to happen twice. Two entries with the same state are therefore merged into one. A
    watch shows every state: an entry of the log that matches none keeps only the information that there was a write.
    """
    loose = sorted((entry for entry in entries if _loose(entry)), key=precedence)
    other = [entry for entry in entries if entry.clock is Clock.OBJECT and entry.resource_version is not None]
    if not loose or not other or not loose[0].ref.uid:
        return entries
    other.sort(key=lambda entry: entry.resource_version or 0)
    places: dict[Facts | None, list[int]] = {}
    for place, entry in enumerate(loose):
        places.setdefault(entry.facts, []).append(place)
    one: dict[int, Entry] = {}
    before = len(loose)
    for entry in reversed(other):  # from the last one, since a list shows the latest state
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
    """Return whether this is an entry of an audit log that shows a state but no revision."""
    gone = entry.change is Change.DELETED
    return entry.clock is Clock.AUDIT and entry.resource_version is None and entry.facts is not None and not gone
