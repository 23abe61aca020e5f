"""This module keeps one copy in memory of values that many objects have. It is pure."""

from collections.abc import Hashable
from functools import lru_cache
from typing import TypeVar

T = TypeVar("T", bound=Hashable)
_MOST = 20_000  # values that are remembered


@lru_cache(_MOST, typed=True)
def shared(value: T) -> T:
    """Return a value of the same type that equals this one: the one that was passed first, if it is remembered. It must
    be immutable. Many objects so keep one value in memory, and not one each."""
    return value
