"""Count how much of each kind a source shows. It does no I/O."""

from collections import Counter

from timeline.core.entries import FOREVER, Change, Clock, Entry, Level

GroupKind = tuple[str, str]  # API group and kind


class Seen:
    """Count how much of one kind was observed. The result does not depend on the order of observations. Times are
    microseconds since 1970."""

    def __init__(self) -> None:
        self.changes = 0
        self.levels: Counter[Level] = Counter()  # how many writes audit logs show at each level
        self.unattributed = 0  # how many of these were stored without the process that sent them
        self.created = False  # whether an audit log shows a creation
        self.statuses = False  # whether an audit log shows a write of the status at level RequestResponse
        self.listed = False  # whether a list showed which objects existed
        self.streamed = False  # whether a watch showed changes; a watch does not lose any
        self.streamed_since = FOREVER  # the time of the first change that a watch shows with a time of its own
        self.streamed_until = 0  # the time of the last change that a watch shows

    def count(self, entry: Entry, before: Entry | None) -> bool:
        """Count an observation. `before` is the entry that was known of the same change, or None. Return whether the
        observation adds information."""
        known = None if before is None else self._state()
        if before is None:
            self.changes += 1
        if entry.clock is Clock.AUDIT:
            if before is None:
                self.levels[entry.level] += 1
                self.unattributed += _unattributed(entry)
            if entry.change is Change.CREATED:
                self.created = True
            elif entry.action == "status" and entry.level is Level.FULL:
                self.statuses = True
        elif entry.change is Change.OBSERVED:
            self.listed = True
        else:
            self.streamed = True
            if entry.change is Change.CREATED or (entry.change is Change.MODIFIED and entry.user_agent):
                # Other changes in a watch carry only times of earlier changes.
                self.streamed_since = min(self.streamed_since, entry.received)
            self.streamed_until = max(self.streamed_until, entry.received)
        return known is None or known != self._state()

    def _state(self) -> tuple[bool | int, ...]:
        return self.created, self.statuses, self.listed, self.streamed, self.streamed_since, self.streamed_until

    def recount(self, before: Entry, now: Entry) -> None:
        """Correct the counts by level after the known entry of a change was replaced: `before` by `now`."""
        if now.clock is Clock.AUDIT and (before.clock is not Clock.AUDIT or before.level is not now.level):
            self.levels[now.level] += 1
            if before.clock is Clock.AUDIT:
                self.levels -= Counter([before.level])
        self.unattributed += _unattributed(now) - _unattributed(before)

    def absorb(self, other: "Seen") -> None:
        """Add what was counted of the same kind under another name."""
        self.changes += other.changes
        self.levels += other.levels
        self.unattributed += other.unattributed
        self.created |= other.created
        self.statuses |= other.statuses
        self.listed |= other.listed
        self.streamed |= other.streamed
        self.streamed_since = min(self.streamed_since, other.streamed_since)
        self.streamed_until = max(self.streamed_until, other.streamed_until)

    def state(self) -> list[int]:
        """Return the counts for a kind of a live source, in a form that can be stored."""
        logged = [int(self.created), int(self.statuses), self.unattributed, *(self.levels[level] for level in Level)]
        return [self.changes, int(self.listed), int(self.streamed), self.streamed_since, self.streamed_until, *logged]

    def restore(self, state: list[int]) -> None:
        """Set the counts to what `state` returned."""
        changes, listed, streamed, since, until, *logged = state
        self.changes, self.listed, self.streamed = changes, bool(listed), bool(streamed)
        self.streamed_since, self.streamed_until = since, until
        if logged:  # older states have nothing of audit logs
            self.created, self.statuses, self.unattributed = bool(logged[0]), bool(logged[1]), logged[2]
            self.levels = +Counter(dict(zip(Level, logged[3:], strict=True)))

    @property
    def watched(self) -> bool:
        """Return whether only watches and lists show the states of objects, while audit logs show at most that writes
        happened."""
        return (self.streamed or self.listed) and not self.levels.keys() - {Level.METADATA}

    @property
    def shows_states(self) -> bool:
        """Return whether every observed change shows the state of the object after it."""
        return self.streamed or self.levels.keys() == {Level.FULL}

    @property
    def shows_statuses(self) -> bool:
        """Return whether writes of the status are observed, with the state after them. Many audit policies omit
        them."""
        return self.streamed or (self.statuses and self.levels.keys() == {Level.FULL})


def _unattributed(entry: Entry) -> bool:
    """Return whether a write of an audit log was stored without the process that sent it."""
    return entry.clock is Clock.AUDIT and entry.client is None
