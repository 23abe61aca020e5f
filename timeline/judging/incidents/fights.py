"""Find fields of an object that two programs set in turn, each undoing what the other did. It does no I/O.

It compares what successive writes wanted of the object (see `timeline/core/intent.py`). A status, conditions, data,
finalizers and taints are no part of that, since several programs write these together by design.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from typing import NamedTuple

from timeline.core.actors import actor_of
from timeline.core.entries import Change, Clock, Entry
from timeline.core.intent import is_tag
from timeline.history.lifelines import Moment, Track
from timeline.judging.incidents.intents import scaled

_SHARED = frozenset(
    {"condition", "data", "binaryData", "stringData", "field", "further", "finalizers", "taints", "restart"}
)
# Labels and annotations that hold a state, or say whose turn it is. Two programs change these by design.
_TURNS = re.compile(
    r"stat(e|us)|phase|progress|leader|holder|lock|lease|heartbeat|renew|last|time|count", re.IGNORECASE
)


class Setting(NamedTuple):
    """One change of one field. `before` and `after` are its values, or the hashes of these."""

    manager: str
    before: str
    after: str
    moment: Moment


class Fight(NamedTuple):
    """One field that two programs set in turn."""

    aspect: str
    settings: tuple[Setting, ...]  # from the first to the last that was undone or undid, in commit order
    undone: int  # how often either of the two took back what the other had set


def fights(track: Track, times: int, within: int) -> Iterator[Fight]:
    """Yield the fields of an object that one of two programs took back from the other at least so many times within so
    many microseconds."""
    if len(track.moments) <= times:
        return  # each time is another write, and one more came before
    for aspect, settings in sorted(_settings(track).items()):
        run: list[int] = []  # the places of the settings that undid the one before, by one pair of programs
        found: list[int] = []
        pair: frozenset[str] = frozenset()
        for place in range(1, len(settings)):
            if not _undoes(settings, place):
                continue
            both = frozenset((settings[place - 1].manager, settings[place].manager))
            run = [*run, place] if both == pair else [place]
            pair = both
            while run and settings[place].moment.time - settings[run[0] - 1].moment.time > within:
                run.pop(0)
            most = max(Counter(settings[each].manager for each in run).values(), default=0)
            if most >= times and len(run) >= len(found):
                found = list(run)
        if found:
            yield Fight(aspect, tuple(settings[found[0] - 1 : found[-1] + 1]), len(found))


def _undoes(settings: list[Setting], place: int) -> bool:
    """Return whether a program took back what another had set: it set the value again that stood before.

    That value must be its own, if it is known who had set it. Where a value is added and removed, one program may ask
    the other for something in that way.
    """
    before, now = settings[place - 1], settings[place]
    if before.manager == now.manager or now.after != before.before or before.after != now.before:
        return False
    if not now.before or not now.after or before.moment.clock is not now.moment.clock:
        return False
    earlier = settings[place - 2] if place > 1 else None
    return earlier is None or earlier.manager == now.manager


def _settings(track: Track) -> dict[str, list[Setting]]:
    """Return the changes of each field by writes of the object, in commit order."""
    found: dict[str, list[Setting]] = defaultdict(list)
    state: dict[str, str] | None = None
    for moment in track.moments:
        entry = moment.entry
        if entry.change is not Change.MODIFIED:
            state = None if entry.intent is None else dict(entry.intent)  # what the first change begins with
            continue
        if entry.intent is None or entry.action not in ("", "scale"):
            if entry.action == "" and entry.clock is Clock.AUDIT:
                state = None  # it is not known what this write has changed
            continue
        known = scaled(None if state is None else tuple(state.items()), entry)
        if known is None:
            continue
        wanted, manager = dict(known), _manager(entry)
        for aspect in (wanted.keys() | state.keys()) if state is not None and manager else ():
            before, after = (state or {}).get(aspect, ""), wanted.get(aspect, "")
            if before != after and _is_judged(aspect):
                found[aspect].append(Setting(manager, before, after, moment))
        state = wanted
    return found


def _is_judged(aspect: str) -> bool:
    name, _, rest = aspect.partition(" ")
    return name not in _SHARED and not (is_tag(aspect) and (not rest or _TURNS.search(rest.rpartition("/")[2])))


def _manager(entry: Entry) -> str:
    """Return who set a field: the program and its part, and the account. A watch shows the field manager alone."""
    actor = actor_of(entry)
    if actor is None:
        return ""
    return f"{actor.component} as {entry.actor}" if entry.actor else actor.component
