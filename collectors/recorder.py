"""A cluster is recorded into one file, with no server and no database: all watches, and how far each can be trusted."""

import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor

from collectors.watch.api import Api
from collectors.watch.calibration import calibrate
from collectors.watch.closing import complete
from collectors.watch.failures import ApiError
from collectors.watch.output import RecordingFile
from collectors.watch.reflector import Reflector
from collectors.watch.resources import Missing, Resource, appeared, resources
from collectors.watch.stream import Stopped
from timeline.entries import Mark, Observation, Told
from timeline.kinds import qualified
from timeline.streams import PASSES

_FLUSH = 1.0  # seconds
_LOOK = 30.0  # seconds between two looks for resources that appeared
_CALIBRATE = 60.0  # seconds between two rounds, once there were enough
_CLOSING = 4.0  # seconds in which the watches may still tell what happened up to the end
_SETTLE = 0.3  # seconds that a watch may be behind a list
_AT_ONCE = 8  # requests


class Recorder:
    """One recording. What it counts may be read while it runs."""

    def __init__(
        self,
        api: Api,
        output: RecordingFile,
        *,
        include: Sequence[str] = (),
        exclude: Sequence[str] = (),
        namespace: str = "",
        closing: float = _CLOSING,
    ) -> None:
        self._api, self._output = api, output
        self._include, self._exclude, self._namespace = include, exclude, namespace
        self._closing = closing
        self._halt = threading.Event()
        self._lock = threading.Lock()
        self._reflectors: list[Reflector] = []
        self._threads: list[threading.Thread] = []
        self._compared: Counter[tuple[str, str]] = Counter()  # how often the revisions of each kind were
        self.began = time.monotonic()
        self.entries: Counter[str] = Counter()  # by kind
        self.marks = 0
        self.gaps: list[Mark] = []
        self.missing: list[Missing] = []
        self.states: dict[Resource, tuple[str, str]] = {}  # of each resource, and why
        self.ended = ""  # why it ended by itself, a sentence
        self.whole: set[Resource] = set()  # of which all up to the end was told

    def run(self, stop: threading.Event, report: Callable[["Recorder"], None] = lambda recorder: None) -> None:
        """Record until `stop` is set, or it has to end: see `ended`. Raises ApiError where it cannot begin."""
        try:
            found, self.missing = resources(self._api, self._include, self._exclude)
            self._follow(found)
            self._start(self._calibrate, "calibration")
            looked = time.monotonic()
            while not (stop.wait(_FLUSH) or self._halt.is_set()):
                self._flush()
                report(self)
                if time.monotonic() - looked > _LOOK:
                    self._look()
                    looked = time.monotonic()
            if not self._halt.is_set():
                self._close()
        finally:
            self._halt.set()
            for thread in self._threads:
                thread.join(2 * _FLUSH)
            self._finish()

    @property
    def resources(self) -> list[Resource]:
        return [each.resource for each in self._reflectors]

    def _follow(self, found: Sequence[Resource]) -> None:
        for resource in found:
            namespace = self._namespace if resource.namespaced else ""
            reflector = Reflector(
                self._api, resource, self._take, standing={}, resume=None, tell=self._told, namespace=namespace
            )
            self._reflectors.append(reflector)
            self._start(lambda reflector=reflector: reflector.run(self._halt), resource.name)  # type: ignore[misc]

    def _start(self, work: Callable[[], None], name: str) -> None:
        thread = threading.Thread(target=work, name=name, daemon=True)
        self._threads.append(thread)
        thread.start()

    def _take(self, observations: list[Observation]) -> None:
        """Raises Stopped, which ends the stream that tells it, where the file takes no more."""
        if not self._end_on_error(lambda: self._output.write(observations)):
            raise Stopped
        with self._lock:
            for each in observations:
                if isinstance(each, Mark):
                    self.marks += 1
                    if each.what is Told.GAP:
                        self.gaps.append(each)
                else:
                    self.entries[qualified(each.ref.group, each.ref.kind)] += 1

    def _told(self, resource: Resource, state: str, why: str) -> None:
        self.states[resource] = state, why
        if state == "restored":
            self._end(f"{why} What comes next is another history: record it into another file.")

    def _end(self, why: str) -> None:
        self.ended = self.ended or why
        self._halt.set()

    def _end_on_error(self, act: Callable[[], None]) -> bool:
        """Whether it could be done; a disk that is full ends the recording."""
        try:
            act()
        except OSError as error:
            self._end(f"The file cannot be written: {error.strerror or error}.")
            return False
        return True

    def _flush(self) -> None:
        self._end_on_error(self._output.flush)

    def _finish(self) -> None:
        self._end_on_error(self._output.close)

    def _look(self) -> None:
        """For resources that were not there before."""
        try:
            found, self.missing = resources(self._api, self._include, self._exclude)
        except ApiError:
            return  # the watches tell that the server is away
        self._follow(appeared(self.resources, found))

    def _calibrate(self) -> None:
        try:
            while not self._halt.is_set():
                self._compare()
                self._halt.wait(_CALIBRATE if self._sure else _FLUSH)
        except Stopped:
            return

    @property
    def _watching(self) -> list[Reflector]:
        return [each for each in self._reflectors if self.states.get(each.resource, ("",))[0] == "watching"]

    @property
    def _sure(self) -> bool:
        """Whether every kind that is watched was compared often enough."""
        return all(self._compared[each.resource.group_kind] >= PASSES for each in self._watching)

    def _compare(self) -> None:
        """One round of calibration."""
        marks: list[Observation] = list(calibrate(self._api, self.resources, self._namespace))
        self._take(marks)
        self._compared.update((mark.group, mark.kind) for mark in marks if isinstance(mark, Mark))

    def _close(self) -> None:
        """Wait until the watches have told all that happened up to the end, as far as they do in time."""
        ends = time.monotonic() + self._closing
        while not self._sure and time.monotonic() < ends and not self._halt.is_set():
            self._compare()
        waiting = self._watching
        with ThreadPoolExecutor(_AT_ONCE) as pool:
            while waiting and time.monotonic() < ends and not self._halt.is_set():
                marks = list(pool.map(lambda each: complete(self._api, each), waiting))
                self._halt.wait(_SETTLE)
                with_marks = list(zip(waiting, marks, strict=True))
                self._take([mark for mark in marks if mark])
                self.whole |= {each.resource for each, mark in with_marks if mark}
                waiting = [each for each, mark in with_marks if not mark]
