"""This module adds to a live source what was read from an audit log and waits for the worker of the source."""

from __future__ import annotations

from typing import TYPE_CHECKING

from timeline import pipeline
from timeline.core.entries import Entry, Request
from timeline.storage import additions

if TYPE_CHECKING:
    from collections.abc import Callable

    from timeline.models import Addition
    from timeline.storage.live import Live


class ForeignLog(Exception):
    """This exception is raised if an added log is of another cluster. The world in memory has learned it by then, but
    nothing of it is stored."""


def add_part(live: Live, part: Addition, hold: Callable[[], None]) -> None:
    """Commit a part of an audit log and remove it, in one transaction. `hold` raises if the source is not held.

    What happened before the time that the world remembers is left out, and counts as skipped. Raise ForeignLog if the
    log turns out to be of another cluster; then `live` must not be used any more.
    """

    def take() -> None:
        hold()
        additions.remove(part)

    known = live.world.remembered
    observed = list(additions.observations(part))
    batch = [each for each in observed if not isinstance(each, Entry | Request) or each.received >= known]
    try:
        committed = pipeline.follow(live, batch, renew=take)
    except pipeline.TwoClusters as error:
        additions.refuse(part.upload, "It is of another cluster: it has another Namespace kube-system.")
        raise ForeignLog(f"upload {part.upload_id} is of another cluster") from error
    additions.count(part, committed.entries, len(observed) - len(batch))
