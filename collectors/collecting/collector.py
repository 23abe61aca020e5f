"""Watch a cluster, write what its streams deliver to the buffer, and begin where the server stands.

One collector of a cluster is active at a time: the server gives it an epoch, and refuses batches of older ones. When it
begins, it first sends what its buffer still holds. Then it asks the server up to where everything is known, and watches
from there, so a restart loses nothing that the API server still knows; what it does not know any more becomes a gap.
"""

from __future__ import annotations

import logging
import socket
import time
import uuid
from typing import TYPE_CHECKING

from collectors.collecting.buffer import Batch, Place
from collectors.collecting.sender import Sender
from collectors.collecting.server import Away, Pause, SteppedDown
from collectors.watch.server.failures import ApiError
from collectors.watch.storing import batches
from collectors.watch.streams.discovery import DiscoveryResult
from collectors.watch.streams.targets import Known, Targets
from collectors.watch.streams.threads import RESTORED, Streams, StreamStatus

if TYPE_CHECKING:
    import threading
    from collections.abc import Callable, Iterable, Sequence

    from collectors.collecting.buffer import Buffer
    from collectors.collecting.server import Epoch, Server
    from collectors.watch.server.api import Api
    from collectors.watch.storing.batches import Item, KnownStream
    from collectors.watch.streams.resources import Target

logger = logging.getLogger(__name__)
_ITEMS = 1000  # of one batch at most
_BATCH_BYTES = 2 * 1024**2  # of the lines of one batch, but for its last line
_BATCH_SECONDS = 0.25  # seconds between two batches at least, unless a whole one waits
_LOOK_SECONDS = 0.5  # seconds between two looks whether something has changed
_LEAVE_SECONDS = 5.0  # seconds in which the last batches are sent when the collector is stopped


class Collector:
    """One collector. `connect` returns the API of the cluster, and raises ApiError."""

    def __init__(
        self,
        connect: Callable[[], Api],
        server: Server,
        buffer: Buffer,
        *,
        include: Sequence[str] = (),
        exclude: Sequence[str] = (),
        namespaces: Sequence[str] = (),
        version: str = "",
        alive: Callable[[], None] = lambda: None,
    ) -> None:
        """`alive` is called at least every few seconds as long as the collector works."""
        self._connect, self._server, self._buffer = connect, server, buffer
        self._include, self._exclude, self._namespaces = include, exclude, tuple(sorted(set(namespaces)))
        self._version, self._alive = version, alive
        self._place = buffer.place() or Place(f"{socket.gethostname()}-{uuid.uuid4().hex[:8]}")
        if self._place.namespaces != self._namespaces:  # what waits belongs to the source that ends with the change
            buffer.clear()
            self._place.namespaces = self._namespaces
            buffer.remember(self._place)
        self._restored = ""  # why the next batch begins another history of the cluster
        self._number = 0  # of the last batch
        self._known: dict[Target, Known] = {}

    def run(self, stop: threading.Event) -> None:
        """Collect until `stop` is set."""
        pause = Pause()
        while not stop.is_set():
            began = time.monotonic()
            try:
                epoch = self._server.lease(epoch=self._place.epoch, **self._report())
                self._continue(epoch)
                self._collect(epoch.epoch, stop)
            except SteppedDown as error:
                logger.warning("another collector has taken over: %s", error)
                self._forget()
            except (Away, ApiError, batches.Malformed) as error:
                logger.warning("%s", error)
            except Exception:
                logger.exception("the collector begins anew")
            self._alive()
            if time.monotonic() - began > 2 * _LEAVE_SECONDS:
                pause.reset()
            stop.wait(pause.seconds())

    def _report(self) -> dict[str, object]:
        return {
            "holder": self._place.holder,
            "version": self._version,
            "buffered": self._buffer.size,
            "behind": self._buffer.behind,
            "namespaces": self._namespaces,
        }

    def _forget(self) -> None:
        """Drop what waits: another collector has observed the same since, or the server says what is not known."""
        self._buffer.clear()
        self._place.epoch = None
        self._buffer.remember(self._place)

    def _continue(self, epoch: Epoch) -> None:
        """Continue with what the server has."""
        if self._place.epoch != epoch.epoch:
            self._buffer.clear()
            self._place.epoch = epoch.epoch
            self._buffer.remember(self._place)
        self._buffer.remove_until(epoch.accepted)
        first = self._buffer.first(0)
        if first and first.number != epoch.accepted + 1:
            logger.warning("the buffer does not continue what the server has, and is dropped")
            self._buffer.clear()
        self._number = max(epoch.accepted, self._buffer.last)

    def _collect(self, epoch: int, stop: threading.Event) -> None:
        sender = Sender(self._server, self._buffer, epoch, self._report)
        sender.start()
        try:
            while not (stop.is_set() or sender.lost) and self._buffer.size:
                self._alive()
                stop.wait(_LOOK_SECONDS / 5)
            if self._ask_what_is_known(epoch, stop, sender):
                while not (stop.is_set() or sender.lost):
                    self._watch(stop, sender)
            ends = time.monotonic() + _LEAVE_SECONDS  # what waits is sent before the end, if that is quick
            while self._buffer.size and not (sender.lost or sender.error) and time.monotonic() < ends:
                time.sleep(_LOOK_SECONDS / 10)
        finally:
            sender.stop()
            sender.join(_LEAVE_SECONDS)
            if sender.lost:
                self._forget()
            elif stop.is_set():
                self._leave(epoch, sender)

    def _leave(self, epoch: int, sender: Sender) -> None:
        """Let another collector begin at once, unless the sender still waits for an answer: the server could take its
        request for a renewal later than the one that gives the right to send back."""
        why = "a request is not answered" if sender.is_alive() else sender.error
        if not why:
            try:
                self._server.lease(epoch=epoch, leaving=True, **self._report())
                return
            except (Away, SteppedDown) as error:
                why = str(error)
        logger.warning("the right to send was not given back, so another collector begins only later: %s", why)

    def _ask_what_is_known(self, epoch: int, stop: threading.Event, sender: Sender) -> bool:
        """Return whether the server has said what is known of the cluster."""
        found: Sequence[KnownStream] | None = None
        while found is None:
            if stop.is_set() or sender.lost:
                return False
            self._alive()
            found = self._server.state(epoch, self._number)
            if found is None:
                stop.wait(_LOOK_SECONDS)
        self._known = {
            each.target: Known(
                {known.ref.uid: known for known in each.objects}, int(each.resourceVersion) or None, each.at
            )
            for each in found
        }
        return True

    def _watch(self, stop: threading.Event, sender: Sender) -> None:
        """Write what the streams deliver to the buffer, until something ends that.

        While the buffer is full, nothing more is taken from the streams, which then wait. If that takes longer than the
        API server remembers, it becomes a gap.
        """
        waiting: list[Item] = []
        known, self._known = self._known, {}
        with Streams(self._connect(), self._include, self._exclude, self._namespaces) as streams:
            targets = Targets(
                streams, self._namespaces, known, lambda target: known.pop(target, Known({}, None, 0)), waiting.append
            )
            wrote = 0.0
            while not (stop.is_set() or sender.lost):
                self._alive()
                streams.check()
                for each in streams.queue.take(_ITEMS, _LOOK_SECONDS, wrote + _BATCH_SECONDS):
                    if isinstance(each, DiscoveryResult):
                        if each.error:
                            logger.warning("the resources of the cluster cannot be found out: %s", each.error)
                        else:
                            targets.apply(each)
                    elif isinstance(each, StreamStatus) and each.state == RESTORED:
                        self._write(waiting, stop, sender)
                        self._restored = each.error
                        return
                    else:
                        waiting.append(each)
                if waiting:
                    wrote = time.monotonic()
                    self._write(waiting, stop, sender)
                    waiting.clear()

    def _write(self, items: Sequence[Item], stop: threading.Event, sender: Sender) -> None:
        """Put items into the buffer, in batches, as soon as it has room. What is left over when the collector is
        stopped is observed again when it begins."""
        for lines in _parts(map(batches.line, items)):
            while not self._buffer.wait_for_room(_LOOK_SECONDS):
                self._alive()
                if stop.is_set() or sender.lost:
                    raise Away("The buffer is full.")
            self._buffer.put(Batch(self._number + 1, batches.packed(lines), self._restored))
            self._number += 1
            self._restored = ""


def _parts(lines: Iterable[bytes]) -> list[list[bytes]]:
    """Return the lines in parts that are not too large."""
    parts: list[list[bytes]] = [[]]
    size = 0
    for each in lines:
        size += len(each)
        parts[-1].append(each)
        if size >= _BATCH_BYTES:
            parts.append([])
            size = 0
    return [part for part in parts if part]
