"""Describe what one change of an object made different. It does no I/O, and makes no HTML."""

from typing import Protocol

from timeline.core.entries import Change, Entry
from timeline.layout import bodies
from timeline.payloads.objects import Attribution, DifferencePayload

_LINES = 400  # the most lines of a difference that is shown beside a timeline or in a list
_WIDTH = 500  # the most characters of such a line
TOO_LARGE = "Too large to compare here."
_FIRST = (Change.CREATED, Change.OBSERVED)


class Compared(Protocol):
    """One change of an object, with the last body that was observed before it, as JSON."""

    @property
    def entry(self) -> Entry: ...

    @property
    def before(self) -> bytes: ...

    @property
    def between(self) -> int:
        """Return the number of changes without a body between that body and this change."""

    @property
    def attribution(self) -> Attribution: ...


def difference(each: Compared, withheld: bool, work: bodies.Work) -> DifferencePayload:
    """Return what a change made of its object, as far as `work` allows. The first state of an object is shown whole.

    `withheld` says that the import stored no objects.
    """
    entry = each.entry
    whole = bool(entry.body) and not each.before and entry.change in _FIRST
    try:
        lines = bodies.whole(entry.body, work) if whole else lines_of(each, work)
        too_large = False
    except bodies.TooLarge:
        lines, too_large = [], True
    return {
        "whole": whole,
        "lines": limited(lines),
        "lines_total": len(lines),
        "too_large": too_large,
        "notes": list(filter(None, [UNNAMED[each.attribution], compared(each) if lines and not whole else ""])),
        "nothing": "" if lines else TOO_LARGE if too_large else nothing(each, withheld),
    }


def limited(lines: list[bodies.Line]) -> list[tuple[bodies.Sign, str]]:
    """Return the first lines of a difference, each cut to a length."""
    return [(line.kind, cut(line.text, _WIDTH)) for line in lines[:_LINES]]


def cut(text: str, width: int) -> str:
    """Return a line, cut to a number of characters. It then ends with how many it had."""
    end = f"… ({len(text):,} characters)"
    return text if len(text) <= width else f"{text[: width - len(end)]}{end}"


def lines_of(each: Compared, work: bodies.Work, managed: bool = False) -> list[bodies.Line]:
    """Return the difference that a change made; none if one of the two states is not known. Raise TooLarge."""
    if not each.before or not each.entry.body:
        return []
    return bodies.change(each.before, each.entry.body, work, managed_fields=managed)


UNNAMED = {
    "uid": "",
    "time": "The log line names no UID. It is a change of this object, because no other object had the name then.",
    "possible": "The log line names no UID. Another object had the name at about that time, and may be meant.",
}


def compared(each: Compared) -> str:
    """Say that changes in between did not include the object, so the difference may be theirs."""
    if not each.between:
        return ""
    changes = "1 change" if each.between == 1 else f"{each.between} changes"
    return f"Compared with the last state that was observed. {changes} in between did not include the object."


def nothing(each: Compared, withheld: bool) -> str:
    """Say why no difference is shown."""
    if not each.entry.body and each.entry.facts is not None and withheld:
        return "The object was not kept: Causeline redacted strictly (CAUSELINE_REDACT) when this was imported."
    if not each.entry.body:
        return "The observation does not include the object: what was changed is not known."
    if not each.before:
        return (
            "The first state that was seen."
            if each.entry.change in _FIRST
            else "No earlier observation includes the object: there is nothing to compare with."
        )
    if each.entry.change is Change.DELETED and not each.between:
        return "It was deleted in the state that was seen before."
    if each.between:
        return f"Nothing but the revision and managedFields differs. {compared(each)}"
    return "Nothing but the revision and managedFields changed."
