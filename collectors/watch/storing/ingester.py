"""Store what the streams of one cluster deliver, batch after batch, and the state of each stream."""

from __future__ import annotations

import time
from functools import partial
from typing import TYPE_CHECKING

import psycopg
from django import db
from django.db import transaction

from collectors.watch.storing.adding import add_batches, add_part
from collectors.watch.storing.attribution import Attribution
from collectors.watch.storing.dividing import Dividing, described
from collectors.watch.storing.feeds import Collected, Watched
from collectors.watch.storing.makers import Makers
from collectors.watch.streams.discovery import DiscoveryResult
from collectors.watch.streams.resources import Resource, Target
from collectors.watch.streams.targets import Known, Targets
from collectors.watch.streams.threads import RESTORED, StreamStatus
from timeline import pipeline
from timeline.core.entries import Entry, Mark, MarkType, Observation
from timeline.core.machine import memory
from timeline.history.streams import Reach
from timeline.models import Cluster, Stream, Way
from timeline.storage import leases, store, streams
from timeline.storage.entries import additions, inbox

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from collectors.watch.storing.feeds import Feed
    from collectors.watch.streams.threads import StreamItem
    from timeline.storage.leases import Lease
    from timeline.storage.live import Live

BATCH = 4000  # observations in one commit at most; larger commits take less for each
SLOW_BATCH = 1000  # the same where commits are slow
_COMMIT_GOAL = 0.5  # seconds; commits shrink if they take twice this time, and grow again below it
COMMIT_SECONDS = 0.1  # seconds between two commits at least, unless a whole batch waits
LOOK_SECONDS = 1.0  # seconds between two looks for what is to be added to the watches, unless more of it waits
_GIVE_BACK_SECONDS = 3.0  # seconds between two times at which freed memory is given back
IDLE_SECONDS = 5.0  # seconds without a commit after which rules that judge passing time are run
MISSING = Stream.State.MISSING
HEALTHY = {Stream.State.LISTING, Stream.State.WATCHING}


_WATCHES = "watches"  # the way of what the feed delivers


class Ended(Exception):
    """What follows does not belong to the source. The message is shown on screen."""


class Ingester:
    """Store what the streams deliver; one thread uses it.

    `show` writes the cluster's state and its error.
    """

    def __init__(
        self,
        lease: Lease,
        live_source: Live,
        feed: Feed,
        show: Callable[[Cluster.State, str], None],
        dividing: Dividing | None = None,
    ) -> None:
        self._dividing = dividing or Dividing()
        self._hold = partial(leases.hold, lease)
        self._live, self._feed, self._show = live_source, feed, show
        rows = Stream.objects.filter(source=live_source.source).exclude(state=MISSING)
        self._statuses_written: dict[Target, StreamStatus] = {}  # the status of each stream that was written last
        self._targets: Targets | None = None
        if isinstance(feed, Watched):
            namespaces, previous = live_source.source.namespaces, [_target(row) for row in rows]
            self._targets = Targets(feed.streams, namespaces, previous, self._known, self._write_status)
            rows.update(state=Stream.State.WAITING)
        else:  # a collector goes on although this worker has just begun
            self._statuses_written = {_target(row): StreamStatus(_target(row), row.state, row.error) for row in rows}
        self._error = ""
        self._committed = 0.0
        self._given_back = time.monotonic()
        self._most = BATCH  # observations in the next commit at most
        self._makers = Makers(live_source, self._dividing)
        self._attribution = Attribution(live_source)
        self._more = False  # whether more may wait of what is to be added
        self._look_at = 0.0  # when to look for it, by time.monotonic

    def commit_batch(self) -> None:
        """Commit the observations that wait, or return after a while if none come.

        Raise Ended, leases.Lost, and what the database raises.
        """
        self._feed.check(self._live)
        self._record_aside()
        began = time.monotonic()
        adds, looks = self._adds(), self._more or began >= self._look_at
        if looks:
            self._look_at = began + LOOK_SECONDS
        part = additions.first_part(self._live.source) if adds and looks else None
        patience = 0 if part or self._more else self._look_at - began
        items = [] if self._dividing.waits(_WATCHES) else self._taken(patience)
        batch = self._dividing.kept(each for each in items if isinstance(each, Observation))
        began = time.monotonic()
        try:
            self._dividing.commit(_WATCHES, batch, lambda part, _: self._commit(items, part))
        except pipeline.TwoClusters as error:
            raise Ended("What the server reports now cannot come from the cluster that was watched before.") from error
        self._adapt(len(items), time.monotonic() - began)
        self._more = part is not None
        if part:
            add_part(self._live, part, self._hold, self._dividing)
        if adds:
            self._makers.note(batch)
            if looks:
                self._more |= add_batches(self._live, self._hold, self._dividing)
                self._makers.name(self._hold)
            self._attribution.note(batch)
            self._attribution.compare()
        for each in items:
            if isinstance(each, DiscoveryResult):
                self._apply_discovery(each)
            elif isinstance(each, StreamStatus) and each.state == RESTORED:
                raise Ended(each.error)
        self._show(*self._summary())

    def _taken(self, patience: float) -> Sequence[StreamItem]:
        """Return what has arrived. Note at the feed if it cannot be read."""
        try:
            items = self._feed.take(self._most, patience, self._committed + COMMIT_SECONDS)
            return self._dividing.checked(items) if isinstance(self._feed, Collected) else items
        except (leases.Lost, db.OperationalError, db.InterfaceError, psycopg.OperationalError):
            raise  # nothing is wrong with what was taken
        except Exception as error:
            self._feed.failed(error)
            raise

    def _record_aside(self) -> None:
        """Record what was set aside: the source counts it as skipped, and of a watch it leaves a gap."""
        for each in list(self._dividing.aside):
            words = f"{described(each.observation)} could not be processed and was set aside"
            with transaction.atomic():
                self._hold()
                store.set_aside(self._live.source, self._live.source.inputs[-1], f"{words} ({each.reason})")
                if gap := self._gap_of(each.observation, f"{words}, so what it was is not known."):
                    pipeline.follow(self._live, [gap])
                else:
                    inbox.set_aside(self._live.source, Way.AUDIT, f"{words} ({each.reason}).")
            self._dividing.aside.remove(each)

    def _gap_of(self, each: Observation, reason: str) -> Mark | None:
        """Return the gap that a change leaves in its watch; None for what no watch reports."""
        if not isinstance(each, Entry) or not each.arrived:
            return None
        kind, namespace = (each.ref.group, each.ref.kind), each.ref.namespace
        stream = self._live.world.streams.get(kind)
        namespace = namespace if stream and stream.namespaces else ""
        since = min(stream.reach_in(namespace).at if stream else each.arrived, each.arrived - 1)
        return Mark(kind[0], "", kind[1], MarkType.GAP, each.arrived, None, since, None, reason, namespace=namespace)

    def _adapt(self, taken: int, seconds: float) -> None:
        """Let the next commit have more observations if as many as allowed were taken, which means that more wait, and
        their commit was quick; let it have fewer if it was slow."""
        if seconds > 2 * _COMMIT_GOAL:
            self._most = max(SLOW_BATCH, self._most // 2)
        elif taken >= self._most and seconds < _COMMIT_GOAL:
            self._most = min(BATCH, self._most * 2)

    def _commit(self, items: Sequence[StreamItem], batch: Sequence[Observation]) -> None:
        """Store what was taken of the feed in one transaction: observations, and states of streams."""
        now = time.monotonic()
        due = bool(batch) or now - self._committed >= IDLE_SECONDS
        if not due and not items:
            return

        def take() -> None:
            self._hold()
            for each in items:  # the row of a stream must exist before its first observations are stored
                if isinstance(each, StreamStatus) and each.state != RESTORED:
                    self._write_status(each)
            self._feed.taken()

        if due:
            self._committed = now
            pipeline.follow(self._live, batch, renew=take)
        else:
            with transaction.atomic():
                take()
        if now - self._given_back >= _GIVE_BACK_SECONDS:
            memory.give_back()  # objects of many sizes come and go between those that stay
            self._given_back = now

    def _adds(self) -> bool:
        """Return whether the watches have shown what exists, so that a log can be added to it."""
        states = [each.state for each in self._statuses_written.values()]
        return bool(states) and Stream.State.WAITING not in states and Stream.State.LISTING not in states

    def _apply_discovery(self, result: DiscoveryResult) -> None:
        self._error = result.error
        if self._targets and not result.error:
            self._targets.apply(result)

    def _known(self, target: Target) -> Known:
        """Return what is known of a target, as `Targets` needs it."""
        kind = target.resource.group_kind
        stream = self._live.world.streams.get(kind)
        reach = stream.reach_in(target.namespace) if stream else Reach()
        return Known(self._live.existing_objects(*kind, target.namespace), reach.revision or None, reach.at)

    def _write_status(self, status: StreamStatus) -> None:
        if self._statuses_written.get(target := status.target) != status:
            state = Stream.State(status.state)
            streams.write_stream_state(
                self._live.source, target.resource, state, status.error, namespace=target.namespace
            )
            self._statuses_written[target] = status

    def _summary(self) -> tuple[Cluster.State, str]:
        """Return the cluster's state and error: it is failing if none of its streams can be read."""
        if self._feed.error:
            return Cluster.State.FAILING, self._feed.error
        errors = [status.error for status in self._statuses_written.values() if status.state == Stream.State.FAILING]
        if any(status.state in HEALTHY for status in self._statuses_written.values()):
            return Cluster.State.LIVE, self._error or next(iter(errors), "")
        if error := self._error or next(iter(errors), ""):
            return Cluster.State.FAILING, error
        return Cluster.State.CONNECTING, ""


def _target(row: Stream) -> Target:
    return Target(Resource(row.group, row.version, row.kind, row.resource, row.namespaced), row.namespace)
