"""Answer admission webhooks: at once, that a write is allowed, whatever it is. What was asked is stored afterwards, by
one thread, as far as it keeps up; the rest is dropped and counted."""

import asyncio
import atexit
import logging
import sys
import threading
import time
from collections import Counter, defaultdict, deque
from typing import Any

import msgspec
from asgiref.sync import sync_to_async
from django.conf import settings
from django.db import Error, close_old_connections
from django.http import HttpRequest

from collectors.uploads import admission_batches
from dashboard.access.tokens import tokens
from timeline.storage.entries import inbox

logger = logging.getLogger(__name__)
COUNT = 5_000  # reviews that wait in the memory of a web process at most
BYTES = 64 * 1024**2  # of all that wait
TOGETHER = 200  # reviews that are stored in one batch at most
EVERY = 0.5  # seconds between two batches at least
KNOWN_SECONDS = 10.0  # for which a token is not looked up again
OLD_SECONDS = 30.0  # after those, for which it is looked up while the old answer still counts
_PAUSE = 1.0  # seconds to wait when the database cannot be reached
_TOKENS = 1_000  # tokens that are remembered
_SWITCH = 0.0005  # seconds after which the thread that stores lets answers through


class _Request(msgspec.Struct, gc=False):
    uid: str
    dryRun: bool | None = None


class _Review(msgspec.Struct, gc=False):
    apiVersion: str
    request: _Request


_review = msgspec.json.Decoder(_Review)


class Tokens:
    """Remember for which cluster each recent token was, so that most answers need no database."""

    def __init__(self) -> None:
        self._known: dict[str, tuple[int, float]] = {}  # by text: the cluster, and until when that holds (monotonic)
        self._asking: dict[str, asyncio.Task[int | None]] = {}

    async def cluster(self, text: str) -> int | None:
        """Return the cluster of a token; None if the token is not good. Raise django.db.Error if nobody can say."""
        cluster, until = self._known.get(text, (None, 0.0))
        if cluster is None or until + OLD_SECONDS < time.monotonic():
            return await self._ask(text)
        if until < time.monotonic() and text not in self._asking:  # the answer does not wait for this
            self._asking[text] = asking = asyncio.create_task(self._ask(text))
            asking.add_done_callback(lambda task: (self._asking.pop(text, None), task.exception()))
        return cluster

    async def _ask(self, text: str) -> int | None:
        cluster = await sync_to_async(_cluster_of, thread_sensitive=False)(text)
        if cluster is None:
            self._known.pop(text, None)
        else:
            if len(self._known) >= _TOKENS:
                self._known.clear()
            self._known[text] = cluster, time.monotonic() + KNOWN_SECONDS
        return cluster


def _cluster_of(text: str) -> int | None:
    close_old_connections()
    try:
        token = tokens.holder(HttpRequest(), "audit", text)
        tokens.record_sender(token, "admission reviews")
        return token.cluster_id if token else None
    finally:
        close_old_connections()


def answer(body: bytes) -> tuple[bool, dict[str, Any]]:
    """Return whether a review is to be kept, and its answer. Raise ValueError if it is no review."""
    review = _review.decode(body)
    if not review.apiVersion.startswith("admission.k8s.io/"):
        raise ValueError("it is no AdmissionReview")
    response = {"uid": review.request.uid, "allowed": True}
    found = {"apiVersion": review.apiVersion, "kind": "AdmissionReview", "response": response}
    return not review.request.dryRun, found


class Writer(threading.Thread):
    """Store the reviews that were answered, in a thread."""

    def __init__(self) -> None:
        super().__init__(name="admission", daemon=True)
        self._waiting: deque[tuple[int, int, bytes]] = deque()  # cluster, µs since 1970, body
        self._bytes = 0
        self.dropped: Counter[int] = Counter()  # by cluster
        self._changed = threading.Condition()
        self._ending = False

    def start(self) -> None:
        sys.setswitchinterval(_SWITCH)
        atexit.register(self.end)
        super().start()

    def put(self, cluster: int, body: bytes) -> None:
        """Let a review wait, or count it if too much waits."""
        with self._changed:
            if len(self._waiting) >= COUNT or self._bytes + len(body) > BYTES:
                self.dropped[cluster] += 1
            else:
                self._waiting.append((cluster, time.time_ns() // 1000, body))
                self._bytes += len(body)
            if len(self._waiting) == 1:
                self._changed.notify()

    def end(self) -> None:
        """Store what waits, and end the thread."""
        with self._changed:
            self._ending = True
            self._changed.notify()
        self.join(2)

    def run(self) -> None:
        while True:
            with self._changed:
                while not self._waiting and not self.dropped and not self._ending:
                    self._changed.wait()
                if self._ending and not self._waiting:
                    return
                behind = self._ending or len(self._waiting) >= TOGETHER
            if not behind:
                time.sleep(EVERY)
            self._store()

    def _store(self) -> None:
        with self._changed:
            taken = [self._waiting.popleft() for _ in range(min(TOGETHER, len(self._waiting)))]
            self._bytes -= sum(len(body) for *_, body in taken)
            dropped, self.dropped = self.dropped, Counter()
        by_cluster: dict[int, list[tuple[int, bytes]]] = defaultdict(list)
        for cluster, at, body in taken:
            by_cluster[cluster].append((at, body))
        for cluster in {*by_cluster, *dropped}:
            reviews = by_cluster[cluster]
            try:
                close_old_connections()
                admission_batches.store(cluster, reviews, dropped[cluster], settings.LIMITS, settings.AUDIT_INBOX_BYTES)
            except inbox.NotWatched:
                continue
            except (inbox.Full, Error) as error:
                logger.warning("%s admission reviews are dropped: %s", len(reviews), type(error).__name__)
                with self._changed:
                    self.dropped[cluster] += dropped[cluster] + len(reviews)
                time.sleep(_PAUSE)
            except Exception:
                logger.exception("admission reviews could not be stored")
                with self._changed:
                    self.dropped[cluster] += dropped[cluster] + len(reviews)
            finally:
                close_old_connections()
