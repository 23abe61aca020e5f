"""This module removes credentials from what was observed, for many observations at a time."""

from typing import NamedTuple

from collectors.formats.stream import Skipped
from collectors.redaction.entries import without_credentials
from collectors.redaction.screening import have_no_credentials
from timeline.core.entries import Observation

BATCH = 500  # observations that are checked at a time
_FEW = 8  # observations that are checked one by one, because some of them may have credentials


class Redacted(NamedTuple):
    """These items were redacted already, as those that a helper process has read."""

    items: list[Observation | Skipped]


def redacted(batch: list[Observation | Skipped]) -> list[Observation | Skipped]:
    """Return these observations with all credentials in them replaced. Lines that were skipped stay as they are."""
    if have_no_credentials([each for each in batch if not isinstance(each, Skipped)]):
        return batch
    if len(batch) > _FEW:
        middle = len(batch) // 2
        return redacted(batch[:middle]) + redacted(batch[middle:])
    return [each if isinstance(each, Skipped) else without_credentials(each) for each in batch]
