"""Keep the first and the last time that the observations of one source cover. It does no I/O."""

from timeline.core.entries import FOREVER, Change, Clock, Entry

_LATE = 86_400_000_000  # µs; a change that arrives later than a day after the time of its object began when it arrived


class Extent:
    """The range of time that a source covers, in microseconds since 1970. It does not depend on the order of
    observations."""

    def __init__(self) -> None:
        self.files: set[str] = set()  # the files of audit logs, each of which has a clock of its own
        self.restart()

    def restart(self) -> None:
        """Reset all times, so that `extend` can be called again for every entry after clock offsets were corrected."""
        self.first = 0
        self.last = 0
        self.answered = FOREVER  # the first response in an audit log: from this time on the log should be complete
        self.logged = (FOREVER, 0)  # the first and the last time in audit logs

    def extend(self, entry: Entry) -> bool:
        """Extend the range by the times of one entry. Return whether the entry came from a new file or changed the
        range."""
        if entry.arrived:
            late = entry.change is Change.OBSERVED or entry.misdated or entry.arrived - entry.received > _LATE
            return self.reach(entry.arrived if late else entry.received, entry.arrived, logged=False)
        if entry.misdated:
            return False
        logged = entry.clock is Clock.AUDIT
        if logged and entry.place and entry.place.file not in self.files:
            self.files.add(entry.place.file)
            self.reach(entry.received, entry.staged, logged)
            return True
        return self.reach(entry.received, entry.staged, logged)

    def reach(self, received: int, staged: int, logged: bool) -> bool:
        """Extend the range by the time from `received` to `staged`, which may be FOREVER. Return whether the range
        changed."""
        news = False
        end = staged
        if end == FOREVER:
            end = received
        elif end < self.answered:
            self.answered, news = end, True
        if logged and (received < self.logged[0] or end > self.logged[1]):
            self.logged, news = (min(received, self.logged[0]), max(end, self.logged[1])), True
        if received < self.first or not self.first:
            self.first, news = received, True
        if end > self.last:
            self.last, news = end, True
        return news
