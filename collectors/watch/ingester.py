"""This module stores what the streams of one cluster deliver, batch after batch, and the state of each stream."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from collectors.watch.adding import add_batches, add_part
from collectors.watch.admitted import Admitted
from collectors.watch.attribution import Attribution
from collectors.watch.discovery import DiscoveryResult
from collectors.watch.resources import Resource, Target, targets
from collectors.watch.streams import RESTORED, StreamStatus
from timeline import pipeline
from timeline.core.entries import Observation
from timeline.history.streams import Reach
from timeline.models import Cluster, Stream
from timeline.storage import additions, leases, live

if TYPE_CHECKING:
    from collectors.watch.streams import Streams
    from timeline.storage.leases import Lease
    from timeline.storage.live import Live

Show = Callable[[Cluster.State, str], None]
BATCH = 1000  # observations in one commit at most
COMMIT_SECONDS = 0.1  # seconds between two commits at least, unless a whole batch waits
LOOK_SECONDS = 1.0  # seconds between two looks for a log that is to be added, while the watches report nothing
IDLE_SECONDS = 5.0  # seconds without a commit after which rules that judge passing time are run
MISSING = Stream.State.MISSING
HEALTHY = {Stream.State.LISTING, Stream.State.WATCHING}


class Ended(Exception):
    """This exception says that what follows does not belong to the source. Its message is shown on screen."""


class Ingester:
    """This class stores what the streams deliver; one thread uses it.

    `show` writes the cluster's state and its error.
    """

    def __init__(
        self, lease: Lease, live_source: Live, streams: Streams, show: Callable[[Cluster.State, str], None]
    ) -> None:
        self._hold = partial(leases.hold, lease)
        self._live, self._streams, self._show = live_source, streams, show
        rows = Stream.objects.filter(source=live_source.source).exclude(state=MISSING)
        self._previous_streams = [_target(row) for row in rows]
        rows.update(state=Stream.State.WAITING)
        self._statuses_written: dict[Target, StreamStatus] = {}  # the status of each stream that was written last
        self._error = ""
        self._committed = 0.0
        self._admitted = Admitted(live_source)
        self._attribution = Attribution(live_source)
        self._more = False  # whether more of the audit log may wait

    def commit_batch(self) -> None:
        """Commit the observations that wait, or return after a while if none come.

        Raise Ended, leases.Lost, and what the database raises.
        """
        self._streams.check()
        adds = self._adds()
        part = additions.first_part(self._live.source) if adds else None
        more, self._more = self._more, False
        patience = 0 if part or more else LOOK_SECONDS
        items = self._streams.queue.take(BATCH, patience, self._committed + COMMIT_SECONDS)
        batch = [each for each in items if isinstance(each, Observation)]
        now = time.monotonic()
        if batch or now - self._committed >= IDLE_SECONDS:
            self._committed = now
            try:
                pipeline.follow(self._live, batch, renew=self._hold)
            except pipeline.TwoClusters as error:
                raise Ended(
                    "What the server reports now cannot come from the cluster that was watched before."
                ) from error
        if part:
            add_part(self._live, part, self._hold)
        if adds:
            self._more = add_batches(self._live, self._hold)
            self._admitted.note(batch)
            self._admitted.name(self._hold)
            self._attribution.note(batch)
            self._attribution.compare()
        for each in items:
            if isinstance(each, StreamStatus):
                self._write_status(each)
            elif isinstance(each, DiscoveryResult):
                self._apply_discovery(each)
        self._show(*self._summary())

    def _adds(self) -> bool:
        """Return whether the watches have shown what exists, so that a log can be added to it."""
        states = [each.state for each in self._statuses_written.values()]
        return bool(states) and Stream.State.WAITING not in states and Stream.State.LISTING not in states

    def _apply_discovery(self, result: DiscoveryResult) -> None:
        """Start watching resources that are served now, and stop watching those that are not."""
        self._error = result.error
        if result.error:
            return
        namespaces = self._live.source.namespaces
        wanted = [target for resource in result.resources for target in targets(resource, namespaces)]
        for target in self._streams.targets.difference(wanted):
            self._streams.stop(target)
            self._write_status(StreamStatus(target, MISSING, "The cluster does not serve it any more."))
        for name, why in result.missing:
            plural, _, group = name.partition(".")
            self._write_status(StreamStatus(Target(Resource(group, "", "", plural, True)), MISSING, why))
        for target in set(self._previous_streams).difference(wanted):
            self._write_status(StreamStatus(target, MISSING, "It is not watched any more."))
        self._previous_streams = []
        for target in wanted:
            if target not in self._streams.targets:
                self._start(target)

    def _start(self, target: Target) -> None:
        kind = target.resource.group_kind
        stream = self._live.world.streams.get(kind)
        reach = stream.reach_in(target.namespace) if stream else Reach()
        # The row of the stream must exist before its first commit.
        self._write_status(StreamStatus(target, Stream.State.WAITING, ""))
        known = self._live.existing_objects(*kind, target.namespace)
        self._streams.start(target, known, reach.revision or None, reach.at)

    def _write_status(self, status: StreamStatus) -> None:
        if status.state == RESTORED:
            raise Ended(status.error)
        if self._statuses_written.get(target := status.target) != status:
            state = Stream.State(status.state)
            live.write_stream_state(self._live.source, target.resource, state, status.error, namespace=target.namespace)
            self._statuses_written[target] = status

    def _summary(self) -> tuple[Cluster.State, str]:
        """Return the cluster's state and error: it is failing if none of its streams can be read."""
        errors = [status.error for status in self._statuses_written.values() if status.state == Stream.State.FAILING]
        if any(status.state in HEALTHY for status in self._statuses_written.values()):
            return Cluster.State.LIVE, self._error or next(iter(errors), "")
        if error := self._error or next(iter(errors), ""):
            return Cluster.State.FAILING, error
        return Cluster.State.CONNECTING, ""


def _target(row: Stream) -> Target:
    return Target(Resource(row.group, row.version, row.kind, row.resource, row.namespaced), row.namespace)
