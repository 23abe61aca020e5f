"""A recording as lines: decompressed by content, counted, bounded. Knows nothing of what the lines say."""

import zlib
from collections.abc import Callable, Iterator
from itertools import chain
from pathlib import Path
from typing import NamedTuple, Protocol

import zstandard

HEAD_BYTES = 64 * 1024
LINE_BYTES = 64 * 1024 * 1024  # longer than the largest object the API accepts, by far
_CHUNK = 1024 * 1024
_STEP = 1024  # compressed bytes at a time: zstd makes 32 MiB of them at most, so no file fills the memory
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


class NotARecording(Exception):
    """The file cannot be understood at all. The message says what to do."""


class Skipped(NamedTuple):
    """A piece of a recording that could not be used."""

    file: str
    line: int  # 0 where the loss is not of one line
    reason: str

    def __str__(self) -> str:
        return f"{self.file} line {self.line}: {self.reason}" if self.line else f"{self.file}: {self.reason}"


class Line(NamedTuple):
    file: str
    number: int  # 1 is the first
    data: bytes


class _Decoder(Protocol):
    def decompress(self, data: bytes, /) -> bytes: ...
    @property
    def eof(self) -> bool: ...
    @property
    def unused_data(self) -> bytes: ...


class Recording:
    """One file that is read once, front to back. `bytes_read` counts what has been taken from the disk."""

    def __init__(self, path: Path, name: str, line_bytes: int = LINE_BYTES) -> None:
        self.name = name
        self.bytes_total = path.stat().st_size
        self.bytes_read = 0
        self._line_bytes = line_bytes
        self._lost = ""
        self._file = path.open("rb")
        self._chunks = self._content()
        self._first = b""

    def close(self) -> None:
        self._file.close()

    def head(self) -> bytes:
        """The first bytes, decompressed."""
        while len(self._first) < HEAD_BYTES and (chunk := next(self._chunks, b"")):
            self._first += chunk
        if not self._first:
            self.close()
            raise NotARecording(
                f"{self.name} cannot be read: {self._lost}." if self._lost else f"{self.name} is empty."
            )
        return self._first[:HEAD_BYTES].removeprefix(_BYTE_ORDER_MARK)

    def lines(self) -> Iterator[Line | Skipped]:
        """Every line that is not blank; what is lost of a damaged file is said at its end."""
        first, self._first = self._first.removeprefix(_BYTE_ORDER_MARK), b""
        held, length, number = bytearray(), 0, 0  # of the line that has begun; one too long is counted, not held
        try:
            for chunk in chain([first], self._chunks):
                *ends, begun = chunk.split(b"\n")
                for end in ends:
                    number += 1
                    yield from self._line(number, bytes(held) + end if held else end, length + len(end))
                    held.clear()
                    length = 0
                length += len(begun)
                if length <= self._line_bytes:
                    held += begun
                else:
                    held.clear()
            yield from self._line(number + 1, bytes(held), length)
            if self._lost:
                yield Skipped(self.name, 0, f"{self._lost}; it could be read up to line {number}")
        finally:
            self.close()

    def _line(self, number: int, data: bytes, length: int) -> Iterator[Line | Skipped]:
        if length > self._line_bytes:
            limit = f"longer than {self._line_bytes} bytes; CAUSELINE_LINE_LIMIT_BYTES raises the limit"
            yield Skipped(self.name, number, limit)
        elif data and not data.isspace():
            yield Line(self.name, number, data)

    def _content(self) -> Iterator[bytes]:
        """Pieces of the content. gzip and zstd are known by their first bytes; several frames may follow each other."""
        chunk = self._read()
        new = _decompression(chunk)
        if new is None:
            while chunk:
                yield chunk
                chunk = self._read()
            return
        decoder, at = new(), 0
        while chunk:
            step = chunk[at : at + _STEP]
            try:
                content = decoder.decompress(step)
            except (zlib.error, zstandard.ZstdError) as error:
                place = self.bytes_read - len(chunk) + at
                self._lost = f"the compressed data is damaged near byte {place}: {error}"
                return
            if content:
                yield content
            at += len(step) - len(decoder.unused_data)
            if at == len(chunk):
                chunk, at = self._read(), 0
            if chunk and decoder.eof:
                decoder = new()
        if not decoder.eof:
            self._lost = f"the compressed data ends too early, at byte {self.bytes_read}: the file was cut"

    def _read(self) -> bytes:
        data = self._file.read(_CHUNK)
        self.bytes_read += len(data)
        return data


def _decompression(head: bytes) -> Callable[[], _Decoder] | None:
    if head.startswith(b"\x1f\x8b"):
        return lambda: zlib.decompressobj(wbits=31)
    if head.startswith(b"\x28\xb5\x2f\xfd") or head[1:4] == b"\x2a\x4d\x18":  # pzstd begins with a skippable frame
        return lambda: zstandard.ZstdDecompressor().decompressobj()
    return None
