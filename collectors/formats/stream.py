"""A recording as lines: decompressed by content, counted, bounded. Knows nothing of what the lines say."""

import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple, Protocol

import zstandard

HEAD_BYTES = 64 * 1024
LINE_BYTES = 64 * 1024 * 1024  # longer than the largest object the API accepts, by far
_CHUNK = 1024 * 1024


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
    lost: str = ""  # why the rest of the file is lost, on the last line of a damaged one


class _Decoder(Protocol):
    def decompress(self, data: bytes, /) -> bytes: ...
    @property
    def eof(self) -> bool: ...
    @property
    def unused_data(self) -> bytes: ...


class _Plain:
    eof = False
    unused_data = b""

    def decompress(self, data: bytes, /) -> bytes:
        return data


class Recording:
    """One file that is read once, front to back. `bytes_read` counts what has been taken from the disk."""

    def __init__(self, path: Path, name: str) -> None:
        self.name = name
        self.bytes_total = path.stat().st_size
        self.bytes_read = 0
        self._lost = ""
        self._file = path.open("rb")
        self._chunks = self._decompressed()
        self._first = b""

    def close(self) -> None:
        self._file.close()

    def head(self) -> bytes:
        """The first bytes, decompressed."""
        while len(self._first) < HEAD_BYTES:
            chunk = next(self._chunks, b"")
            if not chunk:
                break
            self._first += chunk
        if not self._first:
            self.close()
            raise NotARecording(f"{self.name} is empty{': ' + self._lost if self._lost else ''}.")
        return self._first[:HEAD_BYTES]

    def lines(self) -> Iterator[Line]:
        """Every line that is not blank; the last one says what was lost if the file is damaged."""
        rest, number = b"", 0
        first, self._first = self._first, b""
        for chunk in _one_then(first, self._chunks):
            pieces = (rest + chunk if rest else chunk).split(b"\n")
            rest = pieces.pop()
            for piece in pieces:
                number += 1
                if piece and not piece.isspace():
                    yield Line(self.name, number, piece)
            if len(rest) > LINE_BYTES:
                self._lost = f"line {number + 1} is longer than {LINE_BYTES // 1024**2} MiB; nothing after it was read"
                rest = b""
                break
        if rest and not rest.isspace() and not self._lost:
            yield Line(self.name, number + 1, rest)
        elif rest and self._lost:
            self._lost += f" (the last whole line is {number})"
        if self._lost:
            yield Line(self.name, 0, b"", self._lost)
        self.close()

    def _decompressed(self) -> Iterator[bytes]:
        """Chunks of the content; gzip and zstd are recognised by their first bytes, also several frames in a row."""
        data = self._read()
        new = _decoder(data)
        decoder = new()
        while data:
            try:
                if chunk := decoder.decompress(data):
                    yield chunk
            except (zlib.error, zstandard.ZstdError) as error:
                self._lost = f"the compressed data is damaged near byte {self.bytes_read}: {error}"
                return
            if decoder.eof and (data := decoder.unused_data or self._read()):
                decoder = new()
            elif not decoder.eof:
                data = self._read()
        if not isinstance(decoder, _Plain) and not decoder.eof:
            self._lost = "the compressed file ends too early; it was cut"

    def _read(self) -> bytes:
        data = self._file.read(_CHUNK)
        self.bytes_read += len(data)
        return data


def _decoder(head: bytes) -> "type[_Plain] | _Factory":
    if head.startswith(b"\x1f\x8b"):
        return lambda: zlib.decompressobj(wbits=31)
    if head.startswith(b"\x28\xb5\x2f\xfd"):
        return lambda: zstandard.ZstdDecompressor().decompressobj()
    return _Plain


class _Factory(Protocol):
    def __call__(self) -> _Decoder: ...


def _one_then(first: bytes, rest: Iterator[bytes]) -> Iterator[bytes]:
    if first:
        yield first
    yield from rest
