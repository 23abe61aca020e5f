"""This module discovers again and again which resources a cluster serves, and which of them share a counter."""

from __future__ import annotations

import random
import threading
import time
from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

from collectors.watch.calibration import calibrate
from collectors.watch.failures import ApiError, safe_text
from collectors.watch.resources import new_resources, resources
from timeline.history.streams import PASSES

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from collectors.watch.api import Api
    from collectors.watch.resources import Missing, Resource
    from timeline.core.entries import Mark

LOOK_EVERY = 30  # seconds: by then a CustomResourceDefinition that came is found
COMPARE_EVERY = 300  # seconds, once each kind was compared as often as it takes to be sure
COMPARE_FIRST = 2  # seconds, until then
TRIES = 10  # at most, until then: some may never be listed
PAUSES = (0.5, 5.0)  # seconds after a look that failed: the first, the longest


class DiscoveryResult(NamedTuple):
    """What one look has shown: resources, or why they cannot be told."""

    resources: list[Resource]
    missing: list[Missing]
    error: str = ""


class Discovery(threading.Thread):
    """Delivers what it sees, and what comparing gave, until `over` is set."""

    def __init__(
        self,
        api: Api,
        selection: tuple[list[str], list[str]],
        deliver: Callable[[Sequence[Mark | DiscoveryResult]], None],
        stop: threading.Event,
        namespace: str = "",
    ) -> None:
        super().__init__(name="scout", daemon=True)
        self._api, self._selection = api, selection
        self._deliver, self._stopping, self._namespace = deliver, stop, namespace
        self._found: list[Resource] = []
        self._compared: Counter[tuple[str, str]] = Counter()  # how often each kind was
        self._tries = 0

    def run(self) -> None:
        next_look = compare = 0.0  # when each is due
        pause, longest = PAUSES
        while not self._stopping.is_set():
            try:
                if time.monotonic() >= next_look:
                    if self._discover():
                        compare = self._tries = 0
                    next_look = time.monotonic() + LOOK_EVERY
                if time.monotonic() >= compare:
                    self.compare()
                    compare = time.monotonic() + (COMPARE_FIRST if self.comparison_due else COMPARE_EVERY)
                pause = PAUSES[0]
                self._stopping.wait(min(next_look, compare) - time.monotonic())
            except Exception as error:  # whatever the network does, or an answer says
                message = str(error) if isinstance(error, ApiError) else safe_text(f"{type(error).__name__}: {error}")
                self._deliver([DiscoveryResult([], [], message)])
                self._stopping.wait(pause * random.uniform(0.5, 1))
                pause = min(2 * pause, longest)

    def _discover(self) -> bool:
        """Whether there are some that were not there before."""
        result = DiscoveryResult(*resources(self._api, *self._selection))
        new = new_resources(self._found, result.resources)
        self._found = result.resources
        self._deliver([result])
        return bool(new)

    def compare(self) -> None:
        """One round of calibration."""
        marks = list(calibrate(self._api, self._found, self._namespace))
        self._compared.update((mark.group, mark.kind) for mark in marks)
        self._tries += 1
        self._deliver(marks)

    @property
    def comparison_due(self) -> bool:
        """Whether some kind was not compared as often as it takes, and may yet be."""
        kinds = {(each.group, each.kind) for each in self._found}
        return self._tries < TRIES and any(self._compared[kind] < PASSES for kind in kinds)
