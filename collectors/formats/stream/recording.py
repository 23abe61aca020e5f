"""This module has the recording: one named stream of bytes, read as lines or as pieces."""

from collections.abc import Iterator
from typing import NamedTuple

import msgspec

from collectors.formats.stream.byte_stream import ByteStream
from collectors.formats.stream.limits import Limits, Unreadable, too_long

HEAD_BYTES = 64 * 1024
_SPACE = 32  # white space and NUL are not above it
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


class NotARecording(Exception):
    """The input cannot be understood at all. The message says what to do."""


class Skipped(NamedTuple):
    """A piece of a recording that could not be used."""

    file: str
    line: int  # 0 where the loss is not of one line
    reason: str

    def __str__(self) -> str:
        return f"{self.file} line {self.line}: {self.reason}" if self.line else f"{self.file}: {self.reason}"


class Line(msgspec.Struct, frozen=True, gc=False):
    file: str
    number: int  # 1 is the first
    data: bytes


class Block(msgspec.Struct, frozen=True, gc=False):
    """Lines that follow each other, without their ends. Of one that is too long, at least a byte more than may be."""

    file: str
    number: int  # of the first line
    data: list[bytes]

    def lines(self, limits: Limits) -> Iterator[Line | Skipped]:
        """Those that are not blank."""
        file, limit = self.file, limits.line_bytes
        for number, data in enumerate(self.data, self.number):
            if data and data[0] > _SPACE and len(data) <= limit:
                yield Line(file, number, data)
            elif len(data) > limit:
                yield Skipped(file, number, too_long(limit))
            else:
                if data.startswith(b"\0"):
                    yield Skipped(file, number, "NUL bytes stand where text was, as a crash leaves them")
                    data = data.lstrip(b"\0")
                if data and not data.isspace():
                    yield Line(file, number, data)


class Recording:
    """What one file holds, unpacked; it is read once, front to back, as lines or as pieces.

    `name` is how the person knows it; for a member of an archive, `dump.tar.zst/default/pods.json`. `lost` says why it
    could not be read to its end; whoever opened the recording tells it, so that no format has to. `processes` is how
    many may read it at a time.
    """

    def __init__(self, name: str, content: ByteStream, limits: Limits) -> None:
        self.name = name
        self.limits = limits
        self.error = ""
        self.processes = 1
        self._content = content
        self._lines = 0
        head = content.head(HEAD_BYTES)
        if text := head.lstrip(b"\0"):  # a log that was emptied while it was written begins with a hole
            content.read(len(head) - len(text.removeprefix(_BYTE_ORDER_MARK)))

    def head(self) -> bytes:
        """The first bytes, to know the format by. None where nothing could be read."""
        return self._content.head(HEAD_BYTES)

    def chunks(self) -> Iterator[bytes]:
        """The content in pieces, for formats that are not lines."""
        try:
            while piece := self._content.read_some():
                yield piece
        except Unreadable as error:
            self.error = str(error)

    def lines(self) -> Iterator[Line | Skipped]:
        """Every line that is not blank."""
        for block in self.blocks():
            yield from block.lines(self.limits)

    def blocks(self) -> Iterator[Block]:
        """All lines, some at a time. One that is too long is not held."""
        limit = self.limits.line_bytes + 1
        line_parts, length = [b""], 0  # of the line that has begun
        for chunk in self.chunks():
            lines = chunk.split(b"\n")
            unfinished = lines.pop()
            if lines:
                lines[0] = b"".join((*line_parts, lines[0][: max(0, limit - length)]))
                yield Block(self.name, self._lines + 1, lines)
                self._lines += len(lines)
                line_parts, length = [], 0
            line_parts.append(unfinished[: max(0, limit - length)])
            length += len(unfinished)
        if length:
            yield Block(self.name, self._lines + 1, [b"".join(line_parts)])

    def why_empty(self) -> str:
        """Why a recording without a head has none."""
        for _ in self.chunks():
            pass
        return f"cannot be read: {self.error}" if self.error else "is empty"

    def report_error(self) -> Iterator[Skipped]:
        """What could not be read of it, once it was."""
        if self.error:
            until = f"; it could be read up to line {self._lines}" if self._lines else ""
            yield Skipped(self.name, 0, self.error + until)
