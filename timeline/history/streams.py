"""Keep what the watches of a live cluster reported besides changes: up to where each watch is complete, and which kinds
share a counter of revisions. It does no I/O."""

from collections.abc import Iterable

from timeline.core.entries import Mark, MarkType

PASSES = 3  # how many comparisons must agree before two kinds are taken to share a counter of revisions


class Reach:
    """Up to where a watch is complete. Times are microseconds since 1970."""

    def __init__(self) -> None:
        self.since = 0  # when the kind was listed for the first time; 0 if never
        self.revision = 0  # the resourceVersion up to which the watch is complete
        self.at = 0  # when the collector received that information last

    def extend(self, revision: int | None, time: int) -> bool:
        """Note that every change up to a resourceVersion had arrived by a time; return whether that adds
        information."""
        if revision is None or (revision, time) <= (self.revision, self.at):
            return False
        self.revision, self.at = max(revision, self.revision), max(time, self.at)
        return True


class Stream:
    """The state of the watch of one kind, or of its watches in some namespaces. It does not depend on the order of the
    marks."""

    def __init__(self) -> None:
        self.gaps: list[Mark] = []  # sorted by time
        self._marked: dict[str, Reach] = {}  # by namespace, "" for a watch of all: what its marks report
        self._shown: dict[str, Reach] = {}  # by namespace: what the changes of objects in it show
        self._all = Reach()  # what all of these report
        self._passes: set[Mark] = set()  # comparisons by which the kind shares the counter of other kinds
        self.apart = False  # whether a comparison showed that the kind has a counter of its own

    @property
    def together(self) -> bool:
        """Return whether enough comparisons showed that the kind shares the counter of most kinds, and none
        contradicted."""
        return len(self._passes) >= PASSES and not self.apart

    @property
    def namespaces(self) -> list[str]:
        """Return the namespaces that are watched; none if all of them are."""
        return [] if "" in self._marked else sorted(self._marked)

    @property
    def since(self) -> int:
        """Return when the kind was listed for the first time, in microseconds since 1970; 0 if it never was."""
        return min((each.since for each in self._marked.values() if each.since), default=0)

    @property
    def reached(self) -> int:
        """Return the resourceVersion up to which all watches of the kind are complete."""
        return min(each.revision for each in self.reaches())

    @property
    def reached_at(self) -> int:
        """Return when the collector last received that all watches of the kind are complete, in microseconds since
        1970."""
        return min(each.at for each in self.reaches())

    def reaches(self) -> Iterable[Reach]:
        """Return up to where each watch of the kind is complete; there is at least one."""
        return [self.reach_in(namespace) for namespace in self.namespaces] or [self._all]

    def reach_in(self, namespace: str) -> Reach:
        """Return up to where the watch of the kind in a namespace is complete."""
        if not self.namespaces:
            return self._all
        reach = Reach()
        for each in (self._marked.get(namespace), self._shown.get(namespace)):
            if each:
                reach.since = reach.since or each.since
                reach.extend(each.revision, each.at)
        return reach

    def covers(self, namespace: str | None) -> bool:
        """Return whether changes in a namespace are watched; with None, whether those in all namespaces are."""
        return not self._marked or "" in self._marked or (namespace is not None and namespace in self._marked)

    def learn(self, mark: Mark) -> bool:
        """Update the state by a mark; return whether the mark adds information."""
        match mark.what:
            case MarkType.LISTED:
                reach = self._of(mark)
                news = not reach.since or mark.time < reach.since
                if news:
                    reach.since = mark.time
                return self._reach(mark) or news
            case MarkType.BOOKMARK:
                return self._reach(mark)
            case MarkType.GAP:
                if mark in self.gaps:
                    return False
                self._of(mark)
                self.gaps = sorted([*self.gaps, mark], key=lambda gap: (gap.since, gap.time, gap.reason, gap.namespace))
                return True
            case MarkType.TOGETHER:
                if mark in self._passes or len(self._passes) >= PASSES:
                    return False
                self._passes.add(mark)
                return True
            case MarkType.APART:
                news, self.apart = not self.apart, True
                return news
            case MarkType.FREED:
                raise ValueError("A freed span concerns all kinds, and the watch of none.")

    def _of(self, mark: Mark) -> Reach:
        return self._marked.setdefault(mark.namespace, Reach())

    def _reach(self, mark: Mark) -> bool:
        new = mark.namespace not in self._marked
        news = self.reach_in(mark.namespace).extend(mark.revision, mark.time)
        self._all.extend(mark.revision, mark.time)
        self._of(mark).extend(mark.revision, mark.time)
        return news or new

    def show(self, namespace: str, revision: int | None, time: int) -> None:
        """Note that a change of an object in a namespace had arrived by a time, in microseconds since 1970."""
        self._all.extend(revision, time)
        if namespace not in self._shown:
            self._shown[namespace] = Reach()
        self._shown[namespace].extend(revision, time)

    def marks(self, kind: tuple[str, str]) -> list[Mark]:
        """Return marks from which `learn` restores this state. `kind` is (group, kind)."""
        group, name = kind
        marks = [*self.gaps, *sorted(self._passes, key=lambda mark: mark.time)]
        marks += [
            Mark(group, "", name, MarkType.LISTED, each.since, namespace=namespace)
            for namespace, each in self._marked.items()
            if each.since
        ]
        if self.apart:
            marks.append(Mark(group, "", name, MarkType.APART, self.reached_at))
        for namespace in self.namespaces or [""]:
            reach = self.reach_in(namespace)
            marks.append(Mark(group, "", name, MarkType.BOOKMARK, reach.at, reach.revision, namespace=namespace))
        return marks

    def blind(self, start: int, end: int, namespace: str | None = None) -> bool:
        """Return whether a watch had a gap between two times, in a namespace or in any. What happened at the very start
        of a gap was still reported."""
        return any(
            gap.since < end and start < gap.time and (namespace is None or gap.namespace in ("", namespace))
            for gap in self.gaps
        )
