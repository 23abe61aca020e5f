"""This module joins writes that an audit log shows without their content to the changes that a watch shows. It is pure.

A log of level Metadata says who wrote, when to the microsecond, and which revision an update named. A watch shows the
content and the revision of each change, and the second and the manager of most. Where only one write of the log can be
the one that made a change, both are one entry with everything that is known of it.
"""

from bisect import bisect_right
from collections.abc import Iterator, Sequence

from msgspec.structs import replace

from timeline.core.entries import Change, Clock, Entry
from timeline.core.order import SECOND

_WRITTEN = (Change.CREATED, Change.MODIFIED)


def joined(groups: Sequence[list[Entry]]) -> list[list[Entry]]:
    """Return the entries of one name, in groups by UID, after joining those that show the same change.

    A log does not have the UID of what is created or patched, so the writes of the group without UID are joined to the
    changes of all others.
    """
    told = sorted((each for group in groups for each in group if _told(each)), key=_order)
    shown = [each for group in groups for each in group if _shown(each)]
    if not told:
        return list(groups)
    makes: dict[int, Entry] = {}  # by the identity (`id`) of what a watch shows: the write of the log that made it
    taken: set[int] = set()
    for write, change in _pairs(told, shown, groups):
        makes[id(change)] = write
        taken.add(id(write))
    if creation := _creation([each for group in groups for each in group if id(each) not in taken]):
        write, change = creation
        makes[id(change)] = write
        taken.add(id(write))
    found = ([_one(each, makes.get(id(each))) for each in group if id(each) not in taken] for group in groups)
    return [group for group in found if group]


def _told(entry: Entry) -> bool:
    """Return whether this is a write that a log shows without content and revision."""
    bare = entry.facts is None and entry.resource_version is None and not entry.sets
    return entry.clock is Clock.AUDIT and bare and entry.change in _WRITTEN and entry.action != "binding"


def _shown(entry: Entry) -> bool:
    """Return whether this is a change of which a watch shows the content."""
    watched = entry.clock is Clock.OBJECT and entry.resource_version is not None and entry.facts is not None
    return watched and entry.change in _WRITTEN


def _order(entry: Entry) -> tuple[int, int, str]:
    return entry.received, entry.staged, entry.identity


def _pairs(told: list[Entry], shown: list[Entry], groups: Sequence[list[Entry]]) -> Iterator[tuple[Entry, Entry]]:
    """Yield each write of the log with the one change that it can have made, if no other write can have made that."""
    possible = {id(write): _possible(write, shown, groups) for write in told}
    makers: dict[int, list[Entry]] = {}
    for write in told:
        for change in possible[id(write)]:
            makers.setdefault(id(change), []).append(write)
    for write in told:
        changes = [change for change in possible[id(write)] if len(makers[id(change)]) == 1 or write.named is not None]
        if len(changes) == 1 == len(possible[id(write)]):
            others = [each for each in makers[id(changes[0])] if each is not write and each.named is not None]
            if not others:
                yield write, changes[0]


def _possible(write: Entry, shown: list[Entry], groups: Sequence[list[Entry]]) -> list[Entry]:
    """Return the changes that a write can have made, by what it did, when, to which UID, and by its manager.

    Of a change that the same manager made in the same second as the one before it, a watch shows no time of its own. An
    update that names the revision before it can still have made it.
    """
    found = [
        change
        for change in shown
        if change.change is write.change
        and (change.dated or write.named is not None)
        and write.ref.uid in ("", change.ref.uid)
        and change.received <= write.staged
        and write.received < change.received + SECOND
    ]
    if write.named is not None:
        following = _following(write, groups)
        return [change for change in found if change.resource_version == following]
    program = write.user_agent.partition("/")[0]
    by_manager = [change for change in found if program and change.user_agent.startswith(program)]
    return by_manager or found


def _following(write: Entry, groups: Sequence[list[Entry]]) -> int | None:
    """Return the revision right after the one that an update named, which is the one that it wrote; None if a watch
    does not show both."""
    revisions = sorted(
        each.resource_version
        for group in groups
        for each in group
        if each.ref.uid == write.ref.uid and each.resource_version is not None
    )
    at = bisect_right(revisions, write.named or 0)
    return revisions[at] if 0 < at < len(revisions) and revisions[at - 1] == write.named else None


def _creation(entries: list[Entry]) -> tuple[Entry, Entry] | None:
    """Return a creation and the state in which the beginning of a watch showed the object, if it was created in this
    state.

    That is so if everything else that was written about the name is among the changes which the watch shows after it.
    """
    states = [each for each in entries if each.change is Change.OBSERVED]
    writes = [each for each in entries if each.clock is Clock.AUDIT]
    creations = [each for each in writes if _told(each) and each.change is Change.CREATED]
    others = [each for each in writes if each.action != "binding" and each not in creations]
    if len(states) != 1 or len(creations) != 1 or others:
        return None
    state, write = states[0], creations[0]
    created = state.facts.created if state.facts and state.resource_version is not None else 0
    bound = len(writes) > 1 and bool(getattr(state.facts, "node", ""))
    if bound or not created <= write.staged or not write.received < created + SECOND:
        return None
    return write, state


def _one(change: Entry, write: Entry | None) -> Entry:
    if write is None:
        return change
    return replace(
        change,
        change=write.change,
        clock=Clock.AUDIT,
        received=write.received,
        staged=write.staged,
        replaces=write.named,
        action=write.action,
        actor=write.actor,
        user_agent=write.user_agent,
        identity=write.identity,
        place=write.place,
        client=write.client,
    )
