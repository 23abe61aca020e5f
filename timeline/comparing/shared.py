"""Take out of the owners of a recording what differs alike in many of them. It does no I/O."""

from collections import defaultdict
from collections.abc import Sequence

from timeline.comparing.differences import listed
from timeline.payloads.comparison import DifferencePayload, OwnerComparisonPayload

_MANY = 3  # the least number of owners in which a difference is the same
_Key = tuple[str, str, str, tuple[str, ...], tuple[str, ...]]


def taken_out(owners: Sequence[OwnerComparisonPayload]) -> list[DifferencePayload]:
    """Remove from owners the writers and fields that differ alike in at least `_MANY` of them; return each once."""
    found: dict[_Key, list[DifferencePayload]] = defaultdict(list)
    for owner in owners:
        for key, each in {_key(each): each for each in owner["differences"] if _key(each)}.items():
            if key:
                found[key].append(each)
    many = {key: same for key, same in found.items() if len(same) >= _MANY}
    for owner in owners:
        owner["differences"] = [each for each in owner["differences"] if _key(each) not in many]
    return [_common(many[key]) for key in sorted(many)]


def _key(each: DifferencePayload) -> _Key | None:
    """Return a key that is equal for the same difference of several owners; None for a difference about one owner
    alone."""
    if each["type"] == "actor":  # a program writes other things for each owner
        return "actor", "", "", tuple(each["good"]), tuple(each["bad"])
    if each["type"] == "spec":
        return "spec", each["role"], each["subject"], tuple(each["good"]), tuple(each["bad"])
    return None


def _common(same: Sequence[DifferencePayload]) -> DifferencePayload:
    first = same[0]
    text = f"{first['text']} It is so in {len(same)} owners."
    if first["type"] == "actor":
        text = f"{listed(first['bad'])} wrote in {len(same)} owners; in the good runs {listed(first['good'])} did."
    return {**first, "text": text, "objects": []}
