"""Takes into the database what the streams of one cluster tell, batch after batch, and how the streams are."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from collectors.watch.discovery import Sight
from collectors.watch.resources import Resource
from collectors.watch.streams import RESTORED, Said
from timeline import pipeline
from timeline.core.entries import Entry, Mark
from timeline.models import Cluster, Stream
from timeline.storage import leases, live

if TYPE_CHECKING:
    from collectors.watch.streams import Streams
    from timeline.storage.leases import Lease
    from timeline.storage.live import Live

Show = Callable[[Cluster.State, str], None]
MOST = 1000  # observations in one commit
GATHER = 0.1  # seconds from one commit to the next at least, unless so many wait
PASSING = 5.0  # seconds without a commit after which time is let pass: some rules judge silence
MISSING = Stream.State.MISSING
WELL = {Stream.State.LISTING, Stream.State.WATCHING}


class Ended(Exception):
    """What comes next does not belong to the source; the message says why, for the screen."""


class Ingester:
    """Belongs to the thread that takes in. `show` writes the cluster's state and what is wrong."""

    def __init__(
        self, lease: Lease, opened: Live, streams: Streams, show: Callable[[Cluster.State, str], None]
    ) -> None:
        self._hold = partial(leases.hold, lease)
        self._live, self._streams, self._show = opened, streams, show
        rows = Stream.objects.filter(source=opened.source).exclude(state=MISSING)
        self._left = [_resource(row) for row in rows]
        rows.update(state=Stream.State.WAITING)
        self._told: dict[Resource, Said] = {}  # as it was written last
        self._trouble = ""
        self._committed = 0.0

    def turn(self) -> None:
        """Commit what waits; else return after a while. Raises Ended, leases.Lost, and what the database raises."""
        self._streams.check()
        taken = self._streams.inbox.take(MOST, PASSING, self._committed + GATHER)
        batch = [each for each in taken if isinstance(each, Entry | Mark)]
        now = time.monotonic()
        if batch or now - self._committed >= PASSING:
            self._committed = now
            try:
                pipeline.follow(self._live, batch, renew=self._hold)
            except pipeline.TwoClusters as error:
                raise Ended("What is told now cannot be of the cluster that was watched before.") from error
        for each in taken:
            if isinstance(each, Said):
                self._tell(each)
            elif isinstance(each, Sight):
                self._see(each)
        self._show(*self._summary())

    def _see(self, sight: Sight) -> None:
        self._trouble = sight.trouble
        if sight.trouble:
            return
        for resource in self._streams.resources.difference(sight.resources):
            self._streams.stop(resource)
            self._tell(Said(resource, MISSING, "The cluster does not serve it any more."))
        for name, why in sight.missing:
            plural, _, group = name.partition(".")
            self._tell(Said(Resource(group, "", "", plural, True), MISSING, why))
        for resource in set(self._left).difference(sight.resources):
            self._tell(Said(resource, MISSING, "It is not watched any more."))
        self._left = []
        for resource in sight.resources:
            if resource not in self._streams.resources:
                self._start(resource)

    def _start(self, resource: Resource) -> None:
        kind = resource.group, resource.kind
        stream = self._live.world.streams.get(kind)
        resume, heard = (stream.reached or None, stream.reached_at) if stream else (None, 0)
        self._tell(Said(resource, Stream.State.WAITING, ""))  # its row has to be there before its first commit
        self._streams.start(resource, self._live.standing(*kind), resume, heard)

    def _tell(self, said: Said) -> None:
        if said.state == RESTORED:
            raise Ended(said.error)
        if self._told.get(said.resource) != said:
            live.tell(self._live.source, said.resource, Stream.State(said.state), said.error)
            self._told[said.resource] = said

    def _summary(self) -> tuple[Cluster.State, str]:
        """The cluster's state: it fails where nothing of it can be read."""
        troubles = [said.error for said in self._told.values() if said.state == Stream.State.FAILING]
        if any(said.state in WELL for said in self._told.values()):
            return Cluster.State.LIVE, self._trouble or next(iter(troubles), "")
        if trouble := self._trouble or next(iter(troubles), ""):
            return Cluster.State.FAILING, trouble
        return Cluster.State.CONNECTING, ""


def _resource(row: Stream) -> Resource:
    return Resource(row.group, row.version, row.kind, row.resource, row.namespaced)
