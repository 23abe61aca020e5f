"""This module keeps what the watches of a live cluster reported besides changes: up to where each watch is complete,
and which kinds share a counter of revisions. It is pure."""

from timeline.core.entries import Mark, MarkType

PASSES = 3  # how many comparisons must agree before two kinds are taken to share a counter of revisions


class Stream:
    """This is the state of the watch of one kind. It does not depend on the order of the marks. Times are microseconds
    since 1970."""

    def __init__(self) -> None:
        self.since = 0  # when the kind was listed for the first time; 0 if never
        self.reached = 0  # the resourceVersion up to which the watch is complete
        self.reached_at = 0  # when the collector received that information last
        self.gaps: list[Mark] = []  # sorted by time
        self._passes: set[Mark] = set()  # comparisons by which the kind shares the counter of other kinds
        self.apart = False  # whether a comparison showed that the kind has a counter of its own

    @property
    def together(self) -> bool:
        """Return whether enough comparisons showed that the kind shares the counter of most kinds, and none
        contradicted."""
        return len(self._passes) >= PASSES and not self.apart

    def learn(self, mark: Mark) -> bool:
        """Update the state by a mark; return whether the mark adds information."""
        match mark.what:
            case MarkType.LISTED:
                news = not self.since or mark.time < self.since
                if news:
                    self.since = mark.time
                return self.reach(mark.revision, mark.time) or news
            case MarkType.BOOKMARK:
                return self.reach(mark.revision, mark.time)
            case MarkType.GAP:
                if mark in self.gaps:
                    return False
                self.gaps = sorted([*self.gaps, mark], key=lambda gap: (gap.since, gap.time, gap.reason))
                return True
            case MarkType.TOGETHER:
                if mark in self._passes or len(self._passes) >= PASSES:
                    return False
                self._passes.add(mark)
                return True
            case MarkType.APART:
                news, self.apart = not self.apart, True
                return news

    def reach(self, revision: int | None, time: int) -> bool:
        """Note that every change up to a resourceVersion had arrived by a time; return whether that adds
        information."""
        if revision is None or (revision, time) <= (self.reached, self.reached_at):
            return False
        self.reached, self.reached_at = max(revision, self.reached), max(time, self.reached_at)
        return True

    def marks(self, kind: tuple[str, str]) -> list[Mark]:
        """Return marks from which `learn` restores this state. `kind` is (group, kind)."""
        group, name = kind
        marks = [*self.gaps, *sorted(self._passes, key=lambda mark: mark.time)]
        if self.since:
            marks.append(Mark(group, "", name, MarkType.LISTED, self.since))
        if self.apart:
            marks.append(Mark(group, "", name, MarkType.APART, self.reached_at))
        return [*marks, Mark(group, "", name, MarkType.BOOKMARK, self.reached_at, self.reached)]

    def blind(self, start: int, end: int) -> bool:
        """Return whether the watch had a gap between two times. What happened at the very start of a gap was still
        reported."""
        return any(gap.since < end and start < gap.time for gap in self.gaps)
