"""List and watch one resource, as the Reflector of client-go does, and restart when a watch ends.

It delivers entries in order, and marks that say up to which resourceVersion nothing is missing. If the server can no
longer say what changed, it delivers a gap instead of guessing.
"""

import logging
import random
import threading
import time
from collections.abc import Callable, Mapping
from typing import Any

from collectors.gate import Admitted, Limits, admit, admit_text
from collectors.watch.server.api import Api
from collectors.watch.server.bodies import LIST_BYTES
from collectors.watch.server.failures import (
    ApiError,
    Forbidden,
    Gone,
    Missing,
    RequestRefused,
    RevisionsWentBack,
    TooLarge,
)
from collectors.watch.server.stream import Silent, Stopped, Stream
from collectors.watch.streams.decoding import (
    Bookmark,
    KnownObject,
    ListPage,
    Malformed,
    ObjectDecoder,
    key_in,
    key_of,
    page_of,
)
from collectors.watch.streams.resources import Resource
from timeline.core.entries import Entry, Mark, MarkType, Observation

logger = logging.getLogger(__name__)
PAGE = 500  # objects in one page of a list
PAGE_BYTES = LIST_BYTES
_PAGE_DIVISOR = 8  # the page size is divided by it if a page has too many bytes
PAGES = 20_000  # pages after which a list is taken for endless
_METADATA = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json"
METADATA_LIST = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json"
_FIRST_PAUSE, _LONGEST_PAUSE = 0.2, 5.0  # seconds before the next attempt: at first, at most
_FAILURE_WINDOW = 300.0  # seconds after a failure, after which the next one counts as a first one
_RETRY_AFTER_LIMIT = 60.0  # seconds that a server may ask us to wait
_WATCH_SECONDS = (240, 480)  # seconds after which the server shall end a watch: at least, at most
_LOCK_SECONDS = 0.5  # seconds between two checks of `stop` while it waits to list
_LIST_ATTEMPTS = 5  # times that a list whose pages were too slow is restarted before that is a failure

Deliver = Callable[[Admitted[Observation]], None]
ReportState = Callable[[Resource, str, str], None]


class Reflector:
    """Keep up with one resource: call `deliver` with entries and marks, in order.

    It calls `report_state` with "listing", "watching", "failing", "forbidden" or "missing" and a reason when that
    changes, and with "restored" if resourceVersions went back, which ends `run`.
    """

    def __init__(
        self,
        api: Api,
        resource: Resource,
        deliver: Deliver,
        *,
        known_objects: Mapping[str, KnownObject],
        resume_from: int | None,
        resumed_at: int = 0,
        report_state: ReportState,
        namespace: str = "",
        page: int = PAGE,
        retry_seconds: float = 30.0,
        limits: Limits = Limits(),  # noqa: B008
    ) -> None:
        """Prepare to resume from what was delivered before.

        Everything up to the resourceVersion `resume_from` was delivered before, at `resumed_at` in µs; `known_objects`
        existed then. After `retry_seconds`, a forbidden or missing resource is requested again.
        """
        self._api, self.resource = api, resource
        self._deliver_admitted, self._report_state, self._limits = deliver, report_state, limits
        self.namespace, self.path = namespace, resource.path(namespace)
        self._page_size, self._retry_seconds = page, retry_seconds
        self.decoder = ObjectDecoder(resource, known_objects)
        self.revision = resume_from  # everything up to it was delivered; None: it has to be listed
        self._last_version = resume_from or max((each.revision for each in known_objects.values()), default=0)
        self._complete_at = resumed_at  # when everything was delivered, µs
        # Why there is a gap before the next list; "" if there is none.
        self._gap_reason = "nobody watched" if known_objects or resume_from else ""
        self._may_have_gone_back = resume_from is not None  # whether an etcd restore may have gone unnoticed
        self._unreadable_after: int | None = None  # the resourceVersion after which a line could not be read
        self._attempts = 0
        self.failures = 0  # failures of this program, not of the server
        self._failure, self._failed_at = "", 0.0  # the last of them, and when it was by time.monotonic
        self._running_failures = 0  # failures that each came soon after another
        self._state_reported = ("", "")

    def run(self, stop: threading.Event) -> None:
        """List and watch the resource until `stop` is set, and return soon after that.

        It also returns if resourceVersions went back, which it reports, and if `deliver` raises Stopped.
        """
        while not stop.is_set():
            try:
                if self.revision is None:
                    self._list(stop)
                self._watch(stop)
            except Stopped:
                return
            except RevisionsWentBack as error:
                self._set_state("restored", str(error))
                return
            except Gone:
                self._begin_gap("the server no longer knew what had changed")
                stop.wait(self._backoff())
            except Silent:
                self._may_have_gone_back = True
            except (Forbidden, Missing) as error:
                self._set_state("forbidden" if isinstance(error, Forbidden) else "missing", str(error))
                stop.wait(self._retry_seconds * random.uniform(0.8, 1.2))
            except (ApiError, Malformed) as error:
                self._may_have_gone_back = True
                wait = self._backoff()
                if self._attempts > 1 or isinstance(error, RequestRefused):
                    self._set_state("failing", str(error))
                stop.wait(max(wait, min(getattr(error, "retry_after", None) or 0, _RETRY_AFTER_LIMIT)))
            except Exception as error:  # an error of this program must not end the watch unnoticed
                logger.exception("the watch of %s failed, and is restarted", self.resource.name)
                self._set_state("failing", self._failed(error))
                self._begin_gap("the watch failed within Causeline")  # what it was about to deliver may be lost
                stop.wait(
                    min(_RETRY_AFTER_LIMIT, _FIRST_PAUSE * 2 ** min(self._running_failures, 10))
                    * random.uniform(0.5, 1)
                )

    def _backoff(self) -> float:
        """Return the seconds before the next attempt, which grow with each failure."""
        longest: float = min(_LONGEST_PAUSE, _FIRST_PAUSE * 2 ** min(self._attempts, 10))
        self._attempts += 1
        return longest * random.uniform(0.5, 1)

    def _failed(self, error: Exception) -> str:
        """Count a failure of this program, and return what is reported of it."""
        now = time.monotonic()
        lately = self.failures and now - self._failed_at < _FAILURE_WINDOW
        self._running_failures = self._running_failures + 1 if lately else 0
        self._failed_at = now
        self.failures += 1
        self._failure = type(error).__name__
        return self._problems()

    def _set_state(self, state: str, error: str = "") -> None:
        if (state, error) != self._state_reported:
            self._state_reported = state, error
            self._report_state(self.resource, state, error)

    def _begin_gap(self, why: str) -> None:
        """Forget the resourceVersion to resume from: what was delivered stays, and a gap separates what follows."""
        if self.revision is not None:
            self._last_version, self.revision = max(self._last_version, self.revision), None
            self._gap_reason = why

    def _deliver(self, observations: list[Observation]) -> None:
        """Deliver what the gate admits, and count what it does not."""
        self._deliver_admitted(admit(observations, self._limits).used(self.decoder.refuse))

    # Listing

    def _list(self, stop: threading.Event) -> None:
        """List all objects, and deliver them and what is gone."""
        self._set_state("listing")
        for _ in range(_LIST_ATTEMPTS):
            while not self._api.lists.acquire(timeout=_LOCK_SECONDS):
                if stop.is_set():
                    raise Stopped
            try:
                return self._list_once(stop)
            except Gone:  # its pages were requested too slowly
                continue
            finally:
                self._api.lists.release()
        raise ApiError("The list took so long that the server repeatedly expired it.")

    def _list_once(self, stop: threading.Event) -> None:
        page = self._page_of("")
        began = self._api.now()
        revision, since = page.revision, self._complete_at or began
        self._check_version(revision)
        if self._gap_reason:
            where = f" in {self.namespace}" if self.namespace else ""
            reason = f"{self.resource.kind}{where}: {self._gap_reason}, so what changed in between is not known."
            gap = self._mark(
                MarkType.GAP, began, revision, since=since, since_revision=self._last_version or None, reason=reason
            )
            self._deliver([gap])
        seen: set[str] = set()
        for _ in range(PAGES):
            entries = self._entries(page, seen)
            if stop.is_set():
                raise Stopped
            if not page.continue_token:
                break
            self._deliver(entries)
            page = self._page_of(page.continue_token)
        else:
            raise Malformed("The list does not end.")
        gone = self.decoder.vanished(seen, since, began)
        self._deliver([*entries, *gone, self._mark(MarkType.LISTED, began, revision)])
        self.revision, self._complete_at, self._gap_reason, self._may_have_gone_back = revision, began, "", False

    def _page_of(self, continue_token: str) -> ListPage:
        query: dict[str, Any] = {"continue": continue_token} if continue_token else {}
        if self.resource.metadata_only:
            query["accept"] = METADATA_LIST
        while True:
            try:
                return page_of(self._api.get(self.path, limit=self._page_size, most=PAGE_BYTES, **query))
            except TooLarge:
                if self._page_size == 1:
                    raise
                self._page_size = max(1, self._page_size // _PAGE_DIVISOR)

    def _entries(self, page: ListPage, seen: set[str]) -> list[Observation]:
        """Return the entries of a page. Raise RevisionsWentBack if an object is older than before."""
        arrived = self._api.now()
        entries: list[Observation] = []
        for item in page.items:
            entry = self.decoder.listed(item, arrived)
            if entry is None:
                if not (key := key_in(item)):
                    raise Malformed("The list has an object without a name, so it does not show what is gone.")
                seen.add(key)  # it exists, although it cannot be used
            else:
                entries.append(entry)
                seen.add(key := key_of(entry))
                if (entry.resource_version or 0) < (before := self.decoder.live_objects[key].revision):
                    name = f"{entry.ref.kind} {admit_text(entry.ref.name)}"
                    raise RevisionsWentBack(
                        f"{name} has revision {entry.resource_version}, and had {before} before: the cluster's etcd"
                        " was restored."
                    )
        return entries

    def _check_version(self, revision: int) -> None:
        """Raise RevisionsWentBack if a list has a lower resourceVersion than what was delivered before."""
        if revision < (known := max(self._last_version, self.revision or 0)):
            raise RevisionsWentBack(
                f"The list of {self.resource.name} is of revision {revision}, and {known} was seen before: the"
                " cluster's etcd was restored."
            )

    # Watching

    def _watch(self, stop: threading.Event) -> None:
        """Deliver changes until the server ends the watch."""
        if self._may_have_gone_back:  # a restored server would stay silent until its resourceVersions are as high again
            self._check_version(page_of(self._api.get(self.path, limit=1)).revision)
            self._may_have_gone_back = False
        accept = {"accept": _METADATA} if self.resource.metadata_only else {}
        stream = self._api.stream(
            self.path,
            stop,
            watch="true",
            allowWatchBookmarks="true",
            resourceVersion=self.revision,
            timeoutSeconds=random.randint(*_WATCH_SECONDS),
            **accept,
        )
        self._set_state("watching", self._problems())
        with stream:
            opened = stream.arrived
            try:
                for lines in stream.lines():
                    self._handle_lines(lines, stream)
            finally:
                lasted = time.monotonic() - opened
                self._attempts = 0 if lasted > _LONGEST_PAUSE else self._attempts
        if lasted < _FIRST_PAUSE:
            stop.wait(self._backoff())

    def _handle_lines(self, lines: list[bytes], stream: Stream) -> None:
        arrived = self._api.clock.at(stream.arrived)
        observations: list[Observation] = []
        failure: ApiError | Malformed | None = None
        before = self.decoder.unusable
        for line in lines:
            if not line:
                continue
            try:
                event = self.decoder.event(line, arrived, self.revision or 0)
            except Malformed as error:
                failure = error
                break
            if isinstance(event, RequestRefused):
                failure = event
                break
            if isinstance(event, Entry):
                observations.append(event)
                self._advance(event.resource_version)
            elif isinstance(event, Bookmark) and event.revision >= (self.revision or 0):
                self._advance(event.revision)
                observations.append(self._mark(MarkType.BOOKMARK, arrived, event.revision))
        if observations:
            self._complete_at, self._attempts = arrived, 0
            self._deliver(observations)
        if self.decoder.unusable.bit_length() != before.bit_length():  # report it at 1, 2, 4, 8, … of them
            self._set_state("watching", self._problems())
        if isinstance(failure, Malformed):
            self._unreadable()
        if failure:
            raise failure

    def _advance(self, revision: int | None) -> None:
        if revision is not None and revision > (self.revision or 0):
            self.revision = revision
        elif revision != self.revision:
            self._may_have_gone_back = True  # most likely it was delivered twice

    def _unreadable(self) -> None:
        """Begin a gap if a line could not be read twice in a row; at first the watch is only repeated."""
        if self._unreadable_after == self.revision:
            self._begin_gap("a line of the watch could not be read")
        self._unreadable_after = self.revision

    def _problems(self) -> str:
        """Return what is wrong although the watch continues."""
        sentences = []
        if count := self.failures:
            times = "once" if count == 1 else f"{count} times"
            sentences.append(f"The watch failed within Causeline {times} and was begun anew ({self._failure}).")
        if count := self.decoder.unusable:
            what = "object" if count == 1 else "objects"
            sentences.append(f"{count} {what} could not be used. The last one: {self.decoder.why}.")
        return " ".join(sentences)

    def _mark(self, what: MarkType, time: int, revision: int, **more: object) -> Mark:
        kind = self.resource
        more["namespace"] = self.namespace
        return Mark(kind.group, kind.version, kind.kind, what, time, revision, **more)  # type: ignore[arg-type]
