"""Describe what changed before a time, for pages, reports and the terminal. It makes no queries and no HTML."""

from typing import NamedTuple

from dashboard.presentation import wording
from timeline.core.actors import named, short
from timeline.core.durations import duration
from timeline.payloads.changes import ChangeSetPayload, ChangesPayload, MeantWritePayload

DISTANCES = {
    "object": "same object",
    "owner": "same owner",
    "reference": "referenced",
    "node": "its node",
    "namespace": "its namespace",
    "cluster": "the whole cluster",
    "any": "",
}
NOTE = "These changes were made before. That does not show that one of them was the cause."


class Write(NamedTuple):
    """One change of one object, in words."""

    text: str
    where: str  # "in shop"; "" for what is in no namespace
    time: str  # "12:01:00.400", as exact as it is known
    iso: str
    revision: str
    url: str


class ChangeRow(NamedTuple):
    """One set of changes, in words."""

    text: str
    when: str  # "30 s before"
    time: str  # "2026-11-21 12:01:00.400"
    iso: str
    who: str
    near: str  # "same object"; "" where nothing was asked about
    where: str  # of its nearest object
    url: str  # of its nearest write
    revision: str
    writes: list[Write]  # all of several; empty for a single one
    writes_more: int
    steps: list[Write]
    steps_more: int

    @property
    def writes_words(self) -> str:
        """Return "4 changes made together"."""
        return f"{wording.count(len(self.writes) + self.writes_more)} changes made together"

    @property
    def steps_words(self) -> str:
        """Return "3 steps of the rollout"; "" without any."""
        total = len(self.steps) + self.steps_more
        return f"{wording.number_of(total, 'step')} of the rollout" if total else ""


def rows(found: ChangesPayload) -> list[ChangeRow]:
    return [_row(each) for each in found["changes"]]


def _row(each: ChangeSetPayload) -> ChangeRow:
    lead = (each["writes"] or each["steps"])[0]
    single = each["writes_total"] <= 1
    time = wording.instant(lead["time"], lead["earliest"], lead["latest"], 3)
    return ChangeRow(
        each["text"],
        f"{duration(each['before'])} before" if each["before"] else "at that time",
        f"{lead['time'][:10]} {time}",
        lead["time"],
        who(each["actor"], each["user_agent"], certain=each["certain"]),
        DISTANCES[each["distance"]],
        _where(lead),
        lead["url"],
        lead["resource_version"] or "",
        [] if single else [_write(one) for one in each["writes"]],
        0 if single else each["writes_total"] - len(each["writes"]),
        [_write(one) for one in each["steps"]],
        each["steps_total"] - len(each["steps"]),
    )


def _write(each: MeantWritePayload) -> Write:
    time = wording.instant(each["time"], each["earliest"], each["latest"], 3)
    return Write(each["text"], _where(each), time, each["time"], each["resource_version"] or "", each["url"])


def _where(each: MeantWritePayload) -> str:
    return f"in {each['object']['namespace']}" if each["object"]["namespace"] else ""


def who(actor: str | None, user_agent: str | None, *, certain: bool = True) -> str:
    """Return who made a change: "by kubectl (alice)"."""
    known = short(named(actor, user_agent))
    if not known:
        return "by somebody whom the recording does not name"
    return f"by {known}" if certain else f"by {known}, or by a write before it that the recording does not show"


def nothing(found: ChangesPayload, *, part: bool = False) -> str:
    """Return that nothing was changed. `part` says that the reader sees only a part of the recording."""
    shown = "What you see of the recording" if part else "The recording"
    return f"{shown} shows no change that somebody meant in the {minutes(found['minutes'])} before."


def minutes(number: int) -> str:
    return f"{number} {wording.plural('minute', number)}"
