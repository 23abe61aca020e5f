"""These functions run in the processes that read what strangers send, which know no Django."""

import os
from collections.abc import Iterator

from collectors import readers, redaction


def joined(pieces: Iterator[bytes], more: bytes) -> bytes:
    return b"".join(pieces) + more


def first(pieces: Iterator[bytes]) -> bytes:
    return next(pieces)


def process(pieces: Iterator[bytes]) -> int:
    return os.getpid()


def patterns(pieces: Iterator[bytes]) -> int:
    return len(redaction.current().patterns)


def refuse(pieces: Iterator[bytes]) -> None:
    raise ValueError("no")


def fill(pieces: Iterator[bytes]) -> int:
    return len(bytes(2 * readers.MEMORY))


def spin(pieces: Iterator[bytes]) -> None:
    while True:
        pass
