"""Make the payload of one difference. It does no I/O."""

from collections.abc import Iterable, Sequence, Sized

from timeline.comparing.lives import Life
from timeline.core.durations import Length
from timeline.payloads.comparison import DifferencePayload, DifferenceType
from timeline.payloads.documents import object_payload

_NAMED = 5  # the most objects and values that a difference lists
_SHOWN = 3  # the most values that a sentence has
_LISTED = 50  # the most other steps that a difference of order lists


def difference(
    type: DifferenceType,
    role: str,
    subject: str,
    text: str,
    *,
    good: Iterable[str] = (),
    bad: Iterable[str] = (),
    others: Iterable[str] = (),
    good_runs: int,
    of_runs: int,
    sure: bool = True,
    ratio: tuple[float, float | None] | None = None,
    good_seconds: Length | None = None,
    bad_seconds: Length | None = None,
    lives: Iterable[Life | None] = (),
) -> DifferencePayload:
    """Return a difference; see `DifferencePayload` for the arguments."""
    return {
        "type": type,
        "role": role,
        "subject": subject,
        "text": text,
        "good": list(good)[:_NAMED],
        "bad": list(bad)[:_NAMED],
        "others": list(others)[:_LISTED],
        "good_runs": good_runs,
        "of_runs": of_runs,
        "sure": sure,
        "ratio": list(ratio) if ratio else None,
        "good_seconds": _in_seconds(good_seconds),
        "bad_seconds": _in_seconds(bad_seconds),
        "objects": [object_payload(life.ref) for life in [each for each in lives if each][:_NAMED]],
    }


def _in_seconds(length: Length | None) -> list[float] | None:
    """Return the bounds of a length in seconds; None if nothing bounds it from above."""
    return None if length is None or length.most is None else [length.least / 1e6, length.most / 1e6]


def good_runs(runs: Sized) -> str:
    return "good runs" if len(runs) > 1 else "good run"


def listed(texts: Sequence[str]) -> str:
    """Return the first of these texts as one: "a or b", "a, b, c and 2 more"."""
    shown = list(texts)[:_SHOWN]
    return f"{', '.join(shown)} and {len(texts) - _SHOWN} more" if len(texts) > _SHOWN else " or ".join(shown)
