"""Run the threads that watch one cluster, and queue what they deliver. No database is used."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, NamedTuple

from collectors.gate import Limits
from collectors.watch.streams.discovery import Discovery, DiscoveryResult
from collectors.watch.streams.event_queue import EventQueue
from collectors.watch.streams.reflector import Reflector
from timeline.core.entries import Entry, Observation

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Self

    from collectors.watch.server.api import Api
    from collectors.watch.streams.decoding import KnownObject
    from collectors.watch.streams.resources import Resource, Target

RESTORED = "restored"  # the state that a reflector reports when resourceVersions went back


class StreamStatus(NamedTuple):
    """The state of a stream from now on."""

    target: Target
    state: str
    error: str


StreamItem = Observation | StreamStatus | DiscoveryResult
_ITEM_BYTES = 1000  # about what an item takes besides the object of an entry


def _size_of(item: StreamItem) -> int:
    return _ITEM_BYTES + (len(item.body) if isinstance(item, Entry) else 0)


class Streams:
    """Run discovery and a reflector for each target, from `__enter__` to `__exit__`.

    `__exit__` waits for none of them. What they deliver is in `queue`. Nothing follows a StreamStatus of RESTORED,
    since it would not belong to what came before.
    """

    def __init__(
        self,
        api: Api,
        include: Sequence[str],
        exclude: Sequence[str],
        namespaces: Sequence[str] = (),
        limits: Limits = Limits(),  # noqa: B008
    ) -> None:
        self.api, self._limits = api, limits
        self.queue: EventQueue[StreamItem] = EventQueue(_size_of)
        self._stop = threading.Event()
        self._running: dict[Target, threading.Event] = {}
        self._thread_error = ""  # how a thread ended unexpectedly; "" if none did
        self._restored = False
        selection = list(include), list(exclude)
        self._discovery = Discovery(api, selection, self.queue.put, self._stop, namespaces[0] if namespaces else "")

    def __enter__(self) -> Self:
        self._discovery.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        for stop in self._running.values():
            stop.set()
        self.queue.close()
        self.api.close()

    @property
    def targets(self) -> set[Target]:
        return set(self._running)

    def start(
        self, target: Target, known_objects: Mapping[str, KnownObject], resume_from: int | None, resumed_at: int
    ) -> None:
        """Watch a target from a resourceVersion on, which was reached at `resumed_at` in µs; None: list it first."""
        stop = self._running[target] = threading.Event()

        def report(_: Resource, state: str, error: str) -> None:
            self._restored = self._restored or state == RESTORED
            self.queue.put([StreamStatus(target, state, error)], last=state == RESTORED)

        reflector = Reflector(
            self.api,
            target.resource,
            self.queue.put,
            known_objects=known_objects,
            resume_from=resume_from,
            resumed_at=resumed_at,
            report_state=report,
            namespace=target.namespace,
            limits=self._limits,
        )
        threading.Thread(target=self._run, args=[reflector, stop], name=target.name, daemon=True).start()

    def _run(self, reflector: Reflector, stop: threading.Event) -> None:
        reason = "it returned"
        try:
            reflector.run(stop)
        except BaseException as error:  # `check` raises it in the thread that stores
            reason = type(error).__name__
        if not (stop.is_set() or self._restored):
            self._thread_error = f"The thread that watched {reflector.resource.name} ended ({reason})."

    def interrupt(self) -> None:
        """Let `take` of the queue return, now or the next time."""
        self.queue.interrupt()

    def check(self) -> None:
        """Raise RuntimeError if a thread has ended unexpectedly: nothing more would be received of its resource."""
        if not self._stop.is_set() and not self._discovery.is_alive():
            raise RuntimeError("The thread that looked for resources ended.")
        if self._thread_error:
            raise RuntimeError(self._thread_error)

    def stop(self, target: Target) -> None:
        """Stop watching a target."""
        self._running.pop(target).set()
