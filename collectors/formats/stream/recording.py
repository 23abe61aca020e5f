"""A recording: one named stream of bytes, as lines or as it comes."""

from collections.abc import Iterator
from typing import NamedTuple

import msgspec

from collectors.formats.stream.content import Content
from collectors.formats.stream.intake import Limits, Lost

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


class Recording:
    """What one file holds, unpacked; it is read once, front to back, as lines or as pieces.

    `name` is how the person knows it; for a member of an archive, `dump.tar.zst/default/pods.json`. `lost` says why it
    could not be read to its end; whoever opened the recording tells it, so that no format has to.
    """

    def __init__(self, name: str, content: Content, limits: Limits) -> None:
        self.name = name
        self.limits = limits
        self.lost = ""
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
            while piece := self._content.some():
                yield piece
        except Lost as lost:
            self.lost = str(lost)

    def lines(self) -> Iterator[Line | Skipped]:
        """Every line that is not blank. One that is too long is counted, not held."""
        limit = self.limits.line_bytes
        held, length, number = bytearray(), 0, 0  # of the line that has begun
        for chunk in self.chunks():
            ends = chunk.split(b"\n")
            begun = ends.pop()
            for end in ends:
                number += 1
                if length:
                    length += len(end)
                    end = bytes(held) + end
                    held.clear()
                else:
                    length = len(end)
                if length <= limit and end and end[0] > _SPACE:
                    yield Line(self.name, number, end)
                else:
                    yield from self._unusual(number, end, length)
                length = 0
            length += len(begun)
            if length <= limit:
                held += begun
            else:
                held.clear()
            self._lines = number
        yield from self._unusual(number + 1, bytes(held), length)

    def _unusual(self, number: int, data: bytes, length: int) -> Iterator[Line | Skipped]:
        """A line that may be blank, too long, or begin with NUL bytes."""
        if length > self.limits.line_bytes:
            reason = f"longer than {self.limits.line_bytes} bytes; CAUSELINE_LINE_LIMIT_BYTES raises the limit"
            yield Skipped(self.name, number, reason)
            return
        if data.startswith(b"\0"):
            yield Skipped(self.name, number, "NUL bytes stand where text was, as a crash leaves them")
            data = data.lstrip(b"\0")
        if data and not data.isspace():
            yield Line(self.name, number, data)

    def nothing(self) -> str:
        """Why a recording without a head has none."""
        for _ in self.chunks():
            pass
        return f"cannot be read: {self.lost}" if self.lost else "is empty"

    def loss(self) -> Iterator[Skipped]:
        """What could not be read of it, once it was."""
        if self.lost:
            until = f"; it could be read up to line {self._lines}" if self._lines else ""
            yield Skipped(self.name, 0, self.lost + until)
