"""Bound the processor time that the redaction of one object takes. It does no I/O.

Whoever may create an object chooses its texts. Every step takes time that grows no faster than a text, so ordinary
objects need a fraction of their time. Of an object that needs more, each text that is left is replaced whole.
"""

import threading
import time
from types import TracebackType

SECONDS = 0.4  # of the processor, for an object, or for a text that is in none
SECONDS_FOR_A_BYTE = 2e-6  # in addition
LONGEST = 2 << 20  # characters; a longer text is replaced without a search
_BETWEEN = 16_384  # characters that are searched between two looks at the clock, about
_EACH = 64  # characters that a step counts besides those that it searches
clock = time.thread_time


class OutOfTime(Exception):
    """The time of an object is over, or a text is too long to be searched."""


class _Running(threading.local):
    """How long the redaction that a thread does may take."""

    seconds = 0.0  # 0 if the thread redacts nothing
    until = 0.0  # on the clock; 0 before the first look at it
    searched = 0  # characters since the last look at it
    over = False


_running = _Running()


class Budget:
    """In this context a thread has the time for an object of some bytes, unless that is a part of a larger one."""

    __slots__ = ("_length", "_outermost")

    def __init__(self, length: int) -> None:
        self._length = length

    def __enter__(self) -> None:
        self._outermost = not _running.seconds
        if self._outermost:
            _running.seconds = SECONDS + self._length * SECONDS_FOR_A_BYTE
            _running.until, _running.searched, _running.over = 0.0, 0, False

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if self._outermost:
            _running.seconds = 0.0


def spend(characters: int = 0) -> None:
    """Count characters that are searched next. Raise OutOfTime if the time of the object is over."""
    running = _running
    running.searched += characters + _EACH
    if running.searched > _BETWEEN and running.seconds:
        running.searched = 0
        if not running.until:
            running.until = clock() + running.seconds
        running.over = running.over or clock() > running.until
    if running.over and running.seconds:
        raise OutOfTime


def is_over() -> bool:
    """Return whether the time of the object is over, so that what was made of its parts depends on it."""
    return bool(_running.seconds and _running.over)
