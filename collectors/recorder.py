"""Record a cluster into one file without a server or a database.

The file holds what all watches delivered, and marks that say up to where each of them is complete.
"""

import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor

from collectors.gate import Limits
from collectors.watch.output import RecordingFile
from collectors.watch.server.api import Api
from collectors.watch.server.failures import ApiError
from collectors.watch.server.stream import Stopped
from collectors.watch.streams.completion import bookmark_by_list
from collectors.watch.streams.discovery import Discovery, DiscoveryResult
from collectors.watch.streams.reflector import Reflector
from collectors.watch.streams.resources import Missing, Resource, new_resources
from timeline.core.entries import Entry, Mark, MarkType, Observation
from timeline.kinds import qualified

_FLUSH = 1.0  # seconds
_COMPLETION_SECONDS = 4.0  # seconds in which the watches may still deliver what happened before the end
_BEHIND_SECONDS = 0.3  # seconds that a watch may be behind a list
_AT_ONCE = 8  # requests at a time


class Recorder:
    """Make one recording. Its counts may be read while it runs."""

    def __init__(
        self,
        api: Api,
        output: RecordingFile,
        *,
        include: Sequence[str] = (),
        exclude: Sequence[str] = (),
        namespace: str = "",
        completion_seconds: float = _COMPLETION_SECONDS,
        limits: Limits = Limits(),  # noqa: B008
    ) -> None:
        self._api, self._output = api, output
        self._namespace, self._completion_seconds, self._limits = namespace, completion_seconds, limits
        self._halt = threading.Event()
        self._lock = threading.Lock()
        self._reflectors: list[Reflector] = []
        self._threads: list[threading.Thread] = []
        self._first_discovery_done = threading.Event()  # it has found resources, or `_error` says why it failed
        self._error = ""
        self._discovery = Discovery(api, (list(include), list(exclude)), self._on_discovery, self._halt, namespace)
        self.began = time.monotonic()
        self.entries: Counter[str] = Counter()  # kind -> number of changes
        self.marks = 0
        self.gaps: list[Mark] = []
        self.missing: list[Missing] = []
        self.states: dict[Resource, tuple[str, str]] = {}  # the state of the watch of each resource, and its reason
        self.ended = ""  # a sentence that says why it ended by itself; "" if it did not
        self.complete: set[Resource] = set()  # resources whose changes were all delivered up to the end

    def run(self, stop: threading.Event, report: Callable[["Recorder"], None] = lambda recorder: None) -> None:
        """Record until `stop` is set, or until it ends by itself; then `ended` says why.

        Raise ApiError if it cannot begin.
        """
        try:
            self._discovery.start()
            while not (self._first_discovery_done.wait(_BEHIND_SECONDS) or stop.is_set()):
                pass
            if self._error:
                raise ApiError(self._error)
            while not (stop.wait(_FLUSH) or self._halt.is_set()):
                self._try_write(self._output.flush)
                report(self)
            if not self._halt.is_set():
                self._await_completion()
        finally:
            self._halt.set()
            for thread in self._threads:
                thread.join(2 * _FLUSH)
            self._try_write(self._output.close)

    @property
    def resources(self) -> list[Resource]:
        return [each.resource for each in self._reflectors]

    def _start_watching(self, found: Sequence[Resource]) -> None:
        for each in found:
            namespace = self._namespace if each.namespaced else ""
            reflector = Reflector(
                self._api,
                each,
                self._deliver,
                known_objects={},
                resume_from=None,
                report_state=self._on_state,
                namespace=namespace,
                limits=self._limits,
            )
            thread = threading.Thread(target=reflector.run, args=[self._halt], name=each.name, daemon=True)
            self._reflectors.append(reflector)
            self._threads.append(thread)
            thread.start()

    def _deliver(self, observations: list[Observation]) -> None:
        """Write observations; raise Stopped, which ends their watch, if the file cannot be written."""
        if not self._write(observations):
            raise Stopped

    def _write(self, observations: list[Observation]) -> bool:
        """Write and count observations; return whether they could be written."""
        if not self._try_write(lambda: self._output.write(observations)):
            return False
        with self._lock:
            for each in observations:
                if isinstance(each, Mark):
                    self.marks += 1
                    if each.what is MarkType.GAP:
                        self.gaps.append(each)
                elif isinstance(each, Entry):
                    self.entries[qualified(each.ref.group, each.ref.kind)] += 1
        return True

    def _on_state(self, resource: Resource, state: str, why: str) -> None:
        self.states[resource] = state, why
        if state == "restored":
            self._end(f"{why} What comes next is another history: record it into another file.")

    def _end(self, why: str) -> None:
        self.ended = self.ended or why
        self._halt.set()

    def _try_write(self, act: Callable[[], None]) -> bool:
        """Call `act` and return whether it succeeded; an OSError, such as a full disk, ends the recording."""
        try:
            act()
        except OSError as error:
            self._end(f"The file cannot be written: {error.strerror or error}.")
            return False
        return True

    def _on_discovery(self, results: Sequence[Mark | DiscoveryResult]) -> None:
        """Start to watch the resources that discovery has found, and write its marks."""
        marks: list[Observation] = []
        for each in results:
            if isinstance(each, Mark):
                marks.append(each)
                continue
            if not each.error:
                self.missing = each.missing
                self._start_watching(new_resources(self.resources, each.resources))
            elif not self._first_discovery_done.is_set():  # later the watches report that the server is away
                self._error = each.error
            self._first_discovery_done.set()
        self._write(marks)

    @property
    def _watching(self) -> list[Reflector]:
        return [each for each in self._reflectors if self.states.get(each.resource, ("",))[0] == "watching"]

    def _await_completion(self) -> None:
        """Wait until the watches have delivered all changes up to the end, or the time for that is over."""
        ends = time.monotonic() + self._completion_seconds
        while (
            self._discovery.comparison_due
            and time.monotonic() < ends - self._completion_seconds / 2
            and not self._halt.is_set()
        ):
            self._discovery.compare()
        incomplete = self._watching
        with ThreadPoolExecutor(_AT_ONCE) as pool:
            while incomplete and time.monotonic() < ends and not self._halt.is_set():
                marks = list(pool.map(lambda each: bookmark_by_list(self._api, each), incomplete))
                self._halt.wait(_BEHIND_SECONDS)
                with_marks = list(zip(incomplete, marks, strict=True))
                self._write([mark for mark in marks if mark])
                self.complete |= {each.resource for each, mark in with_marks if mark}
                incomplete = [each for each, mark in with_marks if not mark]
