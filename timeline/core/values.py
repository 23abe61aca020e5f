"""This pure module bounds how much a text from outside may hold before anything decodes it.

A decoder makes up to a hundred bytes of memory of two bytes of text, such as `0,` or `{}`.
"""

import msgspec

BYTES = 16 * 1024**2  # of one object; etcd keeps 1.5 MiB, unless it is told to keep somewhat more
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
