"""Limit how much freed memory a process keeps for itself. Only the C library of GNU can be asked to; others decide for
themselves."""

import ctypes
from typing import Any

_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3  # parameters of `mallopt`
_KEPT = 512 * 1024  # bytes


def keep_little() -> None:
    """Give memory back whenever half a megabyte of it is free, and at once if a single object had so much.

    By default, a process that has ever freed an object of some megabytes keeps twice as much, for each of its threads.
    """
    if tell := _of_library("mallopt"):
        tell(_TRIM_THRESHOLD, _KEPT)
        tell(_MMAP_THRESHOLD, _KEPT)


def give_back() -> None:
    """Give the memory back that was freed and that this process has kept for itself."""
    if give := _of_library("malloc_trim"):
        give(0)


def _of_library(name: str) -> Any:
    return getattr(ctypes.CDLL(None), name, None)
