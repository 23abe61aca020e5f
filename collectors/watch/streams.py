"""The threads that read one cluster, and what they have told that nobody has taken in yet. No database here."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, NamedTuple

from collectors.watch.discovery import Discovery, Sight
from collectors.watch.event_queue import EventQueue
from collectors.watch.reflector import Reflector
from timeline.core.entries import Entry, Mark

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Self

    from collectors.watch.api import Api
    from collectors.watch.decoding import KnownObject
    from collectors.watch.resources import Resource

RESTORED = "restored"  # what a reflector tells when revisions went back


class Said(NamedTuple):
    """How a stream is from here on."""

    resource: Resource
    state: str
    error: str


News = Entry | Mark | Said | Sight


class Streams:
    """A scout and a reflector for each resource, from `__enter__` to `__exit__`, which waits for none of them.

    What they tell is in the inbox. Nothing comes after a `Said` of RESTORED: it would not belong to what came before.
    """

    def __init__(self, api: Api, include: list[str], exclude: list[str]) -> None:
        self.api = api
        self.inbox: EventQueue[News] = EventQueue()
        self._over = threading.Event()
        self._running: dict[Resource, threading.Event] = {}
        self._broken = ""  # how a thread ended that should not have
        self._restored = False
        self._scout = Discovery(api, (include, exclude), self.inbox.put, self._over)

    def __enter__(self) -> Self:
        self._scout.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        for over in self._running.values():
            over.set()
        self.inbox.close()
        self.api.close()

    @property
    def resources(self) -> set[Resource]:
        """Those that are read."""
        return set(self._running)

    def start(self, resource: Resource, standing: Mapping[str, KnownObject], resume: int | None, heard: int) -> None:
        """Read it from a revision on, which was reached at a time, µs; from a list on where none is told."""
        over = self._running[resource] = threading.Event()
        reflector = Reflector(
            self.api, resource, self.inbox.put, standing=standing, resume=resume, heard=heard, tell=self._tell
        )
        threading.Thread(target=self._run, args=[reflector, over], name=resource.name, daemon=True).start()

    def _run(self, reflector: Reflector, over: threading.Event) -> None:
        why = "it returned"
        try:
            reflector.run(over)
        except BaseException as error:  # `check` tells it to whoever takes in
            why = type(error).__name__
        if not (over.is_set() or self._restored):
            self._broken = f"The thread that watched {reflector.resource.name} ended ({why})."

    def check(self) -> None:
        """Raises RuntimeError where a thread has ended that should go on: nothing would be heard of its resource."""
        if not self._over.is_set() and not self._scout.is_alive():
            raise RuntimeError("The thread that looked for resources ended.")
        if self._broken:
            raise RuntimeError(self._broken)

    def stop(self, resource: Resource) -> None:
        self._running.pop(resource).set()

    def _tell(self, resource: Resource, state: str, error: str) -> None:
        self._restored = self._restored or state == RESTORED
        self.inbox.put([Said(resource, state, error)], last=state == RESTORED)
