"""How long a test waits for something, and what it measures of a processor that others use, too."""

import gc
import os
import time
from collections.abc import Callable


def patient(seconds: float) -> float:
    """So many seconds on a quiet machine, and more on one where processes wait for the processors."""
    return seconds * max(1.0, os.getloadavg()[0] / (os.cpu_count() or 1))


def eventually(happens: Callable[[], bool], seconds: float = 15) -> None:
    """Wait until it happens, but no longer than so many seconds of a quiet machine."""
    most = patient(seconds)
    deadline = time.monotonic() + most
    while not happens():
        assert time.monotonic() < deadline, f"did not happen within {most:.1f} s"
        time.sleep(0.05)


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
