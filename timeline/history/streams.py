"""This module keeps what the watches of a live cluster showed besides changes: up to where each is complete, and which
kinds count their revisions together. It is pure."""

from timeline.core.entries import Mark, MarkType

PASSES = 3  # how many comparisons must agree before the revisions of two kinds are taken to be of one counter


class Stream:
    """This is the state of the watch of one kind. The order of its marks does not matter. Times are microseconds."""

    def __init__(self) -> None:
        self.since = 0  # when it was listed for the first time; 0 if never
        self.reached = 0  # the resourceVersion up to which the watch is complete
        self.reached_at = 0  # when the collector last heard so
        self.gaps: list[Mark] = []  # sorted by time
        self._passes: set[Mark] = set()
        self.apart = False  # a comparison showed that it has a counter of its own

    @property
    def together(self) -> bool:
        """Return whether comparisons showed often enough that its revisions are of the counter that most kinds
        share."""
        return len(self._passes) >= PASSES and not self.apart

    def learn(self, mark: Mark) -> bool:
        """Take in a mark; return whether it was news."""
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
        """Take note that everything up to a resourceVersion had arrived by a time; return whether that was news."""
        if revision is None or (revision, time) <= (self.reached, self.reached_at):
            return False
        self.reached, self.reached_at = max(revision, self.reached), max(time, self.reached_at)
        return True

    def marks(self, kind: tuple[str, str]) -> list[Mark]:
        """Return marks that restore this state when they are learned. `kind` is (group, kind)."""
        group, name = kind
        marks = [*self.gaps, *sorted(self._passes, key=lambda mark: mark.time)]
        if self.since:
            marks.append(Mark(group, "", name, MarkType.LISTED, self.since))
        if self.apart:
            marks.append(Mark(group, "", name, MarkType.APART, self.reached_at))
        return [*marks, Mark(group, "", name, MarkType.BOOKMARK, self.reached_at, self.reached)]

    def blind(self, start: int, end: int) -> bool:
        """Return whether a gap lies between two times. The watch still showed what happened when the gap began."""
        return any(gap.since < end and start < gap.time for gap in self.gaps)
