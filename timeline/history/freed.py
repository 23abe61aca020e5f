"""Keep the freed spans of a source: the times whose changes retention has deleted. It does no I/O."""

from bisect import bisect_left
from typing import NamedTuple

from timeline.core.entries import Mark, MarkType


class Span(NamedTuple):
    """A span of time, in microseconds since 1970. What happened at its very ends does not belong to it."""

    since: int
    until: int


class Freed:
    """The freed spans of one source, in order. They do not depend on the order in which they are added."""

    def __init__(self) -> None:
        self.spans: list[Span] = []

    def __bool__(self) -> bool:
        return bool(self.spans)

    def add(self, since: int, until: int) -> bool:
        """Add a span, joined with those that it overlaps or continues; return whether that adds information."""
        if since >= until:
            return False
        first = bisect_left(self.spans, since, key=lambda span: span.until)
        end = first
        while end < len(self.spans) and self.spans[end].since <= until:
            end += 1
        joined = self.spans[first:end]
        span = Span(min([since, *(each.since for each in joined)]), max([until, *(each.until for each in joined)]))
        if joined == [span]:
            return False
        self.spans[first:end] = [span]
        return True

    def overlaps(self, start: int, end: int) -> bool:
        """Return whether anything was freed between two times, or at them."""
        at = bisect_left(self.spans, start + 1, key=lambda span: span.until)
        return at < len(self.spans) and self.spans[at].since < end

    def marks(self) -> list[Mark]:
        """Return marks from which `add` restores the spans."""
        return [mark_of(span) for span in self.spans]


def mark_of(span: Span) -> Mark:
    """Return the mark of a freed span, which concerns all kinds."""
    return Mark("", "", "", MarkType.FREED, span.until, since=span.since)
