"""Find who made the changes that watches show, by what the admission webhook was asked before them.

A change was made by the write that a review announced if the review names its object, the revision right before it, and
the same content, and if no review of somebody else does. Where that is not certain, nobody is named. What an admission
review announces alone is no change: the write may have failed after it.
"""

from __future__ import annotations

import time
from collections import defaultdict
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

from msgspec.structs import replace

from collectors.formats.admission_webhook import Review, content_of, from_line
from collectors.watch.storing.dividing import Dividing
from timeline import pipeline
from timeline.core.bounds import FAULTS
from timeline.core.entries import Change, Clock, Entry, revision
from timeline.history.packing import unpack
from timeline.models import Way
from timeline.storage.entries import chunks, inbox

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from timeline.core.entries import Observation
    from timeline.models import AuditBatch
    from timeline.storage.live import Live

WINDOW = 120.0  # seconds for which changes and reviews wait for each other
SETTLED = 3.0  # seconds after which the reviews of a change have arrived, so that a second one would be known
RECENT = 5_000  # of the last observations that were stored, from which a worker goes on after another one


class _Waiting(NamedTuple):
    entry: Entry
    content: str
    since: float  # monotonic


class Makers:
    """Find who made the changes of one live source, for the worker of the source."""

    def __init__(self, live: Live, dividing: Dividing | None = None) -> None:
        self._live = live
        self._dividing = dividing or Dividing()
        self._changes: dict[str, list[_Waiting]] = defaultdict(list)  # by the UID of the object
        self._reviews: dict[str, list[Review]] = defaultdict(list)  # by the UID of the object
        self._batches: dict[str, tuple[float, list[Review], AuditBatch]] = {}  # by digest: when, and what
        self._flows = inbox.flows(live.source, Way.ADMISSION)
        if self._flows:
            stored = chunks.entries(live.source.pk, after=max(0, live.source.stored - RECENT))
            self.note(each.entry for each in stored)

    def note(self, batch: Iterable[Observation]) -> None:
        """Note changes that were committed, for which reviews may come or have come."""
        if not self._flows:
            return
        now = time.monotonic()
        for each in batch:
            if isinstance(each, Entry) and _is_shown(each):
                with suppress(*FAULTS):  # without its content, nobody is named
                    self._changes[each.ref.uid].append(_Waiting(each, content_of(each.body), now))

    def name(self, hold: Callable[[], None]) -> None:
        """Commit who made those changes whose maker is certain now, with the batches that are done."""
        for row in inbox.waiting(self._live.source, Way.ADMISSION, besides=set(self._batches)):
            self._flows = True
            lines = unpack(bytes(row.lines or b"")).split(b"\n")
            reviews = [from_line(line) for line in lines if line]
            self._batches[row.digest] = time.monotonic(), reviews, row
            for review in reviews:
                self._reviews[review.uid].append(review)
        if not self._flows:
            return
        named = self._dividing.kept(self._named())
        over = time.monotonic() - WINDOW
        done = [row for since, _, row in self._batches.values() if since < over]
        if not named and not done and not self._dividing.waits(Way.ADMISSION):
            return

        def commit(part: Sequence[Observation], whole: bool) -> None:
            def take() -> None:
                hold()
                if done and whole:
                    inbox.take(done)
                inbox.count_added(self._live.source, Way.ADMISSION, added=len(part))

            pipeline.follow(self._live, part, renew=take)

        if not self._dividing.commit(Way.ADMISSION, named, commit):
            return
        for row in done:
            for review in self._batches.pop(row.digest)[1]:
                self._reviews[review.uid].remove(review)
                if not self._reviews[review.uid]:
                    del self._reviews[review.uid]

    def _named(self) -> Iterator[Entry]:
        """Yield the changes that are settled, with who made them where that is certain, and forget them."""
        settled, over = time.monotonic() - SETTLED, time.monotonic() - WINDOW
        for uid, changes in list(self._changes.items()):
            left = []
            for each in changes:
                found = self._actor(each) if each.since <= settled else None
                if found:
                    yield replace(each.entry, actor=found.actor, identity=found.id, facts=None, body=b"", owner=None)
                elif each.since > over:
                    left.append(each)
            if left:
                self._changes[uid] = left
            else:
                del self._changes[uid]

    def _actor(self, change: _Waiting) -> Review | None:
        """Return the review of the write that made a change; None if it is not certain which that is."""
        reviews = self._reviews.get(change.entry.ref.uid)
        track = self._live.world.of_uid(change.entry.ref.uid) if reviews else None
        if not reviews or track is None:
            return None
        entries = [moment.entry for moment in track.moments]
        at = next((n for n, each in enumerate(entries) if each.resource_version == change.entry.resource_version), 0)
        if entries[at].actor:
            return None  # an audit log has said it
        before = entries[at - 1] if at else None
        found = [review for review in reviews if _announces(review, change, before)]
        return found[0] if len({review.actor for review in found}) == 1 else None


def _is_shown(entry: Entry) -> bool:
    """Return whether a watch shows this change of an object, and nothing says who made it."""
    watched = entry.clock is Clock.OBJECT and entry.arrived and entry.change is not Change.OBSERVED
    return bool(watched and entry.ref.uid and not entry.actor)


def _announces(review: Review, change: _Waiting, before: Entry | None) -> bool:
    entry = change.entry
    if entry.change is Change.CREATED:
        return review.operation == "CREATE" and review.content == change.content != ""
    if before is None or revision(review.replaces) != before.resource_version:
        return False
    if review.operation == "UPDATE":
        return review.content == change.content != ""
    facts = before.facts
    ends = entry.change is Change.DELETED and not (facts and facts.finalizers)
    marks = bool(entry.facts and entry.facts.deleting and not (facts and facts.deleting))
    return review.operation == "DELETE" and (ends or marks)
