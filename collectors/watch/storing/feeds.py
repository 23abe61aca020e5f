"""Read the observations of a live source: from the watches of this worker, or from a collector."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING, Protocol

from collectors.watch.storing import batches
from collectors.watch.storing.batches import KnownObject, KnownStream
from collectors.watch.streams.resources import Resource, Target
from collectors.watch.streams.threads import RESTORED, StreamStatus
from timeline.core.entries import Mark, MarkType, microseconds
from timeline.history.streams import Reach
from timeline.models import Cluster, Stream
from timeline.storage.entries import collected

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Self

    from collectors.watch.streams.threads import StreamItem, Streams
    from timeline.models import CollectedBatch
    from timeline.storage.live import Live

BATCH_BYTES = 64 * 1024**2  # of a batch of a collector at most, after decompression
_LOOK_SECONDS = 0.3  # seconds between two looks for batches of a collector
_HEALTH_SECONDS = 0.5  # seconds between two looks at how the collector is
_SILENT = "The collector does not report. What it observes meanwhile waits on its disk."


class OtherNamespaces(Exception):
    """The collector watches other namespaces than those of the source."""


class Feed(Protocol):
    """Where the observations of a live source come from."""

    error: str  # a sentence that says why nothing arrives; "" if something may

    def check(self, live: Live) -> None:
        """Raise RuntimeError if nothing more can arrive."""

    def take(self, most: int, timeout: float, not_before: float) -> Sequence[StreamItem]:
        """Return what has arrived, as `EventQueue.take` does."""

    def taken(self) -> None:
        """Note that what `take` returned is committed by the present transaction."""

    def failed(self, error: Exception) -> None:
        """Note that what `take` returned cannot be committed."""

    def history_begun(self) -> None:
        """Note that the present transaction begins a new source, because the cluster has another history now."""

    def interrupt(self) -> None:
        """Let `take` return, now or the next time."""


class Watched:
    """The watches of this worker. Use it with `with`."""

    error = ""

    def __init__(self, streams: Streams) -> None:
        self.streams = streams

    def __enter__(self) -> Self:
        self.streams.__enter__()
        return self

    def __exit__(self, *_: object) -> None:
        self.streams.__exit__()

    def check(self, live: Live) -> None:
        """Raise RuntimeError if a thread has ended unexpectedly."""
        self.streams.check()

    def take(self, most: int, timeout: float, not_before: float) -> Sequence[StreamItem]:
        """Return what the streams have delivered."""
        return self.streams.queue.take(most, timeout, not_before)

    def taken(self) -> None:
        """Do nothing: what is lost of a queue is watched again."""

    def failed(self, error: Exception) -> None:
        """Do nothing: the streams begin anew."""

    def history_begun(self) -> None:
        """Do nothing: the streams begin anew."""

    def interrupt(self) -> None:
        """Let `take` return, now or the next time."""
        self.streams.interrupt()


class Collected:
    """The batches of a collector, as web processes have stored them. Use it with `with`."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster.pk
        self._numbers: list[int] = []  # the batches that were taken last
        self._interrupted = threading.Event()
        self._looked = 0.0  # when the health of the collector was looked at, by time.monotonic
        self._live: Live | None = None
        self._restored = 0  # the batch with which another history of the cluster begins; 0 if it was not the last one
        self.error = ""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._interrupted.set()

    def check(self, live: Live) -> None:
        """Answer a collector that begins and asks what is known, and look whether the active one is silent."""
        self._live = live
        if time.monotonic() < self._looked + _HEALTH_SECONDS:
            return
        self._looked = time.monotonic()
        namespaces = Cluster.objects.values_list("namespaces", flat=True).get(pk=self._cluster)
        if namespaces != live.source.namespaces:
            raise OtherNamespaces
        row, silent = collected.of(self._cluster)
        self.error = _SILENT if silent else ""
        if row and row.asked is not None and row.taken >= row.asked and not collected.waiting(self._cluster):
            collected.answer(self._cluster, row.asked, batches.known_written(_known(live)))

    def take(self, most: int, timeout: float, not_before: float) -> Sequence[StreamItem]:
        """Return what is in the next batches; none if none has arrived within a moment."""
        found = collected.waiting(self._cluster)
        self._numbers = []
        if not found:
            self._interrupted.wait(min(timeout, _LOOK_SECONDS))
            self._interrupted.clear()
            return []
        first, self._restored = found[0], 0
        if first.restored:
            self._restored = first.number
            return [StreamStatus(Target(Resource("", "", "", "", False)), RESTORED, first.restored)]
        if first.aside:
            self._numbers = [first.number]
            return [*self._gaps(first)]
        items: list[StreamItem] = []
        for each in found:
            self._numbers.append(each.number)  # first: a batch that cannot be read is counted
            items += batches.read(bytes(each.lines), BATCH_BYTES)
            if len(items) >= most:
                break
        return items

    def taken(self) -> None:
        """Remove the batches in the present transaction."""
        if self._numbers:
            collected.take(self._cluster, self._numbers)

    def failed(self, error: Exception) -> None:
        """Count the failure; after some, the batch is put aside, and what it held is a gap of all streams."""
        if self._numbers:
            collected.failed(self._cluster, self._numbers, f"{type(error).__name__}: {error}")

    def history_begun(self) -> None:
        """Note it at the batch with which the new history begins."""
        if self._restored:
            collected.history_begun(self._cluster, self._restored)

    def interrupt(self) -> None:
        """Let `take` return, now or the next time."""
        self._interrupted.set()

    def _gaps(self, batch: CollectedBatch) -> Iterator[Mark]:
        """Yield a gap of each stream, in place of a batch that was put aside."""
        assert self._live
        reason = "A batch of the collector could not be processed and was put aside, so what was in it is not known."
        for (group, kind), stream in self._live.world.streams.items():
            for namespace in stream.namespaces or [""]:
                reach = stream.reach_in(namespace)
                until = max(reach.at + 1, microseconds(batch.arrived))
                since = reach.at, reach.revision or None
                yield Mark(group, "", kind, MarkType.GAP, until, None, *since, reason, namespace=namespace)


def _known(live: Live) -> Iterator[KnownStream]:
    """Yield what is known of each stream of a source."""
    for row in Stream.objects.filter(source=live.source).exclude(state=Stream.State.MISSING):
        kind = row.group, row.kind
        stream = live.world.streams.get(kind)
        reach = stream.reach_in(row.namespace) if stream else Reach()
        objects = live.existing_objects(*kind, row.namespace).values()
        yield KnownStream(
            row.group,
            row.version,
            row.kind,
            row.resource,
            row.namespaced,
            row.namespace,
            str(reach.revision),
            reach.at,
            [KnownObject(each.ref, str(each.revision), each.owner) for each in objects],
        )
