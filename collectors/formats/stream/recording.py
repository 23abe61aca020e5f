"""A recording: one named stream of bytes, read as lines or as pieces."""

from collections.abc import Iterable, Iterator
from itertools import compress
from typing import TYPE_CHECKING, TypeVar

import msgspec

from collectors.formats.stream.byte_stream import ByteStream
from collectors.formats.stream.limits import Unreadable, too_long
from collectors.gate import Limits, Skipped

if TYPE_CHECKING:
    from timeline.history.ledger.left_out import LeftOut

HEAD_BYTES = 64 * 1024
_SPACE = 32  # the code of a space; white space and NUL have no higher code
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_APART = 100  # skipped lines in a row that are listed one by one
_TOGETHER = 1_000  # that are counted together at most, so that whoever counts sees how far the reading is
_LENGTHS = (1, 2, 3)  # NUL bytes with which the length of a message of protobuf may begin, before its first tag


class NotARecording(Exception):
    """The input cannot be understood at all. The message says what to do."""


T = TypeVar("T")


def fewer(items: Iterable[T | Skipped]) -> Iterator[T | Skipped]:
    """Yield the items of one file. Of many skipped lines in a row, those after the first hundred become few items that
    count them."""
    row, more = 0, None
    for item in items:
        if not isinstance(item, Skipped) or not item.line:
            if more:
                yield more
            row, more = 0, None
            yield item
            continue
        row += item.lines
        if row <= _APART:
            yield item
            continue
        more = item._replace(lines=item.lines + (more.lines if more else 0))
        if more.lines >= _TOGETHER:
            yield more
            more = None
    if more:
        yield more


class Line(msgspec.Struct, frozen=True, gc=False):
    """One line without its line break."""

    file: str
    number: int  # from 1
    data: bytes


class Block(msgspec.Struct, frozen=True, gc=False):
    """Consecutive lines, with a line break between each two.

    A line that is too long is kept up to one byte more than the limit at least, so that it is known to be too long.
    """

    file: str
    number: int  # of the first line
    data: bytes

    def lines(self, limits: Limits) -> Iterator[Line | Skipped]:
        """Yield the lines that are not blank, and a Skipped for each that is too long or holds NUL bytes."""
        return _lines(self.file, self.number, self.data.split(b"\n"), limits.line_bytes)


def _lines(file: str, first: int, lines: list[bytes], limit: int) -> Iterator[Line | Skipped]:
    """Yield lines as `Block.lines` does. The first of them has the number `first`."""
    for number, data in compress(enumerate(lines, first), map(bytes.strip, lines)):  # blank lines cost little
        if len(data) > limit:
            yield Skipped(file, number, too_long(limit))
        elif data[0] > _SPACE:
            yield Line(file, number, data)
        else:
            if data.startswith(b"\0"):
                yield Skipped(file, number, "NUL bytes stand where text was, as a crash leaves them")
                data = data.lstrip(b"\0")
            if data and not data.isspace():
                yield Line(file, number, data)


class Recording:
    """The unpacked content of one file; it is read once, front to back, as lines or as pieces.

    `name` is how the user knows the file; a member of an archive is called `dump.tar.zst/default/pods.json`. `error`
    says why it could not be read to its end; the caller that opened the recording reports it (`report_error`), so that
    no format has to. `processes` is how many processes may read it at a time. `modified` is when the file was written
    (µs since 1970), as its folder or archive says; 0 if nothing says it. `written` is the same if an archive says it,
    which keeps this time wherever it is copied.
    """

    def __init__(self, name: str, content: ByteStream, limits: Limits, modified: int = 0, written: int = 0) -> None:
        self.name = name
        self.modified = written or modified
        self.written = written
        self.limits = limits
        self.error = ""
        self.processes = 1
        self.left_out: LeftOut | None = None  # with a part only: what is known of other lines
        self._content = content
        self._lines = 0
        head = content.head(HEAD_BYTES)
        text = head.lstrip(b"\0")  # a log that was truncated while it was written begins with NUL bytes
        if text and not (len(head) - len(text) in _LENGTHS and head[4:5] == b"\n"):
            content.read(len(head) - len(text.removeprefix(_BYTE_ORDER_MARK)))

    def head(self) -> bytes:
        """Return the first bytes, which show the format, without taking them; b"" if nothing can be read."""
        return self._content.head(HEAD_BYTES)

    def chunks(self) -> Iterator[bytes]:
        """Yield the content in pieces, for formats that are not made of lines."""
        try:
            while piece := self._content.read_some():
                yield piece
        except Unreadable as error:
            self.error = str(error)

    def lines(self) -> Iterator[Line | Skipped]:
        """Yield every line that is not blank. A line that is too long is not held in memory whole."""
        limit = self.limits.line_bytes
        parts: list[bytes] = []  # of the line whose end has not been read
        length = 0
        for chunk in self.chunks():
            lines = chunk.split(b"\n")  # the last one goes on in the next chunk
            parts.append(lines[0][: max(0, limit + 1 - length)])
            length += len(lines[0])
            if len(lines) == 1:
                continue
            lines[0] = b"".join(parts)
            parts = [lines.pop()[: limit + 1]]
            length = len(parts[0])
            yield from _lines(self.name, self._lines + 1, lines, limit)
            self._lines += len(lines)
        if length:
            yield from _lines(self.name, self._lines + 1, [b"".join(parts)], limit)

    def blocks(self, least: int = 1) -> Iterator[Block]:
        """Yield all lines in blocks, each of at least so many bytes but for the last. A line that is too long is not
        held in memory whole."""
        limit = self.limits.line_bytes + 1
        parts: list[bytes | memoryview] = []  # of the next block
        size = 0  # bytes of these
        length = 0  # of the line whose end has not been read
        for chunk in self.chunks():
            first, last = chunk.find(b"\n"), chunk.rfind(b"\n")
            before = chunk if first < 0 else chunk[:first] if length + first > limit else b""
            if before:
                parts.append(before[: max(0, limit - length)])
                size += len(parts[-1])
            if first < 0:
                length += len(chunk)
                continue
            start = first if before else 0
            if size + last - start < least:
                parts.append(memoryview(chunk)[start : last + 1 + limit])
                size += len(parts[-1])
            else:
                parts.append(memoryview(chunk)[start:last])
                yield self._block(parts, 1)
                parts = [chunk[last + 1 :][:limit]]
                size = len(parts[0])
            length = len(chunk) - last - 1
        if size:
            yield self._block(parts, 0)

    def _block(self, parts: list[bytes | memoryview], ended: int) -> Block:
        """Return these bytes as the next block, and count its lines; of the last line only if it is `ended`."""
        block = Block(self.name, self._lines + 1, b"".join(parts))
        self._lines += block.data.count(b"\n") + ended
        return block

    def why_empty(self) -> str:
        """Return why nothing could be read of a recording whose head is empty."""
        for _ in self.chunks():
            pass
        return f"cannot be read: {self.error}" if self.error else "is empty"

    def report_error(self) -> Iterator[Skipped]:
        """Yield a Skipped if the recording, once it was read, could not be read to its end."""
        if self.error:
            until = f"; it could be read up to line {self._lines}" if self._lines else ""
            yield Skipped(self.name, 0, self.error + until)
