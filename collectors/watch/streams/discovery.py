"""Discover at intervals which resources a cluster serves, and which share a resourceVersion counter."""

from __future__ import annotations

import random
import threading
import time
from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

from collectors.watch.server.failures import ApiError, safe_text
from collectors.watch.streams.calibration import calibrate
from collectors.watch.streams.resources import new_resources, resources
from timeline.history.streams import PASSES

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from collectors.watch.server.api import Api
    from collectors.watch.streams.resources import Missing, Resource
    from timeline.core.entries import Mark

DISCOVER_EVERY = 30  # seconds after which a new CustomResourceDefinition is found
COMPARE_EVERY = 300  # seconds, after each kind was compared often enough to be certain
COMPARE_FIRST = 2  # seconds, before that
TRIES = 10  # comparisons before that at most, since some kinds can never be listed
PAUSES = (0.5, 5.0)  # seconds to wait after a failure: at first, at most


class DiscoveryResult(NamedTuple):
    """The result of one discovery: resources, or the error that prevented it."""

    resources: list[Resource]
    missing: list[Missing]
    error: str = ""


class Discovery(threading.Thread):
    """Deliver the resources that are discovered, and the marks of comparisons, until `stop` is set."""

    def __init__(
        self,
        api: Api,
        selection: tuple[list[str], list[str]],
        deliver: Callable[[Sequence[Mark | DiscoveryResult]], None],
        stop: threading.Event,
        namespace: str = "",
    ) -> None:
        super().__init__(name="discovery", daemon=True)
        self._api, self._selection = api, selection
        self._deliver, self._stopping, self._namespace = deliver, stop, namespace
        self._found: list[Resource] = []
        self._compared: Counter[tuple[str, str]] = Counter()  # how often each kind was compared
        self._tries = 0

    def run(self) -> None:
        """Discover resources and compare them at their intervals, and deliver what fails as an error."""
        next_discovery = compare = 0.0  # when each is due, by time.monotonic
        pause, longest = PAUSES
        while not self._stopping.is_set():
            try:
                if time.monotonic() >= next_discovery:
                    if self._discover():
                        compare = self._tries = 0
                    next_discovery = time.monotonic() + DISCOVER_EVERY
                if time.monotonic() >= compare:
                    self.compare()
                    compare = time.monotonic() + (COMPARE_FIRST if self.comparison_due else COMPARE_EVERY)
                pause = PAUSES[0]
                self._stopping.wait(min(next_discovery, compare) - time.monotonic())
            except Exception as error:  # any failure of the network or of a response
                message = str(error) if isinstance(error, ApiError) else safe_text(f"{type(error).__name__}: {error}")
                self._deliver([DiscoveryResult([], [], message)])
                self._stopping.wait(pause * random.uniform(0.5, 1))
                pause = min(2 * pause, longest)

    def _discover(self) -> bool:
        """Discover and deliver the resources; return whether some are new."""
        result = DiscoveryResult(*resources(self._api, *self._selection))
        new = new_resources(self._found, result.resources)
        self._found = result.resources
        self._deliver([result])
        return bool(new)

    def compare(self) -> None:
        """Do one round of calibration, and deliver its marks."""
        marks = list(calibrate(self._api, self._found, self._namespace))
        self._compared.update((mark.group, mark.kind) for mark in marks)
        self._tries += 1
        self._deliver(marks)

    @property
    def comparison_due(self) -> bool:
        """Return whether some kind was not compared often enough to be certain, and may still be."""
        kinds = {(each.group, each.kind) for each in self._found}
        return self._tries < TRIES and any(self._compared[kind] < PASSES for kind in kinds)
