"""Compare the changes that watches show with what API servers say by themselves: how many came without who made them.

Which of these an audit policy leaves out, and which an API server has dropped, is not known here. A change
without its maker is a gap only if the makers of other changes of its kind are known.
"""

from __future__ import annotations

import time
from collections import Counter, deque
from typing import TYPE_CHECKING, NamedTuple

from timeline.core.entries import Change, Clock, Entry
from timeline.kinds import qualified
from timeline.storage.entries import inbox

if TYPE_CHECKING:
    from collections.abc import Iterable

    from timeline.core.entries import Observation
    from timeline.storage.live import Live

PATIENCE = 120.0  # seconds after which nobody will say it: an API server tries again for about 80
EVERY = 5.0  # seconds between two comparisons
_MOST = 100_000  # changes that wait for their comparison; more are not compared


class _Shown(NamedTuple):
    due: float  # monotonic
    uid: str
    revision: int | None
    deleted: bool
    arrived: int
    kind: str


class Attribution:
    """Compare what the watches of one live source show with what API servers say, for the worker of the source."""

    def __init__(self, live: Live) -> None:
        self._live = live
        self._waiting: deque[_Shown] = deque()
        self._next = 0.0
        self._since = 0  # µs since 1970, from which on somebody says who makes changes; 0 if nobody does

    def note(self, batch: Iterable[Observation]) -> None:
        """Note changes that were committed."""
        if not self._since:
            return
        due = time.monotonic() + PATIENCE
        for each in batch:
            if isinstance(each, Entry) and each.arrived >= self._since and _is_compared(each):
                deleted = each.change is Change.DELETED
                kind = qualified(each.ref.group, each.ref.kind)
                if len(self._waiting) < _MOST:
                    self._waiting.append(_Shown(due, each.ref.uid, each.resource_version, deleted, each.arrived, kind))

    def compare(self) -> None:
        """Count, from time to time, the changes that have waited long enough for somebody to say who made them."""
        now = time.monotonic()
        if now < self._next:
            return
        self._next = now + EVERY
        if not self._since:
            self._since = inbox.since(self._live.source)
            return
        said: Counter[tuple[str, bool]] = Counter()
        without: list[tuple[str, int]] = []
        while self._waiting and self._waiting[0].due <= now:
            shown = self._waiting.popleft()
            found = self._is_said(shown)
            if found is not None:
                said[shown.kind, found] += 1
                if not found:
                    without.append((shown.kind, shown.arrived))
        if said:
            inbox.compared(self._live.source, said, without)

    def _is_said(self, shown: _Shown) -> bool | None:
        """Return whether it is known who made a change; None if the change is not remembered."""
        track = self._live.world.of_uid(shown.uid)
        for moment in reversed(track.moments if track else ()):
            entry = moment.entry
            same = entry.resource_version == shown.revision
            if (entry.change is Change.DELETED) if shown.deleted else same:
                return bool(entry.actor) or entry.clock is Clock.AUDIT
        return None


def _is_compared(entry: Entry) -> bool:
    """Return whether a request made this change: Events expire by themselves."""
    expires = entry.ref.kind == "Event" and entry.change is Change.DELETED
    return entry.clock is Clock.OBJECT and entry.change is not Change.OBSERVED and bool(entry.ref.uid) and not expires
