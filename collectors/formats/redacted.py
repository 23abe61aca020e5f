"""Remove credentials from what was observed, for many observations at a time."""

from typing import NamedTuple

from collectors.formats.rejections import reason_of
from collectors.formats.stream import Skipped
from collectors.redaction.entries import without_credentials
from collectors.redaction.screening import have_no_credentials
from timeline.core.bounds import FAULTS
from timeline.core.entries import Mark, Observation

BATCH = 500  # observations that are checked at a time
_FEW = 8  # observations that are checked one by one, because some of them may have credentials


class Redacted(NamedTuple):
    """Items that were redacted already, such as those that a helper process has read."""

    items: list[Observation | Skipped]


def redacted(batch: list[Observation | Skipped]) -> list[Observation | Skipped]:
    """Return these observations with all credentials in them replaced. Lines that were skipped stay as they are. An
    observation that cannot be searched for credentials becomes a skipped line."""
    try:
        if have_no_credentials([each for each in batch if not isinstance(each, Skipped)]):
            return batch
    except FAULTS:  # one of them is found below
        pass
    if len(batch) > _FEW:
        middle = len(batch) // 2
        return redacted(batch[:middle]) + redacted(batch[middle:])
    return [each if isinstance(each, Skipped) else cleaned(each) for each in batch]


def cleaned(each: Observation) -> Observation | Skipped:
    """Return one observation with all credentials in it replaced, or why that is not possible."""
    try:
        return without_credentials(each)
    except FAULTS as error:
        place = None if isinstance(each, Mark) else each.place
        return Skipped(place.file if place else "", place.line if place else 0, reason_of(error))
