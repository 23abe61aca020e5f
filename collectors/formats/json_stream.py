"""Step through JSON that arrives in pieces, value by value.

Only one value is held in memory at a time, and its bytes stay unchanged.
"""

import re
from collections.abc import Iterator
from typing import NamedTuple

import msgspec

from collectors.formats.stream import TOO_DEEP, too_long

_raw = msgspec.json.Decoder(msgspec.Raw)
_key = msgspec.json.Decoder(str)
_TRAILING = "JSON is malformed: trailing characters (byte "  # + the position after the value
_CUT = "Input data was truncated"
_SPACE = re.compile(rb"[ \t\r\n]*")
_BEGINNING = re.compile(rb'\{\s*"(?:[^"\\]|\\.)*"|\[\s*.|.', re.DOTALL)
_KEPT = 1024  # bytes that are searched again with the next piece, since the match may begin in them


class MalformedJson(Exception):
    """A value cannot be read. The message says why."""


class Item(NamedTuple):
    """One value with its place."""

    line: int  # where it begins, from 1
    path: tuple[str | int, ...]  # the keys and indexes that lead to it in its document
    data: bytes

    def __str__(self) -> str:
        """Return its place in the notation of jq, such as ".events[16]"; "" for a whole document."""
        return "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in self.path)


class JsonStream:
    """Read JSON that comes in pieces, and keep nothing that was read."""

    def __init__(self, pieces: Iterator[bytes], limit: int) -> None:
        self.line = 1
        self.current_item = Item(1, (), b"")  # the last that began; its data is only how it begins
        self.item_is_open = False  # whether it has not been read to its end
        self._pieces = pieces
        self._limit = limit  # the most bytes of one value
        self._buffer = b""
        self._position = 0

    def peek(self) -> bytes:
        """Return the next character that is not white space without taking it; b"" at the end."""
        while True:
            character = self._buffer[self._position : self._position + 1]
            if character and character not in b" \t\r\n":
                return character
            space = _SPACE.match(self._buffer, self._position)
            self._advance(space.end() if space else self._position)
            if self._position == len(self._buffer) and not self._read_more():
                return b""

    def begin(self, path: tuple[str | int, ...]) -> None:
        """Note that an item begins here, at this path of its document."""
        self.peek()
        beginning = _BEGINNING.match(self._buffer, self._position)
        self.current_item = Item(self.line, path, beginning.group() if beginning else b"")
        self.item_is_open = True

    def item(self) -> Item:
        """Return the item that began, with its whole value. Raise MalformedJson if it cannot be read."""
        data = self.value()
        self.item_is_open = False
        return self.current_item._replace(data=data)

    def value(self) -> bytes:
        """Return the bytes of the next value, of whatever type. Raise MalformedJson if it cannot be read."""
        while True:
            view = memoryview(self._buffer)[self._position :]
            try:
                _raw.decode(view)
                if not self._read_more():  # a number might go on
                    return self._take(len(view))
                continue
            except msgspec.DecodeError as error:
                reason = str(error)
            except RecursionError:
                raise MalformedJson(TOO_DEEP) from None
            if reason.startswith(_TRAILING):
                return self._take(int(reason[len(_TRAILING) : -1]) - 1)
            if reason != _CUT and not reason.endswith(f"(byte {len(view)})"):  # a number may be cut at its point
                raise MalformedJson(f"not JSON: {reason.removeprefix('JSON is malformed: ')}")
            if len(view) > self._limit:
                raise MalformedJson(too_long(self._limit))
            if not self._read_more():
                raise MalformedJson("the file ends in the middle of it")

    def members(self) -> Iterator[str]:
        """Yield the keys of the next object; the caller takes the value of each key before it asks for the next."""
        self.expect(b"{")
        while self.peek() != b"}":
            try:
                key = _key.decode(self.value())
            except (msgspec.DecodeError, UnicodeDecodeError):
                raise MalformedJson("not JSON: a key is no text") from None
            self.expect(b":")
            yield key
            if self.expect(b",}") == b"}":
                return
        self.expect(b"}")

    def elements(self) -> Iterator[int]:
        """Yield the indexes of the next array; the caller takes the value at each before it asks for the next."""
        self.expect(b"[")
        number = 0
        while self.peek() != b"]":
            yield number
            number += 1
            if self.expect(b",]") == b"]":
                return
        self.expect(b"]")

    def seek(self, sought: re.Pattern[bytes]) -> bool:
        """Skip everything up to the end of the next match; return False, at the end of the stream, if there is none."""
        while not (found := sought.search(self._buffer, self._position)):
            self._advance(max(self._position, len(self._buffer) - _KEPT))
            if not self._read_more():
                self._advance(len(self._buffer))
                return False
        self._advance(found.end())
        return True

    def take_line(self, most: int) -> bytes:
        """Take the rest of the line with its line break; return at most so many of its first bytes."""
        kept = b""
        while (end := self._buffer.find(b"\n", self._position)) < 0:
            kept += self._buffer[self._position : self._position + most - len(kept)]
            self._advance(len(self._buffer))
            if not self._read_more():
                return kept
        kept += self._buffer[self._position : min(end, self._position + most - len(kept))]
        self._advance(end + 1)
        return kept

    def rest(self) -> bytes:
        """Return the bytes that are in the buffer and not taken yet."""
        return self._buffer[self._position :]

    def expect(self, characters: bytes) -> bytes:
        """Take the next character that is not white space. Raise MalformedJson if it is none of these."""
        found = self.peek()
        if not found:
            raise MalformedJson("the file ends in the middle of a document")
        if found not in characters:
            raise MalformedJson("not JSON: a comma, a colon or a bracket is missing")
        self._position += 1
        return found

    def _take(self, length: int) -> bytes:
        data = self._buffer[self._position : self._position + length]
        self._advance(self._position + length)
        return data

    def _advance(self, end: int) -> None:
        self.line += self._buffer.count(b"\n", self._position, end)
        self._position = end

    def _read_more(self) -> bool:
        """Add pieces to the buffer until its unread part has doubled; return whether any came.

        Doubling keeps a long value from being scanned again for each piece.
        """
        unread = self._buffer[self._position :]
        parts, length = [unread] if unread else [], 0  # a single piece is not copied
        while length <= len(unread) and (piece := next(self._pieces, b"")):
            parts.append(piece)
            length += len(piece)
        self._buffer, self._position = b"".join(parts), 0
        return length > 0
