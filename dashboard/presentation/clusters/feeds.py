"""Describe from where Causeline knows who made the changes of a cluster."""

from typing import NamedTuple

from dashboard.presentation.wording import count, number_of, some
from timeline.queries.sources.feeds import ADMISSION, AUDIT, Feed, Feeds, Missed

_TIME = "%Y-%m-%d %H:%M:%S UTC"
_KINDS = 6  # that are named
WITHIN = "2 minutes"  # as in collectors.watch.storing.attribution
_NAMES = {AUDIT: "Audit webhook", ADMISSION: "Admission webhook"}
_NOTHING = {AUDIT: "No audit events have arrived.", ADMISSION: "No admission reviews have arrived."}


class WayRow(NamedTuple):
    """One way in words. `flows` says whether anything has arrived by it."""

    name: str
    flows: bool
    sentences: list[str]
    problem: str


class Who(NamedTuple):
    ways: list[WayRow]
    compared: str  # a sentence; "" if nothing was compared
    missed: list[Missed]


def who(feeds: Feeds) -> Who:
    by_way = {each.way: each for each in feeds.feeds}
    rows = [_row(way, by_way.get(way)) for way in (AUDIT, ADMISSION)]
    return Who([*rows, _files(feeds)], _compared(feeds), feeds.missed)


def _row(way: str, feed: Feed | None) -> WayRow:
    name = _NAMES[way]
    if feed is None:
        return WayRow(name, False, [_NOTHING[way]], "")
    problem = f"{feed.problem} ({feed.problem_at:{_TIME}})" if feed.problem and feed.problem_at else ""
    if not feed.batches:
        return WayRow(name, False, [_NOTHING[way]], problem)
    what = "audit event" if way == AUDIT else "review"
    outcome = (
        f"{number_of(feed.added, 'observation')} of them added something."
        if way == AUDIT
        else f"{number_of(feed.added, 'change')} of the watches got a name by them."
    )
    sentences = [
        f"Flows since {feed.since:{_TIME}}; last batch {feed.last:{_TIME}}.",
        f"{number_of(feed.events, what)} in {number_of(feed.batches, 'batch', 'batches')}. {outcome}",
    ]
    aside = [
        (feed.repeated, "batch came again and was not counted twice", "batches came again and were not counted twice"),
        (feed.unread, f"{what} could not be read", f"{what}s could not be read"),
        (feed.late, "observation was of a time before the watch began, or too long ago", "observations were of a time "
         "before the watch began, or too long ago"),
        (feed.dropped, f"{what} was answered and dropped", f"{what}s were answered and dropped"),
    ]  # fmt: skip
    sentences += [f"{number_of(number, one, many)}." for number, one, many in aside if number]
    return WayRow(name, True, sentences, problem)


def _files(feeds: Feeds) -> WayRow:
    if not feeds.files or feeds.files_since is None or feeds.files_last is None:
        return WayRow("Added files", False, ["No audit log was added from files."], "")
    files = number_of(feeds.files, "audit log was added from files", "audit logs were added from files")
    when = f"the last one {feeds.files_last:{_TIME}}"
    return WayRow("Added files", True, [f"{files}, {when}."], "")


def _compared(feeds: Feeds) -> str:
    known = sum(each[0] for each in feeds.compared.values())
    unknown = sum(each[1] for each in feeds.compared.values())
    if not known + unknown:
        return ""
    if not unknown:
        return f"All {number_of(known, 'change')} of the watches that were compared since then came with who made them."
    kinds = sorted(
        ((each[1], kind) for kind, each in feeds.compared.items() if each[1]), key=lambda one: (-one[0], one)
    )
    named = ", ".join(f"{kind} {count(number)}" for number, kind in kinds[:_KINDS])
    more = f" and {some(len(kinds) - _KINDS)} more kinds" if len(kinds) > _KINDS else ""
    return (
        f"Of {count(known + unknown)} changes of the watches that were compared since then, {count(known)} came with "
        f"who made them, and {count(unknown)} did not within {WITHIN}: {named}{more}. The audit policy or the webhook "
        "leaves them out, or what was sent about them was lost; which of these it is, is not known."
    )
