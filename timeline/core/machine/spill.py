"""Keep Python values in a temporary file, so that they take no memory until they are needed again.

The file has no name, so the system removes it when the process ends, whatever ends it. Only what this process has
written is read from it; a copy of the process (see `timeline/core/machine/beside.py`) can read it, too.
"""

import os
import pickle
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import zstandard

if TYPE_CHECKING:
    import io

_BUFFER = 1024**2  # bytes that are written together
_PAGE = 4096  # bytes that are read at once; most values are shorter
_LENGTH = 4  # bytes of the length before each value


class Spill:
    """Write values to a temporary file in a folder, and read them back.

    The file is made with the first value.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._file: io.FileIO | None = None  # it is read without a position, as copies of the process use it, too
        self._written = 0  # bytes
        self._waiting = bytearray()
        self._compress = zstandard.ZstdCompressor(level=1).compress
        self._decompress = zstandard.ZstdDecompressor().decompress

    def put(self, value: Any) -> int:
        """Write a value, and return its place in the file."""
        place = self._written + len(self._waiting)
        frame = self._compress(pickle.dumps(value, pickle.HIGHEST_PROTOCOL))
        self._waiting += len(frame).to_bytes(_LENGTH)
        self._waiting += frame
        if len(self._waiting) >= _BUFFER:
            self._write()
        return place

    def _write(self) -> None:
        if self._file is None:
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._file = tempfile.TemporaryFile(dir=self._folder, buffering=0)  # noqa: SIM115
        with memoryview(self._waiting) as view:
            done = 0
            while done < len(view):
                done += os.pwrite(self._file.fileno(), view[done:], self._written + done)
        self._written += done
        self._waiting.clear()

    def get(self, place: int) -> Any:
        """Return the value at a place."""
        page = self._read(place, _PAGE)
        length = int.from_bytes(page[:_LENGTH])
        frame = page[_LENGTH : _LENGTH + length]
        if len(frame) < length:
            frame = self._read(place + _LENGTH, length)
        return pickle.loads(self._decompress(frame))

    def _read(self, place: int, length: int) -> bytes:
        if place >= self._written:
            start = place - self._written
            return bytes(self._waiting[start : start + length])
        assert self._file
        read = os.pread(self._file.fileno(), length, place)
        while len(read) < length and (more := os.pread(self._file.fileno(), length - len(read), place + len(read))):
            read += more
        return read

    def close(self) -> None:
        """Give the space of the file back."""
        if self._file:
            self._file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class Spilling(NamedTuple):
    """How much of a source is kept in memory, and where the rest is."""

    spill: Spill
    entries: int  # up to so many, all entries are in memory, and as many requests

    @property
    def part(self) -> int:
        """Return how many entries are in memory if there are too many."""
        return self.entries // 4
