"""Count the processors that this process may use."""

import os
import sys


def available_processors() -> int:
    """Return how many processors this process may use."""
    return len(os.sched_getaffinity(0)) if sys.platform == "linux" else 1
