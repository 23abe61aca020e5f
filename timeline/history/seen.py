"""Pure: how much of each kind a source shows."""

from collections import Counter

from timeline.core.entries import FOREVER, Change, Clock, Entry, Level

GroupKind = tuple[str, str]


class Seen:
    """How much of one kind was observed; the same whatever the order of the observations."""

    def __init__(self) -> None:
        self.changes = 0
        self.levels: Counter[Level] = Counter()  # of the writes in audit logs
        self.created = False  # a creation stands in an audit log
        self.statuses = False  # so does a write of the status, in full
        self.listed = False  # a list told what there was
        self.streamed = False  # a watch followed its changes, and loses none
        self.streamed_since = FOREVER  # from its first change of which a line tells the time, microseconds
        self.streamed_until = 0

    def count(self, entry: Entry, before: Entry | None) -> bool:
        """Take note of an observation, and of what was known of the same change before it; whether that was news."""
        known = None if before is None else self._marks()
        if before is None:
            self.changes += 1
        if entry.clock is Clock.AUDIT:
            if before is None:
                self.levels[entry.level] += 1
            if entry.change is Change.CREATED:
                self.created = True
            elif entry.action == "status" and entry.level is Level.FULL:
                self.statuses = True
        elif entry.change is Change.OBSERVED:
            self.listed = True
        else:
            self.streamed = True
            if entry.change is Change.CREATED or (entry.change is Change.MODIFIED and entry.user_agent):
                self.streamed_since = min(self.streamed_since, entry.received)  # others tell a time before it
            self.streamed_until = max(self.streamed_until, entry.received)
        return known is None or known != self._marks()

    def _marks(self) -> tuple[bool | int, ...]:
        return self.created, self.statuses, self.listed, self.streamed, self.streamed_since, self.streamed_until

    def state(self) -> list[int]:
        """Of a live source, in a form that can be written down."""
        return [self.changes, int(self.listed), int(self.streamed), self.streamed_since, self.streamed_until]

    def restore(self, state: list[int]) -> None:
        changes, listed, streamed, since, until = state
        self.changes, self.listed, self.streamed = changes, bool(listed), bool(streamed)
        self.streamed_since, self.streamed_until = since, until

    def recount(self, before: Entry, now: Entry) -> None:
        """Take note that another observation of a change, or the first of an audit log, stands for it now."""
        if now.clock is Clock.AUDIT and (before.clock is not Clock.AUDIT or before.level is not now.level):
            self.levels[now.level] += 1
            if before.clock is Clock.AUDIT:
                self.levels -= Counter([before.level])

    @property
    def watched(self) -> bool:
        """Whether watches and lists alone tell its states: an audit log tells at most that writes were made."""
        return (self.streamed or self.listed) and not self.levels.keys() - {Level.METADATA}

    @property
    def tells_state(self) -> bool:
        """Whether each change of an object is shown with the state after it."""
        return self.streamed or self.levels.keys() == {Level.FULL}

    @property
    def tells_status(self) -> bool:
        """Whether writes of the status are shown, and all in full: many audit policies leave them out."""
        return self.streamed or (self.statuses and self.levels.keys() == {Level.FULL})
