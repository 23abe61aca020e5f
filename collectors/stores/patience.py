"""Repeat a step that a service could not answer, later and later, and end when somebody stops it."""

import random
import threading
from collections.abc import Callable
from typing import TypeVar

from collectors.stores.kinds import StoreRefused, Transient

FIRST, LONGEST = 1.0, 60.0  # seconds before the first repetition at most, and before any
ASKED = 600.0  # the most seconds that a service can ask to wait
TRIES = 12  # of one step; with these waits it is given up after five to ten minutes
Result = TypeVar("Result")


class Stopped(Exception):
    """A pull was stopped on purpose. What it has written stays."""


def patiently(step: Callable[[], Result], stop: threading.Event, report: Callable[[str], None] | None = None) -> Result:
    """Return the result of a step, which is repeated while it raises Transient.

    Each wait is a random part of a time that doubles, so that many clients do not come back together, but never less
    than the service asked for. Raise Stopped, and Refused if the step has failed too often.
    """
    for attempt in range(1, TRIES + 1):
        if stop.is_set():
            raise Stopped
        try:
            return step()
        except Transient as error:
            if attempt == TRIES:
                raise StoreRefused(f"It was tried {TRIES} times. {error}") from error
            wait = random.uniform(0, min(LONGEST, FIRST * 2 ** (attempt - 1)))
            wait = max(wait, min(error.after, ASKED))
            if report:
                report(f"{error} Trying again in {wait:.0f} s.")
            if stop.wait(wait):
                raise Stopped from None
    raise AssertionError
