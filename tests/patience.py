"""This module says how long tests wait, and measures the processor time that a test takes on a shared machine."""

import gc
import os
import time
from collections.abc import Callable
from pathlib import Path

_LOADS = Path("/proc/loadavg")  # of Linux: also how many processes want a processor now


def patient(seconds: float) -> float:
    """Return these seconds on a quiet machine, and more on one where processes wait for the processors."""
    waiting = os.getloadavg()[0]  # it follows a rising load only after a minute
    if _LOADS.exists():
        waiting = max(waiting, int(_LOADS.read_text().split()[3].partition("/")[0]))
    return seconds * max(1.0, waiting / (os.cpu_count() or 1))


def eventually(happens: Callable[[], object], seconds: float = 15, every: float = 0.05) -> None:
    """Wait until the condition holds, but at most for as many seconds as on a quiet machine."""
    began, most = time.monotonic(), patient(seconds)
    while not happens():
        most = max(most, patient(seconds))  # the machine may have become busy meanwhile
        assert time.monotonic() < began + most, f"did not happen within {most:.1f} s"
        time.sleep(every)


def processor_seconds(act: Callable[[], object]) -> float:
    """Return the processor time of this thread while it runs `act`, without a garbage collection of other tests'
    objects."""
    gc.collect()
    gc.disable()
    try:
        began = time.thread_time()
        act()
        return time.thread_time() - began
    finally:
        gc.enable()
