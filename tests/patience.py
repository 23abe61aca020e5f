"""How long a test waits for something, and what it measures of a processor that others use, too."""

import gc
import os
import time
from collections.abc import Callable
from pathlib import Path

_LOADS = Path("/proc/loadavg")  # of Linux: also how many processes want a processor now


def patient(seconds: float) -> float:
    """So many seconds on a quiet machine, and more on one where processes wait for the processors."""
    waiting = os.getloadavg()[0]  # which follows a rising load by a minute
    if _LOADS.exists():
        waiting = max(waiting, int(_LOADS.read_text().split()[3].partition("/")[0]))
    return seconds * max(1.0, waiting / (os.cpu_count() or 1))


def eventually(happens: Callable[[], object], seconds: float = 15, every: float = 0.05) -> None:
    """Wait until it happens, but no longer than so many seconds of a quiet machine."""
    began, most = time.monotonic(), patient(seconds)
    while not happens():
        most = max(most, patient(seconds))  # others may have begun to work meanwhile
        assert time.monotonic() < began + most, f"did not happen within {most:.1f} s"
        time.sleep(every)


def processor_seconds(act: Callable[[], object]) -> float:
    """What this thread needs of a processor to do it, without a collection of all the garbage of other tests."""
    gc.collect()
    gc.disable()
    try:
        began = time.thread_time()
        act()
        return time.thread_time() - began
    finally:
        gc.enable()
