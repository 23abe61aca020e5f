"""Decode JSON from outside, and bound how much a text may hold before anything decodes it. It does no I/O.

A decoder makes up to a hundred bytes of memory of two bytes of text, such as `0,` or `{}`.
"""

import math
from typing import Any, TypeVar

import msgspec

_T = TypeVar("_T")
BYTES = 16 * 1024**2  # of one object; etcd keeps 1.5 MiB, unless it is configured to keep somewhat more
VALUES = 1_000_000  # of one object; no object with as many fits into etcd


def check_object(text: bytes | msgspec.Raw) -> None:
    """Raise ValueError if JSON is longer than any object, or may hold more values."""
    if len(text) > BYTES:
        raise ValueError(f"it has more than {BYTES} bytes, more than any object")
    if len(text) > VALUES:
        check_values(bytes(text))


def check_values(text: bytes, most: int = VALUES) -> None:
    """Raise ValueError if JSON may hold more values than `most`.

    Its commas and opening brackets are counted, also those in strings. So a text of at most so many bytes always
    passes, and for it nothing is counted.
    """
    if len(text) > most and text.count(b",") + text.count(b"[") + text.count(b"{") > most:
        raise ValueError(f"it holds more than {most} values, more than any object")


def _number(text: str) -> float:
    number = float(text)
    if math.isinf(number):
        raise ValueError("Number out of range")
    return number


def decoder(shape: type[_T]) -> msgspec.json.Decoder[_T]:
    """Return a decoder for a type that has `Any` in it.

    msgspec takes ten microseconds for some floating-point numbers, such as `1e308`: an object of 1.5 MB would hold up
    all threads for seconds. Python takes less than one.
    """
    return msgspec.json.Decoder(shape, float_hook=_number)


_anything = decoder(object)


def decoded(text: bytes | msgspec.Raw) -> Any:
    """Return what JSON says. Raise msgspec.DecodeError."""
    return _anything.decode(text)
