"""Keep one copy in memory of values that many objects have. It does no I/O."""

from collections.abc import Hashable
from functools import lru_cache
from typing import Any, TypeVar, cast

import msgspec
from msgspec.structs import astuple

T = TypeVar("T", bound=Hashable)
_MOST = 20_000  # values that are remembered
_MOST_TEXTS = 8_000  # texts of values that are remembered
_MOST_TUPLES = 2_000  # tuples of texts that are remembered
_MOST_ITEMS = 16  # items of such a tuple
_LONGEST = 256  # characters of a text that is remembered; whoever can write objects chooses how long texts are


@lru_cache(_MOST, typed=True)
def shared(value: T) -> T:
    """Return a value of the same type that equals this one: the one that was passed first, if it is remembered. It must
    be immutable. Many objects so keep one value in memory, and not one each."""
    return value


class SharedTexts:
    """Let values that were decoded from JSON share the texts that they have in common: most texts in the facts of a Pod
    are also those of other Pods."""

    def __init__(self) -> None:
        self._texts: dict[str, str] = {}
        self._tuples: dict[tuple[type, type, Any], Any] = {}  # by type, type of the first item, and value

    def text(self, text: str) -> str:
        """Return an equal text: the one that was passed first, if it is remembered."""
        return self._texts.get(text) or self._new(text)

    def of(self, value: T) -> T:
        """Return an equal value of the same type with shared texts. It may be a struct or a tuple of such values."""
        return cast("T", self._of(value))

    def _new(self, text: str) -> str:
        if not text or len(text) > _LONGEST:
            return text
        if len(self._texts) >= _MOST_TEXTS:
            self._texts.clear()
        return self._texts.setdefault(text, text)

    def _of(self, value: Any) -> Any:
        if isinstance(value, str):
            return self.text(value) if type(value) is str else value
        if isinstance(value, msgspec.Struct):
            known = self._texts.get
            items = [
                (known(each) or self._of(each)) if type(each) is str else self._of(each) for each in astuple(value)
            ]
            return type(value)(*items)
        return self._of_tuple(value) if value and isinstance(value, tuple) else value

    def _of_tuple(self, value: tuple[Any, ...]) -> Any:
        key = type(value), type(value[0]), value
        if (known := self._tuples.get(key)) is not None:
            return known
        items = map(self._of, value)
        result = type(value)(*items) if hasattr(value, "_fields") else tuple(items)
        # Others than texts may be equal and have other types, as 1 and True.
        if len(value) <= _MOST_ITEMS and _has_texts_only(value):
            if len(self._tuples) >= _MOST_TUPLES:
                self._tuples.clear()
            self._tuples[type(value), type(value[0]), result] = result
        return result


def _has_texts_only(value: tuple[Any, ...]) -> bool:
    return all(
        each is None
        or (type(each) is str and len(each) <= _LONGEST)
        or (isinstance(each, tuple) and _has_texts_only(each))
        for each in value
    )
