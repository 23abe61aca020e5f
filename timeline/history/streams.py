"""Pure: what the watches of a live cluster told besides changes: where each is complete, which revisions compare."""

from timeline.core.entries import Mark, MarkType

PASSES = 3  # so many times two kinds must be seen to count together before their revisions order them


class Stream:
    """What is known of the watch of one kind; the same whatever the order of its marks."""

    def __init__(self) -> None:
        self.since = 0  # it was listed for the first time, microseconds; 0: never
        self.reached = 0  # the revision up to which all was told
        self.reached_at = 0  # when that was last heard, microseconds
        self.gaps: list[Mark] = []  # in order
        self._passes: set[Mark] = set()
        self.apart = False  # one comparison showed that it counts by itself

    @property
    def together(self) -> bool:
        """Whether its revisions were seen often enough to be of the counter that most share."""
        return len(self._passes) >= PASSES and not self.apart

    def learn(self, mark: Mark) -> bool:
        """Take note of a mark; whether it told anything new."""
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
        """Everything up to a revision was told by a time."""
        if revision is None or (revision, time) <= (self.reached, self.reached_at):
            return False
        self.reached, self.reached_at = max(revision, self.reached), max(time, self.reached_at)
        return True

    def marks(self, kind: tuple[str, str]) -> list[Mark]:
        """Those that tell all of it again."""
        group, name = kind
        told = [*self.gaps, *sorted(self._passes, key=lambda mark: mark.time)]
        if self.since:
            told.append(Mark(group, "", name, MarkType.LISTED, self.since))
        if self.apart:
            told.append(Mark(group, "", name, MarkType.APART, self.reached_at))
        return [*told, Mark(group, "", name, MarkType.BOOKMARK, self.reached_at, self.reached)]

    def blind(self, start: int, end: int) -> bool:
        """Whether a gap lies between two times; what happened at its beginning was still told."""
        return any(gap.since < end and start < gap.time for gap in self.gaps)
